/**
 * Detection of memory growth: a straight line through samples, and the confidence interval of its slope.
 */

/** Memory of a process after a garbage collection, with the number of calls made so far. */
export interface Sample {
  readonly calls: number;
  readonly bytes: number;
}

export interface Slope {
  readonly bytesPerCall: number;
  /** The slope is within this distance of the true value, with a confidence of 95 %. */
  readonly margin: number;
}

/** Returns the line of least squares. Throws for fewer than four samples, which do not determine a confidence interval. */
export function fitSlope(samples: readonly Sample[]): Slope {
  const n = samples.length;
  const quantile = STUDENT[n - 2];
  if (n < 4 || quantile === undefined) throw new RangeError(`a slope needs 4 to ${STUDENT.length + 1} samples`);
  const meanCalls = mean(samples.map(({ calls }) => calls));
  const meanBytes = mean(samples.map(({ bytes }) => bytes));
  let spread = 0;
  let product = 0;
  for (const { calls, bytes } of samples) {
    spread += (calls - meanCalls) ** 2;
    product += (calls - meanCalls) * (bytes - meanBytes);
  }
  const bytesPerCall = product / spread;
  let residual = 0;
  for (const { calls, bytes } of samples) {
    residual += (bytes - meanBytes - bytesPerCall * (calls - meanCalls)) ** 2;
  }
  return { bytesPerCall, margin: quantile * Math.sqrt(residual / (n - 2) / spread) };
}

/**
 * Reports whether a slope excludes a leak: even the steepest line that fits the samples is below the slope of the smallest
 * possible leak per call.
 */
export function isFlat({ bytesPerCall, margin }: Slope): boolean {
  return bytesPerCall + margin < SMALLEST_LEAK_BYTES;
}

/** An object of V8 without properties takes 24 bytes, a number outside the small integers 16. */
export const SMALLEST_LEAK_BYTES = 16;

/** Quantiles of Student's distribution for a confidence of 95 % on both sides, by degrees of freedom. */
const STUDENT: readonly number[] = [
  Number.POSITIVE_INFINITY,
  12.706,
  4.303,
  3.182,
  2.776,
  2.571,
  2.447,
  2.365,
  2.306,
  2.262,
  2.228,
  2.201,
  2.179,
  2.16,
  2.145,
  2.131,
  2.12,
  2.11,
  2.101,
  2.093,
  2.086,
];

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
