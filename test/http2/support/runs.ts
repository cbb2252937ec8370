/**
 * Parameters of property tests. By default a property has a fixed number of runs and a random seed, which a failure prints.
 * `HTTP2_RUNS` sets the number of runs of each property, and `HTTP2_SEED` the seed; `npm run fuzz` sets both.
 */
import type { Parameters } from "fast-check";
import { vi } from "vitest";

const { HTTP2_RUNS, HTTP2_SEED } = process.env;
/** A property with that many runs takes minutes on a busy machine. */
if (HTTP2_RUNS !== undefined) vi.setConfig({ testTimeout: 2 * 60 * 60_000 });

export function runs<T>(normal: number): Pick<Parameters<T>, "numRuns" | "seed"> {
  const numRuns = HTTP2_RUNS === undefined ? normal : Number(HTTP2_RUNS);
  return HTTP2_SEED === undefined ? { numRuns } : { numRuns, seed: Number(HTTP2_SEED) };
}
