/**
 * The maximum age of a connection (gRPC's MAX_CONNECTION_AGE and MAX_CONNECTION_AGE_GRACE), which makes clients behind a
 * layer-4 load balancer connect again, so that new servers get a share of the calls.
 */
import type { Limits } from "./limits.ts";

export class ConnectionAge {
  readonly #oldAt: number;
  readonly #expiredAt: number;

  /** `now` is the time when the connection begins. The age varies by a tenth, so that connections do not end together. */
  constructor({ maxConnectionAgeMs, maxConnectionAgeGraceMs }: Limits, now: number) {
    this.#oldAt = now + maxConnectionAgeMs * (0.9 + Math.random() * 0.2);
    this.#expiredAt = this.#oldAt + maxConnectionAgeGraceMs;
  }

  /** Reports whether the connection has reached its maximum age, and takes no further calls. */
  isOld(now: number): boolean {
    return now >= this.#oldAt;
  }

  /** Reports whether the grace period for calls that are still running has passed too. */
  isExpired(now: number): boolean {
    return now >= this.#expiredAt;
  }
}
