/**
 * The attempts to connect to a server: one at a time, with backoff between them, and for as long as a call needs one.
 */
import { Code } from "../../call/code.ts";
import { noteObstacle } from "../../call/context.ts";
import { abortError, RpcError } from "../../call/error.ts";
import { delay, onAbort } from "../../call/timer.ts";
import { startQuietTimer, unlessAborted } from "../io/timer.ts";
import type { Backoff } from "./backoff.ts";

/**
 * An attempt that no call needs any more is given up after this time, in milliseconds: it would keep the program running.
 * Not at once, or a server that takes longer to connect to than calls may take would never be connected to.
 */
const UNNEEDED_ATTEMPT_MS = 3_000;

export class ConnectionAttempts {
  readonly #connect: (signal: AbortSignal) => Promise<void>;
  readonly #backoff: Backoff;
  readonly #abandoned = new AbortController();
  #current: Promise<void> | undefined;
  #giveUp: (() => void) | undefined;
  /** Calls that need a connection. */
  #needed = 0;
  #stopTimer = (): void => {};

  /** `connect` makes one attempt. It rejects when that fails, and gives up when the signal fires. */
  constructor(connect: (signal: AbortSignal) => Promise<void>, backoff: Backoff) {
    this.#connect = connect;
    this.#backoff = backoff;
  }

  /** Fires when no more attempts are made. */
  get abandoned(): AbortSignal {
    return this.#abandoned.signal;
  }

  /** Begins an attempt, unless one is under way, and settles as it does. Rejects at once during backoff. */
  start(): Promise<void> {
    if (this.#current !== undefined) return this.#current;
    const { signal } = this.#abandoned;
    const refusal = signal.aborted ? abortError(signal) : this.#backoff.refusal();
    if (refusal !== undefined) return Promise.reject(refusal);
    this.#current = this.#attempt().finally(() => {
      this.#current = undefined;
      this.#stopTimer();
    });
    this.#watchNeed();
    return this.#current;
  }

  /**
   * Settles as the next attempt does, for a call with that signal. With `untilReady` it makes attempt after attempt until
   * one succeeds or the signal fires, and does not reject for those that fail.
   */
  async ready(signal: AbortSignal | undefined, untilReady: boolean): Promise<void> {
    this.#needed++;
    this.#watchNeed();
    try {
      for (;;) {
        try {
          await unlessAborted(this.start(), signal);
          noteObstacle(signal, undefined);
          return;
        } catch (error) {
          if (!untilReady || signal?.aborted || this.abandoned.aborted) throw error;
          noteObstacle(signal, error as RpcError);
          await delay(Math.ceil(this.#backoff.remainingMs), signal, this.abandoned);
        }
      }
    } finally {
      this.#needed--;
      this.#watchNeed();
    }
  }

  /** Gives up the current attempt, and the calls that wait for one. */
  abandon(reason: RpcError): void {
    this.#abandoned.abort(reason);
  }

  async #attempt(): Promise<void> {
    const attempt = new AbortController();
    this.#giveUp = () => attempt.abort(new RpcError(Code.Unavailable, "no call needed the connection any more"));
    const unlink = onAbort(this.abandoned, (reason) => attempt.abort(reason));
    this.#backoff.started();
    try {
      await this.#connect(attempt.signal);
      this.#backoff.succeeded();
    } catch (reason) {
      this.#backoff.failed(RpcError.from(reason, Code.Unavailable));
      throw reason;
    } finally {
      unlink();
    }
  }

  #watchNeed(): void {
    this.#stopTimer();
    if (this.#current === undefined || this.#needed > 0) return;
    this.#stopTimer = startQuietTimer(UNNEEDED_ATTEMPT_MS, () => this.#giveUp?.());
  }
}
