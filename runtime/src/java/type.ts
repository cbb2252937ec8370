/**
 * Types of Java: their names, and what values of the simple ones are in TypeScript.
 */
import { reasonOf } from "../call/error.ts";
import { ExactNumber } from "./json-text.ts";
import type { JavaBuiltIn, JavaClass, JavaEnum, JavaPrimitive, JavaType, Signature } from "./signature.ts";

/** What a boxed type holds, and for a primitive one itself; the others are absent. */
const SCALARS: ReadonlyMap<JavaType, JavaPrimitive> = new Map<JavaType, JavaPrimitive>([
  ["boolean", "boolean"],
  ["byte", "byte"],
  ["short", "short"],
  ["int", "int"],
  ["long", "long"],
  ["float", "float"],
  ["double", "double"],
  ["char", "char"],
  ["java.lang.Boolean", "boolean"],
  ["java.lang.Byte", "byte"],
  ["java.lang.Short", "short"],
  ["java.lang.Integer", "int"],
  ["java.lang.Long", "long"],
  ["java.lang.Float", "float"],
  ["java.lang.Double", "double"],
  ["java.lang.Character", "char"],
]);

/** The primitive type that a type is or boxes. */
export function scalarOf(type: JavaType): JavaPrimitive | undefined {
  return SCALARS.get(type);
}

/** Whether null is no value of the type. */
export function isPrimitive(type: JavaType): type is JavaPrimitive {
  return scalarOf(type) === type;
}

/** How `Class.getName` begins the name of an array of these. */
const ARRAY_NAMES: Readonly<Partial<Record<JavaPrimitive | JavaBuiltIn, string>>> = {
  boolean: "Z",
  byte: "B",
  short: "S",
  int: "I",
  long: "J",
  float: "F",
  double: "D",
  char: "C",
  "[B": "[B",
};

/** What `Class.getName` says in Java, where a list is a `java.util.List` of whatever. */
export function nameOf(type: JavaType): string {
  if (typeof type === "string") return type;
  if ("list" in type) return "java.util.List";
  if ("set" in type) return "java.util.Set";
  if ("map" in type) return "java.util.Map";
  if ("class" in type) return type.class().name;
  if ("enum" in type) return type.enum.name;
  const item = type.array;
  if (typeof item === "object" && "array" in item) return `[${nameOf(item)}`;
  return `[${(typeof item === "string" && ARRAY_NAMES[item]) || `L${nameOf(item)};`}`;
}

const namesOfParameters = new WeakMap<Signature, readonly string[]>();

/** The names of the types that a method takes, by which Java tells overloads apart. */
export function parameterNames(signature: Signature): readonly string[] {
  const known = namesOfParameters.get(signature);
  if (known !== undefined) return known;
  const names = signature.parameters.map(({ type }) => nameOf(type));
  namesOfParameters.set(signature, names);
  return names;
}

/**
 * What Dubbo puts behind the path of an overload in sub-protocol A: a tilde, and the first letter of the simple name of
 * each type.
 */
export function pathSuffix(signature: Signature): string {
  const letters = signature.parameters.map(({ type }) => {
    let item = type;
    while (typeof item === "object" && "array" in item) item = item.array;
    return item === "[B" ? "b" : nameOf(item).replace(/^.*[.$]/, "")[0];
  });
  return `~${letters.join("")}`;
}

/** Whether it is an array of bytes, which is bytes rather than numbers here. */
export function isBytes(type: JavaType): boolean {
  return type === "[B" || (typeof type === "object" && "array" in type && type.array === "byte");
}

/** Whether it is an array of characters, which travels as a string. */
export function isChars(type: JavaType): boolean {
  return typeof type === "object" && "array" in type && type.array === "char";
}

/** What a list, a set or an array holds; bytes and characters are one value. */
export function itemOf(type: JavaType): JavaType | undefined {
  if (typeof type === "string" || isBytes(type) || isChars(type)) return undefined;
  return "list" in type ? type.list : "set" in type ? type.set : "array" in type ? type.array : undefined;
}

const MAGNITUDE_BITS = { byte: 7, short: 15, int: 31 } as const;

/**
 * The value as one of a scalar type, in what TypeScript has for it. Whole numbers are taken whether they come as a number or
 * as a bigint. Throws a `TypeError` for what the type cannot hold.
 */
export function toScalar(type: JavaPrimitive, value: unknown): boolean | number | bigint | string {
  if (type === "boolean" && typeof value === "boolean") return value;
  if (type === "char" && typeof value === "string" && value.length === 1) return value;
  if (type === "double" || type === "float") {
    const number = typeof value === "bigint" ? Number(value) : value;
    if (typeof number === "number" && (type === "double" || isFloat(number))) return number;
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
  throw new TypeError(`${show(value)} is no ${type}`);
}

/** Numbers that are none are floats as well; what is too large for one is not. */
function isFloat(value: number): boolean {
  return Number.isFinite(Math.fround(value)) || !Number.isFinite(value);
}

function isWhole(value: unknown): value is number | bigint {
  return typeof value === "bigint" || Number.isSafeInteger(value);
}

/** More digits than this are refused: working with them takes time that grows faster than they do. */
const MAX_DIGITS = 10_000;
const BIG_DECIMAL = /^[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,10})?$/;
const BIG_INTEGER = /^[+-]?[0-9]+$/;

/** The digits of a `BigDecimal` or a `BigInteger`. */
export function toDigits(type: "java.math.BigDecimal" | "java.math.BigInteger", value: unknown): string {
  const text = typeof value === "bigint" || typeof value === "number" ? String(value) : value;
  const grammar = type === "java.math.BigDecimal" ? BIG_DECIMAL : BIG_INTEGER;
  if (typeof text === "string" && text.length <= MAX_DIGITS && grammar.test(text)) return text;
  throw new TypeError(`${show(value)} is no ${type}`);
}

/** The name of one of an enum's values. */
export function toEnum({ name, values }: JavaEnum, value: unknown): string {
  if (typeof value === "string" && values.includes(value)) return value;
  throw new TypeError(`${show(value)} is not a value of ${name}`);
}

/** The date, if it is one. Java cannot hold the invalid one. */
export function toDate(value: unknown): Date {
  if (value instanceof Date && !Number.isNaN(value.getTime())) return value;
  throw new TypeError(`${show(value)} is no date`);
}

/** The items of a list or array, or of a set. */
export function toItems(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  if (value instanceof Set) return [...value];
  throw new TypeError(`${show(value)} is no list`);
}

/** The entries of a map, or of an object, whose keys are strings. */
export function toEntries(value: unknown): Iterable<readonly [unknown, unknown]> {
  if (value instanceof Map) return value;
  if (isRecord(value)) return Object.entries(value);
  throw new TypeError(`${show(value)} is no map`);
}

/** Whether it is an object with members of its own, rather than one that stands for something else. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  if (value instanceof Date || value instanceof ExactNumber) return false;
  return !(value instanceof Uint8Array || value instanceof Map || value instanceof Set);
}

/** A member of an object, its own or its class's, but none of those that every object has. */
export function memberOf(object: Readonly<Record<string, unknown>>, name: string): unknown {
  return Object.hasOwn(object, name) || !(name in Object.prototype) ? object[name] : undefined;
}

/** Sets a member, even one called `__proto__`, which an assignment would take for the prototype. */
export function setMember(target: object, name: string, value: unknown): void {
  if (name !== "__proto__") (target as Record<string, unknown>)[name] = value;
  else Object.defineProperty(target, name, { value, writable: true, enumerable: true, configurable: true });
}

/** What a field of Java holds that nobody has set. */
export function initialValue(type: JavaType): unknown {
  if (!isPrimitive(type)) return null;
  return type === "boolean" ? false : type === "long" ? 0n : type === "char" ? "\0" : 0;
}

/** Runs `work` on a member; what goes wrong says in which. */
export function within<T>(where: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    throw new TypeError(`${where}: ${reasonOf(cause)}`, { cause });
  }
}

/** The classes and enums that values of a type can consist of, by name. */
export interface DeclaredTypes {
  readonly classes: ReadonlyMap<string, JavaClass>;
  readonly enums: ReadonlyMap<string, JavaEnum>;
}

/** Finds all that a type, and the types that its classes have fields of, declare. */
export function declaredTypes(types: readonly JavaType[]): DeclaredTypes {
  const classes = new Map<string, JavaClass>();
  const enums = new Map<string, JavaEnum>();
  const seen = new Set<JavaClass>();
  const open = [...types];
  for (let type = open.pop(); type !== undefined; type = open.pop()) {
    if (typeof type === "string") continue;
    if ("list" in type) open.push(type.list);
    else if ("set" in type) open.push(type.set);
    else if ("array" in type) open.push(type.array);
    else if ("map" in type) open.push(...type.map);
    else if ("enum" in type) enums.set(type.enum.name, type.enum);
    else {
      const declared = type.class();
      // A generic class is declared once for each of its arguments, always under one name.
      if (seen.has(declared)) continue;
      seen.add(declared);
      classes.set(declared.name, declared);
      open.push(...Object.values(declared.fields));
    }
  }
  return { classes, enums };
}

/** A value in the text of an error: short, and whatever it is. */
export function show(value: unknown): string {
  if (value instanceof ExactNumber) return String(value).slice(0, 40);
  if (typeof value === "string") return JSON.stringify(value.length <= 40 ? value : `${value.slice(0, 40)}…`);
  if (value === null || typeof value === "number" || typeof value === "boolean") return String(value);
  if (typeof value === "bigint") return value < 10n ** 30n && value > -(10n ** 30n) ? `${value}n` : "a long bigint";
  return value === undefined ? "undefined" : Array.isArray(value) ? "an array" : `a value of type ${typeof value}`;
}
