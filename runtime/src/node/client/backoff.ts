/**
 * How long a client leaves a server alone that could not be connected to, as gRPC's document on connection back-off has
 * it: a second at first, then longer and longer. Only the first retry does not wait, for a server that was just restarted.
 */
import { Code } from "../../call/code.ts";
import { RpcError } from "../../call/error.ts";

const INITIAL_MS = 1_000;
const MULTIPLIER = 1.6;
/** By which share of itself a wait may be longer or shorter, so that the clients of a server do not come back all at once. */
const JITTER = 0.2;

export interface BackOffOptions {
  /** The longest wait, jitter aside, in milliseconds. */
  readonly maxMs: number;
  /** Milliseconds on a monotonic clock. Default: `performance.now`. */
  readonly now?: () => number;
  /** From 0 to 1. Default: `Math.random`. */
  readonly random?: () => number;
}

/** The attempts to connect to one server. */
export class BackOff {
  readonly #maxMs: number;
  readonly #now: () => number;
  readonly #random: () => number;
  #failures = 0;
  #startedAt = 0;
  #nextAt = 0;
  #last: RpcError | undefined;

  constructor({ maxMs, now = () => performance.now(), random = Math.random }: BackOffOptions) {
    this.#maxMs = maxMs;
    this.#now = now;
    this.#random = random;
  }

  /** Why no attempt may be made yet; `undefined` if one may. */
  refusal(): RpcError | undefined {
    const waitMs = this.#nextAt - this.#now();
    if (this.#last === undefined || waitMs <= 0) return undefined;
    const wait = `${(waitMs / 1000).toFixed(1)} s`;
    return new RpcError(Code.Unavailable, `${this.#last.rawMessage} (not tried again for ${wait})`, {
      cause: this.#last,
    });
  }

  /** An attempt begins. The wait for the next one counts from here. */
  started(): void {
    this.#startedAt = this.#now();
  }

  /** The attempt has failed. */
  failed(error: RpcError): void {
    this.#last = error;
    this.#failures++;
    if (this.#failures === 1) return;
    const waitMs = Math.min(this.#maxMs, INITIAL_MS * MULTIPLIER ** (this.#failures - 2));
    this.#nextAt = this.#startedAt + waitMs * (1 + JITTER * (2 * this.#random() - 1));
  }

  /** The attempt has led to a connection. */
  succeeded(): void {
    this.#failures = 0;
    this.#nextAt = 0;
    this.#last = undefined;
  }
}
