/**
 * Writer of protobuf's binary format for generated codecs. It writes the same bytes as protobuf-es, and rejects the same
 * values.
 */
import { toFloat, toInt32, toLong, toUint32 } from "./numbers.ts";
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
    return ++this.pos - this.start;
  }

  /** Ends the field of the matching {@link fork}: writes its length, and moves its content if the length needs more than one byte. */
  join(start: number): void {
    const length = this.pos - this.start - start;
    if (length < 0x80) this.bytes[this.start + start - 1] = length;
    else this.#join(start, 1);
  }

  uint32(tag: number, value: number): void {
    this.#tag(tag, MAX_VARINT);
    this.#varint32(toUint32(value));
  }

  int32(tag: number, value: number): void {
    this.#tag(tag, MAX_VARINT);
    const number = toInt32(value);
    if (number < 0) this.#varint64(number, -1);
    else this.#varint32(number);
  }

  sint32(tag: number, value: number): void {
    const number = toInt32(value);
    this.uint32(tag, ((number << 1) ^ (number >> 31)) >>> 0);
  }

  bool(tag: number, value: boolean): void {
    this.#tag(tag, 1);
    this.bytes[this.pos++] = value ? 1 : 0;
  }

  int64(tag: number, value: bigint | string | number): void {
    this.#long(tag, toLong(value, true));
  }

  uint64(tag: number, value: bigint | string | number): void {
    this.#long(tag, toLong(value, false));
  }

  sint64(tag: number, value: bigint | string | number): void {
    const long = toLong(value, true).getBigInt64(0, true);
    this.int64(tag, BigInt.asIntN(64, long << 1n) ^ (long >> 63n));
  }

  fixed32(tag: number, value: number): void {
    this.#fixed(tag, 4).setUint32(this.pos - 4, toUint32(value), true);
  }

  sfixed32(tag: number, value: number): void {
    this.#fixed(tag, 4).setInt32(this.pos - 4, toInt32(value), true);
  }

  fixed64(tag: number, value: bigint | string | number): void {
    this.#fixed(tag, 8).setBigInt64(this.pos - 8, toLong(value, false).getBigInt64(0, true), true);
  }

  sfixed64(tag: number, value: bigint | string | number): void {
    this.#fixed(tag, 8).setBigInt64(this.pos - 8, toLong(value, true).getBigInt64(0, true), true);
  }

  float(tag: number, value: number): void {
    this.#fixed(tag, 4).setFloat32(this.pos - 4, toFloat(value), true);
  }

  double(tag: number, value: number): void {
    this.#fixed(tag, 8).setFloat64(this.pos - 8, value, true);
  }

  data(tag: number, value: Uint8Array): void {
    const length = toUint32(value.byteLength);
    this.#tag(tag, MAX_VARINT + length);
    this.#varint32(length);
    this.#raw(value);
  }

  string(tag: number, value: string): void {
    // protobuf-es converts values that are not strings. Those have no length, or no characters.
    const length = (value as string | undefined)?.length as number;
    if (!(length <= SHORT_STRING)) {
      this.#text(tag, String(value));
      return;
    }
    this.#tag(tag, 1 + 3 * SHORT_STRING);
    const { bytes } = this;
    let pos = this.pos + 1;
    for (let index = 0; index < length; index++) {
      const code = value.charCodeAt?.(index);
      if (!(code < 0x80)) {
        this.#text(0, String(value));
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

  /** Writes a tag, and reserves `size` bytes for the value. */
  #tag(tag: number, size: number): void {
    this.reserve(MAX_TAG + size);
    if (tag >= 0x80) this.#varint32(tag);
    else if (tag !== 0) this.bytes[this.pos++] = tag;
  }

  /** Writes a tag, and leaves out `size` bytes for the caller, who writes them with the result. */
  #fixed(tag: number, size: number): DataView {
    this.#tag(tag, size);
    this.pos += size;
    return this.view;
  }

  /** Writes the length of what has been written since `start`, before it, where `reserved` bytes were left out for it. */
  #join(start: number, reserved: number): void {
    this.reserve(MAX_TAG);
    const from = this.start + start;
    const length = this.pos - from;
    const more = varintSize(length) - reserved;
    if (more > 0) this.bytes.copyWithin(from + more, from, this.pos);
    this.pos = from - reserved;
    this.#varint32(length);
    this.pos += length;
  }

  /** Writes text after a length of the size that ASCII text has. The text is moved if its length needs more bytes. */
  #text(tag: number, value: string): void {
    this.#tag(tag, MAX_VARINT + 3 * value.length);
    const { bytes } = this;
    const size = varintSize(value.length);
    const from = this.pos + size;
    this.pos = from + (utf8Write?.call(bytes, value, from) ?? text.encodeInto(value, bytes.subarray(from)).written);
    this.#join(from - this.start, size);
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
    for (let upper = high >>> 0; upper !== 0; upper >>>= 7) {
      this.bytes[this.pos++] = (lower & 0x7f) | 0x80;
      lower = ((lower >>> 7) | (upper << 25)) >>> 0;
    }
    this.#varint32(lower);
  }

  #long(tag: number, long: DataView): void {
    this.#tag(tag, MAX_VARINT);
    this.#varint64(long.getInt32(0, true), long.getInt32(4, true));
  }
}

/** Returns the length of a varint of up to 32 bits, whose bytes have seven bits each: nine 64ths are a little less than a seventh. */
function varintSize(value: number): number {
  return (352 - 9 * Math.clz32(value)) >>> 6;
}

/** Writes the fields of a message. */
export type EncodeMessage<Message> = (writer: MessageWriter, message: Message) => void;

/** The writer that is reused. `undefined` while it is in use, because a getter of a message may encode another one. */
let idle: MessageWriter | undefined = new MessageWriter();

/** Encodes a message with its generated function, after `headroom` bytes. */
export function encodeInto<Message>(encode: EncodeMessage<Message>, message: Message, headroom: number): Uint8Array {
  const writer = idle ?? new MessageWriter();
  idle = undefined;
  try {
    writer.begin(headroom);
    encode(writer, message);
    return writer.finish();
  } finally {
    idle = writer;
  }
}
