/**
 * Timers for the background work of a target. They do not keep the process running.
 */
import { MAX_TIMER_MS } from "../call/timer.ts";

/** Calls back once after a delay, in milliseconds. Returns the function that stops the timer. */
export function startBackgroundTimer(delayMs: number, callback: () => void): () => void {
  const timer: unknown = setTimeout(callback, Math.min(delayMs, MAX_TIMER_MS));
  // Timers are numbers on platforms other than Node.
  if (typeof timer === "object") (timer as { unref?: () => void }).unref?.();
  return () => clearTimeout(timer as ReturnType<typeof setTimeout>);
}
