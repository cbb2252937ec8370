/**
 * Limit on the memory of decoded messages whose handlers are running, of all calls of a router together. The limits on one
 * message and on received bytes do not bound it: compressed bytes can decode to a thousand times their size.
 */
import { Code } from "../call/code.ts";
import { RpcError } from "../call/error.ts";

/** The part of the limit for messages that are counted with the most memory that their bytes can take. */
const ASSUMED_FRACTION = 1 / 4;
/** The part of the limit for messages of more than {@link SMALL_MEMORY_BYTES}. The rest is reserved for smaller ones. */
const LARGE_FRACTION = 1 / 2;
const SMALL_MEMORY_BYTES = 64 * 1024;

/** The default limit, unless the limit on one message needs more. */
const DEFAULT_LIMIT_BYTES = 512 * 1024 * 1024;
/** The limit is at least this many times that on one message, so that the part for large messages holds one. */
const LEAST_MULTIPLE = 2;

/** The memory of the decoded messages of all calls of a router. */
export class MessageMemory {
  readonly #limit: number;
  #assumed = 0;
  #estimated = 0;

  /** `limitBytes` is a result of {@link resolveTotalDecoded}. */
  constructor(limitBytes: number) {
    this.#limit = limitBytes;
  }

  /** Memory of all messages, in bytes. */
  get held(): number {
    return this.#assumed + this.#estimated;
  }

  /** Throws `unavailable` if there is no memory for another message. */
  check(): void {
    if (this.#estimated >= this.#limit * (1 - ASSUMED_FRACTION)) throw this.#refuse();
  }

  /** Counts assumed memory, in bytes. Returns false if it does not fit. */
  assume(bytes: number): boolean {
    if (this.#assumed + bytes > this.#limit * ASSUMED_FRACTION) return false;
    this.#assumed += bytes;
    return true;
  }

  /** Counts estimated memory, in bytes. Throws `unavailable` if it does not fit. */
  add(bytes: number): void {
    const part = bytes > SMALL_MEMORY_BYTES ? LARGE_FRACTION : 1 - ASSUMED_FRACTION;
    if (this.#estimated + bytes > this.#limit * part) throw this.#refuse();
    this.#estimated += bytes;
  }

  release(assumed: number, estimated: number): void {
    this.#assumed -= assumed;
    this.#estimated -= estimated;
  }

  #refuse(): RpcError {
    const problem = `the messages of running calls take too much memory at present (option maxTotalDecodedBytes of the server)`;
    return new RpcError(Code.Unavailable, problem);
  }
}

/** The share of one call: the memory of the message that it received last, until its handler has ended. */
export class MessageShare {
  readonly #memory: MessageMemory;
  #assumed = 0;
  #estimated = 0;
  #released = false;

  constructor(memory: MessageMemory) {
    this.#memory = memory;
  }

  /** Counts a message in place of the one before, with the most memory that it can take. Returns false if it does not fit. */
  assume(most: number): boolean {
    this.#clear();
    if (this.#released) return true;
    if (!this.#memory.assume(most)) return false;
    this.#assumed = most;
    return true;
  }

  /** Counts a message with its estimated memory. Returns the message. Throws `unavailable` if it does not fit. */
  hold(message: object, bytes: number): object {
    this.#clear();
    // A call may have ended during the estimate.
    if (this.#released) return message;
    this.#memory.add(bytes);
    this.#estimated = bytes;
    return message;
  }

  /** Releases the memory, when `work` has settled if it is given. */
  release(work?: Promise<unknown>): void {
    if (work !== undefined) {
      const release = (): void => this.release();
      work.then(release, release);
      return;
    }
    this.#clear();
    this.#released = true;
  }

  #clear(): void {
    this.#memory.release(this.#assumed, this.#estimated);
    this.#assumed = 0;
    this.#estimated = 0;
  }
}

/**
 * Validates the option `maxTotalDecodedBytes` of a server, and returns its default if it is not given. `maxDecodedBytes` is
 * the limit on one message.
 */
export function resolveTotalDecoded(given: number | undefined, maxDecodedBytes: number): number {
  const least = LEAST_MULTIPLE * maxDecodedBytes;
  if (given === undefined) return Math.max(DEFAULT_LIMIT_BYTES, least);
  if (given >= least) return given;
  throw new RangeError(
    `maxTotalDecodedBytes must be a number of bytes, at least twice maxDecodedBytes (${least}), not ${given}`,
  );
}
