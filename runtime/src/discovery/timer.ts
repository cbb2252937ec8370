/**
 * Timers of the background work of a target, which do not keep a program running.
 */
import { MAX_TIMER_MS } from "../call/timer.ts";

/** Calls back once after a delay, in milliseconds. Returns the function that stops the timer. */
export function startBackgroundTimer(delayMs: number, callback: () => void): () => void {
  const timer: unknown = setTimeout(callback, Math.min(delayMs, MAX_TIMER_MS));
  // A number where the platform is not Node.
  if (typeof timer === "object") (timer as { unref?: () => void }).unref?.();
  return () => clearTimeout(timer as ReturnType<typeof setTimeout>);
}
