/**
 * Time slices for work that takes long in one go, such as decoding a large message: such pieces of work take turns, and all
 * of them together have a few milliseconds in each turn of the event loop.
 */
import { schedule } from "./event-loop.ts";

/** Time in one turn of the event loop, in milliseconds, for all pieces of work together. */
const SLICE_MS = 2;

/** When the slice of this turn ends; `undefined` outside of a turn with a slice. */
let sliceEnds: number | undefined;
/** Pieces of work that wait for the next slice, in order. */
const waiting: (() => void)[] = [];

/** To be called before each step of long work: `undefined` if the step may be done at once, or a promise to await first. */
export function nextStep(): Promise<void> | undefined {
  if (sliceEnds === undefined) beginSlice();
  const inTime = performance.now() < (sliceEnds as number);
  if (inTime && waiting.length === 0) return undefined;
  const step = new Promise<void>((resolve) => waiting.push(resolve));
  if (inTime) waiting.shift()?.();
  return step;
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
