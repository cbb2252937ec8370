/**
 * The connections of a transport: replacement after GOAWAY with transparent retries, verification by PING, and several
 * connections if the server allows few streams on each.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Code, type ContextValues, type TransparentRetryEvent } from "triple-es";
import { createServer } from "triple-es/node";
import { describe, expect, it, onTestFinished } from "vitest";
import { createGreetServiceClient, GreetServiceDef } from "../../../examples/gen/greet/v1/greet_triple.ts";
import type { RpcError } from "../../../runtime/src/call/error.ts";
import { onAbort } from "../../../runtime/src/call/timer.ts";
import { ConnectionBackoff } from "../../../runtime/src/connection/attempts.ts";
import { Pool } from "../../../runtime/src/connection/pool.ts";
import { errorOf, outcomeOf } from "../../../runtime/src/http/transparent-retry.ts";
import { request } from "../../discovery/world.ts";
import {
  block,
  Flag,
  frame,
  goAway,
  greet,
  type RawServer,
  type RawStream,
  Reset,
  reset,
  respond,
  settings,
  startRawServer,
  Type,
  words,
} from "../../support/frames.ts";
import { pause } from "../../support/pause.ts";
import {
  arriving,
  connectGreeter,
  failureOf,
  greeter,
  greetings,
  openTransport,
  signalled,
  startPeer,
} from "../../support/server.ts";

const MAX_CONCURRENT_STREAMS = 3;
const pingsTo = ({ connections }: RawServer): number =>
  connections.flatMap(({ received }) => received).filter(({ type, flags }) => type === Type.ping && flags === 0).length;
const endWithOk = ({ connection, id }: RawStream): boolean =>
  connection.write(frame(Type.headers, Flag.endHeaders | Flag.endStream, id, block(["grpc-status", "0"])));
describe("a call that the server has not processed", () => {
  const refusals: [name: string, refuse: (stream: RawStream) => void][] = [
    ["is above the last stream of a GOAWAY", (stream) => goAway(stream, 0)],
    ["is above the last stream of a GOAWAY with an error", (stream) => goAway(stream, 0, Reset.calm)],
    [
      "is above the last stream of the second GOAWAY",
      (stream) => {
        goAway(stream, 2 ** 31 - 1);
        goAway(stream, 0);
      },
    ],
    ["is refused", (stream) => reset(stream, Reset.refused)],
  ];

  it.each(refusals)("is retried because the server %s", async (_, refuse) => {
    const server = await startRawServer((stream) => (server.streams.length === 1 ? refuse(stream) : greet(stream)));
    const client = connectGreeter(server.baseUrl);
    expect((await client.greet({})).greeting).toBe("Hello!");
    expect(server.streams).toHaveLength(2);
  });

  it("is reported with its call before it is retried", async () => {
    const server = await startRawServer((stream) => {
      if (server.streams.length > 1) greet(stream);
      else goAway(stream, 0);
    });
    const events: TransparentRetryEvent[] = [];
    const transport = openTransport(server.baseUrl, { onTransparentRetry: (event) => events.push(event) });
    let values: ContextValues | undefined;
    const client = createGreetServiceClient({
      ...transport,
      call: (request) => {
        values = request.context.values;
        return transport.call(request);
      },
    });
    expect((await client.greet({})).greeting).toBe("Hello!");
    expect(events).toMatchObject([
      { path: "/greet.v1.GreetService/Greet", delayMs: 0, error: { code: Code.Unavailable } },
    ]);
    expect(events[0]?.context?.values).toBe(values);
  });

  it.each(refusals)("is retried with its messages because the server %s", async (_, refuse) => {
    const gate = signalled();
    const server = await startRawServer((stream) => {
      if (server.streams.length > 1) greet(stream);
      else setTimeout(refuse, 20, stream);
    });
    const requests = (async function* () {
      yield { name: "Ada" };
      await gate.promise;
      yield { name: "Bob" };
    })();
    const responses = connectGreeter(server.baseUrl).greetOnArrival(requests)[Symbol.asyncIterator]();
    expect((await responses.next()).value).toMatchObject({ greeting: "Hello!" });
    gate.resolve();
    expect((await responses.next()).done).toBe(true);
    const last = server.streams.at(-1) as RawStream;
    const sent = last.connection.received.filter(({ type, stream }) => type === Type.data && stream === last.id);
    expect(Buffer.concat(sent.map(({ payload }) => payload)).toString()).toContain("Ada");
  });

  it("is not retried once more of it has been sent than is buffered", async () => {
    const server = await startRawServer((stream) => {
      let bytes = 0;
      stream.connection.onFrame(({ type, payload }) => {
        if (type === Type.data) bytes += payload.byteLength;
        if (bytes > 60_000) reset(stream, Reset.refused);
      });
    });
    const requests = arriving(...Array.from({ length: 10 }, () => "x".repeat(10_000)));
    const { code } = await failureOf(connectGreeter(server.baseUrl).greetTogether(requests));
    expect(code).toBe(Code.Unavailable);
    expect(server.streams).toHaveLength(1);
  });

  it("fails as unavailable when it is refused again and again", async () => {
    const server = await startRawServer((stream) => reset(stream, Reset.refused));
    expect((await failureOf(connectGreeter(server.baseUrl).greet({}))).code).toBe(Code.Unavailable);
    expect(server.streams).toHaveLength(5);
  });

  it("is not retried after its deadline", async () => {
    const server = await startRawServer((stream) => reset(stream, Reset.refused));
    const { code } = await failureOf(connectGreeter(server.baseUrl).greet({}, { timeoutMs: 50 }));
    expect(code).toBe(Code.DeadlineExceeded);
    // Data that was in flight arrives first.
    await pause(100);
    const { length } = server.streams;
    await pause(200);
    expect(server.streams).toHaveLength(length);
  });
});

describe("a call that the server may have processed is not retried when", () => {
  it.each<[name: string, end: (stream: RawStream) => void, code: Code]>([
    ["it is reset", (stream) => reset(stream, Reset.internal), Code.Internal],
    ["the connection is lost", ({ connection }) => connection.socket.destroy(), Code.Unavailable],
    [
      "the server goes away after it, with an error",
      (stream) => goAway(stream, stream.id, Reset.refused),
      Code.Unavailable,
    ],
  ])("%s", async (_, end, code) => {
    const server = await startRawServer(end);
    expect((await failureOf(connectGreeter(server.baseUrl).greet({}))).code).toBe(code);
    await pause(20);
    expect(server.streams).toHaveLength(1);
  });
});

describe("a server that sends GOAWAY", () => {
  it("finishes its running calls, while new calls use a connection that was opened in advance", async () => {
    const server = await startRawServer((stream) =>
      stream.connectionIndex === 0 ? goAway(stream, stream.id) : greet(stream),
    );
    const client = connectGreeter(server.baseUrl);
    const first = client.greet({});
    await expect.poll(() => server.connections.length).toBe(2);
    expect(server.streams).toHaveLength(1);
    expect((await client.greet({})).greeting).toBe("Hello!");
    expect(server.streams.map(({ connectionIndex }) => connectionIndex)).toEqual([0, 1]);
    greet(server.streams[0] as RawStream, "Late!");
    expect((await first).greeting).toBe("Late!");
    await expect.poll(() => server.connections[0]?.closed).toBe(true);
  });

  it("is not connected to again by a client that has nothing to say", async () => {
    const server = await startRawServer((stream) => greet(stream));
    const client = connectGreeter(server.baseUrl);
    await client.greet({});
    goAway(server.streams[0] as RawStream, 1);
    await expect.poll(() => server.connections[0]?.closed).toBe(true);
    await pause(20);
    expect(server.connections).toHaveLength(1);
    await client.greet({});
    expect(server.connections).toHaveLength(2);
  });

  it("does not fail calls if it does so on every connection", async () => {
    const server = await startRawServer((stream) => {
      greet(stream);
      goAway(stream, stream.id);
    });
    const client = connectGreeter(server.baseUrl);
    for (let i = 0; i < 10; i++) await client.greet({});
    expect(await Promise.all(Array.from({ length: 4 }, () => client.greet({})))).toHaveLength(4);
  });
});

describe("a connection that fails", () => {
  it.each<[name: string, fail: (stream: RawStream) => unknown]>([
    [
      "because the server breaks the protocol",
      ({ connection }) => connection.write(frame(Type.data, 0, 99, Buffer.from("x"))),
    ],
    ["with a GOAWAY that has an error, and stays open", (stream) => goAway(stream, stream.id, Reset.internal)],
    ["because it is closed", ({ connection }) => connection.socket.destroy()],
  ])("%s, is not replaced before a call needs one", async (_, fail) => {
    const server = await startRawServer((stream) => (stream.connectionIndex === 0 ? fail(stream) : greet(stream)));
    const client = connectGreeter(server.baseUrl);
    expect((await failureOf(client.greet({}))).code).toBe(Code.Unavailable);
    await expect.poll(() => server.connections[0]?.closed).toBe(true);
    await pause(20);
    expect(server.connections).toHaveLength(1);
    expect((await client.greet({})).greeting).toBe("Hello!");
    expect(server.connections).toHaveLength(2);
  });

  it("after a GOAWAY that excludes one of its streams serves the others, and the excluded one is sent again", async () => {
    const server = await startRawServer((stream) => {
      if (stream.connectionIndex > 0) greet(stream, "again");
      else if (server.streams.length === 2) goAway(stream, 1);
    });
    const client = connectGreeter(server.baseUrl);
    const first = client.greet({ name: "first" });
    await expect.poll(() => server.streams.length).toBe(1);
    expect((await client.greet({ name: "second" })).greeting).toBe("again");
    greet(server.streams[0] as RawStream, "late");
    expect((await first).greeting).toBe("late");
    expect(server.connections).toHaveLength(2);
    expect(server.streams).toHaveLength(3);
  });
});

describe("a call on a connection that the server closes before its first frame", () => {
  it.each<[name: string, close: (socket: Socket) => unknown]>([
    ["closed", (socket) => socket.end()],
    ["reset", (socket) => socket.resetAndDestroy()],
  ])("is retried on another connection, if it was %s", async (_, close) => {
    const server = await startRawServer((stream) => greet(stream));
    let connections = 0;
    const port = await startPeer((socket) => {
      connections++;
      if (connections === 1) close(socket.resume());
      else socket.pipe(connect(server.port, "127.0.0.1").on("error", () => {})).pipe(socket);
    });
    const client = connectGreeter(`http://127.0.0.1:${port}`);
    const calls = await Promise.all(Array.from({ length: 5 }, () => client.greet({})));
    expect(calls.map(({ greeting }) => greeting)).toEqual(Array(5).fill("Hello!"));
    expect(connections).toBe(2);
  });

  it("again and again is given up after the second time", async () => {
    let connections = 0;
    const port = await startPeer((socket) => {
      connections++;
      socket.destroy();
    });
    const { code } = await failureOf(connectGreeter(`http://127.0.0.1:${port}`).greet({}));
    expect(code).toBe(Code.Unavailable);
    expect(connections).toBe(2);
  });
});

describe("an idle connection", () => {
  it("is abandoned if it does not answer a PING, and the call gets a new one", async () => {
    const server = await startRawServer((stream) => greet(stream));
    const client = connectGreeter(server.baseUrl, { verifyAfterMs: 10, pingTimeoutMs: 50 });
    await client.greet({});
    const [first] = server.connections;
    if (first !== undefined) first.polite = false;
    await pause(30);
    expect((await client.greet({})).greeting).toBe("Hello!");
    expect(server.streams.map(({ connectionIndex }) => connectionIndex)).toEqual([0, 1]);
  });

  it("is used again if it answers a PING, for which all calls wait together", async () => {
    const server = await startRawServer((stream) => greet(stream));
    // Far above the time that a busy machine takes for the call or between the answer and the calls that wait for it.
    const client = connectGreeter(server.baseUrl, { verifyAfterMs: 1_000 });
    await client.greet({});
    await pause(1_100);
    await Promise.all([client.greet({}), client.greet({}), client.greet({})]);
    expect(server.connections).toHaveLength(1);
    expect(pingsTo(server)).toBe(1);
  });

  it("does not keep a call from another one that answers", async () => {
    const server = await startRawServer(() => {}, settings([MAX_CONCURRENT_STREAMS, 1]));
    const client = connectGreeter(server.baseUrl, { verifyAfterMs: 10, pingTimeoutMs: 60_000 });
    const calls = [client.greet({}), client.greet({})];
    await expect.poll(() => server.streams.length).toBe(2);
    for (const stream of server.streams) greet(stream);
    await Promise.all(calls);
    const [first] = server.connections;
    if (first !== undefined) first.polite = false;
    await pause(30);
    const call = client.greet({});
    await expect.poll(() => server.streams.length).toBe(3);
    expect(server.streams[2]?.connectionIndex).toBe(1);
    greet(server.streams[2] as RawStream);
    await call;
  });

  it("is verified before each use with verifyAfterMs: 0", async () => {
    const server = await startRawServer((stream) => greet(stream));
    const client = connectGreeter(server.baseUrl, { verifyAfterMs: 0 });
    for (let call = 0; call < 3; call++) expect((await client.greet({})).greeting).toBe("Hello!");
    expect(server.connections).toHaveLength(1);
    expect(pingsTo(server)).toBe(3);
  });

  it("is closed after the idle timeout", async () => {
    const server = await startRawServer((stream) => greet(stream));
    const client = connectGreeter(server.baseUrl, { idleTimeoutMs: 30 });
    await client.greet({});
    await expect.poll(() => server.connections[0]?.closed).toBe(true);
    expect((await client.greet({})).greeting).toBe("Hello!");
  });

  it("is not closed while a call runs", async () => {
    const server = await startRawServer((stream) => setTimeout(greet, 100, stream));
    expect((await connectGreeter(server.baseUrl, { idleTimeoutMs: 30 }).greet({})).greeting).toBe("Hello!");
  });
});

describe("a connection on which calls have exceeded their deadlines", () => {
  it("is abandoned if it does not answer a PING, and the next call gets a new one", async () => {
    const server = await startRawServer((stream) => {
      if (server.streams.length !== 2) greet(stream);
    });
    const client = connectGreeter(server.baseUrl, { pingTimeoutMs: 50 });
    await client.greet({});
    const [first] = server.connections;
    if (first !== undefined) first.polite = false;
    await failureOf(client.greet({}, { timeoutMs: 50 }));
    expect((await client.greet({})).greeting).toBe("Hello!");
    expect(server.streams.map(({ connectionIndex }) => connectionIndex)).toEqual([0, 0, 1]);
  });

  it("gets two PINGs without a response in between, because gRPC servers would end it, with its other calls", async () => {
    let isSlow = true;
    const server = await startRawServer((stream) => (isSlow ? undefined : greet(stream)));
    const client = connectGreeter(server.baseUrl);
    for (const pings of [2, 4]) {
      isSlow = false;
      await client.greet({});
      isSlow = true;
      for (let call = 0; call < 5; call++) await failureOf(client.greet({}, { timeoutMs: 50 }));
      expect(pingsTo(server)).toBe(pings);
    }
    expect(server.connections).toHaveLength(1);
  });
});

describe("keeping connections alive", () => {
  it("fails the calls on one that does not answer any more", async () => {
    const server = await startRawServer(({ connection }) => {
      connection.polite = false;
    });
    const client = connectGreeter(server.baseUrl, { pingIntervalMs: 20, pingTimeoutMs: 40 });
    const { code, rawMessage } = await failureOf(client.greet({}));
    expect([code, rawMessage]).toEqual([
      Code.Unavailable,
      expect.stringContaining("did not answer a ping within 40 ms"),
    ]);
  });

  it("leaves calls alone that only take long", async () => {
    const answer = async (stream: RawStream): Promise<void> => {
      const pings = () => stream.connection.received.filter(({ type, flags }) => type === Type.ping && flags === 0);
      await expect.poll(() => pings().length).toBeGreaterThan(1);
      greet(stream);
    };
    const server = await startRawServer((stream) => void answer(stream));
    const client = connectGreeter(server.baseUrl, { pingIntervalMs: 20, pingTimeoutMs: 10_000 });
    expect((await client.greet({})).greeting).toBe("Hello!");
  });

  it("takes twice as long between PINGs after a gRPC server has got too many", async () => {
    const complaint = Buffer.concat([words(1, Reset.calm), Buffer.from("too_many_pings")]);
    const server = await startRawServer(({ connection, connectionIndex }) => {
      if (connectionIndex === 0) connection.write(frame(Type.goaway, 0, 0, complaint));
    });
    const client = connectGreeter(server.baseUrl, { pingIntervalMs: 100 });
    expect((await failureOf(client.greet({}))).rawMessage).toMatch(/HTTP\/2 code 11 \(too_many_pings\)$/);
    // The timer of the PINGs starts later and is longer, so that it cannot end before, however busy the machine is.
    const early = pause(150).then(() => pingsTo(server));
    const call = client.greet({});
    expect(await early).toBe(0);
    await expect.poll(() => pingsTo(server)).toBe(1);
    greet(server.streams[1] as RawStream);
    await call;
  });
});

describe("a server that allows few streams on a connection", () => {
  const limit = settings([MAX_CONCURRENT_STREAMS, 2]);

  it("gets more connections, up to the limit, and further calls wait", async () => {
    const server = await startRawServer(() => {}, limit);
    const client = connectGreeter(server.baseUrl, { maxConnections: 3 });
    const warm = client.greet({});
    await expect.poll(() => server.streams.length).toBe(1);
    const calls = Array.from({ length: 8 }, () => client.greet({}));
    await expect.poll(() => server.streams.length).toBe(6);
    await pause(20);
    expect(server.connections).toHaveLength(3);
    expect(server.streams).toHaveLength(6);
    let answered = 0;
    const answer = setInterval(() => {
      for (; answered < server.streams.length; answered++) greet(server.streams[answered] as RawStream);
    }, 5);
    await Promise.all([warm, ...calls]);
    clearInterval(answer);
    expect(server.streams).toHaveLength(9);
  });

  it("gets no more streams than it allows, even if all calls start before its SETTINGS arrive", async () => {
    const server = await startRawServer((stream) => {
      const running = server.streams.filter(({ connection }) => connection === stream.connection).length;
      if (running > 2) reset(stream, Reset.internal);
    }, limit);
    const client = connectGreeter(server.baseUrl, { maxConnections: 2 });
    const calls = Array.from({ length: 4 }, () => client.greet({}));
    await expect.poll(() => server.streams.length).toBe(4);
    for (const stream of server.streams) greet(stream);
    expect(await Promise.all(calls)).toHaveLength(4);
  });
});

describe("closing a transport", () => {
  it("lets a call finish that waits for its connection", async () => {
    const server = await startRawServer((stream) => greet(stream));
    const transport = openTransport(server.baseUrl);
    const call = createGreetServiceClient(transport).greet({});
    const closed = transport.close();
    expect((await call).greeting).toBe("Hello!");
    await closed;
    await expect.poll(() => server.connections[0]?.closed).toBe(true);
  });

  it("lets a call finish that waits for the PING of an idle connection", async () => {
    const server = await startRawServer((stream) => greet(stream));
    const transport = openTransport(server.baseUrl, { verifyAfterMs: 10 });
    const client = createGreetServiceClient(transport);
    await client.greet({});
    await pause(30);
    const call = client.greet({});
    const closed = transport.close();
    expect((await call).greeting).toBe("Hello!");
    await closed;
    expect(server.connections).toHaveLength(1);
  });

  it("allows a transparent retry of a call that the server has not processed", async () => {
    const seen = signalled<RawStream>();
    const server = await startRawServer((stream) => (server.streams.length > 1 ? greet(stream) : seen.resolve(stream)));
    const transport = openTransport(server.baseUrl);
    const call = createGreetServiceClient(transport).greet({});
    const stream = await seen.promise;
    const closed = transport.close();
    goAway(stream, 0);
    expect((await call).greeting).toBe("Hello!");
    await closed;
  });

  it("lets a stream finish that has begun", async () => {
    const server = await startRawServer((stream) => {
      respond(stream);
      setTimeout(endWithOk, 50, stream);
    });
    const transport = openTransport(server.baseUrl);
    const reading = greetings(createGreetServiceClient(transport).greetEach({}));
    await expect.poll(() => server.streams.length).toBe(1);
    await pause(20);
    const closed = transport.close();
    expect(await reading).toEqual([]);
    await closed;
  });

  it.each(["http", "https"])("aborts a connection attempt over %s that no call needs any more", async (scheme) => {
    const sockets: Socket[] = [];
    const port = await startPeer((socket) => sockets.push(socket.resume()));
    const transport = openTransport(`${scheme}://127.0.0.1:${port}`, { connectTimeoutMs: 3_600_000 });
    await failureOf(createGreetServiceClient(transport).greet({}, { timeoutMs: 20 }));
    await transport.close();
    await expect.poll(() => sockets[0]?.destroyed).toBe(true);
  });

  it("does not wait for a peer that no longer answers", async () => {
    const server = await startRawServer((stream) => {
      greet(stream);
      setTimeout(() => stream.connection.socket.pause(), 5);
    });
    const transport = openTransport(server.baseUrl, { pingTimeoutMs: 3_600_000 });
    await createGreetServiceClient(transport).greet({});
    await pause(20);
    await transport.close();
  });
});

describe("a pool that is closed while a request waits for its connection", () => {
  it.each([
    ["leaves it to another endpoint, if there are several", undefined, "unprocessed", "a:1 is no longer an endpoint"],
    ["fails it, if there is one server", false, "unknown", "the transport is closed"],
  ] as const)("%s", async (_, waitForReady, outcome, message) => {
    const backoff = new ConnectionBackoff(1_000);
    const times = { idleTimeoutMs: 1_000, verifyAfterMs: 1_000, pingIntervalMs: undefined, pingTimeoutMs: 1_000 };
    const options = { ...times, peer: "a:1", maxConnections: 1, waitForReady, backoff };
    const pool = new Pool((_owner, signal) => new Promise((_resolve, reject) => onAbort(signal, reject)), options);
    const failures: unknown[] = [];
    const exchange = pool.observed({
      onFailure(_request, reason) {
        failures.push(outcomeOf(reason), (errorOf(reason) as RpcError).rawMessage);
        return Promise.reject(reason);
      },
    });
    const response = exchange(request()).catch(() => "failed");
    await pool.close();
    expect([await response, ...failures]).toEqual(["failed", outcome, message]);
  });
});

describe("a Unix socket", () => {
  it.each([
    { protocol: "grpc", httpVersion: "2" },
    { protocol: "http-rpc", httpVersion: "1.1" },
    { protocol: "http-rpc", httpVersion: "2" },
  ] as const)("carries $protocol over HTTP/$httpVersion", async (options) => {
    const directory = mkdtempSync(join(tmpdir(), "triple-"));
    const path = join(directory, "greeter.sock");
    const server = createServer().add(GreetServiceDef, greeter);
    await server.listen({ path });
    onTestFinished(async () => {
      await server.close({ graceMs: 0 });
      rmSync(directory, { recursive: true });
    });
    expect((await connectGreeter(`unix:${path}`, options).greet({ name: "Ada" })).greeting).toBe("Hello, Ada!");
    expect((await connectGreeter(`unix://${path}`, options).greet({ name: "Bob" })).greeting).toBe("Hello, Bob!");
  });

  it("without a listener is named in the error", async () => {
    const { code, rawMessage } = await failureOf(connectGreeter("unix:/nonexistent/triple.sock").greet({}));
    expect([code, rawMessage]).toEqual([Code.Unavailable, expect.stringContaining("/nonexistent/triple.sock")]);
  });

  it.each(["unix:", "ftp://host", "localhost:50051"])(
    "or a host has to be in the base URL, unlike in %s",
    (baseUrl) => {
      expect(() => connectGreeter(baseUrl)).toThrow(/unix: and name a socket/);
    },
  );
});
