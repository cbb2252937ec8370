/**
 * The serialization Hessian 2. It decodes data only: received bytes cannot load classes or run code, and undeclared classes
 * are refused.
 */
import { assertMembers, resolveLimitGroup } from "triple-es/internal";
import { Cost } from "../cost.ts";
import type { Serialization } from "../serialization.ts";
import type { JavaClass, JavaEnum, JavaType } from "../signature.ts";
import { type DeclaredTypes, declaredTypes } from "../type.ts";
import { Hessian2Decoder } from "./decoder.ts";
import { DEFAULT_HESSIAN2_LIMITS, type Hessian2Limits } from "./raw.ts";
import { readHessian2 } from "./reader.ts";
import { writeException, writeHessian2 } from "./writer.ts";

/** Options of {@link createHessian2}. */
export interface Hessian2Options {
  /**
   * Classes to accept in addition to those that signatures declare: subclasses of declared classes, and classes of values
   * that are declared as `Object`. Default: none.
   */
  readonly classes?: readonly JavaClass[] | undefined;
  /** Enums to accept for values that are declared as `Object`. Default: none. */
  readonly enums?: readonly JavaEnum[] | undefined;
  /** Limits of a message, each a positive integer. Default: that of each limit. */
  readonly limits?: Hessian2Limits | undefined;
}

/**
 * Creates the serialization with additional classes and enums, or custom limits. Throws a `TypeError` for an unknown
 * option or limit and a `RangeError` for a value out of range.
 */
export function createHessian2(options: Hessian2Options = {}): Serialization {
  assertMembers("the options of createHessian2", options, ["classes", "enums", "limits"]);
  const { classes = [], enums = [], limits: given } = options;
  const limits = resolveLimitGroup("limits", DEFAULT_HESSIAN2_LIMITS, given);
  const types: JavaType[] = [...classes.map((one) => ({ class: () => one })), ...enums.map((one) => ({ enum: one }))];
  const known = new WeakMap<object, DeclaredTypes>();
  const registered = declaredTypes(types);

  /** Returns the accepted classes and enums of a type, computed once for each type. */
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
    decode: (type, bytes, cost = new Cost()) =>
      new Hessian2Decoder(declaredBy(type), cost).value(type, readHessian2(bytes, limits, cost)),
    encodeException: (exception) => writeException(exception, limits),
    decodeException: (bytes) => {
      const cost = new Cost();
      return new Hessian2Decoder(registered, cost).exception(readHessian2(bytes, limits, cost));
    },
  };
}

/** Hessian 2 with the default limits, which accepts only the classes that signatures declare. */
export const hessian2: Serialization = /*@__PURE__*/ createHessian2();
