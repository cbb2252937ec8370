/**
 * The door to Hessian 2, the serialization that Dubbo has for interfaces without IDL. Only data: no class is looked up, no
 * code is run by what arrives, and a class that nobody declared is refused.
 */

import { Cost } from "./java/cost.ts";
import { Decoder } from "./java/hessian2/decoder.ts";
import type { Hessian2Limits } from "./java/hessian2/raw.ts";
import { readHessian2 } from "./java/hessian2/reader.ts";
import { writeException, writeHessian2 } from "./java/hessian2/writer.ts";
import type { Serialization } from "./java/serialization.ts";
import type { JavaClass, JavaEnum, JavaType } from "./java/signature.ts";
import { type DeclaredTypes, declaredTypes } from "./java/type.ts";

export type { Hessian2Limits } from "./java/hessian2/raw.ts";

export interface Hessian2Options {
  /**
   * Classes that may arrive beside those that signatures declare: subclasses of them, and what an `Object` may be. Default:
   * none.
   */
  readonly classes?: readonly JavaClass[] | undefined;
  /** Enums that an `Object` may be. Default: none. */
  readonly enums?: readonly JavaEnum[] | undefined;
  readonly limits?: Hessian2Limits | undefined;
}

/** Makes the serialization for those who declare more classes, or other limits. */
export function createHessian2({ classes = [], enums = [], limits = {} }: Hessian2Options = {}): Serialization {
  const types: JavaType[] = [...classes.map((one) => ({ class: () => one })), ...enums.map((one) => ({ enum: one }))];
  const known = new WeakMap<object, DeclaredTypes>();
  const registered = declaredTypes(types);

  /** What may arrive as a type: looked up once for each. */
  function declaredBy(type: JavaType): DeclaredTypes {
    if (typeof type === "string") return registered;
    const found = known.get(type) ?? declaredTypes([...types, type]);
    known.set(type, found);
    return found;
  }

  return {
    name: "hessian2",
    wireName: "hessian4",
    encode: (type, value, cost) => writeHessian2(type, value, limits, cost),
    decode(type, bytes, cost = new Cost()) {
      return new Decoder(declaredBy(type), limits, cost).decode(type, readHessian2(bytes, limits, cost));
    },
    encodeException: (exception) => writeException(exception, limits),
    decodeException: (bytes) => new Decoder(registered, limits).decodeException(readHessian2(bytes, limits)),
  };
}

/** Hessian 2 with the classes that signatures declare, and the limits that there are by default. */
export const hessian2: Serialization = /*@__PURE__*/ createHessian2();
