/** Hedging as in gRFC A6: concurrent attempts of one call. */
import { type Call, type CallResponse, Code, createRetry, Metadata, type RetryOptions, RpcError } from "triple-es";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { GreetService_greet } from "../../examples/gen/greet/v1/greet_triple.ts";
import type { CallRequest } from "../../runtime/src/call/call.ts";
import { attemptCalls } from "../../runtime/src/client/retry.ts";
import { RecentRetries } from "../../runtime/src/client/retry-budget.ts";
import { answer, idempotentStream, outcomeOf, unary, unavailable } from "./retry-calls.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
});
afterEach(() => {
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

/** An attempt that a test ends. */
interface Attempt {
  readonly request: CallRequest;
  succeed(response?: CallResponse): Promise<void>;
  fail(error: RpcError): Promise<void>;
}

/** A call whose attempts run until the test ends them or they are cancelled. */
function pending(options: RetryOptions): { readonly call: Call; readonly attempts: Attempt[] } {
  const attempts: Attempt[] = [];
  const next: Call = (request) =>
    new Promise((resolve, reject) => {
      request.context.signal?.addEventListener("abort", () => reject(request.context.signal?.reason));
      const settled = (): Promise<unknown> => vi.advanceTimersByTimeAsync(0);
      attempts.push({
        request,
        async succeed(response = answer({ greeting: `attempt ${attempts.length}` })) {
          resolve(response);
          await settled();
        },
        async fail(error) {
          reject(error);
          await settled();
        },
      });
    });
  return { call: createRetry({ hedgingDelayMs: 50, maxAttempts: 3, ...options })(next), attempts };
}

/** Returns the attempt with the given index, which must have started. */
function at(attempts: readonly Attempt[], index: number): Attempt {
  const attempt = attempts[index];
  if (attempt === undefined) throw new Error(`attempt ${index} has not begun`);
  return attempt;
}

const isCancelled = ({ request }: Attempt): boolean => request.context.signal?.aborted === true;

describe("a hedged call", () => {
  it("makes the next attempt after each delay, up to the limit", async () => {
    const { call, attempts } = pending({});
    const outcome = outcomeOf(call(unary()));
    const counts: number[] = [];
    for (const ms of [0, 49, 1, 50, 500]) {
      await vi.advanceTimersByTimeAsync(ms);
      counts.push(attempts.length);
    }
    expect(counts).toEqual([1, 1, 2, 3, 3]);
    expect(attempts.map(({ request }) => request.headers.get("grpc-previous-rpc-attempts"))).toEqual([
      undefined,
      "1",
      "2",
    ]);
    // Load balancing notes the endpoint of each attempt in the set that all of them share.
    expect(new Set(attempts.map(({ request }) => request.context.attempt?.tried))).toEqual(new Set([new Set()]));
    await at(attempts, 0).succeed();
    expect(outcome.value).toBeDefined();
  });

  it("makes all attempts at once if the delay is 0", async () => {
    const { call, attempts } = pending({ hedgingDelayMs: 0 });
    const outcome = outcomeOf(call(unary()));
    await vi.advanceTimersByTimeAsync(0);
    expect(attempts).toHaveLength(3);
    await at(attempts, 2).succeed();
    expect(outcome.value).toBeDefined();
  });

  it("takes the first answer and cancels the losers, not the winner", async () => {
    const { call, attempts } = pending({});
    const outcome = outcomeOf(call(unary()));
    await vi.advanceTimersByTimeAsync(100);
    await at(attempts, 1).succeed(answer({ greeting: "second" }));
    expect(outcome.value).toMatchObject({ message: { greeting: "second" } });
    expect(outcome.value?.headers.get("grpc-previous-rpc-attempts")).toBe("1");
    expect(attempts.map(isCancelled)).toEqual([true, false, true]);
  });

  it("continues at once after an error that is not fatal, and restarts the delay", async () => {
    const { call, attempts } = pending({});
    const outcome = outcomeOf(call(unary()));
    await vi.advanceTimersByTimeAsync(40);
    await at(attempts, 0).fail(unavailable());
    expect(attempts).toHaveLength(2);
    await vi.advanceTimersByTimeAsync(49);
    expect(attempts).toHaveLength(2);
    await vi.advanceTimersByTimeAsync(1);
    expect(attempts).toHaveLength(3);
    await at(attempts, 2).succeed();
    expect(outcome.value).toBeDefined();
  });

  it("ends with a fatal error, regardless of the other attempts", async () => {
    const { call, attempts } = pending({});
    const outcome = outcomeOf(call(unary()));
    await vi.advanceTimersByTimeAsync(50);
    await at(attempts, 1).fail(new RpcError(Code.NotFound, "not found"));
    expect(outcome.error).toMatchObject({ code: Code.NotFound });
    expect(attempts.map(isCancelled)).toEqual([true, false]);
  });

  it("ends with its transport, also while it waits for the next attempt", async () => {
    const ended = new AbortController();
    const next: Call = () => Promise.reject(unavailable({ "grpc-retry-pushback-ms": "60000" }));
    const call = attemptCalls(next, { throttle: () => new RecentRetries(), ended: ended.signal });
    const policy = { maxAttempts: 3, codes: new Set([Code.Unavailable]), hedgingDelayMs: 50 };
    const outcome = outcomeOf(call(unary(), policy));
    await vi.advanceTimersByTimeAsync(10);
    ended.abort(new RpcError(Code.Unavailable, "closed"));
    await vi.advanceTimersByTimeAsync(0);
    expect(outcome.error?.rawMessage).toBe("closed");
  });

  it("fails with the last error if no attempt succeeds", async () => {
    const { call, attempts } = pending({});
    const outcome = outcomeOf(call(unary()));
    await vi.advanceTimersByTimeAsync(0);
    for (let i = 0; i < 3; i++) await at(attempts, i).fail(new RpcError(Code.Unavailable, `attempt ${i}`));
    expect(outcome.error).toMatchObject({ rawMessage: "attempt 2" });
    expect(attempts).toHaveLength(3);
  });

  it("waits as long as the server pushes back", async () => {
    const { call, attempts } = pending({});
    const outcome = outcomeOf(call(unary()));
    await vi.advanceTimersByTimeAsync(0);
    await at(attempts, 0).fail(unavailable({ "grpc-retry-pushback-ms": "300" }));
    await vi.advanceTimersByTimeAsync(299);
    expect(attempts).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(attempts).toHaveLength(2);
    await at(attempts, 1).succeed();
    expect(outcome.value).toBeDefined();
  });

  it("makes no further attempts after pushback to stop, and waits for running ones", async () => {
    const { call, attempts } = pending({});
    const outcome = outcomeOf(call(unary()));
    await vi.advanceTimersByTimeAsync(50);
    await at(attempts, 0).fail(unavailable({ "grpc-retry-pushback-ms": "-1" }));
    await vi.advanceTimersByTimeAsync(1_000);
    expect(attempts).toHaveLength(2);
    expect(outcome).toEqual({});
    await at(attempts, 1).succeed();
    expect(outcome.value).toBeDefined();
  });

  it("cancels all attempts when its caller does", async () => {
    const { call, attempts } = pending({});
    const caller = new AbortController();
    const outcome = outcomeOf(call(unary({ signal: caller.signal })));
    await vi.advanceTimersByTimeAsync(50);
    caller.abort();
    await vi.advanceTimersByTimeAsync(500);
    expect(outcome.error).toMatchObject({ code: Code.Canceled });
    expect(attempts.map(isCancelled)).toEqual([true, true]);
  });

  it("makes no attempt if its caller has already cancelled it", async () => {
    const { call, attempts } = pending({});
    const outcome = outcomeOf(call(unary({ signal: AbortSignal.abort() })));
    await vi.advanceTimersByTimeAsync(500);
    expect(outcome.error).toMatchObject({ code: Code.Canceled });
    expect(attempts).toHaveLength(0);
  });

  it("ends between attempts when its caller cancels", async () => {
    const { call, attempts } = pending({});
    const caller = new AbortController();
    const outcome = outcomeOf(call(unary({ signal: caller.signal })));
    await vi.advanceTimersByTimeAsync(0);
    await at(attempts, 0).fail(unavailable({ "grpc-retry-pushback-ms": "900" }));
    caller.abort();
    await vi.advanceTimersByTimeAsync(0);
    expect(outcome.error).toMatchObject({ code: Code.Canceled });
    expect(attempts).toHaveLength(1);
  });

  it("makes one attempt if the budget is exhausted", async () => {
    const { call, attempts } = pending({ budget: { minPerSecond: 0 } });
    const first = outcomeOf(call(unary()));
    await vi.advanceTimersByTimeAsync(0);
    await at(attempts, 0).fail(unavailable());
    expect(first.error?.rawMessage).toMatch(/^the server is away \(not retried: the retry budget is used up: .*\)$/);
    const second = outcomeOf(call(unary()));
    await vi.advanceTimersByTimeAsync(1_000);
    expect(attempts).toHaveLength(2);
    await at(attempts, 1).succeed();
    expect(second.value).toBeDefined();
  });

  it("is sent once if its method may not be called twice, regardless of the policy", async () => {
    const { call, attempts } = pending({ applies: () => true });
    const outcome = outcomeOf(call(unary({ method: GreetService_greet })));
    await vi.advanceTimersByTimeAsync(1_000);
    expect(attempts).toHaveLength(1);
    await at(attempts, 0).succeed();
    expect(outcome.value).toBeDefined();
  });
});

describe("a hedged stream", () => {
  /** A request of a server streaming call. */
  function streaming(signal?: AbortSignal): CallRequest {
    const { message, ...rest } = unary(signal === undefined ? {} : { signal });
    const messages = (async function* () {
      yield message;
    })();
    return { ...rest, stream: true, method: idempotentStream, messages };
  }

  it("is the one whose headers arrive first; its request is sent in each attempt", async () => {
    const { call, attempts } = pending({});
    const outcome = outcomeOf(call(streaming()));
    await vi.advanceTimersByTimeAsync(50);
    const sent: object[] = [];
    for (const { request } of attempts) {
      if (request.stream) for await (const message of request.messages) sent.push(message);
    }
    expect(sent).toEqual([{ name: "Dubbo" }, { name: "Dubbo" }]);
    const messages = (async function* () {
      yield { greeting: "one" };
      yield { greeting: "two" };
    })();
    await at(attempts, 1).succeed({ stream: true, messages, headers: new Metadata(), trailers: new Metadata() });
    expect(attempts.map(isCancelled)).toEqual([true, false]);
    if (outcome.value?.stream !== true) throw new Error("the response must be a stream");
    const received: object[] = [];
    for await (const message of outcome.value.messages) received.push(message);
    expect(received).toEqual([{ greeting: "one" }, { greeting: "two" }]);
  });

  it("ends a response that arrives after another one has won", async () => {
    const ended: string[] = [];
    const response = (name: string): CallResponse => ({
      stream: true,
      messages: (async function* () {
        try {
          yield { greeting: name };
        } finally {
          ended.push(name);
        }
      })(),
      headers: new Metadata(),
      trailers: new Metadata(),
    });
    // A call that ignores its signal, so that both attempts respond.
    const answers: ((response: CallResponse) => void)[] = [];
    const next: Call = () => new Promise((resolve) => answers.push(resolve));
    const call = createRetry({ hedgingDelayMs: 50, maxAttempts: 2 })(next);
    const outcome = outcomeOf(call(streaming()));
    await vi.advanceTimersByTimeAsync(50);
    answers[1]?.(response("winner"));
    answers[0]?.(response("loser"));
    await vi.advanceTimersByTimeAsync(0);
    expect(outcome.value).toBeDefined();
    expect(ended).toEqual(["loser"]);
  });

  it("is cancelled with its call after its headers", async () => {
    const { call, attempts } = pending({});
    const caller = new AbortController();
    const outcome = outcomeOf(call(streaming(caller.signal)));
    await vi.advanceTimersByTimeAsync(0);
    const messages = (async function* () {
      yield { greeting: "one" };
    })();
    await at(attempts, 0).succeed({ stream: true, messages, headers: new Metadata(), trailers: new Metadata() });
    expect(outcome.value).toBeDefined();
    caller.abort();
    expect(attempts.map(isCancelled)).toEqual([true]);
  });
});
