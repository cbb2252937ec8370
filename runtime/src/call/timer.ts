/**
 * Timers of any length, and callbacks for abort signals. Above the engines, this is the only use of a clock.
 */
import { abortError, type RpcError } from "./error.ts";

/** The longest delay that `setTimeout` takes, about 25 days; longer ones fire at once. */
export const MAX_TIMER_MS: number = 2 ** 31 - 1;

/** Calls back once after a delay of any length, in milliseconds. Returns the function that stops the timer. */
export function startTimer(delayMs: number, callback: () => void): () => void {
  let timer: ReturnType<typeof setTimeout>;
  const arm = (left: number): void => {
    timer = left > MAX_TIMER_MS ? setTimeout(() => arm(left - MAX_TIMER_MS), MAX_TIMER_MS) : setTimeout(callback, left);
  };
  arm(delayMs);
  return () => clearTimeout(timer);
}

/**
 * Callbacks by signal. Many calls may share a signal, and Node warns of a leak when it has more than ten listeners: each signal
 * gets one listener, which runs the callbacks of all calls.
 */
const callbacks = new WeakMap<AbortSignal, Set<() => void>>();

/** Calls back when the signal fires, at once if it has. Returns the function that removes the callback. */
export function onAbort(signal: AbortSignal | undefined, callback: (error: RpcError) => void): () => void {
  if (signal === undefined) return () => {};
  const run = (): void => callback(abortError(signal));
  if (signal.aborted) {
    run();
    return () => {};
  }
  const known = callbacks.get(signal);
  const all = known ?? new Set();
  all.add(run);
  if (known === undefined) {
    callbacks.set(signal, all);
    signal.addEventListener("abort", runAll);
  }
  return () => {
    // Node keeps a signal that has a listener in memory.
    if (all.delete(run) && all.size === 0) {
      callbacks.delete(signal);
      signal.removeEventListener("abort", runAll);
    }
  };
}

function runAll(this: AbortSignal): void {
  const all = callbacks.get(this);
  callbacks.delete(this);
  this.removeEventListener("abort", runAll);
  for (const run of all ?? []) run();
}
