/**
 * Jute, the encoding of ZooKeeper's records: big-endian integers, and strings and buffers after their length.
 *
 *     Frame  → int32 length, body
 *     String → int32 length in bytes, UTF-8       (length -1: null)
 *     Vector → int32 count, elements              (count -1: null)
 */

export class JuteWriter {
  readonly #parts: Uint8Array[] = [];

  int(value: number): this {
    this.#parts.push(int32(value));
    return this;
  }

  long(value: bigint): this {
    const part = Buffer.allocUnsafe(8);
    part.writeBigInt64BE(value);
    this.#parts.push(part);
    return this;
  }

  bool(value: boolean): this {
    this.#parts.push(Uint8Array.of(value ? 1 : 0));
    return this;
  }

  bytes(value: Uint8Array): this {
    this.#parts.push(int32(value.byteLength), value);
    return this;
  }

  string(value: string): this {
    return this.bytes(Buffer.from(value));
  }

  strings(values: readonly string[]): this {
    this.int(values.length);
    for (const value of values) this.string(value);
    return this;
  }

  /** Returns the frame, with its length. */
  frame(): Uint8Array {
    const body = Buffer.concat(this.#parts);
    return Buffer.concat([int32(body.byteLength), body]);
  }
}

function int32(value: number): Uint8Array {
  const part = Buffer.allocUnsafe(4);
  part.writeInt32BE(value);
  return part;
}

/** Reads the fields of a body. Throws a `RangeError` if the body is too short or a length is invalid. */
export class JuteReader {
  readonly #buffer: Buffer;
  #offset = 0;

  constructor(body: Uint8Array) {
    this.#buffer = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  }

  get remaining(): number {
    return this.#buffer.byteLength - this.#offset;
  }

  int(): number {
    const value = this.#buffer.readInt32BE(this.#offset);
    this.#offset += 4;
    return value;
  }

  long(): bigint {
    const value = this.#buffer.readBigInt64BE(this.#offset);
    this.#offset += 8;
    return value;
  }

  /** Returns a copy of the bytes; empty for null. */
  bytes(): Buffer {
    const length = this.int();
    if (length < 0) return Buffer.alloc(0);
    if (length > this.remaining) throw new RangeError(`a field of ${length} bytes in ${this.remaining} bytes`);
    const value = Buffer.from(this.#buffer.subarray(this.#offset, this.#offset + length));
    this.#offset += length;
    return value;
  }

  string(): string {
    return this.bytes().toString();
  }

  strings(): string[] {
    const count = this.int();
    // Each string has at least its length.
    if (count > this.remaining / 4) throw new RangeError(`${count} strings in ${this.remaining} bytes`);
    return Array.from({ length: Math.max(0, count) }, () => this.string());
  }
}

/** Splits a stream of bytes into the bodies of frames. Throws a `RangeError` for a frame larger than the limit. */
export class FrameSplitter {
  readonly #maxBytes: number;
  readonly #chunks: Uint8Array[] = [];
  #length = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  push(chunk: Uint8Array): Uint8Array[] {
    this.#chunks.push(chunk);
    this.#length += chunk.byteLength;
    const bodies: Uint8Array[] = [];
    for (;;) {
      if (this.#length < 4) return bodies;
      const size = this.#head(4).readInt32BE(0);
      if (size < 0 || size > this.#maxBytes)
        throw new RangeError(`a frame of ${size} bytes; the limit is ${this.#maxBytes}`);
      if (this.#length < 4 + size) return bodies;
      const whole = this.#head(4 + size);
      const first = this.#chunks[0] as Uint8Array;
      bodies.push(whole.subarray(4, 4 + size));
      if (first.byteLength === 4 + size) this.#chunks.shift();
      else this.#chunks[0] = first.subarray(4 + size);
      this.#length -= 4 + size;
    }
  }

  /** Returns the first bytes, after it has joined chunks until one contains them. */
  #head(bytes: number): Buffer {
    const first = this.#chunks[0] as Uint8Array;
    if (first.byteLength < bytes) {
      const joined = Buffer.concat(this.#chunks);
      this.#chunks.length = 0;
      this.#chunks.push(joined);
    }
    const head = this.#chunks[0] as Uint8Array;
    return Buffer.from(head.buffer, head.byteOffset, head.byteLength);
  }
}
