/**
 * The columns of the tables of latencies: the p99 of a client in milliseconds, without an attack, beside an attack on another
 * process, and beside an attack on the process that it uses.
 */
export interface Latency {
  readonly quiet: number;
  readonly control: number;
  readonly attacked: number;
}

const COLUMN = 10;
export const HEADING: string = ["quiet", "control", "attacked", "/ control", "/ quiet"]
  .map((title) => title.padStart(COLUMN))
  .join("");

/** Returns the columns under {@link HEADING}: medians of the rounds, and of their ratios. */
export function row(rounds: readonly Latency[]): string {
  const columns: readonly (readonly [of: (one: Latency) => number, digits: number])[] = [
    [({ quiet }) => quiet, 2],
    [({ control }) => control, 2],
    [({ attacked }) => attacked, 2],
    [({ control, attacked }) => attacked / control, 1],
    [({ quiet, attacked }) => attacked / quiet, 1],
  ];
  return columns.map(([of, digits]) => median(rounds.map(of)).toFixed(digits).padStart(COLUMN)).join("");
}

export function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[numbers.length >> 1] ?? Number.NaN;
}
