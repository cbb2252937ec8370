/**
 * Writer of protobuf's binary format for generated codecs. It writes the same bytes as protobuf-es, and rejects the same
 * values. Functions for fields write a tag and a value; the tag 0 is omitted, for items of packed lists.
 */
import { toFloat, toInt32, toLong, toUint32 } from "./numbers.ts";
import { beginMessage, finishMessage, MessageWriter, reserve } from "./slab.ts";
import { nodeText } from "./text.ts";
import type { UnknownField } from "./unknown.ts";

/** ASCII strings up to this length are copied character by character, which is faster than a call of the platform. */
const SHORT_STRING = 24;
/** Bytes fields up to this length are copied byte by byte. */
const SHORT_BYTES = 32;
const MAX_TAG = 5;
/** Maximum length of a varint: that of a negative or 64-bit number. */
const MAX_VARINT = 10;

export type Long = bigint | string | number;

const text = new TextEncoder();
const utf8Write = nodeText?.utf8Write;

/** Throws if the message is of another type. */
export function checkType(message: { readonly $typeName: string }, typeName: string): void {
  if (message.$typeName !== typeName) throw new Error(`cannot encode message ${message.$typeName} as ${typeName}`);
}

/** Throws the error of a required field that is not set. */
export function requiredField(field: string): never {
  throw new Error(`cannot encode ${field}: required field not set`);
}

/** Writes a tag: a field number, shifted by three, and a wire type. It is a constant in generated code. */
export function writeTag(writer: MessageWriter, tag: number): void {
  begin(writer, tag, 0);
}

/** Begins a length-prefixed field. One byte is reserved for the length. Returns the start for {@link endField}. */
export function beginField(writer: MessageWriter, tag: number): number {
  begin(writer, tag, 1);
  return ++writer.pos - writer.start;
}

/** Ends the field of the matching {@link beginField}: writes its length, and moves its content if the length needs more than one byte. */
export function endField(writer: MessageWriter, start: number): void {
  const length = writer.pos - writer.start - start;
  const more = varintSize(length) - 1;
  if (more > 0) reserve(writer, more);
  const from = writer.start + start;
  if (more > 0) writer.bytes.copyWithin(from + more, from, writer.pos);
  writer.pos = from - 1;
  put32(writer, length);
  writer.pos += length;
}

export function writeVarint32(writer: MessageWriter, tag: number, value: number): void {
  begin(writer, tag, MAX_VARINT);
  put32(writer, toUint32(value));
}

export function writeInt32(writer: MessageWriter, tag: number, value: number): void {
  begin(writer, tag, MAX_VARINT);
  const number = toInt32(value);
  if (number < 0) put64(writer, number, -1);
  else put32(writer, number);
}

export function writeSint32(writer: MessageWriter, tag: number, value: number): void {
  const number = toInt32(value);
  writeVarint32(writer, tag, ((number << 1) ^ (number >> 31)) >>> 0);
}

export function writeBool(writer: MessageWriter, tag: number, value: boolean): void {
  begin(writer, tag, 1);
  writer.bytes[writer.pos++] = value ? 1 : 0;
}

export function writeInt64(writer: MessageWriter, tag: number, value: Long, isSigned = true): void {
  begin(writer, tag, MAX_VARINT);
  const long = toLong(value, isSigned);
  put64(writer, long.getInt32(0, true), long.getInt32(4, true));
}

export function writeUint64(writer: MessageWriter, tag: number, value: Long): void {
  writeInt64(writer, tag, value, false);
}

export function writeSint64(writer: MessageWriter, tag: number, value: Long): void {
  const long = toLong(value, true).getBigInt64(0, true);
  writeInt64(writer, tag, BigInt.asIntN(64, long << 1n) ^ (long >> 63n));
}

export function writeFixed32(writer: MessageWriter, tag: number, value: number): void {
  fixed(writer, tag, 4).setUint32(writer.pos - 4, toUint32(value), true);
}

export function writeSfixed32(writer: MessageWriter, tag: number, value: number): void {
  fixed(writer, tag, 4).setInt32(writer.pos - 4, toInt32(value), true);
}

export function writeFixed64(writer: MessageWriter, tag: number, value: Long): void {
  fixed(writer, tag, 8).setBigInt64(writer.pos - 8, toLong(value, false).getBigInt64(0, true), true);
}

export function writeSfixed64(writer: MessageWriter, tag: number, value: Long): void {
  fixed(writer, tag, 8).setBigInt64(writer.pos - 8, toLong(value, true).getBigInt64(0, true), true);
}

export function writeFloat(writer: MessageWriter, tag: number, value: number): void {
  fixed(writer, tag, 4).setFloat32(writer.pos - 4, toFloat(value), true);
}

export function writeDouble(writer: MessageWriter, tag: number, value: number): void {
  fixed(writer, tag, 8).setFloat64(writer.pos - 8, value, true);
}

export function writeBytes(writer: MessageWriter, tag: number, value: Uint8Array): void {
  const length = toUint32(value.byteLength);
  begin(writer, tag, MAX_VARINT + length);
  put32(writer, length);
  putBytes(writer, value);
}

export function writeString(writer: MessageWriter, tag: number, value: string): void {
  // protobuf-es converts values that are not strings.
  if (typeof value !== "string" || value.length > SHORT_STRING) {
    putText(writer, tag, String(value));
    return;
  }
  const { length } = value;
  begin(writer, tag, 1 + 3 * SHORT_STRING);
  const { bytes } = writer;
  let pos = writer.pos + 1;
  for (let index = 0; index < length; index++) {
    const code = value.charCodeAt(index);
    if (code > 0x7f) {
      putText(writer, 0, value);
      return;
    }
    bytes[pos++] = code;
  }
  bytes[writer.pos] = length;
  writer.pos = pos;
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

/** Writes a tag, and reserves `size` bytes for the value. */
function begin(writer: MessageWriter, tag: number, size: number): void {
  reserve(writer, MAX_TAG + size);
  if (tag >= 0x80) put32(writer, tag);
  else if (tag !== 0) writer.bytes[writer.pos++] = tag;
}

/** Writes a tag, and leaves out `size` bytes for the caller, who writes them with the result. */
function fixed(writer: MessageWriter, tag: number, size: number): DataView {
  begin(writer, tag, size);
  writer.pos += size;
  return writer.view;
}

/** Writes text after a length of the size that ASCII text has. The text is moved if its length needs more bytes. */
function putText(writer: MessageWriter, tag: number, value: string): void {
  begin(writer, tag, MAX_VARINT + 3 * value.length);
  const { bytes, pos } = writer;
  const guessed = varintSize(value.length);
  const from = pos + guessed;
  const length = utf8Write?.call(bytes, value, from) ?? text.encodeInto(value, bytes.subarray(from)).written;
  const size = varintSize(length);
  if (size > guessed) bytes.copyWithin(pos + size, from, from + length);
  put32(writer, length);
  writer.pos += length;
}

function putBytes(writer: MessageWriter, value: Uint8Array): void {
  const { bytes, pos } = writer;
  const { length } = value;
  if (length > SHORT_BYTES) bytes.set(value, pos);
  else for (let index = 0; index < length; index++) bytes[pos + index] = value[index] as number;
  writer.pos = pos + length;
}

function put32(writer: MessageWriter, value: number): void {
  const { bytes } = writer;
  let { pos } = writer;
  let rest = value;
  for (; rest > 0x7f; rest >>>= 7) bytes[pos++] = (rest & 0x7f) | 0x80;
  bytes[pos++] = rest;
  writer.pos = pos;
}

function put64(writer: MessageWriter, low: number, high: number): void {
  let lower = low >>> 0;
  for (let upper = high >>> 0; upper !== 0; upper >>>= 7) {
    writer.bytes[writer.pos++] = (lower & 0x7f) | 0x80;
    lower = ((lower >>> 7) | (upper << 25)) >>> 0;
  }
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
    beginMessage(writer, headroom);
    encode(writer, message);
    return finishMessage(writer);
  } finally {
    idle = writer;
  }
}
