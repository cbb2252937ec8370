/**
 * Entry point `triple-es/hessian2`: Hessian 2, Dubbo's serialization of interface methods. It decodes data only: received
 * bytes cannot load classes or run code, and undeclared classes are refused.
 */
import { assertOneOf } from "./call/option.ts";
import { Cost } from "./java/cost.ts";
import { Hessian2Decoder } from "./java/hessian2/decoder.ts";
import type { Hessian2Limits } from "./java/hessian2/raw.ts";
import { readHessian2 } from "./java/hessian2/reader.ts";
import { writeException, writeHessian2 } from "./java/hessian2/writer.ts";
import type { Serialization } from "./java/serialization.ts";
import type { JavaClass, JavaEnum, JavaType } from "./java/signature.ts";
import { type DeclaredTypes, declaredTypes } from "./java/type.ts";

export type { Hessian2Limits } from "./java/hessian2/raw.ts";

export interface Hessian2Options {
  /**
   * Classes to accept in addition to those that signatures declare: subclasses of declared classes, and classes of values
   * that are declared as `Object`. Default: none.
   */
  readonly classes?: readonly JavaClass[] | undefined;
  /** Enums to accept for values that are declared as `Object`. Default: none. */
  readonly enums?: readonly JavaEnum[] | undefined;
  readonly limits?: Hessian2Limits | undefined;
}

/** Creates the serialization with additional classes and enums, or custom limits. */
export function createHessian2({ classes = [], enums = [], limits = {} }: Hessian2Options = {}): Serialization {
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
    decode(type, bytes, cost = new Cost()) {
      return new Hessian2Decoder(declaredBy(type), limits, cost).decode(type, readHessian2(bytes, limits, cost));
    },
    encodeException: (exception) => writeException(exception, limits),
    decodeException: (bytes) => new Hessian2Decoder(registered, limits).decodeException(readHessian2(bytes, limits)),
  };
}

/** Hessian 2 with the default limits, which accepts only the classes that signatures declare. */
export const hessian2: Serialization = /*@__PURE__*/ createHessian2();

/** Options of a Node transport, as {@link dubboJava} sets them. */
export interface DubboJavaOptions {
  readonly protocol: "grpc" | "http-rpc";
  readonly codec?: "json";
  readonly jsonBody?: "object";
  readonly javaNames?: boolean;
  readonly serializations?: readonly Serialization[];
}

/**
 * Returns the options of a transport that calls Dubbo for Java: `createTransport({ baseUrl, ...dubboJava() })`. With
 * `grpc`, the default, values of interface methods are sent in Hessian 2. With `http-rpc`, messages are bare JSON objects,
 * the only form that Dubbo reads, and methods have their Java names. Throws a `TypeError` for an invalid protocol.
 */
export function dubboJava(protocol: "grpc" | "http-rpc" = "grpc"): DubboJavaOptions {
  assertOneOf("protocol", protocol, ["grpc", "http-rpc"]);
  if (protocol === "grpc") return { protocol, serializations: [hessian2] };
  return { protocol, codec: "json", jsonBody: "object", javaNames: true };
}
