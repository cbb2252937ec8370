/** Values with an explicit type, for parameters that Java declares as `Object`. */
import type { JavaType } from "./signature.ts";
import { ANY_LIST, ANY_MAP, ANY_SET } from "./type.ts";

/** A value with its type in Java, as {@link typed} creates it. */
export class TypedValue {
  /** The type that Java receives. */
  readonly type: JavaType;
  /** The value. */
  readonly value: unknown;

  constructor(type: JavaType, value: unknown) {
    this.type = type;
    this.value = value;
  }
}

/**
 * Adds an explicit type to a value for a `java.lang.Object`. Without it, Java receives a 32-bit integer as an `Integer`,
 * another number as a `Double`, a bigint as a `Long`, an array as a list, and an object as a map.
 */
export function typed(type: JavaType, value: unknown): TypedValue {
  return new TypedValue(type, value);
}

/**
 * Returns the type of a value: the explicit type, otherwise a type by its kind. Throws a `TypeError` if Java has no such
 * type.
 */
export function runtimeType(value: unknown): JavaType {
  if (value instanceof TypedValue) return value.type;
  if (typeof value === "string") return "java.lang.String";
  if (typeof value === "boolean") return "java.lang.Boolean";
  if (typeof value === "bigint") return "java.lang.Long";
  if (typeof value === "number") return isInt(value) ? "java.lang.Integer" : "java.lang.Double";
  if (value instanceof Date) return "java.util.Date";
  if (value instanceof Uint8Array) return "[B";
  if (Array.isArray(value)) return ANY_LIST;
  if (value instanceof Set) return ANY_SET;
  if (typeof value === "object") return ANY_MAP;
  throw new TypeError(`a ${typeof value} has no type in Java`);
}

const isInt = (value: number): boolean => (value | 0) === value && !Object.is(value, -0);
