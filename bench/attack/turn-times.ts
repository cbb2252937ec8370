/**
 * Measures the turns of the event loop of this process, in CPU time of its main thread.
 */
import { mainThreadNanoseconds } from "../cpu-time.ts";

/** Turns of the event loop, in milliseconds. */
export interface Turns {
  /** The 99th percentile of the time that an event waits for the rest of a turn, if it arrives at any time. */
  readonly wait: number;
  readonly longest: number;
  /** The share of the time that was spent in turns of more than {@link IDLE_MS}. */
  readonly busy: number;
}

/** A turn that does nothing but measure takes less than this time, in milliseconds. */
const IDLE_MS = 0.05;

let turns: number[] | undefined;

/** Milliseconds of this thread on a CPU. */
function cpuMs(): number {
  return (mainThreadNanoseconds() ?? performance.now() * 1_000_000) / 1_000_000;
}

/** Measures each turn from now on. The event loop does not wait for events meanwhile. */
export function beginTurns(): void {
  const measured: number[] = [];
  turns = measured;
  let last = cpuMs();
  const measure = (): void => {
    if (turns !== measured) return;
    const now = cpuMs();
    measured.push(now - last);
    last = now;
    setImmediate(measure);
  };
  setImmediate(measure);
}

export function endTurns(): Turns {
  const measured = turns ?? [];
  turns = undefined;
  const total = sum(measured);
  return {
    wait: waitOf(measured, total / 100),
    longest: longestOf(measured),
    busy: sum(measured.filter((ms) => ms > IDLE_MS)) / total,
  };
}

/** The wait that is exceeded during `excess` milliseconds. An event that arrives in a turn waits for the rest of it. */
function waitOf(measured: readonly number[], excess: number): number {
  let [low, high] = [0, longestOf(measured)];
  while (high - low > 0.001) {
    const middle = (low + high) / 2;
    if (sum(measured.map((ms) => Math.max(0, ms - middle))) > excess) low = middle;
    else high = middle;
  }
  return high;
}

function longestOf(measured: readonly number[]): number {
  return measured.reduce((longest, one) => Math.max(longest, one), 0);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}
