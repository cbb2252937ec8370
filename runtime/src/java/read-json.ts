/**
 * Converts JSON values to values of declared types, as Dubbo writes them in sub-protocol A. Also converts values of formats
 * like JSON that have bigints, bytes and dates.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { decodeBase64 } from "../call/base64.ts";
import { immediate, runAtOnce, StepCounter, type Steps } from "../call/steps.ts";
import { membersInParts, setMember } from "../codec/json-parts.ts";
import { Memory, objectBytes } from "../codec/memory.ts";
import { NUMBER } from "../http-rpc/body/parameters.ts";
import { CollisionGuard } from "./collision-guard.ts";
import { Cost, FIRST_ITEM_BYTES, ITEM_BYTES, LIST_BYTES, memberBytes, TABLE_BYTES, TABLE_ENTRY_BYTES } from "./cost.ts";
import { dateFromJson } from "./json-date.ts";
import { ExactNumber } from "./json-text.ts";
import type { JavaBuiltIn, JavaClass, JavaPrimitive, JavaType } from "./signature.ts";
import {
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
  within,
  withinSteps,
} from "./type.ts";

/**
 * Converts a JSON value. Throws a `TypeError` for a value that is invalid for the type, and an error if a limit of `cost` is
 * exceeded. Also accepts bigints, bytes and dates, for formats that have them, and exact numbers of JSON text.
 */
export function fromJson(type: JavaType, json: JsonValue, cost: Cost = new Cost()): unknown {
  return isContainer(json) ? runAtOnce(stepsFromJson(type, json, cost)) : leafFromJson(type, json, cost);
}

/** Converts a JSON value in steps, like {@link fromJson}. */
export function stepsFromJson(type: JavaType, json: JsonValue, cost: Cost): Steps<unknown> {
  return new JsonReader(cost).read(type, json);
}

type Container = JsonValue[] | JsonObject;

function isContainer(json: JsonValue): json is Container {
  return Array.isArray(json) || isRecord(json);
}

/** Reads the values of one JSON value, and counts them together. */
class JsonReader {
  readonly #cost: Cost;
  readonly #counter = new StepCounter();

  constructor(cost: Cost) {
    this.#cost = cost;
  }

  *read(type: JavaType, json: JsonValue): Steps<unknown> {
    return isContainer(json) ? yield* this.#container(type, json) : this.#leaf(type, json);
  }

  #leaf(type: JavaType, json: JsonValue): unknown {
    return leafFromJson(type, json, this.#cost);
  }

  /** Returns the steps that read a container. A generator for each number in a list would double the time. */
  #container(type: JavaType, json: Container): Steps<unknown> {
    const cost = this.#cost;
    if (type === "java.lang.Object") return this.#any(json);
    const isList = Array.isArray(json);
    if (isBytes(type) && isList) return this.#bytes(json);
    if (typeof type === "string" || "enum" in type || isBytes(type)) return immediate(this.#leaf(type, json));
    cost.addMade(1);
    cost.addMadeContainer();
    if ("class" in type) return this.#object(type.class(), json);
    if ("map" in type) return this.#map(type, json);
    if (!isList) throw mismatch(type, json);
    return "set" in type ? this.#set(type.set, json) : this.#items("list" in type ? type.list : type.array, json);
  }

  #any(json: Container): Steps<unknown> {
    this.#cost.addMade(1);
    this.#cost.addMadeContainer();
    if (Array.isArray(json)) return this.#items("java.lang.Object", json);
    if (Object.getPrototypeOf(json) !== Object.prototype) throw new TypeError(`${show(json)} is not plain data`);
    return this.#record("java.lang.Object", json);
  }

  *#bytes(json: readonly JsonValue[]): Steps<Uint8Array> {
    this.#cost.addMade(1);
    const bytes = new Uint8Array(json.length);
    for (let i = 0; i < json.length; i += 1) {
      if (this.#counter.add()) yield undefined;
      bytes[i] = toScalar("byte", json[i]) as number;
    }
    return bytes;
  }

  *#items(type: JavaType, json: readonly JsonValue[]): Steps<unknown[]> {
    const items: unknown[] = [];
    this.#cost.addMemory(LIST_BYTES + (json.length > 0 ? FIRST_ITEM_BYTES + ITEM_BYTES * json.length : 0));
    for (const item of json) {
      if (this.#counter.add()) yield undefined;
      items.push(isContainer(item) ? yield* this.#container(type, item) : this.#leaf(type, item));
    }
    return items;
  }

  *#set(type: JavaType, json: readonly JsonValue[]): Steps<Set<unknown>> {
    const set = new Set<unknown>();
    this.#cost.addMemory(TABLE_BYTES + TABLE_ENTRY_BYTES * json.length);
    const guard = new CollisionGuard(set);
    for (const item of json) {
      if (this.#counter.add()) yield undefined;
      const value = isContainer(item) ? yield* this.#container(type, item) : this.#leaf(type, item);
      set.add(value);
      guard.added(value);
    }
    return set;
  }

  *#record(type: JavaType, json: JsonObject): Steps<object> {
    const record = {};
    this.#cost.addMemory(Memory.object);
    let largest = 0;
    let count = 0;
    for (const members of membersInParts(json)) {
      for (const [name, member] of members) {
        if (this.#counter.add()) yield undefined;
        this.#cost.addMemory(memberBytes(count));
        count += 1;
        largest = this.#cost.addName(name, largest);
        setMember(record, name, isContainer(member) ? yield* this.#container(type, member) : this.#leaf(type, member));
      }
    }
    return record;
  }

  *#map(type: Extract<JavaType, { readonly map: unknown }>, json: Container): Steps<object> {
    if (Array.isArray(json)) throw mismatch(type, json);
    const [keyType, valueType] = type.map;
    const record = {};
    let largest = 0;
    let count = 0;
    const map = new Map<unknown, unknown>();
    const guard = new CollisionGuard(map);
    this.#cost.addMemory(type.record === true ? Memory.object : TABLE_BYTES);
    for (const members of membersInParts(json)) {
      for (const [name, member] of members) {
        if (this.#counter.add()) yield undefined;
        this.#cost.addMemory(type.record === true ? memberBytes(count) : TABLE_ENTRY_BYTES);
        count += 1;
        const key = keyFromJson(keyType, name, this.#cost);
        const value = isContainer(member) ? yield* this.#container(valueType, member) : this.#leaf(valueType, member);
        if (type.record === true) {
          largest = this.#cost.addName(String(key), largest);
          setMember(record, String(key), value);
        } else {
          map.set(key, value);
          guard.added(key);
        }
      }
    }
    return type.record === true ? record : map;
  }

  /** Missing fields get Java's initial value; unknown ones are ignored. */
  *#object({ name, fields }: JavaClass, json: Container): Steps<object> {
    if (Array.isArray(json)) throw new TypeError(`${show(json)} is not a valid ${name}`);
    const object = {};
    const declared = Object.entries(fields);
    this.#cost.addMemory(objectBytes(declared.length, true));
    for (const [field, type] of declared) {
      const member = Object.hasOwn(json, field) ? json[field] : undefined;
      if (member === undefined) {
        this.#cost.addMade(1);
        setMember(object, field, initialValue(type));
      } else if (isContainer(member)) {
        setMember(object, field, yield* withinSteps(`field "${field}"`, this.read(type, member)));
      } else
        setMember(
          object,
          field,
          within(`field "${field}"`, () => this.#leaf(type, member)),
        );
    }
    return object;
  }
}

/** Converts a JSON value that is no array and no object. */
function leafFromJson(type: JavaType, json: JsonValue, cost: Cost): unknown {
  if (type === "void") return undefined;
  cost.addMade(1);
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
  if (isChars(type) && typeof json === "string") return json.split("");
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

/** Keys are always strings in JSON. */
function keyFromJson(type: JavaType, key: string, cost: Cost): unknown {
  if (scalarOf(type) === "boolean" && (key === "true" || key === "false")) return key === "true";
  const milliseconds = type === "java.util.Date" && /^-?[0-9]{1,16}$/.test(key);
  return leafFromJson(type, milliseconds ? Number(key) : key, cost);
}
