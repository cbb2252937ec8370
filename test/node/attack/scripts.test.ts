/**
 * Servers that follow a script when a request arrives: frames that are unusual, late or not allowed, and settings that
 * change in the middle of a stream (RFC 9113). Each script is sent in one chunk, in single bytes and cut at random
 * positions, over cleartext and TLS: the result is the same, the next call succeeds, and a client of another server is
 * not affected.
 */
import { Code } from "triple-es";
import { describe, expect, it } from "vitest";
import { type Certificates, hasOpenssl, sharedCertificates } from "../../support/certificate.ts";
import {
  block,
  Flag,
  frame,
  greet,
  indexed,
  type RawConnection,
  Reset,
  settings,
  startRawServer,
  Type,
  words,
} from "../../support/frames.ts";
import { INVALID_BLOCKS } from "../../support/invalid-blocks.ts";
import { connectGreeter, failureOf, startServer } from "../../support/server.ts";

const END = Flag.endHeaders | Flag.endStream;
const PRIORITY = 0x20;
const Setting = { tableSize: 1, enablePush: 2, maxStreams: 3, window: 4, frameSize: 5, headerList: 6, unknown: 0xbeef };

const HEAD: [string, string][] = [
  [":status", "200"],
  ["content-type", "application/grpc"],
];
const MESSAGE = Buffer.from([0, 0, 0, 0, 5, 0x0a, 3, 0x41, 0x64, 0x61]);
const ACCEPTED = block(["grpc-status", "0"]);

const headers = (id: number, flags: number = Flag.endHeaders, payload = block(...HEAD)): Buffer =>
  frame(Type.headers, flags, id, payload);
const data = (id: number, payload: Uint8Array = MESSAGE, flags = 0): Buffer => frame(Type.data, flags, id, payload);
const trailers = (id: number): Buffer => headers(id, END, ACCEPTED);
const interim = (id: number, flags: number = Flag.endHeaders): Buffer => headers(id, flags, block([":status", "103"]));
const reset = (id: number, code: number): Buffer => frame(Type.reset, 0, id, words(code));
const goAway = (last: number, code: number = Reset.none): Buffer => frame(Type.goaway, 0, 0, words(last, code));
const update = (id: number, increment: number): Buffer => frame(Type.windowUpdate, 0, id, words(increment));
/** Every byte of a payload in a frame of its own. */
const dribbled = (id: number): Buffer[] => Array.from(MESSAGE, (byte) => data(id, Buffer.of(byte)));

/** The greeting of the call, or the code of its failure. */
type Outcome = "Ada" | Code;
/** Reports whether the next call uses the same connection or another one. */
type Then = "kept" | "replaced";
type Script = [name: string, script: (id: number) => Uint8Array[], outcome: Outcome, then: Then];

const answer = (id: number): Uint8Array[] => [headers(id), data(id), trailers(id)];

const SCRIPTS: Script[] = [
  // Responses that are valid (sections 4.3, 6.1, 6.2 and 8.1).
  ["ten interim responses", (id) => [...Array.from({ length: 10 }, () => interim(id)), ...answer(id)], "Ada", "kept"],
  ["DATA of one byte each", (id) => [headers(id), ...dribbled(id), trailers(id)], "Ada", "kept"],
  [
    "empty DATA between others",
    (id) => [headers(id), data(id, Buffer.alloc(0)), ...answer(id).slice(1)],
    "Ada",
    "kept",
  ],
  [
    "padded HEADERS with a priority, and padded DATA and trailers",
    (id) => [
      headers(
        id,
        Flag.endHeaders | Flag.padded | PRIORITY,
        Buffer.concat([Buffer.of(9), words(0), Buffer.of(15), block(...HEAD), Buffer.alloc(9)]),
      ),
      data(id, Buffer.concat([Buffer.of(255), MESSAGE, Buffer.alloc(255)]), Flag.padded),
      headers(id, END | Flag.padded, Buffer.concat([Buffer.of(1), ACCEPTED, Buffer.alloc(1)])),
    ],
    "Ada",
    "kept",
  ],
  [
    "headers and trailers in CONTINUATION frames",
    (id) => {
      const split = (flags: number, bytes: Buffer): Buffer[] => [
        headers(id, flags, bytes.subarray(0, 1)),
        frame(Type.continuation, 0, id, bytes.subarray(1, 3)),
        frame(Type.continuation, 0, id),
        frame(Type.continuation, Flag.endHeaders, id, bytes.subarray(3)),
      ];
      return [...split(0, block(...HEAD)), data(id), ...split(Flag.endStream, ACCEPTED)];
    },
    "Ada",
    "kept",
  ],
  [
    "frames of extensions between all others",
    (id) => answer(id).flatMap((one) => [frame(0xa, 0, id, words(1)), one, frame(0xc, 0, 0), frame(0xfe, 0xff, id)]),
    "Ada",
    "kept",
  ],
  // Responses that are not (section 8.1).
  ["an interim response that ends the stream", (id) => [interim(id, END)], Code.Internal, "kept"],
  ["an interim response after the headers", (id) => [headers(id), interim(id)], Code.Internal, "kept"],
  ["an interim response after DATA", (id) => [headers(id), data(id), interim(id), trailers(id)], Code.Internal, "kept"],
  ["DATA after an interim response", (id) => [interim(id), data(id)], Code.Internal, "kept"],
  ["trailers that do not end the stream", (id) => [...answer(id).slice(0, 2), headers(id)], Code.Internal, "kept"],
  // Header blocks that cannot be decoded (RFC 7541).
  ...INVALID_BLOCKS.map(
    ([name, bytes]): Script => [
      `a response with ${name}`,
      (id) => [headers(id, Flag.endHeaders, Buffer.concat([block(...HEAD), bytes]))],
      Code.Unavailable,
      "replaced",
    ],
  ),
  // GOAWAY (section 6.8).
  [
    "GOAWAY with its stream in the middle",
    (id) => [headers(id), data(id), goAway(id), trailers(id)],
    "Ada",
    "replaced",
  ],
  [
    "GOAWAY in two steps around its response",
    (id) => [goAway(2 ** 31 - 1), headers(id), data(id), goAway(id), trailers(id)],
    "Ada",
    "replaced",
  ],
  ["GOAWAY with an error after its response", (id) => [...answer(id), goAway(id, Reset.internal)], "Ada", "replaced"],
  ["GOAWAY in the first place, which leaves out the stream", () => [goAway(0)], "Ada", "replaced"],
  ["GOAWAY on a stream", (id) => [frame(Type.goaway, 0, id, words(id, 0))], Code.Unavailable, "replaced"],
  ["GOAWAY of four bytes", () => [frame(Type.goaway, 0, 0, words(0))], Code.Unavailable, "replaced"],
  // Refusals and resets (sections 5.1.2, 6.4 and 8.7).
  ["REFUSED_STREAM", (id) => [reset(id, Reset.refused)], "Ada", "kept"],
  ["REFUSED_STREAM after interim responses", (id) => [interim(id), reset(id, Reset.refused)], "Ada", "kept"],
  ["REFUSED_STREAM in the middle", (id) => [headers(id), data(id), reset(id, Reset.refused)], Code.Unavailable, "kept"],
  ["INTERNAL_ERROR before its response", (id) => [reset(id, Reset.internal)], Code.Internal, "kept"],
  ["a reset of three bytes", (id) => [frame(Type.reset, 0, id, Buffer.alloc(3))], Code.Unavailable, "replaced"],
  // Push is disabled by the client's settings (section 6.6).
  [
    "a promise of a push",
    (id) => [frame(Type.pushPromise, Flag.endHeaders, id, Buffer.concat([words(2), block(...HEAD)]))],
    Code.Unavailable,
    "replaced",
  ],
  ["a response on a stream of its own", (id) => [headers(2), ...answer(id)], Code.Unavailable, "replaced"],
  // Late frames (section 5.1).
  [
    "window updates, a reset and a priority after the end",
    (id) => [...answer(id), update(id, 1), reset(id, Reset.cancel), frame(Type.priority, 0, id, Buffer.alloc(5, 1))],
    "Ada",
    "kept",
  ],
  ["DATA after the end", (id) => [...answer(id), data(id)], "Ada", "kept"],
  ["HEADERS after the end", (id) => [...answer(id), headers(id, END)], "Ada", "replaced"],
  [
    "DATA after a reset that it has provoked",
    (id) => [interim(id, END), data(id), trailers(id)],
    Code.Internal,
    "kept",
  ],
  ["DATA on a stream that was never opened", (id) => [data(id + 2)], Code.Unavailable, "replaced"],
  ["a window for a stream that was never opened", (id) => [update(id + 2, 1)], Code.Unavailable, "replaced"],
  // Windows (section 6.9).
  ["a window of nothing", (id) => [headers(id), update(id, 0)], Code.Internal, "kept"],
  ["a window above 2^31 - 1", (id) => [headers(id), update(id, 2 ** 31 - 1)], Code.Unavailable, "kept"],
  [
    "a window above 2^31 - 1 by SETTINGS",
    (id) => [update(id, 2 ** 30), settings([Setting.window, 2 ** 31 - 1])],
    Code.Unavailable,
    "replaced",
  ],
  // SETTINGS in the middle of a stream (section 6.5).
  [
    "every setting in the middle of its response",
    (id) => [
      headers(id),
      settings([Setting.window, 0], [Setting.tableSize, 0], [Setting.maxStreams, 0], [Setting.unknown, 7]),
      data(id, MESSAGE.subarray(0, 5)),
      settings([Setting.window, 2 ** 31 - 1], [Setting.tableSize, 2 ** 32 - 1], [Setting.frameSize, 2 ** 24 - 1]),
      data(id, MESSAGE.subarray(5)),
      settings(
        [Setting.window, 65_535],
        [Setting.tableSize, 4_096],
        [Setting.maxStreams, 1],
        [Setting.headerList, 9_999],
      ),
      trailers(id),
    ],
    "Ada",
    "kept",
  ],
  [
    "settings between its headers and their CONTINUATION",
    (id) => [headers(id, 0), settings()],
    Code.Unavailable,
    "replaced",
  ],
  ["settings that enable push", () => [settings([Setting.enablePush, 1])], Code.Unavailable, "replaced"],
  ["settings with frames of 16,383 bytes", () => [settings([Setting.frameSize, 16_383])], Code.Unavailable, "replaced"],
  ["settings with a window of 2^31", () => [settings([Setting.window, 2 ** 31])], Code.Unavailable, "replaced"],
  ["settings on a stream", (id) => [frame(Type.settings, 0, id)], Code.Unavailable, "replaced"],
  [
    "an acknowledgement with a payload",
    () => [frame(Type.settings, Flag.ack, 0, Buffer.alloc(6))],
    Code.Unavailable,
    "replaced",
  ],
  // Frames of the wrong size or place (sections 4.2 and 6).
  ["a PING of seven bytes", () => [frame(Type.ping, 0, 0, Buffer.alloc(7))], Code.Unavailable, "replaced"],
  ["a PING on a stream", (id) => [frame(Type.ping, 0, id, Buffer.alloc(8))], Code.Unavailable, "replaced"],
  ["DATA on stream 0", () => [data(0)], Code.Unavailable, "replaced"],
  ["HEADERS on stream 0", () => [headers(0)], Code.Unavailable, "replaced"],
  ["a CONTINUATION without headers", (id) => [frame(Type.continuation, 0, id)], Code.Unavailable, "replaced"],
  ["DATA of 16,385 bytes", (id) => [headers(id), data(id, Buffer.alloc(16_385))], Code.Unavailable, "replaced"],
  [
    "more padding than payload",
    (id) => [headers(id), data(id, Buffer.of(9, 0), Flag.padded)],
    Code.Unavailable,
    "replaced",
  ],
];

/** Ways to cut the bytes of a script into chunks. Each begins anew for each script, so that failures can be repeated. */
const CUTS: readonly [name: string, begin: () => (total: number) => number][] = [
  ["in one chunk", () => (total) => total],
  ["in single bytes", () => () => 1],
  [
    "cut at random positions",
    () => {
      let seed = 20_261_122;
      return () => {
        seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
        return 1 + ((seed >>> 16) % 40);
      };
    },
  ],
];
/** Long scripts are cut into larger parts, so that they end. */
const MAX_CHUNKS = 600;

/** Sends a script. PINGs of the client are answered after it, because an answer must not come within a frame. */
async function send(connection: RawConnection, bytes: Buffer, nextLength: (total: number) => number): Promise<void> {
  connection.socket.setNoDelay(true);
  connection.polite = false;
  const { length } = connection.received;
  const least = Math.ceil(bytes.length / MAX_CHUNKS);
  for (let at = 0; at < bytes.length && !connection.closed; ) {
    const end = at + Math.max(least, nextLength(bytes.length));
    connection.write(bytes.subarray(at, end));
    at = end;
    await new Promise(setImmediate);
  }
  connection.polite = true;
  for (const { type, flags, payload } of connection.received.slice(length)) {
    if (type === Type.ping && flags === 0) connection.write(frame(Type.ping, Flag.ack, 0, payload));
  }
}

function playScripts(certificates?: Certificates): void {
  const tls = certificates && { ca: certificates.ca };

  describe.each(CUTS)("%s", (_, begin) => {
    it.each(SCRIPTS)("%s", async (_, script, outcome, then) => {
      const neighbour = connectGreeter((await startServer({}, { tls: certificates?.server })).baseUrl, { tls });
      let sent = Promise.resolve();
      const server = await startRawServer(
        (stream) => {
          if (server.streams.length > 1) void sent.then(() => greet(stream, "Ada"));
          else sent = send(stream.connection, Buffer.concat(script(stream.id)), begin());
        },
        settings(),
        certificates?.server,
      );
      const client = connectGreeter(server.baseUrl, { tls, maxConnections: 1 }, { timeoutMs: 30_000 });
      const neighbouring = Promise.all(Array.from({ length: 5 }, () => neighbour.greet({ name: "Bob" })));
      if (typeof outcome === "string") expect((await client.greet({})).greeting).toBe(outcome);
      else expect((await failureOf(client.greet({}))).code).toBe(outcome);
      const first = server.connections[0] as RawConnection;
      // The frames after the response in the script take effect after the call.
      if (then === "replaced") await first.end();
      expect((await client.greet({})).greeting).toBe("Ada");
      expect(server.connections).toHaveLength(then === "kept" ? 1 : 2);
      expect((await neighbouring).map(({ greeting }) => greeting)).toEqual(Array(5).fill("Hello, Bob!"));
    });
  });

  it("headers that replace its whole table in each response", async () => {
    let index = 0;
    const server = await startRawServer(
      ({ connection, id }) => {
        const fields = Array.from({ length: 60 }, (_, k) => indexed(`x-${index}-${k}`, "x".repeat(40)));
        index++;
        connection.write(
          headers(id, Flag.endHeaders, Buffer.concat([block(...HEAD), ...fields])),
          data(id),
          trailers(id),
        );
      },
      settings(),
      certificates?.server,
    );
    const client = connectGreeter(server.baseUrl, { tls, maxConnections: 1 }, { timeoutMs: 30_000 });
    for (let i = 0; i < 500; i++) expect((await client.greet({})).greeting).toBe("Ada");
    expect(server.connections).toHaveLength(1);
  });
}

describe("a client whose server sends", () => playScripts());

describe.skipIf(!hasOpenssl)("over TLS (needs openssl), a client whose server sends", () => {
  if (hasOpenssl) playScripts(sharedCertificates());
});
