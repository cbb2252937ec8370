/**
 * The values of JSON, counted before the work that they cause: those of text before it is parsed, and those of a message
 * before it is created from parsed JSON.
 */

import type { DescField, DescMessage, JsonObject, JsonValue, Registry } from "@bufbuild/protobuf";
import { isWrapperDesc } from "@bufbuild/protobuf/wkt";
import { random } from "../../call/platform.ts";
import {
  BACKSLASH,
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  MAX_JSON_DEPTH,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
} from "../json-syntax.ts";
import { densityOf } from "./proto.ts";
import { fieldUnits, indexUnits, LONG_TYPES, largestKey, messageUnits, Units, type ValueCount } from "./values.ts";

/** Most values for each byte of text: an array that contains another one has two bytes. */
const TEXT_DENSITY = 0.5;

/** A power of two. */
const KNOWN_NAMES = 16_384;
/** Hashes of the names in objects, two in each pair of places, the newer one first. It is filled anew for each text. */
const known = new Int32Array(KNOWN_NAMES);
/** Callers cannot choose names whose hashes are equal. */
const SEED = Math.floor(random() * 2 ** 32) | 0;

/** Reports whether the hash is new, and remembers it. */
function isNew(hash: number): boolean {
  const place = hash & (KNOWN_NAMES - 2);
  if (known[place] === hash || known[place + 1] === hash) return false;
  known[place + 1] = known[place] as number;
  known[place] = hash;
  return true;
}

/**
 * Counts the values of JSON text from its bytes: its arrays, objects, items and members. A member is a fraction of a value if
 * another object has the same names up to it, as the rows of a table have: engines describe the names of such objects once.
 * Throws `resource_exhausted` above the limit, and nothing else: the parser reports malformed text.
 */
export function countJsonText(bytes: Uint8Array, count: ValueCount): void {
  if (!count.mayExceed(TEXT_DENSITY)) return;
  known.fill(0);
  const isArray = new Uint8Array(MAX_JSON_DEPTH + 1);
  /** Hashes of the names of each open object, in their order. */
  const names = new Int32Array(MAX_JSON_DEPTH + 1);
  let depth = 0;
  let hash = 0;
  for (let i = 0; i < bytes.length; i += 1) {
    switch (bytes[i]) {
      case QUOTE:
        hash = names[depth] as number;
        for (i += 1; i < bytes.length && bytes[i] !== QUOTE; i += 1) {
          if (bytes[i] === BACKSLASH) i += 1;
          hash = Math.imul(hash ^ (bytes[i] as number), 0x5bd1e995);
          hash ^= hash >>> 15;
        }
        if (isArray[depth] === 1) count.addRead(Units.text);
        break;
      case COLON:
        names[depth] = hash = Math.imul(hash ^ COLON, 0x5bd1e995);
        count.addRead(isNew(hash) ? Units.value : Units.field / 2);
        break;
      case COMMA:
        if (isArray[depth] === 1) count.addRead(Units.field);
        break;
      case OPEN_ARRAY:
      case OPEN_OBJECT:
        depth += 1;
        // The parser refuses deeper text.
        if (depth > MAX_JSON_DEPTH) return;
        isArray[depth] = bytes[i] === OPEN_ARRAY ? 1 : 0;
        names[depth] = SEED;
        count.addRead(Units.value);
        break;
      case CLOSE_ARRAY:
      case CLOSE_OBJECT:
        depth = Math.max(0, depth - 1);
    }
  }
}

/**
 * Counts the values of a message from its JSON. Throws `resource_exhausted` above the limit, and an error for 64-bit integers
 * of too many digits: their conversion would take a second.
 */
export function countJsonMessage(type: DescMessage, value: JsonValue, count: ValueCount, registry?: Registry): void {
  if (count.mayExceed(Math.max(TEXT_DENSITY, densityOf(type)))) new MessageCount(count, registry).message(type, value);
}

interface JsonShape {
  readonly units: number;
  /** Fields by the names that JSON accepts for them. */
  readonly fields: ReadonlyMap<string, DescField>;
}

const shapes = new WeakMap<DescMessage, JsonShape>();

function shapeOf(type: DescMessage): JsonShape {
  let shape = shapes.get(type);
  if (shape === undefined) {
    const fields = type.fields.flatMap((field) => [field.name, field.jsonName].map((name) => [name, field] as const));
    shape = { units: messageUnits(type), fields: new Map(fields) };
    shapes.set(type, shape);
  }
  return shape;
}

/** Messages of any JSON, in which each value is a message. */
const ANY_JSON = new Set(["Struct", "Value", "ListValue"].map((name) => `google.protobuf.${name}`));
/** Units of a `google.protobuf.Value` with its oneof, as an item or entry, and of a `google.protobuf.Any`. */
const VALUE_UNITS = 2 * Units.value;

class MessageCount {
  readonly #count: ValueCount;
  readonly #registry: Registry | undefined;

  constructor(count: ValueCount, registry: Registry | undefined) {
    this.#count = count;
    this.#registry = registry;
  }

  message(type: DescMessage, value: JsonValue): void {
    const { typeName } = type;
    if (ANY_JSON.has(typeName)) this.#any(value);
    else if (typeName === "google.protobuf.FieldMask" && typeof value === "string") {
      // protobuf-es converts each character of the paths.
      this.#count.addMade(Units.field * value.length);
    } else if (typeName === "google.protobuf.Any" && isObject(value)) this.#packed(value);
    else this.#fields(type, value);
  }

  #fields(type: DescMessage, value: JsonValue): void {
    const { units, fields } = shapeOf(type);
    this.#count.addMade(units);
    if (isWrapperDesc(type)) checkDigits(type.fields[0] as DescField, value);
    else if (isObject(value)) {
      for (const name in value) {
        const field = fields.get(name);
        if (field !== undefined) this.#field(field, value[name] as JsonValue);
      }
    }
  }

  #field(field: DescField, value: JsonValue): void {
    const units = fieldUnits(field);
    if (field.fieldKind === "list" && Array.isArray(value)) {
      for (const item of value) this.#value(field, item, units);
    } else if (field.fieldKind === "map" && isObject(value)) {
      let largest = 0;
      for (const key in value) {
        if (LONG_TYPES.has(field.mapKey)) checkLength(field, key);
        largest = this.#key(key, largest);
        this.#value(field, value[key] as JsonValue, units);
      }
    } else this.#value(field, value, units + Units.field);
  }

  #value(field: DescField, value: JsonValue, units: number): void {
    this.#count.addMade(units);
    checkDigits(field, value);
    if (field.message !== undefined) this.message(field.message, value);
  }

  /** Counts the values of any JSON. */
  #any(value: JsonValue): void {
    this.#count.addMade(typeof value === "object" ? VALUE_UNITS + Units.value : VALUE_UNITS);
    if (Array.isArray(value)) for (const item of value) this.#any(item);
    else if (isObject(value)) {
      let largest = 0;
      for (const key in value) {
        largest = this.#key(key, largest);
        this.#any(value[key] as JsonValue);
      }
    }
  }

  /** Counts the array of a map's integer keys. */
  #key(key: string, largest: number): number {
    const next = INTEGER_KEY.test(key) ? largestKey(largest, Number(key)) : largest;
    this.#count.addMade(indexUnits(largest, next));
    return next;
  }

  /** Counts the message in a `google.protobuf.Any`. A well-known message is in a member of its own. */
  #packed(any: JsonObject): void {
    const { "@type": url, value } = any;
    this.#count.addMade(VALUE_UNITS);
    const type = typeof url === "string" ? this.#registry?.getMessage(url.slice(url.lastIndexOf("/") + 1)) : undefined;
    if (type === undefined) return;
    const isWellKnown = type.typeName.startsWith("google.protobuf.") && value !== undefined;
    const before = this.#count.made;
    this.message(type, isWellKnown ? value : any);
    // The message is encoded after it was decoded.
    this.#count.addMade(this.#count.made - before);
  }
}

const INTEGER_KEY = /^[0-9]{1,4}$/;

/** Maximum number of characters in a 64-bit integer: many more than it has digits, but zeros may precede them. */
const MAX_LONG_DIGITS = 1_000;

function checkDigits(field: DescField, value: JsonValue): void {
  if (typeof value === "string" && LONG_TYPES.has(field.scalar)) checkLength(field, value);
}

function checkLength({ jsonName }: DescField, { length }: string): void {
  if (length <= MAX_LONG_DIGITS) return;
  throw new Error(`field "${jsonName}" has an integer of more than ${MAX_LONG_DIGITS} digits, which is out of range`);
}

export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
