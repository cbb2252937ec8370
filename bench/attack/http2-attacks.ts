/**
 * Attacks with frames of HTTP/2 (RFC 9113), one for each kind of limit: `SECURITY.md` names them.
 */
import { endHeaders, endStream, field, frame, frameType } from "../contests/load/http2-frames.ts";

export interface Http2Attack {
  readonly name: string;
  /** The payload of the attacker's SETTINGS. */
  readonly settings?: Buffer;
  /** Sent once for each stream: on a server's streams by a client, and on the streams of a client's calls by a server. */
  readonly begin?: (stream: number) => Buffer;
  /** Sent over and over. `index` counts from 0 on each connection. */
  readonly repeat?: (index: number, stream: number) => Buffer;
  /** True if the attacker does not read. */
  readonly readsNothing?: boolean;
}

const EMPTY = Buffer.alloc(0);
const PRIORITY = 2;
const CONTINUATION = 9;
const WINDOW_SIZE = 4;
const word = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};
const setting = (id: number, value: number): Buffer => Buffer.concat([Buffer.of(0, id), word(value)]);

const REQUEST = Buffer.concat([
  Buffer.of(0x83, 0x86),
  field(":path", "/bench.v1.CostlyService/Take"),
  field(":authority", "a"),
  field("content-type", "application/grpc"),
  field("te", "trailers"),
]);
const ID = (index: number): number => 2 * index + 1;
const request = (id: number, flags = 0, more: Buffer = EMPTY): Buffer =>
  frame(frameType.headers, endHeaders | flags, id, Buffer.concat([REQUEST, more]));
const MESSAGE = Buffer.from([0, 0, 0, 0, 0]);
const call = (id: number): Buffer => Buffer.concat([request(id), frame(frameType.data, endStream, id, MESSAGE)]);

/** Floods that both roles can send. */
const FLOODS: readonly Http2Attack[] = [
  { name: "PING", repeat: () => frame(frameType.ping, 0, 0, Buffer.alloc(8)) },
  { name: "PING, unread", repeat: () => frame(frameType.ping, 0, 0, Buffer.alloc(8)), readsNothing: true },
  { name: "SETTINGS", repeat: () => frame(frameType.settings, 0, 0, EMPTY) },
  {
    name: "windows by SETTINGS",
    repeat: (i) => frame(frameType.settings, 0, 0, setting(WINDOW_SIZE, 1_000 + (i % 2))),
  },
  { name: "WINDOW_UPDATE", repeat: () => frame(frameType.windowUpdate, 0, 0, word(1)) },
  { name: "PRIORITY", repeat: () => frame(PRIORITY, 0, 1, Buffer.alloc(5)) },
  { name: "unknown frames of 16 KiB", repeat: () => frame(0xbe, 0, 0, Buffer.alloc(16_384)) },
];

export const SERVER_ATTACKS: readonly Http2Attack[] = [
  { name: "rapid reset", repeat: (i) => Buffer.concat([call(ID(i)), frame(frameType.rstStream, 0, ID(i), word(8))]) },
  { name: "malformed requests", repeat: (i) => request(ID(i), endStream, field("connection", "close")) },
  { name: "streams beyond the limit", repeat: (i) => request(ID(i)) },
  {
    name: "CONTINUATION",
    repeat: (i) => (i === 0 ? frame(frameType.headers, 0, 1, REQUEST) : frame(CONTINUATION, 0, 1, field("x", "y"))),
  },
  { name: "headers of 60 KiB", repeat: (i) => request(ID(i), endStream, Buffer.alloc(1_500, 0x80 | 33)) },
  { name: "invalid HPACK", repeat: () => request(1, 0, Buffer.of(0x80)) },
  { name: "empty DATA", begin: () => request(1), repeat: () => frame(frameType.data, 0, 1, EMPTY) },
  {
    name: "DATA on a reset stream",
    begin: () => Buffer.concat([request(1), frame(frameType.windowUpdate, 0, 1, word(2 ** 31 - 1))]),
    repeat: () => frame(frameType.data, 0, 1, Buffer.alloc(100)),
  },
  { name: "small calls, unread", repeat: (i) => call(ID(i)), readsNothing: true },
  { name: "window of 0", settings: setting(WINDOW_SIZE, 0), repeat: (i) => call(ID(i)) },
  ...FLOODS,
];

const RESPONSE = Buffer.concat([Buffer.of(0x88), field("content-type", "application/grpc")]);
const respond = (id: number): Buffer => frame(frameType.headers, endHeaders, id, RESPONSE);

export const CLIENT_ATTACKS: readonly Http2Attack[] = [
  { name: "refused streams", begin: (id) => frame(frameType.rstStream, 0, id, word(7)) },
  { name: "interim responses", repeat: (_, id) => frame(frameType.headers, endHeaders, id, field(":status", "103")) },
  {
    name: "CONTINUATION",
    begin: (id) => frame(frameType.headers, 0, id, RESPONSE),
    repeat: (_, id) => frame(CONTINUATION, 0, id, field("x", "y")),
  },
  {
    name: "headers of 60 KiB",
    begin: (id) =>
      frame(frameType.headers, endHeaders | endStream, id, Buffer.concat([RESPONSE, Buffer.alloc(1_500, 0x80 | 33)])),
  },
  { name: "malformed responses", begin: (id) => frame(frameType.headers, endHeaders, id, field("x", "y")) },
  { name: "empty DATA", begin: respond, repeat: (_, id) => frame(frameType.data, 0, id, EMPTY) },
  { name: "GOAWAY", begin: () => frame(frameType.goAway, 0, 0, Buffer.alloc(8)) },
  { name: "silence", settings: setting(WINDOW_SIZE, 0) },
  ...FLOODS,
];
