/**
 * Writer of protobuf's binary format for generated codecs. It writes the same bytes as protobuf-es, and rejects the same
 * values.
 */
import { toFloat, toInt32, toInt64, toUint32, toUint64 } from "./numbers.ts";
import { Slab } from "./slab.ts";
import type { UnknownField } from "./unknown.ts";

/** ASCII strings up to this length are copied character by character, which is faster than a call of the platform. */
const SHORT_STRING = 24;
/** Bytes fields up to this length are copied byte by byte. */
const SHORT_BYTES = 32;
const MAX_TAG = 5;
/** Maximum length of a varint: that of a negative or 64-bit number. */
const MAX_VARINT = 10;

const text = new TextEncoder();
/** The method of `Buffer`, if there is one: it is faster than `TextEncoder`, which needs a view and returns an object. */
const utf8Write: ((this: Uint8Array, value: string, offset: number) => number) | undefined =
  typeof Buffer === "function" ? Reflect.get(Buffer.prototype, "utf8Write") : undefined;

/** A buffer that splits 64-bit integers into halves. */
const scratch = new DataView(new ArrayBuffer(8));

/** Writes fields. Each method writes a tag and a value; the tag 0 is omitted, for items of packed lists. */
export class MessageWriter extends Slab {
  /** Throws if the message is of another type. */
  check(message: { readonly $typeName: string }, typeName: string): void {
    if (message.$typeName !== typeName) {
      throw new Error(`cannot encode message ${message.$typeName} as ${typeName}`);
    }
  }

  /** Throws the error of a required field that is not set. */
  missing(field: string): never {
    throw new Error(`cannot encode field ${field} to binary: required field not set`);
  }

  /** Writes a tag: a field number, shifted by three, and a wire type. It is a constant in generated code. */
  tag(tag: number): void {
    this.#tag(tag, 0);
  }

  /** Begins a length-prefixed field. One byte is reserved for the length. Returns the start for {@link join}. */
  fork(tag: number): number {
    this.#tag(tag, 1);
    return this.pos++ - this.start;
  }

  /** Ends the field of the matching {@link fork}: writes its length, and moves its content if the length needs more than one byte. */
  join(start: number): void {
    const from = this.start + start + 1;
    const length = this.pos - from;
    if (length < 0x80) this.bytes[from - 1] = length;
    else this.#joinLong(from, length);
  }

  uint32(tag: number, value: number): void {
    this.#tag(tag, MAX_VARINT);
    this.#varint32(toUint32(value));
  }

  int32(tag: number, value: number): void {
    this.#tag(tag, MAX_VARINT);
    const number = toInt32(value);
    if (number >= 0) this.#varint32(number);
    else this.#varint64(number, -1);
  }

  sint32(tag: number, value: number): void {
    this.#tag(tag, MAX_VARINT);
    const number = toInt32(value);
    this.#varint32(((number << 1) ^ (number >> 31)) >>> 0);
  }

  bool(tag: number, value: boolean): void {
    this.#tag(tag, 1);
    this.bytes[this.pos++] = value ? 1 : 0;
  }

  int64(tag: number, value: bigint | string | number): void {
    this.#tag(tag, MAX_VARINT);
    scratch.setBigInt64(0, toInt64(value), true);
    this.#varint64(scratch.getInt32(0, true), scratch.getInt32(4, true));
  }

  uint64(tag: number, value: bigint | string | number): void {
    this.#tag(tag, MAX_VARINT);
    scratch.setBigUint64(0, toUint64(value), true);
    this.#varint64(scratch.getInt32(0, true), scratch.getInt32(4, true));
  }

  sint64(tag: number, value: bigint | string | number): void {
    this.#tag(tag, MAX_VARINT);
    scratch.setBigInt64(0, toInt64(value), true);
    const low = scratch.getInt32(0, true);
    const high = scratch.getInt32(4, true);
    const sign = high >> 31;
    this.#varint64((low << 1) ^ sign, ((high << 1) | (low >>> 31)) ^ sign);
  }

  fixed32(tag: number, value: number): void {
    this.#tag(tag, 4);
    this.view.setUint32(this.pos, toUint32(value), true);
    this.pos += 4;
  }

  sfixed32(tag: number, value: number): void {
    this.#tag(tag, 4);
    this.view.setInt32(this.pos, toInt32(value), true);
    this.pos += 4;
  }

  fixed64(tag: number, value: bigint | string | number): void {
    this.#tag(tag, 8);
    this.view.setBigUint64(this.pos, toUint64(value), true);
    this.pos += 8;
  }

  sfixed64(tag: number, value: bigint | string | number): void {
    this.#tag(tag, 8);
    this.view.setBigInt64(this.pos, toInt64(value), true);
    this.pos += 8;
  }

  float(tag: number, value: number): void {
    this.#tag(tag, 4);
    this.view.setFloat32(this.pos, toFloat(value), true);
    this.pos += 4;
  }

  double(tag: number, value: number): void {
    this.#tag(tag, 8);
    this.view.setFloat64(this.pos, value, true);
    this.pos += 8;
  }

  data(tag: number, value: Uint8Array): void {
    const length = toUint32(value.byteLength);
    this.#tag(tag, MAX_VARINT + length);
    this.#varint32(length);
    this.#raw(value);
  }

  string(tag: number, value: string): void {
    const { length } = value;
    if (!(length <= SHORT_STRING)) {
      this.#longString(tag, value);
      return;
    }
    this.#tag(tag, 1 + 3 * SHORT_STRING);
    const bytes = this.bytes;
    let pos = this.pos + 1;
    for (let index = 0; index < length; index++) {
      const code = value.charCodeAt(index);
      if (code > 0x7f) {
        this.#utf8(value);
        return;
      }
      bytes[pos++] = code;
    }
    bytes[this.pos] = length;
    this.pos = pos;
  }

  /** Writes the unknown fields, after all others. */
  unknown(fields: readonly UnknownField[]): void {
    for (const { no, wireType, data } of fields) {
      this.#tag(((no << 3) | wireType) >>> 0, data.length);
      this.#raw(data);
    }
  }

  /** Writes a message that is already encoded. */
  raw(value: Uint8Array): void {
    this.reserve(value.length);
    this.#raw(value);
  }

  #longString(tag: number, value: string): void {
    // protobuf-es converts values that are not strings.
    const given = typeof value === "string" ? value : String(value);
    this.#tag(tag, MAX_VARINT + 3 * given.length);
    this.#utf8(given);
  }

  /** Encodes text after a length of the size that ASCII text needs, and moves the text if its length needs more bytes. */
  #utf8(value: string): void {
    const bytes = this.bytes;
    const guessed = varint32Size(value.length);
    const start = this.pos;
    const from = start + guessed;
    const written =
      utf8Write === undefined
        ? text.encodeInto(value, bytes.subarray(from)).written
        : utf8Write.call(bytes, value, from);
    const size = varint32Size(written);
    if (size !== guessed) bytes.copyWithin(start + size, from, from + written);
    this.#varint32(written);
    this.pos += written;
  }

  /** Writes a tag, and reserves `size` bytes for the value. */
  #tag(tag: number, size: number): void {
    this.reserve(MAX_TAG + size);
    if (tag >= 0x80) this.#varint32(tag);
    else if (tag !== 0) this.bytes[this.pos++] = tag;
  }

  #raw(value: Uint8Array): void {
    const { length } = value;
    const bytes = this.bytes;
    const start = this.pos;
    if (length > SHORT_BYTES) bytes.set(value, start);
    else for (let index = 0; index < length; index++) bytes[start + index] = value[index] as number;
    this.pos = start + length;
  }

  #varint32(value: number): void {
    const bytes = this.bytes;
    let rest = value;
    let pos = this.pos;
    for (; rest > 0x7f; rest >>>= 7) bytes[pos++] = (rest & 0x7f) | 0x80;
    bytes[pos++] = rest;
    this.pos = pos;
  }

  #varint64(low: number, high: number): void {
    let lower = low >>> 0;
    let upper = high >>> 0;
    const bytes = this.bytes;
    while (upper !== 0) {
      bytes[this.pos++] = (lower & 0x7f) | 0x80;
      lower = ((lower >>> 7) | (upper << 25)) >>> 0;
      upper >>>= 7;
    }
    this.#varint32(lower);
  }

  #joinLong(from: number, length: number): void {
    const more = varint32Size(length) - 1;
    const start = from - this.start;
    this.reserve(more);
    const moved = this.start + start;
    this.bytes.copyWithin(moved + more, moved, this.pos);
    this.pos = moved - 1;
    this.#varint32(length);
    this.pos += length;
  }
}

function varint32Size(value: number): number {
  if (value < 0x80) return 1;
  if (value < 0x4000) return 2;
  if (value < 0x200000) return 3;
  return value < 0x10000000 ? 4 : 5;
}
