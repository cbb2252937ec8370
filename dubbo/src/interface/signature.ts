/**
 * Signatures of interface methods: the Java types of parameters and result (spec: Payload schema of the extended content
 * type). Generated code contains them as plain data. They determine the encoding of wrapped messages in sub-protocol B and of
 * JSON arguments in sub-protocol A.
 *
 * The message of an interface method is an array: all arguments of a request, or the single value of a response or of a
 * streamed message. The message of a void result is `[undefined]`.
 */
import type { Method, PayloadMethod } from "triple-es";

/** Parameters and result of a method of a Java interface. */
export interface Signature {
  /** The parameters, in order. */
  readonly parameters: readonly Parameter[];
  /** The type of the result: `void` for a method that returns nothing; for a stream, the type of one value. */
  readonly result: JavaType;
  /** Name of the serialization for the values in sub-protocol B. Default: `hessian2`. */
  readonly serialization?: string;
}

/** A parameter of a method. */
export interface Parameter {
  /** The declared name: the key of the argument in a JSON object. */
  readonly name: string;
  /** The type of the argument. */
  readonly type: JavaType;
}

/** A Java type, generics included. Named types are spelled as by `Class.getName`. */
export type JavaType =
  | JavaPrimitive
  | JavaBuiltIn
  | { readonly list: JavaType }
  | { readonly set: JavaType }
  /** The value is a `Map` in TypeScript; with `record` it is an object whose keys are strings. */
  | { readonly map: readonly [key: JavaType, value: JavaType]; readonly record?: true }
  | { readonly array: JavaType }
  | {
      /** Returns the class. It is a function because classes may refer to each other. */
      readonly class: () => JavaClass;
    }
  | { readonly enum: JavaEnum };

/** Types whose values are never null. */
export type JavaPrimitive = "boolean" | "byte" | "short" | "int" | "long" | "float" | "double" | "char" | "void";

/** Built-in types whose values may be null, like those of all types except the primitive ones. */
export type JavaBuiltIn =
  | "java.lang.Boolean"
  | "java.lang.Byte"
  | "java.lang.Short"
  | "java.lang.Integer"
  | "java.lang.Long"
  | "java.lang.Float"
  | "java.lang.Double"
  | "java.lang.Character"
  | "java.lang.String"
  | "java.lang.Object"
  | "java.math.BigDecimal"
  | "java.math.BigInteger"
  | "java.util.Date"
  | "[B";

/** A class of data objects: its name, and its fields including inherited ones. */
export interface JavaClass {
  /** Full name of the class, such as `com.acme.User`. */
  readonly name: string;
  /** The types of the fields, by name. */
  readonly fields: Readonly<Record<string, JavaType>>;
}

/** A Java enum. Its values are strings in TypeScript. */
export interface JavaEnum {
  /** Full name of the enum, such as `com.acme.Color`. */
  readonly name: string;
  /** The names of its constants, in order. */
  readonly values: readonly string[];
}

/** An interface method in generated code: a TypeScript or Java interface declares it, not a proto file. */
export interface InterfaceMethod extends PayloadMethod {
  /** The Java types of its parameters and result. */
  readonly signature: Signature;
}

export function isInterfaceMethod(method: Method): method is InterfaceMethod {
  return "signature" in method;
}

/** Returns the signature of a method. Throws a `TypeError` if it is not an interface method. */
export function signatureOf(method: Method): Signature {
  if (isInterfaceMethod(method)) return method.signature;
  throw new TypeError(`${method.path} has no signature: it is not declared by an interface`);
}
