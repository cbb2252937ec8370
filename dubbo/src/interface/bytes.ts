/** A cursor over received bytes, in big-endian order. Reading beyond the end throws an error. */

/**
 * The number of UTF-16 units that are converted to text in one call, because the number of arguments of a function is
 * limited.
 */
const TEXT_STEP = 4096;

/** The longest text that engines copy when they append to it, in characters. */
const MAX_SHORT = 12;

/** Decodes ASCII. */
const decoder = new TextDecoder();

export class ByteCursor {
  readonly #bytes: Uint8Array;
  readonly view: DataView;
  #offset = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get offset(): number {
    return this.#offset;
  }
  /** The number of bytes that have not been read. */
  get left(): number {
    return this.#bytes.byteLength - this.#offset;
  }

  /** Returns the next byte without consuming it. */
  peek(): number {
    const byte = this.#bytes[this.#offset];
    if (byte === undefined) throw this.#cut();
    return byte;
  }
  uint8(): number {
    const byte = this.peek();
    this.#offset += 1;
    return byte;
  }
  int8(): number {
    return this.view.getInt8(this.skip(1));
  }
  uint16(): number {
    return this.view.getUint16(this.skip(2));
  }
  int16(): number {
    return this.view.getInt16(this.skip(2));
  }
  int32(): number {
    return this.view.getInt32(this.skip(4));
  }
  int64(): bigint {
    return this.view.getBigInt64(this.skip(8));
  }
  float64(): number {
    return this.view.getFloat64(this.skip(8));
  }
  /** Returns a view of the next bytes, without a copy. */
  take(length: number): Uint8Array {
    const start = this.skip(length);
    return this.#bytes.subarray(start, start + length);
  }

  /**
   * Reads text without the objects that a `TextDecoder` or a view of the bytes needs. Returns `undefined`, and reads nothing, if it
   * is long, incomplete or not ASCII.
   */
  shortText(length: number): string | undefined {
    if (length > MAX_SHORT) return undefined;
    let text = "";
    for (let i = this.#offset; i < this.#offset + length; i += 1) {
      const byte = this.#bytes[i] ?? 0xff;
      if (byte >= 0x80) return undefined;
      text += String.fromCharCode(byte);
    }
    this.#offset += length;
    return text;
  }

  /**
   * Reads text of this number of UTF-16 units. Each unit is encoded separately, so that a surrogate pair takes six bytes
   * (CESU-8). The four-byte form of UTF-8 is also accepted.
   */
  text(units: number): string {
    const short = this.shortText(units);
    if (short !== undefined) return short;
    const start = this.#offset;
    let ascii = start;
    while (ascii < start + units && (this.#bytes[ascii] ?? 0x80) < 0x80) ascii += 1;
    if (ascii === start + units) {
      this.#offset = ascii;
      return decoder.decode(this.#bytes.subarray(start, ascii));
    }
    let text = "";
    for (let left = units; left > 0; ) {
      const step: number[] = [];
      const size = Math.min(left, TEXT_STEP);
      while (step.length < size) this.#character(step);
      left -= step.length;
      if (left < 0) throw new Error(`a character at byte ${this.#offset} goes beyond the end of its string`);
      text += String.fromCharCode(...step);
    }
    return text;
  }

  #character(units: number[]): void {
    const first = this.uint8();
    if (first < 0x80) units.push(first);
    else if (first >= 0xc2 && first < 0xe0) units.push(((first & 0x1f) << 6) | this.#continuation());
    else if (first >= 0xe0 && first < 0xf0) {
      units.push(((first & 0x0f) << 12) | (this.#continuation() << 6) | this.#continuation());
    } else if (first >= 0xf0 && first < 0xf5) {
      const rest = (this.#continuation() << 12) | (this.#continuation() << 6) | this.#continuation();
      const point = ((first & 0x07) << 18) | rest;
      if (point < 0x10000 || point > 0x10ffff) throw this.#malformed();
      units.push(0xd7c0 + (point >> 10), 0xdc00 | (point & 0x3ff));
    } else throw this.#malformed();
  }

  #continuation(): number {
    const byte = this.uint8();
    if ((byte & 0xc0) !== 0x80) throw this.#malformed();
    return byte & 0x3f;
  }

  /** Moves over bytes. Returns the offset at which they begin. */
  skip(length: number): number {
    const start = this.#offset;
    if (length > this.left) throw this.#cut();
    this.#offset = start + length;
    return start;
  }

  #cut(): Error {
    return new Error(`the data ends at byte ${this.#bytes.byteLength}, in the middle of a value`);
  }
  #malformed(): Error {
    return new Error(`the text at byte ${this.#offset - 1} is not UTF-8`);
  }
}
