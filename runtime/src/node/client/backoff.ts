/**
 * Exponential backoff between attempts to connect, as in gRPC's document "connection-backoff", with three differences: the
 * first retry does not wait, for a server that was just restarted; the waits of the first minute of an outage stay below
 * five seconds; and where nothing listens on this machine they stay below one.
 */
import { Code } from "../../call/code.ts";
import { RpcError } from "../../call/error.ts";
import { isRefusedLocally } from "../io/error.ts";

const INITIAL_MS = 1_000;
const MULTIPLIER = 1.6;
/** The share by which a wait is longer or shorter at random, so that the clients of a server do not return all at once. */
const JITTER = 0.2;

/** Most outages are restarts, which are over within a minute. Their waits have an upper bound of their own, jitter aside. */
const RESTART_MS = 60_000;
const RESTART_MAX_MS = 5_000;
/** The upper bound, jitter included, where the operating system has refused a connection to this machine itself. */
const LOCAL_MAX_MS = 1_000;

export interface BackoffOptions {
  /** Upper bound of the waits, jitter aside, in milliseconds. */
  readonly maxMs: number;
  /** Milliseconds of a monotonic clock. Default: `performance.now`. */
  readonly now?: () => number;
  /** From 0 to 1. Default: `Math.random`. */
  readonly random?: () => number;
}

/** The backoff of the attempts to connect to one server. */
export class Backoff {
  readonly #maxMs: number;
  readonly #now: () => number;
  readonly #random: () => number;
  /** When the current attempt began, and the first one of the outage. */
  #startedAt = 0;
  #outageAt = 0;
  /** The last wait without its jitter; 0 before the first one. */
  #waitMs = 0;
  #nextAt = 0;
  #last: RpcError | undefined;

  constructor({ maxMs, now = () => performance.now(), random = Math.random }: BackoffOptions) {
    this.#maxMs = maxMs;
    this.#now = now;
    this.#random = random;
  }

  /** Time until the next attempt may be made, in milliseconds. */
  get remainingMs(): number {
    return Math.max(0, this.#nextAt - this.#now());
  }

  /** The error of a call that needs a connection while no attempt may be made; `undefined` when one may. */
  refusal(): RpcError | undefined {
    const { remainingMs } = this;
    if (this.#last === undefined || remainingMs === 0) return undefined;
    const wait = `${(remainingMs / 1000).toFixed(1)} s`;
    return new RpcError(Code.Unavailable, `${this.#last.rawMessage} (next attempt in ${wait})`, { cause: this.#last });
  }

  /** An attempt begins. The wait before the next one counts from here. */
  started(): void {
    this.#startedAt = this.#now();
  }

  /** The attempt has failed. */
  failed(error: RpcError): void {
    const isFirst = this.#last === undefined;
    this.#last = error;
    if (isFirst) {
      this.#outageAt = this.#startedAt;
      return;
    }
    const isLocal = isRefusedLocally(error.cause);
    const isRestart = this.#startedAt - this.#outageAt < RESTART_MS;
    const maxMs = Math.min(this.#maxMs, isLocal ? LOCAL_MAX_MS : isRestart ? RESTART_MAX_MS : Number.POSITIVE_INFINITY);
    this.#waitMs = Math.min(maxMs, Math.max(INITIAL_MS, this.#waitMs * MULTIPLIER));
    const jitter = isLocal ? -JITTER * this.#random() : JITTER * (2 * this.#random() - 1);
    this.#nextAt = this.#startedAt + this.#waitMs * (1 + jitter);
  }

  /** The attempt has led to a connection. */
  succeeded(): void {
    this.#waitMs = 0;
    this.#nextAt = 0;
    this.#last = undefined;
  }
}
