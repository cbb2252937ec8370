/** Cursor over received bytes that reads the scalar types of protobuf (Encoding, "Message Structure"). */
import { readUtf8 } from "./text.ts";

/** A buffer for numbers of several bytes, in little-endian order. */
const scratch = new DataView(new ArrayBuffer(8));

export class ScalarReader {
  readonly bytes: Uint8Array;
  /** Offset of the next byte to read. A malformed length may move it past `length`; the next read then fails. */
  pos = 0;
  readonly length: number;
  /** The lower and upper 32 bits of the last 64-bit varint. */
  #low = 0;
  #high = 0;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    this.length = bytes.length;
  }

  /** Reads a length. Returns the offset at which the data after it ends. */
  end(): number {
    const length = this.uint32();
    return this.pos + length;
  }

  /** Reads a varint of up to ten bytes. Returns its lower 32 bits. */
  uint32(): number {
    const byte = this.bytes[this.pos] as number;
    if (byte < 0x80) {
      this.pos++;
      return byte;
    }
    return this.#longUint32();
  }

  int32(): number {
    return this.uint32() | 0;
  }

  sint32(): number {
    const value = this.uint32();
    return (value >>> 1) ^ -(value & 1);
  }

  /** Reads the number of an enum value, known or unknown. */
  enum<Value extends number>(): Value {
    return (this.uint32() | 0) as Value;
  }

  bool(): boolean {
    const byte = this.bytes[this.pos] as number;
    if (byte < 0x80) {
      this.pos++;
      return byte !== 0;
    }
    this.#varint64();
    return this.#low !== 0 || this.#high !== 0;
  }

  int64(): bigint {
    this.#varint64();
    return signed(this.#low, this.#high);
  }

  uint64(): bigint {
    this.#varint64();
    scratch.setInt32(0, this.#low, true);
    scratch.setInt32(4, this.#high, true);
    return scratch.getBigUint64(0, true);
  }

  sint64(): bigint {
    this.#varint64();
    const sign = -(this.#low & 1);
    const low = ((this.#low >>> 1) | ((this.#high & 1) << 31)) ^ sign;
    return signed(low, (this.#high >>> 1) ^ sign);
  }

  fixed32(): number {
    this.#fixed(4);
    return scratch.getUint32(0, true);
  }

  sfixed32(): number {
    this.#fixed(4);
    return scratch.getInt32(0, true);
  }

  fixed64(): bigint {
    this.#fixed(8);
    return scratch.getBigUint64(0, true);
  }

  sfixed64(): bigint {
    this.#fixed(8);
    return scratch.getBigInt64(0, true);
  }

  float(): number {
    this.#fixed(4);
    return scratch.getFloat32(0, true);
  }

  double(): number {
    this.#fixed(8);
    return scratch.getFloat64(0, true);
  }

  /** Reads a bytes field as a view of the received bytes, without a copy. */
  data(): Uint8Array {
    const start = this.#delimited();
    return this.slice(start);
  }

  /** Reads UTF-8 text. Throws for invalid UTF-8, as proto3 requires. */
  string(): string {
    const start = this.#delimited();
    return readUtf8(this.bytes, start, this.pos, true);
  }

  /** Reads UTF-8 text, and replaces invalid UTF-8 with U+FFFD, as in proto2. */
  lenientString(): string {
    const start = this.#delimited();
    return readUtf8(this.bytes, start, this.pos, false);
  }

  #varint64(): void {
    const { bytes } = this;
    let low = 0;
    for (let shift = 0; shift < 28; shift += 7) {
      const byte = bytes[this.pos++] as number;
      low |= (byte & 0x7f) << shift;
      if (!(byte >= 0x80)) {
        this.#setVarint64(low, 0);
        return;
      }
    }
    const middle = bytes[this.pos++] as number;
    low |= (middle & 0x0f) << 28;
    let high = (middle & 0x70) >> 4;
    if (!(middle >= 0x80)) {
      this.#setVarint64(low, high);
      return;
    }
    for (let shift = 3; shift <= 31; shift += 7) {
      const byte = bytes[this.pos++] as number;
      high |= (byte & 0x7f) << shift;
      if (!(byte >= 0x80)) {
        this.#setVarint64(low, high);
        return;
      }
    }
    throw new Error("invalid varint");
  }

  #setVarint64(low: number, high: number): void {
    this.checkBounds();
    this.#low = low;
    this.#high = high;
  }

  /** Returns a view of the bytes that have been read since `start`. */
  protected slice(start: number): Uint8Array {
    const { buffer, byteOffset } = this.bytes;
    return new Uint8Array(buffer, byteOffset + start, this.pos - start);
  }

  /** Reads a length and skips as many bytes. Returns the offset at which they begin. */
  #delimited(): number {
    const length = this.uint32();
    const start = this.pos;
    this.pos = start + length;
    this.checkBounds();
    return start;
  }

  #fixed(size: number): void {
    const { bytes, pos } = this;
    this.pos = pos + size;
    this.checkBounds();
    for (let index = 0; index < size; index++) scratch.setUint8(index, bytes[pos + index] as number);
  }

  #longUint32(): number {
    const { bytes } = this;
    let byte = bytes[this.pos++] as number;
    let value = byte & 0x7f;
    byte = bytes[this.pos++] as number;
    value |= (byte & 0x7f) << 7;
    if (byte < 0x80) return value;
    byte = bytes[this.pos++] as number;
    value |= (byte & 0x7f) << 14;
    if (byte < 0x80) return value;
    byte = bytes[this.pos++] as number;
    value |= (byte & 0x7f) << 21;
    if (byte < 0x80) return value;
    byte = bytes[this.pos++] as number;
    value |= (byte & 0x0f) << 28;
    for (let size = 5; byte >= 0x80 && size < 10; size++) byte = bytes[this.pos++] as number;
    if (byte >= 0x80) throw new Error("invalid varint");
    this.checkBounds();
    return value >>> 0;
  }

  protected checkBounds(): void {
    if (this.pos > this.length) throw new RangeError("premature EOF");
  }
}

function signed(low: number, high: number): bigint {
  scratch.setInt32(0, low, true);
  scratch.setInt32(4, high, true);
  return scratch.getBigInt64(0, true);
}
