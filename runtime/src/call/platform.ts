/**
 * The platform, as far as all platforms have it: clocks, randomness, timers, and later turns of the event loop. All other modules
 * take these from here, so that a simulation, or another platform, replaces one module.
 *
 * Microtasks and ticks are no part of it: their order is that of the language and of Node.
 */

declare const WebSocketPair: unknown;

/**
 * True if the platform drops the callbacks of a request that it has answered, as Cloudflare Workers do, which alone have that
 * class. There, state that requests share must not wait for a callback: the one that waits would be another request.
 */
export const dropsCallbacks: boolean = typeof WebSocketPair === "function";

/** The longest delay of timers that support no delay of any length, in milliseconds: about 25 days, as `setTimeout` has it. */
export const MAX_TIMER_MS: number = 2 ** 31 - 1;

/** Reads the monotonic clock, in milliseconds with fractions. It advances while code runs, for work in slices. */
export const now = (): number => performance.now();

/** Reads the wall clock, in milliseconds since 1970. It may jump in both directions. */
export const wallClock = (): number => Date.now();

/** Reads the CPU time that the process has used, in milliseconds. 0 on platforms that do not tell it. */
export function cpuTime(): number {
  const { user, system } = (globalThis as { process?: Partial<NodeJS.Process> }).process?.cpuUsage?.() ?? {
    user: 0,
    system: 0,
  };
  return (user + system) / 1_000;
}

/** Returns a random number of at least 0 and less than 1. It need not be unpredictable. */
export const random = (): number => Math.random();

/**
 * Calls back in a later turn of the event loop: after all microtasks and ticks, and, on Node, after the input that is ready.
 * The callbacks of one turn run in the order of their calls; a callback that one of them adds runs in the next turn.
 */
export function defer(callback: () => void): void {
  callLater(callback);
}

/** Browsers have no `setImmediate`. The fake timers of a test, which are installed later, would drop callbacks. */
const callLater: (callback: () => void) => unknown = /*@__PURE__*/ (() => globalThis.setImmediate ?? setTimeout)();

/**
 * Calls back once after a delay of any length, in milliseconds, and keeps the process running until then. Returns the function
 * that stops the timer, which has an effect until the callback begins, and none afterwards.
 *
 * A callback never runs within this call. A delay is cut to whole milliseconds, and is 1 at least. A timer fires up to a
 * millisecond early by {@link now}, and late by the time that other callbacks take. Timers with equal delays fire in the order
 * of their start; for others that are due at the same time no order is promised. Microtasks run between two callbacks.
 */
export function startTimer(delayMs: number, callback: () => void): () => void {
  let timer: ReturnType<typeof setTimeout>;
  const arm = (left: number): void => {
    timer = left > MAX_TIMER_MS ? setTimeout(() => arm(left - MAX_TIMER_MS), MAX_TIMER_MS) : setTimeout(callback, left);
  };
  arm(delayMs);
  return () => clearTimeout(timer);
}

/** Like {@link startTimer}, with a delay of at most {@link MAX_TIMER_MS}, and without keeping the process running. */
export function startBackgroundTimer(delayMs: number, callback: () => void): () => void {
  const timer = setTimeout(callback, Math.min(delayMs, MAX_TIMER_MS));
  // Timers are numbers on platforms other than Node.
  (timer as { unref?: () => void }).unref?.();
  return () => clearTimeout(timer);
}

/**
 * Calls back at an interval, in milliseconds, at most {@link MAX_TIMER_MS}, without keeping the process running. Intervals that
 * pass while other code runs are one call. Returns the function that stops it.
 */
export function repeat(intervalMs: number, callback: () => unknown): () => void {
  const timer = setInterval(callback, Math.min(intervalMs, MAX_TIMER_MS));
  (timer as { unref?: () => void }).unref?.();
  return () => clearInterval(timer);
}
