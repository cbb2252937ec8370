/**
 * Memory that messages are written into one behind the other, in protobuf's binary format.
 */
/** Memory is taken in pieces of this size, or as large as a message. */
const SLAB_BYTES = 16 * 1024;
/** With less left than this, the next message starts in memory of its own. */
const SMALL_BYTES = 256;

const NO_BYTES = Buffer.alloc(0);

export class ProtoOutput {
  #bytes = NO_BYTES;
  #view = new DataView(this.#bytes.buffer);
  /** Where the message that is being written starts and, so far, ends. */
  #start = 0;
  #end = 0;

  /** Starts a message behind so many bytes of room. What was written and not taken is given up. */
  begin(room: number): void {
    this.#end = this.#start;
    this.#reserve(SMALL_BYTES);
    this.#end += room;
  }

  /** The message that has been written. It will not be written to again. */
  take(): Uint8Array {
    const message = new Uint8Array(this.#bytes.buffer, this.#start, this.#end - this.#start);
    this.#start = this.#end;
    // Small messages do not keep the memory of a large one.
    if (this.#bytes.length > SLAB_BYTES) {
      this.#bytes = NO_BYTES;
      this.#start = 0;
      this.#end = 0;
    }
    return message;
  }

  /** Makes room behind what has been written; in new memory, if need be, to which only this message moves. */
  #reserve(size: number): void {
    if (this.#end + size <= this.#bytes.length) return;
    const written = this.#end - this.#start;
    const bytes = Buffer.allocUnsafeSlow(Math.max(SLAB_BYTES, written + size, 2 * written));
    this.#bytes.copy(bytes, 0, this.#start, this.#end);
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer);
    this.#start = 0;
    this.#end = written;
  }

  /** An unsigned number of 32 bits. */
  varint(value: number): void {
    this.#reserve(5);
    let rest = value;
    while (rest > 0x7f) {
      this.#bytes[this.#end++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    this.#bytes[this.#end++] = rest;
  }

  /** A number of 64 bits, in two unsigned halves. */
  varint64(low: number, high: number): void {
    this.#reserve(10);
    let lower = low;
    let upper = high;
    while (upper > 0) {
      this.#bytes[this.#end++] = (lower & 0x7f) | 0x80;
      lower = ((lower >>> 7) | (upper << 25)) >>> 0;
      upper >>>= 7;
    }
    this.varint(lower);
  }

  fixed32(value: number): void {
    this.#reserve(4);
    this.#view.setUint32(this.#end, value, true);
    this.#end += 4;
  }

  fixed64(value: bigint): void {
    this.#reserve(8);
    this.#view.setBigUint64(this.#end, value, true);
    this.#end += 8;
  }

  float(value: number): void {
    this.#reserve(4);
    this.#view.setFloat32(this.#end, value, true);
    this.#end += 4;
  }

  double(value: number): void {
    this.#reserve(8);
    this.#view.setFloat64(this.#end, value, true);
    this.#end += 8;
  }

  raw(value: Uint8Array): void {
    this.#reserve(value.length);
    this.#bytes.set(value, this.#end);
    this.#end += value.length;
  }

  /** The text in UTF-8, behind its length. */
  string(value: string): void {
    const { length } = value;
    // A unit of UTF-16 takes up to three bytes. Of long text it is worth to know how many.
    this.#reserve(MAX_LENGTH_BYTES + (length < LONG_TEXT ? 3 * length : Buffer.byteLength(value)));
    if (length <= SHORT_TEXT && this.#writeAscii(value, length)) return;
    const start = this.open();
    this.#end += this.#bytes.write(value, this.#end);
    this.close(start);
  }

  /** Short text is written sooner than handed over to be written. Says whether it was ASCII; if not, nothing is written. */
  #writeAscii(value: string, length: number): boolean {
    const bytes = this.#bytes;
    const start = this.#end + 1;
    for (let i = 0; i < length; i++) {
      const character = value.charCodeAt(i);
      if (character > 0x7f) return false;
      bytes[start + i] = character;
    }
    bytes[start - 1] = length;
    this.#end = start + length;
    return true;
  }

  /** Leaves a byte for the length of what follows, and tells where it begins. */
  open(): number {
    this.#reserve(1);
    this.#end++;
    return this.#end - this.#start;
  }

  /** Puts in the length of what has followed since; what is longer than a byte can say moves on. */
  close(start: number): void {
    const from = this.#start + start;
    const length = this.#end - from;
    if (length < 0x80) {
      this.#bytes[from - 1] = length;
      return;
    }
    const more = length < 0x4000 ? 1 : length < 0x200000 ? 2 : length < 0x10000000 ? 3 : 4;
    this.#reserve(more);
    const base = this.#start + start;
    this.#bytes.copyWithin(base + more, base, this.#end);
    const end = this.#end + more;
    this.#end = base - 1;
    this.varint(length);
    this.#end = end;
  }
}

const MAX_LENGTH_BYTES = 5;
const SHORT_TEXT = 40;
const LONG_TEXT = 1024;
