/**
 * Queues of work that takes memory while it is in progress, such as the decoding and encoding of large messages in steps.
 * Without queues, all messages that have arrived would take that memory at the same time.
 */
import { abortError } from "./error.ts";
import { resumeInSteps, type Steps } from "./steps.ts";

/** A counting semaphore. Work starts in the order of arrival, after all urgent work. */
export class WorkQueue {
  #free: number;
  readonly #urgent = new Set<() => void>();
  readonly #waiting = new Set<() => void>();

  constructor(slots: number) {
    this.#free = slots;
  }

  /** Runs the work when a slot is free. A call that ends before that leaves the queue, and releases its message. */
  run<T>(work: () => T | Promise<T>, signal: () => AbortSignal | undefined): T | Promise<T> {
    if (this.#free === 0) return this.#turn(this.#waiting, signal()).then(() => this.#start(work));
    this.#free -= 1;
    return this.#start(work);
  }

  /** Runs work that frees memory at its end. */
  async runUrgent<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free === 0) await this.#turn(this.#urgent, undefined);
    else this.#free -= 1;
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

  #turn(queue: Set<() => void>, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const start = (): void => {
        signal?.removeEventListener("abort", leave);
        resolve();
      };
      const leave = (): void => {
        queue.delete(start);
        reject(abortError(signal as AbortSignal));
      };
      if (signal?.aborted) return leave();
      signal?.addEventListener("abort", leave, { once: true });
      queue.add(start);
    });
  }

  /** Passes the slot to the work that has waited longest. */
  #end(): void {
    const queue = this.#urgent.size > 0 ? this.#urgent : this.#waiting;
    const [next] = queue;
    if (next === undefined) {
      this.#free += 1;
      return;
    }
    queue.delete(next);
    next();
  }
}

/** Large messages that are decoded or encoded at a time: together they take a few hundred megabytes at most by default. */
const MAX_LARGE = 4;

/**
 * The queue of large messages. Responses go before requests: a call whose response is encoded releases its memory, and a
 * request that is decoded takes some.
 */
export const largeMessages: WorkQueue = new WorkQueue(MAX_LARGE);

/**
 * Runs the work of encoding in time slices. A message of more than one step waits for its turn in {@link largeMessages}.
 * Returns the result, or a promise if the work pauses. Throws or rejects with its errors.
 */
export function encodeInTurn<T>(work: Steps<T>): T | Promise<T> {
  const first = work.next();
  return first.done === true ? first.value : largeMessages.runUrgent(() => resumeInSteps(work, first.value));
}
