/** Retries by policy, as in gRFC A6: their conditions, delays and limits. */
import { type Call, Code, createRetry, Metadata, type RetryEvent, type RetryOptions, RpcError } from "triple-es";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { GreetService_greet, GreetService_greetTogether } from "../../examples/gen/greet/v1/greet_triple.ts";
import { commit } from "../../runtime/src/call/attempt.ts";
import type { CallRequest } from "../../runtime/src/call/call.ts";
import { MAX_ATTEMPTS, RetryBackoff, resolvePolicy } from "../../runtime/src/client/attempt-policy.ts";
import { RetryTokens } from "../../runtime/src/client/retry-budget.ts";
import { answer, idempotent, outcomeOf, unary, unavailable } from "./calls.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  vi.spyOn(Math, "random").mockReturnValue(0.5);
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

/** A call whose attempts end as scripted, and then succeed. It records the requests of all attempts. */
function scripted(...script: (RpcError | "ok")[]): { readonly call: Call; readonly requests: CallRequest[] } {
  const requests: CallRequest[] = [];
  const call: Call = async (request) => {
    requests.push(request);
    const outcome = script[requests.length - 1] ?? "ok";
    if (outcome !== "ok") throw outcome;
    return answer({ greeting: `attempt ${requests.length}` });
  };
  return { call, requests };
}

const retrying = (next: Call, options: RetryOptions = {}): Call => createRetry(options)(next);

/** Runs a call to its end, however long it waits. */
async function settle(call: Call, request = unary()) {
  const outcome = outcomeOf(call(request));
  await vi.runAllTimersAsync();
  request.context.close();
  return outcome;
}

describe("a call that fails as unavailable", () => {
  it("is attempted again, three times in all by default", async () => {
    const { call, requests } = scripted(unavailable(), unavailable(), unavailable());
    expect((await settle(retrying(call))).error).toMatchObject({ code: Code.Unavailable });
    expect(requests).toHaveLength(3);
  });

  it("succeeds with the first attempt that does", async () => {
    const { call, requests } = scripted(unavailable(), "ok");
    expect((await settle(retrying(call))).value).toMatchObject({ message: { greeting: "attempt 2" } });
    expect(requests).toHaveLength(2);
  });

  it.each([2, 4, 5])("is attempted %d times at most, by its policy", async (maxAttempts) => {
    const { call, requests } = scripted(...Array.from({ length: 9 }, () => unavailable()));
    await settle(retrying(call, { maxAttempts, budget: { maxTokens: 100, tokenRatio: 1 } }));
    expect(requests).toHaveLength(maxAttempts);
  });

  it(`is attempted ${MAX_ATTEMPTS} times at most, regardless of the policy`, async () => {
    const { call, requests } = scripted(...Array.from({ length: 9 }, () => unavailable()));
    await settle(retrying(call, { maxAttempts: 9, budget: { maxTokens: 100, tokenRatio: 1 } }));
    expect(requests).toHaveLength(MAX_ATTEMPTS);
  });

  it("is not attempted again if its method is not idempotent", async () => {
    const { call, requests } = scripted(unavailable());
    await settle(retrying(call), unary({ method: GreetService_greet }));
    expect(requests).toHaveLength(1);
  });

  it("is attempted again if the policy selects its method", async () => {
    const { call, requests } = scripted(unavailable());
    await settle(retrying(call, { applies: ({ name }) => name === "Greet" }), unary({ method: GreetService_greet }));
    expect(requests).toHaveLength(2);
  });

  it("is not attempted again if its request is a stream", async () => {
    const { call, requests } = scripted(unavailable());
    const messages = (async function* () {
      yield {};
    })();
    const { method: _, message: __, ...rest } = unary();
    const request: CallRequest = { ...rest, stream: true, messages, method: GreetService_greetTogether };
    await expect(retrying(call, { applies: () => true })(request)).rejects.toMatchObject({ code: Code.Unavailable });
    expect(requests).toEqual([request]);
  });

  it("is not attempted again after the headers of a response", async () => {
    const { call, requests } = scripted(unavailable());
    const committing: Call = (request) => {
      commit(request.context);
      return call(request);
    };
    expect((await settle(retrying(committing))).error).toMatchObject({ code: Code.Unavailable });
    expect(requests).toHaveLength(1);
  });

  it("is attempted again although another call was committed and failed with the same error", async () => {
    const shared = unavailable();
    const requests: CallRequest[] = [];
    const call = retrying(async (request) => {
      if (requests.push(request) === 1) commit(request.context);
      if (requests.length < 3) throw shared;
      return answer();
    });
    expect((await settle(call)).error).toBeDefined();
    expect((await settle(call)).value).toBeDefined();
    expect(requests).toHaveLength(3);
  });
});

describe("the codes of a policy", () => {
  it("are all that is retried", async () => {
    const codes = [Code.Aborted, Code.ResourceExhausted];
    const again = scripted(new RpcError(Code.Aborted, "conflict"));
    await settle(retrying(again.call, { codes }));
    expect(again.requests).toHaveLength(2);
    const once = scripted(unavailable());
    await settle(retrying(once.call, { codes }));
    expect(once.requests).toHaveLength(1);
  });
});

describe("the metadata of attempts", () => {
  it("counts those before, and is absent on the first", async () => {
    const { call, requests } = scripted(unavailable(), unavailable());
    const { value } = await settle(retrying(call), unary({ headers: new Metadata({ "x-trace": "t1" }) }));
    expect(requests.map(({ headers }) => headers.get("grpc-previous-rpc-attempts"))).toEqual([undefined, "1", "2"]);
    expect(requests.map(({ headers }) => headers.getAll("x-trace"))).toEqual([["t1"], ["t1"], ["t1"]]);
    expect(value?.headers.get("grpc-previous-rpc-attempts")).toBe("2");
  });

  it("is absent from the response to a first attempt", async () => {
    const { value } = await settle(retrying(scripted().call));
    expect(value?.headers.has("grpc-previous-rpc-attempts")).toBe(false);
  });
});

describe("the wait before an attempt", () => {
  const policy = { initialBackoffMs: 100, maxBackoffMs: 500, backoffMultiplier: 3, maxAttempts: 5 };
  const waits = (random: () => number): number[] => {
    const resolved = resolvePolicy(policy);
    if (resolved.hedgingDelayMs !== undefined) throw new Error("the policy must not hedge");
    const backoff = new RetryBackoff(resolved, random);
    return Array.from({ length: 4 }, () => Math.round(backoff.next(undefined)));
  };

  it("grows by the multiplier up to the bound, and differs by a fifth at random", () => {
    expect(waits(() => 0.5)).toEqual([100, 300, 500, 500]);
    expect(waits(() => 0)).toEqual([80, 240, 400, 400]);
    expect(waits(() => 1)).toEqual([120, 360, 600, 600]);
  });

  it("passes before the attempt starts", async () => {
    const { call, requests } = scripted(unavailable());
    const request = unary();
    const outcome = outcomeOf(retrying(call)(request));
    await vi.advanceTimersByTimeAsync(99);
    expect(requests).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(requests).toHaveLength(2);
    expect(outcome.value).toBeDefined();
  });

  it("is set by the server's pushback, and restarts after it", async () => {
    const { call, requests } = scripted(
      unavailable(),
      unavailable({ "grpc-retry-pushback-ms": "7000" }),
      unavailable(),
    );
    const events: RetryEvent[] = [];
    await settle(retrying(call, { maxAttempts: 4, onRetry: (event) => events.push(event) }));
    expect(events.map(({ attempt, delayMs }) => [attempt, delayMs])).toEqual([
      [2, 100],
      [3, 7000],
      [4, 100],
    ]);
    expect(requests).toHaveLength(4);
  });

  it.each(["-1", "soon", "1.5", "", "99999999999"])("does not happen if the server's pushback is %j", async (text) => {
    const trailers = Metadata.fromRaw(["grpc-retry-pushback-ms", text]);
    const { call, requests } = scripted(new RpcError(Code.Unavailable, "stop", { trailers }));
    expect((await settle(retrying(call))).error).toMatchObject({ rawMessage: "stop" });
    expect(requests).toHaveLength(1);
  });

  it("does not start if its delay exceeds the remaining deadline", async () => {
    const { call, requests } = scripted(unavailable({ "grpc-retry-pushback-ms": "200" }));
    const outcome = outcomeOf(retrying(call)(unary({ timeoutMs: 200 })));
    await vi.advanceTimersByTimeAsync(0);
    expect(outcome.error).toMatchObject({ rawMessage: "the server is away" });
    expect(requests).toHaveLength(1);
  });

  it("ends with the call", async () => {
    const { call, requests } = scripted(unavailable());
    const caller = new AbortController();
    const outcome = outcomeOf(retrying(call)(unary({ signal: caller.signal })));
    await vi.advanceTimersByTimeAsync(50);
    caller.abort();
    await vi.advanceTimersByTimeAsync(0);
    expect(outcome.error).toMatchObject({ code: Code.Canceled });
    expect(vi.getTimerCount()).toBe(0);
    expect(requests).toHaveLength(1);
  });
});

describe("the deadline of a call", () => {
  it("applies to all attempts: each has less time", async () => {
    const { call, requests } = scripted(unavailable(), unavailable());
    const left: (number | undefined)[] = [];
    const request = unary({ timeoutMs: 1_000 });
    const outcome = outcomeOf(
      retrying((attempt) => {
        left.push(attempt.context.timeoutMs());
        return call(attempt);
      })(request),
    );
    await vi.advanceTimersByTimeAsync(500);
    expect(outcome.value).toBeDefined();
    expect(left).toEqual([1_000, 900, 700]);
    expect(requests).toHaveLength(3);
  });
});

describe("the budget", () => {
  it("ends retries at half of its tokens, and successes refill it", async () => {
    const budget = { maxTokens: 4, tokenRatio: 0.5 };
    const failing = { down: true };
    let attempts = 0;
    const call = retrying(
      async () => {
        attempts++;
        if (failing.down) throw unavailable();
        return answer();
      },
      { budget, maxAttempts: 5 },
    );
    // The bucket has 4 tokens: the first failure leaves 3, the second 2, which is half of them.
    await settle(call);
    expect(attempts).toBe(2);
    await settle(call);
    expect(attempts).toBe(3);
    failing.down = false;
    for (let i = 0; i < 6; i++) await settle(call);
    failing.down = true;
    attempts = 0;
    await settle(call);
    expect(attempts).toBe(2);
  });

  it("limits attempts to a tenth more than the calls if all of them fail", async () => {
    let attempts = 0;
    const call = retrying(async () => {
      attempts++;
      throw unavailable();
    });
    for (let i = 0; i < 200; i++) await settle(call);
    expect(attempts).toBeLessThanOrEqual(220);
  });

  it("counts neither codes that are not retried nor calls that are over", async () => {
    const tokens = new RetryTokens({ maxTokens: 10, tokenRatio: 0.1 });
    expect(tokens.filled).toBe(1);
    const { call } = scripted(...Array.from({ length: 40 }, () => new RpcError(Code.NotFound, "not found")));
    const retried = retrying(call);
    for (let i = 0; i < 40; i++) await settle(retried);
    const again = scripted(unavailable());
    await settle(retrying(again.call));
    expect(again.requests).toHaveLength(2);
  });

  it("is exact to a thousandth of a token, and never below none", () => {
    const tokens = new RetryTokens({ maxTokens: 2, tokenRatio: 0.0019 });
    for (let i = 0; i < 5; i++) tokens.failed();
    expect(tokens.filled).toBe(0);
    for (let i = 0; i < 1_000; i++) tokens.succeeded();
    expect(tokens.allowsRetry).toBe(false);
    tokens.succeeded();
    expect(tokens.allowsRetry).toBe(true);
    expect(tokens.filled).toBe(1_001 / 2_000);
  });
});

describe("the hook onRetry", () => {
  it("is called for each further attempt, and its errors affect no call", async () => {
    const printed = vi.spyOn(console, "error").mockImplementation(() => {});
    const { call } = scripted(unavailable());
    const onRetry = vi.fn(() => {
      throw new Error("the hook is broken");
    });
    expect((await settle(retrying(call, { onRetry }))).value).toBeDefined();
    expect(onRetry).toHaveBeenCalledWith({
      method: idempotent,
      context: expect.objectContaining({ timeoutMs: expect.any(Function) }),
      attempt: 2,
      delayMs: 100,
      error: expect.objectContaining({ rawMessage: "the server is away" }),
      isHedge: false,
    });
    expect(printed).toHaveBeenCalledTimes(1);
  });
});

describe("an invalid option", () => {
  it.each<[RetryOptions, string]>([
    [{ maxAttempts: 1 }, "maxAttempts must be an integer of 2 or more, not 1"],
    [{ maxAttempts: 2.5 }, "maxAttempts must be"],
    [{ codes: [99 as Code] }, "codes must be values of Code, not 99"],
    [{ initialBackoffMs: 0 }, "initialBackoffMs must be more than 0, not 0"],
    [{ maxBackoffMs: Number.NaN }, "maxBackoffMs must be more than 0, not NaN"],
    [{ backoffMultiplier: -1 }, "backoffMultiplier must be more than 0, not -1"],
    [{ hedgingDelayMs: -1 }, "hedgingDelayMs must be 0 or more, not -1"],
    [{ budget: { maxTokens: 0, tokenRatio: 1 } }, "maxTokens must be more than 0 and at most 1,000, not 0"],
    [{ budget: { maxTokens: 1_001, tokenRatio: 1 } }, "maxTokens must be"],
    [{ budget: { maxTokens: 10, tokenRatio: 0 } }, "tokenRatio must be more than 0, not 0"],
  ])("%j is refused when it is given", (options, message) => {
    expect(() => createRetry(options)).toThrow(new TypeError(message).message);
    expect(() => createRetry(options)).toThrow(TypeError);
  });
});
