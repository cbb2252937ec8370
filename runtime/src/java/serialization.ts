/**
 * Serializations: how sub-protocol B carries single values of methods without IDL (spec: Payload schema of the extended
 * content type).
 */

import type { Cost } from "./cost.ts";
import type { JavaException } from "./exception.ts";
import type { JavaType } from "./signature.ts";

/**
 * Turns values of a declared type into bytes and back. Throws whatever it likes; the protocol turns it into an `RpcError`.
 * Write your own and register it beside the built-in one.
 */
export interface Serialization {
  /** Lower-case name, such as `hessian2`, by which signatures ask for it. */
  readonly name: string;
  /** The name it has on the wire, where that is another one; both are read. */
  readonly wireName?: string;
  /** `cost` counts what all values of a message cost together. Who calls a built-in serialization hands it on. */
  encode(type: JavaType, value: unknown, cost?: Cost): Uint8Array;
  decode(type: JavaType, bytes: Uint8Array, cost?: Cost): unknown;
  /** Absent where exceptions cannot travel: then they are errors like any other. */
  encodeException?(exception: JavaException): Uint8Array;
  decodeException?(bytes: Uint8Array): JavaException;
}

/** The serialization with that name, on the wire or in signatures. */
export function findSerialization(all: readonly Serialization[], name: string): Serialization | undefined {
  return all.find((one) => one.name === name || one.wireName === name);
}

/** The name by which a peer knows it. */
export function wireNameOf({ name, wireName = name }: Serialization): string {
  return wireName;
}
