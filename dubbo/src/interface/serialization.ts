/**
 * Serializations: how sub-protocol B carries single values of interface methods (spec: Payload schema of the extended content
 * type).
 */
import { Code, RpcError } from "triple-es";
import { encodeJson, type PayloadOptions } from "triple-es/internal";
import { Cost } from "./cost.ts";
import type { JavaException } from "./exception.ts";
import { toJson } from "./json.ts";
import { parseExactJson } from "./json-text.ts";
import { fromJson } from "./read-json.ts";
import type { JavaType, Signature } from "./signature.ts";

/**
 * Encodes values of a declared type. It may throw any error, which the protocol converts to an `RpcError`. Users may
 * write and register their own.
 */
export interface Serialization {
  /** Lower-case name, such as `hessian2`, by which signatures ask for it. */
  readonly name: string;
  /** Its name on the wire. Default: `name`. Both are accepted. */
  readonly wireName?: string;
  /** `cost` counts all values of a message together: pass it on when calling a built-in serialization. */
  encode(type: JavaType, value: unknown, cost?: Cost): Uint8Array;
  /** Decodes a value of the type. It may throw any error for bytes that are not one. `cost` is as in {@link encode}. */
  decode(type: JavaType, bytes: Uint8Array, cost?: Cost): unknown;
  /** Encodes an exception. If absent, exceptions are reported as a status. */
  encodeException?(exception: JavaException): Uint8Array;
  /** Decodes an exception. If absent, a response with an exception fails with its status. */
  decodeException?(bytes: Uint8Array): JavaException;
}

/** Finds a serialization by its name on the wire or in signatures. */
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

/** Encodes values as JSON text. Its name on the wire is `json`. Dubbo for Java does not support it. */
export const jsonSerialization: Serialization = {
  name: "json",
  encode: (type, value, cost) => encodeJson(toJson(type, value, cost)),
  decode: (type, bytes, cost = new Cost()) => fromJson(type, parseExactJson(bytes, cost), cost),
};
