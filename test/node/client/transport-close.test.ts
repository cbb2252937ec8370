/** Closing a transport: it settles when the last call has ended, whichever side began to close the connection. */
import {
  type CallRequest,
  Code,
  type Interceptor,
  RpcError,
  Status,
  type StreamRequest,
  type StreamResponse,
} from "triple-es";
import { createTransport, type NodeTransportOptions } from "triple-es/node";
import { afterEach, describe, expect, it, vi } from "vitest";
import { createGreetServiceClient } from "../../../examples/gen/greet/v1/greet_triple.ts";
import { eachOf } from "../../../runtime/src/call/message-stream.ts";
import { pause } from "../../support/pause.ts";
import {
  aborted,
  connectGreeter,
  failureOf,
  openTransport,
  signalled,
  startPeer,
  startServer,
} from "../../support/server.ts";

it("waits for the calls of a connection that the server is closing already", async () => {
  const [begun, finish] = [signalled(), signalled()];
  const { server, baseUrl } = await startServer({
    async greet({ name }) {
      begun.resolve();
      await finish.promise;
      return { greeting: `Hello, ${name}!` };
    },
  });
  const transport = openTransport(baseUrl);
  const call = createGreetServiceClient(transport).greet({ name: "Ada" });
  await begun.promise;
  const serverClosed = server.close();
  // A refused connection proves that the server has begun to close, and that there was time for its GOAWAY.
  await expect(connectGreeter(baseUrl).greet({ name: "late" })).rejects.toThrow();
  const closed = transport.close();
  finish.resolve();
  expect((await call).greeting).toBe("Hello, Ada!");
  await closed;
  await serverClosed;
});

it("happens at the end of a block with `await using`", async () => {
  const { baseUrl } = await startServer();
  const used = await (async () => {
    await using transport = createTransport({ baseUrl });
    await createGreetServiceClient(transport).greet({});
    return transport;
  })();
  expect((await failureOf(createGreetServiceClient(used).greet({}))).rawMessage).toBe("the transport is closed");
});

afterEach(() => {
  vi.useRealTimers();
});

/** Expects that a transport is closed by timers that fire within the given time. */
async function closeWithin(maxMs: number, close: () => Promise<void>): Promise<void> {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  let isClosed = false;
  void close().then(() => {
    isClosed = true;
  });
  await vi.advanceTimersByTimeAsync(maxMs);
  // The sockets that timers have destroyed close in later turns of the event loop.
  for (let turns = 0; turns < 1_000 && !isClosed; turns++) await new Promise(setImmediate);
  const wasClosed = isClosed;
  // A socket that is still open would hold up the end of the test.
  await vi.advanceTimersByTimeAsync(5_000);
  vi.useRealTimers();
  expect(wasClosed).toBe(true);
}

const CLOSED = { code: Code.Unavailable, rawMessage: "the transport is closed" };

const TRANSPORTS: Readonly<Record<string, Omit<NodeTransportOptions, "baseUrl">>> = {
  "gRPC over HTTP/2": { protocol: "grpc" },
  "HTTP RPC over HTTP/1.1": { protocol: "http-rpc" },
  "HTTP RPC over HTTP/2": { protocol: "http-rpc", httpVersion: "2" },
};
const WAYS: readonly (readonly [string, (opened: Promise<void>) => Omit<NodeTransportOptions, "baseUrl">])[] = [
  ["as it is", () => ({})],
  ["that is compressed first", () => ({ compression: "gzip", compressMinBytes: 0 })],
  [
    "that an interceptor holds back",
    (opened) => {
      const waiting: Interceptor = (next) => async (request) => {
        await opened;
        return next(request);
      };
      return { interceptors: [waiting] };
    },
  ],
];

describe.each(Object.entries(TRANSPORTS))("%s", (_, options) => {
  it.each(WAYS)("finishes a call %s before it closes", async (_, way) => {
    const { baseUrl } = await startServer();
    const gate = signalled();
    const transport = openTransport(baseUrl, { ...options, ...way(gate.promise) });
    const events: string[] = [];
    const call = createGreetServiceClient(transport).greet({ name: "Ada" });
    const called = call.then(({ greeting }) => events.push(greeting));
    const closed = transport.close().then(() => events.push("closed"));
    expect(await failureOf(createGreetServiceClient(transport).greet({ name: "late" }))).toMatchObject({
      code: Code.Unavailable,
      status: Status.ChannelInactive,
    });
    gate.resolve();
    await Promise.all([called, closed]);
    expect(events).toEqual(["Hello, Ada!", "closed"]);
  });

  it("is closed also after calls that went wrong in an interceptor, and as often as one likes", async () => {
    const { baseUrl } = await startServer();
    const broken = [
      () => () => {
        throw new Error("broken");
      },
      () => () => undefined,
    ] as unknown as Interceptor[];
    for (const interceptor of broken) {
      const transport = openTransport(baseUrl, { ...options, interceptors: [interceptor] });
      await expect(createGreetServiceClient(transport).greet({})).rejects.toThrow();
      await transport.close();
      await transport.close();
    }
  });

  it("is closed at the end of the grace period, and fails calls without a response", async () => {
    const begun = signalled();
    const { baseUrl } = await startServer({
      greet: () => {
        begun.resolve();
        return new Promise(() => {});
      },
    });
    const transport = openTransport(baseUrl, options);
    const failed = failureOf(createGreetServiceClient(transport).greet({}));
    await begun.promise;
    await transport.close({ graceMs: 10 });
    expect(await failed).toMatchObject(CLOSED);
  });

  it("finishes a stream before it closes", async () => {
    const gate = signalled();
    const { baseUrl } = await startServer({
      async *greetEach() {
        yield { greeting: "first" };
        await gate.promise;
        yield { greeting: "last" };
      },
    });
    const transport = openTransport(baseUrl, options);
    const messages = createGreetServiceClient(transport).greetEach({})[Symbol.asyncIterator]();
    await messages.next();
    let isClosed = false;
    const closed = transport.close().then(() => {
      isClosed = true;
    });
    await new Promise(setImmediate);
    expect(isClosed).toBe(false);
    gate.resolve();
    expect(await messages.next()).toMatchObject({ value: { greeting: "last" } });
    expect((await messages.next()).done).toBe(true);
    await closed;
  });

  it("is closed at the end of the grace period, and fails streams", async () => {
    const { baseUrl } = await startServer({
      async *greetEach(_, { signal }) {
        yield { greeting: "Hello!" };
        await aborted(signal);
      },
    });
    const transport = openTransport(baseUrl, options);
    const messages = createGreetServiceClient(transport).greetEach({})[Symbol.asyncIterator]();
    await messages.next();
    await transport.close({ graceMs: 10 });
    await expect(messages.next()).rejects.toMatchObject(CLOSED);
  });

  it("is closed at the end of the grace period even if the server waits for a handler before it closes its side", async () => {
    const [begun, finish] = [signalled(), signalled()];
    const { baseUrl } = await startServer({
      async greet() {
        begun.resolve();
        await finish.promise;
        return {};
      },
    });
    const transport = openTransport(baseUrl, options);
    const failed = failureOf(createGreetServiceClient(transport).greet({}));
    await begun.promise;
    await closeWithin(100, () => transport.close({ graceMs: 10 }));
    expect(await failed).toMatchObject(CLOSED);
    finish.resolve();
  });

  it("is closed at the end of the grace period even if an interceptor holds a call back, which then fails", async () => {
    const { baseUrl } = await startServer();
    const gate = signalled();
    const waiting: Interceptor = (next) => async (request) => {
      await gate.promise;
      return next(request);
    };
    const transport = openTransport(baseUrl, { ...options, interceptors: [waiting] });
    const failed = failureOf(createGreetServiceClient(transport).greet({}));
    await transport.close({ graceMs: 10 });
    gate.resolve();
    expect(await failed).toMatchObject(CLOSED);
  });

  it("fails calls that wait for their next attempt at the end of the grace period", async () => {
    const trailers = { "grpc-retry-pushback-ms": "9999999999" };
    let attempts = 0;
    const { baseUrl } = await startServer({
      greet() {
        attempts += 1;
        throw new RpcError(Code.Unavailable, "later", { trailers });
      },
    });
    const waits = signalled();
    const transport = openTransport(baseUrl, {
      ...options,
      retry: { applies: () => true, onRetry: () => waits.resolve() },
    });
    const failed = failureOf(createGreetServiceClient(transport).greet({}));
    await waits.promise;
    await transport.close({ graceMs: 10 });
    expect(await failed).toMatchObject(CLOSED);
    expect(attempts).toBe(1);
  });

  it("is closed at the end of the grace period even if its connection has not been established", async () => {
    const connected = signalled();
    const port = await startPeer(() => connected.resolve());
    const transport = openTransport(`https://127.0.0.1:${port}`, options);
    const failed = failureOf(createGreetServiceClient(transport).greet({}));
    await connected.promise;
    await transport.close({ graceMs: 10 });
    expect((await failed).code).toBe(Code.Unavailable);
  });

  it.each([-1, Number.NaN, "5s", null])(
    "is not closed with the grace period %s, and keeps working",
    async (graceMs) => {
      const { baseUrl } = await startServer();
      const transport = openTransport(baseUrl, options);
      const message = `graceMs must be 0 or more, not ${graceMs === "5s" ? '"5s"' : graceMs}`;
      await expect(transport.close({ graceMs: graceMs as never })).rejects.toThrow(new TypeError(message));
      expect((await createGreetServiceClient(transport).greet({ name: "Ada" })).greeting).toBe("Hello, Ada!");
    },
  );
});

it("begins no target of a registry for a call that an interceptor has held back beyond the grace period", async () => {
  let watched = 0;
  async function* resolver() {
    watched += 1;
    yield [];
  }
  const gate = signalled();
  const waiting: Interceptor = (next) => async (request) => {
    await gate.promise;
    return next(request);
  };
  const transport = createTransport({ registry: { resolver: () => resolver } as never, interceptors: [waiting] });
  const failed = failureOf(createGreetServiceClient(transport).greet({}));
  await transport.close({ graceMs: 0 });
  gate.resolve();
  expect(await failed).toMatchObject(CLOSED);
  expect(watched).toBe(0);
});

describe("a stream that an interceptor has not read", () => {
  /** Makes each call twice, and returns the second response. */
  const twice =
    (onFirst: (response: StreamResponse) => unknown): Interceptor =>
    (next) =>
    async (request) => {
      const again: CallRequest = { ...(request as StreamRequest), messages: eachOf([{ names: [] }]) };
      await onFirst((await next(request)) as StreamResponse);
      return next(again);
    };

  it("is over when the interceptor leaves it, and does not hold up the end of the transport", async () => {
    let cancelled = 0;
    const { baseUrl } = await startServer({
      async *greetEach(_, { signal }) {
        yield { greeting: "Hello!" };
        cancelled += 1;
        await aborted(signal);
      },
    });
    const leave = ({ messages }: StreamResponse): unknown => messages[Symbol.asyncIterator]().return?.();
    const transport = openTransport(baseUrl, { interceptors: [twice(leave)] });
    for await (const { greeting } of createGreetServiceClient(transport).greetEach({})) {
      expect(greeting).toBe("Hello!");
      break;
    }
    await transport.close({ graceMs: Number.POSITIVE_INFINITY });
    await expect.poll(() => cancelled).toBe(2);
  });

  it("does not hold up the end of the transport beyond the grace period while the server has more messages", async () => {
    const { baseUrl } = await startServer({
      async *greetEach() {
        for (;;) yield { greeting: "x".repeat(10_000) };
      },
    });
    const transport = openTransport(baseUrl);
    await createGreetServiceClient(transport).greetEach({})[Symbol.asyncIterator]().next();
    await closeWithin(100, () => transport.close({ graceMs: 10 }));
  });

  it("holds up the end of the transport for the grace period, and fails then", async () => {
    const { baseUrl } = await startServer({
      async *greetEach(_, { signal }) {
        yield { greeting: "Hello!" };
        await aborted(signal);
      },
    });
    let unread: AsyncIterator<object> | undefined;
    const keep = ({ messages }: StreamResponse): unknown => {
      unread = messages[Symbol.asyncIterator]();
      return unread;
    };
    const transport = openTransport(baseUrl, { interceptors: [twice(keep)] });
    const read = createGreetServiceClient(transport).greetEach({})[Symbol.asyncIterator]();
    await read.next();
    await transport.close({ graceMs: 10 });
    await expect(read.next()).rejects.toMatchObject(CLOSED);
    await expect(unread?.next()).rejects.toMatchObject(CLOSED);
  });
});

it.each([-1, Number.NaN, "5s", null])("a server is not closed with the grace period %s", async (graceMs) => {
  const { server } = await startServer();
  const message = `graceMs must be 0 or more, not ${graceMs === "5s" ? '"5s"' : graceMs}`;
  let told = 0;
  server.onClose(() => told++);
  await expect(server.close({ graceMs: graceMs as never })).rejects.toThrow(new TypeError(message));
  expect(told).toBe(0);
});

it("a server waits for its calls without a limit if the grace period is infinite", async () => {
  const [begun, finish] = [signalled(), signalled()];
  const { server, baseUrl } = await startServer({
    async greet() {
      begun.resolve();
      await finish.promise;
      return { greeting: "at last" };
    },
  });
  const call = connectGreeter(baseUrl).greet({});
  await begun.promise;
  const closed = server.close({ graceMs: Number.POSITIVE_INFINITY });
  await pause(20);
  finish.resolve();
  expect((await call).greeting).toBe("at last");
  await closed;
});
