/**
 * Converts values of declared types to JSON values, as Dubbo reads them in sub-protocol A.
 */
import type { JsonValue } from "@bufbuild/protobuf";
import type { Notation } from "../call/method.ts";
import { setMember } from "../codec/json-parts.ts";
import { Cost } from "./cost.ts";
import type { JavaBuiltIn, JavaClass, JavaPrimitive, JavaType } from "./signature.ts";
import {
  isBytes,
  isChars,
  isPrimitive,
  isRecord,
  memberOf,
  scalarOf,
  show,
  toDate,
  toDigits,
  toEntries,
  toEnum,
  toItems,
  toScalar,
  within,
} from "./type.ts";
import { runtimeType, TypedValue } from "./typed.ts";

/** Deepest nesting accepted: recursion over deeper values, or over one that contains itself, would overflow the stack. */
const MAX_VALUE_DEPTH = 100;

/**
 * JSON has neither NaN nor Infinity, and many parsers lose digits of integers beyond 2^53. Bytes are numbers, as in
 * Java: Dubbo does not read base64 here.
 */
const JSON_NOTATION: Notation = {
  long: (value) => (Number.isSafeInteger(Number(value)) ? Number(value) : String(value)),
  double: (value) => (Number.isFinite(value) ? value : String(value)),
  bytes: (value) => Array.from(new Int8Array(value.buffer, value.byteOffset, value.byteLength)),
  date: (value) => value.getTime(),
};

/**
 * The JSON value of a value. Throws a `TypeError` for a value that is invalid for the type, and beyond the limits of
 * `cost`.
 */
export function toJson(type: JavaType, value: unknown, cost: Cost = new Cost()): JsonValue {
  return toPlain(type, value, JSON_NOTATION, cost) as JsonValue;
}

/**
 * The same for formats like JSON: plain objects, arrays, strings, and the notation's representation of everything else.
 */
export function toPlain(type: JavaType, value: unknown, notation: Notation, cost: Cost, depth = 0): unknown {
  cost.addValues(1);
  return valueToPlain(type, value, notation, cost, depth);
}

function valueToPlain(type: JavaType, value: unknown, notation: Notation, cost: Cost, depth: number): unknown {
  if (value === null || value === undefined) {
    if (type !== "void" && isPrimitive(type)) throw new TypeError(`${value} is not a valid ${type}`);
    return null;
  }
  const scalar = scalarOf(type);
  if (scalar !== undefined) return scalarToPlain(toScalar(scalar, value), notation);
  if (isBytes(type)) {
    const bytes = toBytes(value);
    cost.addBytes(bytes.byteLength);
    return notation.bytes(bytes);
  }
  if (type === "java.lang.Object") {
    return valueToPlain(runtimeType(value), value instanceof TypedValue ? value.value : value, notation, cost, depth);
  }
  if (typeof type === "string") return builtInToPlain(type, value, notation, cost);
  if ("enum" in type) return toEnum(type.enum, value);
  if (isChars(type)) {
    const units = toItems(value);
    cost.addBytes(units.length);
    return units.map((one) => toScalar("char", one)).join("");
  }
  if (depth >= MAX_VALUE_DEPTH) throw new TypeError(`the value is more than ${MAX_VALUE_DEPTH} levels deep`);
  // JSON has no references: an object that occurs twice is written twice, and counts twice.
  cost.addContainer();
  const inside = (member: JavaType, one: unknown): unknown => toPlain(member, one, notation, cost, depth + 1);
  if ("class" in type) return objectToPlain(type.class(), value, inside);
  if ("map" in type) return mapToPlain(type.map, value, inside);
  const item = "list" in type ? type.list : "set" in type ? type.set : type.array;
  return toItems(value).map((one) => inside(item, one));
}

function scalarToPlain(value: boolean | number | bigint | string, notation: Notation): unknown {
  if (typeof value === "bigint") return notation.long(value);
  return typeof value === "number" ? notation.double(value) : value;
}

function toBytes(value: unknown): Uint8Array {
  if (value instanceof Uint8Array) return value;
  throw new TypeError(`${show(value)} is not a Uint8Array`);
}

function builtInToPlain(type: JavaPrimitive | JavaBuiltIn, value: unknown, notation: Notation, cost: Cost): unknown {
  if (type === "java.util.Date") return notation.date(toDate(value));
  const text = type === "java.math.BigDecimal" || type === "java.math.BigInteger" ? toDigits(type, value) : value;
  if (typeof text !== "string" || type === "void") throw new TypeError(`${show(value)} is not a valid ${type}`);
  cost.addBytes(text.length);
  return text;
}

/** Encodes or decodes the value of a member. */
type Inside = (type: JavaType, value: unknown) => unknown;

function objectToPlain({ name, fields }: JavaClass, value: unknown, inside: Inside): object {
  if (!isRecord(value)) throw new TypeError(`${show(value)} is not a valid ${name}`);
  const object = {};
  for (const [field, type] of Object.entries(fields)) {
    setMember(
      object,
      field,
      within(`field "${field}"`, () => inside(type, memberOf(value, field))),
    );
  }
  return object;
}

function mapToPlain([keyType, valueType]: readonly [JavaType, JavaType], value: unknown, inside: Inside): object {
  const object = {};
  for (const [key, member] of toEntries(value)) {
    const name = inside(keyType, key);
    const text = name instanceof Date ? name.getTime() : name;
    if (text === null || typeof text === "object") throw new TypeError(`${show(key)} cannot be the key of a member`);
    setMember(object, String(text), inside(valueType, member));
  }
  return object;
}
