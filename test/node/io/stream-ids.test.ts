/**
 * Connections whose stream ids are used up (RFC 9113, section 5.1.1). Ids end after a billion, so the test lowers their
 * limit.
 */
import { expect, it, vi } from "vitest";
import { type Certificates, hasOpenssl, sharedCertificates } from "../../support/certificate.ts";
import {
  Flag,
  frame,
  greet,
  RawConnection,
  type RawStream,
  Reset,
  request,
  settings,
  startRawServer,
  Type,
  words,
} from "../../support/frames.ts";
import { connectGreeter, startServer } from "../../support/server.ts";

vi.mock("../../../runtime/src/http2/codes.ts", async (original) => ({
  ...(await original<object>()),
  LAST_STREAM_ID: 20,
}));

const MAX_CONCURRENT_STREAMS = 3;

it.each([
  ["cleartext", false],
  ["TLS", true],
])("calls that wait for a stream go to the next connection (over %s)", async (_, overTls) => {
  if (overTls && !hasOpenssl) return;
  const certificates: Certificates | undefined = overTls ? sharedCertificates() : undefined;
  const pending: RawStream[] = [];
  const server = await startRawServer(
    (stream) => {
      pending.push(stream);
      setTimeout(() => greet(pending.shift() as RawStream), 1);
    },
    settings([MAX_CONCURRENT_STREAMS, 2]),
    certificates?.server,
  );
  const tls = certificates && { ca: certificates.ca };
  const client = connectGreeter(server.baseUrl, { tls, maxConnections: 1 }, { timeoutMs: 20_000 });
  // The first call waits until the limit of streams is known.
  await client.greet({});
  const calls = await Promise.all(Array.from({ length: 40 }, () => client.greet({})));
  expect(new Set(calls.map(({ greeting }) => greeting))).toEqual(new Set(["Hello!"]));
  // A connection has eleven streams.
  expect(server.connections.length).toBeGreaterThan(3);
  for (const { received } of server.connections.slice(0, -1)) {
    const ids = received.filter(({ type }) => type === Type.headers).map(({ stream }) => stream);
    expect(ids).toEqual(Array.from({ length: ids.length }, (_, i) => 2 * i + 1));
    expect(ids.length).toBeLessThanOrEqual(11);
  }
});

it("a server tells clients to leave before their ids are used up, and answers their open calls", async () => {
  const { port } = await startServer();
  const connection = await RawConnection.open(port);
  const call = (id: number): void => {
    connection.write(
      frame(Type.headers, Flag.endHeaders, id, request()),
      frame(Type.data, Flag.endStream, id, Buffer.alloc(5)),
    );
  };
  call(19);
  await connection.frame(Type.data, 19);
  expect(connection.received.map(({ type }) => type)).not.toContain(Type.goaway);
  call(21);
  // It names no last stream, so that requests which are on their way are answered too.
  expect((await connection.frame(Type.goaway)).payload).toEqual(words(2 ** 31 - 1, Reset.none));
  await connection.frame(Type.data, 21);
});

it("no call is lost when the ids of a connection between a client and a server are used up", async () => {
  const { baseUrl } = await startServer();
  const client = connectGreeter(baseUrl, { maxConnections: 1 }, { timeoutMs: 20_000 });
  for (let i = 0; i < 50; i++) expect((await client.greet({ name: "Ada" })).greeting).toBe("Hello, Ada!");
});
