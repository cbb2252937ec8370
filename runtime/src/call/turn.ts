/**
 * Turns of the event loop: all calls of a program share them, so that neither a stream of small messages nor large messages
 * starve the others.
 */
import { defer, dropsCallbacks } from "./platform.ts";

/** Bytes of messages that are decoded in one turn, which takes a few milliseconds at the most. */
const BYTES_PER_TURN = 131_072;

/** Bytes that a message counts in addition to its own: it costs about a microsecond in addition to the user's code. */
const MESSAGE_BYTES = 64;

/** Bytes that are decoded before the end of the turn is awaited: most turns have fewer. */
const UNWATCHED_BYTES = 16_384;

/** The bytes of messages that have been decoded in this turn, or in several turns that {@link UNWATCHED_BYTES} joins. */
let decoded = 0;
/** True if a callback will begin the next turn. */
let isWatched = false;
/** The messages that wait for a turn, in order. */
const waiting: { readonly bytes: number; readonly resume: () => void }[] = [];

/** Reports whether messages have used this turn up, so that input which is read now should wait for a later one. */
export function isTurnOver(): boolean {
  return decoded >= BYTES_PER_TURN;
}

/** Counts a message of `size` bytes. Returns a promise to await before it is decoded if other callbacks must run first. */
export function takeTurn(size: number): Promise<void> | undefined {
  if (dropsCallbacks) return undefined;
  const bytes = size + MESSAGE_BYTES;
  if (decoded >= BYTES_PER_TURN || waiting.length > 0) return new Promise((resume) => waiting.push({ bytes, resume }));
  decoded += bytes;
  if (!isWatched && decoded >= UNWATCHED_BYTES) {
    isWatched = true;
    defer(beginTurn);
  }
  return undefined;
}

/** Gives half of a turn to the messages that wait, and the rest to new ones, so that neither starves. */
function beginTurn(): void {
  decoded = 0;
  for (let next = waiting[0]; next !== undefined && decoded < BYTES_PER_TURN / 2; next = waiting[0]) {
    waiting.shift();
    decoded += next.bytes;
    next.resume();
  }
  isWatched = decoded >= UNWATCHED_BYTES || waiting.length > 0;
  if (isWatched) defer(beginTurn);
}
