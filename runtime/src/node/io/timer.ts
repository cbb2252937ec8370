/**
 * Timers that do not keep the process running, and waits that an abort signal ends.
 */
import { MAX_TIMER_MS, onAbort } from "../../call/timer.ts";

/** Calls back at an interval, in milliseconds, without keeping the process running. Returns the function that stops it. */
export function repeat(intervalMs: number, callback: () => unknown): () => void {
  const timer = setInterval(callback, Math.min(intervalMs, MAX_TIMER_MS)).unref();
  return () => clearInterval(timer);
}

/** Settles as the promise does, or rejects when the signal fires. */
export function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  return new Promise((resolve, reject) => {
    const unlink = onAbort(signal, reject);
    promise.then(resolve, reject).finally(unlink);
  });
}
