/**
 * Limits on the memory and time for the values of one message, in either direction. A few bytes can refer to an object a
 * million times (an amplification attack), and a message can have many arguments, so all values of a message are counted
 * together when they are read, created and written.
 */
import { indexOfKey, largestIndex, Memory } from "../codec/memory.ts";

/** Limits on the values of one message. Each must be a positive integer. */
export interface CostLimits {
  /** Most values in a message. Default: 1,000,000. */
  readonly maxValues?: number | undefined;
  /** Most lists, maps and objects in a message. Default: 150,000. */
  readonly maxContainers?: number | undefined;
  /**
   * Most memory of the values of a received message, in bytes, as estimated while they are read. Default: 64 MiB, which is 16
   * times the default limit on the size of a message.
   */
  readonly maxMemoryBytes?: number | undefined;
  /** Most bytes written, before compression. Default: 64 MiB. */
  readonly maxBytes?: number | undefined;
}

export const DEFAULT_COST_LIMITS: Readonly<Record<keyof CostLimits, number>> = {
  maxValues: 1_000_000,
  maxContainers: 150_000,
  maxMemoryBytes: 64 * 2 ** 20,
  maxBytes: 64 * 2 ** 20,
};

/** The counters of one message. The methods throw when a limit is exceeded. */
export class Cost {
  #values = 0;
  #containers = 0;
  #madeContainers = 0;
  #made = 0;
  #memory = 0;
  #bytes = 0;

  /** Returns a copy for one of several attempts to create the values: what was read counts in each of them. */
  fork(): Cost {
    const copy = new Cost();
    copy.#values = this.#values;
    copy.#containers = this.#containers;
    copy.#memory = this.#memory;
    return copy;
  }

  /** Counts values that were read or are being written. */
  addValues(count: number, { maxValues = DEFAULT_COST_LIMITS.maxValues }: CostLimits = DEFAULT_COST_LIMITS): void {
    this.#values += count;
    if (this.#values > maxValues) throw limitError("values", maxValues);
  }

  /** Counts a list, map or object that was read or is being written. */
  addContainer({ maxContainers = DEFAULT_COST_LIMITS.maxContainers }: CostLimits = DEFAULT_COST_LIMITS): void {
    this.#containers += 1;
    if (this.#containers > maxContainers) throw limitError("lists, maps and objects", maxContainers);
  }

  /** Counts a list, map or object that is created from one that was read. */
  addMadeContainer({ maxContainers = DEFAULT_COST_LIMITS.maxContainers }: CostLimits = DEFAULT_COST_LIMITS): void {
    this.#madeContainers += 1;
    if (this.#madeContainers > maxContainers) throw limitError("lists, maps and objects", maxContainers);
  }

  /** Counts estimated memory, in bytes. The places of values in lists are part of the estimate for a list. */
  addMemory(bytes: number, { maxMemoryBytes = DEFAULT_COST_LIMITS.maxMemoryBytes }: CostLimits = {}): void {
    this.#memory += bytes;
    if (this.#memory > maxMemoryBytes) throw limitError("bytes of memory", maxMemoryBytes);
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

/** A message that costs more than a limit allows. Servers answer `resource_exhausted`. */
export class LimitError extends Error {
  override readonly name: string = "LimitError";
}

export function limitError(what: string, limit: number): LimitError {
  return new LimitError(`there are more than the limit of ${limit} ${what}`);
}

/** Memory of a list without items, of one with at least one, and of each item, in bytes. */
export const LIST_BYTES: number = Memory.list;
export const FIRST_ITEM_BYTES: number = Memory.items + Memory.firstItem;
export const ITEM_BYTES: number = Memory.item;

/** Members of an object up to which engines describe its names apart from it, once for all objects with the same names. */
const SHAPED_MEMBERS = 16;
/** Memory of a place in the hash table of an object with more members. */
const PLACE_BYTES = 3 * Memory.slot;

/** Estimates the memory that an object takes when a member is added to it, in bytes. `count`: its members before. */
export function memberBytes(count: number): number {
  if (count === 0) return Memory.firstMember;
  if (count < SHAPED_MEMBERS) return PLACE_BYTES;
  return PLACE_BYTES * (places(count + 1) - (count === SHAPED_MEMBERS ? SHAPED_MEMBERS : places(count)));
}

/** Places in a hash table of a number of members: a power of two, with a reserve of at least half of the members. */
function places(members: number): number {
  return 2 ** (32 - Math.clz32(Math.ceil(1.5 * members) - 1));
}

/** Memory of a set or map with its first entries, and of each entry without its key and value, in bytes. */
export const TABLE_BYTES = 190;
export const TABLE_ENTRY_BYTES = 36;

const DATE_BYTES = 96 + Memory.number;

/** Estimates the memory of a value that contains no others, in bytes, without its place in a list or object. */
export function leafBytes(value: unknown): number {
  if (typeof value === "string") return value.length < 2 ? 0 : Memory.text(value.length);
  if (typeof value === "bigint") return Memory.bigint;
  if (typeof value === "number") return (value | 0) === value ? 0 : Memory.number;
  if (value instanceof Date) return DATE_BYTES;
  return value instanceof Uint8Array ? Memory.bytes : 0;
}
