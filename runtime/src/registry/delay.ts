/**
 * Waits that do not keep the process running.
 */
import { onAbort, startBackgroundTimer } from "../call/timer.ts";

/** Resolves after a time in milliseconds, or early when the signal fires. */
export function delayInBackground(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    let unlink = (): void => {};
    const stop = startBackgroundTimer(ms, () => {
      unlink();
      resolve();
    });
    unlink = onAbort(signal, () => {
      stop();
      resolve();
    });
  });
}
