/**
 * A slab: memory into which messages are written one after another. They are returned as views of it, because allocating an
 * array for each would cost more than encoding a small message. Bytes that have been returned are never written again.
 */

const SIZE = 16 * 1024;
/**
 * Large messages that use less than this fraction of their reserved memory are copied out of it: three times the length of text
 * is reserved, and a response that is not read should hold no more memory than its size.
 */
const LEAST_FILLED = 3 / 4;

export class Slab {
  protected bytes: Uint8Array = new Uint8Array(SIZE);
  protected view: DataView = new DataView(this.bytes.buffer);
  /** The offset at which the message begins. */
  protected start = 0;
  /** The offset of the next byte to write. */
  protected pos = 0;

  /** Begins a message after `headroom` bytes. Drops an unfinished message. */
  begin(headroom: number): void {
    this.pos = this.start;
    this.reserve(headroom);
    this.pos += headroom;
  }

  /** Ends the message. Returns its bytes, including the headroom. */
  finish(): Uint8Array {
    const result = this.bytes.subarray(this.start, this.pos);
    if (this.bytes.length <= SIZE) {
      this.start = this.pos;
      return result;
    }
    // Small messages must not keep the memory of a large one.
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
