/**
 * Exponential backoff, by default with the constants of gRPC's document "connection-backoff".
 */
import { random } from "./platform.ts";

/** The share by which a wait is lengthened or shortened at random, so that clients do not all repeat at the same time. */
const JITTER = 0.2;

export interface BackoffOptions {
  /** The first wait without jitter, in milliseconds. Default: 1,000. */
  readonly initialMs?: number;
  /** Upper bound of the waits without jitter, in milliseconds. */
  readonly maxMs: number;
  /** The factor by which each wait is longer than the one before. Default: 1.6. */
  readonly multiplier?: number;
}

/** The waits between attempts: `min(initialMs * multiplier ** n, maxMs)`, with 20 % jitter. */
export class Backoff {
  readonly #initialMs: number;
  readonly #maxMs: number;
  readonly #multiplier: number;
  #nextMs: number;

  constructor({ initialMs = 1_000, maxMs, multiplier = 1.6 }: BackoffOptions) {
    this.#initialMs = initialMs;
    this.#maxMs = maxMs;
    this.#multiplier = multiplier;
    this.#nextMs = initialMs;
  }

  /**
   * Returns the wait before the next attempt, in milliseconds. `boundMs` is an upper bound of this wait with its jitter,
   * which then only shortens it; the next waits grow from there.
   */
  next(boundMs?: number): number {
    if (boundMs !== undefined) this.#nextMs = Math.min(this.#nextMs, boundMs);
    const waitMs = Math.min(this.#nextMs, this.#maxMs);
    this.#nextMs *= this.#multiplier;
    return waitMs * (1 + JITTER * (boundMs === undefined ? 2 * random() - 1 : -random()));
  }

  /** Begins with the first wait again. */
  reset(): void {
    this.#nextMs = this.#initialMs;
  }
}
