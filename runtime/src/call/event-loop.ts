/**
 * Yielding to the event loop: a stream of many small messages pauses now and then, so that it cannot starve other calls.
 */

/**
 * Messages that all streams together process in one turn of the event loop. Each costs about a microsecond in addition to the
 * user's code.
 */
const MESSAGES_PER_TURN = 2_048;

let messages = 0;
let turn: Promise<void> | undefined;

/** Calls back in a later turn of the event loop. Browsers have no `setImmediate`. */
export const schedule: (callback: () => void) => unknown =
  typeof setImmediate === "function" ? setImmediate : (callback) => setTimeout(callback, 0);

/** Counts a message. Returns a promise to await before the next message if other callbacks must run first. */
export function countMessage(): Promise<void> | undefined {
  messages++;
  if (messages < MESSAGES_PER_TURN) return undefined;
  turn ??= new Promise((resolve) => {
    schedule(() => {
      messages = 0;
      turn = undefined;
      resolve();
    });
  });
  return turn;
}
