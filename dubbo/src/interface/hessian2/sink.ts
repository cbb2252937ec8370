/**
 * A growing buffer for the simple values of Hessian 2. Each value is written in big-endian order, in the shortest form that
 * Dubbo's encoder writes.
 */
const FIRST_BYTES = 256;
/** Most UTF-16 units, or bytes, in one chunk. */
const CHUNK = 0x8000;

export class ByteSink {
  #bytes = new Uint8Array(FIRST_BYTES);
  #view = new DataView(this.#bytes.buffer);
  #length = 0;
  #counted = 0;
  readonly #count: (length: number) => void;

  /** `count` is called with a number of bytes before memory is allocated for them. It may throw. */
  constructor(count: (length: number) => void) {
    this.#count = count;
  }

  /** Returns the bytes written so far. */
  finish(): Uint8Array {
    this.#countTo(this.#length);
    return this.#bytes.slice(0, this.#length);
  }

  uint8(value: number): void {
    this.#grow(1).setUint8(this.#length - 1, value);
  }
  uint16(value: number): void {
    this.#grow(2).setUint16(this.#length - 2, value);
  }
  int32(value: number): void {
    this.#grow(4).setInt32(this.#length - 4, value);
  }
  int64(value: bigint): void {
    this.#grow(8).setBigInt64(this.#length - 8, value);
  }
  float64(value: number): void {
    this.#grow(8).setFloat64(this.#length - 8, value);
  }

  /** Writes a number of 32 bits. */
  int(value: number): void {
    if (value >= -0x10 && value < 0x30) this.uint8(0x90 + value);
    else if (value >= -0x800 && value < 0x800) this.uint16(0xc800 + value);
    else if (value >= -0x40000 && value < 0x40000) {
      this.uint8(0xd4 + (value >> 16));
      this.uint16(value & 0xffff);
    } else {
      this.uint8(0x49);
      this.int32(value);
    }
  }

  long(value: bigint): void {
    const small = Number(value);
    if (value >= -0x8n && value < 0x10n) this.uint8(0xe0 + small);
    else if (value >= -0x800n && value < 0x800n) this.uint16(0xf800 + small);
    else if (value >= -0x40000n && value < 0x40000n) {
      this.uint8(0x3c + (small >> 16));
      this.uint16(small & 0xffff);
    } else if (BigInt.asIntN(32, value) === value) {
      this.uint8(0x59);
      this.int32(small);
    } else {
      this.uint8(0x4c);
      this.int64(value);
    }
  }

  double(value: number): void {
    const mills = Math.trunc(value * 1000);
    if (Object.is(value, 0)) this.uint8(0x5b);
    else if (value === 1) this.uint8(0x5c);
    else if (Number.isInteger(value) && value >= -0x80 && value < 0x80 && value !== 0) {
      this.uint16(0x5d00 | (value & 0xff));
    } else if (Number.isInteger(value) && value >= -0x8000 && value < 0x8000 && value !== 0) {
      this.uint8(0x5e);
      this.uint16(value & 0xffff);
    } else if ((mills | 0) === mills && mills * 0.001 === value && value !== 0) {
      this.uint8(0x5f);
      this.int32(mills);
    } else {
      this.uint8(0x44);
      this.float64(value);
    }
  }

  /** Writes a date as milliseconds since 1970. Whole minutes have a shorter form. */
  date(ms: number): void {
    const minutes = ms / 60_000;
    if ((minutes | 0) === minutes) {
      this.uint8(0x4b);
      this.int32(minutes);
    } else {
      this.uint8(0x4a);
      this.int64(BigInt(ms));
    }
  }

  /** Writes a string in chunks of at most 32,768 UTF-16 units. A surrogate pair is never divided. */
  string(text: string): void {
    let start = 0;
    while (text.length - start > CHUNK) {
      const end = start + CHUNK - (isHighSurrogate(text.charCodeAt(start + CHUNK - 1)) ? 1 : 0);
      this.uint8(0x52);
      this.uint16(end - start);
      this.#text(text, start, end);
      start = end;
    }
    this.#lastChunk(text, start);
  }

  #lastChunk(text: string, start: number): void {
    const left = text.length - start;
    if (left < 0x20) this.uint8(left);
    else if (left < 0x400) this.uint16(0x3000 | left);
    else {
      this.uint8(0x53);
      this.uint16(left);
    }
    this.#text(text, start, text.length);
  }

  binary(data: Uint8Array): void {
    let start = 0;
    for (; data.byteLength - start > CHUNK; start += CHUNK) {
      this.uint8(0x41);
      this.uint16(CHUNK);
      this.#copy(data.subarray(start, start + CHUNK));
    }
    const left = data.byteLength - start;
    if (left < 0x10) this.uint8(0x20 | left);
    else if (left < 0x400) this.uint16(0x3400 | left);
    else {
      this.uint8(0x42);
      this.uint16(left);
    }
    this.#copy(data.subarray(start));
  }

  #copy(data: Uint8Array): void {
    this.#grow(data.byteLength);
    this.#bytes.set(data, this.#length - data.byteLength);
  }

  /** Encodes each UTF-16 unit separately (CESU-8), as Java does. Most text is ASCII. */
  #text(text: string, start: number, end: number): void {
    this.#reserve(end - start);
    const bytes = this.#bytes;
    let at = this.#length;
    let i = start;
    for (; i < end; i += 1) {
      const unit = text.charCodeAt(i);
      if (unit >= 0x80) break;
      bytes[at] = unit;
      at += 1;
    }
    this.#length = at;
    if (i < end) this.#wideText(text, i, end);
  }

  #wideText(text: string, start: number, end: number): void {
    this.#reserve(3 * (end - start), end - start);
    const bytes = this.#bytes;
    let at = this.#length;
    for (let i = start; i < end; i += 1) {
      const unit = text.charCodeAt(i);
      if (unit < 0x80) bytes[at++] = unit;
      else {
        if (unit < 0x800) bytes[at++] = 0xc0 | (unit >> 6);
        else {
          bytes[at++] = 0xe0 | (unit >> 12);
          bytes[at++] = 0x80 | ((unit >> 6) & 0x3f);
        }
        bytes[at++] = 0x80 | (unit & 0x3f);
      }
    }
    this.#length = at;
  }

  #countTo(length: number): void {
    this.#count(length - this.#counted);
    this.#counted = length;
  }

  /** Takes space up to the new `#length`. It may replace `#bytes` and the view, which it returns. */
  #grow(length: number): DataView {
    this.#reserve(length);
    this.#length += length;
    return this.#view;
  }

  /** Makes room for bytes after those written. `least`: the number of bytes that will be written for certain. */
  #reserve(length: number, least = length): void {
    const needed = this.#length + length;
    if (needed <= this.#bytes.byteLength) return;
    this.#countTo(this.#length + least);
    const larger = new Uint8Array(Math.max(needed, 2 * this.#bytes.byteLength));
    larger.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = larger;
    this.#view = new DataView(larger.buffer);
  }
}

const isHighSurrogate = (unit: number): boolean => (unit & 0xfc00) === 0xd800;
