/**
 * Converts values of declared types to JSON values and back, as Dubbo writes and reads them in sub-protocol A.
 */

import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { decodeBase64 } from "../call/base64.ts";
import type { Notation } from "../call/method.ts";
import { NUMBER } from "../http-rpc/body/parameters.ts";
import { addAll, setAll } from "./collision-guard.ts";
import { Cost } from "./cost.ts";
import { dateFromJson } from "./json-date.ts";
import { ExactNumber } from "./json-text.ts";
import { toPlainData } from "./plain-data.ts";
import type { JavaBuiltIn, JavaClass, JavaPrimitive, JavaType } from "./signature.ts";
import {
  initialValue,
  isBytes,
  isChars,
  isPrimitive,
  isRecord,
  memberOf,
  nameOf,
  scalarOf,
  setMember,
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
 * JSON has neither NaN nor Infinity, and many parsers lose digits of integers beyond 2^53. Bytes are numbers, as in Java: Dubbo
 * does not read base64 here.
 */
const JSON_NOTATION: Notation = {
  long: (value) => (Number.isSafeInteger(Number(value)) ? Number(value) : String(value)),
  double: (value) => (Number.isFinite(value) ? value : String(value)),
  bytes: (value) => Array.from(new Int8Array(value.buffer, value.byteOffset, value.byteLength)),
  date: (value) => value.getTime(),
};

/** The JSON value of a value. Throws a `TypeError` for a value that is invalid for the type, and beyond the limits of `cost`. */
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

/**
 * The value of a JSON value. Throws a `TypeError` for a value that is invalid for the type, and beyond the limits of `cost`. Also
 * accepts bigints, bytes and dates, for formats that have them, and exact numbers of JSON text.
 */
export function fromJson(type: JavaType, json: JsonValue, cost: Cost = new Cost()): unknown {
  if (type === "void") return undefined;
  if (type === "java.lang.Object") return toPlainData(json, cost);
  cost.addMade(1);
  if (json === null) {
    if (isPrimitive(type)) throw new TypeError(`null is not a valid ${type}`);
    return null;
  }
  const scalar = scalarOf(type);
  if (scalar !== undefined) return toScalar(scalar, scalarFromJson(scalar, json));
  if (isBytes(type)) return bytesFromJson(json);
  if (typeof type === "string") return builtInFromJson(type, json);
  if ("enum" in type) return toEnum(type.enum, json);
  if (isChars(type) && typeof json === "string") return json.split("");
  cost.addContainer();
  if ("class" in type) return objectFromJson(type.class(), json, cost);
  if ("map" in type) return mapFromJson(type, json, cost);
  if (!Array.isArray(json)) throw new TypeError(`${show(json)} is not a valid ${nameOf(type)}`);
  if ("set" in type) return addAll(new Set(), json, (one) => fromJson(type.set, one, cost));
  const item = "list" in type ? type.list : type.array;
  return json.map((one) => fromJson(item, one, cost));
}

const WHOLE = /^-?[0-9]{1,20}$/;

/** Numbers are also read from strings, in which they keep all their digits. */
function scalarFromJson(type: JavaPrimitive, json: JsonValue | ExactNumber): unknown {
  const text = json instanceof ExactNumber ? String(json) : json;
  if (typeof text !== "string" || type === "char" || type === "boolean") return json;
  if (type !== "float" && type !== "double") return WHOLE.test(text) ? BigInt(text) : json;
  if (!NUMBER.test(text)) return json;
  const number = Number(text);
  // Digits beyond the range of a double must not become Infinity.
  return Number.isFinite(number) || !/[0-9]/.test(text) ? number : json;
}

const TOLERANT_BASE64 = /^[A-Za-z0-9+/_-]*={0,2}$/;

/** Bytes as the array of numbers that Java writes, or as base64. */
function bytesFromJson(json: JsonValue | Uint8Array): Uint8Array {
  if (json instanceof Uint8Array) return json;
  if (Array.isArray(json)) return Uint8Array.from(json, (one) => toScalar("byte", one) as number);
  if (typeof json === "string" && TOLERANT_BASE64.test(json)) return decodeBase64(json);
  throw new TypeError(`${show(json)} is neither base64 nor a list of bytes`);
}

function builtInFromJson(type: JavaPrimitive | JavaBuiltIn, json: JsonValue | ExactNumber): unknown {
  if (type === "java.util.Date") return dateFromJson(json);
  if (type === "java.math.BigDecimal" || type === "java.math.BigInteger") {
    return toDigits(type, json instanceof ExactNumber ? String(json) : json);
  }
  if (type === "java.lang.String" && typeof json === "string") return json;
  throw new TypeError(`${show(json)} is not a valid ${type}`);
}

/** Missing fields get Java's initial value; unknown ones are ignored. */
function objectFromJson({ name, fields }: JavaClass, json: JsonValue, cost: Cost): object {
  if (!isRecord(json)) throw new TypeError(`${show(json)} is not a valid ${name}`);
  const object = {};
  for (const [field, type] of Object.entries(fields)) {
    const member = Object.hasOwn(json, field) ? (json as JsonObject)[field] : undefined;
    setMember(object, field, fieldFromJson(field, type, member, cost));
  }
  return object;
}

/** The value of a field, whose member may be missing. */
export function fieldFromJson(field: string, type: JavaType, member: JsonValue | undefined, cost: Cost): unknown {
  if (member === undefined) cost.addMade(1);
  const decode = (): unknown => (member === undefined ? initialValue(type) : fromJson(type, member, cost));
  return within(`field "${field}"`, decode);
}

function mapFromJson(type: Extract<JavaType, { readonly map: unknown }>, json: JsonValue, cost: Cost): object {
  if (!isRecord(json)) throw new TypeError(`${show(json)} is not a valid ${nameOf(type)}`);
  const [keyType, valueType] = type.map;
  const entries = Object.entries(json as JsonObject).map(
    ([key, member]) => [keyFromJson(keyType, key, cost), fromJson(valueType, member, cost)] as const,
  );
  if (type.record !== true) return setAll(new Map(), entries);
  const record = {};
  for (const [key, member] of entries) setMember(record, String(key), member);
  return record;
}

/** Keys are always strings in JSON. */
export function keyFromJson(type: JavaType, key: string, cost: Cost): unknown {
  if (scalarOf(type) === "boolean" && (key === "true" || key === "false")) return key === "true";
  const milliseconds = type === "java.util.Date" && /^-?[0-9]{1,16}$/.test(key);
  return fromJson(type, milliseconds ? Number(key) : key, cost);
}
