/**
 * The output of a connection without I/O: frames or messages are written into slabs one after another, so that all output of
 * a turn of the event loop is sent in one write. Large payloads are not copied, but become segments of their own.
 */

/** Receiver of output. */
export interface OutputOwner {
  /** There is output after there was none: call `take` when the input of this turn has been processed. */
  wake(): void;
  /** Returns memory for small frames or messages, at least 32 KiB. It belongs to the connection until `take` returns it. */
  slab(): Uint8Array;
}

/** Output, in order. */
export interface Segments {
  readonly parts: readonly Uint8Array[];
  /** The slabs that the parts are views of. They may be reused after the parts have been written. */
  readonly slabs: readonly Uint8Array[];
  readonly bytes: number;
}

/** The receiver of bytes and source of output: a connection, or a coding around one. */
export interface ByteCoding {
  receive(chunk: Uint8Array, frames?: number): number;
  take(budget: number): Segments;
}

/** A connection without I/O, as the owner of its socket sees it. `http2/connection.ts` describes the methods. */
export interface ByteConnection extends ByteCoding {
  readonly unsent: number;
  readonly framed: number;
  readonly hasMore: boolean;
  readonly isOver: boolean;
  receiveEnd(): void;
  /** Connections that send no data in parts have nothing to hold back. */
  block?(): void;
  lost(text: string): void;
}

/** Returns a view of the bytes from `start` to `end`. On Node this is far cheaper than `subarray` of a `Buffer`. */
export function viewOf(bytes: Uint8Array, start: number, end: number): Uint8Array {
  return new Uint8Array(bytes.buffer, bytes.byteOffset + start, end - start);
}

/** Payloads up to this size are copied, because that costs less than a segment of their own. */
const MAX_COPIED_BYTES = 8 * 1024;

export const EMPTY: Uint8Array = new Uint8Array(0);

const NO_PARTS: readonly Uint8Array[] = [];

const NO_SEGMENTS: Segments = { parts: NO_PARTS, slabs: NO_PARTS, bytes: 0 };

export class Output {
  /** Number of bytes that wait to be taken. */
  bytes = 0;
  /** Position for writing. Valid after {@link reserve}. */
  slab: Uint8Array = EMPTY;
  at = 0;
  /** Start of the segment that is being written. */
  #start = 0;
  #parts: Uint8Array[] | undefined;
  #slabs: Uint8Array[] | undefined;
  #isAwake = false;
  readonly #owner: OutputOwner;

  constructor(owner: OutputOwner) {
    this.#owner = owner;
  }

  /** Notifies the owner that it should take the output, even if there is none yet. */
  wake(): void {
    if (this.#isAwake) return;
    this.#isAwake = true;
    this.#owner.wake();
  }

  /** Makes sure that `bytes` bytes, at most 32 KiB, can be written at `at` of `slab`. */
  reserve(bytes: number): void {
    this.wake();
    if (this.slab.length - this.at >= bytes) return;
    this.#cut();
    this.slab = this.#owner.slab();
    if (this.#slabs === undefined) this.#slabs = [this.slab];
    else this.#slabs.push(this.slab);
    this.at = 0;
    this.#start = 0;
  }

  /** Sets the end of the written bytes. */
  commit(at: number): void {
    this.bytes += at - this.at;
    this.at = at;
  }

  /** Adds bytes. Few bytes are copied; others must not change afterwards. */
  payload(bytes: Uint8Array): void {
    const { length } = bytes;
    if (length > MAX_COPIED_BYTES) {
      this.wake();
      this.#cut();
      this.#addPart(bytes);
      this.bytes += length;
      return;
    }
    this.reserve(length);
    this.slab.set(bytes, this.at);
    this.commit(this.at + length);
  }

  /** Returns all output and removes it. */
  take(): Segments {
    this.#isAwake = false;
    if (this.bytes === 0) return NO_SEGMENTS;
    this.#cut();
    const segments = { parts: this.#parts ?? NO_PARTS, slabs: this.#slabs ?? NO_PARTS, bytes: this.bytes };
    this.#parts = undefined;
    this.#slabs = undefined;
    this.slab = EMPTY;
    this.at = 0;
    this.#start = 0;
    this.bytes = 0;
    return segments;
  }

  #cut(): void {
    if (this.at > this.#start) this.#addPart(viewOf(this.slab, this.#start, this.at));
    this.#start = this.at;
  }

  #addPart(part: Uint8Array): void {
    if (this.#parts === undefined) this.#parts = [part];
    else this.#parts.push(part);
  }
}
