/**
 * Turns of the event loop: work that comes in many small pieces at once must not keep everybody else from theirs.
 */

/** Pieces of work in one turn, all streams taken together. Each costs a microsecond, and what the user's code makes of it. */
const PIECES_PER_TURN = 2_048;

let pieces = 0;
let turn: Promise<void> | undefined;

// Browsers have no setImmediate.
export const schedule: (callback: () => void) => unknown =
  typeof setImmediate === "function" ? setImmediate : (callback) => setTimeout(callback, 0);

/** Counts a piece of work. What it returns once in a while is to be awaited before the next one: others get their turn. */
export function countMessage(): Promise<void> | undefined {
  pieces++;
  if (pieces < PIECES_PER_TURN) return undefined;
  turn ??= new Promise((resolve) => {
    schedule(() => {
      pieces = 0;
      turn = undefined;
      resolve();
    });
  });
  return turn;
}
