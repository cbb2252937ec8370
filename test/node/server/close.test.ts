/** The end of a server, of a connection and of a transport, and the results of running and later calls. */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { createServer as createHttp1Server } from "node:http";
import { createServer as createHttp2Server, type Http2Server, type ServerHttp2Session } from "node:http2";
import { type AddressInfo, connect, type Socket } from "node:net";
import { promisify } from "node:util";
import { Code } from "triple-es";
import { createTransport } from "triple-es/node";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { createGreetServiceClient } from "../../../examples/gen/greet/v1/greet_triple.ts";
import { compiledText } from "../../support/compiled.ts";
import { Http1Connection, Http2Connection } from "../../support/connection.ts";
import { Flag, frame, PREFACE, RawConnection, Reset, request, settings, Type, words } from "../../support/frames.ts";
import { pause } from "../../support/pause.ts";
import { freePort } from "../../support/port.ts";
import {
  aborted,
  arriving,
  connectGreeter,
  failureOf,
  greetings,
  openSocket,
  openTransport,
  signalled,
  startPeer,
  startServer,
} from "../../support/server.ts";

const TRANSPORTS = [
  { protocol: "grpc", httpVersion: "2" },
  { protocol: "http-rpc", httpVersion: "1.1" },
  { protocol: "http-rpc", httpVersion: "2" },
] as const;
const GREET = "/greet.v1.GreetService/Greet";
const JSON_TYPE = { "content-type": "application/json" };
/** Far longer than a close without waiting, and shorter than any timer of the server. */
const SOON_MS = 900;

async function within(ms: number, promise: Promise<unknown>): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), ms);
  });
  return Promise.race([promise.then(() => true), late]).finally(() => clearTimeout(timer));
}

/** Forwards the bytes of a connection to the server on the given port, and those of the server back. */
function forward(socket: Socket, port: number): void {
  const target = connect({ port, host: "127.0.0.1" });
  target.on("error", () => {});
  socket.on("close", () => target.destroy());
  target.on("close", () => socket.destroy());
  socket.pipe(target).pipe(socket);
}

describe("closing a server", () => {
  it("does not wait for clients that are connected but idle", async () => {
    const { server, baseUrl, port } = await startServer();
    for (const options of TRANSPORTS) await connectGreeter(baseUrl, options).greet({});
    await (await Http1Connection.open(port)).post(GREET, JSON_TYPE, "[{}]");
    await new Http2Connection(baseUrl).post(GREET, JSON_TYPE, "[{}]");
    expect(await within(SOON_MS, server.close())).toBe(true);
  });

  it.each(["keep-alive", "close"])("sends a response that waits for its reader (connection: %s)", async (then) => {
    const greeting = "x".repeat(40_000_000);
    const { server, port } = await startServer({ greet: () => ({ greeting }) });
    const socket = await openSocket(port);
    socket.write(
      `POST ${GREET} HTTP/1.1\r\nhost: a\r\nconnection: ${then}\r\ncontent-type: application/json\r\ncontent-length: 4\r\n\r\n[{}]`,
    );
    await new Promise((resolve) => socket.once("readable", resolve));
    const closed = server.close();
    expect(await within(50, closed)).toBe(false);
    // Added only now, because Node resumes a socket with such a listener when it loses the one for "readable".
    let bytes = 0;
    socket.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
    });
    const ended = once(socket, "end");
    await Promise.all([closed, ended]);
    expect(bytes).toBeGreaterThan(greeting.length);
  });

  it.each(["has disconnected", "does not read"])(
    "waits no longer than the grace period for a reader that %s",
    async (reader) => {
      const { server, port } = await startServer({ greet: () => ({ greeting: "x".repeat(40_000_000) }) });
      const socket = await openSocket(port);
      socket.write(
        `POST ${GREET} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 4\r\n\r\n[{}]`,
      );
      await new Promise((resolve) => socket.once("readable", resolve));
      const closed = server.close({ graceMs: reader === "is gone" ? 60_000 : 20 });
      if (reader === "is gone") socket.resetAndDestroy();
      await closed;
    },
  );

  it("does not wait for connections that have sent nothing or half a preface", async () => {
    const { server, port } = await startServer();
    await openSocket(port);
    (await openSocket(port)).write("PRI * HT");
    await pause(20);
    expect(await within(SOON_MS, server.close())).toBe(true);
  });

  it("answers clients that have just connected, and send their first calls now", async () => {
    const { server, port } = await startServer();
    const [first, second] = [await openSocket(port), new RawConnection(await openSocket(port), false)];
    // The server has accepted both.
    await pause(50);
    const closed = server.close();
    first.write(`POST ${GREET} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 4\r\n\r\n[{}]`);
    const response = Buffer.concat(await first.toArray()).toString();
    expect(response).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(response).toContain("connection: close\r\n");
    second.write(PREFACE, settings(), frame(Type.headers, Flag.endHeaders, 1, request()));
    second.write(frame(Type.data, Flag.endStream, 1, Buffer.alloc(5)));
    expect((await second.frame(Type.data, 1)).payload.toString()).toContain("Hello");
    await second.frame(Type.goaway);
    await second.end();
    expect(await within(SOON_MS, closed)).toBe(true);
  });

  it("answers a request that has arrived on an idle connection, and that the server has not read yet", async () => {
    const { server, port } = await startServer();
    const connection = await Http1Connection.open(port);
    await connection.post(GREET, JSON_TYPE, "[{}]");
    const answered = connection.post(GREET, JSON_TYPE, '[{"name":"Ada"}]');
    const closed = server.close();
    const { headers, body } = await answered;
    expect([headers["connection"], body.toString()]).toEqual(["close", expect.stringContaining("Ada")]);
    expect(await within(SOON_MS, closed)).toBe(true);
  });

  it.each(TRANSPORTS)("lets a call over $protocol, HTTP/$httpVersion finish, and ends then", async (options) => {
    const running = signalled();
    const gate = signalled();
    const { server, baseUrl } = await startServer({
      greet: async ({ name }) => {
        running.resolve();
        await gate.promise;
        return { greeting: `Hello, ${name}!` };
      },
    });
    const call = connectGreeter(baseUrl, options).greet({ name: "Ada" });
    await running.promise;
    const closed = server.close();
    expect(await within(50, closed)).toBe(false);
    gate.resolve();
    expect((await call).greeting).toBe("Hello, Ada!");
    expect(await within(SOON_MS, closed)).toBe(true);
  });

  it("lets a stream finish", async () => {
    const { server, baseUrl } = await startServer({
      async *greetOnArrival(requests) {
        for await (const { name } of requests) yield { greeting: name };
      },
    });
    const gate = signalled();
    const requests = (async function* () {
      yield { name: "Ada" };
      await gate.promise;
      yield { name: "Bob" };
    })();
    const responses = connectGreeter(baseUrl).greetOnArrival(requests)[Symbol.asyncIterator]();
    expect((await responses.next()).value).toMatchObject({ greeting: "Ada" });
    const closed = server.close();
    gate.resolve();
    expect((await responses.next()).value).toMatchObject({ greeting: "Bob" });
    expect((await responses.next()).done).toBe(true);
    expect(await within(SOON_MS, closed)).toBe(true);
  });

  it("sends the status of a stream whose last message waits for its reader", async () => {
    const { server, port } = await startServer({ greetEach: () => [{ greeting: "x".repeat(100_000) }] });
    const connection = await RawConnection.open(port);
    connection.write(frame(Type.headers, Flag.endHeaders, 1, request("GreetEach")));
    connection.write(frame(Type.data, Flag.endStream, 1, Buffer.alloc(5)));
    await connection.frame(Type.data, 1);
    const closed = server.close();
    const count = (wanted: number): number => connection.received.filter(({ type }) => type === wanted).length;
    // After the final one, the connection ends with the stream.
    await expect.poll(() => count(Type.goaway)).toBe(2);
    for (const stream of [0, 1]) connection.write(frame(Type.windowUpdate, 0, stream, words(100_000)));
    await connection.end();
    expect(count(Type.headers)).toBe(2);
    expect(await within(SOON_MS, closed)).toBe(true);
  });

  it.each(TRANSPORTS)(
    "cancels a call over $protocol, HTTP/$httpVersion that takes longer than the grace period",
    async (options) => {
      const running = signalled();
      const { server, baseUrl } = await startServer({
        greet: async (_, { signal }) => {
          running.resolve();
          throw await aborted(signal);
        },
      });
      const call = failureOf(connectGreeter(baseUrl, options).greet({}));
      await running.promise;
      const closed = server.close({ graceMs: 20 });
      expect(await call).toMatchObject({ code: Code.Unavailable, rawMessage: "the server is shutting down" });
      expect(await within(SOON_MS, closed)).toBe(true);
    },
  );

  it("cancels an endless stream with unavailable, and its generator is closed", async () => {
    const [closedGenerator, received] = [signalled(), signalled()];
    const { server, baseUrl } = await startServer({
      async *greetEach(_, { signal }) {
        try {
          while (!signal.aborted) {
            yield { greeting: "Hello!" };
            await pause(1);
          }
          throw signal.reason;
        } finally {
          closedGenerator.resolve();
        }
      },
    });
    const call = (async () => {
      for await (const _ of connectGreeter(baseUrl).greetEach({})) received.resolve();
    })();
    const failure = failureOf(call);
    await received.promise;
    const closed = server.close({ graceMs: 20 });
    expect((await failure).code).toBe(Code.Unavailable);
    await closedGenerator.promise;
    expect(await within(SOON_MS, closed)).toBe(true);
  });

  it.each(TRANSPORTS)(
    "shows a handler over $protocol, HTTP/$httpVersion that asks for its signal only then one that has fired",
    async (options) => {
      const running = signalled();
      let firedAtOnce = false;
      const { server, baseUrl } = await startServer({
        greet: async (_, context) => {
          running.resolve();
          await pause(100);
          firedAtOnce = context.signal.aborted;
          return {};
        },
      });
      const call = connectGreeter(baseUrl, options).greet({});
      await running.promise;
      const closed = server.close({ graceMs: 10 });
      await call;
      await closed;
      expect(firedAtOnce).toBe(true);
    },
  );

  it.each(TRANSPORTS)(
    "settles even if a handler never does: over $protocol, HTTP/$httpVersion the call fails as unavailable",
    async (options) => {
      const running = signalled();
      const { server, baseUrl } = await startServer({
        greet: () => {
          running.resolve();
          return new Promise(() => {});
        },
      });
      const call = failureOf(connectGreeter(baseUrl, options).greet({}));
      await running.promise;
      await server.close({ graceMs: 10 });
      expect((await call).code).toBe(Code.Unavailable);
    },
  );

  it("sends GOAWAY to HTTP/2 clients at once, finishes their running calls, and accepts no new ones", async () => {
    const running = signalled();
    const gate = signalled();
    let started = 0;
    const { server, port } = await startServer({
      greet: async () => {
        started++;
        running.resolve();
        await gate.promise;
        return { greeting: "Ada" };
      },
    });
    const call = (stream: number): Buffer =>
      Buffer.concat([
        frame(Type.headers, Flag.endHeaders, stream, request()),
        frame(Type.data, Flag.endStream, stream, Buffer.alloc(5)),
      ]);
    const connection = await RawConnection.open(port);
    connection.write(call(1));
    await running.promise;
    const closed = server.close();
    const { payload } = await connection.frame(Type.goaway);
    // The last stream that is or may be processed, and no error.
    expect(payload.readUInt32BE(0)).toBeGreaterThanOrEqual(1);
    expect(payload.readUInt32BE(4)).toBe(Reset.none);
    connection.write(call(3));
    connection.write(frame(Type.ping, 0, 0, Buffer.alloc(8)));
    await connection.frame(Type.ping, 0);
    expect(connection.closed).toBe(false);
    gate.resolve();
    expect((await connection.frame(Type.data, 1)).payload.toString()).toContain("Ada");
    // The trailers, which follow the last message.
    await expect
      .poll(() => connection.received.filter(({ type, stream }) => type === Type.headers && stream === 1).length)
      .toBe(2);
    await connection.end();
    expect(started).toBe(1);
    // The caller of the other call can tell that it may be retried: it was refused, or is above the last stream.
    const refused = connection.received.find(({ type, stream }) => type === Type.reset && stream === 3);
    const goaways = connection.received.filter(({ type }) => type === Type.goaway);
    const last = goaways.at(-1)?.payload.readUInt32BE(0) ?? 0;
    expect(refused === undefined ? last : 3).toBe(refused === undefined ? 1 : 3);
    if (refused !== undefined) expect(refused.payload).toEqual(words(Reset.refused));
    expect(await within(SOON_MS, closed)).toBe(true);
  });

  it("waits for the same shutdown if it is called again, and ignores the second grace period", async () => {
    const [started, gate] = [signalled(), signalled()];
    const { server, baseUrl } = await startServer({
      greet: async () => {
        started.resolve();
        await gate.promise;
        return { greeting: "finished" };
      },
    });
    server.onClose(() => gate.promise);
    const call = connectGreeter(baseUrl).greet({});
    await started.promise;
    const first = server.close();
    const second = server.close({ graceMs: 0 });
    await expect(server.close({ graceMs: -1 })).rejects.toThrow(TypeError);
    expect(await within(50, Promise.race([first, second, call]))).toBe(false);
    gate.resolve();
    expect((await call).greeting).toBe("finished");
    await Promise.all([first, second]);
    await expect(server.listen({ port: 0 })).rejects.toThrow("the server is closed and cannot listen again");
  });

  it("may be called for a closed server, and for one that never listened", async () => {
    const { server } = await startServer();
    await Promise.all([server.close(), server.close()]);
    await server.close();
  });

  it.each(TRANSPORTS)("makes later calls over $protocol, HTTP/$httpVersion fail as unavailable", async (options) => {
    const { server, baseUrl, port } = await startServer();
    const greeter = connectGreeter(baseUrl, options);
    await greeter.greet({});
    await server.close();
    const { code, rawMessage } = await failureOf(greeter.greet({}));
    expect(code).toBe(Code.Unavailable);
    expect(rawMessage).toContain(`127.0.0.1:${port}`);
  });
});

describe("a connection", () => {
  it.each(TRANSPORTS)(
    "that is refused fails a call over $protocol, HTTP/$httpVersion as unavailable, naming the address",
    async (options) => {
      const port = await freePort();
      const { code, rawMessage } = await failureOf(connectGreeter(`http://127.0.0.1:${port}`, options).greet({}));
      expect(code).toBe(Code.Unavailable);
      expect(rawMessage).toContain(`127.0.0.1:${port}`);
      expect(rawMessage).toContain("ECONNREFUSED");
    },
  );

  it.each(TRANSPORTS)(
    "over $protocol, HTTP/$httpVersion is opened again after a restart of the server",
    async (options) => {
      const { server, baseUrl, port } = await startServer();
      const greeter = connectGreeter(baseUrl, options);
      await greeter.greet({});
      await server.close();
      await startServer({}, {}, port);
      // The client has to notice that its connection has ended.
      await pause(20);
      expect((await greeter.greet({ name: "Ada" })).greeting).toBe("Hello, Ada!");
    },
  );

  it.each(TRANSPORTS)(
    "over $protocol, HTTP/$httpVersion fails a call as unavailable if it is lost; the next call opens another one",
    async (options) => {
      const { baseUrl, port } = await startServer();
      let lose = true;
      const proxyPort = await startPeer((socket) => {
        if (lose) socket.once("data", () => setTimeout(() => socket.resetAndDestroy(), 10));
        else forward(socket, port);
      });
      expect(baseUrl).not.toContain(String(proxyPort));
      const greeter = connectGreeter(`http://127.0.0.1:${proxyPort}`, { ...options, maxBackoffMs: 0 });
      expect((await failureOf(greeter.greet({}))).code).toBe(Code.Unavailable);
      lose = false;
      expect((await greeter.greet({ name: "Ada" })).greeting).toBe("Hello, Ada!");
    },
  );

  it.each(TRANSPORTS)(
    "over $protocol, HTTP/$httpVersion fails the call as unavailable if it is not established in time",
    async (options) => {
      const port = await startPeer(() => {});
      const greeter = connectGreeter(`https://127.0.0.1:${port}`, { ...options, connectTimeoutMs: 30 });
      const { code, rawMessage } = await failureOf(greeter.greet({}));
      expect(code).toBe(Code.Unavailable);
      expect(rawMessage).toBe(`connection to 127.0.0.1:${port} failed: no connection within 30 ms`);
    },
  );

  it.each(TRANSPORTS)(
    "over $protocol, HTTP/$httpVersion does not limit the call once it is established",
    async (options) => {
      let running = signalled();
      let gate = signalled();
      const { baseUrl } = await startServer({
        greet: async () => {
          running.resolve();
          await gate.promise;
          return {};
        },
      });
      const greeter = connectGreeter(baseUrl, { ...options, connectTimeoutMs: 75, idleTimeoutMs: 75 });
      vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
      onTestFinished(() => {
        vi.useRealTimers();
      });
      for (let calls = 0; calls < 2; calls++) {
        [running, gate] = [signalled(), signalled()];
        const call = greeter.greet({});
        await running.promise;
        await vi.advanceTimersByTimeAsync(150);
        gate.resolve();
        await call;
      }
    },
  );

  it("does not delay a call beyond its deadline while it is established", async () => {
    const port = await startPeer(() => {});
    const greeter = connectGreeter(`https://127.0.0.1:${port}`, { connectTimeoutMs: 300 });
    expect((await failureOf(greeter.greet({}, { timeoutMs: 30 }))).code).toBe(Code.DeadlineExceeded);
  });

  it.each(TRANSPORTS)("over $protocol, HTTP/$httpVersion is closed after the idle timeout", async (options) => {
    let connections = 0;
    const { port } = await startServer();
    const ended = signalled();
    const proxyPort = await startPeer((socket) => {
      connections++;
      socket.on("close", () => ended.resolve());
      forward(socket, port);
    });
    const greeter = connectGreeter(`http://127.0.0.1:${proxyPort}`, { ...options, idleTimeoutMs: 50 });
    await greeter.greet({});
    await greeter.greet({});
    expect(connections).toBe(1);
    await ended.promise;
    expect((await greeter.greet({ name: "Ada" })).greeting).toBe("Hello, Ada!");
    expect(connections).toBe(2);
  });
});

it("several calls at once share one connection", async () => {
  const { port } = await startServer();
  let connections = 0;
  const proxyPort = await startPeer((socket) => {
    connections++;
    forward(socket, port);
  });
  const greeter = connectGreeter(`http://127.0.0.1:${proxyPort}`);
  await Promise.all([greeter.greet({}), greeter.greet({}), greeter.greet({})]);
  expect(connections).toBe(1);
});

describe("GOAWAY", () => {
  async function startGoing(onSession: (session: ServerHttp2Session, count: number) => void): Promise<string> {
    const server: Http2Server = createHttp2Server();
    let count = 0;
    const sessions = new Set<ServerHttp2Session>();
    server.on("session", (session) => {
      sessions.add(session);
      session.on("error", () => {});
      onSession(session, ++count);
    });
    server.on("stream", (stream) => {
      stream.on("error", () => {});
      stream.respond({ ":status": 200, "content-type": "application/grpc+proto" }, { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
      setTimeout(() => !stream.destroyed && stream.end(new Uint8Array(5)), 30);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => {
      for (const session of sessions) session.destroy();
      server.close();
    });
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  it("lets the running call finish; the next one gets a new connection", async () => {
    let sessions = 0;
    const baseUrl = await startGoing((session, count) => {
      sessions = count;
      if (count === 1) session.on("stream", (stream) => session.goaway(0, stream.id));
    });
    const greeter = connectGreeter(baseUrl);
    await greeter.greet({});
    await greeter.greet({});
    expect(sessions).toBe(2);
  });

  it("with an error fails the running call as unavailable; the next one gets a new connection", async () => {
    const baseUrl = await startGoing((session, count) => {
      if (count === 1) session.on("stream", () => session.goaway(2));
    });
    const greeter = connectGreeter(baseUrl);
    expect((await failureOf(greeter.greet({}))).code).toBe(Code.Unavailable);
    await greeter.greet({});
  });
});

describe("a transport", () => {
  it.each(TRANSPORTS)("over $protocol, HTTP/$httpVersion that is idle lets the program end", async (options) => {
    const { baseUrl } = await startServer();
    const program = `
      import { createTransport } from "triple-es/node";
      import { createGreetServiceClient } from "./examples/gen/greet/v1/greet_triple.ts";
      const transport = createTransport({ baseUrl: "${baseUrl}", ...${JSON.stringify(options)} });
      console.log((await createGreetServiceClient(transport).greet({ name: "Ada" })).greeting);`;
    const args = [compiledText(program)];
    const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 60_000 });
    expect(stdout).toBe("Hello, Ada!\n");
  });

  it.each(TRANSPORTS)(
    "over $protocol, HTTP/$httpVersion keeps the program running while a call does",
    async (options) => {
      const { baseUrl } = await startServer({
        greet: async () => {
          await pause(300);
          return { greeting: "at last" };
        },
      });
      const program = `
      import { createTransport } from "triple-es/node";
      import { createGreetServiceClient } from "./examples/gen/greet/v1/greet_triple.ts";
      const transport = createTransport({ baseUrl: "${baseUrl}", ...${JSON.stringify(options)} });
      createGreetServiceClient(transport).greet({}).then(({ greeting }) => console.log(greeting));`;
      const args = [compiledText(program)];
      const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 60_000 });
      expect(stdout).toBe("at last\n");
    },
  );

  it.each(TRANSPORTS)(
    "over $protocol, HTTP/$httpVersion that is closed lets running calls finish and refuses later ones",
    async (options) => {
      const running = signalled();
      const gate = signalled();
      const { baseUrl } = await startServer({
        greet: async () => {
          running.resolve();
          await gate.promise;
          return { greeting: "still here" };
        },
      });
      const transport = openTransport(baseUrl, options);
      const greeter = createGreetServiceClient(transport);
      const call = greeter.greet({});
      await running.promise;
      const closed = transport.close();
      const { code, rawMessage } = await failureOf(greeter.greet({}));
      expect([code, rawMessage]).toEqual([Code.Unavailable, "the transport is closed"]);
      gate.resolve();
      expect((await call).greeting).toBe("still here");
      await closed;
      await transport.close();
    },
  );

  it.each(["at once", "later than the head"])(
    "over HTTP/1.1 reuses its connection if the body of a response arrives %s",
    async (when) => {
      let connections = 0;
      const server = createHttp1Server((_incoming, outgoing) => {
        outgoing.writeHead(200, { "content-type": "application/json" });
        if (when === "at once") return outgoing.end('{"greeting":"Ada"}');
        outgoing.flushHeaders();
        return setTimeout(() => outgoing.end('{"greeting":"Ada"}'), 5);
      });
      const port = await startPeer((socket) => {
        connections++;
        server.emit("connection", socket);
      });
      const options = { protocol: "http-rpc", httpVersion: "1.1", codec: "json" } as const;
      const greeter = connectGreeter(`http://127.0.0.1:${port}`, options);
      for (let call = 1; call <= 5; call++) expect((await greeter.greet({})).greeting).toBe("Ada");
      expect(connections).toBe(1);
    },
  );

  it("that is closed before its first call has nothing to close", async () => {
    await createTransport({ baseUrl: "http://127.0.0.1:1" }).close();
  });

  it("takes a path in front of its calls from its base URL", async () => {
    const paths: string[] = [];
    const server = createHttp2Server();
    server.on("stream", (stream, headers) => {
      paths.push(String(headers[":path"]));
      stream.respond({ ":status": 404 }, { endStream: true });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => {
      server.close();
    });
    const { port } = server.address() as AddressInfo;
    await failureOf(connectGreeter(`http://127.0.0.1:${port}/api/v1/`).greet({}));
    expect(paths).toEqual([`/api/v1${GREET}`]);
  });

  it.each(["localhost:8080", "ftp://localhost", "/api", ""])("refuses the base URL %j", (baseUrl) => {
    expect(() => createTransport({ baseUrl })).toThrow(/baseUrl ".*" must start with http:\/\/ or https:\/\//);
  });

  it.each(["http://localhost:8080?a=b", "https://localhost/api#here"])("refuses the base URL %j", (baseUrl) => {
    expect(() => createTransport({ baseUrl })).toThrow(`baseUrl "${baseUrl}" must have no query and no fragment`);
  });

  it.each([new URL("http://localhost"), undefined])("refuses the base URL %s, which is no string", (baseUrl) => {
    expect(() => createTransport({ baseUrl: baseUrl as never })).toThrow(
      `baseUrl must be a string, not ${baseUrl}, unless there is a resolver or a registry`,
    );
  });
});

it("streams of one session go on while another call fails", async () => {
  const { baseUrl } = await startServer();
  const greeter = connectGreeter(baseUrl);
  const [stream] = await Promise.all([
    greetings(greeter.greetOnArrival(arriving("Ada", "Bob"))),
    failureOf(greeter.greet({}, { timeoutMs: 0 })),
  ]);
  expect(stream).toEqual(["Hello, Ada!", "Hello, Bob!"]);
});
