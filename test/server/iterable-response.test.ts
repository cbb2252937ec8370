/** Response streams that handlers return as iterables, such as arrays, whose messages need no waiting. */
import { Worker } from "node:worker_threads";
import {
  type CallResponse,
  createInMemoryTransport,
  createRouter,
  type ErrorHook,
  type Interceptor,
  Metadata,
  type RouterOptions,
  type Transport,
} from "triple-es";
import { createTransport, fetchHandler } from "triple-es/fetch";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  createGreetServiceClient,
  type GreetServiceClient,
  type GreetServiceHandler,
} from "../../examples/gen/greet/v1/greet_triple.ts";
import { Code } from "../../runtime/src/call/code.ts";
import { RpcError } from "../../runtime/src/call/error.ts";
import { grpcRequest, routeGreeter } from "../support/greeter.ts";
import { connectGreeter, failureOf, greetings, openTransport, signalled, startServer } from "../support/server.ts";

const passing: Interceptor = (next) => next;

/** Ways of messages to the client: in memory, through an interceptor, or over a socket. */
const WAYS: Record<
  string,
  (handler: Partial<GreetServiceHandler>, onError?: ErrorHook) => Promise<GreetServiceClient>
> = {
  "in memory": async (handler, onError) => inMemory(handler, { onError }),
  "with an interceptor": async (handler, onError) => inMemory(handler, { interceptors: [passing], onError }),
  "over gRPC": async (handler, onError) => connectGreeter((await startServer(handler, { onError })).baseUrl),
  "over gRPC-Web": async (handler, onError) =>
    createGreetServiceClient(
      createTransport({ baseUrl: (await startServer(handler, { onError })).baseUrl, protocol: "grpc-web" }),
    ),
};

function inMemory(handler: Partial<GreetServiceHandler>, options: RouterOptions): GreetServiceClient {
  const { exchange } = routeGreeter(handler, options);
  return createGreetServiceClient(createInMemoryTransport({ ...createRouter(), exchange }));
}

describe.each(Object.entries(WAYS))("%s", (_way, connect) => {
  it("an array is a stream of its items", async () => {
    const client = await connect({ greetEach: ({ names }) => names.map((name) => ({ greeting: name })) });
    expect(await greetings(client.greetEach({ names: ["Ada", "Bob"] }))).toEqual(["Ada", "Bob"]);
    expect(await greetings(client.greetEach({ names: [] }))).toEqual([]);
  });

  it("an error before the first message has the headers of the handler", async () => {
    const client = await connect({
      // biome-ignore lint/correctness/useYield: it fails before it has anything to yield
      *greetEach(_request, { responseHeaders }) {
        responseHeaders.set("x-why", "closed");
        throw new RpcError(Code.NotFound, "not found");
      },
    });
    const { code, headers } = await failureOf(client.greetEach({}));
    expect([code, headers.get("x-why")]).toEqual([Code.NotFound, "closed"]);
  });

  it("an error after a message ends the stream", async () => {
    const client = await connect({
      *greetEach() {
        yield { greeting: "a" };
        throw new RpcError(Code.DataLoss, "lost");
      },
    });
    const got: string[] = [];
    const reading = (async () => {
      for await (const { greeting } of client.greetEach({})) got.push(greeting);
    })();
    expect([(await failureOf(reading)).code, got]).toEqual([Code.DataLoss, ["a"]]);
  });

  it.each([
    ["messages", () => [Promise.resolve({ greeting: "Ada" })]],
    ["steps", () => ({ [Symbol.iterator]: () => ({ next: async () => ({ value: { greeting: "Ada" } }) }) })],
  ])("promises of %s are refused", async (_what, greetEach) => {
    const errors: unknown[] = [];
    const client = await connect({ greetEach: greetEach as never }, (error) => errors.push(error));
    expect((await failureOf(client.greetEach({}))).code).toBe(Code.Unknown);
    expect(String(errors)).toContain("must return messages, not promises of them");
  });

  it("a client that leaves ends a generator without an end", async () => {
    const left = signalled();
    const client = await connect({
      *greetEach() {
        try {
          for (;;) yield { greeting: "x".repeat(100) };
        } finally {
          left.resolve();
        }
      },
    });
    for await (const { greeting } of client.greetEach({})) {
      expect(greeting).toHaveLength(100);
      break;
    }
    await left.promise;
  });

  it.each(["an iterator", "an async iterator"])("a client that leaves ends %s once", async (kind) => {
    const ended = signalled();
    let ends = 0;
    const next = () => ({ done: false, value: { greeting: "x".repeat(100) } });
    const end = () => {
      ends++;
      ended.resolve();
      return { done: true, value: undefined };
    };
    const greetEach = () =>
      kind === "an iterator"
        ? { [Symbol.iterator]: () => ({ next, return: end }) }
        : { [Symbol.asyncIterator]: () => ({ next: async () => next(), return: async () => end() }) };
    const client = await connect({ greetEach: greetEach as GreetServiceHandler["greetEach"] });
    for await (const _ of client.greetEach({})) break;
    await ended.promise;
    await client.greet({});
    expect(ends).toBe(1);
  });
});

it.each([[], [passing]])("a generator that ends its own call is ended after its turn", async (...interceptors) => {
  const left = signalled();
  const errors: unknown[] = [];
  const handler = {
    *greetEach() {
      try {
        yield { greeting: "a" };
        void messages.return?.();
        yield { greeting: "b" };
      } finally {
        left.resolve();
      }
    },
  };
  const client = inMemory(handler, { interceptors, onError: (error) => errors.push(error) });
  const messages = client.greetEach({})[Symbol.asyncIterator]();
  await messages.next();
  expect(await messages.next()).toMatchObject({ done: true });
  await left.promise;
  expect(errors).toEqual([]);
});

it("a source of an interceptor that throws when its deadline ends it fails the call only", async () => {
  const left = signalled();
  const throwing: Interceptor = (next) => async (request) => {
    const response = await next(request);
    const end = (): never => {
      left.resolve();
      throw new Error("it cannot be left");
    };
    const read = async () => ({ done: false, value: { greeting: "a" } }) as const;
    return { ...response, messages: { [Symbol.asyncIterator]: () => ({ next: read, return: end }) } } as CallResponse;
  };
  const { exchange } = routeGreeter({}, { interceptors: [throwing] });
  const { body } = await exchange(
    grpcRequest({ path: "/greet.v1.GreetService/GreetEach", headers: { "grpc-timeout": "50m" } }),
  );
  const chunks = body[Symbol.asyncIterator]();
  await chunks.next();
  // Nothing catches an error of the callback of a timer.
  await left.promise;
  await expect(chunks.next()).rejects.toThrow();
});

it("the responses of another server are passed on, which wait for messages", async () => {
  const { baseUrl } = await startServer();
  const upstream = openTransport(baseUrl);
  const passingOn: Interceptor = () => async (request) => {
    const response = await upstream.call({ ...request, headers: new Metadata() });
    return { ...response, headers: new Metadata(), trailers: new Metadata() };
  };
  const client = inMemory({}, { interceptors: [passingOn] });
  expect(await greetings(client.greetEach({ names: ["Ada", "Bob"] }))).toEqual(["Hello, Ada!", "Hello, Bob!"]);
});

describe("a generator without an end", () => {
  it("waits for a client that does not read, while other calls are answered", async () => {
    let count = 0;
    const { baseUrl } = await startServer({
      *greetEach() {
        for (;;) yield { greeting: `${++count}` };
      },
    });
    const client = connectGreeter(baseUrl);
    const messages = client.greetEach({})[Symbol.asyncIterator]();
    expect((await messages.next()).value).toMatchObject({ greeting: "1" });
    const other = connectGreeter(baseUrl);
    let before = 0;
    // It has stopped when a whole call leaves the count as it was.
    while (before !== count) {
      before = count;
      expect((await other.greet({ name: "Ada" })).greeting).toBe("Hello, Ada!");
    }
    expect(count).toBeGreaterThan(1);
    await messages.return?.();
  });

  /** Yields until its call ends, and no longer than a server may be held up. */
  function* unending(onEnd: (wasEnded: boolean) => void): Generator<{ greeting: string }, void> {
    const latest = performance.now() + 10_000;
    let wasEnded = true;
    try {
      while (performance.now() < latest) yield { greeting: "x" };
      wasEnded = false;
    } finally {
      onEnd(wasEnded);
    }
  }

  type Unending = Pick<GreetServiceHandler, "greet" | "greetEach">;
  const TRANSPORTS: Record<string, (handler: Unending) => Promise<Transport>> = {
    gRPC: async (handler) => openTransport((await startServer(handler)).baseUrl, { protocol: "grpc" }),
    "gRPC in memory": async (handler) => createInMemoryTransport(routeGreeter(handler).router, { protocol: "grpc" }),
    "HTTP RPC in memory": async (handler) =>
      createInMemoryTransport(routeGreeter(handler).router, { protocol: "http-rpc" }),
    "gRPC-Web to a fetch handler": async (handler) => {
      const answer = fetchHandler(routeGreeter(handler).router);
      const ask = (url: string | URL | Request, init?: RequestInit): Promise<Response> =>
        answer(new Request(url, init));
      return createTransport({ baseUrl: "http://localhost", protocol: "grpc-web", fetch: ask });
    },
  };

  it.each(Object.entries(TRANSPORTS))("ends at the deadline of the call over %s", async (_way, connect) => {
    const left = signalled<boolean>();
    const client = createGreetServiceClient(
      await connect({ greet: () => ({}), greetEach: () => unending(left.resolve) }),
    );
    // The deadline must not pass before the handler runs, so it is no deadline of the connection.
    await client.greet({});
    expect((await failureOf(greetings(client.greetEach({}, { timeoutMs: 500 })))).code).toBe(Code.DeadlineExceeded);
    expect(await left.promise).toBe(true);
  });

  it("ends at the deadline of the call although its client takes all at once", async () => {
    const left = signalled<boolean>();
    const { port } = await startServer({ greetEach: () => unending(left.resolve) });
    const head = "POST /greet.v1.GreetService/GreetEach HTTP/1.1\r\nhost: a\r\ncontent-type: application/json";
    const request = `${head}\r\ntri-service-timeout: 500\r\ncontent-length: 2\r\n\r\n{}`;
    const text = `require("net").connect(${port}, "127.0.0.1").resume().write(${JSON.stringify(request)})`;
    const reader = new Worker(text, { eval: true });
    onTestFinished(async () => void (await reader.terminate()));
    expect(await left.promise).toBe(true);
  });
});
