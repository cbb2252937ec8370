/**
 * Cursor over received bytes, and functions that read the scalar types of protobuf from it (Encoding, "Message Structure").
 * They are functions and not methods, so that a bundle has those only that its messages need.
 */
import { doubles, fail, floats, HIGH, LOW, signed, unsigned, words } from "./numbers.ts";
import { lenient, readUtf8, strict } from "./text.ts";

/** The cursor over a message, which these functions move. They throw an `Error` for malformed or incomplete bytes. */
export class MessageReader {
  /** The received bytes. */
  declare readonly bytes: Uint8Array;
  /** Offset of the next byte to read. A malformed length may move it past `length`; the next read then fails. */
  pos = 0;
  /** The offset after the last byte of the message. */
  declare readonly length: number;
  /** The memory of the bytes, since the first view of it: the getter of an array takes as long as the view. */
  buffer: ArrayBufferLike | undefined = undefined;
  /** The number of messages and groups around the offset. */
  depth = 0;
  /** True after the end of the group that is being read. */
  groupEnded = false;

  /** Creates a cursor at the first byte. */
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
  const byte = reader.bytes[reader.pos] as number;
  // Past the end, the byte is undefined.
  if (!(byte < 0x80)) return readLongVarint(reader);
  reader.pos++;
  return byte;
}

/** Reads a varint of more than one byte. Two and three bytes are frequent, and faster without a loop. */
function readLongVarint(reader: MessageReader): number {
  const { bytes, pos } = reader;
  const second = bytes[pos + 1] as number;
  const low = ((bytes[pos] as number) & 0x7f) | ((second & 0x7f) << 7);
  if (second < 0x80) {
    reader.pos = pos + 2;
    return low;
  }
  const third = bytes[pos + 2] as number;
  if (!(third < 0x80)) return varint(reader);
  reader.pos = pos + 3;
  return low | (third << 14);
}

/** Reads an `int32`. */
export function readInt32(reader: MessageReader): number {
  return readVarint32(reader) | 0;
}

/** Reads a `sint32` (zigzag). */
export function readSint32(reader: MessageReader): number {
  const value = readVarint32(reader);
  return (value >>> 1) ^ -(value & 1);
}

/** Reads the number of an enum value, known or unknown. `undefined` is in the type of a field with presence, and is never read. */
export function readEnum<Value extends number | undefined>(reader: MessageReader): Value {
  return readInt32(reader) as Value;
}

/** Reads a `bool`. A varint other than 0 is true. */
export function readBool(reader: MessageReader): boolean {
  const byte = reader.bytes[reader.pos] as number;
  if (!(byte < 2)) return readInt64(reader) !== 0n;
  reader.pos++;
  return byte === 1;
}

/** Reads an `int64`. */
export function readInt64(reader: MessageReader): bigint {
  varint(reader);
  return signed[0] as bigint;
}

/** Reads a `uint64`. */
export function readUint64(reader: MessageReader): bigint {
  varint(reader);
  return unsigned[0] as bigint;
}

/** Reads a `sint64` (zigzag). */
export function readSint64(reader: MessageReader): bigint {
  const value = readUint64(reader);
  return (value >> 1n) ^ -(value & 1n);
}

/** Reads a `fixed32`. */
export function readFixed32(reader: MessageReader): number {
  return readSfixed32(reader) >>> 0;
}

/** Reads an `sfixed32`. */
export function readSfixed32(reader: MessageReader): number {
  const { bytes } = reader;
  const at = advance(reader, 4);
  const low = (bytes[at] as number) | ((bytes[at + 1] as number) << 8);
  return low | ((bytes[at + 2] as number) << 16) | ((bytes[at + 3] as number) << 24);
}

/** Reads a `fixed64`. */
export function readFixed64(reader: MessageReader): bigint {
  fixed64(reader);
  return unsigned[0] as bigint;
}

/** Reads an `sfixed64`. */
export function readSfixed64(reader: MessageReader): bigint {
  fixed64(reader);
  return signed[0] as bigint;
}

/** Reads a `float`. */
export function readFloat(reader: MessageReader): number {
  words[0] = readSfixed32(reader);
  return floats[0] as number;
}

/** Reads a `double`. */
export function readDouble(reader: MessageReader): number {
  fixed64(reader);
  return doubles[0] as number;
}

/** Reads a bytes field as a view of the received bytes, without a copy. */
export function readBytes(reader: MessageReader): Uint8Array {
  return bytesSince(reader, delimited(reader));
}

/** Reads UTF-8 text. Throws for invalid UTF-8, as proto3 requires. */
export function readString(reader: MessageReader): string {
  return readUtf8(reader.bytes, delimited(reader), reader.pos, strict);
}

/** Reads UTF-8 text, and replaces invalid UTF-8 with U+FFFD, as in proto2. */
export function readLenientString(reader: MessageReader): string {
  return readUtf8(reader.bytes, delimited(reader), reader.pos, lenient);
}

/** Returns a view of the bytes that have been read since `start`. */
export function bytesSince(reader: MessageReader, start: number): Uint8Array {
  const { bytes, pos } = reader;
  reader.buffer ??= bytes.buffer;
  return new Uint8Array(reader.buffer, bytes.byteOffset + start, pos - start);
}

/** Moves over `size` bytes, which must be there. Returns the offset at which they begin. */
export function advance(reader: MessageReader, size: number): number {
  const start = reader.pos;
  reader.pos = start + size;
  if (reader.pos > reader.length) fail("premature EOF");
  return start;
}

/** Reads a length and skips as many bytes. Returns the offset at which they begin. */
export function delimited(reader: MessageReader): number {
  return advance(reader, readVarint32(reader));
}

/** Reads eight bytes into the views of `numbers.ts`. */
function fixed64(reader: MessageReader): void {
  words[LOW] = readSfixed32(reader);
  words[HIGH] = readSfixed32(reader);
}

/** Reads a varint into the views of `numbers.ts`. Returns its lower 32 bits. Bits over 64 are dropped. */
function varint(reader: MessageReader): number {
  const { bytes } = reader;
  let pos = reader.pos;
  let low = 0;
  let high = 0;
  // Past the end, a byte is undefined.
  let byte = 0x80;
  for (let shift = 0; byte > 0x7f && shift < 28; shift += 7) {
    byte = bytes[pos++] as number;
    low |= (byte & 0x7f) << shift;
  }
  if (byte > 0x7f) {
    byte = bytes[pos++] as number;
    low |= byte << 28;
    high = (byte & 0x7f) >> 4;
    for (let shift = 3; byte > 0x7f; shift += 7) {
      if (shift > 31) fail("invalid varint");
      byte = bytes[pos++] as number;
      high |= (byte & 0x7f) << shift;
    }
  }
  advance(reader, pos - reader.pos);
  words[LOW] = low;
  words[HIGH] = high;
  return low >>> 0;
}
