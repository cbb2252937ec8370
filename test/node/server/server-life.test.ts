/** The life of a server's connections: keepalive, maximum age, limits of the listener, and the signal of a shutdown. */
import { EventEmitter, on, once } from "node:events";
import { Code, createInMemoryTransport, createRouter, type HandlerContext } from "triple-es";
import { createTransport as createFetchTransport } from "triple-es/fetch";
import { expect, it } from "vitest";
import {
  createGreetServiceClient,
  GreetServiceDef,
  type GreetServiceHandler,
} from "../../../examples/gen/greet/v1/greet_triple.ts";
import { Flag, frame, RawConnection, request, Type } from "../../support/frames.ts";
import { pause } from "../../support/pause.ts";
import {
  aborted,
  connectGreeter,
  failureOf,
  greeter,
  openSocket,
  signalled,
  startServer,
} from "../../support/server.ts";

const H1 = { protocol: "http-rpc", codec: "json" } as const;

it("a client that does not answer a keepalive PING loses its connection, and its handler ends", async () => {
  const ended = signalled();
  const greetTogether: GreetServiceHandler["greetTogether"] = async (_, { signal }) => {
    await aborted(signal);
    ended.resolve();
    return {};
  };
  const { port } = await startServer({ greetTogether }, { limits: { pingIntervalMs: 50, pingTimeoutMs: 50 } });
  const connection = await RawConnection.open(port);
  await connection.frame(Type.settings);
  connection.polite = false;
  connection.write(frame(Type.settings, Flag.ack, 0, Buffer.alloc(0)));
  connection.write(frame(Type.headers, Flag.endHeaders, 1, request("GreetTogether")));
  await ended.promise;
  expect(connection.received.filter(({ type, flags }) => type === Type.ping && flags === 0)).toHaveLength(1);
});

it("a client that answers keepalive PINGs keeps its connection", async () => {
  const { port } = await startServer({}, { limits: { pingIntervalMs: 20, pingTimeoutMs: 10_000 } });
  const connection = await RawConnection.open(port);
  connection.write(frame(Type.headers, Flag.endHeaders, 1, request("GreetTogether")));
  const pings = (): number => connection.received.filter(({ type, flags }) => type === Type.ping && flags === 0).length;
  while (pings() < 3) await once(connection.socket, "data");
  expect(connection.closed).toBe(false);
  connection.tear();
});

it("a client whose answer to a PING arrives while the event loop is blocked keeps its connection", async () => {
  const { port } = await startServer({}, { limits: { pingIntervalMs: 20, pingTimeoutMs: 1_000 } });
  const connection = await RawConnection.open(port);
  const pings = (): number => connection.received.filter(({ type, flags }) => type === Type.ping && flags === 0).length;
  connection.onFrame(({ type }) => {
    // The answer has been sent, and the server has not read it.
    for (const end = performance.now() + 1_200; type === Type.ping && pings() === 1 && performance.now() < end; );
  });
  connection.write(frame(Type.headers, Flag.endHeaders, 1, request("GreetTogether")));
  while (pings() < 2 && !connection.closed)
    await Promise.race([once(connection.socket, "data"), once(connection.socket, "close")]);
  expect(connection.closed).toBe(false);
  connection.tear();
});

it("clients move from a connection at its maximum age to another without a failed call", async () => {
  const addresses = new Set<number | undefined>();
  const greet: GreetServiceHandler["greet"] = (_, { peer }) => {
    addresses.add(peer.port);
    return {};
  };
  const { baseUrl } = await startServer({ greet }, { limits: { maxConnectionAgeMs: 50 } });
  const client = connectGreeter(baseUrl);
  while (addresses.size < 3) await client.greet({});
});

it("over HTTP/1.1, the response to a request at the maximum age closes the connection", async () => {
  const { baseUrl, port } = await startServer({}, { limits: { maxConnectionAgeMs: 1 } });
  const socket = await openSocket(port);
  const body = '{"name":"Ada"}';
  const fields = `content-type: application/json\r\ncontent-length: ${body.length}\r\nexpect: 100-continue`;
  socket.write(`POST /greet.v1.GreetService/Greet HTTP/1.1\r\nhost: a\r\n${fields}\r\n\r\n`);
  // The age of the connection begins when the server accepts it.
  await once(socket, "data");
  await pause(5);
  socket.write(body);
  const answer = Buffer.concat(await socket.toArray()).toString();
  expect(answer).toMatch(/^HTTP\/1.1 200 OK/);
  expect(answer.toLowerCase()).toContain("connection: close");
  expect((await connectGreeter(baseUrl, H1).greet({ name: "Bob" })).greeting).toBe("Hello, Bob!");
});

it.each(["grpc", "http-rpc"] as const)(
  "over %s, calls that run after the grace period of the maximum age fail as unavailable",
  async (protocol) => {
    const limits = { maxConnectionAgeMs: 10, maxConnectionAgeGraceMs: 100 };
    const { baseUrl } = await startServer(
      { greet: (_, { signal }) => aborted(signal).then(() => signal.throwIfAborted() ?? {}) },
      { limits },
    );
    const { code, message } = await failureOf(connectGreeter(baseUrl, { protocol }).greet({}));
    expect([code, message]).toEqual([
      Code.Unavailable,
      "[unavailable] the connection has exceeded its maximum age: call again",
    ]);
  },
);

it("over HTTP/1.1, a handler that ignores the end of the grace period loses its connection", async () => {
  const limits = { maxConnectionAgeMs: 10, maxConnectionAgeGraceMs: 10 };
  const gate = signalled();
  const { baseUrl } = await startServer({ greet: () => gate.promise.then(() => ({})) }, { limits });
  expect((await failureOf(connectGreeter(baseUrl, H1).greet({}))).message).toContain("closed the connection");
  gate.resolve();
});

it("drainConnections moves clients to new connections, and running calls continue", async () => {
  const ports: (number | undefined)[] = [];
  const [begun, released] = [signalled(), signalled()];
  const greet: GreetServiceHandler["greet"] = async ({ name }, { peer, signal }) => {
    ports.push(peer.port);
    if (name !== "slow") return {};
    begun.resolve();
    await released.promise;
    return { greeting: signal.aborted ? "aborted" : "done" };
  };
  const { server, baseUrl } = await startServer({ greet });
  const client = connectGreeter(baseUrl);
  const slow = client.greet({ name: "slow" });
  await begun.promise;
  server.drainConnections();
  while (ports.length < 2 || ports.at(-1) === ports[0]) await client.greet({});
  released.resolve();
  expect((await slow).greeting).toBe("done");
});

it("drainConnections lets the next response over HTTP/1.1 close its connection, and no idle one before", async () => {
  const { server, port, baseUrl } = await startServer();
  const socket = await openSocket(port);
  const head =
    "POST /greet.v1.GreetService/Greet HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 2";
  socket.write(`${head}\r\n\r\n{}`);
  const [first] = await once(socket, "data");
  expect(String(first)).toMatch(/^HTTP\/1.1 200 OK/);
  expect(String(first).toLowerCase()).not.toContain("connection: close");
  server.drainConnections();
  // A call on another connection has passed the event loop of the server by then.
  await connectGreeter(baseUrl, H1).greet({});
  expect(socket.readyState).toBe("open");
  socket.write(`${head}\r\n\r\n{}`);
  const answer = Buffer.concat(await socket.toArray()).toString();
  expect(answer).toMatch(/^HTTP\/1.1 200 OK/);
  expect(answer.toLowerCase()).toContain("connection: close");
});

it.each([
  ["HTTP/2", {}],
  ["HTTP/1.1", H1],
])("a call over %s that outlives the grace period of an old connection fails as unavailable", async (_, options) => {
  const greet: GreetServiceHandler["greet"] = async (_, { signal }) => {
    await aborted(signal);
    throw signal.reason;
  };
  const limits = { maxConnectionAgeMs: 50, maxConnectionAgeGraceMs: 50 };
  const { baseUrl } = await startServer({ greet }, { limits });
  const { code, rawMessage } = await failureOf(connectGreeter(baseUrl, options).greet({}));
  expect(code).toBe(Code.Unavailable);
  if (_ === "HTTP/2") expect(rawMessage).toBe("the connection has exceeded its maximum age: call again");
});

it("a server accepts maxConnections connections at a time", async () => {
  const { port, baseUrl } = await startServer({}, { maxConnections: 1 });
  const first = await openSocket(port);
  const second = await openSocket(port);
  second.resume();
  await once(second, "close");
  first.destroy();
  await once(first, "close");
  let greeting: string | undefined;
  while (greeting === undefined) {
    greeting = await connectGreeter(baseUrl)
      .greet({ name: "Ada" })
      .then(
        (answer) => answer.greeting,
        () => undefined,
      );
  }
  expect(greeting).toBe("Hello, Ada!");
});

it.each([0, -1, Number.NaN, "5"])("refuses maxConnections of %j", async (maxConnections) => {
  await expect(startServer({}, { maxConnections: maxConnections as number })).rejects.toThrow(
    "maxConnections must be more than 0",
  );
});

it.each([
  ["does not say which protocol it speaks", { headersTimeoutMs: 50 }, "PRI"],
  ["does not complete its headers", { headersTimeoutMs: 50 }, "GET / HTTP/1.1\r\nhost"],
  [
    "does not complete its request",
    { messageTimeoutMs: 50, headersTimeoutMs: 50 },
    "POST /greet.v1.GreetService/Greet HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{",
  ],
])("a client that %s is disconnected", async (_, limits, bytes) => {
  const { port } = await startServer({}, { limits });
  const socket = await openSocket(port);
  socket.resume().write(bytes);
  await once(socket, "close");
});

/** Streams until the server begins to close, as a watcher does. */
const watching = (begun: () => void): Partial<GreetServiceHandler> => ({
  async *greetEach(_, { signal, draining }) {
    begun();
    const both = AbortSignal.any([signal, draining]);
    for await (const [greeting] of on(new EventEmitter(), "event", { signal: both })) yield { greeting };
  },
});

it("context.draining ends watchers as unavailable when the server begins to close", async () => {
  const begun = signalled();
  const { server, baseUrl } = await startServer(watching(begun.resolve));
  const failure = failureOf(connectGreeter(baseUrl).greetEach({}));
  await begun.promise;
  await server.close({ graceMs: Number.POSITIVE_INFINITY });
  expect(await failure).toMatchObject({ code: Code.Unavailable, rawMessage: "the server is shutting down" });
});

it("context.draining ends watchers of pages, and the server closes their connections without waiting for them", async () => {
  const begun = signalled();
  const handler: Partial<GreetServiceHandler> = {
    async *greetEach(_, { draining }) {
      yield {};
      for await (const [greeting] of on(new EventEmitter(), "event", { signal: draining })) yield { greeting };
    },
  };
  const { server, baseUrl } = await startServer(handler, { limits: { http1IdleTimeoutMs: 3_600_000 } });
  const client = createGreetServiceClient(createFetchTransport({ baseUrl }));
  const failure = failureOf(
    (async () => {
      for await (const _ of client.greetEach({})) begun.resolve();
    })(),
  );
  await begun.promise;
  // Without a limit, the server would wait for the connections of fetch until they have been idle for an hour.
  await server.close({ graceMs: Number.POSITIVE_INFINITY });
  expect(await failure).toMatchObject({ code: Code.Unavailable, rawMessage: "the server is shutting down" });
});

it("a stream over HTTP/1.1 that ends during the shutdown does not leave its connection open", async () => {
  const handler: Partial<GreetServiceHandler> = {
    async *greetEach(_, { draining }) {
      yield {};
      await aborted(draining);
    },
  };
  const { server, port } = await startServer(handler, { limits: { http1IdleTimeoutMs: 3_600_000 } });
  const socket = await openSocket(port);
  const head = "POST /greet.v1.GreetService/GreetEach HTTP/1.1\r\nhost: a\r\ncontent-type: application/grpc-web+json";
  socket.write(`${head}\r\ncontent-length: 7\r\n\r\n\0\0\0\0\x02{}`);
  const chunks: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => chunks.push(chunk));
  await once(socket, "data");
  const closed = once(socket, "close");
  // The client keeps the connection open, so the server has to close it. Idle connections are kept for an hour otherwise.
  await server.close({ graceMs: Number.POSITIVE_INFINITY });
  await closed;
  const received = Buffer.concat(chunks).toString("latin1");
  expect(received).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  expect(received).not.toMatch(/connection: close/i);
  expect(received).toMatch(/grpc-status: ?0/i);
});

it.each([
  ["HTTP/2", {}],
  ["HTTP/1.1", H1],
])("over %s, context.draining fires after the callbacks of onClose, and calls still succeed", async (_, options) => {
  const steps: string[] = [];
  const begun = signalled();
  const { server, baseUrl } = await startServer({
    greet: async (_, { draining, signal }) => {
      begun.resolve();
      await aborted(draining);
      steps.push(`draining ${signal.aborted}`);
      return { greeting: "done" };
    },
  });
  server.onClose(async () => {
    await new Promise(setImmediate);
    steps.push("hook");
  });
  const call = connectGreeter(baseUrl, options).greet({});
  await begun.promise;
  await server.close();
  expect(await call).toMatchObject({ greeting: "done" });
  expect(steps).toEqual(["hook", "draining false"]);
});

it("context.draining of an ended call does not fire", async () => {
  let ended: HandlerContext | undefined;
  let heard = 0;
  const { server, baseUrl } = await startServer({
    greet: (_, context) => {
      ended = context;
      context.draining.addEventListener("abort", () => heard++);
      return {};
    },
  });
  await connectGreeter(baseUrl).greet({});
  await server.close();
  expect([ended?.draining.aborted, heard]).toEqual([false, 0]);
});

it("context.draining exists in memory, without a server that closes", async () => {
  const seen: boolean[] = [];
  const router = createRouter().add(GreetServiceDef, {
    ...greeter,
    greet: (_, { draining }) => {
      seen.push(draining.aborted);
      return {};
    },
  });
  await createGreetServiceClient(createInMemoryTransport(router)).greet({});
  expect(seen).toEqual([false]);
});
