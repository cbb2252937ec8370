/**
 * The maximum age of a connection (gRPC's MAX_CONNECTION_AGE and MAX_CONNECTION_AGE_GRACE), which makes clients behind a
 * layer-4 load balancer connect again, so that new servers get a share of the calls.
 */
import { random } from "../../../call/platform.ts";
import type { Limits } from "./limits.ts";

export class ConnectionAge {
  /** The age of all connections without a maximum age. */
  static readonly #UNLIMITED = new ConnectionAge(Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY);
  readonly #oldAt: number;
  readonly #expiredAt: number;

  private constructor(oldAt: number, expiredAt: number) {
    this.#oldAt = oldAt;
    this.#expiredAt = expiredAt;
  }

  /**
   * Returns the age of a connection that begins at `now`. It varies by a tenth, so that connections do not end together.
   */
  static of({ maxConnectionAgeMs, maxConnectionAgeGraceMs }: Limits, now: number): ConnectionAge {
    if (maxConnectionAgeMs === Number.POSITIVE_INFINITY) return ConnectionAge.#UNLIMITED;
    const oldAt = now + maxConnectionAgeMs * (0.9 + random() * 0.2);
    return new ConnectionAge(oldAt, oldAt + maxConnectionAgeGraceMs);
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
