/** Early responses to an HTTP/1.1 client whose request could not be sent completely (RFC 9112, section 9.5). */
import { once } from "node:events";
import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import { Worker } from "node:worker_threads";
import { Code } from "triple-es";
import { describe, expect, it, onTestFinished } from "vitest";
import { Metadata } from "../../../runtime/src/call/metadata.ts";
import { ConnectionBackoff } from "../../../runtime/src/connection/attempts.ts";
import { WholeBody } from "../../../runtime/src/http/body.ts";
import type { HttpRequest, HttpResponse } from "../../../runtime/src/http/exchange.ts";
import { Http1Connection, Http1Pool } from "../../../runtime/src/node/client/http1.ts";
import { hasOpenssl, sharedCertificates } from "../../support/certificate.ts";
import { connectGreeter, failureOf } from "../../support/server.ts";

const PEER = "127.0.0.1:1";
const TARGET = { origin: new URL(`http://${PEER}`), socketPath: undefined, tls: undefined, peer: PEER };
const OPTIONS = {
  connectTimeoutMs: 1_000,
  idleTimeoutMs: 1_000,
  waitForReady: undefined,
  backoff: new ConnectionBackoff(0),
  maxHeaderBytes: 65_536,
};
const body = new WholeBody(new Uint8Array(100_000));
const REQUEST: HttpRequest = {
  method: "POST",
  path: "/a",
  version: "1.1",
  headers: new Metadata(),
  body,
  signal: undefined,
};

/** A socket that cannot be written to. These chunks have arrived before, but have not been read. */
function closedByPeer(...arrived: readonly (string | null)[]): Socket {
  const socket = new Duplex({
    read() {},
    write(_chunk, _encoding, done) {
      done(Object.assign(new Error("write EPIPE"), { code: "EPIPE", syscall: "write" }));
      setImmediate(() => {
        for (const chunk of arrived) this.push(chunk === null ? null : Buffer.from(chunk));
      });
    },
  });
  const ignore = (): void => {};
  return Object.assign(socket, { setKeepAlive: ignore, setNoDelay: ignore, ref: ignore, unref: ignore }) as never;
}

function send(socket: Socket): Promise<HttpResponse> {
  const pool = new Http1Pool(TARGET, OPTIONS);
  pool.hasAnswered = true;
  return new Http1Connection(pool, socket).exchange(REQUEST);
}

it.each([
  ["in one chunk", ["HTTP/1.1 413 Content Too Large\r\ncontent-length: 9\r\n\r\ntoo large", null]],
  ["in several chunks", ["HTTP/1.1 413 Content", " Too Large\r\ncontent-length: 9\r\n\r\n", "too", " large", null]],
  ["that is followed by no end", ["HTTP/1.1 413 Content Too Large\r\ncontent-length: 9\r\n\r\ntoo large"]],
])("a response that has arrived %s is read, although a write has failed", async (_, arrived) => {
  const socket = closedByPeer(...arrived);
  const response = await send(socket);
  const bytes = await response.body.bytes(100);
  expect([response.status, Buffer.from(bytes).toString()]).toEqual([413, "too large"]);
  await expect.poll(() => socket.destroyed).toBe(true);
});

it("a connection whose write has failed takes no other request after an early response", async () => {
  const pool = new Http1Pool(TARGET, OPTIONS);
  const connection = new Http1Connection(pool, closedByPeer("HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n"));
  const response = await connection.exchange({ ...REQUEST, body: new WholeBody(new Uint8Array(10)) });
  await response.body.bytes(0);
  expect([response.status, connection.isUsable]).toEqual([403, false]);
});

it.each([
  ["nothing has arrived", [null]],
  ["an incomplete response has arrived", ["HTTP/1.1 413 Content", null]],
  ["the end of the connection does not arrive", []],
])("a request fails with the error of the write if %s", async (_, arrived) => {
  const failure: unknown = await send(closedByPeer(...arrived)).catch((reason: unknown) => reason);
  expect(failure).toMatchObject({
    outcome: "unknown",
    error: {
      code: Code.Unavailable,
      rawMessage: "connection to 127.0.0.1:1 failed: the server closed the connection while the request was sent",
    },
  });
});

/** Runs in a thread of its own, so that connections are reset at any point of a client's writes. */
const REFUSING_SERVER = `
const { parentPort, workerData: { tls, head } } = require("node:worker_threads");
const accept = (socket) => {
  socket.on("error", () => {});
  socket.once("data", () => {
    // Unread bytes remain in the receive buffer, so that the kernel resets the connection.
    socket.pause();
    socket.end(head, () => socket.destroy());
  });
};
const server = tls ? require("node:tls").createServer(tls, accept) : require("node:net").createServer(accept);
server.listen(0, "127.0.0.1", () => parentPort.postMessage(server.address().port));
`;

describe.each([
  ["cleartext", false],
  ["TLS", true],
])("over %s, a server that refuses an upload while it is sent", (_, overTls) => {
  it.skipIf(overTls && !hasOpenssl).each([
    [403, "Forbidden", Code.PermissionDenied],
    [404, "Not Found", Code.Unimplemented],
    [413, "Content Too Large", Code.ResourceExhausted],
    [415, "Unsupported Media Type", Code.Internal],
  ])("with %i and closes the connection is reported with that status", async (status, reason, code) => {
    const certificates = overTls ? sharedCertificates() : undefined;
    const head = `HTTP/1.1 ${status} ${reason}\r\nconnection: close\r\ncontent-length: 7\r\n\r\nrefused`;
    const server = new Worker(REFUSING_SERVER, { eval: true, workerData: { tls: certificates?.server, head } });
    onTestFinished(async () => {
      await server.terminate();
    });
    const [port] = await once(server, "message");
    const baseUrl = `${overTls ? "https" : "http"}://127.0.0.1:${port}`;
    const tls = certificates && { tls: { ca: certificates.ca } };
    const client = connectGreeter(baseUrl, { protocol: "http-rpc", httpVersion: "1.1", ...tls });
    const name = "x".repeat(8 * 1024 * 1024);
    const failures = await Promise.all(Array.from({ length: 20 }, () => failureOf(client.greet({ name }))));
    for (const error of failures) {
      expect(error.rawMessage).toMatch(new RegExp(`HTTP status ${status}$`));
      expect(error.code).toBe(code);
    }
  });
});
