/**
 * Memory that messages are written into one after another. They are returned as views of it: allocating an array for each
 * would cost more than encoding a small message. Bytes that have been returned are never written again.
 */

const SIZE = 16 * 1024;
/**
 * Large messages that fill less than this fraction of the memory that was reserved for them are copied out of it: text is
 * reserved three times its length, and a response that nobody reads must not hold more memory than its size.
 */
const LEAST_FILLED = 3 / 4;

export class Slab {
  protected bytes: Uint8Array = new Uint8Array(SIZE);
  protected view: DataView = new DataView(this.bytes.buffer);
  /** The offset at which the message begins. */
  protected start = 0;
  /** The offset of the next byte to write. */
  protected pos = 0;

  /** Begins a message after `headroom` bytes. Drops a message that has been begun and not finished. */
  begin(headroom: number): void {
    this.pos = this.start;
    this.reserve(headroom);
    this.pos += headroom;
  }

  /** The bytes of the message, headroom included. */
  finish(): Uint8Array {
    const result = this.bytes.subarray(this.start, this.pos);
    if (this.bytes.length <= SIZE) {
      this.start = this.pos;
      return result;
    }
    // Small messages do not keep the memory of a large one.
    const reserved = this.bytes.length;
    this.#allocate(SIZE);
    return result.length < reserved * LEAST_FILLED ? result.slice() : result;
  }

  protected reserve(size: number): void {
    if (this.pos + size > this.bytes.length) this.#grow(size);
  }

  /** Moves the message to a larger slab. */
  #grow(size: number): void {
    const length = this.pos - this.start;
    const written = this.bytes.subarray(this.start, this.pos);
    this.#allocate(Math.max(SIZE, 2 * length, length + size));
    this.bytes.set(written);
    this.pos = length;
  }

  #allocate(size: number): void {
    this.bytes = new Uint8Array(size);
    this.view = new DataView(this.bytes.buffer);
    this.start = 0;
    this.pos = 0;
  }
}
