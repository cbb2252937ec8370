/**
 * The reaction of a client to each attack of its server over HTTP/2, over cleartext and TLS: the code of the failed call, and
 * the error code of the client's GOAWAY or RST_STREAM (RFC 9113, section 7). The next call succeeds, and so do the calls of
 * another client in the same process during and after the attack.
 */
import { Code } from "triple-es";
import { describe, expect, it } from "vitest";
import { type Certificates, hasOpenssl, sharedCertificates } from "../../support/certificate.ts";
import {
  block,
  Flag,
  type Frame,
  frame,
  goAway,
  greet,
  indexed,
  type RawConnection,
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
import { besideNeighbour } from "./neighbour.ts";

const END = Flag.endHeaders | Flag.endStream;
const FRAME_SIZE = 6;
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

const codeOf = ({ type, payload }: Frame): number => payload.readUInt32BE(type === Type.goaway ? 4 : 0);

/** A field of 4,000 bytes in the dynamic table, and the given number of references of one byte to it. */
const bomb = (references: number): Buffer =>
  Buffer.concat([indexed("x-bomb", "x".repeat(4_000)), Buffer.alloc(references, 0x80 | 62)]);

/** The frame with which the client reacts: it ends the connection or the stream, or needs to do neither. */
type Reaction = readonly [type: "GOAWAY" | "RST_STREAM", code: number] | undefined;
type Row = [name: string, attack: (stream: RawStream) => unknown, code: Code, reaction: Reaction];

/** A short timeout for servers that do not end the call. The others have time, however slow the machine is. */
const SHORT_MS = 500;
const LONG_MS = 30_000;

const MALFORMED: Reaction = ["RST_STREAM", Reset.protocol];
const TOO_LARGE: Reaction = ["RST_STREAM", Reset.calm];
const CANCELED: Reaction = ["RST_STREAM", Reset.cancel];
const CALM: Reaction = ["GOAWAY", Reset.calm];
const VIOLATION: Reaction = ["GOAWAY", Reset.protocol];

const STEPS: Row[] = [
  ["sends more than ten interim responses", manyInterim, Code.Unavailable, CALM],
  [
    "sends headers that refer 12,000 times to a field of 4 KB",
    (stream) => headers(stream, Flag.endHeaders, Buffer.concat([block(...OK_FIELDS), bomb(12_000)])),
    Code.ResourceExhausted,
    TOO_LARGE,
  ],
  [
    "sends trailers that refer 12,000 times to a field of 4 KB",
    (stream) => {
      respond(stream);
      data(stream, MESSAGE);
      headers(stream, END, Buffer.concat([block(["grpc-status", "0"]), bomb(12_000)]));
    },
    Code.ResourceExhausted,
    TOO_LARGE,
  ],
  [
    "sends headers of 100 KB",
    ({ connection, id }) => {
      connection.write(frame(Type.headers, 0, id, block([":status", "200"])));
      for (let i = 0; i < 7; i++) {
        const fields = Array.from({ length: 14 }, (_, k): [string, string] => [`x-${i}-${k}`, "x".repeat(1_000)]);
        connection.write(frame(Type.continuation, i === 6 ? Flag.endHeaders : 0, id, block(...fields)));
      }
    },
    Code.ResourceExhausted,
    TOO_LARGE,
  ],
  [
    "sends 2,200 fields",
    (stream) => respond(stream, ...Array.from({ length: 2_200 }, (_, i): [string, string] => [`${i}`, ""])),
    Code.ResourceExhausted,
    TOO_LARGE,
  ],
  ["sends a message before its headers", (stream) => data(stream, MESSAGE), Code.Internal, MALFORMED],
  [
    "sends its headers in nine CONTINUATION frames",
    (stream) => {
      headers(stream, 0, block(...OK_FIELDS));
      for (let i = 0; i < 9; i++) stream.connection.write(frame(Type.continuation, 0, stream.id, block(["a", "b"])));
    },
    Code.Unavailable,
    CALM,
  ],
  [
    "sends its headers in nine empty CONTINUATION frames",
    (stream) => {
      headers(stream, 0, block(...OK_FIELDS));
      for (let i = 0; i < 9; i++) stream.connection.write(frame(Type.continuation, 0, stream.id));
    },
    Code.Unavailable,
    CALM,
  ],
  [
    "announces a message beyond the limit",
    (stream) => {
      respond(stream);
      data(stream, Buffer.of(0, 0xff, 0xff, 0xff, 0xff));
    },
    Code.ResourceExhausted,
    CANCELED,
  ],
  [
    "pushes",
    (stream) =>
      stream.connection.write(
        frame(Type.pushPromise, Flag.endHeaders, stream.id, Buffer.concat([words(2), block(...OK_FIELDS)])),
      ),
    Code.Unavailable,
    VIOLATION,
  ],
  [
    "answers a stream that was never opened",
    ({ connection }) => connection.write(frame(Type.data, 0, 99, words(1))),
    Code.Unavailable,
    VIOLATION,
  ],
  [
    "sends HTTP/1.1 in the middle",
    ({ connection }) => connection.write(Buffer.from("HTTP/1.1 200 OK\r\n\r\n")),
    Code.Unavailable,
    ["GOAWAY", FRAME_SIZE],
  ],
  ["is silent", () => {}, Code.DeadlineExceeded, CANCELED],
  ["withholds the status", (stream) => respond(stream), Code.DeadlineExceeded, CANCELED],
  [
    "resets its response without an error before the headers",
    (stream) => reset(stream, Reset.none),
    Code.Internal,
    undefined,
  ],
  [
    "resets its response without an error in the middle",
    (stream) => {
      respond(stream);
      data(stream, MESSAGE.subarray(0, 7));
      reset(stream, Reset.none);
    },
    Code.Internal,
    undefined,
  ],
  [
    "ends its response before the content-length",
    (stream) => {
      headers(stream, Flag.endHeaders, block(...OK_FIELDS, ["content-length", "11"]));
      data(stream, MESSAGE);
      headers(stream, END, block(["grpc-status", "0"]));
    },
    Code.Internal,
    MALFORMED,
  ],
  [
    "sends more than the content-length",
    (stream) => {
      headers(stream, Flag.endHeaders, block(...OK_FIELDS, ["content-length", "9"]));
      data(stream, MESSAGE);
    },
    Code.Internal,
    MALFORMED,
  ],
  [
    "sends a status that is no number",
    (stream) => headers(stream, END, block([":status", "2x0"])),
    Code.Internal,
    MALFORMED,
  ],
  [
    "sends no status",
    (stream) => headers(stream, END, block(["content-type", "application/grpc"])),
    Code.Internal,
    MALFORMED,
  ],
  [
    "switches protocols",
    (stream) => headers(stream, Flag.endHeaders, block([":status", "101"])),
    Code.Internal,
    MALFORMED,
  ],
  [
    "sends a second response in place of trailers",
    (stream) => {
      respond(stream);
      data(stream, MESSAGE);
      headers(stream, END, block(...OK_FIELDS, ["grpc-status", "0"]));
    },
    Code.Internal,
    MALFORMED,
  ],
];

const FLOODS: Row[] = (
  [
    ["pings", () => frame(Type.ping, 0, 0, Buffer.alloc(8))],
    ["settings", () => settings()],
    ["window updates", () => frame(Type.windowUpdate, 0, 0, words(1))],
    ["empty data", (id) => frame(Type.data, 0, id)],
    ["data that is padding alone", (id) => frame(Type.data, Flag.padded, id, Buffer.alloc(256, 255))],
    ["priorities", (id) => frame(Type.priority, 0, id, Buffer.alloc(5))],
    ["frames of no known type", () => frame(0xbe, 0, 0)],
    ["ALTSVC and ORIGIN", (id) => frame(id % 2 ? 0xa : 0xc, 0, 0, words(0))],
    ["GOAWAY frames that change nothing", () => frame(Type.goaway, 0, 0, words(2 ** 31 - 1, 0))],
    ["acknowledgements of nothing", () => frame(Type.settings, Flag.ack, 0)],
    ["settings that change windows", () => settings([Setting.windowSize, 1_000], [Setting.windowSize, 2_000])],
  ] satisfies [name: string, make: (id: number) => Uint8Array][]
).map(
  ([name, make]): Row => [
    `floods it with ${name}`,
    async (stream) => {
      stream.connection.polite = false;
      respond(stream);
      for (let i = 0; i < 100 && !stream.connection.received.some(({ type }) => type === Type.goaway); i++) {
        await stream.connection.flood(500, () => make(stream.id));
        await new Promise(setImmediate);
      }
    },
    Code.Unavailable,
    CALM,
  ],
);

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

  const beside = (name: string, attack: () => Promise<void>): void =>
    it(name, () => besideNeighbour(certificates, attack));

  it.each([...STEPS, ...FLOODS])("%s", async (_, attack, code, reaction) => {
    await besideNeighbour(certificates, async () => {
      const server = await start((stream) => (server.streams.length === 1 ? attack(stream) : greet(stream)));
      const client = connect(server, LONG_MS);
      const timeoutMs = code === Code.DeadlineExceeded ? SHORT_MS : LONG_MS;
      // The deadline includes the time to connect.
      while (server.streams.length === 0) expect((await failureOf(client.greet({}, { timeoutMs }))).code).toBe(code);
      const first = server.connections[0] as RawConnection;
      if (reaction !== undefined) {
        const type = reaction[0] === "GOAWAY" ? Type.goaway : Type.reset;
        expect(codeOf(await first.frame(type))).toBe(reaction[1]);
      }
      expect((await client.greet({})).greeting).toBe("Hello!");
      if (reaction?.[0] === "GOAWAY") await first.end();
      expect(server.connections).toHaveLength(reaction?.[0] === "GOAWAY" ? 2 : 1);
    });
  });

  beside("refuses every stream: calls fail after few attempts", async () => {
    const server = await start((stream) => reset(stream, Reset.refused));
    expect((await failureOf(connect(server).greet({}))).code).toBe(Code.Unavailable);
    expect(server.streams.length).toBeLessThan(10);
  });

  beside("sends GOAWAY with ever higher last stream ids: the first one counts", async () => {
    const server = await start((stream) => {
      if (stream.connectionIndex > 0) return greet(stream);
      for (const last of [0, stream.id, 2 ** 31 - 1]) goAway(stream, last);
    });
    expect((await connect(server).greet({})).greeting).toBe("Hello!");
    expect(server.streams.map(({ connectionIndex }) => connectionIndex)).toEqual([0, 1]);
  });

  beside("answers every connection by GOAWAY at once: calls fail after few connections", async () => {
    const greeting = Buffer.concat([settings(), frame(Type.goaway, 0, 0, words(0, 0))]);
    const server = await start(() => {}, greeting);
    expect((await failureOf(connect(server).greet({}))).code).toBe(Code.Unavailable);
    expect(server.connections.length).toBeLessThan(20);
  });

  beside("allows no stream: calls end at their deadlines, and begin once it allows one", async () => {
    const server = await start((stream) => greet(stream), settings([Setting.maxStreams, 0]));
    const client = connect(server, 200);
    expect((await failureOf(client.greet({}))).code).toBe(Code.DeadlineExceeded);
    const call = client.greet({}, { timeoutMs: 5_000 });
    await expect.poll(() => server.connections.length).toBe(1);
    server.connections[0]?.write(settings([Setting.maxStreams, 1]));
    expect((await call).greeting).toBe("Hello!");
  });

  beside("opens no window for an upload: the call can be cancelled, and resets its stream", async () => {
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

  beside("answers PINGs with other bytes: the connection is replaced", async () => {
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

  beside("changes the size of the header table between requests: requests are understood", async () => {
    const sizes = [0, 2 ** 32 - 1, 1, 4_096, 64];
    const server = await start((stream) => {
      stream.connection.write(settings([Setting.headerTableSize, sizes.shift() ?? 0]));
      greet(stream);
    });
    const client = connect(server);
    for (let i = 0; i < 8; i++) expect((await client.greet({})).greeting).toBe("Hello!");
    expect(server.connections).toHaveLength(1);
  });

  beside("takes next to no header fields: calls fail as resource_exhausted, and nothing is sent", async () => {
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
  if (hasOpenssl) attackClient(sharedCertificates());
});
