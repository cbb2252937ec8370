/** WebSockets on streams of HTTP/2 (RFC 8441), opened by the client of Node and by proxies that connect so. */
import { createHash } from "node:crypto";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { createServer as createProxy } from "node:http";
import { type ClientHttp2Session, type ClientHttp2Stream, connect, type OutgoingHttpHeaders } from "node:http2";
import type { AddressInfo } from "node:net";
import { Code, createInMemoryTransport, createRouter } from "triple-es";
import { createWebSocketTransport } from "triple-es/fetch";
import { createServer, type Server, type ServerOptions } from "triple-es/node";
import { addChannelz } from "triple-es/reflection";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { WebSocket } from "ws";
import { createGreetServiceClient, GreetServiceDef } from "../../../examples/gen/greet/v1/greet_triple.ts";
import { createChannelzClient } from "../../../fixtures/gen/grpc/channelz/v1/channelz_triple.ts";
import { Flag, frame, PREFACE, Reset, request, settings, Type, words } from "../../support/frames.ts";
import { pause } from "../../support/pause.ts";
import { aborted, arriving, failureOf, greeter, greetings, signalled } from "../../support/server.ts";

async function listen(
  options: ServerOptions = {},
  greet = greeter.greet,
  greetEach = greeter.greetEach,
): Promise<Server> {
  const server = createServer({ webSocket: true, ...options }).add(GreetServiceDef, { ...greeter, greet, greetEach });
  await server.listen({ port: 0, host: "127.0.0.1" });
  onTestFinished(() => server.close({ graceMs: 0 }));
  return server;
}

async function openSession({ address }: Server): Promise<ClientHttp2Session> {
  const session = connect(`http://127.0.0.1:${address.port}`);
  session.on("error", () => {});
  onTestFinished(() => session.destroy());
  await once(session, "remoteSettings");
  return session;
}

/** Collects the types of the events of a session's connections until the end of the test. */
function eventsOf({ socket }: ClientHttp2Session): string[] {
  const types: string[] = [];
  const add = (event: unknown): void => {
    const { peer, type } = event as { readonly peer: string; readonly type: string };
    if (peer === `127.0.0.1:${socket.localPort}`) types.push(type);
  };
  subscribe("triple-es.connection", add);
  onTestFinished(() => void unsubscribe("triple-es.connection", add));
  return types;
}

function open(session: ClientHttp2Session, fields: OutgoingHttpHeaders = {}): ClientHttp2Stream {
  const stream = session.request(
    {
      ...{ ":method": "CONNECT", ":protocol": "websocket", ":path": "/any/path" },
      ...{ "sec-websocket-version": "13", "sec-websocket-protocol": "other, h2ts" },
      ...fields,
    },
    { endStream: false },
  );
  return stream.on("error", () => {});
}

/** Starts a proxy that takes WebSockets over HTTP/1.1 and opens them at the server over HTTP/2. */
async function startProxy(
  session: ClientHttp2Session,
): Promise<{ readonly baseUrl: string; readonly cut: () => void }> {
  const streams: ClientHttp2Stream[] = [];
  const proxy = createProxy().on("upgrade", ({ headers }, socket) => {
    if (session.closed) return void socket.destroy();
    const stream = open(session);
    streams.push(stream);
    const accept = createHash("sha1")
      .update(`${headers["sec-websocket-key"]}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
      .digest("base64");
    stream.on("response", (fields) => {
      const protocol = `sec-websocket-protocol: ${fields["sec-websocket-protocol"]}`;
      socket.write(`HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\n${protocol}\r\n`);
      socket.write(`sec-websocket-accept: ${accept}\r\n\r\n`);
      socket.pipe(stream).pipe(socket);
    });
    socket.on("error", () => {}).on("close", () => stream.close());
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  onTestFinished(() => void proxy.close());
  const cut = (): void => {
    for (const stream of streams) stream.destroy();
  };
  return { baseUrl: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`, cut };
}

describe("a WebSocket on a stream of HTTP/2", () => {
  // Node 20 has no WebSocket.
  beforeAll(() => void vi.stubGlobal("WebSocket", WebSocket));
  afterAll(() => void vi.unstubAllGlobals());

  async function connectThrough(server: Server) {
    const session = await openSession(server);
    const { baseUrl, cut } = await startProxy(session);
    const transport = createWebSocketTransport({ baseUrl });
    onTestFinished(() => transport.close({ graceMs: 0 }));
    return { session, transport, cut, client: createGreetServiceClient(transport) };
  }

  it("carries calls of all four kinds, with large messages", async () => {
    const { client } = await connectThrough(await listen());
    const long = "b".repeat(300_000);
    expect((await client.greet({ name: "Ann" })).greeting).toBe("Hello, Ann!");
    expect(await greetings(client.greetEach({ names: ["Ann", "Bob"] }))).toEqual(["Hello, Ann!", "Hello, Bob!"]);
    expect((await client.greetTogether(arriving("Ann", long))).greeting).toContain("Hello, Ann and bbb");
    expect((await greetings(client.greetOnArrival(arriving("Ann", long)))).map(({ length }) => length)).toEqual([
      11, 300_008,
    ]);
  });

  it("has the client of the connection, and leaves other requests on it alone", async () => {
    const seen: unknown[] = [];
    const server = await listen({}, ({ name }, { peer }) => {
      seen.push([peer.address, peer.port, peer.protocol]);
      return { greeting: name };
    });
    const { session, client } = await connectThrough(server);
    await client.greet({});
    expect(seen).toEqual([["127.0.0.1", session.socket.localPort, "h2"]]);
    const channelz = createRouter();
    addChannelz(channelz, { servers: [server] });
    const { socketRef } = await createChannelzClient(createInMemoryTransport(channelz)).getServerSockets({
      serverId: 1n,
    });
    const name = `127.0.0.1:${session.socket.localPort}`;
    expect(socketRef.map((ref) => ref.name)).toEqual([name, name]);
    const plain = session.request({ ":path": "/other" });
    expect((await once(plain, "response"))[0][":status"]).toBe(404);
    expect((await client.greet({ name: "Ann" })).greeting).toBe("Ann");
  });

  it.each([
    [501, { ":protocol": "connect-udp" }, "only WebSockets of the subprotocol h2ts"],
    [501, { "sec-websocket-protocol": "chat" }, "only WebSockets of the subprotocol h2ts"],
    [426, { "sec-websocket-version": "8" }, "must be 13"],
    [403, { origin: "https://other.example" }, "https://other.example may not call"],
    [200, { origin: "https://a.example", ":authority": "a.example" }, ""],
  ])("answers %i to %o", async (status, fields, message) => {
    const stream = open(await openSession(await listen()), fields);
    const [received] = await once(stream, "response");
    expect(received[":status"]).toBe(status);
    expect(received["sec-websocket-version"]).toBe(status === 426 ? "13" : undefined);
    if (status === 200) return;
    stream.setEncoding("utf8").end();
    let text = "";
    for await (const chunk of stream) text += chunk;
    expect(text).toContain(message);
  });

  it("is offered with the option only", async () => {
    const session = await openSession(await listen({ webSocket: false }));
    expect(session.remoteSettings.enableConnectProtocol).toBe(false);
    expect((await openSession(await listen())).remoteSettings.enableConnectProtocol).toBe(true);
  });

  it("is refused beyond maxConnections, of which each is one", async () => {
    const session = await openSession(await listen({ maxConnections: 3 }));
    const statuses: unknown[] = [];
    for (let i = 0; i < 3; i++) statuses.push((await once(open(session), "response"))[0][":status"]);
    expect(statuses).toEqual([200, 200, 503]);
  });

  it("ends its calls when the stream is reset, and opens again", async () => {
    const begun = signalled();
    const ended = signalled();
    const server = await listen({}, async ({ name }, { signal }) => {
      if (name !== "Snail") return { greeting: name };
      begun.resolve();
      await aborted(signal);
      ended.resolve();
      throw signal.reason;
    });
    const { client, cut } = await connectThrough(server);
    const failed = failureOf(client.greet({ name: "Snail" }));
    await begun.promise;
    cut();
    await ended.promise;
    expect((await failed).code).toBe(Code.Unavailable);
    expect((await client.greet({ name: "Ann" })).greeting).toBe("Ann");
  });

  it("answers its calls as unavailable when the server ends them", async () => {
    const begun = signalled();
    const server = await listen({}, async (_, { signal }) => {
      begun.resolve();
      await aborted(signal);
      throw signal.reason;
    });
    const { client } = await connectThrough(server);
    const failed = failureOf(client.greet({}));
    await begun.promise;
    void server.close({ graceMs: 20 });
    expect((await failed).rawMessage).toBe("the server is shutting down");
  });

  it("lets its client connect again when the connection that carries it does", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] });
    onTestFinished(() => void vi.useRealTimers());
    const session = await openSession(await listen({ limits: { maxConnectionAgeMs: 10_000 } }));
    const events = eventsOf(session);
    await vi.advanceTimersByTimeAsync(8_000);
    await once(open(session), "response");
    expect(events).toEqual(["connected"]);
    await vi.advanceTimersByTimeAsync(4_000);
    await vi.waitUntil(() => events.length > 2);
    expect(events).toEqual(["connected", "goaway", "goaway"]);
  });

  /** Sends a request in a WebSocket, whose frames are masked with zeros. The server may send without a limit. */
  function call(stream: ClientHttp2Stream, method = "Greet"): void {
    const window = frame(Type.windowUpdate, 0, 0, words(2 ** 30));
    const body = frame(Type.data, Flag.endStream, 1, Buffer.alloc(5));
    const bytes = Buffer.concat([
      ...[PREFACE, settings([4, 2 ** 30]), window],
      ...[frame(Type.headers, Flag.endHeaders, 1, request(method)), body],
    ]);
    const head = Buffer.from([0x82, 0xfe, bytes.length >> 8, bytes.length & 0xff, 0, 0, 0, 0]);
    stream.write(Buffer.concat([head, bytes]));
  }

  it("is reset if its client reads nothing for stallTimeoutMs", async () => {
    const endless = async function* () {
      for (;;) yield { greeting: "a".repeat(100_000) };
    };
    const server = await listen({ limits: { stallTimeoutMs: 1_000 } }, undefined, endless);
    const session = await openSession(server);
    const events = eventsOf(session);
    const stream = open(session);
    const closed = once(stream, "close");
    call(stream, "GreetEach");
    await once(stream, "response");
    await vi.waitUntil(() => events.includes("closed"), 4_000);
    stream.resume();
    await closed;
    expect(stream.rstCode).toBe(Reset.cancel);
  });

  it.each([80_000, 140_000, 200_000])("answers a client that has ended its side with %i bytes", async (length) => {
    const stream = open(await openSession(await listen({}, () => ({ greeting: "a".repeat(length) }))));
    call(stream);
    stream.end();
    await once(stream, "response");
    await pause(100);
    expect(Buffer.concat(await stream.toArray()).length).toBeGreaterThan(length);
    expect(stream.rstCode).toBe(Reset.none);
  });

  it("sends its last bytes to a client that reads them late, when the server closes", async () => {
    const server = await listen({}, () => ({ greeting: "a".repeat(250_000) }));
    const stream = open(await openSession(server));
    call(stream);
    await once(stream, "response");
    await pause(100);
    void server.close();
    await pause(2_600);
    expect(Buffer.concat(await stream.toArray()).length).toBeGreaterThan(250_000);
    expect(stream.rstCode).toBe(Reset.none);
  });

  it("leaves with its connection, and has its calls aborted after the grace period of that", async () => {
    const server = await listen(
      { limits: { maxConnectionAgeMs: 1_000, maxConnectionAgeGraceMs: 200 } },
      async (_, { signal }) => {
        await aborted(signal);
        throw signal.reason;
      },
    );
    const leaving = signalled();
    let goaways = 0;
    const onEvent = (message: unknown): void => {
      const { side, type } = message as { readonly side: string; readonly type: string };
      if (side === "server" && type === "goaway" && ++goaways === 1) leaving.resolve();
    };
    subscribe("triple-es.connection", onEvent);
    onTestFinished(() => void unsubscribe("triple-es.connection", onEvent));
    const session = await openSession(server);
    // The WebSocket would be old only after its connection, and the grace period of that, are over.
    await pause(600);
    const { baseUrl } = await startProxy(session);
    const transport = createWebSocketTransport({ baseUrl });
    onTestFinished(() => transport.close({ graceMs: 0 }));
    const failed = failureOf(createGreetServiceClient(transport).greet({}));
    await leaving.promise;
    expect(goaways).toBe(2);
    expect(await failed).toMatchObject({ code: Code.Unavailable });
    expect((await failed).rawMessage).toContain("exceeded its maximum age");
  });

  it("is ended if its client does not read for stallTimeoutMs", async () => {
    const greeting = "a".repeat(300_000);
    const server = await listen({ limits: { stallTimeoutMs: 200 } }, () => ({ greeting }));
    const stream = open(await openSession(server));
    await once(stream, "response");
    const message = Buffer.from([0, 0, 0, 0, 0]);
    const call = Buffer.concat([
      ...[PREFACE, settings([4, 1 << 20]), frame(Type.windowUpdate, 0, 0, words(1 << 20))],
      ...[frame(Type.headers, Flag.endHeaders, 1, request()), frame(Type.data, Flag.endStream, 1, message)],
    ]);
    // The mask is 0.
    stream.write(Buffer.concat([Buffer.from([0x82, 0xfe, call.length >> 8, call.length & 0xff, 0, 0, 0, 0]), call]));
    await vi.waitUntil(() => stream.rstCode !== 0, { timeout: 10_000 });
    expect(stream.rstCode).toBe(Reset.cancel);
  });

  it("ends after its calls when the server closes", async () => {
    const begun = signalled();
    const goOn = signalled();
    const server = await listen({}, async ({ name }) => {
      begun.resolve();
      await goOn.promise;
      return { greeting: name };
    });
    const { client } = await connectThrough(server);
    const answer = client.greet({ name: "Ann" });
    await begun.promise;
    const closed = server.close();
    goOn.resolve();
    expect((await answer).greeting).toBe("Ann");
    await closed;
  });
});
