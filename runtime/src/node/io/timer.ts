/**
 * Timers that do not keep a program running, and waits that a signal ends.
 */
import { MAX_TIMER_MS, onAbort, startTimer } from "../../call/timer.ts";

/** Calls back again and again, without keeping the program running. Returns what stops it. */
export function repeat(intervalMs: number, callback: () => unknown): () => void {
  const timer = setInterval(callback, intervalMs).unref();
  return () => clearInterval(timer);
}

/** Calls back once, without keeping the program running. Returns what stops it. */
export function startQuietTimer(delayMs: number, callback: () => void): () => void {
  const timer = setTimeout(callback, Math.min(delayMs, MAX_TIMER_MS)).unref();
  return () => clearTimeout(timer);
}

/** Settles after that many milliseconds, during which the program goes on. */
export function delay(delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    startTimer(delayMs, resolve);
  });
}

/** Settles as the promise does, or rejects when the signal fires. */
export function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  return new Promise((resolve, reject) => {
    const unlink = onAbort(signal, reject);
    promise.then(resolve, reject).finally(unlink);
  });
}
