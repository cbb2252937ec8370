/**
 * Queues of large messages that wait to be decoded. A message in a few hundred kilobytes may take 16 times the limit on
 * messages in memory, and decoding alternates between messages in time slices. Without queues, all messages that have arrived
 * would take that memory at the same time.
 */
import { abortError } from "../call/error.ts";

/** Size, in bytes, from which messages wait in the second queue, so that smaller ones do not wait for them. */
const LARGE_BYTES = 64 * 1024;

/** Messages that are decoded at a time, by queue: together they take a few hundred megabytes at most by default. */
const MAX_MEDIUM = 16;
const MAX_LARGE = 4;

/** A counting semaphore, in the order of arrival. */
class Queue {
  #free: number;
  readonly #waiting = new Set<() => void>();

  constructor(slots: number) {
    this.#free = slots;
  }

  /** Runs the work when a slot is free. A call that ends before that leaves the queue, and releases its message. */
  run<T>(work: () => T | Promise<T>, signal: () => AbortSignal | undefined): T | Promise<T> {
    if (this.#free === 0) return this.#turn(signal()).then(() => this.#start(work));
    this.#free -= 1;
    return this.#start(work);
  }

  #start<T>(work: () => T | Promise<T>): T | Promise<T> {
    let result: T | Promise<T>;
    try {
      result = work();
    } catch (reason) {
      this.#end();
      throw reason;
    }
    if (result instanceof Promise) return result.finally(() => this.#end());
    this.#end();
    return result;
  }

  #turn(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const start = (): void => {
        signal?.removeEventListener("abort", leave);
        resolve();
      };
      const leave = (): void => {
        this.#waiting.delete(start);
        reject(abortError(signal as AbortSignal));
      };
      if (signal?.aborted) return leave();
      signal?.addEventListener("abort", leave, { once: true });
      this.#waiting.add(start);
    });
  }

  /** Passes the slot to the message that has waited longest. */
  #end(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#free += 1;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}

const medium = new Queue(MAX_MEDIUM);
const large = new Queue(MAX_LARGE);

/** The context of a call, whose signal is read only if the message has to wait. */
interface Waiting {
  readonly signal: AbortSignal | undefined;
}

/** Decodes a message that is not small, as soon as few others are being decoded. `bytes` is the size of the message. */
export function decodeInTurn<T>(bytes: number, context: Waiting, decode: () => T | Promise<T>): T | Promise<T> {
  return (bytes < LARGE_BYTES ? medium : large).run(decode, () => context.signal);
}
