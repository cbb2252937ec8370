/**
 * Writer of protobuf's binary format for generated codecs. It writes the same bytes as protobuf-es, and rejects the same
 * values. Functions for fields write a tag and a value; the tag 0 is omitted, for items of packed lists.
 */
import { MAX_TAG_AND_VARINT, SHORT_STRING } from "./limits.ts";
import { fail, HIGH, invalid, LOW, signed, toFloat, toInt32, toLong, toUint32, unsigned, words } from "./numbers.ts";
import { finishMessage, MessageWriter, reserve } from "./slab.ts";
import { nodeText } from "./text.ts";

const text = new TextEncoder();

/** Throws if the message is of another type. */
export function checkType(message: { readonly $typeName: string }, typeName: string): void {
  if (message.$typeName !== typeName) fail(`cannot encode ${message.$typeName} as ${typeName}`);
}

/** Throws the error of a required field that is not set. */
export function requiredField(field: string): never {
  fail(`cannot encode ${field}: required field not set`);
}

/** Writes a tag: a field number, shifted by three, and a wire type. It is a constant in generated code. */
export function writeTag(writer: MessageWriter, tag: number): void {
  begin(writer, tag, 0);
}

/** Begins a length-prefixed field. One byte is reserved for the length. Returns the start for {@link endField}. */
export function beginField(writer: MessageWriter, tag: number): number {
  begin(writer, tag, 0);
  return ++writer.pos - writer.start;
}

/** Ends the field of the matching {@link beginField}: writes its length. */
export function endField(writer: MessageWriter, start: number): void {
  const { bytes, pos } = writer;
  const from = writer.start + start;
  const length = pos - from;
  if (length < 0x80) bytes[from - 1] = length;
  else endLongField(writer, start, 1);
}

/** Writes the length of a field into the `reserved` bytes before `start`, and moves its content if it needs more. */
function endLongField(writer: MessageWriter, start: number, reserved: number): void {
  const length = writer.pos - writer.start - start;
  const more = varintSize(length) - reserved;
  reserve(writer, more);
  const from = writer.start + start;
  if (more > 0) writer.bytes.copyWithin(from + more, from, writer.pos);
  writer.pos = from - reserved;
  put32(writer, length);
  writer.pos += length;
}

/** Writes a field of type `uint32`. Throws for a value out of range. */
export function writeVarint32(writer: MessageWriter, tag: number, value: number): void {
  begin(writer, tag, 0);
  put32(writer, toUint32(value));
}

/** Writes a field of type `int32` or of an enum. Throws for a value out of range. */
export function writeInt32(writer: MessageWriter, tag: number, value: number): void {
  begin(writer, tag, 0);
  const number = toInt32(value);
  if (number < 0) put64(writer, number, -1);
  else put32(writer, number);
}

/** Writes a field of type `sint32` (zigzag). Throws for a value out of range. */
export function writeSint32(writer: MessageWriter, tag: number, value: number): void {
  const number = toInt32(value);
  writeVarint32(writer, tag, ((number << 1) ^ (number >> 31)) >>> 0);
}

/** Writes a field of type `bool`. */
export function writeBool(writer: MessageWriter, tag: number, value: boolean): void {
  begin(writer, tag, 0);
  writer.bytes[writer.pos++] = value ? 1 : 0;
}

/** Writes a field of type `int64`; `view` is the representation of another type of 64 bits. Throws for a value out of range. */
export function writeInt64(
  writer: MessageWriter,
  tag: number,
  value: bigint | string | number,
  view: BigInt64Array | BigUint64Array = signed,
): void {
  begin(writer, tag, 0);
  toLong(value, view);
  put64(writer, words[LOW] as number, words[HIGH] as number);
}

/** Writes a field of type `uint64`. Throws for a value out of range. */
export function writeUint64(writer: MessageWriter, tag: number, value: bigint | string | number): void {
  writeInt64(writer, tag, value, unsigned);
}

/** Writes a field of type `sint64` (zigzag). Throws for a value out of range. */
export function writeSint64(writer: MessageWriter, tag: number, value: bigint | string | number): void {
  toLong(value, signed);
  const long = signed[0] as bigint;
  writeInt64(writer, tag, BigInt.asIntN(64, long << 1n) ^ (long >> 63n));
}

/** Writes a field of type `fixed32`. Throws for a value out of range. */
export function writeFixed32(writer: MessageWriter, tag: number, value: number): void {
  fixed(writer, tag, 4).setUint32(writer.pos - 4, toUint32(value), true);
}

/** Writes a field of type `sfixed32`. Throws for a value out of range. */
export function writeSfixed32(writer: MessageWriter, tag: number, value: number): void {
  fixed(writer, tag, 4).setInt32(writer.pos - 4, toInt32(value), true);
}

/** Writes a field of type `fixed64`. Throws for a value out of range. */
export function writeFixed64(writer: MessageWriter, tag: number, value: bigint | string | number): void {
  writeSfixed64(writer, tag, value, unsigned);
}

/**
 * Writes a field of type `sfixed64`; `view` is the representation of another type of 64 bits. Throws for a value out of
 * range.
 */
export function writeSfixed64(
  writer: MessageWriter,
  tag: number,
  value: bigint | string | number,
  view: BigInt64Array | BigUint64Array = signed,
): void {
  toLong(value, view);
  fixed(writer, tag, 8).setBigInt64(writer.pos - 8, signed[0] as bigint, true);
}

/** Writes a field of type `float`. Throws for a value out of range. */
export function writeFloat(writer: MessageWriter, tag: number, value: number): void {
  fixed(writer, tag, 4).setFloat32(writer.pos - 4, toFloat(value), true);
}

/** Writes a field of type `double`. */
export function writeDouble(writer: MessageWriter, tag: number, value: number): void {
  fixed(writer, tag, 8).setFloat64(writer.pos - 8, value, true);
}

/** Writes a field of type `bytes`. Throws for a value that is not a `Uint8Array`. */
export function writeBytes(writer: MessageWriter, tag: number, value: Uint8Array): void {
  const { length } = value;
  // An `ArrayBuffer` has no length, and the items of other arrays are not bytes.
  if (value.byteLength !== length) invalid("bytes", value);
  begin(writer, tag, length);
  put32(writer, length);
  putBytes(writer, value);
}

/** Writes a field of type `string`. Other values are converted to text, as in protobuf-es. */
export function writeString(writer: MessageWriter, tag: number, value: string): void {
  // protobuf-es converts values that are not strings.
  if (typeof value !== "string" || value.length > SHORT_STRING) {
    putText(writer, tag, String(value));
    return;
  }
  begin(writer, tag, 2 * SHORT_STRING);
  if (!putShort(writer, value)) putText(writer, 0, value);
}

/** Writes a short text and its one byte of length. Writes nothing and returns false for characters of over two bytes. */
function putShort(writer: MessageWriter, value: string): boolean {
  const { bytes, pos } = writer;
  const { length } = value;
  let at = pos + 1;
  let index = 0;
  // Four ASCII characters at a time take four fifths of the time.
  for (; index < length - 3; index += 4) {
    const a = value.charCodeAt(index);
    const b = value.charCodeAt(index + 1);
    const c = value.charCodeAt(index + 2);
    const d = value.charCodeAt(index + 3);
    if ((a | b | c | d) > 0x7f) break;
    bytes[at++] = a;
    bytes[at++] = b;
    bytes[at++] = c;
    bytes[at++] = d;
  }
  for (; index < length; index++) {
    let code = value.charCodeAt(index);
    if (code > 0x7ff) return false;
    if (code > 0x7f) {
      bytes[at++] = 0xc0 | (code >> 6);
      code = 0x80 | (code & 0x3f);
    }
    bytes[at++] = code;
  }
  bytes[pos] = at - pos - 1;
  writer.pos = at;
  return true;
}

/** A field that the reader's schema does not have, as protobuf-es keeps it in `$unknown`. */
export interface UnknownField {
  /** The number of the field. */
  readonly no: number;
  /** The wire type, from 0 to 5. */
  readonly wireType: number;
  /** The encoded value, without its tag. */
  readonly data: Uint8Array;
}

/** Writes the unknown fields, after all others. */
export function writeUnknown(writer: MessageWriter, fields: readonly UnknownField[]): void {
  for (const { no, wireType, data } of fields) {
    begin(writer, ((no << 3) | wireType) >>> 0, data.length);
    putBytes(writer, data);
  }
}

/** Writes a message that is already encoded. */
export function writeEncoded(writer: MessageWriter, value: Uint8Array): void {
  reserve(writer, value.length);
  putBytes(writer, value);
}

/** Writes a tag, and reserves memory for a value: a varint, a number of eight bytes, or a length and `size` bytes. */
function begin(writer: MessageWriter, tag: number, size: number): void {
  reserve(writer, MAX_TAG_AND_VARINT + size);
  if (tag >= 0x80) put32(writer, tag);
  else if (tag !== 0) writer.bytes[writer.pos++] = tag;
}

/** Writes a tag, and leaves out `size` bytes for the caller, who writes them with the result. */
function fixed(writer: MessageWriter, tag: number, size: number): DataView {
  begin(writer, tag, 0);
  writer.pos += size;
  return writer.view;
}

/** Writes text after a length of the size that ASCII text has. The text is moved if its length needs more bytes. */
function putText(writer: MessageWriter, tag: number, value: string): void {
  begin(writer, tag, 3 * value.length);
  const reserved = varintSize(value.length);
  const { bytes, start } = writer;
  const from = writer.pos + reserved;
  writer.pos =
    from +
    // The `Buffer` of Cloudflare Workers refuses the default of the length.
    (nodeText?.utf8Write.call(bytes, value, from, bytes.length - from) ??
      text.encodeInto(value, bytes.subarray(from)).written);
  endLongField(writer, from - start, reserved);
}

function putBytes(writer: MessageWriter, value: Uint8Array): void {
  writer.bytes.set(value, writer.pos);
  writer.pos += value.length;
}

// An array of bytes keeps the lowest eight bits of what is assigned.
function put32(writer: MessageWriter, value: number): void {
  const { bytes } = writer;
  let pos = writer.pos;
  let rest = value;
  for (; rest > 0x7f; rest >>>= 7) bytes[pos++] = rest | 0x80;
  bytes[pos++] = rest;
  writer.pos = pos;
}

function put64(writer: MessageWriter, low: number, high: number): void {
  const { bytes } = writer;
  let pos = writer.pos;
  let lower = low >>> 0;
  for (let upper = high >>> 0; upper !== 0; upper >>>= 7) {
    bytes[pos++] = lower | 0x80;
    lower = ((lower >>> 7) | (upper << 25)) >>> 0;
  }
  writer.pos = pos;
  put32(writer, lower);
}

/** Returns the length of a varint of up to 32 bits. A byte has seven: nine 64ths are a little less than a seventh. */
function varintSize(value: number): number {
  return (352 - 9 * Math.clz32(value)) >>> 6;
}

/** Writes the fields of a message. */
export type EncodeMessage<Message> = (writer: MessageWriter, message: Message) => void;

/** The writer that is reused. `undefined` while it is in use, because a getter of a message may encode another one. */
let idle: MessageWriter | undefined;

/** Encodes a message with its generated function, after `headroom` bytes. */
export function encodeInto<Message>(encode: EncodeMessage<Message>, message: Message, headroom: number): Uint8Array {
  const writer = idle ?? new MessageWriter();
  idle = undefined;
  try {
    // Drops a message that an error has left unfinished.
    writer.pos = writer.start;
    reserve(writer, headroom);
    writer.pos += headroom;
    encode(writer, message);
    return finishMessage(writer);
  } finally {
    idle = writer;
  }
}
