/**
 * Limits of the memory of bodies over HTTP/2 that readers want as a whole.
 */
import { type Indexed, SwapList } from "./swap-list.ts";

/** Limits of the bytes of whole bodies that are being collected: for one connection, and for the process. */
const CONNECTION_BYTES = 64 * 1024 * 1024;
const PROCESS_BYTES = 512 * 1024 * 1024;
let processBytes = 0;

/** A body that is collected. */
export interface CollectedBody extends Indexed {
  /** The number in the order of their start: older bodies have smaller numbers. */
  number: number;
  /** Bytes that have been received and not read: those that are counted. */
  readonly unread: number;
  /** Credits the bytes that were received while the limits were exceeded. */
  credit(): void;
}

/**
 * Counts the bytes of whole bodies that are collected on a connection. Such bodies are larger than the windows, so
 * their bytes are credited on arrival. Beyond the limits only the stream of the oldest body is credited: it can end, and then the
 * next one follows.
 */
export class Collecting {
  #bytes = 0;
  readonly #bodies = new SwapList<CollectedBody>();
  /** The number of the next body. The oldest body has the smallest number. */
  #nextNumber = 1;

  /** Registers a body that begins to be collected. */
  begin(body: CollectedBody): void {
    body.number = this.#nextNumber++;
    this.#bodies.add(body);
  }

  add(bytes: number): void {
    this.#bytes += bytes;
    processBytes += bytes;
  }

  mayCredit(body: CollectedBody): boolean {
    return !this.#isFull || this.#isOldest(body);
  }

  end(body: CollectedBody): void {
    const wasFull = this.#isFull;
    this.#bodies.delete(body);
    this.#bytes -= body.unread;
    processBytes -= body.unread;
    if (!wasFull) return;
    for (const other of this.#bodies) if (this.mayCredit(other)) other.credit();
  }

  get #isFull(): boolean {
    return this.#bytes > CONNECTION_BYTES || processBytes > PROCESS_BYTES;
  }

  #isOldest({ number }: CollectedBody): boolean {
    for (const other of this.#bodies) if (other.number < number) return false;
    return true;
  }
}
