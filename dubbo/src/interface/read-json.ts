/**
 * Converts JSON values to values of declared types, as Dubbo writes them in sub-protocol A. Also converts values of formats
 * like JSON that have bigints, bytes and dates, and the maps and sets of generic calls.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { decodeBase64, NUMBER, setEntry } from "triple-es/internal";
import { Cost, LEAF, OBJECT } from "./cost.ts";
import type { JavaBuiltIn, JavaClass, JavaPrimitive, JavaType } from "./signature.ts";
import {
  createRecord,
  ExactNumber,
  errorIn,
  initialValue,
  isBytes,
  isChars,
  isPrimitive,
  isRecord,
  nameOf,
  scalarOf,
  show,
  toDate,
  toDigits,
  toEnum,
  toScalar,
} from "./type.ts";

/**
 * Converts a JSON value. Throws a `TypeError` for a value that is invalid for the type, and an error if a limit of `cost` is
 * exceeded. Also accepts bigints, bytes, dates, maps and sets, for formats that have them, and exact numbers of JSON text.
 */
export function fromJson(type: JavaType, json: JsonValue, cost: Cost = new Cost()): unknown {
  return new JsonReader(cost).read(type, json);
}

/** Deepest nesting accepted, as in Hessian 2: the maps and lists of generic calls may refer to each other in a circle. */
const MAX_DEPTH = 200;

/** Reads the values of one JSON value, and counts them together. */
class JsonReader {
  readonly #cost: Cost;
  #depth = 0;

  constructor(cost: Cost) {
    this.#cost = cost;
  }

  read(type: JavaType, json: JsonValue): unknown {
    if (this.#depth > MAX_DEPTH) throw new TypeError(`the value is more than ${MAX_DEPTH} levels deep`);
    this.#depth += 1;
    const value = this.#value(type, json);
    this.#depth -= 1;
    return value;
  }

  #value(type: JavaType, json: JsonValue): unknown {
    if (Array.isArray(json)) return this.#array(type, json);
    if (isRecord(json)) return this.#members(type, json as JsonObject);
    if (type !== "java.lang.Object" && (json as unknown) instanceof Set) return this.#array(type, [...(json as never)]);
    if (type !== "java.lang.Object" && (json as unknown) instanceof Map) return this.#entries(type, json as never);
    return leafFromJson(type, json, this.#cost);
  }

  #array(type: JavaType, json: JsonValue[]): unknown {
    if (isBytes(type)) return this.#bytes(json);
    this.#cost.make(1);
    if (type === "java.lang.Object") return this.#items(type, json);
    if (typeof type !== "object" || "enum" in type) return leafFromJson(type, json, this.#cost);
    if ("set" in type) return this.#set(type.set, json);
    if ("list" in type) return this.#items(type.list, json);
    if ("array" in type) return this.#items(type.array, json);
    throw mismatch(type, json);
  }

  #members(type: JavaType, json: JsonObject): unknown {
    this.#cost.make(1);
    if (type === "java.lang.Object") return this.#record(type, type, json);
    if (typeof type !== "object" || "enum" in type) return leafFromJson(type, json, this.#cost);
    if ("class" in type) return this.#object(type.class(), json);
    if (!("map" in type)) throw mismatch(type, json);
    const [keyType, valueType] = type.map;
    if (type.record === true) return this.#record(keyType, valueType, json);
    return this.#map(keyType, valueType, Object.entries(json) as [string, JsonValue][]);
  }

  /** Converts a map: one whose keys have types, or the fields of an object with the name of its class. */
  #entries(type: JavaType, entries: ReadonlyMap<unknown, JsonValue>): unknown {
    if (typeof type === "object" && "map" in type && type.record !== true) return this.#map(...type.map, entries);
    const name = entries.get("class");
    if (typeof type === "object" && "class" in type && typeof name === "string" && name !== nameOf(type)) {
      throw new TypeError(`class ${show(name)} is not ${nameOf(type)}`);
    }
    const members = createRecord() as JsonObject;
    for (const [key, member] of entries) setEntry(members, String(key), member);
    return this.#members(type, members);
  }

  #bytes(json: readonly JsonValue[]): Uint8Array {
    this.#cost.make(OBJECT);
    return Uint8Array.from(json, (item) => toScalar("byte", item) as number);
  }

  #items(type: JavaType, json: readonly JsonValue[]): unknown[] {
    return json.map((item) => this.read(type, item));
  }

  #set(type: JavaType, json: readonly JsonValue[]): Set<unknown> {
    const set = new Set<unknown>();
    for (const item of json) {
      const value = this.read(type, item);
      this.#cost.makeEntry(value, set.size);
      set.add(value);
    }
    return set;
  }

  #record(keyType: JavaType, valueType: JavaType, json: JsonObject): object {
    if (Object.getPrototypeOf(json) !== Object.prototype) throw new TypeError(`${show(json)} is not plain data`);
    const record = createRecord();
    for (const name of Object.keys(json)) {
      this.#cost.make(1);
      setEntry(record, String(this.#key(keyType, name)), this.read(valueType, json[name] as JsonValue));
    }
    return record;
  }

  #map(
    keyType: JavaType,
    valueType: JavaType,
    entries: Iterable<readonly [unknown, JsonValue]>,
  ): Map<unknown, unknown> {
    const map = new Map<unknown, unknown>();
    for (const [name, value] of entries) {
      const key = typeof name === "string" ? this.#key(keyType, name) : this.read(keyType, name as JsonValue);
      this.#cost.makeEntry(key, map.size);
      map.set(key, this.read(valueType, value));
    }
    return map;
  }

  /** Keys are always strings in JSON. */
  #key(type: JavaType, key: string): unknown {
    if (scalarOf(type) === "boolean" && (key === "true" || key === "false")) return key === "true";
    const milliseconds = type === "java.util.Date" && /^-?[0-9]{1,16}$/.test(key);
    return leafFromJson(type, milliseconds ? Number(key) : key, this.#cost);
  }

  /** Missing fields get Java's initial value; unknown ones are ignored. */
  #object({ fields }: JavaClass, json: JsonObject): object {
    const object = {};
    for (const [field, type] of Object.entries(fields)) {
      const member = Object.hasOwn(json, field) ? json[field] : undefined;
      if (member === undefined) {
        this.#cost.make(LEAF);
        setEntry(object, field, initialValue(type));
        continue;
      }
      try {
        setEntry(object, field, this.read(type, member));
      } catch (cause) {
        throw errorIn(`field "${field}"`, cause);
      }
    }
    return object;
  }
}

/** The count of a date that is read from text. */
const DATE_TEXT = 2;

/** Converts a JSON value to a value that contains no others. */
function leafFromJson(type: JavaType, json: JsonValue, cost: Cost): unknown {
  if (type === "void") return undefined;
  if (type === "java.util.Date") cost.make(typeof json === "string" ? DATE_TEXT : OBJECT);
  else cost.make(isBytes(type) ? OBJECT : LEAF);
  if (type === "java.lang.Object") return anyLeaf(json);
  if (json === null) {
    if (isPrimitive(type)) throw new TypeError(`null is not a valid ${type}`);
    return null;
  }
  const scalar = scalarOf(type);
  if (scalar !== undefined) return toScalar(scalar, scalarFromJson(scalar, json));
  if (isBytes(type)) return bytesFromJson(json);
  if (typeof type === "string") return builtInFromJson(type, json);
  if ("enum" in type) return toEnum(type.enum, json);
  if (isChars(type) && typeof json === "string") {
    cost.make(json.length * LEAF);
    return json.split("");
  }
  throw mismatch(type, json);
}

/** Numbers of JSON text that a JavaScript number cannot hold exactly become strings. */
function anyLeaf(value: unknown): unknown {
  if (value instanceof ExactNumber) return String(value);
  if (typeof value === "bigint") return toScalar("long", value);
  return value instanceof Date ? toDate(value) : value;
}

function mismatch(type: JavaType, json: JsonValue): TypeError {
  if (typeof type === "object" && "enum" in type)
    return new TypeError(`${show(json)} is not a value of ${type.enum.name}`);
  if (isBytes(type)) return new TypeError(`${show(json)} is neither base64 nor a list of bytes`);
  return new TypeError(`${show(json)} is not a valid ${nameOf(type)}`);
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

/** Characters up to which the portable decoder is fast enough: it takes 0.2 s for 4 MiB. */
const SHORT_BASE64 = 16 * 1024;

function toBytes(text: string): Uint8Array {
  if (typeof Buffer !== "function" || text.length <= SHORT_BASE64 || text.length % 4 !== 0) return decodeBase64(text);
  const { buffer, byteOffset, byteLength } = Buffer.from(text, "base64");
  return new Uint8Array(buffer, byteOffset, byteLength);
}

/** Converts base64, or bytes of formats that have them. Java writes an array of numbers. */
function bytesFromJson(json: JsonValue | Uint8Array): Uint8Array {
  if (json instanceof Uint8Array) return json;
  if (typeof json === "string" && TOLERANT_BASE64.test(json)) return toBytes(json);
  throw mismatch("[B", json);
}

function builtInFromJson(type: JavaPrimitive | JavaBuiltIn, json: JsonValue | ExactNumber): unknown {
  if (type === "java.util.Date") return dateFromJson(json);
  if (type === "java.math.BigDecimal" || type === "java.math.BigInteger") {
    return toDigits(type, json instanceof ExactNumber ? String(json) : json);
  }
  if (type === "java.lang.String" && typeof json === "string") return json;
  throw mismatch(type, json as JsonValue);
}

/** A day, or a day and a time with or without a time zone. The range of every number is checked. */
const DATE =
  /^([+-][0-9]{6}|[0-9]{4})-([0-9]{2})-([0-9]{2})(?:[T ]([0-9:]{5,8}(?:\.[0-9]{1,9})?)(Z|[+-][0-9]{2}:?[0-9]{2})?)?$/;

/** The largest distance from 1970 that a `Date` can hold, in milliseconds. */
const MAX_TIME = 8.64e15;

/**
 * Reads a date from milliseconds, ISO 8601, or Java's format with a space between day and time. A time without a time zone is
 * local time. A day without a time is midnight UTC.
 */
function dateFromJson(json: unknown): Date {
  if (json instanceof Date) return toDate(json);
  if (typeof json === "number" && Number.isInteger(json) && Math.abs(json) <= MAX_TIME) return new Date(json);
  const [, year, month, day, time, zone = ""] = (typeof json === "string" && DATE.exec(json)) || [];
  const text = `${year}-${month}-${day}`;
  const date = new Date(time === undefined ? text : `${text}T${time}${zone.replace(/^(...)(..)$/, "$1:$2")}`);
  // JavaScript accepts a day beyond the end of its month, and converts it to a day of the next month.
  const isLate = Number(day) > 28 && new Date(`${text}T00:00Z`).getUTCDate() !== Number(day);
  if (Number.isNaN(date.getTime()) || isLate) {
    throw new TypeError(`${show(json)} is not a valid date`);
  }
  return date;
}
