/**
 * Exponential backoff between attempts to connect, as in gRPC's document "connection-backoff", with two differences: the first
 * retry is made without a wait, because the server may have just been restarted; and waits are limited to one second if this
 * machine itself refuses the connection.
 */

import { Backoff } from "../call/backoff.ts";
import { Code } from "../call/code.ts";
import { RpcError } from "../call/error.ts";
import { now } from "../call/platform.ts";
import { isRefusedLocally } from "./error.ts";

/** The default of `maxBackoffMs`. */
export const DEFAULT_MAX_BACKOFF_MS: number = 120_000;
/** The upper bound of waits, jitter included, if this machine itself refused the connection. */
const LOCAL_MAX_MS = 1_000;

/** The backoff of the attempts to connect to one server. */
export class ConnectionBackoff {
  readonly #backoff: Backoff;
  /** The number of attempts that have failed since the last success. */
  #failures = 0;
  /** The time at which the current attempt began. */
  #startedAt = 0;
  #nextAt = 0;
  #last: RpcError | undefined;

  /** `maxMs` is the upper bound of the waits, without jitter, in milliseconds. */
  constructor(maxMs: number = DEFAULT_MAX_BACKOFF_MS) {
    this.#backoff = new Backoff({ maxMs });
  }

  /** True if the last attempt was the first one of an outage. */
  get isNewOutage(): boolean {
    return this.#failures === 1;
  }

  /** The time until the next attempt is allowed, in milliseconds. */
  get remainingMs(): number {
    return Math.max(0, this.#nextAt - now());
  }

  /** Returns the error for calls that need a connection during backoff; `undefined` if an attempt is allowed. */
  refusal(): RpcError | undefined {
    const { remainingMs } = this;
    if (this.#last === undefined || remainingMs === 0) return undefined;
    const wait = `${(remainingMs / 1000).toFixed(1)} s`;
    return new RpcError(Code.Unavailable, `${this.#last.rawMessage} (next attempt in ${wait})`, { cause: this.#last });
  }

  /** Records the start of an attempt. The wait before the next attempt is measured from here. */
  started(): void {
    this.#startedAt = now();
  }

  /** Records the failure of the attempt, and computes the next wait. */
  failed(error: RpcError): void {
    this.#last = error;
    this.#failures++;
    if (this.#failures === 1) return;
    this.#nextAt = this.#startedAt + this.#backoff.next(isRefusedLocally(error.cause) ? LOCAL_MAX_MS : undefined);
  }

  /** Records the success of the attempt, and ends the backoff. */
  succeeded(): void {
    this.#failures = 0;
    this.#backoff.reset();
    this.#nextAt = 0;
    this.#last = undefined;
  }
}
