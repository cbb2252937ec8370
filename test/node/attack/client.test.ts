/** Hostile servers: their input is rejected at a limit, and the process continues. */
import { Code } from "triple-es";
import { describe, expect, it } from "vitest";
import { type Certificates, createCertificates, hasOpenssl } from "../../support/certificate.ts";
import {
  block,
  Flag,
  frame,
  greet,
  type RawStream,
  respond,
  settings,
  startRawServer,
  Type,
  words,
} from "../../support/frames.ts";
import { connectGreeter, failureOf } from "../../support/server.ts";

const NEW_FIELD = (index: number): [string, string] => [`x-${index}`, "x".repeat(1_000)];

type Row = [name: string, attack: (stream: RawStream) => unknown, codes: Code[]];

const ROWS: Row[] = [
  [
    "sends interim responses without end",
    async ({ connection, id }) => {
      await connection.flood(1_000, () => frame(Type.headers, Flag.endHeaders, id, block([":status", "103"])), 10);
    },
    [Code.Unavailable],
  ],
  [
    "sends headers of 100 KB",
    ({ connection, id }) => {
      connection.write(frame(Type.headers, 0, id, block([":status", "200"])));
      for (let i = 0; i < 70; i += 10) {
        const fields = Array.from({ length: 10 }, (_, k) => NEW_FIELD(i + k));
        connection.write(frame(Type.continuation, i === 60 ? Flag.endHeaders : 0, id, block(...fields)));
      }
    },
    [Code.ResourceExhausted, Code.Internal],
  ],
  [
    "sends more fields than Node takes",
    (stream) => respond(stream, ...Array.from({ length: 2_200 }, (_, i): [string, string] => [`${i}`, ""])),
    [Code.ResourceExhausted],
  ],
  [
    "announces a message beyond the limit",
    (stream) => {
      respond(stream);
      stream.connection.write(frame(Type.data, 0, stream.id, Buffer.from([0, 0xff, 0xff, 0xff, 0xff])));
      void stream.connection.flood(2_000, () => frame(Type.data, 0, stream.id, Buffer.alloc(16_000)), 4);
    },
    [Code.ResourceExhausted, Code.Internal, Code.Unavailable],
  ],
  [
    "pushes",
    ({ connection, id }) =>
      connection.write(
        frame(Type.pushPromise, Flag.endHeaders, id, Buffer.concat([words(2), block([":status", "200"])])),
      ),
    [Code.Unavailable, Code.Internal],
  ],
  [
    "never ends its headers",
    async ({ connection, id }) => {
      connection.write(frame(Type.headers, 0, id, block([":status", "200"])));
      await connection.flood(5_000, () => frame(Type.continuation, 0, id), 10);
    },
    [Code.Unavailable, Code.Internal],
  ],
  [
    "answers a stream that was never opened",
    ({ connection }) => connection.write(frame(Type.data, 0, 99, words(1))),
    [Code.Unavailable, Code.Internal, Code.DeadlineExceeded],
  ],
  ["is silent", () => {}, [Code.DeadlineExceeded]],
  ...(
    [
      ["pings", () => frame(Type.ping, 0, 0, Buffer.alloc(8))],
      ["settings", () => settings()],
      ["window updates", () => frame(Type.windowUpdate, 0, 0, words(1))],
      ["empty data", (id) => frame(Type.data, 0, id)],
      ["priorities", (id) => frame(Type.priority, 0, id, Buffer.alloc(5))],
      ["frames of no known type", () => frame(0xbe, 0, 0)],
      ["GOAWAY frames that change nothing", () => frame(Type.goaway, 0, 0, words(2 ** 31 - 1, 0))],
    ] satisfies [name: string, make: (id: number) => Uint8Array][]
  ).map(
    ([name, make]): Row => [
      `floods it with ${name}`,
      async (stream) => {
        stream.connection.polite = false;
        respond(stream);
        await stream.connection.flood(50_000, () => make(stream.id), 1_000);
      },
      [Code.Unavailable, Code.Internal, Code.DeadlineExceeded],
    ],
  ),
  ["withholds the status", (stream) => respond(stream), [Code.DeadlineExceeded]],
];

function attackClient(certificates?: Certificates): void {
  it.each(ROWS)("%s", async (_, attack, codes) => {
    const onStream = (stream: RawStream): unknown => (server.streams.length === 1 ? attack(stream) : greet(stream));
    const server = await startRawServer(onStream, settings(), certificates?.server);
    const tls = certificates && { ca: certificates.ca };
    const client = connectGreeter(server.baseUrl, { tls, pingTimeoutMs: 300 }, { timeoutMs: 1_000 });
    expect(codes).toContain((await failureOf(client.greet({}))).code);
    expect((await client.greet({})).greeting).toBe("Hello!");
  });
}

describe("a client fails the call, and makes the next one, when a server", () => attackClient());

describe.skipIf(!hasOpenssl)("over TLS (needs openssl), too, when a server", () => {
  if (hasOpenssl) attackClient(createCertificates());
});
