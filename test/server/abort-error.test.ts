/**
 * Handlers that pass `context.signal` on fail with an `AbortError` when the call ends early. This is the end of the call,
 * not a failure of the handler.
 */
import { EventEmitter, on } from "node:events";
import { createServer as createHttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import {
  Code,
  createServerLogger,
  type FinishedCall,
  type HandlerContext,
  type Interceptor,
  RpcError,
} from "triple-es";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { GreetServiceClient, GreetServiceHandler } from "../../examples/gen/greet/v1/greet_triple.ts";
import { isAbortOf } from "../../runtime/src/call/error.ts";
import { arriving, connectGreeter, failureOf, missDeadline, signalled, startServer } from "../support/server.ts";

/** Waits for an event that never happens, until the signal fires. */
type Wait = (signal: AbortSignal) => Promise<unknown>;

/** A server that never responds. */
const silent = createHttpServer();
beforeAll(() => new Promise<void>((resolve) => void silent.listen(0, "127.0.0.1", resolve)));
afterAll(() => {
  silent.closeAllConnections();
  silent.close();
});

const WAITS: Record<string, Wait> = {
  "events.on": async (signal) => {
    for await (const _ of on(new EventEmitter(), "event", { signal }));
  },
  "timers/promises": (signal) => sleep(60_000, undefined, { signal }),
  fetch: async (signal) => {
    await fetch(`http://127.0.0.1:${(silent.address() as AddressInfo).port}`, { signal });
  },
  "an error that has the AbortError as its cause": async (signal) => {
    await sleep(60_000, undefined, { signal }).catch((cause) => {
      throw new Error("the query failed", { cause: new Error("the connection failed", { cause }) });
    });
  },
  "an RpcError that has the AbortError as its cause": async (signal) => {
    await sleep(60_000, undefined, { signal }).catch((cause) => {
      throw new RpcError(Code.Internal, "wrapped", { cause: new Error("the connection failed", { cause }) });
    });
  },
  "Promise.any": (signal) => Promise.any([1, 2].map((one) => sleep(60_000, one, { signal }))),
  "the reason of the signal": (signal) =>
    new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
};

type Kind = "unary" | "server streaming" | "client streaming" | "bidi streaming" | "server streaming, begun";

function handlers(work: (context: HandlerContext) => Promise<unknown>): Record<Kind, Partial<GreetServiceHandler>> {
  return {
    unary: {
      greet: async (_, context) => {
        await work(context);
        return {};
      },
    },
    "server streaming": {
      // biome-ignore lint/correctness/useYield: it waits for something to yield
      async *greetEach(_, context) {
        await work(context);
      },
    },
    "server streaming, begun": {
      async *greetEach(_, context) {
        yield {};
        await work(context);
      },
    },
    "client streaming": {
      greetTogether: async (_, context) => {
        await work(context);
        return {};
      },
    },
    "bidi streaming": {
      async *greetOnArrival(_, context) {
        yield {};
        await work(context);
      },
    },
  };
}

type Options = Parameters<GreetServiceClient["greet"]>[1];

const CALLS: Record<
  Kind,
  (client: GreetServiceClient, options?: Options) => Promise<unknown> | AsyncIterable<unknown>
> = {
  unary: (client, options) => client.greet({}, options),
  "server streaming": (client, options) => client.greetEach({}, options),
  "server streaming, begun": (client, options) => client.greetEach({}, options),
  "client streaming": (client, options) => client.greetTogether(arriving("Ada"), options),
  "bidi streaming": (client, options) => client.greetOnArrival(arriving("Ada"), options),
};

const PROTOCOLS: readonly (readonly [protocol: "grpc" | "http-rpc", kind: Kind])[] = [
  ["http-rpc", "unary"],
  ...(Object.keys(CALLS) as Kind[]).map((kind) => ["grpc", kind] as const),
];

describe.each(Object.keys(WAITS))("a handler that waits by %s", (name) => {
  describe.each(PROTOCOLS)("over %s, %s,", (protocol, kind) => {
    async function start(): Promise<{
      readonly call: (options?: Options) => Promise<RpcError>;
      readonly begun: Promise<void>;
      readonly finished: Promise<FinishedCall>;
      readonly close: () => Promise<void>;
      readonly onError: ReturnType<typeof vi.fn>;
    }> {
      const begun = signalled();
      const settled = signalled();
      const logged = signalled<FinishedCall>();
      const onError = vi.fn();
      const work = async ({ signal }: HandlerContext): Promise<unknown> => {
        begun.resolve();
        return (WAITS[name] as Wait)(signal).finally(() => setImmediate(settled.resolve));
      };
      const interceptors = [createServerLogger(logged.resolve)];
      const { server, baseUrl } = await startServer(handlers(work)[kind], { onError, interceptors });
      const client = connectGreeter(baseUrl, { protocol });
      return {
        call: (options) => failureOf(CALLS[kind](client, options)),
        begun: begun.promise,
        finished: settled.promise.then(() => logged.promise),
        close: () => server.close({ graceMs: 20 }),
        onError,
      };
    }

    it("is not reported to onError when its caller cancels", async () => {
      const { call, begun, finished, onError } = await start();
      const controller = new AbortController();
      const failure = call({ signal: controller.signal });
      await begun;
      controller.abort();
      expect((await failure).code).toBe(Code.Canceled);
      expect((await finished).code).toBe("canceled");
      expect(onError).not.toHaveBeenCalled();
    });

    it("is not reported to onError when the deadline passes", async () => {
      const { call, begun, finished, onError } = await start();
      await missDeadline(begun, call);
      // The client's own deadline may pass first, and reset the call.
      expect((await finished).code).toMatch(/^deadline_exceeded|canceled$/);
      expect(onError).not.toHaveBeenCalled();
    });

    it("reports a shutdown to its caller as unavailable, which can be retried elsewhere", async () => {
      const { call, begun, finished, close, onError } = await start();
      const failure = call();
      await begun;
      await close();
      expect(await failure).toMatchObject({ code: Code.Unavailable, rawMessage: "the server is shutting down" });
      expect((await finished).code).toBe("unavailable");
      expect(onError).not.toHaveBeenCalled();
    });
  });
});

describe("an interceptor of a server", () => {
  it.each(["grpc", "http-rpc"] as const)("may wait with the signal of its call, over %s", async (protocol) => {
    const onError = vi.fn();
    const begun = signalled();
    const wait: Interceptor =
      () =>
      async ({ context }) => {
        begun.resolve();
        await sleep(60_000, undefined, { signal: context.signal });
        throw new Error("not reached");
      };
    const { server, baseUrl } = await startServer({}, { onError, interceptors: [wait] });
    const failure = failureOf(connectGreeter(baseUrl, { protocol }).greet({}));
    await begun.promise;
    await server.close({ graceMs: 20 });
    expect((await failure).code).toBe(Code.Unavailable);
    expect(onError).not.toHaveBeenCalled();
  });
});

describe("an interceptor of a client", () => {
  const wait: Interceptor =
    () =>
    async ({ context }) => {
      await sleep(60_000, undefined, { signal: context.signal });
      throw new Error("not reached");
    };
  const kinds = Object.entries(CALLS);

  it.each(kinds)("may wait with the signal of its call: the deadline is reported, %s", async (_, call) => {
    const client = connectGreeter("http://127.0.0.1:9", { interceptors: [wait] });
    expect((await failureOf(call(client, { timeoutMs: 20 }))).code).toBe(Code.DeadlineExceeded);
  });

  it.each(kinds)("may wait with the signal of its call: the caller's reason is reported, %s", async (_, call) => {
    const client = connectGreeter("http://127.0.0.1:9", { interceptors: [wait] });
    const controller = new AbortController();
    const failure = failureOf(call(client, { signal: controller.signal }));
    controller.abort(new RpcError(Code.Aborted, "no longer needed"));
    expect(await failure).toMatchObject({ code: Code.Aborted, rawMessage: "no longer needed" });
  });
});

describe("requests of a client", () => {
  it.each(["greetTogether", "greetOnArrival"] as const)("may wait with the signal of %s", async (method) => {
    const { baseUrl } = await startServer();
    const controller = new AbortController();
    const { signal } = controller;
    async function* requests(): AsyncGenerator<{ name: string }, void> {
      yield { name: "Ada" };
      setImmediate(() => controller.abort());
      await sleep(60_000, undefined, { signal });
    }
    const failure = failureOf(connectGreeter(baseUrl)[method](requests(), { signal }));
    expect((await failure).code).toBe(Code.Canceled);
  });
});

describe("an AbortError of a handler whose call continues", () => {
  it.each(["grpc", "http-rpc"] as const)("is a failure like any other, over %s", async (protocol) => {
    const onError = vi.fn();
    const own = AbortSignal.abort();
    const { baseUrl } = await startServer({ greet: () => fail(own) }, { onError });
    const fail = async (signal: AbortSignal): Promise<never> => sleep(1, undefined, { signal }) as Promise<never>;
    expect((await failureOf(connectGreeter(baseUrl, { protocol }).greet({}))).code).toBe(Code.Unknown);
    expect(onError).toHaveBeenCalledOnce();
  });
});

describe("another error of a handler, after its call has ended early,", () => {
  it("is still reported to onError", async () => {
    const reported = signalled<unknown>();
    const begun = signalled();
    const secret = new Error("the disk is full");
    const { baseUrl } = await startServer(
      {
        greet: async (_, { signal }) => {
          begun.resolve();
          await sleep(60_000, undefined, { signal }).catch(() => {});
          throw secret;
        },
      },
      { onError: reported.resolve },
    );
    const client = connectGreeter(baseUrl);
    await missDeadline(begun.promise, (options) => failureOf(client.greet({}, options)));
    expect(await reported.promise).toBe(secret);
  });
});

describe("isAbortOf", () => {
  const fired = AbortSignal.abort(new RpcError(Code.Unavailable, "going away"));

  it("finds the reason at any depth", () => {
    let error: unknown = fired.reason;
    for (let depth = 0; depth < 1_000; depth++) error = new Error("outer", { cause: error });
    expect(isAbortOf(fired, error)).toBe(true);
    expect(isAbortOf(new AbortController().signal, error)).toBe(false);
    expect(isAbortOf(undefined, error)).toBe(false);
  });

  it("ends if causes form a cycle", () => {
    const first = new Error("first");
    const second = new Error("second", { cause: first });
    first.cause = second;
    expect(isAbortOf(fired, first)).toBe(false);
  });

  it.each([undefined, null, 0, "text", {}, new Error("other")])("is false for %s", (thrown) => {
    expect(isAbortOf(fired, thrown)).toBe(false);
  });

  it("takes a reason that is not an object", () => {
    expect(isAbortOf(AbortSignal.abort("over"), new Error("wrapped", { cause: "over" }))).toBe(true);
  });
});
