/** The limit on the memory of the decoded messages of all running calls: what is counted, for how long, and what is refused. */
import { type CallOptions, Code, createInMemoryTransport, createRouter, RpcError } from "triple-es";
import { createTransport as createFetchTransport, fetchHandler } from "triple-es/fetch";
import type { NodeTransportOptions, ServerOptions } from "triple-es/node";
import { describe, expect, it } from "vitest";
import {
  createGreetServiceClient,
  type GreetServiceClient,
  GreetServiceDef,
  type GreetServiceHandler,
} from "../../examples/gen/greet/v1/greet_triple.ts";
import {
  aborted,
  arriving,
  connectGreeter,
  failureOf,
  greeter,
  greetings,
  signalled,
  startServer,
} from "../support/server.ts";

/** The limits leave room for four messages of {@link LONG}, each of which takes 20 kB: its bytes and its text. */
const LIMITS = { maxMessageBytes: 65_536, maxDecodedBytes: 65_536, maxTotalDecodedBytes: 131_072 };
const LONG = "x".repeat(10_000);
const ROOM = 4;
const CALLS = 2 * ROOM;

const REFUSED = {
  code: Code.Unavailable,
  rawMessage:
    "the messages of running calls take too much memory at present (option maxTotalDecodedBytes of the server)",
};

type Connect = (handler: Partial<GreetServiceHandler>, options?: ServerOptions) => Promise<GreetServiceClient>;

const over =
  (client: Omit<NodeTransportOptions, "baseUrl">): Connect =>
  async (handler, options) =>
    connectGreeter((await startServer(handler, { ...LIMITS, ...options })).baseUrl, client);

const overGrpc = over({ protocol: "grpc" });

const UNARY: Record<string, Connect> = {
  gRPC: overGrpc,
  "gRPC with JSON": over({ protocol: "grpc", codec: "json" }),
  "HTTP RPC over HTTP/1.1": over({ protocol: "http-rpc", httpVersion: "1.1" }),
  "HTTP RPC over HTTP/2 with proto": over({ protocol: "http-rpc", httpVersion: "2", codec: "proto" }),
};

const STREAMING: Record<string, Connect> = {
  gRPC: overGrpc,
  "gRPC-Web": async (handler, options) => {
    const router = createRouter({ ...LIMITS, ...options }).add(GreetServiceDef, { ...greeter, ...handler });
    const handle = fetchHandler(router);
    const fetch = (...args: ConstructorParameters<typeof Request>) => handle(new Request(...args));
    return createGreetServiceClient(createFetchTransport({ baseUrl: "http://in.memory", fetch }));
  },
  "a transport in memory": async (handler, options) => {
    const router = createRouter({ ...LIMITS, ...options }).add(GreetServiceDef, { ...greeter, ...handler });
    return createGreetServiceClient(createInMemoryTransport(router));
  },
};

/** Expects that nothing is counted: as many calls as there is room for run at the same time. */
async function expectRoom(client: GreetServiceClient): Promise<void> {
  await expect
    .poll(async () => {
      const calls = Array.from({ length: ROOM }, () => client.greet({ name: LONG }));
      return (await Promise.allSettled(calls)).every(({ status }) => status === "fulfilled");
    })
    .toBe(true);
}

/** Makes calls with long messages. Returns the number of those that the server refuses, once no others are left. */
async function refusals(client: GreetServiceClient, calls = CALLS): Promise<number> {
  const all = await Promise.allSettled(Array.from({ length: calls }, () => client.greet({ name: LONG })));
  const failures = all.flatMap((one) => (one.status === "rejected" ? [one.reason] : []));
  for (const failure of failures) expect(failure).toMatchObject(REFUSED);
  return failures.length;
}

interface Gate {
  /** Handlers with a long message, which wait until the gate opens. */
  readonly handler: Pick<GreetServiceHandler, "greet">;
  readonly open: () => void;
  /** Waits until as many handlers run as there is room for. */
  readonly filled: () => Promise<void>;
}

function gate(): Gate {
  const { promise, resolve } = signalled();
  let running = 0;
  const greet: GreetServiceHandler["greet"] = async ({ name }) => {
    running += 1;
    if (name === LONG) await promise;
    return { greeting: "done" };
  };
  return { handler: { greet }, open: resolve, filled: () => expect.poll(() => running).toBe(ROOM) };
}

describe.each(Object.entries(UNARY))("over %s", (_, connect) => {
  it("calls fail as unavailable while handlers have as many messages as fit, and small ones are served", async () => {
    const { handler, open, filled } = gate();
    const client = await connect(handler);
    const held = refusals(client, ROOM);
    await filled();
    expect(await refusals(client)).toBe(CALLS);
    expect(await client.greet({ name: "Ada" })).toMatchObject({ greeting: "done" });
    open();
    expect(await held).toBe(0);
    await expectRoom(client);
  });

  it.each<[string, Partial<GreetServiceHandler>, Omit<CallOptions, "signal">?]>([
    ["succeed", {}],
    ["fail", { greet: () => Promise.reject(new RpcError(Code.NotFound, "by the test")) }],
    ["throw", { greet: () => raise("by the test") }, {}],
    ["return nothing", { greet: () => undefined as never }],
    ["miss their deadline", { greet: (__, { signal }) => aborted(signal).then(() => ({})) }, { timeoutMs: 20 }],
  ])("calls that %s release their messages", async (__, handler, options) => {
    let isBad = true;
    const greet: GreetServiceHandler["greet"] = (request, context) =>
      (isBad ? (handler.greet ?? greeter.greet) : greeter.greet)(request, context);
    const client = await connect({ greet }, { onError: () => {} });
    for (let i = 0; i < CALLS; i++) await client.greet({ name: LONG }, options).catch(() => {});
    isBad = false;
    await expectRoom(client);
  });

  it("calls that are cancelled, or whose deadline passes, hold their messages until their handlers have ended", async () => {
    for (const end of [() => ({ signal: AbortSignal.timeout(20) }), () => ({ timeoutMs: 20 })]) {
      const { handler, open, filled } = gate();
      const client = await connect(handler);
      await Promise.all(Array.from({ length: ROOM }, () => failureOf(client.greet({ name: LONG }, end()))));
      await filled();
      expect(await refusals(client)).toBe(CALLS);
      open();
      await expectRoom(client);
    }
  });
});

describe.each(Object.entries(STREAMING))("streams over %s", (_, connect) => {
  const many = { names: [LONG] };

  /** A handler of a stream that waits after its first message, or when it is told to end. */
  const endless = (wait: (signal: AbortSignal) => Promise<unknown>): Partial<GreetServiceHandler> => ({
    async *greetEach(__, { signal }) {
      try {
        yield { greeting: "one" };
      } finally {
        await wait(signal);
      }
    },
  });

  /** Reads one message, and leaves. */
  async function leave(client: GreetServiceClient, options: CallOptions = {}): Promise<void> {
    for await (const __ of client.greetEach(many, options)) break;
  }

  it("hold the message of their request while they run", async () => {
    const { promise, resolve } = signalled();
    const client = await connect(endless(() => promise));
    const streams = Array.from({ length: ROOM }, () => client.greetEach(many)[Symbol.asyncIterator]());
    for (const stream of streams) expect((await stream.next()).value).toMatchObject({ greeting: "one" });
    expect(await refusals(client)).toBe(CALLS);
    expect(await failureOf(client.greetEach(many))).toMatchObject(REFUSED);
    resolve();
    for (const stream of streams) expect((await stream.next()).done).toBe(true);
    await expectRoom(client);
  });

  it.each<[string, Partial<GreetServiceHandler>, (client: GreetServiceClient) => Promise<unknown>]>([
    ["end", {}, (client) => greetings(client.greetEach(many))],
    ["are left after a message", endless(aborted), (client) => leave(client)],
    [
      "are left after a message and have a deadline",
      endless(aborted),
      (client) => leave(client, { timeoutMs: 60_000 }),
    ],
    [
      "are cancelled",
      endless(aborted),
      (client) => failureOf(client.greetEach(many, { signal: AbortSignal.timeout(20) })),
    ],
    ["miss their deadline", endless(aborted), (client) => failureOf(client.greetEach(many, { timeoutMs: 20 }))],
    [
      "fail before their first message",
      { greetEach: () => raise("by the test") },
      (client) => failureOf(client.greetEach(many)),
    ],
    [
      "fail after a message",
      {
        async *greetEach() {
          yield {};
          raise("by the test");
        },
      },
      (client) => failureOf(client.greetEach(many)),
    ],
    [
      "are left while the handler sends without end",
      {
        async *greetEach() {
          for (;;) yield { greeting: LONG };
        },
      },
      (client) => leave(client),
    ],
  ])("release their messages if they %s", async (__, handler, call) => {
    const client = await connect(handler, { onError: () => {} });
    for (let i = 0; i < CALLS; i++) await call(client);
    await expectRoom(client);
  });

  it("hold their messages after they were left, until their handlers have ended", async () => {
    for (const options of [{}, { timeoutMs: 60_000 }]) {
      const { promise, resolve } = signalled();
      const client = await connect(endless(() => promise));
      await Promise.all(Array.from({ length: ROOM }, () => leave(client, options)));
      expect(await refusals(client)).toBe(CALLS);
      resolve();
      await expectRoom(client);
    }
  });
});

describe("streams of requests", () => {
  it("hold their latest message, until it is replaced by a small one or the stream ends", async () => {
    const arrived = { [LONG]: 0, small: 0 };
    const client = await overGrpc({
      async greetTogether(requests) {
        for await (const { name } of requests) arrived[name as "small"] += 1;
        return {};
      },
    });
    const next = signalled();
    const last = signalled();
    const calls = Array.from({ length: ROOM }, () =>
      client.greetTogether(
        (async function* () {
          for (let i = 0; i < CALLS; i++) yield { name: LONG };
          await next.promise;
          yield { name: "small" };
          await last.promise;
        })(),
      ),
    );
    await expect.poll(() => arrived[LONG]).toBe(ROOM * CALLS);
    expect(await refusals(client)).toBe(CALLS);
    next.resolve();
    await expect.poll(() => arrived.small).toBe(ROOM);
    await expectRoom(client);
    last.resolve();
    await Promise.all(calls);
    await expectRoom(client);
  });

  it("fail at a message that does not fit", async () => {
    const { handler, open, filled } = gate();
    const client = await overGrpc(handler);
    const held = refusals(client, ROOM);
    await filled();
    expect(await failureOf(client.greetOnArrival(arriving("Ada", LONG)))).toMatchObject(REFUSED);
    open();
    expect(await held).toBe(0);
    expect(await greetings(client.greetOnArrival(arriving("Ada", LONG)))).toHaveLength(2);
  });
});

it("an interceptor that drops the stream of a handler releases its message", async () => {
  const client = await overGrpc(
    {},
    {
      interceptors: [
        (next) => async (request) => {
          const response = await next(request);
          if (response.stream) throw new RpcError(Code.Aborted, "by the test");
          return response;
        },
      ],
    },
  );
  for (let i = 0; i < CALLS; i++) {
    expect(await failureOf(client.greetEach({ names: [LONG] }))).toMatchObject({ code: Code.Aborted });
  }
  await expectRoom(client);
});

it("a limit below twice that of one message is refused", () => {
  expect(() => createRouter({ maxDecodedBytes: 1_000, maxTotalDecodedBytes: 1_999 })).toThrow(
    "maxTotalDecodedBytes must be a number of bytes, at least twice maxDecodedBytes (2000), not 1999",
  );
  expect(() => createRouter({ maxTotalDecodedBytes: Number.NaN })).toThrow(RangeError);
  expect(() => createRouter({ maxDecodedBytes: 1_000, maxTotalDecodedBytes: 2_000 })).not.toThrow();
});

function raise(message: string): never {
  throw new Error(message);
}
