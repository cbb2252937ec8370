/**
 * Delays between attempts to reach a registry, with exponential backoff. They are shorter than those of calls: a
 * provider that is not registered gets none.
 */
import { BACKOFF_MULTIPLIER, JITTER } from "../call/backoff.ts";

export class RetryDelay {
  readonly #initialMs: number;
  readonly #maxMs: number;
  #nextMs: number;

  constructor(initialMs: number, maxMs: number) {
    this.#initialMs = initialMs;
    this.#maxMs = maxMs;
    this.#nextMs = initialMs;
  }

  /** Returns the delay after a failure, in milliseconds. */
  next(): number {
    const delayMs = this.#nextMs * (1 + JITTER * (2 * Math.random() - 1));
    this.#nextMs = Math.min(this.#nextMs * BACKOFF_MULTIPLIER, this.#maxMs);
    return delayMs;
  }

  /** Begins anew after a success. */
  reset(): void {
    this.#nextMs = this.#initialMs;
  }
}
