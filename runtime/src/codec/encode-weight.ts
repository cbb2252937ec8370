/**
 * The work of encoding a message, counted without encoding it. The unit is a value of a field, which takes about as much
 * time as 256 characters of text.
 */
import {
  type DescField,
  type DescMessage,
  isMessage,
  type JsonValue,
  type Message,
  ScalarType,
} from "@bufbuild/protobuf";
import { isLargeJson } from "./json-parts.ts";

/** Weight of a message that is encoded at once: a few milliseconds. */
const SMALL_WEIGHT = 4_096;

/** Weight of the values that are encoded in one step, which takes less than a millisecond. */
export const STEP_WEIGHT = 512;

const CHARACTERS_PER_UNIT = 256;
/** Bytes that are copied in the time of a value, and bytes that protobuf-es encodes in base64 in it. */
export const COPIED_BYTES_PER_UNIT = 4_096;
export const BASE64_BYTES_PER_UNIT = 16;
/** Characters of a path of a `google.protobuf.FieldMask`, which JSON writes in lowerCamel. */
const PATH_CHARACTERS_PER_UNIT = 8;

/** Keys of an object that are listed again each time. */
const FEW_KEYS = 1_000;

/**
 * Weighs the parts of one message. Most results are limited: if the weight is at least `enough`, the result is any number
 * from `enough` on, and the rest is not counted.
 */
export class Weigher {
  readonly #keys = new Map<object, readonly string[]>();
  readonly #bytesPerUnit: number;

  /** `bytesPerUnit`: the bytes of a field of bytes that have the weight of a value. */
  constructor(bytesPerUnit: number) {
    this.#bytesPerUnit = bytesPerUnit;
  }

  /** Reports whether a message, or its init shape, is large enough to be encoded in steps. */
  isLarge(type: DescMessage, message: object): boolean {
    return this.message(type, message, SMALL_WEIGHT) >= SMALL_WEIGHT;
  }

  /** Returns the keys of a map or JSON object. To list half a million keys takes 100 ms, so they are listed once. */
  keys(object: object): readonly string[] {
    const known = this.#keys.get(object);
    if (known !== undefined) return known;
    const keys = Object.keys(object);
    if (keys.length > FEW_KEYS) this.#keys.set(object, keys);
    return keys;
  }

  message(type: DescMessage, message: unknown, enough: number): number {
    if (typeof message !== "object" || message === null) return this.#scalar(message);
    if (type.typeName === "google.protobuf.FieldMask") return weighPaths(message);
    let weight = 1 + type.fields.length / 16;
    for (const field of type.fields) {
      const value = givenValue(field, message);
      if (value !== undefined) weight += this.field(field, value, enough - weight);
      if (weight >= enough) return weight;
    }
    return weight + ((message as Message).$unknown?.length ?? 0);
  }

  /** Weighs the value of a field, which is a list or map for such a field. */
  field(field: DescField, value: unknown, enough: number): number {
    if (field.fieldKind === "list") return this.#list(field, value, enough);
    if (field.fieldKind !== "map") return this.value(field, value, enough);
    return this.#members(value as object, enough, (one, rest) => this.value(field, one, rest));
  }

  /** Weighs one value: that of an item for a list, and of a member for a map. */
  value(field: DescField, value: unknown, enough: number): number {
    if (field.message === undefined) return this.#scalar(value);
    return isPlainJson(field, value) ? this.json(value, enough) : this.message(field.message, value, enough);
  }

  /** Weighs a JSON value, which may contain bytes. */
  json(value: unknown, enough: number): number {
    if (typeof value !== "object" || value === null || value instanceof Uint8Array) return this.#scalar(value);
    // Its keys would be listed otherwise.
    if (isLargeJson(value as JsonValue)) return enough;
    const weigh = (one: unknown, rest: number): number => this.json(one, rest);
    return Array.isArray(value) ? weighItems(value, enough, weigh) : this.#members(value, enough, weigh);
  }

  #scalar(value: unknown): number {
    if (typeof value === "string") return 1 + value.length / CHARACTERS_PER_UNIT;
    return value instanceof Uint8Array ? 1 + value.byteLength / this.#bytesPerUnit : 1;
  }

  #list(field: DescField, value: unknown, enough: number): number {
    if (!Array.isArray(value)) return 1;
    if (field.message === undefined && !isText(field)) return value.length;
    return weighItems(value, enough, (item, rest) => this.value(field, item, rest));
  }

  #members(object: object, enough: number, weigh: (member: unknown, enough: number) => number): number {
    const keys = this.keys(object);
    let weight = keys.length;
    for (const key of keys) {
      if (weight >= enough) break;
      weight += weighKey(key) + weigh((object as Readonly<Record<string, unknown>>)[key], enough - weight);
    }
    return weight;
  }
}

function weighItems(
  items: readonly unknown[],
  enough: number,
  weigh: (item: unknown, enough: number) => number,
): number {
  let weight = items.length;
  for (const item of items) {
    if (weight >= enough) break;
    weight += weigh(item, enough - weight);
  }
  return weight;
}

function weighPaths(mask: { readonly paths?: readonly string[] }): number {
  return (mask.paths ?? []).reduce((weight, path) => weight + 1 + weighPath(path), 1);
}

/** Returns the weight of a path of a `google.protobuf.FieldMask`. */
export function weighPath(path: string): number {
  return path.length / PATH_CHARACTERS_PER_UNIT;
}

/** Returns the weight of the name of a member, in addition to that of its value. */
export function weighKey(key: string): number {
  return key.length / CHARACTERS_PER_UNIT;
}

/** Returns the value of a field in a message or its init shape; `undefined`: it is not set. */
export function givenValue(field: DescField, message: object): unknown {
  const members = message as Readonly<Record<string, unknown>>;
  if (field.oneof !== undefined) {
    const group = members[field.oneof.localName] as { readonly case?: string; readonly value?: unknown } | undefined;
    return group?.case === field.localName ? group.value : undefined;
  }
  const { localName } = field;
  // The default values of proto2 are properties of the prototype of a message.
  if (isMessage(message) && !Object.hasOwn(message, localName)) return undefined;
  return members[localName] ?? undefined;
}

/** Reports whether protobuf-es represents a value of the field as a plain JSON object: a `google.protobuf.Struct`. */
export function isPlainJson(field: DescField, value: unknown): value is object {
  const isStruct = field.message?.typeName === "google.protobuf.Struct";
  return isStruct && field.parent.typeName !== "google.protobuf.Value" && typeof value === "object" && value !== null;
}

function isText({ scalar }: DescField): boolean {
  return scalar === ScalarType.STRING || scalar === ScalarType.BYTES;
}
