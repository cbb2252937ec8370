/** In-memory transports behave like a network. */
import { Code, createInMemoryTransport, createRouter, RpcError, type Transport } from "triple-es";
import { describe, expect, it } from "vitest";
import {
  createGreetServiceClient,
  GreetServiceDef,
  type GreetServiceHandler,
} from "../../examples/gen/greet/v1/greet_triple.ts";
import { aborted, failureOf, greeter, openTransport, signalled, startServer } from "../support/server.ts";

type Protocol = "grpc" | "http-rpc";

/** The same handler, in memory and behind a socket. */
const WAYS: Record<string, (handler: Partial<GreetServiceHandler>, protocol: Protocol) => Promise<Transport>> = {
  "in memory": async (handler, protocol) =>
    createInMemoryTransport(createRouter().add(GreetServiceDef, { ...greeter, ...handler }), { protocol }),
  "over a socket": async (handler, protocol) => openTransport((await startServer(handler)).baseUrl, { protocol }),
};

const abortedFor = (reason?: unknown) => (begun: Promise<void>) => {
  const controller = new AbortController();
  void begun.then(() => controller.abort(reason));
  return controller.signal;
};
const SIGNALS: Record<string, (begun: Promise<void>) => AbortSignal> = {
  "an error of the client's own": abortedFor(new Error("mine")),
  "an RpcError of the client's own": abortedFor(new RpcError(Code.NotFound, "mine", { trailers: { mine: "1" } })),
  "no reason": abortedFor(),
  "a time that is up": abortedFor(new DOMException("the time is up", "TimeoutError")),
};

describe.each(Object.entries(WAYS))("a handler %s", (_, connect) => {
  it.each(
    Object.entries(SIGNALS).flatMap(([reason, signal]) => [
      [reason, "greet", "grpc", signal] as const,
      [reason, "greetEach", "grpc", signal] as const,
      [reason, "greet", "http-rpc", signal] as const,
    ]),
  )("receives only the cancellation if its caller cancels with %s: %s, %s", async (_, method, protocol, open) => {
    const [begun, told] = [signalled(), signalled<unknown>()];
    const hear = async (signal: AbortSignal): Promise<void> => {
      begun.resolve();
      told.resolve(await aborted(signal));
    };
    const transport = await connect(
      {
        greet: async (_, { signal }) => {
          await hear(signal);
          return {};
        },
        async *greetEach(_, { signal }) {
          yield {};
          await hear(signal);
        },
      },
      protocol,
    );
    await failureOf(createGreetServiceClient(transport)[method]({}, { signal: open(begun.promise) }));
    const reason = (await told.promise) as RpcError;
    expect(reason).toBeInstanceOf(RpcError);
    expect([reason.code, reason.rawMessage, reason.cause, reason.trailers.size]).toEqual([
      Code.Canceled,
      "the client cancelled the call or disconnected",
      undefined,
      0,
    ]);
  });
});

describe.each(Object.entries(WAYS))("a handler %s that waits for a request", (_, connect) => {
  async function* silentGenerator(): AsyncGenerator<object> {
    yield {};
    await new Promise(() => {});
  }

  const silent = (onReturn: () => void): AsyncIterable<object> => {
    const steps = [Promise.resolve({ done: false as const, value: {} })];
    const end = async () => {
      onReturn();
      return { done: true as const, value: undefined };
    };
    return { [Symbol.asyncIterator]: () => ({ next: () => steps.pop() ?? new Promise(() => {}), return: end }) };
  };

  it.each(["a generator", "an iterator"])("ends when its call ends, and so does %s of requests", async (kind) => {
    const [begun, left, ended] = [signalled(), signalled(), signalled<unknown>()];
    const transport = await connect(
      {
        greetTogether: async (requests) => {
          try {
            for await (const _ of requests) begun.resolve();
          } catch (reason) {
            ended.resolve(reason);
          }
          return {};
        },
      },
      "grpc",
    );
    const requests = kind === "a generator" ? silentGenerator() : silent(left.resolve);
    const signal = abortedFor()(begun.promise);
    const error = await failureOf(createGreetServiceClient(transport).greetTogether(requests, { signal }));
    expect(error.code).toBe(Code.Canceled);
    expect(await ended.promise).toMatchObject({ code: Code.Canceled });
    // A generator that waits cannot return.
    if (kind === "an iterator") await left.promise;
  });
});

it("a signal that many calls share is not listened to once they are over", async () => {
  const counts = { add: 0, remove: 0 };
  const { signal } = new AbortController();
  const { addEventListener, removeEventListener } = signal;
  signal.addEventListener = (...given: Parameters<typeof addEventListener>) => {
    counts.add += 1;
    addEventListener.apply(signal, given);
  };
  signal.removeEventListener = (...given: Parameters<typeof removeEventListener>) => {
    counts.remove += 1;
    removeEventListener.apply(signal, given);
  };
  const heard: boolean[] = [];
  const router = createRouter().add(GreetServiceDef, {
    ...greeter,
    greet: (_, context) => {
      heard.push(context.signal.aborted);
      return {};
    },
  });
  const client = createGreetServiceClient(createInMemoryTransport(router));
  for (let call = 0; call < 3; call += 1) await client.greet({}, { signal });
  expect(heard).toEqual([false, false, false]);
  expect(counts.add).toBeGreaterThan(0);
  expect(counts.remove).toBe(counts.add);
});

it("has nothing to close", () => {
  expect(Object.keys(createInMemoryTransport(createRouter()))).toEqual(["call"]);
});
