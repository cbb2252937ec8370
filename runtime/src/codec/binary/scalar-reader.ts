/** Cursor over received bytes that reads the scalar types of protobuf (Encoding, "Message Structure"). */
import { scratch } from "./numbers.ts";
import { readKey, readUtf8 } from "./text.ts";

export class ScalarReader {
  readonly bytes: Uint8Array;
  /** Offset of the next byte to read. A malformed length may move it past `length`; the next read then fails. */
  pos = 0;
  readonly length: number;
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
    const { bytes, pos } = this;
    const byte = bytes[pos] as number;
    if (byte < 0x80) {
      this.pos = pos + 1;
      return byte;
    }
    const next = bytes[pos + 1] as number;
    if (next < 0x80) {
      this.pos = pos + 2;
      return (byte & 0x7f) | (next << 7);
    }
    return this.#varint().getUint32(0, true);
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
    return this.int32() as Value;
  }

  bool(): boolean {
    const byte = this.bytes[this.pos] as number;
    if (byte > 1) return this.uint64() !== 0n;
    this.advance(1);
    return byte === 1;
  }

  int64(): bigint {
    return this.#varint().getBigInt64(0, true);
  }

  uint64(): bigint {
    return this.#varint().getBigUint64(0, true);
  }

  sint64(): bigint {
    const value = this.uint64();
    return (value >> 1n) ^ -(value & 1n);
  }

  fixed32(): number {
    return this.#fixed(4).getUint32(0, true);
  }

  sfixed32(): number {
    return this.#fixed(4).getInt32(0, true);
  }

  fixed64(): bigint {
    return this.#fixed(8).getBigUint64(0, true);
  }

  sfixed64(): bigint {
    return this.#fixed(8).getBigInt64(0, true);
  }

  float(): number {
    return this.#fixed(4).getFloat32(0, true);
  }

  double(): number {
    return this.#fixed(8).getFloat64(0, true);
  }

  /** Reads a bytes field as a view of the received bytes, without a copy. */
  data(): Uint8Array {
    return this.slice(this.#delimited());
  }

  /** Reads UTF-8 text. Throws for invalid UTF-8, as proto3 requires. */
  string(): string {
    return readUtf8(this.bytes, this.#delimited(), this.pos, true);
  }

  /** Reads UTF-8 text, and replaces invalid UTF-8 with U+FFFD, as in proto2. */
  lenientString(): string {
    return readUtf8(this.bytes, this.#delimited(), this.pos, false);
  }

  /** Reads UTF-8 text that is the key of a map entry. Throws for invalid UTF-8. */
  key(): string {
    return readKey(this.bytes, this.#delimited(), this.pos);
  }

  /** Returns a view of the bytes that have been read since `start`. */
  protected slice(start: number): Uint8Array {
    const { buffer, byteOffset } = this.bytes;
    return new Uint8Array(buffer, byteOffset + start, this.pos - start);
  }

  /** Moves over `size` bytes, which must be there. Returns the offset at which they begin. */
  protected advance(size: number): number {
    const start = this.pos;
    this.pos += size;
    if (this.pos > this.length) throw new RangeError("premature EOF");
    return start;
  }

  /** Reads a length and skips as many bytes. Returns the offset at which they begin. */
  #delimited(): number {
    return this.advance(this.uint32());
  }

  #fixed(size: number): DataView {
    const { bytes } = this;
    let from = this.advance(size);
    for (let at = 0; at < size; at += 4) {
      const low = (bytes[from++] as number) | ((bytes[from++] as number) << 8);
      scratch.setInt32(at, low | ((bytes[from++] as number) << 16) | ((bytes[from++] as number) << 24), true);
    }
    return scratch;
  }

  /** Reads a varint as a 64-bit integer. Bits over 64 are dropped. */
  #varint(): DataView {
    const { bytes } = this;
    let { pos } = this;
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
    this.advance(pos - this.pos);
    scratch.setInt32(0, low, true);
    scratch.setInt32(4, high, true);
    return scratch;
  }
}
