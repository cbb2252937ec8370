/**
 * The attempts to connect to a server: one at a time, with backoff between them, as long as a call needs a connection.
 */

import { Code } from "../call/code.ts";
import { noteObstacle } from "../call/context.ts";
import { abortError, RpcError } from "../call/error.ts";
import { startBackgroundTimer } from "../call/platform.ts";
import { delay, onAbort, unlessAborted } from "../call/timer.ts";
import type { ConnectionBackoff } from "./connection-backoff.ts";
import { isClosedByPeer } from "./error.ts";

/**
 * Time in milliseconds after which an attempt that no call needs any more is aborted, because it would keep the program
 * running. It is not aborted at once: a server that takes longer to connect to than the deadlines of calls allow could never
 * be reached.
 */
const UNNEEDED_ATTEMPT_MS = 3_000;

/** Begins an attempt in the asynchronous context of all connections, on platforms that have such contexts. */
export type InContext = (begin: () => Promise<void>) => Promise<void>;

export class ConnectionAttempts {
  readonly #connect: (signal: AbortSignal) => Promise<void>;
  readonly #backoff: ConnectionBackoff;
  readonly #inContext: InContext;
  readonly #abandoned = new AbortController();
  #current: Promise<void> | undefined;
  #giveUp: (() => void) | undefined;
  /** The number of calls that wait for a connection. */
  #needed = 0;
  /** The number of connections that were made. */
  #made = 0;
  #stopTimer = (): void => {};

  /** `connect` makes one attempt. It rejects when the attempt fails, and stops when the signal fires. */
  constructor(
    connect: (signal: AbortSignal) => Promise<void>,
    backoff: ConnectionBackoff,
    inContext: InContext = (begin) => begin(),
  ) {
    this.#connect = connect;
    this.#backoff = backoff;
    this.#inContext = inContext;
  }

  /** The signal that fires when no more attempts are made. */
  get abandoned(): AbortSignal {
    return this.#abandoned.signal;
  }

  /** Begins an attempt or joins the current one, and settles with it. Rejects at once during backoff. */
  start(): Promise<void> {
    if (this.#current !== undefined) return this.#current;
    const { signal } = this.#abandoned;
    const refusal = signal.aborted ? abortError(signal) : this.#backoff.refusal();
    if (refusal !== undefined) return Promise.reject(refusal);
    this.#current = this.#inContext(() =>
      this.#attempt().finally(() => {
        this.#current = undefined;
        this.#stopTimer();
      }),
    );
    this.#watchNeed();
    return this.#current;
  }

  /**
   * Waits for an attempt on behalf of a call with this signal, and settles with it. With `untilReady`, failed attempts are
   * repeated until one succeeds or the signal fires; their errors do not reject the promise.
   */
  async ready(signal: AbortSignal | undefined, untilReady: boolean): Promise<void> {
    this.#needed++;
    this.#watchNeed();
    const made = this.#made;
    noteObstacle(signal, "connection");
    try {
      // A connection that another call has made during a delay serves this one as well.
      while (this.#made === made) {
        try {
          await unlessAborted(this.start(), signal);
        } catch (error) {
          if (!untilReady || signal?.aborted || this.abandoned.aborted) throw error;
          noteObstacle(signal, error as RpcError);
          await delay(Math.ceil(this.#backoff.remainingMs), signal, this.abandoned);
        }
      }
      noteObstacle(signal, undefined);
    } finally {
      this.#needed--;
      this.#watchNeed();
    }
  }

  /** Aborts the current attempt, and rejects the calls that wait for it. */
  abandon(reason: RpcError): void {
    this.#abandoned.abort(reason);
  }

  async #attempt(): Promise<void> {
    const attempt = new AbortController();
    this.#giveUp = () => attempt.abort(new RpcError(Code.Unavailable, "no call needed the connection any more"));
    const unlink = onAbort(this.abandoned, (reason) => attempt.abort(reason));
    try {
      await this.#connectOnce(attempt.signal).catch((error: RpcError) => {
        // A server that closes a connection right after accepting it was shutting down, and may have been replaced: the retry
        // that needs no wait is made for the same calls.
        const isNew = this.#backoff.isNewOutage && isClosedByPeer(error.cause);
        if (!isNew || attempt.signal.aborted) throw error;
        return this.#connectOnce(attempt.signal);
      });
    } finally {
      unlink();
    }
  }

  async #connectOnce(signal: AbortSignal): Promise<void> {
    this.#backoff.started();
    try {
      await this.#connect(signal);
      this.#made++;
      this.#backoff.succeeded();
    } catch (reason) {
      const error = RpcError.from(reason, Code.Unavailable);
      this.#backoff.failed(error);
      throw error;
    }
  }

  #watchNeed(): void {
    this.#stopTimer();
    if (this.#current === undefined || this.#needed > 0) return;
    this.#stopTimer = startBackgroundTimer(UNNEEDED_ATTEMPT_MS, () => this.#giveUp?.());
  }
}
