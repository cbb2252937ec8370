/** Latencies of many calls in little memory: a histogram whose buckets grow by two percent. */

const smallestMs = 0.001;
const growth = Math.log(1.02);
const bucketCount = 1024;

export class Latencies {
  readonly #buckets = new Uint32Array(bucketCount);
  #count = 0;

  get count(): number {
    return this.#count;
  }

  record(ms: number): void {
    const bucket = ms <= smallestMs ? 0 : Math.min(bucketCount - 1, Math.floor(Math.log(ms / smallestMs) / growth));
    this.#buckets[bucket] = (this.#buckets[bucket] ?? 0) + 1;
    this.#count++;
  }

  /** Returns the latency in milliseconds that the given share of the calls did not exceed. */
  quantile(share: number): number {
    let left = Math.ceil(this.#count * share);
    let bucket = 0;
    for (const count of this.#buckets) {
      left -= count;
      if (left <= 0) break;
      bucket++;
    }
    return smallestMs * Math.exp((bucket + 0.5) * growth);
  }
}
