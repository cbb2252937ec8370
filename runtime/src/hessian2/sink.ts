/**
 * Bytes in the order of Hessian 2, which is big endian: a buffer that grows with what is written.
 */

const FIRST_BYTES = 256;
/** The most UTF-16 units, or bytes, that go into one chunk. */
const CHUNK = 0x8000;

export class ByteSink {
  #bytes = new Uint8Array(FIRST_BYTES);
  #view = new DataView(this.#bytes.buffer);
  #length = 0;

  /** What has been written. */
  finish(): Uint8Array {
    return this.#bytes.slice(0, this.#length);
  }

  uint8(value: number): void {
    const start = this.#grow(1);
    this.#view.setUint8(start, value);
  }
  uint16(value: number): void {
    const start = this.#grow(2);
    this.#view.setUint16(start, value);
  }
  int32(value: number): void {
    const start = this.#grow(4);
    this.#view.setInt32(start, value);
  }
  int64(value: bigint): void {
    const start = this.#grow(8);
    this.#view.setBigInt64(start, value);
  }
  float64(value: number): void {
    const start = this.#grow(8);
    this.#view.setFloat64(start, value);
  }

  /** A string: chunks of at most 32,768 units, with no pair of surrogates cut in two. */
  string(text: string): void {
    let start = 0;
    while (text.length - start > CHUNK) {
      const end = start + CHUNK - (isHighSurrogate(text.charCodeAt(start + CHUNK - 1)) ? 1 : 0);
      this.uint8(0x52);
      this.uint16(end - start);
      this.#text(text, start, end);
      start = end;
    }
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
    const start = this.#grow(data.byteLength);
    this.#bytes.set(data, start);
  }

  /** Each UTF-16 unit in UTF-8 by itself, as Java writes them. */
  #text(text: string, start: number, end: number): void {
    for (let i = start; i < end; i += 1) {
      const unit = text.charCodeAt(i);
      if (unit < 0x80) this.uint8(unit);
      else if (unit < 0x800) this.uint16(0xc080 | ((unit & 0x7c0) << 2) | (unit & 0x3f));
      else {
        this.uint8(0xe0 | (unit >> 12));
        this.uint16(0x8080 | ((unit & 0xfc0) << 2) | (unit & 0x3f));
      }
    }
  }

  /** Where the next bytes go. It may change the buffer: what writes into that asks for the place first. */
  #grow(length: number): number {
    const start = this.#length;
    this.#length += length;
    if (this.#length > this.#bytes.byteLength) {
      const larger = new Uint8Array(Math.max(this.#length, 2 * this.#bytes.byteLength));
      larger.set(this.#bytes.subarray(0, start));
      this.#bytes = larger;
      this.#view = new DataView(larger.buffer);
    }
    return start;
  }
}

const isHighSurrogate = (unit: number): boolean => (unit & 0xfc00) === 0xd800;
