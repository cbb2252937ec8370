/**
 * Time slices for long synchronous work, such as decoding a large message: the running jobs alternate and share a
 * millisecond of each turn of the event loop.
 */
import { schedule } from "./event-loop.ts";

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
  const inTime = performance.now() < (sliceEnds as number);
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
  sliceEnds = performance.now() + SLICE_MS;
  schedule(() => {
    if (waiting.length === 0) {
      sliceEnds = undefined;
      return;
    }
    beginSlice();
    waiting.shift()?.();
  });
}
