/** Writes and reads frames for tests, without code of the engine. */
import { FrameType } from "../../../runtime/src/http2/codes.ts";
import type { Encoder } from "../../../runtime/src/http2/hpack/encoder.ts";

export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly streamId: number;
  readonly payload: Uint8Array;
}

export const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

export const END_STREAM = 0x1;
export const ACK = 0x1;
export const END_HEADERS = 0x4;
export const PADDED = 0x8;
export const PRIORITY = 0x20;

type Bytes = Uint8Array | readonly number[] | string;

function toBytes(bytes: Bytes): Uint8Array {
  if (typeof bytes === "string") return Buffer.from(bytes, "latin1");
  return bytes instanceof Uint8Array ? bytes : Uint8Array.from(bytes);
}

/** Returns a frame with the given payload, valid or not. `length` overrides the length field. */
export function frame(type: number, flags: number, streamId: number, payload: Bytes, length?: number): Buffer {
  const bytes = toBytes(payload);
  const header = Buffer.alloc(9);
  header.writeUIntBE(length ?? bytes.length, 0, 3);
  header[3] = type;
  header[4] = flags;
  header.writeUInt32BE(streamId >>> 0, 5);
  return Buffer.concat([header, bytes]);
}

export function uint32(...values: readonly number[]): number[] {
  return values.flatMap((value) => [(value >>> 24) & 0xff, (value >>> 16) & 0xff, (value >>> 8) & 0xff, value & 0xff]);
}

export function settings(...entries: readonly (readonly [id: number, value: number])[]): Buffer {
  return frame(
    FrameType.Settings,
    0,
    0,
    entries.flatMap(([id, value]) => [id >> 8, id & 0xff, ...uint32(value)]),
  );
}

export const settingsAck = (): Buffer => frame(FrameType.Settings, ACK, 0, []);

/** Returns a header block with literals only, which does not change the table. */
export function block(fields: readonly string[]): Uint8Array {
  // A text of bytes, which grows at less cost than a list of them: tests encode millions of fields.
  let bytes = "";
  for (const [i, text] of fields.entries()) {
    if (i % 2 === 0) bytes += "\0";
    const { length } = text;
    if (length < 127) bytes += String.fromCharCode(length);
    else {
      bytes += "\x7f";
      let rest = length - 127;
      for (; rest >= 128; rest >>>= 7) bytes += String.fromCharCode((rest & 127) | 128);
      bytes += String.fromCharCode(rest);
    }
    bytes += text;
  }
  return new Uint8Array(Buffer.from(bytes, "latin1"));
}

export const REQUEST: readonly string[] = [
  ...[":method", "POST", ":scheme", "http", ":path", "/a.B/C", ":authority", "localhost"],
  ...["content-type", "application/grpc", "te", "trailers"],
];
export const RESPONSE: readonly string[] = [":status", "200", "content-type", "application/grpc"];

export const headers = (streamId: number, fields: readonly string[], flags = END_HEADERS): Buffer =>
  frame(FrameType.Headers, flags, streamId, block(fields));

export const data = (streamId: number, bytes: Bytes, flags = 0): Buffer =>
  frame(FrameType.Data, flags, streamId, bytes);

export const rst = (streamId: number, code = 8): Buffer => frame(FrameType.RstStream, 0, streamId, uint32(code));

export const windowUpdate = (streamId: number, increment: number): Buffer =>
  frame(FrameType.WindowUpdate, 0, streamId, uint32(increment));

export const ping = (bytes: Bytes = [1, 2, 3, 4, 5, 6, 7, 8], flags = 0): Buffer =>
  frame(FrameType.Ping, flags, 0, bytes);

export const goAway = (lastStreamId: number, code = 0): Buffer =>
  frame(FrameType.GoAway, 0, 0, uint32(lastStreamId, code));

/** Splits bytes into frames. Throws if the last frame is incomplete. */
export function parseFrames(bytes: Uint8Array): Frame[] {
  const buffer = Buffer.from(bytes);
  const frames: Frame[] = [];
  let at = 0;
  while (at < buffer.length) {
    const length = buffer.readUIntBE(at, 3);
    if (buffer.length < at + 9 + length) throw new Error("a frame is cut off");
    frames.push({
      type: buffer[at + 3] as number,
      flags: buffer[at + 4] as number,
      streamId: buffer.readUInt32BE(at + 5),
      payload: buffer.subarray(at + 9, at + 9 + length),
    });
    at += 9 + length;
  }
  return frames;
}

/** Encodes one header block with the engine's encoder, for tests of other decoders. */
export function encode(encoder: Encoder, fields: readonly string[]): Uint8Array {
  const list = { raw: fields, frozen: false };
  const out = new Uint8Array(encoder.prepare(list) + 64);
  const start = encoder.begin(out, 0);
  return out.slice(0, encoder.write(out, start, list));
}
