/**
 * Contexts of calls: deadline, cancellation, and values. A timeout is a duration, as it is sent on the wire; a deadline is an
 * instant of the monotonic clock (gRPC deadlines).
 */

import type { CallContext, ContextKey, ContextValues } from "./call.ts";
import { Code, type Status } from "./code.ts";
import { RpcError } from "./error.ts";
import { iteration } from "./message-stream.ts";
import { assertAmount } from "./option.ts";
import { now, startTimer } from "./platform.ts";
import { onAbort } from "./timer.ts";

const NOTHING_TO_RELEASE: (() => void)[] = [];
const noTimeout = (): undefined => undefined;

export interface ContextOptions {
  /** The timeout of the call, in milliseconds. `undefined`, `Infinity`: no limit. 0: the deadline has passed already. */
  readonly timeoutMs?: number | undefined;
  /** The protocol error code of sub-protocol A for a deadline that passes on this side. */
  readonly timeoutStatus: Status;
  /** The caller's signal; it cancels the call. */
  readonly signal?: AbortSignal | undefined;
  readonly values?: ContextValues | undefined;
  readonly waitForReady?: boolean | undefined;
}

/** The context of a running call, with the functions that run the call in it. Close it when the call has ended. */
export class OpenContext implements CallContext {
  /** The event that the call waits for, which the error of its deadline names: on a client `response`. */
  waitsFor: string | undefined;
  sentAt: number | undefined;
  respondedAt: number | undefined;
  target: string | undefined;
  /** True if a deadline or the caller's signal can end the call early. */
  readonly limited: boolean;
  readonly #options: ContextOptions;
  readonly #deadline: number | undefined;
  #values: ContextValues | undefined;
  /** The reason for an early end of the call; `undefined` if it has not ended early. */
  #ended: RpcError | undefined;
  #onEnded: ((error: RpcError) => void) | undefined;
  #controller: AbortController | undefined;
  #release: (() => void)[] = NOTHING_TO_RELEASE;

  constructor(options: ContextOptions) {
    this.#options = options;
    this.#values = options.values;
    const { signal } = options;
    const timeoutMs = options.timeoutMs as number;
    const hasDeadline = Number.isFinite(timeoutMs);
    this.limited = hasDeadline || signal !== undefined;
    if (hasDeadline) {
      this.#deadline = now() + timeoutMs;
      if (timeoutMs <= 0) this.#ended = this.#timeoutError();
      else this.#release = [startTimer(timeoutMs, () => this.end(this.#timeoutError()))];
    }
    if (signal !== undefined) {
      this.#release = [...this.#release, onAbort(signal, (error) => this.end(error))];
    }
  }

  get signal(): AbortSignal | undefined {
    // If only the caller's signal can end the call, it is used directly: no controller, no listener.
    return this.#deadline === undefined ? this.#options.signal : this.controller.signal;
  }

  /** The controller of the context's own signal, created on first use. */
  protected get controller(): AbortController {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#ended !== undefined) this.#controller.abort(this.#ended);
    }
    return this.#controller;
  }

  /** A getter of a function, because handlers destructure contexts. All calls without a deadline share one function. */
  get timeoutMs(): () => number | undefined {
    const deadline = this.#deadline;
    return deadline === undefined ? noTimeout : () => Math.max(0, deadline - now());
  }

  get waitForReady(): boolean | undefined {
    return this.#options.waitForReady;
  }

  get values(): ContextValues {
    this.#values ??= this.makeValues();
    return this.#values;
  }

  /** Creates the values of a context whose options have none. */
  protected makeValues(): ContextValues {
    return createContextValues();
  }

  /** True if the call has ended early. */
  get hasEnded(): boolean {
    return this.#ended !== undefined;
  }

  /** Settles as `work` does, or rejects when the call ends first. A call that has ended does not start `work`. */
  race<T>(work: () => Promise<T>): Promise<T> {
    if (this.#ended !== undefined) return Promise.reject(this.#ended);
    if (!this.limited) return work();
    return new Promise<T>((resolve, reject) => {
      this.#onEnded = reject;
      Promise.resolve(work()).then(resolve, reject);
    });
  }

  /** Stops the timer and removes the listener from the caller's signal. The context's own signal then never fires. */
  close(): void {
    for (const release of this.#release) release();
    this.#release = NOTHING_TO_RELEASE;
  }

  #timeoutError(): RpcError {
    const { timeoutMs, timeoutStatus: status } = this.#options;
    const obstacle = (this.#controller && obstacles.get(this.#controller.signal)) ?? this.waitsFor;
    const cause = typeof obstacle === "object" ? obstacle : undefined;
    const meanwhile = cause ? ` while the call waited: ${cause.rawMessage}` : obstacle ? ` before the ${obstacle}` : "";
    return new RpcError(Code.DeadlineExceeded, `the deadline of ${timeoutMs} ms has passed${meanwhile}`, {
      status,
      cause,
    });
  }

  /** Ends the call early. Later reasons are ignored. */
  protected end(error: RpcError): void {
    this.#ended ??= error;
    this.#controller?.abort(this.#ended);
    this.#onEnded?.(this.#ended);
  }

  /** Ignores the failure of work whose result is no longer needed. */
  waitUntil(work: Promise<unknown> | undefined): void {
    work?.catch(() => {});
  }
}

/** The context of a client's streaming call, which is also cancelled when the reader of the responses leaves its loop. */
export class StreamContext extends OpenContext {
  #closed = false;

  override get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** Cancels the call. No effect on a closed context. */
  cancel(): void {
    if (!this.#closed) this.end(new RpcError(Code.Canceled, "the call was cancelled"));
  }

  override close(): void {
    super.close();
    this.#closed = true;
  }
}

/**
 * Reasons why calls wait, by signal: an error, or the name of the event that they wait for. If the deadline of a waiting call
 * passes, its error names the reason.
 */
const obstacles = new WeakMap<AbortSignal, RpcError | string>();

/** Records why the call with this signal waits. A reason of `undefined` records that it no longer waits. */
export function noteObstacle(signal: AbortSignal | undefined, reason: RpcError | string | undefined): void {
  if (signal === undefined) return;
  if (reason === undefined) obstacles.delete(signal);
  else obstacles.set(signal, reason);
}

/** Options of a graceful shutdown of a server or transport. */
export interface CloseOptions {
  /**
   * Grace period for running calls, in milliseconds. Calls that take longer fail as `unavailable`. `Infinity`: no limit.
   * Default: 30,000.
   */
  readonly graceMs?: number | undefined;
}

/** Validates `graceMs` and fills in its default. Throws a `TypeError` if it is not a number of 0 or more. */
export function gracePeriod({ graceMs = 30_000 }: CloseOptions): number {
  return assertAmount("graceMs", graceMs);
}

/** Yields the elements of `items` until the call ends early. Closes the context when the iteration ends. */
export function eachWithin<T>(context: OpenContext, items: AsyncIterable<T>): AsyncIterable<T> {
  return context.limited ? { [Symbol.asyncIterator]: () => raceEach(context, items[Symbol.asyncIterator]()) } : items;
}

function raceEach<T>(context: OpenContext, items: AsyncIterator<T>): AsyncIterator<T> {
  const step = (): Promise<IteratorResult<T>> => items.next();
  const leave = (): void => {
    context.close();
    // The promise is not awaited: an iterator that never settles would delay the caller past the deadline.
    context.waitUntil(items.return?.());
  };
  const next = async (): Promise<IteratorResult<T, undefined>> => {
    try {
      const result = await context.race(step);
      if (result.done) context.close();
      return result;
    } catch (reason) {
      leave();
      throw reason;
    }
  };
  return iteration(next, leave);
}

/** Creates an empty set of values for a call, which interceptors and handlers read and set by key. */
export function createContextValues(): ContextValues {
  const values = new Map<symbol, unknown>();
  const self: ContextValues = {
    get: <T>({ id, defaultValue }: ContextKey<T>) => (values.has(id) ? (values.get(id) as T) : defaultValue),
    set(key, value) {
      values.set(key.id, value);
      return self;
    },
    delete(key) {
      values.delete(key.id);
      return self;
    },
  };
  return self;
}
