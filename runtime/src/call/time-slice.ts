/**
 * Time slices for long synchronous work, such as decoding a large message: the running jobs take turns and share a few
 * milliseconds in each turn of the event loop.
 */
import { schedule } from "./event-loop.ts";

/** Time for all jobs together in one turn of the event loop, in milliseconds. */
const SLICE_MS = 2;

/** The time at which the slice of this turn ends; `undefined` outside of a turn with a slice. */
let sliceEnds: number | undefined;
/** Jobs that wait for the next slice, in order. */
const waiting: (() => void)[] = [];

/**
 * Call it before each step of long work. It returns `undefined` if the step may run now, or a promise to await first.
 */
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
