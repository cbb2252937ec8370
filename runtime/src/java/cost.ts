/**
 * What the values of one message may cost, whichever way they go. An object may be there a million times in few bytes, and a
 * message has many arguments: so all of them are counted together, as they are read, made and written.
 */

export interface CostLimits {
  /** How many values there may be altogether. Default: 1,000,000. */
  readonly maxValues?: number | undefined;
  /** How many of them may be lists, maps and objects. Default: 250,000. */
  readonly maxContainers?: number | undefined;
  /** How many bytes may be written, before they are compressed. Default: 64 MiB. */
  readonly maxBytes?: number | undefined;
}

const DEFAULT_COST_LIMITS = {
  maxValues: 1_000_000,
  maxContainers: 250_000,
  maxBytes: 64 * 2 ** 20,
};

/** The count of one message. What goes beyond a limit throws. */
export class Cost {
  #values = 0;
  #containers = 0;
  #made = 0;
  #bytes = 0;

  /** Values that were read or are being written. */
  addValues(count: number, { maxValues = DEFAULT_COST_LIMITS.maxValues }: CostLimits = DEFAULT_COST_LIMITS): void {
    this.#values += count;
    if (this.#values > maxValues) throw limitError("values", maxValues);
  }

  addContainer({ maxContainers = DEFAULT_COST_LIMITS.maxContainers }: CostLimits = DEFAULT_COST_LIMITS): void {
    this.#containers += 1;
    if (this.#containers > maxContainers) throw limitError("lists, maps and objects", maxContainers);
  }

  /** Values that are made of what was read: a reference leads to them again, and what was left out is made up. */
  addMade(count: number, { maxValues = DEFAULT_COST_LIMITS.maxValues }: CostLimits = DEFAULT_COST_LIMITS): void {
    this.#made += count;
    if (this.#made > maxValues) throw limitError("values", maxValues);
  }

  /** Bytes that are being written. */
  addBytes(count: number, { maxBytes = DEFAULT_COST_LIMITS.maxBytes }: CostLimits = DEFAULT_COST_LIMITS): void {
    this.#bytes += count;
    if (this.#bytes > maxBytes) throw limitError("bytes", maxBytes);
  }
}

export function limitError(what: string, limit: number): Error {
  return new Error(`there are more than the limit of ${limit} ${what}`);
}
