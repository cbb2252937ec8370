/**
 * The limits of a client over HTTP/2, one attack of a server for each: the call fails with a code that fits, the process goes
 * on, and the next call succeeds. `test/node/attack/client.test.ts` floods; these are single steps of the protocol.
 */
import { Code } from "triple-es";
import { describe, expect, it } from "vitest";
import { type Certificates, createCertificates, hasOpenssl } from "../../support/certificate.ts";
import {
  block,
  Flag,
  frame,
  goAway,
  greet,
  indexed,
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
import { arriving, connectGreeter, failureOf } from "../../support/server.ts";

const END = Flag.endHeaders | Flag.endStream;
const MESSAGE = Buffer.from([0, 0, 0, 0, 5, 0x0a, 3, 0x41, 0x64, 0x61]);
const Setting = { headerTableSize: 1, maxStreams: 3, windowSize: 4, maxHeaderListSize: 6 } as const;
const OK_FIELDS: [string, string][] = [
  [":status", "200"],
  ["content-type", "application/grpc"],
];

const headers = ({ connection, id }: RawStream, flags: number, payload: Uint8Array): unknown =>
  connection.write(frame(Type.headers, flags, id, payload));
const data = ({ connection, id }: RawStream, payload: Uint8Array, flags = 0): unknown =>
  connection.write(frame(Type.data, flags, id, payload));

/** A field of 4,000 bytes in the dynamic table, and the given number of references of one byte to it. */
const bomb = (references: number): Buffer =>
  Buffer.concat([indexed("x-bomb", "x".repeat(4_000)), Buffer.alloc(references, 0x80 | 62)]);

type Row = [name: string, attack: (stream: RawStream) => unknown, codes: readonly Code[]];

const ROWS: Row[] = [
  ["sends more than ten interim responses", manyInterim, [Code.Unavailable]],
  [
    "sends headers that refer 12,000 times to a field of 4 KB",
    (stream) => headers(stream, Flag.endHeaders, Buffer.concat([block(...OK_FIELDS), bomb(12_000)])),
    [Code.ResourceExhausted],
  ],
  [
    "sends trailers that refer 12,000 times to a field of 4 KB",
    (stream) => {
      respond(stream);
      data(stream, MESSAGE);
      headers(stream, END, Buffer.concat([block(["grpc-status", "0"]), bomb(12_000)]));
    },
    [Code.ResourceExhausted],
  ],
  ["sends a message before its headers", (stream) => data(stream, MESSAGE), [Code.Internal]],
  [
    "sends its headers in nine CONTINUATION frames",
    (stream) => {
      headers(stream, 0, block(...OK_FIELDS));
      for (let i = 0; i < 9; i++) stream.connection.write(frame(Type.continuation, 0, stream.id, block(["a", "b"])));
    },
    [Code.Unavailable],
  ],
  ["resets its response without an error before the headers", (stream) => reset(stream, Reset.none), [Code.Internal]],
  [
    "resets its response without an error in the middle",
    (stream) => {
      respond(stream);
      data(stream, MESSAGE.subarray(0, 7));
      reset(stream, Reset.none);
    },
    [Code.Internal],
  ],
  [
    "ends its response before the content-length",
    (stream) => {
      headers(stream, Flag.endHeaders, block(...OK_FIELDS, ["content-length", "11"]));
      data(stream, MESSAGE);
      headers(stream, END, block(["grpc-status", "0"]));
    },
    [Code.Internal],
  ],
  [
    "sends more than the content-length",
    (stream) => {
      headers(stream, Flag.endHeaders, block(...OK_FIELDS, ["content-length", "9"]));
      data(stream, MESSAGE);
    },
    [Code.Internal],
  ],
  ["sends a status that is no number", (stream) => headers(stream, END, block([":status", "2x0"])), [Code.Internal]],
  ["switches protocols", (stream) => headers(stream, Flag.endHeaders, block([":status", "101"])), [Code.Internal]],
  [
    "sends a second response in place of trailers",
    (stream) => {
      respond(stream);
      data(stream, MESSAGE);
      headers(stream, END, block(...OK_FIELDS, ["grpc-status", "0"]));
    },
    [Code.Internal],
  ],
];

function manyInterim(stream: RawStream): void {
  for (let i = 0; i < 11; i++) headers(stream, Flag.endHeaders, block([":status", "103"]));
}

function attackClient(certificates?: Certificates): void {
  const identity = certificates?.server;
  const tls = certificates && { ca: certificates.ca };
  const start = (onStream: (stream: RawStream) => unknown, greeting = settings()): Promise<RawServer> =>
    startRawServer(onStream, greeting, identity);
  const connect = (server: RawServer, timeoutMs = 2_000) =>
    connectGreeter(server.baseUrl, { tls, pingTimeoutMs: 300, maxConnections: 1 }, { timeoutMs });

  it.each(ROWS)("%s", async (_, attack, codes) => {
    let calls = 0;
    const server = await start((stream) => (calls++ === 0 ? attack(stream) : greet(stream)));
    const client = connect(server);
    expect(codes).toContain((await failureOf(client.greet({}))).code);
    expect((await client.greet({})).greeting).toBe("Hello!");
  });

  it("refuses every stream: calls fail after few attempts", async () => {
    const server = await start((stream) => reset(stream, Reset.refused));
    expect((await failureOf(connect(server).greet({}))).code).toBe(Code.Unavailable);
    expect(server.streams.length).toBeLessThan(10);
  });

  it("sends GOAWAY with ever higher last stream ids: the first one counts", async () => {
    const server = await start((stream) => {
      if (stream.connectionIndex > 0) return greet(stream);
      for (const last of [0, stream.id, 2 ** 31 - 1]) goAway(stream, last);
    });
    expect((await connect(server).greet({})).greeting).toBe("Hello!");
    expect(server.streams.map(({ connectionIndex }) => connectionIndex)).toEqual([0, 1]);
  });

  it("answers every connection by GOAWAY at once: calls fail after few connections", async () => {
    const greeting = Buffer.concat([settings(), frame(Type.goaway, 0, 0, words(0, 0))]);
    const server = await start(() => {}, greeting);
    expect((await failureOf(connect(server).greet({}))).code).toBe(Code.Unavailable);
    expect(server.connections.length).toBeLessThan(20);
  });

  it("allows no stream: calls end at their deadlines, and begin once it allows one", async () => {
    const server = await start((stream) => greet(stream), settings([Setting.maxStreams, 0]));
    const client = connect(server, 200);
    expect((await failureOf(client.greet({}))).code).toBe(Code.DeadlineExceeded);
    const call = client.greet({}, { timeoutMs: 5_000 });
    await expect.poll(() => server.connections.length).toBe(1);
    server.connections[0]?.write(settings([Setting.maxStreams, 1]));
    expect((await call).greeting).toBe("Hello!");
  });

  it("opens no window for an upload: the call can be cancelled, and resets its stream", async () => {
    const server = await start(
      (stream) => {
        if (stream.id > 1) greet(stream);
      },
      settings([Setting.windowSize, 0]),
    );
    const client = connect(server);
    const stop = new AbortController();
    const failed = failureOf(
      client.greetTogether(arriving("x".repeat(100_000)), { signal: stop.signal, timeoutMs: 5_000 }),
    );
    await expect.poll(() => server.streams.length).toBe(1);
    stop.abort();
    expect((await failed).code).toBe(Code.Canceled);
    expect((await server.connections[0]?.frame(Type.reset, 1))?.payload).toEqual(words(Reset.cancel));
    expect(server.connections[0]?.received.filter(({ type }) => type === Type.data)).toEqual([]);
    server.connections[0]?.write(settings([Setting.windowSize, 65_535]));
    expect((await client.greet({})).greeting).toBe("Hello!");
  });

  it("answers PINGs with other bytes: the connection is replaced", async () => {
    let calls = 0;
    const server = await start((stream) => {
      stream.connection.polite = stream.connectionIndex > 0;
      if (calls++ === 0) stream.connection.write(frame(Type.ping, Flag.ack, 0, Buffer.alloc(8, 1)));
      else greet(stream);
    });
    const options = { tls, pingIntervalMs: 50, pingTimeoutMs: 100 };
    const client = connectGreeter(server.baseUrl, options, { timeoutMs: 5_000 });
    expect((await failureOf(client.greet({}))).code).toBe(Code.Unavailable);
    expect((await client.greet({})).greeting).toBe("Hello!");
    expect(server.connections.length).toBeGreaterThan(1);
  });

  it("changes the size of the header table between requests: requests are understood", async () => {
    const sizes = [0, 2 ** 32 - 1, 1, 4_096, 64];
    const server = await start((stream) => {
      stream.connection.write(settings([Setting.headerTableSize, sizes.shift() ?? 0]));
      greet(stream);
    });
    const client = connect(server);
    for (let i = 0; i < 8; i++) expect((await client.greet({})).greeting).toBe("Hello!");
    expect(server.connections).toHaveLength(1);
  });

  it("takes next to no header fields: calls fail as resource_exhausted, and nothing is sent", async () => {
    const server = await start((stream) => greet(stream), settings([Setting.maxHeaderListSize, 100]));
    const client = connect(server);
    await expect.poll(async () => (await failureOf(client.greet({}))).code).toBe(Code.ResourceExhausted);
    expect((await failureOf(client.greet({}))).rawMessage).toMatch(
      /^headers of \d+ bytes are more than the 100 that the /,
    );
    expect(server.streams).toHaveLength(0);
  });
}

describe("a client keeps working when a server", () => attackClient());

describe.skipIf(!hasOpenssl)("over TLS (needs openssl), too, when a server", () => {
  if (hasOpenssl) attackClient(createCertificates());
});
