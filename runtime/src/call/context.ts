/**
 * Deadlines and cancellation: the only clock above the engines. A timeout is a duration, as it travels on the wire; a
 * deadline is an instant, on the monotonic clock.
 */
import { type CallContext, type ContextKey, type ContextValues, iteration } from "./call.ts";
import { Code, type Status } from "./code.ts";
import { abortError, RpcError } from "./error.ts";

/** The longest delay `setTimeout` takes; longer ones fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export interface ContextOptions {
  /** Milliseconds the call may take. `undefined` or `Infinity`: as long as it likes. 0: its time is up already. */
  readonly timeoutMs?: number | undefined;
  /** The status of sub-protocol A for a deadline that passes on this side. */
  readonly timeoutStatus: Status;
  /** A caller's signal, which ends the call. */
  readonly signal?: AbortSignal | undefined;
  /** An exchange, whose signal is made on demand and tells that nobody waits for the call any more. */
  readonly exchange?: { readonly signal: AbortSignal | undefined; waitUntil?(work: Promise<unknown>): void };
  readonly values?: ContextValues | undefined;
  /** Whether {@link OpenContext.cancel} will be called, so that the signal must be one of the context's own. */
  readonly cancellable?: boolean;
}

/** The context of a running call, with the means to run it. Close it when the call is over, or use {@link run}. */
export class OpenContext implements CallContext {
  readonly #options: ContextOptions;
  readonly #deadline: number | undefined;
  #values: ContextValues | undefined;
  /** Why the call ended early, if it did. */
  #ended: RpcError | undefined;
  #onEnded: ((error: RpcError) => void) | undefined;
  /** The step of the call that may be under way when it ends early. */
  #working: Promise<unknown> | undefined;
  #controller: AbortController | undefined;
  #release: (() => void)[] = NOTHING;
  #closed = false;

  constructor(options: ContextOptions) {
    this.#options = options;
    this.#values = options.values;
    const { timeoutMs, signal } = options;
    if (timeoutMs !== undefined && timeoutMs !== Number.POSITIVE_INFINITY) {
      this.#deadline = performance.now() + timeoutMs;
      if (timeoutMs <= 0) this.#expire();
      else this.#release = [startTimer(timeoutMs, () => this.#expire())];
    }
    if (signal !== undefined) {
      this.#release = [...this.#release, onAbort(signal, (error) => this.#end(error))];
    }
  }

  get signal(): AbortSignal | undefined {
    // Where only another can end the call, its signal will do: no controller, no listener.
    if (this.#deadline === undefined && !this.#options.cancellable)
      return this.#options.signal ?? this.#options.exchange?.signal;
    if (this.#controller === undefined) {
      const controller = new AbortController();
      this.#controller = controller;
      if (this.#ended !== undefined) controller.abort(this.#ended);
      const exchangeSignal = this.#closed ? undefined : this.#options.exchange?.signal;
      if (exchangeSignal !== undefined) {
        this.#release = [...this.#release, onAbort(exchangeSignal, (error) => controller.abort(error))];
      }
    }
    return this.#controller.signal;
  }

  timeoutMs(): number | undefined {
    return this.#deadline === undefined ? undefined : Math.max(0, this.#deadline - performance.now());
  }

  get values(): ContextValues {
    this.#values ??= new Values();
    return this.#values;
  }

  /** Settles as `work` does, or rejects when the call ends early, whichever comes first; then closes the context. */
  run<T>(work: () => Promise<T>): Promise<T> {
    return this.limited ? this.race(work).finally(() => this.close()) : work();
  }

  /** Settles as `work` does, or rejects when the call ends early, whichever comes first. `work` is not started late. */
  race<T>(work: () => Promise<T>): Promise<T> {
    if (this.#ended !== undefined) return Promise.reject(this.#ended);
    if (!this.limited) return work();
    return new Promise<T>((resolve, reject) => {
      this.#onEnded = reject;
      const working = work();
      this.#working = working;
      working.then(resolve, reject);
    });
  }

  /** Ends a call that nobody is interested in any more. Without effect on a closed context. */
  cancel(): void {
    if (!this.#closed) this.#end(new RpcError(Code.Canceled, "the call was cancelled"));
  }

  /** Stops the timer and lets go of the caller's signal. The context's own signal will not fire any more. */
  close(): void {
    for (const release of this.#release) release();
    this.#release = NOTHING;
    this.#closed = true;
  }

  /** Whether anything but {@link cancel} can end the call early. */
  get limited(): boolean {
    return this.#deadline !== undefined || this.#options.signal !== undefined;
  }

  #expire(): void {
    const status = this.#options.timeoutStatus;
    this.#end(new RpcError(Code.DeadlineExceeded, "the deadline has passed", { status }));
  }

  #end(error: RpcError): void {
    this.#ended ??= error;
    this.#controller?.abort(this.#ended);
    this.#onEnded?.(this.#ended);
    this.waitUntil(this.#working);
  }

  /** Leaves work to itself that nobody waits for any more. */
  waitUntil(work: Promise<unknown> | undefined): void {
    work?.catch(() => {});
    if (work !== undefined) this.#options.exchange?.waitUntil?.(work);
  }
}

const NOTHING: (() => void)[] = [];

/** How a server or a transport is closed. */
export interface CloseOptions {
  /**
   * How long running calls may go on, in milliseconds; those that take longer fail as unavailable. `Infinity`: as long as
   * they like. Default: 30,000.
   */
  readonly graceMs?: number | undefined;
}

/** The grace period of who is closed. Throws a `TypeError` for what is none. */
export function gracePeriod({ graceMs = 30_000 }: CloseOptions): number {
  if (typeof graceMs === "number" && graceMs >= 0) return graceMs;
  throw new TypeError(`graceMs must be 0 or more milliseconds, not ${graceMs}`);
}

/** Yields what `items` yields until the call ends early; closes the context when the iteration is over. */
export function eachWithin<T>(context: OpenContext, items: AsyncIterable<T>): AsyncIterable<T> {
  return context.limited ? { [Symbol.asyncIterator]: () => raceEach(context, items[Symbol.asyncIterator]()) } : items;
}

function raceEach<T>(context: OpenContext, items: AsyncIterator<T>): AsyncIterator<T> {
  const step = (): Promise<IteratorResult<T>> => items.next();
  const leave = (): void => {
    context.close();
    // Not awaited: an iterator that is stuck in an await of its own would hold the caller past the deadline.
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

class Values implements ContextValues {
  readonly #values = new Map<symbol, unknown>();
  get<T>(key: ContextKey<T>): T {
    return this.#values.has(key.id) ? (this.#values.get(key.id) as T) : key.defaultValue;
  }
  set<T>(key: ContextKey<T>, value: T): this {
    this.#values.set(key.id, value);
    return this;
  }
  delete(key: ContextKey<unknown>): this {
    this.#values.delete(key.id);
    return this;
  }
}

/** Values to hand to a call, for its interceptors to read. */
export function createContextValues(): ContextValues {
  return new Values();
}

/** Calls back once after that many milliseconds, however many. Returns what stops it. */
export function startTimer(delayMs: number, callback: () => void): () => void {
  let timer: ReturnType<typeof setTimeout>;
  const arm = (left: number): void => {
    timer = left > MAX_TIMER_MS ? setTimeout(() => arm(left - MAX_TIMER_MS), MAX_TIMER_MS) : setTimeout(callback, left);
  };
  arm(delayMs);
  return () => clearTimeout(timer);
}

/**
 * Who waits for a signal to fire. Many calls may share one, and Node takes more than ten listeners for a leak and says
 * so: the signal has one, which tells them all.
 */
const waiting = new WeakMap<AbortSignal, Set<() => void>>();

/** Calls back when the signal fires, at once if it has. Returns what removes the listener. */
export function onAbort(signal: AbortSignal | undefined, callback: (error: RpcError) => void): () => void {
  if (signal === undefined) return () => {};
  const tell = (): void => callback(abortError(signal));
  if (signal.aborted) {
    tell();
    return () => {};
  }
  const others = waiting.get(signal);
  const all = others ?? new Set();
  all.add(tell);
  if (others === undefined) {
    waiting.set(signal, all);
    signal.addEventListener("abort", tellAll);
  }
  return () => {
    // Signals that are listened to are kept in memory.
    if (all.delete(tell) && all.size === 0) {
      waiting.delete(signal);
      signal.removeEventListener("abort", tellAll);
    }
  };
}

function tellAll(this: AbortSignal): void {
  const all = waiting.get(this);
  waiting.delete(this);
  this.removeEventListener("abort", tellAll);
  for (const tell of all ?? []) tell();
}
