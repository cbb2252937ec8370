/**
 * Methods without IDL: what Java declares of their parameters and results (spec: Payload schema of the extended content
 * type). Generated code writes these values down as plain data; the wrapper of sub-protocol B and the JSON arguments of
 * sub-protocol A are driven by them.
 *
 * The message of such a method is an array: all arguments of a request, the one value of a response or of a step of a
 * stream. So a result of nothing is `[undefined]`.
 */

/** Parameters and result of a method of a Java interface. */
export interface Signature {
  readonly parameters: readonly Parameter[];
  /** `void` for a method that returns nothing. Of a stream it is the type of one value. */
  readonly result: JavaType;
  /** Name of the serialization that carries the values in sub-protocol B. Default: `hessian2`. */
  readonly serialization?: string;
}

export interface Parameter {
  /** Its declared name: the key of the argument where a JSON body is an object. */
  readonly name: string;
  readonly type: JavaType;
}

/** A type of Java, generics included. Those with a name are written as `Class.getName` writes it. */
export type JavaType =
  | JavaPrimitive
  | JavaBuiltIn
  | { readonly list: JavaType }
  | { readonly set: JavaType }
  /** A `Map` in TypeScript; with `record` an object whose keys are strings. */
  | { readonly map: readonly [key: JavaType, value: JavaType]; readonly record?: true }
  | { readonly array: JavaType }
  /** In a function, because classes may refer to each other. */
  | { readonly class: () => JavaClass }
  | { readonly enum: JavaEnum };

/** Never null. */
export type JavaPrimitive = "boolean" | "byte" | "short" | "int" | "long" | "float" | "double" | "char" | "void";

/** May be null, as every type but the primitive ones. */
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

/** A class whose objects are data: its name, and its fields with those it inherits. */
export interface JavaClass {
  readonly name: string;
  readonly fields: Readonly<Record<string, JavaType>>;
}

export interface JavaEnum {
  readonly name: string;
  readonly values: readonly string[];
}
