/**
 * Serializations: how sub-protocol B carries single values of methods without IDL (spec: Payload schema of the extended
 * content type).
 */
import { Code } from "../call/code.ts";
import { RpcError } from "../call/error.ts";
import type { PayloadOptions } from "../call/method.ts";
import type { Cost } from "./cost.ts";
import type { JavaException } from "./exception.ts";
import type { JavaType, Signature } from "./signature.ts";

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

/** The serializations of a transport or server, whose options name their type. */
export function serializationsOf({ serializations = [] }: PayloadOptions): readonly Serialization[] {
  return serializations as readonly Serialization[];
}

const DEFAULT_SERIALIZATION = "hessian2";

/** The serialization that carries the values of a method. Throws an `RpcError` if it is not registered. */
export function requireSerialization(
  all: readonly Serialization[],
  { serialization: name = DEFAULT_SERIALIZATION }: Signature,
  path: string,
): Serialization {
  const found = findSerialization(all, name);
  if (found !== undefined) return found;
  const message = `${path} needs the serialization "${name}": register it with serializations: [${name}]`;
  throw new RpcError(Code.Internal, message);
}
