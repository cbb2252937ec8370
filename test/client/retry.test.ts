/** Retries by policy, as in gRFC A6: their conditions, delays and limits. */
import { type Call, Code, createRetry, Metadata, type RetryEvent, type RetryOptions, RpcError } from "triple-es";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { GreetService_greet, GreetService_greetTogether } from "../../examples/gen/greet/v1/greet_triple.ts";
import { commit } from "../../runtime/src/call/attempt.ts";
import type { CallRequest } from "../../runtime/src/call/call.ts";
import { channels } from "../../runtime/src/call/diagnostics.ts";
import { MAX_ATTEMPTS } from "../../runtime/src/client/attempt-policy.ts";
import { RetryTokens } from "../../runtime/src/client/retry-budget.ts";
import { pause } from "../support/pause.ts";
import { answer, idempotent, outcomeOf, unary, unavailable } from "./retry-calls.ts";

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

  it.each([2, 4, MAX_ATTEMPTS])("is attempted %d times at most, by its policy", async (maxAttempts) => {
    const { call, requests } = scripted(...Array.from({ length: 9 }, () => unavailable()));
    await settle(retrying(call, { maxAttempts }));
    expect(requests).toHaveLength(maxAttempts);
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
  it.each([
    [0.5, [100, 300, 500, 500]],
    [0, [80, 240, 400, 400]],
    [1, [120, 360, 600, 600]],
  ])("grows by the multiplier up to the bound, and differs by a fifth at random: %d", async (random, expected) => {
    vi.spyOn(Math, "random").mockReturnValue(random);
    const delays: number[] = [];
    const policy: RetryOptions = { initialBackoffMs: 100, maxBackoffMs: 500, backoffMultiplier: 3, maxAttempts: 5 };
    const { call } = scripted(...Array.from({ length: 4 }, () => unavailable()));
    await settle(retrying(call, { ...policy, onRetry: ({ delayMs }) => delays.push(Math.round(delayMs)) }));
    expect(delays).toEqual(expected);
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
  /** A call that succeeds or fails as `isDown` says, after 50 ms. */
  function service(options: RetryOptions = {}) {
    const state = { isDown: false, calls: 0, attempts: 0, lost: 0 };
    const call = retrying(
      async () => {
        state.attempts++;
        await pause(50);
        if (state.isDown) throw unavailable();
        return answer();
      },
      { maxAttempts: 5, initialBackoffMs: 1, ...options },
    );
    const start = (): void => {
      state.calls++;
      const request = unary();
      call(request)
        .catch(() => state.lost++)
        .finally(() => request.context.close());
    };
    /** Makes calls for a time, in seconds. */
    const run = async (seconds: number, callsPerSecond: number): Promise<void> => {
      for (let i = 0; i < seconds * callsPerSecond; i++) {
        start();
        await vi.advanceTimersByTimeAsync(1_000 / callsPerSecond);
      }
    };
    return { state, start, run };
  }

  it.each([
    ["20 of 100 calls in flight, right after the start of the program", 20, 0],
    ["all 100 calls in flight, right after the start of the program", 100, 0],
    ["all 350 calls in flight, after 2,000 calls in ten seconds", 350, 200],
  ])("covers the loss of %s", async (_, inFlight, callsPerSecond) => {
    const { state, start, run } = service();
    await run(10, callsPerSecond);
    for (let i = 0; i < inFlight; i++) start();
    state.isDown = true;
    await vi.advanceTimersByTimeAsync(50);
    state.isDown = false;
    await vi.advanceTimersByTimeAsync(1_000);
    expect(state.lost).toBe(0);
    expect(state.attempts).toBeGreaterThanOrEqual(state.calls + inFlight);
  });

  it("ends retries in an outage: one attempt for each call, after those of the first seconds", async () => {
    const { state, run } = service();
    state.isDown = true;
    await run(60, 200);
    // One hundred failed attempts, of which some are retries.
    expect(state.attempts).toBeLessThanOrEqual(state.calls + 100);
    const { calls, attempts } = state;
    await run(10, 200);
    expect(state.attempts - attempts).toBe(state.calls - calls);
  });

  it("allows a fifth of the calls that succeeded in the ten seconds before an outage, and then none", async () => {
    const { state, run } = service();
    await run(30, 200);
    state.isDown = true;
    await run(60, 200);
    expect(state.attempts).toBeLessThanOrEqual(state.calls + 400);
    const { calls, attempts } = state;
    await run(10, 200);
    expect(state.attempts - attempts).toBe(state.calls - calls);
  });

  it("allows ten retries a second of a program that makes few calls, and no more than ten attempts in an outage", async () => {
    const { state, run } = service();
    state.isDown = true;
    await run(60, 2);
    expect(state.attempts).toBe(state.calls * 5);
    const { attempts } = state;
    await run(60, 5);
    expect(state.attempts - attempts).toBeGreaterThan(600 * 0.9);
    expect(state.attempts - attempts).toBeLessThanOrEqual(600 + 100);
  });

  it("limits retries to a fifth of the successes while some calls fail", async () => {
    let number = 0;
    let attempts = 0;
    const call = retrying(async () => {
      attempts++;
      if (number++ % 2 === 0) throw unavailable();
      return answer();
    });
    for (let i = 0; i < 12_000; i++) {
      void outcomeOf(call(unary()));
      await vi.advanceTimersByTimeAsync(5);
    }
    expect(attempts / 12_000).toBeGreaterThan(1.05);
    expect(attempts / 12_000).toBeLessThan(1.2);
  });

  it("allows retries again with the first call that succeeds after an outage", async () => {
    const { state, run, start } = service();
    state.isDown = true;
    await run(60, 200);
    state.isDown = false;
    await run(1, 1);
    state.isDown = true;
    const { attempts } = state;
    start();
    await vi.advanceTimersByTimeAsync(5_000);
    expect(state.attempts - attempts).toBe(5);
  });

  it("is named in the error and in the diagnostics of a call that it does not allow to retry", async () => {
    const lines: string[] = [];
    const { retry } = channels;
    channels.retry = { hasSubscribers: true, publish: ({ text }) => void lines.push(text) };
    try {
      const { call } = scripted(unavailable({ note: "x" }));
      const { error } = await settle(retrying(call, { budget: { minPerSecond: 0 } }));
      expect(error?.rawMessage).toBe(
        "the server is away (not retried: the retry budget is used up: 1 failed attempts and no success in 10 s)",
      );
      expect(error?.code).toBe(Code.Unavailable);
      expect(error?.trailers.get("note")).toBe("x");
      expect(lines).toEqual([expect.stringMatching(/^not retried: .*Greet, because the retry budget is used up/)]);
    } finally {
      if (retry === undefined) delete channels.retry;
      else channels.retry = retry;
    }
  });

  it("has no limit if it is infinite", async () => {
    const { state, run } = service({ budget: { minPerSecond: Number.POSITIVE_INFINITY } });
    state.isDown = true;
    await run(10, 200);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(state.attempts).toBe(state.calls * 5);
  });

  it("does not count codes that are not retried", async () => {
    const { call } = scripted(...Array.from({ length: 200 }, () => new RpcError(Code.NotFound, "not found")));
    const retried = retrying(call);
    for (let i = 0; i < 200; i++) await settle(retried);
    const again = scripted(unavailable());
    await settle(retrying(again.call));
    expect(again.requests).toHaveLength(2);
  });
});

describe("the tokens of a service config", () => {
  it("are exact to a thousandth, and never below none", () => {
    const tokens = new RetryTokens({ maxTokens: 2, tokenRatio: 0.0019 });
    for (let i = 0; i < 5; i++) tokens.failed();
    expect(tokens.filled).toBe(0);
    for (let i = 0; i < 1_000; i++) tokens.succeeded();
    expect(tokens.refusal()).toBe("the retry budget is used up: retryThrottling has 1 of 2 tokens left");
    tokens.succeeded();
    expect(tokens.refusal()).toBeUndefined();
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
    [{ maxAttempts: 1 }, "maxAttempts must be an integer from 2 to 5, not 1"],
    [{ maxAttempts: 50 }, "maxAttempts must be an integer from 2 to 5, not 50"],
    [{ maxAttempt: 3 } as RetryOptions, 'retry: there is no "maxAttempt", did you mean "maxAttempts"?'],
    [{ maxAttempts: 2.5 }, "maxAttempts must be"],
    [{ codes: [99 as Code] }, "codes must be values of Code, not 99"],
    [{ initialBackoffMs: 0 }, "initialBackoffMs must be more than 0, not 0"],
    [{ maxBackoffMs: Number.NaN }, "maxBackoffMs must be more than 0, not NaN"],
    [{ backoffMultiplier: -1 }, "backoffMultiplier must be more than 0, not -1"],
    [{ hedgingDelayMs: -1 }, "hedgingDelayMs must be 0 or more, not -1"],
    [{ budget: { ratio: -1 } }, "budget.ratio must be 0 or more, not -1"],
    [{ budget: { minPerSecond: Number.NaN } }, "budget.minPerSecond must be 0 or more, not NaN"],
    [{ budget: { maxTokens: 10 } as object }, 'budget: "maxTokens" is not among: ratio, minPerSecond'],
  ])("%j is refused when it is given", (options, message) => {
    expect(() => createRetry(options)).toThrow(new TypeError(message).message);
    expect(() => createRetry(options)).toThrow(TypeError);
  });
});
