/** Deadlines and cancellation of one call. */
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { createContextKey } from "../../runtime/src/call/call.ts";
import { Code, Status } from "../../runtime/src/call/code.ts";
import { type ContextOptions, createContextValues, eachWithin, OpenContext } from "../../runtime/src/call/context.ts";
import { RpcError } from "../../runtime/src/call/error.ts";
import { startTimer } from "../../runtime/src/call/platform.ts";
import { onAbort } from "../../runtime/src/call/timer.ts";
import type { HttpRequest } from "../../runtime/src/http/exchange.ts";
import { ServerContext } from "../../runtime/src/server/call-context.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
});
afterEach(() => {
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

const open = (options: Partial<ContextOptions> = {}): OpenContext =>
  new OpenContext({ timeoutStatus: Status.ServerTimeout, ...options });

/** Runs work in a context, as a client does. */
const run = <T>(context: OpenContext, work: () => Promise<T>): Promise<T> =>
  context.race(work).finally(() => context.close());

/** The context of a call on a server, which ends with its exchange. */
const serve = (peer: Pick<HttpRequest, "signal" | "waitUntil">, timeoutMs?: number): ServerContext =>
  new ServerContext(peer as HttpRequest, timeoutMs);

const never = new Promise<never>(() => {});

/** Returns the current rejection of the promise. */
function rejection(promise: Promise<unknown>): { error?: RpcError } {
  const seen: { error?: RpcError } = {};
  promise.catch((error: RpcError) => {
    seen.error = error;
  });
  return seen;
}

/** An exchange that counts the accesses to its signal. */
function exchange(): { readonly signal: AbortSignal; abort(): void; asked: number } {
  const controller = new AbortController();
  return {
    asked: 0,
    get signal() {
      this.asked++;
      return controller.signal;
    },
    abort: () => controller.abort(new RpcError(Code.Canceled, "peer is gone")),
  };
}

describe("startTimer", () => {
  it.each([1, 1000, 2 ** 31 - 1, 2 ** 31, 30 * DAY_MS, 100 * DAY_MS])(
    "calls back once after %d ms, not before",
    (delay) => {
      const callback = vi.fn();
      startTimer(delay, callback);
      vi.advanceTimersByTime(delay - 1);
      expect(callback).not.toHaveBeenCalled();
      vi.advanceTimersByTime(1);
      expect(callback).toHaveBeenCalledTimes(1);
    },
  );

  it.each([1000, 100 * DAY_MS])("is stopped at any time before %d ms", (delay) => {
    const callback = vi.fn();
    const stop = startTimer(delay, callback);
    vi.advanceTimersByTime(delay - 1);
    stop();
    expect(vi.getTimerCount()).toBe(0);
    vi.advanceTimersByTime(delay);
    expect(callback).not.toHaveBeenCalled();
  });
});

describe("onAbort", () => {
  it("calls back with the reason as an RpcError, at once if the signal has fired", () => {
    const callback = vi.fn();
    onAbort(AbortSignal.abort(), callback);
    expect(callback.mock.calls).toEqual([[expect.objectContaining({ code: Code.Canceled })]]);
  });

  it("does not call back once it is released", () => {
    const controller = new AbortController();
    const callback = vi.fn();
    onAbort(controller.signal, callback)();
    controller.abort();
    expect(callback).not.toHaveBeenCalled();
  });

  it("listens to a signal once for all callbacks, and removes the listener after the last", () => {
    const controller = new AbortController();
    const { signal } = controller;
    const added = vi.spyOn(signal, "addEventListener");
    const removed = vi.spyOn(signal, "removeEventListener");
    const callbacks = Array.from({ length: 20 }, () => vi.fn());
    const [release, ...others] = callbacks.map((callback) => onAbort(signal, callback));
    expect(added).toHaveBeenCalledTimes(1);
    for (const one of others) one();
    expect(removed).not.toHaveBeenCalled();
    release?.();
    release?.();
    expect(removed).toHaveBeenCalledTimes(1);
    for (const callback of callbacks.slice(10)) onAbort(signal, callback);
    expect(added).toHaveBeenCalledTimes(2);
    controller.abort();
    expect(callbacks.map(({ mock }) => mock.calls.length)).toEqual([...Array(10).fill(0), ...Array(10).fill(1)]);
    expect(removed).toHaveBeenCalledTimes(2);
  });

  it("calls every callback back, whatever the reason is", () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    for (const reason of [Object.create(null), proxy, Symbol("odd"), null]) {
      const controller = new AbortController();
      const codes: Code[] = [];
      for (let i = 0; i < 2; i++) onAbort(controller.signal, ({ code }) => codes.push(code));
      controller.abort(reason);
      expect(codes).toEqual([Code.Canceled, Code.Canceled]);
    }
  });

  it("does nothing without a signal", () => {
    expect(() => onAbort(undefined, () => {})()).not.toThrow();
  });
});

describe("a deadline", () => {
  it("ends the work with its status when it passes, and not before", async () => {
    const context = open({ timeoutMs: 100 });
    const seen = rejection(run(context, () => never));
    await vi.advanceTimersByTimeAsync(99);
    expect(seen.error).toBeUndefined();
    await vi.advanceTimersByTimeAsync(1);
    expect(seen.error).toMatchObject({ code: Code.DeadlineExceeded, status: Status.ServerTimeout });
  });

  it("may lie further ahead than a timer reaches", async () => {
    const context = open({ timeoutMs: 60 * DAY_MS });
    const seen = rejection(run(context, () => never));
    await vi.advanceTimersByTimeAsync(60 * DAY_MS - 1);
    expect(seen.error).toBeUndefined();
    await vi.advanceTimersByTimeAsync(1);
    expect(seen.error?.code).toBe(Code.DeadlineExceeded);
  });

  it("has passed already if it is 0 ms, and the work does not start", async () => {
    const work = vi.fn(() => never);
    const context = open({ timeoutMs: 0 });
    expect(context.signal?.aborted).toBe(true);
    await expect(run(context, work)).rejects.toMatchObject({ code: Code.DeadlineExceeded });
    expect(work).not.toHaveBeenCalled();
  });

  it("is exposed as the remaining milliseconds, never below 0", () => {
    const context = open({ timeoutMs: 100 });
    expect(context.timeoutMs()).toBe(100);
    vi.advanceTimersByTime(30);
    expect(context.timeoutMs()).toBe(70);
    vi.advanceTimersByTime(1000);
    expect(context.timeoutMs()).toBe(0);
  });

  it.each([undefined, Number.POSITIVE_INFINITY])("is absent if it is %s", async (timeoutMs) => {
    const context = open({ timeoutMs });
    expect(context.timeoutMs()).toBeUndefined();
    expect(context.signal).toBeUndefined();
    expect(vi.getTimerCount()).toBe(0);
    await expect(run(context, async () => 1)).resolves.toBe(1);
  });

  it("leaves results and errors of the work as they are", async () => {
    const broken = new Error("broken");
    await expect(run(open({ timeoutMs: 100 }), async () => 1)).resolves.toBe(1);
    await expect(run(open({ timeoutMs: 100 }), () => Promise.reject(broken))).rejects.toBe(broken);
  });

  it("does not leave a late failure of the work unhandled", async () => {
    const unhandled = vi.fn();
    process.on("unhandledRejection", unhandled);
    let fail: (error: Error) => void = () => {};
    const seen = rejection(
      run(
        open({ timeoutMs: 10 }),
        () =>
          new Promise((_resolve, reject) => {
            fail = reject;
          }),
      ),
    );
    await vi.advanceTimersByTimeAsync(10);
    fail(new Error("too late"));
    await new Promise((resolve) => setImmediate(resolve));
    process.off("unhandledRejection", unhandled);
    expect(seen.error?.code).toBe(Code.DeadlineExceeded);
    expect(unhandled).not.toHaveBeenCalled();
  });
});

describe("the signal", () => {
  it("fires when the deadline passes, with the error of the call", async () => {
    const context = open({ timeoutMs: 10 });
    const { signal } = context;
    const seen = rejection(run(context, () => never));
    await vi.advanceTimersByTimeAsync(10);
    expect(signal?.reason).toBe(seen.error);
  });

  it("never fires on success", async () => {
    const peer = exchange();
    const context = serve(peer, 10);
    const { signal } = context;
    await run(context, async () => {});
    await vi.advanceTimersByTimeAsync(1000);
    peer.abort();
    expect(signal?.aborted).toBe(false);
  });

  it("is the same signal for every access", () => {
    const context = open({ timeoutMs: 10 });
    expect(context.signal).toBe(context.signal);
    context.close();
  });

  it("is created on first use only", async () => {
    let made = 0;
    const { AbortController: Original } = globalThis;
    const peer = exchange();
    vi.stubGlobal(
      "AbortController",
      class extends Original {
        readonly number = ++made;
      },
    );
    await serve(peer, 10).run(async () => {});
    await serve(peer).run(async () => {});
    expect([peer.asked, made]).toEqual([0, 0]);
    const asked = serve(peer, 10);
    expect(asked.signal?.aborted).toBe(false);
    expect([peer.asked, made]).toEqual([1, 1]);
    asked.close();
    vi.unstubAllGlobals();
  });

  it("is that of the exchange without a deadline", () => {
    const peer = exchange();
    expect(serve(peer).signal).toBe(peer.signal);
  });

  it("fires when the peer is lost, with a deadline too", () => {
    const peer = exchange();
    const context = serve(peer, 10);
    const { signal } = context;
    peer.abort();
    expect(signal?.reason).toMatchObject({ code: Code.Canceled, rawMessage: "peer is gone" });
    context.close();
  });

  it.each([
    [98, Code.Canceled],
    [99.5, Code.DeadlineExceeded],
    [200, Code.DeadlineExceeded],
  ])(
    "has the code of the call if its client cancels it %d ms after its start, before the timer of 100 ms",
    (ms, code) => {
      const peer = exchange();
      const now = vi.spyOn(performance, "now").mockReturnValue(1_000);
      onTestFinished(() => now.mockRestore());
      const context = serve(peer, 100);
      const { signal } = context;
      now.mockReturnValue(1_000 + ms);
      peer.abort();
      expect(signal?.reason).toMatchObject({ code });
      context.close();
    },
  );

  it("has fired already if it is first used after the end", async () => {
    const context = open({ timeoutMs: 10 });
    const seen = rejection(run(context, () => never));
    await vi.advanceTimersByTimeAsync(10);
    expect(context.signal?.reason).toBe(seen.error);
  });
});

describe("a caller's signal", () => {
  it("ends the work, and the context releases it afterwards", async () => {
    const controller = new AbortController();
    const removed = vi.spyOn(controller.signal, "removeEventListener");
    const context = open({ signal: controller.signal });
    const seen = rejection(run(context, () => never));
    controller.abort("had enough");
    await vi.advanceTimersByTimeAsync(0);
    expect(seen.error).toMatchObject({ code: Code.Canceled, rawMessage: "had enough" });
    expect(removed).toHaveBeenCalled();
  });

  it("prevents the work from starting if it has fired already", async () => {
    const work = vi.fn(() => never);
    await expect(run(open({ signal: AbortSignal.abort() }), work)).rejects.toMatchObject({ code: Code.Canceled });
    expect(work).not.toHaveBeenCalled();
  });

  it("takes precedence over a later deadline", async () => {
    const controller = new AbortController();
    const context = open({ signal: controller.signal, timeoutMs: 10 });
    const { signal } = context;
    controller.abort();
    await vi.advanceTimersByTimeAsync(100);
    expect(signal?.reason).toMatchObject({ code: Code.Canceled });
    await expect(run(context, () => never)).rejects.toMatchObject({ code: Code.Canceled });
  });

  it("has no listeners after success", async () => {
    const controller = new AbortController();
    const added = vi.spyOn(controller.signal, "addEventListener");
    const removed = vi.spyOn(controller.signal, "removeEventListener");
    const context = open({ signal: controller.signal, timeoutMs: 10 });
    void context.signal;
    await run(context, async () => {});
    expect(removed.mock.calls.length).toBe(added.mock.calls.length);
    expect(removed.mock.calls.map(([, listener]) => listener)).toEqual(
      added.mock.calls.map(([, listener]) => listener),
    );
  });
});

describe("close", () => {
  const controller = new AbortController();
  const peer = exchange();
  it.each([
    ["client", () => open({ timeoutMs: 10, signal: controller.signal }), () => controller.abort()],
    ["server", () => serve(peer, 10), () => peer.abort()],
  ] as const)("stops the timer and removes the listeners of a %s", (_, openOne, abort) => {
    const context = openOne();
    const { signal } = context;
    context.close();
    expect(vi.getTimerCount()).toBe(0);
    abort();
    expect(signal?.aborted).toBe(false);
  });

  it("may be called twice", () => {
    const context = open({ timeoutMs: 10 });
    context.close();
    expect(() => context.close()).not.toThrow();
  });

  it("is final for a signal that is first used later", () => {
    const peer = exchange();
    const context = serve(peer, 10);
    context.close();
    const { signal } = context;
    peer.abort();
    expect(signal?.aborted).toBe(false);
  });
});

describe("each", () => {
  /** Items that record whether their iteration was ended. */
  function items(source: AsyncIterable<number> | Iterable<number>): {
    list: AsyncGenerator<number>;
    ended: () => boolean;
  } {
    let ended = false;
    async function* list(): AsyncGenerator<number> {
      try {
        yield* source;
      } finally {
        ended = true;
      }
    }
    return { list: list(), ended: () => ended };
  }

  async function collect(all: AsyncIterable<number>, into: number[] = []): Promise<number[]> {
    for await (const one of all) into.push(one);
    return into;
  }

  it("yields all items, then stops the timer", async () => {
    const context = open({ timeoutMs: 10 });
    const { list } = items([1, 2, 3]);
    await expect(collect(eachWithin(context, list))).resolves.toEqual([1, 2, 3]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("returns the items unchanged if nothing can end the call", () => {
    const { list } = items([1]);
    expect(eachWithin(open(), list)).toBe(list);
  });

  it("ends with the deadline, even while an item is awaited", async () => {
    async function* slow(): AsyncGenerator<number> {
      yield 1;
      await never;
    }
    const got: number[] = [];
    const seen = rejection(collect(eachWithin(open({ timeoutMs: 10 }), slow()), got));
    await vi.advanceTimersByTimeAsync(10);
    expect(got).toEqual([1]);
    expect(seen.error?.code).toBe(Code.DeadlineExceeded);
  });

  it("ends the items when its reader leaves, and stops the timer", async () => {
    const context = open({ timeoutMs: 10 });
    const { list, ended } = items([1, 2, 3]);
    for await (const one of eachWithin(context, list)) if (one === 2) break;
    await vi.advanceTimersByTimeAsync(0);
    expect(ended()).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("ends the items when the caller cancels between two of them", async () => {
    const controller = new AbortController();
    const { list, ended } = items([1, 2, 3]);
    const got: number[] = [];
    const reading = (async () => {
      for await (const one of eachWithin(open({ signal: controller.signal }), list)) {
        got.push(one);
        controller.abort();
      }
    })();
    await expect(reading).rejects.toMatchObject({ code: Code.Canceled });
    expect(got).toEqual([1]);
    expect(ended()).toBe(true);
  });

  it("passes on an error of the items", async () => {
    const broken = new Error("broken");
    // biome-ignore lint/correctness/useYield: it fails before it has anything to yield
    async function* failing(): AsyncGenerator<number> {
      throw broken;
    }
    await expect(collect(eachWithin(open({ timeoutMs: 10 }), failing()))).rejects.toBe(broken);
  });
});

describe("context values", () => {
  const key = createContextKey("anonymous", "user");

  it("have the key's default until one is set, and again after it is deleted", () => {
    const { values } = open();
    expect(values.get(key)).toBe("anonymous");
    expect(values.set(key, "Ada").get(key)).toBe("Ada");
    expect(values.delete(key).get(key)).toBe("anonymous");
  });

  it("distinguish an undefined value from a missing one", () => {
    const maybe = createContextKey<string | undefined>("default");
    expect(createContextValues().set(maybe, undefined).get(maybe)).toBeUndefined();
  });

  it("are distinguished by key, not by description", () => {
    const other = createContextKey("else", "user");
    expect(createContextValues().set(key, "Ada").get(other)).toBe("else");
  });

  it("are those of the caller if it passes some, and otherwise new ones", () => {
    const given = createContextValues();
    expect(open({ values: given }).values).toBe(given);
    const context = open();
    expect(context.values).toBe(context.values);
    expect(open().values).not.toBe(open().values);
  });
});
