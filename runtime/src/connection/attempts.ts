/**
 * The attempts to connect to a server: one at a time, with backoff between them, as long as a call needs a connection.
 */

import { Backoff } from "../call/backoff.ts";
import { Code } from "../call/code.ts";
import { noteObstacle } from "../call/context.ts";
import { abortError, RpcError } from "../call/error.ts";
import { now, startBackgroundTimer } from "../call/platform.ts";
import { delay, unlessAborted } from "../call/timer.ts";
import { isClosedByPeer, isRefusedLocally } from "./error.ts";

/**
 * Time in milliseconds after which an attempt that no call needs any more is aborted, because it would keep the program
 * running. It is not aborted at once: a server that takes longer to connect to than the deadlines of calls allow could never
 * be reached.
 */
const UNNEEDED_ATTEMPT_MS = 3_000;

/** The default of `maxBackoffMs`. */
export const DEFAULT_MAX_BACKOFF_MS: number = 120_000;
/** The upper bound of waits, jitter included, if this machine itself refused the connection. */
const LOCAL_MAX_MS = 1_000;

/**
 * Exponential backoff between attempts to connect to a server, as in gRPC's document "connection-backoff", with two differences: the
 * first retry is made without a wait, because the server may have just been restarted; and waits are limited to one second if this
 * machine itself refuses the connection.
 */
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

/** Begins an attempt in the asynchronous context of all connections, on platforms that have such contexts. */
export type InContext = (begin: () => Promise<void>) => Promise<void>;

export class ConnectionAttempts {
  readonly #connect: (signal: AbortSignal) => Promise<void>;
  readonly #backoff: ConnectionBackoff;
  readonly #inContext: InContext;
  readonly #abandoned = new AbortController();
  #current: Promise<void> | undefined;
  /** Ends the current attempt. */
  #controller: AbortController | undefined;
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
        this.#controller = undefined;
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
    this.#controller?.abort(reason);
  }

  async #attempt(): Promise<void> {
    this.#controller = new AbortController();
    const { signal } = this.#controller;
    const isAhead = this.#needed === 0;
    await this.#connectOnce(signal).catch((error: RpcError) => {
      // A server that closes a connection right after accepting it was shutting down, and so perhaps was one that failed before
      // a call needed it. It may have been replaced: the retry that needs no wait is made for the same calls.
      const wasLeaving = isClosedByPeer(error.cause) || (isAhead && this.#needed > 0);
      if (!this.#backoff.isNewOutage || !wasLeaving || signal.aborted) throw error;
      return this.#connectOnce(signal);
    });
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
    this.#stopTimer = startBackgroundTimer(UNNEEDED_ATTEMPT_MS, () =>
      this.#controller?.abort(new RpcError(Code.Unavailable, "no call needed the connection any more")),
    );
  }
}
