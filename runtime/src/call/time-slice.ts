/**
 * Yielding to the event loop, so that no call starves others. Long synchronous work, such as decoding a large message, has time
 * slices: the running jobs alternate and share a millisecond of each turn. Streams of many small messages pause now and then.
 */
import { defer, now } from "./platform.ts";

/** Size, in bytes, of the small messages that are decoded before the time is checked: a few milliseconds at the most. */
const UNCHECKED_BYTES = 16_384;

let unchecked = 0;

/** Time that all jobs together may take in one turn of the event loop, in milliseconds. */
const SLICE_MS = 1;

/** The time at which the current slice ends; `undefined` if no slice is running. */
let sliceEnds: number | undefined;
/** Resolvers of the jobs that wait for their next step, in order. */
const waiting: (() => void)[] = [];

/**
 * Returns `undefined` if the next step of long work may run now, or a promise to await before it. Call it before each step.
 */
export function nextStep(): Promise<void> | undefined {
  if (sliceEnds === undefined) beginSlice();
  const inTime = now() < (sliceEnds as number);
  if (inTime && waiting.length === 0) return undefined;
  const step = new Promise<void>((resolve) => waiting.push(resolve));
  if (inTime) waiting.shift()?.();
  return step;
}

/**
 * Counts a small message, which is decoded in one step. Returns a promise to await before it is decoded if many of them have
 * used up the slice.
 */
export function nextSmallStep(bytes: number): Promise<void> | undefined {
  unchecked += bytes;
  if (unchecked < UNCHECKED_BYTES) return undefined;
  unchecked = 0;
  return nextStep();
}

function beginSlice(): void {
  sliceEnds = now() + SLICE_MS;
  defer(() => {
    if (waiting.length === 0) {
      sliceEnds = undefined;
      return;
    }
    beginSlice();
    waiting.shift()?.();
  });
}

/**
 * Messages that all streams together process in one turn of the event loop. Each costs about a microsecond in addition to the
 * user's code.
 */
const MESSAGES_PER_TURN = 2_048;

let messages = 0;
let turn: Promise<void> | undefined;

/** Counts a message. Returns a promise to await before the next message if other callbacks must run first. */
export function countMessage(): Promise<void> | undefined {
  messages++;
  if (messages < MESSAGES_PER_TURN) return undefined;
  turn ??= new Promise((resolve) => {
    defer(() => {
      messages = 0;
      turn = undefined;
      resolve();
    });
  });
  return turn;
}
