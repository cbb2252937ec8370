/**
 * Writer of protobuf's binary format for generated codecs: into one buffer that is kept and grows. Writes the bytes that
 * protobuf-es writes, and refuses the values that it refuses.
 */
import type { UnknownField } from "./reader.ts";

const INITIAL_SIZE = 4096;
/** A larger buffer is given up after the message that needed it. */
const MAX_KEPT_SIZE = 1024 * 1024;
/** Up to this length strings are copied here character by character while they are ASCII. */
const SHORT_STRING = 64;
/** The longest varint: a negative number, or 64 bits. */
const MAX_VARINT = 10;

const MAX_INT64 = 0x7fffffffffffffffn;
const MIN_INT64 = -0x8000000000000000n;
const MAX_UINT64 = 0xffffffffffffffffn;

const text = new TextEncoder();

export class MessageWriter {
  #bytes = new Uint8Array(INITIAL_SIZE);
  #view = new DataView(this.#bytes.buffer);
  #pos = 0;

  /** Begins anew, after `headroom` bytes that the caller fills in. */
  reset(headroom: number): void {
    this.#pos = 0;
    this.#reserve(headroom);
    this.#bytes.fill(0, 0, headroom);
    this.#pos = headroom;
  }

  /** A copy of what has been written, headroom included. */
  finish(): Uint8Array {
    const result = this.#bytes.slice(0, this.#pos);
    if (this.#bytes.length > MAX_KEPT_SIZE) {
      this.#bytes = new Uint8Array(INITIAL_SIZE);
      this.#view = new DataView(this.#bytes.buffer);
    }
    return result;
  }

  /** Throws where a message of another type was given. */
  check(message: { readonly $typeName: string }, typeName: string): void {
    if (message.$typeName !== typeName) {
      throw new Error(`cannot encode message ${message.$typeName} as ${typeName}`);
    }
  }

  /** Throws for a required field that is not set. */
  missing(field: string): never {
    throw new Error(`cannot encode field ${field} to binary: required field not set`);
  }

  /** A field number, shifted by three, and a wire type: a constant in generated code. */
  tag(tag: number): void {
    this.#reserve(MAX_VARINT);
    this.#varint32(tag);
  }

  /** Begins something with its length before it. One byte is reserved for that. */
  fork(): number {
    this.#reserve(1);
    return this.#pos++;
  }

  /** Ends what the matching `fork` began: writes its length, and moves it where the length has more than one byte. */
  join(start: number): void {
    const from = start + 1;
    const length = this.#pos - from;
    if (length < 0x80) {
      this.#bytes[start] = length;
      return;
    }
    const more = varint32Size(length) - 1;
    this.#reserve(more);
    this.#bytes.copyWithin(from + more, from, this.#pos);
    this.#pos = start;
    this.#varint32(length);
    this.#pos += length;
  }

  uint32(value: number): void {
    const number = (value >>> 0) as number;
    this.#reserve(MAX_VARINT);
    this.#varint32(number === value ? number : checkedInteger(value, 0, 0xffffffff, "uint32"));
  }

  int32(value: number): void {
    const number = (value | 0) === value ? value : checkedInteger(value, -0x80000000, 0x7fffffff, "int32");
    this.#reserve(MAX_VARINT);
    if (number >= 0) this.#varint32(number);
    else this.#varint64(number, -1);
  }

  sint32(value: number): void {
    const number = (value | 0) === value ? value : checkedInteger(value, -0x80000000, 0x7fffffff, "int32");
    this.#reserve(MAX_VARINT);
    this.#varint32(((number << 1) ^ (number >> 31)) >>> 0);
  }

  bool(value: boolean): void {
    this.#reserve(1);
    this.#bytes[this.#pos++] = value ? 1 : 0;
  }

  int64(value: bigint | string | number): void {
    this.#reserve(MAX_VARINT);
    const big = int64(value);
    this.#varint64(Number(big & 0xffffffffn) | 0, Number(BigInt.asIntN(32, big >> 32n)));
  }

  uint64(value: bigint | string | number): void {
    this.#reserve(MAX_VARINT);
    const big = uint64(value);
    this.#varint64(Number(big & 0xffffffffn) | 0, Number(big >> 32n) | 0);
  }

  sint64(value: bigint | string | number): void {
    this.#reserve(MAX_VARINT);
    const big = int64(value);
    const zigzag = BigInt.asUintN(64, (big << 1n) ^ (big >> 63n));
    this.#varint64(Number(zigzag & 0xffffffffn) | 0, Number(zigzag >> 32n) | 0);
  }

  fixed32(value: number): void {
    const number = (value >>> 0) as number;
    this.#reserve(4);
    this.#view.setUint32(this.#pos, number === value ? number : checkedInteger(value, 0, 0xffffffff, "uint32"), true);
    this.#pos += 4;
  }

  sfixed32(value: number): void {
    this.#reserve(4);
    const number = (value | 0) === value ? value : checkedInteger(value, -0x80000000, 0x7fffffff, "int32");
    this.#view.setInt32(this.#pos, number, true);
    this.#pos += 4;
  }

  fixed64(value: bigint | string | number): void {
    this.#reserve(8);
    this.#view.setBigUint64(this.#pos, uint64(value), true);
    this.#pos += 8;
  }

  sfixed64(value: bigint | string | number): void {
    this.#reserve(8);
    this.#view.setBigInt64(this.#pos, int64(value), true);
    this.#pos += 8;
  }

  float(value: number): void {
    this.#reserve(4);
    this.#view.setFloat32(this.#pos, checkedFloat(value), true);
    this.#pos += 4;
  }

  double(value: number): void {
    this.#reserve(8);
    this.#view.setFloat64(this.#pos, value, true);
    this.#pos += 8;
  }

  data(value: Uint8Array): void {
    this.uint32(value.byteLength);
    this.#raw(value);
  }

  string(value: string): void {
    const given = typeof value === "string" ? value : String(value);
    if (given.length > SHORT_STRING || !this.#ascii(given)) this.#utf8(given);
  }

  /** Writes the fields that the schema does not have, after all others. */
  unknown(fields: readonly UnknownField[]): void {
    for (const { no, wireType, data } of fields) {
      this.uint32(((no << 3) | wireType) >>> 0);
      this.#raw(data);
    }
  }

  #ascii(value: string): boolean {
    const { length } = value;
    this.#reserve(length + 1);
    const bytes = this.#bytes;
    const start = this.#pos;
    for (let index = 0; index < length; ) {
      const code = value.charCodeAt(index++);
      if (code > 0x7f) return false;
      bytes[start + index] = code;
    }
    bytes[start] = length;
    this.#pos = start + length + 1;
    return true;
  }

  /** Encodes after room for the length of ASCII text, and moves what turns out to be longer. */
  #utf8(value: string): void {
    this.#reserve(value.length * 3 + MAX_VARINT);
    const guessed = varint32Size(value.length);
    const start = this.#pos;
    const { written } = text.encodeInto(value, this.#bytes.subarray(start + guessed));
    const size = varint32Size(written);
    if (size !== guessed) this.#bytes.copyWithin(start + size, start + guessed, start + guessed + written);
    this.#varint32(written);
    this.#pos += written;
  }

  #raw(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#pos);
    this.#pos += bytes.length;
  }

  #varint32(value: number): void {
    const bytes = this.#bytes;
    let rest = value;
    for (; rest > 0x7f; rest >>>= 7) bytes[this.#pos++] = (rest & 0x7f) | 0x80;
    bytes[this.#pos++] = rest;
  }

  #varint64(low: number, high: number): void {
    let [lower, upper] = [low >>> 0, high >>> 0];
    const bytes = this.#bytes;
    while (upper !== 0) {
      bytes[this.#pos++] = (lower & 0x7f) | 0x80;
      lower = ((lower >>> 7) | (upper << 25)) >>> 0;
      upper >>>= 7;
    }
    this.#varint32(lower);
  }

  #reserve(size: number): void {
    if (this.#pos + size > this.#bytes.length) this.#grow(this.#pos + size);
  }

  #grow(size: number): void {
    const grown = new Uint8Array(Math.max(this.#bytes.length * 2, size));
    grown.set(this.#bytes.subarray(0, this.#pos));
    this.#bytes = grown;
    this.#view = new DataView(grown.buffer);
  }
}

function varint32Size(value: number): number {
  if (value < 0x80) return 1;
  if (value < 0x4000) return 2;
  if (value < 0x200000) return 3;
  return value < 0x10000000 ? 4 : 5;
}

/** A number, or a string of one, as protobuf-es takes it. */
function checkedInteger(value: unknown, min: number, max: number, type: string): number {
  if (typeof value !== "number" && typeof value !== "string") throw new Error(`invalid ${type}: ${typeof value}`);
  const number = Number(value);
  if (!Number.isInteger(number) || number < min || number > max) throw new Error(`invalid ${type}: ${value}`);
  return number;
}

function checkedFloat(value: unknown): number {
  if (typeof value !== "number" && typeof value !== "string") throw new Error(`invalid float32: ${typeof value}`);
  const number = Number(value);
  const isNoNumber = Number.isNaN(number) && typeof value === "string" && value !== "NaN";
  if (isNoNumber || (Number.isFinite(number) && !Number.isFinite(Math.fround(number)))) {
    throw new Error(`invalid float32: ${value}`);
  }
  return number;
}

function int64(value: bigint | string | number): bigint {
  const big = typeof value === "bigint" ? value : BigInt(value);
  if (big > MAX_INT64 || big < MIN_INT64) throw new Error(`invalid int64: ${value}`);
  return big;
}

function uint64(value: bigint | string | number): bigint {
  const big = typeof value === "bigint" ? value : BigInt(value);
  if (big > MAX_UINT64 || big < 0n) throw new Error(`invalid uint64: ${value}`);
  return big;
}
