/** Java types: their names, and the TypeScript values of scalar types. */
import { Code, RpcError } from "triple-es";
import { reasonOf } from "triple-es/internal";
import type { JavaClass, JavaEnum, JavaPrimitive, JavaType, Signature } from "./signature.ts";

/** The primitive types, with the simple names of their boxed types and their codes in the names of arrays. */
const PRIMITIVE_NAMES: readonly (readonly [primitive: JavaPrimitive, boxed: string, code: string])[] = [
  ["boolean", "Boolean", "Z"],
  ["byte", "Byte", "B"],
  ["short", "Short", "S"],
  ["int", "Integer", "I"],
  ["long", "Long", "J"],
  ["float", "Float", "F"],
  ["double", "Double", "D"],
  ["char", "Character", "C"],
];

/** The primitive type of each primitive or boxed type. Other types are absent. */
const SCALARS: ReadonlyMap<unknown, JavaPrimitive> = new Map(
  PRIMITIVE_NAMES.flatMap(([primitive, boxed]) =>
    [primitive, `java.lang.${boxed}`].map((name) => [name, primitive] as const),
  ),
);

/** Returns the primitive type that corresponds to a primitive or boxed type; `undefined` for other types. */
export function scalarOf(type: JavaType): JavaPrimitive | undefined {
  return SCALARS.get(type);
}

/** Reports whether null is invalid for the type. */
export function isPrimitive(type: JavaType): type is JavaPrimitive {
  return scalarOf(type) === type;
}

/** The code of an array's item type in `Class.getName`. */
const ARRAY_CODES: ReadonlyMap<unknown, string> = new Map([
  ...PRIMITIVE_NAMES.map(([name, , code]) => [name, code] as const),
  ["[B", "[B"] as const,
]);

/** Returns the result of `Class.getName` in Java. Generic types are erased: a list is a `java.util.List`. */
export function nameOf(type: JavaType): string {
  if (typeof type === "string") return type;
  if ("list" in type) return "java.util.List";
  if ("set" in type) return "java.util.Set";
  if ("map" in type) return "java.util.Map";
  if ("class" in type) return type.class().name;
  if ("enum" in type) return type.enum.name;
  const item = type.array;
  if (typeof item === "object" && "array" in item) return `[${nameOf(item)}`;
  return `[${ARRAY_CODES.get(item) ?? `L${nameOf(item)};`}`;
}

const namesOfParameters = new WeakMap<Signature, readonly string[]>();

/** Returns the names of the parameter types, by which Java distinguishes overloads. */
export function parameterNames(signature: Signature): readonly string[] {
  const known = namesOfParameters.get(signature);
  if (known !== undefined) return known;
  const names = signature.parameters.map(({ type }) => nameOf(type));
  namesOfParameters.set(signature, names);
  return names;
}

/**
 * Returns the suffix that Dubbo appends to the path of an overload in sub-protocol A: a tilde, and the first letter of each
 * type's simple name.
 */
export function pathSuffix(signature: Signature): string {
  const letters = signature.parameters.map(({ type }) => {
    let item = type;
    while (typeof item === "object" && "array" in item) item = item.array;
    return item === "[B" ? "b" : nameOf(item).replace(/^.*[.$]/, "")[0];
  });
  return `~${letters.join("")}`;
}

/** Reports whether the type is `byte[]`, whose values are `Uint8Array`. */
export function isBytes(type: JavaType): boolean {
  return type === "[B" || (typeof type === "object" && "array" in type && type.array === "byte");
}

/** Reports whether the type is `Byte[]`. */
export function isBoxedBytes(type: JavaType): boolean {
  return typeof type === "object" && "array" in type && type.array === "java.lang.Byte";
}

/** Reports whether the type is `char[]`, which is encoded as a string. */
export function isChars(type: JavaType): boolean {
  return typeof type === "object" && "array" in type && type.array === "char";
}

/** Returns the item type of a list, a set or an array; `undefined` for other types, including `byte[]` and `char[]`. */
export function itemOf(type: JavaType): JavaType | undefined {
  if (typeof type === "string" || isBytes(type) || isChars(type)) return undefined;
  return "list" in type ? type.list : "set" in type ? type.set : "array" in type ? type.array : undefined;
}

const MAGNITUDE_BITS = { byte: 7, short: 15, int: 31 } as const;

/**
 * Converts a value to the TypeScript value of a scalar type. Integers may be numbers or bigints. Throws a `TypeError` for a
 * value that the type cannot hold.
 */
export function toScalar(type: JavaPrimitive, value: unknown): boolean | number | bigint | string {
  if (type === "boolean" && typeof value === "boolean") return value;
  if (type === "char" && typeof value === "string" && value.length === 1) return value;
  if (type === "double" || type === "float") {
    const number = typeof value === "bigint" ? Number(value) : value;
    // A float may be NaN or infinite. A finite number beyond its range is invalid.
    const isInRange = (one: number) => type === "double" || Number.isFinite(one) === Number.isFinite(Math.fround(one));
    if (typeof number === "number" && isInRange(number)) return number;
  }
  if (type === "long" && isWhole(value)) {
    const long = BigInt(value);
    if (BigInt.asIntN(64, long) === long) return long;
  }
  if ((type === "int" || type === "short" || type === "byte") && isWhole(value)) {
    const number = Number(value);
    const limit = 2 ** MAGNITUDE_BITS[type];
    if (number >= -limit && number < limit) return number;
  }
  throw new TypeError(`${show(value)} is not a valid ${type}`);
}

function isWhole(value: unknown): value is number | bigint {
  return typeof value === "bigint" || Number.isSafeInteger(value);
}

/** Most digits accepted, because arithmetic on digits takes more than linear time. */
export const MAX_DIGITS = 10_000;

/** A number of JSON text that a JavaScript number cannot represent. It is not accepted for a string. */
export class ExactNumber {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  toString(): string {
    return this.#text;
  }
}

const BIG_DECIMAL = /^[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,10})?$/;
const BIG_INTEGER = /^[+-]?[0-9]+$/;

/** Returns the text of a `BigDecimal` or a `BigInteger`. Throws a `TypeError` for an invalid value. */
export function toDigits(type: "java.math.BigDecimal" | "java.math.BigInteger", value: unknown): string {
  const text = typeof value === "bigint" || typeof value === "number" ? String(value) : value;
  const grammar = type === "java.math.BigDecimal" ? BIG_DECIMAL : BIG_INTEGER;
  if (typeof text === "string" && text.length <= MAX_DIGITS && grammar.test(text)) return text;
  throw new TypeError(`${show(value)} is not a valid ${type}`);
}

/** Validates the name of an enum value. Throws a `TypeError` for an unknown name. */
export function toEnum({ name, values }: JavaEnum, value: unknown): string {
  if (typeof value === "string" && values.includes(value)) return value;
  throw new TypeError(`${show(value)} is not a value of ${name}`);
}

/** Validates a date. Throws a `TypeError` for an invalid date, which Java lacks. */
export function toDate(value: unknown): Date {
  if (value instanceof Date && !Number.isNaN(value.getTime())) return value;
  throw new TypeError(`${show(value)} is not a valid date`);
}

/** Validates bytes. Throws a `TypeError` for other values. */
export function toBytes(value: unknown): Uint8Array {
  if (value instanceof Uint8Array) return value;
  throw new TypeError(`${show(value)} is not a Uint8Array`);
}

/** Returns the items of a list or array, or of a set. Throws a `TypeError` for other values. */
export function toItems(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  if (value instanceof Set) return [...value];
  throw new TypeError(`${show(value)} is not a valid list`);
}

/** Joins the items of a `char[]`. */
export function joinChars(items: readonly unknown[]): string {
  return items.map((item) => toScalar("char", item)).join("");
}

/** Returns the entries of a map, or of an object, whose keys are strings. Throws a `TypeError` for other values. */
export function toEntries(value: unknown): Iterable<readonly [unknown, unknown]> {
  if (value instanceof Map) return value;
  if (isRecord(value)) return Object.entries(value);
  throw new TypeError(`${show(value)} is not a valid map`);
}

/** Reports whether a value is an object with members, rather than a list, map, date, bytes or exact number. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  if (value instanceof Date || value instanceof ExactNumber) return false;
  return !(value instanceof Uint8Array || value instanceof Map || value instanceof Set);
}

/** The largest name that engines treat as an index of an array. */
const LARGEST_INDEX = 2 ** 32 - 2;

/**
 * Creates an object for names that a peer chooses. Engines keep members whose names are integers in an array up to the
 * largest name, 12 KB for the only name 1000, unless there has been a far larger one: then they keep them in a hash table.
 */
export function createRecord(): Record<string, unknown> {
  const record: Record<string, unknown> = {};
  record[LARGEST_INDEX] = undefined;
  delete record[LARGEST_INDEX];
  return record;
}

/** Returns a member of an object or its class, but not of `Object.prototype`. */
export function memberOf(object: Readonly<Record<string, unknown>>, name: string): unknown {
  return Object.hasOwn(object, name) || !(name in Object.prototype) ? object[name] : undefined;
}

/** Returns the initial value of a field in Java. */
export function initialValue(type: JavaType): unknown {
  if (!isPrimitive(type)) return null;
  return type === "boolean" ? false : type === "long" ? 0n : type === "char" ? "\0" : 0;
}

/** Runs `work`, and adds `where` to the message of an error. */
export function within<T>(where: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    throw errorIn(where, cause);
  }
}

/** Converts each argument of a method. An error begins with the name of its parameter. */
export const eachArgument = <T>({ parameters }: Signature, convert: (type: JavaType, index: number) => T): T[] =>
  parameters.map(({ name, type }, index) => within(`argument "${name}"`, () => convert(type, index)));

/** Runs `work`. An error that is no `RpcError` becomes `invalid_argument`, with `where` before its reason. */
export function orInvalid<T>(where: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    if (cause instanceof RpcError) throw cause;
    throw new RpcError(Code.InvalidArgument, `${where}: ${reasonOf(cause)}`, { cause });
  }
}

/** The error of a value at a place, with the place in its message. */
export function errorIn(where: string, cause: unknown): Error {
  if (!(cause instanceof RpcError)) return new TypeError(`${where}: ${reasonOf(cause)}`, { cause });
  return new RpcError(cause.code, `${where}: ${cause.rawMessage}`, { status: cause.status, cause });
}

/** The classes and enums that a type refers to, by name. */
export interface DeclaredTypes {
  readonly classes: ReadonlyMap<string, JavaClass>;
  readonly enums: ReadonlyMap<string, JavaEnum>;
}

/** Finds the classes and enums that types refer to, directly or through fields. */
export function declaredTypes(types: readonly JavaType[]): DeclaredTypes {
  const classes = new Map<string, JavaClass>();
  const enums = new Map<string, JavaEnum>();
  const seen = new Set<JavaClass>();
  const open = [...types];
  for (let type = open.pop(); type !== undefined; type = open.pop()) {
    if (typeof type === "string") continue;
    const item = itemOf(type);
    if (item !== undefined) open.push(item);
    else if ("map" in type) open.push(...type.map);
    else if ("enum" in type) enums.set(type.enum.name, type.enum);
    else if ("class" in type) {
      const declared = type.class();
      // A generic class is declared once for each type argument, with the same name.
      if (seen.has(declared)) continue;
      seen.add(declared);
      classes.set(declared.name, declared);
      open.push(...Object.values(declared.fields));
    }
  }
  return { classes, enums };
}

/** Returns a short text of any value, for error messages. */
export function show(value: unknown): string {
  if (value instanceof ExactNumber) return String(value).slice(0, 40);
  if (typeof value === "string") return JSON.stringify(value.length <= 40 ? value : `${value.slice(0, 40)}…`);
  if (value === null || typeof value === "number" || typeof value === "boolean") return String(value);
  if (typeof value === "bigint") return value < 10n ** 30n && value > -(10n ** 30n) ? `${value}n` : "a long bigint";
  return value === undefined ? "undefined" : Array.isArray(value) ? "an array" : `a value of type ${typeof value}`;
}

/** The type of a value of undeclared type, and of its containers. */
export const ANY = "java.lang.Object";
export const ANY_LIST: { readonly list: typeof ANY } = { list: ANY };
export const ANY_SET: { readonly set: typeof ANY } = { set: ANY };
export const ANY_MAP: { readonly map: readonly [typeof ANY, typeof ANY] } = { map: [ANY, ANY] };
