/**
 * Turns of the event loop: streams of many small messages yield, so that one of them cannot starve the others.
 */

/**
 * Messages processed in one turn of the event loop, over all streams together. Each costs about a microsecond besides
 * the user's code.
 */
const MESSAGES_PER_TURN = 2_048;

let messages = 0;
let turn: Promise<void> | undefined;

// Browsers have no setImmediate.
export const schedule: (callback: () => void) => unknown =
  typeof setImmediate === "function" ? setImmediate : (callback) => setTimeout(callback, 0);

/** Counts a message. If it returns a promise, await it before the next message: other callbacks run first. */
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
