/**
 * Received chunks that wait for their reader. Chunks are views of memory that the socket read into. Small ones are copied, so
 * that a few bytes do not keep 64 KiB in memory, and joined, so that a peer that sends one message, or one byte, per
 * DATA frame does not cost an object and a step of the reader for each. Memory that a large chunk keeps anyway is not
 * copied again for the chunk after it. A view may keep four times its bytes, which the memory budget does not count: while much
 * is held, the caller asks for copies.
 */
import { join, NO_BYTES } from "../call/bytes.ts";

/** Chunks up to `MAX_POOLED_BYTES` are copied into shared memory, several times as fast as memory of their own. */
const POOL_BYTES: number = 8 * 1024;
const MAX_POOLED_BYTES = 1024;

const MIN_TAIL_BYTES = 1024;
/** Smaller chunks are copied in any case: the object of each, and the look at its memory, would cost more than its bytes. */
const MIN_VIEW_BYTES = 1024;
const MAX_TAIL_BYTES: number = 64 * 1024;

/** The empty list of every queue. It is not changed. */
const NO_CHUNKS: Uint8Array[] = [];

export class ChunkQueue {
  /** Number of bytes in the queue. */
  byteLength = 0;
  #chunks: Uint8Array[] = NO_CHUNKS;
  /** Memory for joined small chunks, which follow all other chunks; `#tailLength` is its used length. */
  #tail: Uint8Array | undefined;
  #tailLength = 0;
  /** The memory of the last chunk that is a view. */
  #kept: ArrayBufferLike | undefined;

  /** Adds a chunk. With `compact`, a large one too is copied unless it is all of its memory. */
  push(bytes: Uint8Array, compact = false): void {
    const { length } = bytes;
    this.byteLength += length;
    if (length >= MIN_VIEW_BYTES) {
      // The getter of the memory is a call into C++.
      const { buffer } = bytes;
      const isView = (!compact && buffer === this.#kept) || length * (compact ? 1 : 4) >= buffer.byteLength;
      if (isView || compact) {
        this.#flush();
        this.#add(isView ? bytes : bytes.slice());
        if (isView) this.#kept = buffer;
        return;
      }
    }
    if (this.#tailLength + length > MAX_TAIL_BYTES) this.#flush();
    if (this.#tail === undefined) this.#tail = copyOf(bytes);
    else {
      const needed = this.#tailLength + length;
      if (needed > this.#tail.length) this.#grow(this.#tail, needed, compact ? 1.25 : 2);
      this.#tail.set(bytes, this.#tailLength);
    }
    this.#tailLength += length;
  }

  /** Removes and returns the first chunk. */
  shift(): Uint8Array | undefined {
    if (this.#chunks.length === 0) this.#flush();
    const chunk = this.#chunks[0];
    if (chunk === undefined) return undefined;
    this.byteLength -= chunk.length;
    if (this.#chunks.length > 1) return this.#chunks.shift();
    this.#chunks = NO_CHUNKS;
    this.#kept = undefined;
    return chunk;
  }

  /** Returns all chunks without removing them. */
  peek(): readonly Uint8Array[] {
    return this.#tail === undefined ? this.#chunks : [...this.#chunks, this.#tail.subarray(0, this.#tailLength)];
  }

  /** Returns all chunks as one, without removing them. */
  join(): Uint8Array {
    this.#flush();
    if (this.#chunks.length > 1) this.#chunks = [joined(this.#chunks)];
    this.#kept = undefined;
    return this.#chunks[0] ?? NO_BYTES;
  }

  clear(): void {
    this.byteLength = 0;
    this.#chunks = NO_CHUNKS;
    this.#tail = undefined;
    this.#tailLength = 0;
    this.#kept = undefined;
  }

  #add(chunk: Uint8Array): void {
    // The first element that is added to an empty array reserves memory for 16 more.
    if (this.#chunks.length === 0) this.#chunks = [chunk];
    else this.#chunks.push(chunk);
  }

  #flush(): void {
    const tail = this.#tail;
    if (tail === undefined) return;
    this.#add(tail.length === this.#tailLength ? tail : tail.subarray(0, this.#tailLength));
    this.#tail = undefined;
    this.#tailLength = 0;
  }

  #grow(tail: Uint8Array, length: number, factor: number): void {
    const bytes = new Uint8Array(Math.max(MIN_TAIL_BYTES, Math.min(Math.ceil(factor * length), MAX_TAIL_BYTES)));
    bytes.set(tail);
    this.#tail = bytes;
  }
}

let pool = new ArrayBuffer(POOL_BYTES);
let pooled = 0;

function copyOf(bytes: Uint8Array): Uint8Array {
  const { length } = bytes;
  if (length > MAX_POOLED_BYTES) return bytes.slice();
  if (pooled + length > POOL_BYTES) {
    pool = new ArrayBuffer(POOL_BYTES);
    pooled = 0;
  }
  const copy = new Uint8Array(pool, pooled, length);
  copy.set(bytes);
  pooled += length;
  return copy;
}

/** Joins chunks in memory that is not set to zero first, which would cost as much again as copying a large body. */
function joined(chunks: readonly Uint8Array[]): Uint8Array {
  const length = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  const { buffer } = globalThis.Buffer?.allocUnsafeSlow(length) ?? new Uint8Array(length);
  return join(chunks, new Uint8Array(buffer));
}
