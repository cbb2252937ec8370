/**
 * Long work in steps. A function that decodes is a generator: it yields where other work may run, and yields a promise if it
 * needs the result. The same code decodes a small message at once and a large one in time slices.
 */
import { nextStep } from "./time-slice.ts";

/** Work with a result. It yields `undefined` between two steps, or a promise whose result it receives. */
export type Steps<T> = Generator<Promise<unknown> | undefined, T, unknown>;

/** Values that are processed in one step, which takes less than a millisecond. */
const VALUES_PER_STEP = 256;

/** Counts the values of long work. */
export class StepCounter {
  #count = 0;

  /** Counts values. Returns true if the work should yield before the next one. */
  add(values = 1): boolean {
    this.#count += values;
    if (this.#count < VALUES_PER_STEP) return false;
    this.#count = 0;
    return true;
  }
}

/** Returns work that is done, with its result. */
// biome-ignore lint/correctness/useYield: the work has no steps.
export function* immediate<T>(result: T): Steps<T> {
  return result;
}

/** Waits for a promise inside of work in steps. */
export function* waitFor<T>(promise: Promise<T>): Steps<T> {
  return (yield promise) as T;
}

/** Runs work without a pause. The work must not wait for promises. */
export function runAtOnce<T>(work: Steps<T>): T {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
    if (value !== undefined) throw new TypeError("work that waits for a promise cannot run at once");
  }
}

/** Runs work in time slices. Returns its result, or a promise if the work pauses. Throws or rejects with its errors. */
export function runInSteps<T>(work: Steps<T>): T | Promise<T> {
  const first = work.next();
  return first.done === true ? first.value : resumeInSteps(work, first.value);
}

/** Continues work in time slices after it has yielded. */
export async function resumeInSteps<T>(work: Steps<T>, yielded: Promise<unknown> | undefined): Promise<T> {
  for (let pending = yielded; ; ) {
    let step: IteratorResult<Promise<unknown> | undefined, T>;
    if (pending !== undefined) step = await settle(work, pending);
    else {
      const turn = nextStep();
      if (turn !== undefined) await turn;
      step = work.next();
    }
    if (step.done === true) return step.value;
    pending = step.value;
  }
}

async function settle<T>(
  work: Steps<T>,
  pending: Promise<unknown>,
): Promise<IteratorResult<Promise<unknown> | undefined, T>> {
  let result: unknown;
  try {
    result = await pending;
  } catch (reason) {
    return work.throw(reason);
  }
  return work.next(result);
}
