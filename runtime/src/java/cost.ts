/**
 * Limits on the memory and time for the values of one message, in either direction. A few bytes can refer to an object a
 * million times (an amplification attack), and a message can have many arguments, so all values of a message are counted
 * together when they are read, created and written.
 */
import { indexOfKey, largestIndex } from "../codec/memory.ts";

export interface CostLimits {
  /** Most values in a message. Default: 1,000,000. */
  readonly maxValues?: number | undefined;
  /** Most lists, maps and objects in a message. Default: 150,000. */
  readonly maxContainers?: number | undefined;
  /** Most bytes written, before compression. Default: 64 MiB. */
  readonly maxBytes?: number | undefined;
}

const DEFAULT_COST_LIMITS = {
  maxValues: 1_000_000,
  maxContainers: 150_000,
  maxBytes: 64 * 2 ** 20,
};

/** The counters of one message. The methods throw when a limit is exceeded. */
export class Cost {
  #values = 0;
  #containers = 0;
  #made = 0;
  #bytes = 0;

  /** Counts values that were read or are being written. */
  addValues(count: number, { maxValues = DEFAULT_COST_LIMITS.maxValues }: CostLimits = DEFAULT_COST_LIMITS): void {
    this.#values += count;
    if (this.#values > maxValues) throw limitError("values", maxValues);
  }

  addContainer({ maxContainers = DEFAULT_COST_LIMITS.maxContainers }: CostLimits = DEFAULT_COST_LIMITS): void {
    this.#containers += 1;
    if (this.#containers > maxContainers) throw limitError("lists, maps and objects", maxContainers);
  }

  /** Counts values that are created from values read: once more for each reference, and for each missing field. */
  addMade(count: number, { maxValues = DEFAULT_COST_LIMITS.maxValues }: CostLimits = DEFAULT_COST_LIMITS): void {
    this.#made += count;
    if (this.#made > maxValues) throw limitError("values", maxValues);
  }

  /**
   * Counts the array that JavaScript engines reserve for integers among the names of an object: 12 KB for the name 1000.
   * `largest` is the largest integer in the array so far, at first 0. Returns the largest after this name.
   */
  addName(name: string, largest: number, limits?: CostLimits): number {
    const next = largestIndex(largest, indexOfKey(name));
    if (next > largest) this.addMade(Math.ceil((next - largest) / 2), limits);
    return next;
  }

  /** Counts bytes that are being written. */
  addBytes(count: number, { maxBytes = DEFAULT_COST_LIMITS.maxBytes }: CostLimits = DEFAULT_COST_LIMITS): void {
    this.#bytes += count;
    if (this.#bytes > maxBytes) throw limitError("bytes", maxBytes);
  }
}

export function limitError(what: string, limit: number): Error {
  return new Error(`there are more than the limit of ${limit} ${what}`);
}
