/**
 * One cleartext port for HTTP/1.1 and HTTP/2: the first bytes of a connection decide.
 */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { request } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import { createServer } from "triple-es/node";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { GreetServiceDef } from "../../../examples/gen/greet/v1/greet_triple.ts";
import { envelope, Http1Connection, Http2Connection } from "../../support/connection.ts";
import { pause } from "../../support/pause.ts";
import { freePort } from "../../support/port.ts";
import { connectGreeter, failureOf, greeter, openSocket, startServer } from "../../support/server.ts";

const hasIpv6 = Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === "::1"));
const PATH = "/greet.v1.GreetService/Greet";
const JSON_TYPE = { "content-type": "application/json" };
const HTTP2_PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/** A SETTINGS frame without settings. */
const EMPTY_SETTINGS = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);

describe("one cleartext port", () => {
  it("answers HTTP/1.1 and HTTP/2, and both sub-protocols over HTTP/2", async () => {
    const { baseUrl } = await startServer();
    const options = [
      { protocol: "http-rpc", httpVersion: "1.1" },
      { protocol: "http-rpc", httpVersion: "2" },
      { protocol: "grpc", httpVersion: "2" },
    ] as const;
    for (const one of options) {
      expect((await connectGreeter(baseUrl, one).greet({ name: "Ada" })).greeting).toBe("Hello, Ada!");
    }
  });

  it("understands an HTTP/1.1 request that arrives one byte at a time", async () => {
    const { port } = await startServer();
    const connection = await Http1Connection.open(port);
    const body = '[{"name":"Ada"}]';
    const head = `POST ${PATH} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`;
    for (const character of head + body) {
      connection.write(character);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect((await connection.answer()).body.toString()).toBe('{"greeting":"Hello, Ada!"}');
  });

  it("distinguishes an HTTP/1.1 method that starts like the HTTP/2 preface", async () => {
    const { port } = await startServer();
    const connection = await Http1Connection.open(port);
    connection.write("P");
    await pause(5);
    connection.write("ROPFIND / HTTP/1.1\r\nhost: a\r\n\r\n");
    expect((await connection.answer()).status).toBe(404);
  });

  it("understands the HTTP/2 preface that arrives one byte at a time", async () => {
    const { port } = await startServer();
    const socket = await openSocket(port);
    const received = new Promise<Buffer>((resolve) => socket.once("data", resolve));
    for (const byte of Buffer.concat([Buffer.from(HTTP2_PREFACE), EMPTY_SETTINGS])) {
      socket.write(Uint8Array.of(byte));
      await new Promise((resolve) => setImmediate(resolve));
    }
    // Returns the type of the first frame of a server, which must be SETTINGS.
    expect((await received)[3]).toBe(4);
  });

  it("answers garbage with 400 in plain HTTP/1.1 and closes the connection", async () => {
    const { port } = await startServer();
    const socket = await openSocket(port);
    const chunks: Buffer[] = [];
    socket.on("data", (chunk: Buffer) => chunks.push(chunk));
    socket.write("\x16\x03\x01 this is no HTTP\r\n\r\n");
    await new Promise((resolve) => socket.once("close", resolve));
    expect(Buffer.concat(chunks).toString()).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n(?:.+\r\n)*connection: close\r\n/);
  });

  it("closes a connection with garbage after the HTTP/2 preface, and keeps serving others", async () => {
    const { port, baseUrl } = await startServer();
    const socket = await openSocket(port);
    socket.resume();
    socket.write(`${HTTP2_PREFACE}garbage that is not a frame, long enough to be taken for the header of one`);
    await new Promise((resolve) => socket.once("close", resolve));
    expect((await connectGreeter(baseUrl).greet({ name: "Ada" })).greeting).toBe("Hello, Ada!");
  });

  it("closes a connection without data after 10 seconds, and removes the limit after its first bytes", async () => {
    const stopped = vi.spyOn(globalThis, "clearTimeout");
    onTestFinished(() => stopped.mockRestore());
    const { port } = await startServer();
    const [connection, { timer }] = await withHandshakeTimer(() => Http1Connection.open(port));
    expect(stopped.mock.calls.flat()).not.toContain(timer);
    await connection.post(PATH, JSON_TYPE, "[{}]");
    expect(stopped.mock.calls.flat()).toContain(timer);
  });

  it("destroys a silent connection whose time is up", async () => {
    const { port } = await startServer();
    const [socket, { callback }] = await withHandshakeTimer(() => openSocket(port));
    const closed = new Promise((resolve) => socket.once("close", resolve));
    socket.resume();
    callback();
    await closed;
  });
});

/** Opens a connection, and returns the timer that the server has started for it. */
async function withHandshakeTimer<T>(
  open: () => T,
): Promise<[Awaited<T>, { readonly timer: unknown; readonly callback: () => void }]> {
  const started = vi.spyOn(globalThis, "setTimeout");
  try {
    const opened = await open();
    const isHandshake = ([, delay]: readonly unknown[]): boolean => delay === 10_000;
    await vi.waitFor(() => expect(started.mock.calls.some(isHandshake)).toBe(true));
    const index = started.mock.calls.findIndex(isHandshake);
    const [callback] = started.mock.calls[index] as [() => void];
    return [opened, { timer: started.mock.results[index]?.value, callback }];
  } finally {
    started.mockRestore();
  }
}

describe.skipIf(!hasIpv6)("IPv6 (needs ::1)", () => {
  it.each([
    { protocol: "grpc", httpVersion: "2" },
    { protocol: "http-rpc", httpVersion: "1.1" },
    { protocol: "http-rpc", httpVersion: "2" },
  ] as const)("carries $protocol over HTTP/$httpVersion", async (options) => {
    const server = createServer().add(GreetServiceDef, greeter);
    await server.listen({ port: 0, host: "::1" });
    onTestFinished(() => server.close({ graceMs: 0 }));
    const client = connectGreeter(`http://[::1]:${server.address.port}`, options);
    expect((await client.greet({ name: "Ada" })).greeting).toBe("Hello, Ada!");
  });

  it("is served in addition to IPv4 by a server that listens on all addresses", async () => {
    const server = createServer().add(GreetServiceDef, greeter);
    await server.listen({ port: 0 });
    onTestFinished(() => server.close({ graceMs: 0 }));
    for (const host of ["[::1]", "127.0.0.1"]) {
      const client = connectGreeter(`http://${host}:${server.address.port}`);
      expect((await client.greet({ name: "Ada" })).greeting).toBe("Hello, Ada!");
    }
  });

  it("has its address named in the error of a connection", async () => {
    const port = await freePort();
    const { rawMessage } = await failureOf(connectGreeter(`http://[::1]:${port}`).greet({}));
    expect(rawMessage).toContain(`connection to [::1]:${port} failed: connect ECONNREFUSED ::1:${port}`);
  });
});

describe("several calls on one connection", () => {
  it("are answered in order over HTTP/1.1, also when they are sent at once", async () => {
    const { port } = await startServer();
    const connection = await Http1Connection.open(port);
    const posts = ["Ada", "Bob"].map((name) => {
      const body = JSON.stringify([{ name }]);
      return `POST ${PATH} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
    });
    connection.write(posts.join(""));
    expect((await connection.answer()).body.toString()).toBe('{"greeting":"Hello, Ada!"}');
    expect((await connection.answer()).body.toString()).toBe('{"greeting":"Hello, Bob!"}');
  });

  it("may belong to both sub-protocols over HTTP/2", async () => {
    const { baseUrl } = await startServer();
    const connection = new Http2Connection(baseUrl);
    const [plain, grpc] = await Promise.all([
      connection.post(PATH, JSON_TYPE, '[{"name":"Ada"}]'),
      connection.post(PATH, { "content-type": "application/grpc+json" }, envelope('{"name":"Ada"}')),
    ]);
    expect(plain.body.toString()).toBe('{"greeting":"Hello, Ada!"}');
    expect(grpc.body).toEqual(envelope('{"greeting":"Hello, Ada!"}'));
    expect(grpc.trailers["grpc-status"]).toBe("0");
  });
});

describe("listening", () => {
  it("rejects a port that is in use, and names it", async () => {
    const { port } = await startServer();
    const second = createServer();
    await expect(second.listen({ port, host: "127.0.0.1" })).rejects.toThrow(`EADDRINUSE`);
    await second.close();
  });

  it.each([{ port: 0, host: "127.0.0.1" }, { port: 0, host: "localhost" }, { port: 0 }])(
    "rejects %j if the server is closed in the meantime",
    async (options) => {
      const server = createServer();
      const listening = server.listen(options);
      await server.close();
      await expect(listening).rejects.toThrow("the server is closed");
    },
  );

  it("is refused once the server has been closed", async () => {
    const { server } = await startServer();
    await server.close();
    await expect(server.listen({ port: 0, host: "127.0.0.1" })).rejects.toThrow("cannot listen again");
    const unused = createServer();
    await unused.close();
    await expect(unused.listen({ port: 0, host: "127.0.0.1" })).rejects.toThrow("cannot listen again");
  });

  it("may be tried again on another port", async () => {
    const { port } = await startServer();
    const second = createServer();
    await expect(second.listen({ port, host: "127.0.0.1" })).rejects.toThrow("EADDRINUSE");
    await second.listen({ port: 0, host: "127.0.0.1" });
    await second.close();
  });

  it("has an address only while it listens", async () => {
    expect(() => createServer().address).toThrow("the server does not listen on a port");
    const { server, port } = await startServer();
    expect(server.address).toEqual({ address: "127.0.0.1", family: "IPv4", port });
  });

  it("works on a Unix socket for both versions of HTTP, over connections that are kept alive", async () => {
    const folder = mkdtempSync(join(tmpdir(), "triple-es-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const path = join(folder, "server.sock");
    const server = createServer().add(GreetServiceDef, greeter);
    await server.listen({ path });
    onTestFinished(() => server.close({ graceMs: 0 }));
    expect(() => server.address).toThrow("the server does not listen on a port");

    const socket = connect(path);
    onTestFinished(() => {
      socket.destroy();
    });
    const http1 = new Http1Connection(socket);
    for (const name of ["Ada", "Bob"]) {
      const { status, body } = await http1.post(PATH, JSON_TYPE, JSON.stringify([{ name }]));
      expect([status, body.toString()]).toEqual([200, `{"greeting":"Hello, ${name}!"}`]);
    }

    const http2 = new Http2Connection("http://localhost", { createConnection: () => connect(path) });
    for (const name of ["Ada", "Bob"]) {
      const { body } = await http2.post(
        PATH,
        { "content-type": "application/grpc+json" },
        envelope(`{"name":"${name}"}`),
      );
      expect(body).toEqual(envelope(`{"greeting":"Hello, ${name}!"}`));
    }
    await server.close();
    expect(existsSync(path)).toBe(false);
  });

  it("answers a request that asks for an upgrade to HTTP/2 in HTTP/1.1", async () => {
    const { port } = await startServer();
    const connection = await Http1Connection.open(port);
    const upgrade = { connection: "upgrade, http2-settings", upgrade: "h2c", "http2-settings": "AAMAAABk" };
    const { status } = await connection.post(PATH, { ...JSON_TYPE, ...upgrade }, "[{}]");
    expect(status).toBe(200);
  });

  it("answers expect: 100-continue", async () => {
    const { port } = await startServer();
    const outgoing = request({
      port,
      host: "127.0.0.1",
      path: PATH,
      method: "POST",
      headers: { ...JSON_TYPE, expect: "100-continue", "content-length": 4, connection: "close" },
    });
    outgoing.on("continue", () => outgoing.end("[{}]"));
    outgoing.flushHeaders();
    const incoming = await new Promise<{ statusCode?: number; resume(): void }>((resolve) =>
      outgoing.on("response", resolve),
    );
    incoming.resume();
    expect(incoming.statusCode).toBe(200);
  });

  it("lets one connection have 100 calls at a time and no more", async () => {
    const { baseUrl } = await startServer();
    const session = connectHttp2(baseUrl);
    onTestFinished(() => session.destroy());
    const settings = await new Promise((resolve) => session.once("remoteSettings", resolve));
    expect(settings).toMatchObject({ maxConcurrentStreams: 100, initialWindowSize: 256 * 1024 });
  });
});
