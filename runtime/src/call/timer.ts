/**
 * Waits that abort signals end, and callbacks for these signals.
 */
import { abortError, type RpcError } from "./error.ts";
import { startBackgroundTimer, startTimer } from "./platform.ts";

/**
 * Callbacks by signal. Many calls may share a signal, and Node warns of a leak if a signal has more than ten listeners.
 * Therefore each signal gets one listener, which runs the callbacks of all calls.
 */
const callbacks = new WeakMap<AbortSignal, Set<() => void>>();

/** Calls back when the signal fires, or at once if it already has. Returns the function that removes the callback. */
export function onAbort(signal: AbortSignal | undefined, callback: (error: RpcError) => void): () => void {
  if (signal === undefined) return () => {};
  const run = (): void => callback(abortError(signal));
  if (signal.aborted) {
    run();
    return () => {};
  }
  let all = callbacks.get(signal);
  if (all === undefined) {
    all = new Set();
    callbacks.set(signal, all);
    signal.addEventListener("abort", runAll);
  }
  all.add(run);
  return () => {
    // Node keeps a signal with a listener in memory, so the last callback removes the listener.
    if (all.delete(run) && all.size === 0) {
      callbacks.delete(signal);
      signal.removeEventListener("abort", runAll);
    }
  };
}

/** Resolves after a delay in milliseconds, or rejects when a signal fires. The timer keeps the process running. */
export function delay(delayMs: number, ...signals: (AbortSignal | undefined)[]): Promise<void> {
  return wait(startTimer, delayMs, signals);
}

/** Resolves after a delay, in milliseconds, or early when the signal fires, without keeping the process running. */
export function delayInBackground(delayMs: number, signal?: AbortSignal): Promise<void> {
  return wait(startBackgroundTimer, delayMs, [signal]).catch(() => {});
}

function wait(start: typeof startTimer, delayMs: number, signals: (AbortSignal | undefined)[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const release = [start(delayMs, () => settle(resolve))];
    const settle = (how: () => void): void => {
      for (const stop of release) stop();
      how();
    };
    for (const signal of signals) release.push(onAbort(signal, (error) => settle(() => reject(error))));
  });
}

/** Waits until a promise settles, at most for that many milliseconds. Reports whether it has resolved by then. */
export function resolvedWithin(promise: Promise<unknown>, maxMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const stop = startTimer(maxMs, () => resolve(false));
    const resolved = promise.then(() => resolve(true));
    void resolved.catch(() => resolve(false)).then(stop);
  });
}

/** Those that wait for a promise. It keeps a reaction until it settles: it gets one for all, and who gives up leaves the set. */
const waiters = new WeakMap<Promise<unknown>, Set<() => void>>();

/** Settles as the promise does, or rejects when the signal fires. */
export function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  const all = waiters.get(promise) ?? awaitForAll(promise);
  return new Promise((resolve, reject) => {
    const settle = (): void => {
      unlink();
      resolve(promise);
    };
    all.add(settle);
    const unlink = onAbort(signal, (error) => {
      all.delete(settle);
      reject(error);
    });
  });
}

function awaitForAll(promise: Promise<unknown>): Set<() => void> {
  const all = new Set<() => void>();
  const settle = (): void => {
    waiters.delete(promise);
    for (const one of all) one();
  };
  waiters.set(promise, all);
  promise.then(settle, settle);
  return all;
}

function runAll(this: AbortSignal): void {
  const all = callbacks.get(this);
  callbacks.delete(this);
  this.removeEventListener("abort", runAll);
  for (const run of all ?? []) run();
}
