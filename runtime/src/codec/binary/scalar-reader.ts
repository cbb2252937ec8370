/**
 * Cursor over received bytes, and functions that read the scalar types of protobuf from it (Encoding, "Message Structure").
 * They are functions and not methods, so that a bundle has those only that its messages need.
 */
import { scratch } from "./numbers.ts";
import { readUtf8 } from "./text.ts";

export class MessageReader {
  readonly bytes: Uint8Array;
  /** Offset of the next byte to read. A malformed length may move it past `length`; the next read then fails. */
  pos = 0;
  readonly length: number;
  /** The number of messages and groups around the offset. */
  depth = 0;
  groupEnded = false;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    this.length = bytes.length;
  }
}

/** Reads a length. Returns the offset at which the data after it ends. */
export function readEndOffset(reader: MessageReader): number {
  const length = readVarint32(reader);
  return reader.pos + length;
}

/** Reads a varint of up to ten bytes. Returns its lower 32 bits. */
export function readVarint32(reader: MessageReader): number {
  const { bytes, pos } = reader;
  const byte = bytes[pos] as number;
  if (byte < 0x80) {
    reader.pos = pos + 1;
    return byte;
  }
  const next = bytes[pos + 1] as number;
  if (next < 0x80) {
    reader.pos = pos + 2;
    return (byte & 0x7f) | (next << 7);
  }
  return varint(reader).getUint32(0, true);
}

export function readInt32(reader: MessageReader): number {
  return readVarint32(reader) | 0;
}

export function readSint32(reader: MessageReader): number {
  const value = readVarint32(reader);
  return (value >>> 1) ^ -(value & 1);
}

/** Reads the number of an enum value, known or unknown. */
export function readEnum<Value extends number>(reader: MessageReader): Value {
  return readInt32(reader) as Value;
}

export function readBool(reader: MessageReader): boolean {
  const byte = reader.bytes[reader.pos] as number;
  if (!(byte < 2)) return readUint64(reader) !== 0n;
  reader.pos++;
  return byte === 1;
}

export function readInt64(reader: MessageReader): bigint {
  return varint(reader).getBigInt64(0, true);
}

export function readUint64(reader: MessageReader): bigint {
  return varint(reader).getBigUint64(0, true);
}

export function readSint64(reader: MessageReader): bigint {
  const value = readUint64(reader);
  return (value >> 1n) ^ -(value & 1n);
}

export function readFixed32(reader: MessageReader): number {
  return fixed(reader, 4).getUint32(0, true);
}

export function readSfixed32(reader: MessageReader): number {
  return fixed(reader, 4).getInt32(0, true);
}

export function readFixed64(reader: MessageReader): bigint {
  return fixed(reader, 8).getBigUint64(0, true);
}

export function readSfixed64(reader: MessageReader): bigint {
  return fixed(reader, 8).getBigInt64(0, true);
}

export function readFloat(reader: MessageReader): number {
  return fixed(reader, 4).getFloat32(0, true);
}

export function readDouble(reader: MessageReader): number {
  return fixed(reader, 8).getFloat64(0, true);
}

/** Reads a bytes field as a view of the received bytes, without a copy. */
export function readBytes(reader: MessageReader): Uint8Array {
  return bytesSince(reader, delimited(reader));
}

/** Reads UTF-8 text. Throws for invalid UTF-8, as proto3 requires. */
export function readString(reader: MessageReader): string {
  return readUtf8(reader.bytes, delimited(reader), reader.pos, true);
}

/** Reads UTF-8 text, and replaces invalid UTF-8 with U+FFFD, as in proto2. */
export function readLenientString(reader: MessageReader): string {
  return readUtf8(reader.bytes, delimited(reader), reader.pos, false);
}

/** Returns a view of the bytes that have been read since `start`. */
export function bytesSince({ bytes, pos }: MessageReader, start: number): Uint8Array {
  return new Uint8Array(bytes.buffer, bytes.byteOffset + start, pos - start);
}

/** Moves over `size` bytes, which must be there. Returns the offset at which they begin. */
export function advance(reader: MessageReader, size: number): number {
  const start = reader.pos;
  reader.pos = start + size;
  if (reader.pos > reader.length) throw new RangeError("premature EOF");
  return start;
}

/** Reads a length and skips as many bytes. Returns the offset at which they begin. */
export function delimited(reader: MessageReader): number {
  return advance(reader, readVarint32(reader));
}

function fixed(reader: MessageReader, size: number): DataView {
  const { bytes } = reader;
  let from = advance(reader, size);
  for (let at = 0; at < size; at += 4) {
    const low = (bytes[from++] as number) | ((bytes[from++] as number) << 8);
    scratch.setInt32(at, low | ((bytes[from++] as number) << 16) | ((bytes[from++] as number) << 24), true);
  }
  return scratch;
}

/** Reads a varint as a 64-bit integer. Bits over 64 are dropped. */
function varint(reader: MessageReader): DataView {
  const { bytes } = reader;
  let { pos } = reader;
  let low = 0;
  let high = 0;
  let byte = 0x80;
  for (let shift = 0; byte > 0x7f; shift += 7) {
    if (shift > 63) throw new Error("invalid varint");
    // Past the end, a byte is undefined.
    byte = bytes[pos++] as number;
    const bits = byte & 0x7f;
    // A shift counts modulo 32: by 35 bits is by three.
    if (shift < 32) low |= bits << shift;
    if (shift > 27) high |= shift > 28 ? bits << shift : bits >> 4;
  }
  advance(reader, pos - reader.pos);
  scratch.setInt32(0, low, true);
  scratch.setInt32(4, high, true);
  return scratch;
}
