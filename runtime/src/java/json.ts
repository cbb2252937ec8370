/**
 * Values of declared types as JSON values and back, as Dubbo writes and reads them in sub-protocol A.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { decodeBase64 } from "../metadata.ts";
import type { JavaBuiltIn, JavaClass, JavaPrimitive, JavaType } from "../signature.ts";
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

/** Deeper values are refused: what follows them down would run out of stack. They may even be inside themselves. */
const MAX_DEPTH = 100;

/** The JSON value of a value. Throws a `TypeError` for what is no value of the type. */
export function toJson(type: JavaType, value: unknown, depth = 0): JsonValue {
  if (value === null || value === undefined) {
    if (type !== "void" && isPrimitive(type)) throw new TypeError(`${value} is no ${type}`);
    return null;
  }
  const scalar = scalarOf(type);
  if (scalar !== undefined) return scalarToJson(toScalar(scalar, value));
  if (isBytes(type)) return bytesToJson(value);
  if (typeof type === "string") return builtInToJson(type, value, depth);
  if ("enum" in type) return toEnum(type.enum, value);
  if (depth >= MAX_DEPTH) throw new TypeError(`the value is more than ${MAX_DEPTH} levels deep`);
  if ("class" in type) return objectToJson(type.class(), value, depth + 1);
  if ("map" in type) return mapToJson(type.map, value, depth + 1);
  const item = "list" in type ? type.list : "set" in type ? type.set : type.array;
  if (isChars(type))
    return toItems(value)
      .map((one) => toScalar("char", one))
      .join("");
  return toItems(value).map((one) => toJson(item, one, depth + 1));
}

/** JSON has no word for numbers that are none, and readers lose digits of whole numbers beyond 2^53. */
function scalarToJson(value: boolean | number | bigint | string): JsonValue {
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  return typeof value === "number" && !Number.isFinite(value) ? String(value) : value;
}

/** Numbers, as Java has them: Dubbo does not read base64 here. */
function bytesToJson(value: unknown): JsonValue {
  if (!(value instanceof Uint8Array)) throw new TypeError(`${show(value)} is no Uint8Array`);
  return Array.from(new Int8Array(value.buffer, value.byteOffset, value.byteLength));
}

function builtInToJson(type: JavaPrimitive | JavaBuiltIn, value: unknown, depth: number): JsonValue {
  if (type === "java.util.Date") return toDate(value).getTime();
  if (type === "java.math.BigDecimal" || type === "java.math.BigInteger") return toDigits(type, value);
  if (type === "java.lang.String" && typeof value === "string") return value;
  if (type === "java.lang.Object") {
    return toJson(runtimeType(value), value instanceof TypedValue ? value.value : value, depth);
  }
  throw new TypeError(`${show(value)} is no ${type}`);
}

function objectToJson({ name, fields }: JavaClass, value: unknown, depth: number): JsonObject {
  if (!isRecord(value)) throw new TypeError(`${show(value)} is no ${name}`);
  const json: JsonObject = {};
  for (const [field, type] of Object.entries(fields)) {
    setMember(
      json,
      field,
      within(`field "${field}"`, () => toJson(type, memberOf(value, field), depth)),
    );
  }
  return json;
}

function mapToJson([keyType, valueType]: readonly [JavaType, JavaType], value: unknown, depth: number): JsonObject {
  const json: JsonObject = {};
  for (const [key, member] of toEntries(value)) {
    const name = toJson(keyType, key, depth);
    if (name === null || typeof name === "object") throw new TypeError(`${show(key)} cannot be a key in JSON`);
    setMember(json, String(name), toJson(valueType, member, depth));
  }
  return json;
}

/** The value of a JSON value. Throws a `TypeError` for what cannot be a value of the type. */
export function fromJson(type: JavaType, json: JsonValue): unknown {
  if (type === "void") return undefined;
  if (json === null) {
    if (isPrimitive(type)) throw new TypeError(`null is no ${type}`);
    return null;
  }
  const scalar = scalarOf(type);
  if (scalar !== undefined) return toScalar(scalar, scalarFromJson(scalar, json));
  if (isBytes(type)) return bytesFromJson(json);
  if (typeof type === "string") return builtInFromJson(type, json);
  if ("enum" in type) return toEnum(type.enum, json);
  if ("class" in type) return objectFromJson(type.class(), json);
  if ("map" in type) return mapFromJson(type, json);
  if (isChars(type) && typeof json === "string") return json.split("");
  if (!Array.isArray(json)) throw new TypeError(`${show(json)} is no ${nameOf(type)}`);
  if ("set" in type) return new Set(json.map((one) => fromJson(type.set, one)));
  const item = "list" in type ? type.list : type.array;
  return json.map((one) => fromJson(item, one));
}

const WHOLE = /^-?[0-9]{1,20}$/;
const NUMBER = /^(?:-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|-?Infinity|NaN)$/;

/** Numbers are read from strings too: that is how they keep all their digits. */
function scalarFromJson(type: JavaPrimitive, json: JsonValue): unknown {
  if (typeof json !== "string" || type === "char" || type === "boolean") return json;
  if (type === "float" || type === "double") return NUMBER.test(json) ? Number(json) : json;
  return WHOLE.test(json) ? BigInt(json) : json;
}

const BASE64 = /^[A-Za-z0-9+/_-]*={0,2}$/;

/** The numbers that Java writes, or base64. */
function bytesFromJson(json: JsonValue): Uint8Array {
  if (Array.isArray(json)) return Uint8Array.from(json, (one) => toScalar("byte", one) as number);
  if (typeof json === "string" && BASE64.test(json)) return decodeBase64(json);
  throw new TypeError(`${show(json)} is neither base64 nor a list of bytes`);
}

function builtInFromJson(type: JavaPrimitive | JavaBuiltIn, json: JsonValue): unknown {
  if (type === "java.util.Date") return toDate(typeof json === "boolean" ? json : new Date(json as number | string));
  if (type === "java.math.BigDecimal" || type === "java.math.BigInteger") return toDigits(type, json);
  if (type === "java.lang.Object" || (type === "java.lang.String" && typeof json === "string")) return json;
  throw new TypeError(`${show(json)} is no ${type}`);
}

/** What is missing is as Java leaves it; what the class does not have is ignored. */
function objectFromJson({ name, fields }: JavaClass, json: JsonValue): object {
  if (!isRecord(json)) throw new TypeError(`${show(json)} is no ${name}`);
  const object = {};
  for (const [field, type] of Object.entries(fields)) {
    const member = Object.hasOwn(json, field) ? (json as JsonObject)[field] : undefined;
    const decode = (): unknown => (member === undefined ? initialValue(type) : fromJson(type, member));
    setMember(object, field, within(`field "${field}"`, decode));
  }
  return object;
}

function mapFromJson(type: Extract<JavaType, { readonly map: unknown }>, json: JsonValue): object {
  if (!isRecord(json)) throw new TypeError(`${show(json)} is no ${nameOf(type)}`);
  const [keyType, valueType] = type.map;
  const entries = Object.entries(json as JsonObject).map(
    ([key, member]) => [keyFromJson(keyType, key), fromJson(valueType, member)] as const,
  );
  if (type.record !== true) return new Map(entries);
  const record = {};
  for (const [key, member] of entries) setMember(record, String(key), member);
  return record;
}

/** Every key is a string in JSON. */
function keyFromJson(type: JavaType, key: string): unknown {
  const boolean = scalarOf(type) === "boolean" && (key === "true" || key === "false");
  return fromJson(type, boolean ? key === "true" : key);
}
