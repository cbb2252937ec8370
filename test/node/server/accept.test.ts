/** Connections that a server accepts as two web streams. Those in workerd are in test/platforms. */
import { once } from "node:events";
import { connect as connectSocket } from "node:net";
import { Duplex } from "node:stream";
import { setImmediate } from "node:timers/promises";
import { Code } from "triple-es";
import { createServer, type Server, type ServerOptions } from "triple-es/node";
import { describe, expect, it, onTestFinished } from "vitest";
import { GreetServiceDef, type GreetServiceHandler } from "../../../examples/gen/greet/v1/greet_triple.ts";
import { WebStreamSocket } from "../../../runtime/src/node/io/web-stream-socket.ts";
import { hasOpenssl, sharedCertificates } from "../../support/certificate.ts";
import { envelope, Http1Connection, Http2Connection } from "../../support/connection.ts";
import { aborted, arriving, connectGreeter, greeter, greetings, signalled, startPeer } from "../../support/server.ts";

const GREET = "/greet.v1.GreetService/Greet";
const JSON_TYPE = { "content-type": "application/json" };
const GRPC = { "content-type": "application/grpc+json" };

type Streams = Parameters<Server["accept"]>[0];

function create(options: ServerOptions = {}, handler: Partial<GreetServiceHandler> = {}): Server {
  const server = createServer(options).add(GreetServiceDef, { ...greeter, ...handler });
  onTestFinished(() => server.close({ graceMs: 0 }));
  return server;
}

/** A connection in memory: the end of the client, and that of the server. */
function connection(): { client: Duplex; streams: Streams } {
  const [request, response] = [new TransformStream(), new TransformStream()];
  const client = Duplex.fromWeb({ readable: response.readable, writable: request.writable });
  client.on("error", () => {});
  onTestFinished(() => void client.destroy());
  return { client, streams: { readable: request.readable, writable: response.writable } };
}

/** The streams of a client that sends these bytes, and reads nothing unless `writable` does. */
const sending = (bytes: string | Uint8Array, writable = new WritableStream()): Streams => ({
  readable: new ReadableStream({ start: (controller) => controller.enqueue(Buffer.from(bytes as string)) }),
  writable,
});

const http2Of = (client: Duplex): Http2Connection =>
  new Http2Connection("http://memory", { createConnection: () => client });

const post = (body: string, more = ""): string =>
  `POST ${GREET} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n${more}\r\n${body}`;

describe("a server that accepts web streams", () => {
  it.each([
    ["", false],
    ["over TLS (needs openssl)", true],
  ])("answers calls of all four kinds with large messages %s", async (_, isSecure) => {
    if (isSecure && !hasOpenssl) return;
    const tls = isSecure ? sharedCertificates() : undefined;
    const server = create({ tls: tls?.server });
    const port = await startPeer((socket) => void server.accept(Duplex.toWeb(socket) as Streams));
    const client = connectGreeter(`${isSecure ? "https" : "http"}://localhost:${port}`, {
      tls: tls && { ca: tls.ca },
    });
    const long = "b".repeat(300_000);
    expect((await client.greet({ name: "Ann" })).greeting).toBe("Hello, Ann!");
    expect(await greetings(client.greetEach({ names: ["Ann", long] }))).toEqual(["Hello, Ann!", `Hello, ${long}!`]);
    expect((await client.greetTogether(arriving("Ann", long))).greeting).toBe(`Hello, Ann and ${long}!`);
    expect(await greetings(client.greetOnArrival(arriving("Ann", long)))).toEqual(["Hello, Ann!", `Hello, ${long}!`]);
  });

  it("speaks both versions of HTTP, to clients without an address", async () => {
    const server = create({}, { greet: (_, { peer }) => ({ greeting: `${peer?.protocol} ${peer?.address}` }) });
    const [one, two] = [connection(), connection()];
    const ends = [server.accept(one.streams), server.accept(two.streams)];
    const { body } = await new Http1Connection(one.client).post(GREET, JSON_TYPE, "{}");
    expect(JSON.parse(String(body))).toEqual({ greeting: "h1 undefined" });
    const { session } = http2Of(two.client);
    const answer = await new Promise((resolve) => {
      const stream = session.request({ ":method": "POST", ":path": GREET, ...JSON_TYPE });
      stream.on("data", resolve).end("{}");
    });
    expect(JSON.parse(String(answer))).toEqual({ greeting: "h2 undefined" });
    one.client.end();
    session.close();
    await Promise.all(ends);
  });

  it("gives streams memory that they may keep, and closes them after the last response", async () => {
    const chunks: Uint8Array[] = [];
    const server = create();
    const names = Array.from({ length: 20 }, (_, i) => `"${i}"`);
    const requests = names.map((name, i) => post(`{"name":${name}}`, i === 19 ? "connection: close\r\n" : ""));
    const closed = signalled();
    const writable = new WritableStream({ write: (chunk) => void chunks.push(chunk), close: () => closed.resolve() });
    await server.accept(sending(requests.join(""), writable));
    await closed.promise;
    const text = Buffer.concat(chunks).toString();
    expect(Array.from(text.matchAll(/Hello, (\d+)!/g), ([, i]) => `"${i}"`)).toEqual(names);
  });

  it("counts the bytes of a connection as a socket of Node does", async () => {
    const sent = signalled();
    const writable = new WritableStream({ write: () => sent.promise });
    const socket = new WebStreamSocket({ readable: sending("1234").readable, writable });
    await once(socket, "readable");
    const written = new Promise((resolve) => socket.write("123", resolve));
    expect([socket.bytesRead, socket.writableLength]).toEqual([4, 3]);
    sent.resolve();
    await written;
    expect([socket.bytesRead, socket.writableLength]).toEqual([4, 0]);
    socket.destroy();
  });

  it("closes a connection whose client ends before its first bytes", async () => {
    const readable = new ReadableStream<Uint8Array>({ start: (controller) => controller.close() });
    await create({ limits: { headersTimeoutMs: 1e9 } }).accept({ readable, writable: new WritableStream() });
  });

  it("waits for running calls when it closes, and sends GOAWAY to their clients", async () => {
    const [begun, over] = [signalled(), signalled()];
    const server = create(
      {},
      {
        async greet() {
          begun.resolve();
          await over.promise;
          return { greeting: "late" };
        },
      },
    );
    const { client, streams } = connection();
    const ended = server.accept(streams);
    const http2 = http2Of(client);
    const answer = http2.post(GREET, GRPC, envelope("{}"));
    await begun.promise;
    const goaway = new Promise((resolve) => http2.session.on("goaway", resolve));
    const closed = server.close();
    expect(await goaway).toBe(0);
    over.resolve();
    expect(String((await answer).body)).toContain("late");
    await Promise.all([closed, ended]);
  });

  it.runIf(hasOpenssl)("does not wait for a TLS handshake that has stalled, after another one", async () => {
    const tls = sharedCertificates();
    const server = create({ tls: tls.server });
    const stalled = server.accept(connection().streams);
    const port = await startPeer((socket) => void server.accept(Duplex.toWeb(socket) as Streams));
    const client = connectGreeter(`https://localhost:${port}`, { tls: { ca: tls.ca } });
    expect((await client.greet({ name: "Ann" })).greeting).toBe("Hello, Ann!");
    await server.close({ graceMs: 600_000 });
    await stalled;
  });

  it("closes a connection whose call does not end within the grace period", async () => {
    const begun = signalled();
    const hang = (): Promise<never> => {
      begun.resolve();
      return new Promise(() => {});
    };
    const server = create({}, { greet: hang });
    const ended = server.accept(sending(post("{}")));
    await begun.promise;
    await server.close({ graceMs: 1 });
    await ended;
  });

  it("closes connections beyond the maximum, and those after its end, at once", async () => {
    const server = create({ maxConnections: 1 });
    const { client, streams } = connection();
    void server.accept(streams);
    await server.accept(connection().streams);
    expect((await new Http1Connection(client).post(GREET, JSON_TYPE, "{}")).status).toBe(200);
    const { address } = await server.listen({ port: 0, host: "127.0.0.1" });
    await once(
      connectSocket(address.port, address.address).on("error", () => {}),
      "close",
    );
    await server.close({ graceMs: 0 });
    await server.accept(connection().streams);
  });

  it.each(["readable", "writable"] as const)("cancels the calls of a connection whose %s fails", async (name) => {
    const [begun, reason] = [signalled(), signalled<unknown>()];
    const server = create(
      {},
      {
        async greet(_, { signal }) {
          begun.resolve();
          reason.resolve(await aborted(signal));
          return {};
        },
      },
    );
    let fail = (_: Error): void => {};
    const ended = server.accept({
      readable: new ReadableStream({
        start(controller) {
          controller.enqueue(Buffer.from(post("{}")));
          if (name === "readable") fail = (error) => controller.error(error);
        },
      }),
      writable: new WritableStream({
        start(controller) {
          if (name === "writable") fail = (error) => controller.error(error);
        },
      }),
    });
    await begun.promise;
    fail(new Error("the network is gone"));
    await ended;
    expect(await reason.promise).toMatchObject({ code: Code.Canceled });
  });

  it("ends a connection whose writable has been closed", async () => {
    const writable = new WritableStream();
    await writable.close();
    await create().accept(sending(post("{}"), writable));
  });

  it("ends a connection whose stream has chunks that are not bytes", async () => {
    const readable = new ReadableStream<Uint8Array>({ start: (controller) => controller.enqueue(1 as never) });
    await create().accept({ readable, writable: new WritableStream() });
  });

  it("produces no more messages for a client that does not read, and closes its connection after the limit", async () => {
    let messages = 0;
    const server = create(
      { limits: { stallTimeoutMs: 100 } },
      {
        async *greetEach() {
          for (; ; messages++) yield { greeting: "a".repeat(10_000) };
        },
      },
    );
    const { client, streams } = connection();
    const ended = server.accept({ ...streams, writable: new WritableStream({ write: () => new Promise(() => {}) }) });
    const stream = http2Of(client).session.request({ ":method": "POST", ":path": GREET.replace("Greet", "GreetEach") });
    stream.on("error", () => {}).end();
    await ended;
    expect(messages).toBeLessThan(100);
  });

  it("reads no more from a client than its handler does", async () => {
    const [begun, go] = [signalled(), signalled()];
    const total = 4 * 1024 * 1024;
    let pulled = 0;
    const server = create({
      fallback: {
        async fetch(request) {
          begun.resolve();
          await go.promise;
          const { byteLength } = await request.arrayBuffer();
          return new Response(null, { status: byteLength === total ? 204 : 500 });
        },
      },
    });
    const readable = new ReadableStream<Uint8Array>({
      start: (controller) =>
        controller.enqueue(Buffer.from(`POST / HTTP/1.1\r\nhost: a\r\ncontent-length: ${total}\r\n\r\n`)),
      pull(controller) {
        pulled += 1024;
        controller.enqueue(new Uint8Array(1024));
      },
    });
    const { client, streams } = connection();
    void server.accept({ ...streams, readable });
    await begun.promise;
    for (let quiet = 0, before = 0; quiet < 20; before = pulled) {
      await setImmediate();
      quiet = before === pulled ? quiet + 1 : 0;
    }
    expect(pulled).toBeLessThan(total / 2);
    go.resolve();
    expect((await new Http1Connection(client).interim()).status).toBe(204);
  });

  it("closes a connection that sends nothing, and one without a call", async () => {
    const limits = { headersTimeoutMs: 20, firstCallTimeoutMs: 20 };
    await create({ limits }).accept(sending(""));
    await create({ limits: { firstCallTimeoutMs: 20 } }).accept(sending("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"));
  });

  it("refuses what is not a pair of streams, and streams in use", async () => {
    const server = create();
    for (const one of [undefined, {}, { readable: 1, writable: 2 }]) {
      await expect(server.accept(one as never)).rejects.toThrow(TypeError);
    }
    for (const isRead of [true, false]) {
      const { readable, writable } = connection().streams;
      if (isRead) readable.getReader();
      else writable.getWriter();
      await expect(server.accept({ readable, writable })).rejects.toThrow(/locked/);
      expect([readable.locked, writable.locked]).toEqual([isRead, !isRead]);
    }
  });
});
