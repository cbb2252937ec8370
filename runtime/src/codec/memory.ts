/**
 * The memory that values take, in bytes, as engines of JavaScript with pointers of 64 bits have it: an estimate that depends
 * on what a peer sent, and on nothing else.
 */
import { Code, Status } from "../call/code.ts";
import { RpcError } from "../call/error.ts";

export const Memory = {
  /** An object without properties. */
  object: 32,
  /** A property of an object, or an item of a list. */
  slot: 8,
  /** A list without items. */
  list: 32,
  /** A map without entries. */
  map: 56,
  /** An entry of a map, with its key. */
  entry: 72,
  /** A number that is not small, outside of a list. */
  number: 16,
  bigint: 24,
  /** A view of bytes, which stay where they were received. */
  bytes: 112,
  /** A field that the type does not have, which is kept. */
  unknown: 160,
  /** Text of so many bytes. */
  text: (bytes: number): number => (bytes === 0 ? 0 : 24 + bytes),
} as const;

/** Memory that is taken in one step of decoding: one or two milliseconds of work. */
export const STEP_BYTES: number = 256 * 1024;

/** The error of a message that would take more memory than it may. */
export function tooMuchMemory(estimate: number, maxDecodedBytes: number): RpcError {
  const message = `decoding the message would take at least ${estimate} bytes of memory, more than the limit of ${maxDecodedBytes} bytes (option maxDecodedBytes of the receiver)`;
  return new RpcError(Code.ResourceExhausted, message, { status: Status.BadRequest });
}
