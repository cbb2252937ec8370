/**
 * Estimated memory of values, in bytes, for JavaScript engines with 64-bit pointers. The estimate depends only on the
 * bytes that a peer sent.
 */
import { Code, Status } from "../call/code.ts";
import { RpcError } from "../call/error.ts";

export const Memory = {
  /** An object with at most four properties. */
  object: 56,
  /** The object that represents a oneof, with its case and value. */
  oneof: 40,
  /** A property of an object. */
  slot: 8,
  /** The space for 17 items that engines reserve when the first item is added to a list. */
  firstItem: 140,
  /** An item of a list, with its share of the capacity that a growing list has in reserve. */
  item: 12,
  /** A list without items. */
  list: 32,
  /** The array of a list that has items. */
  items: 24,
  /** A map without entries. */
  map: 56,
  /** An entry of a map, with its key. */
  entry: 72,
  /** A member of a JavaScript object whose name no other object has: its entry in a hash table or hidden class. */
  member: 64,
  /** The first member of such an object: its hidden class, or the hash table of its own. */
  firstMember: 160,
  /** The first member of a JavaScript object whose name is an integer, for which engines reserve an array. */
  firstIndex: 160,
  /** The first entry of a map with integers as keys, for which engines reserve an array. */
  firstIndexEntry: 300,
  /** A number that is not a small integer, outside of a list. */
  number: 16,
  bigint: 24,
  /** A `Uint8Array` over the received bytes, which are not copied. */
  bytes: 112,
  /** A `Uint8Array` with its own memory, without its contents. */
  ownBytes: 200,
  /** An unknown field, which protobuf-es keeps. */
  unknown: 160,
  /** A string of the given number of bytes. */
  text: (bytes: number): number => (bytes === 0 ? 0 : 24 + bytes),
} as const;

/** Properties of an object beyond which engines keep them in a hash table, if they are set by computed names. */
const MAX_FAST_PROPERTIES = 16;

/**
 * Estimates the memory of an object with a number of properties, without their values. `computed`: protobuf-es sets
 * properties by computed names, generated codecs do not.
 */
export function objectBytes(properties: number, computed: boolean): number {
  if (properties <= 4) return Memory.object;
  if (computed && properties > MAX_FAST_PROPERTIES) {
    return 2 * Memory.object + 24 * 2 ** Math.ceil(Math.log2(1.5 * properties));
  }
  return Memory.object + 2 * Memory.slot + 3 * Memory.slot * Math.ceil((properties - 4) / 3);
}

/** Memory for each integer up to the largest key of an object, in bytes: the array has a reserve of half its size. */
const INDEX_BYTES = 12;
/** Largest distance of a key from the others for which engines extend the array. Otherwise they use a hash table. */
const MAX_GAP = 1_040;
const MAX_INDEX = 9_999;

/** The largest key for which engines extend an array with the given largest key. */
const reachOf = (largest: number): number => Math.min(1.5 * largest + MAX_GAP, MAX_INDEX);

/** Returns the largest integer in the array of an object's integer keys after a key was added. */
export function largestIndex(largest: number, index: number): number {
  return index <= reachOf(largest) ? Math.max(largest, index) : largest;
}

/** The array that engines reserve for integers among the keys of an object: 12 KB for an object with the only key 1000. */
export class IndexArray {
  #largest = 0;

  /** Adds a key; `undefined`: an unknown key. Returns the memory by which the array grows. */
  add(index: number | undefined): number {
    const next = largestIndex(this.#largest, index ?? reachOf(this.#largest));
    const growth = INDEX_BYTES * (next - this.#largest);
    this.#largest = next;
    return growth;
  }
}

const INDEX = /^[0-9]{1,4}$/;

/** Returns the integer that a key of an object is, or 0. Integers above 9,999 have no effect on {@link IndexArray}. */
export function indexOfKey(key: string): number {
  return INDEX.test(key) ? Number(key) : 0;
}

/** The limit on the memory of one message, which all steps of its decoding share. */
export class DecodeBudget {
  readonly #limit: number;
  #taken = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** The estimated memory so far, in bytes. */
  get taken(): number {
    return this.#taken;
  }

  /** Counts estimated memory, in bytes. Throws `resource_exhausted` if the sum exceeds the limit. */
  take(bytes: number): void {
    this.#taken += bytes;
    if (this.#taken > this.#limit) throw tooMuchMemory(this.#taken, this.#limit);
  }
}

/** The memory of large messages that decoders have estimated, in bytes. */
const estimates = new WeakMap<object, number>();

/** Records the memory of a large message, in bytes, so that it is not estimated again. Returns the message. */
export function recordMemory<T extends object>(message: T, bytes: number): T {
  estimates.set(message, bytes);
  return message;
}

/** Returns the memory that was recorded for a message, in bytes. */
export function recordedMemory(message: object): number | undefined {
  return estimates.get(message);
}

/** Memory that one step of decoding takes, in bytes. A step takes one or two milliseconds. */
export const STEP_BYTES: number = 256 * 1024;

/** Creates the error for a message that would exceed the limit on decoded memory. */
export function tooMuchMemory(estimate: number, maxDecodedBytes: number): RpcError {
  const message = `decoding the message would take at least ${estimate} bytes of memory, more than the limit of ${maxDecodedBytes} bytes (option maxDecodedBytes of the receiver)`;
  return new RpcError(Code.ResourceExhausted, message, { status: Status.BadRequest });
}
