/**
 * Number of runs of property tests. `HTTP2_RUNS` multiplies it, for example for a nightly run.
 */
const FACTOR = Number(process.env["HTTP2_RUNS"] ?? 1);

export function runs(normal: number): number {
  return Math.ceil(normal * FACTOR);
}
