/**
 * Estimated memory of values, in bytes, for JavaScript engines with 64-bit pointers. The estimate depends only on the
 * bytes that a peer sent.
 */
import { Code, Status } from "../call/code.ts";
import { RpcError } from "../call/error.ts";

export const Memory = {
  /** An object without properties. */
  object: 32,
  /** A property of an object. */
  slot: 8,
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
  /** The first member of a JavaScript object whose name is an integer, for which engines reserve an array. */
  firstIndex: 160,
  /** A number that is not a small integer, outside of a list. */
  number: 16,
  bigint: 24,
  /** A `Uint8Array` over the received bytes, which are not copied. */
  bytes: 112,
  /** An unknown field, which protobuf-es keeps. */
  unknown: 160,
  /** A string of the given number of bytes. */
  text: (bytes: number): number => (bytes === 0 ? 0 : 24 + bytes),
} as const;

/** The limit on the memory of one message, which all steps of its decoding share. */
export class DecodeBudget {
  readonly #limit: number;
  #taken = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Counts estimated memory, in bytes. Throws `resource_exhausted` if the sum exceeds the limit. */
  take(bytes: number): void {
    this.#taken += bytes;
    if (this.#taken > this.#limit) throw tooMuchMemory(this.#taken, this.#limit);
  }
}

/** Memory that one step of decoding takes, in bytes. A step takes one or two milliseconds. */
export const STEP_BYTES: number = 256 * 1024;

/** Creates the error for a message that would exceed the limit on decoded memory. */
export function tooMuchMemory(estimate: number, maxDecodedBytes: number): RpcError {
  const message = `decoding the message would take at least ${estimate} bytes of memory, more than the limit of ${maxDecodedBytes} bytes (option maxDecodedBytes of the receiver)`;
  return new RpcError(Code.ResourceExhausted, message, { status: Status.BadRequest });
}
