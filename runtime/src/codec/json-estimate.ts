/**
 * Estimates the memory of messages that are given as JSON, from the value and the message type, before they are
 * decoded.
 */
import { type DescField, type DescMessage, type JsonObject, type JsonValue, ScalarType } from "@bufbuild/protobuf";
import { isWrapperDesc } from "@bufbuild/protobuf/wkt";
import { IndexArray, indexOfKey, Memory } from "./memory.ts";
import { emptyMessage } from "./proto-estimate.ts";

/** The properties of a message type that determine its JSON form and its memory. */
export interface JsonShape {
  /** Memory of an empty message, in bytes. */
  readonly empty: number;
  /** True if the JSON of the message is an object with its fields. Well-known messages have special forms. */
  readonly plain: boolean;
  /** Fields by the names that JSON accepts for them: the name in the proto file, and lowerCamel. */
  readonly fields: ReadonlyMap<string, DescField>;
}

const shapes = new WeakMap<DescMessage, JsonShape>();

export function jsonShape(type: DescMessage): JsonShape {
  const known = shapes.get(type);
  if (known !== undefined) return known;
  const shape = {
    empty: emptyMessage(type),
    plain: !SPECIAL.has(type.typeName) && !isWrapperDesc(type),
    fields: new Map(type.fields.flatMap((field) => [field.name, field.jsonName].map((name) => [name, field] as const))),
  };
  shapes.set(type, shape);
  return shape;
}

/** Estimates the memory of a message of the type that is decoded from a JSON value, in bytes. */
export function estimateJson(type: DescMessage, value: JsonValue): number {
  const { empty, plain, fields } = jsonShape(type);
  if (isWrapperDesc(type)) checkDigits(type.fields[0] as DescField, value);
  if (!plain || !isObject(value)) return empty + estimateAny(value);
  let memory = empty;
  // `for...in` includes inherited members, but Object.prototype has none that are enumerable.
  for (const key in value) {
    const field = fields.get(key);
    if (field !== undefined) memory += estimateField(field, value[key] as JsonValue);
  }
  return memory;
}

export function estimateField(field: DescField, value: JsonValue): number {
  const { fieldKind, message, scalar } = field;
  checkDigits(field, value);
  let memory = 0;
  // Bytes are text in JSON, and an array with its own memory in the message.
  const each = scalar === ScalarType.BYTES ? Memory.ownBytes : 0;
  if (fieldKind === "list" && Array.isArray(value)) {
    if (value.length > 0) memory = Memory.firstItem;
    for (const item of value) memory += Memory.item + each + estimateValue(message, item);
  } else if (fieldKind === "map" && isObject(value)) {
    const array = new IndexArray();
    for (const key in value) {
      memory += Memory.entry + Memory.slot + each + firstKeyBytes(memory, key) + array.add(indexOfKey(key));
      memory += estimateValue(message, value[key] as JsonValue);
    }
  } else memory = Memory.slot + each + estimateValue(message, value);
  return memory;
}

/** The 64-bit integers, which JSON may write as strings. */
export const LONG_TYPES: ReadonlySet<ScalarType | undefined> = new Set([
  ScalarType.INT64,
  ScalarType.UINT64,
  ScalarType.SINT64,
  ScalarType.FIXED64,
  ScalarType.SFIXED64,
]);

/** Maximum number of characters in a 64-bit integer: many more than it has digits, but zeros may precede them. */
const MAX_LONG_DIGITS = 1_000;

/** Throws for 64-bit integers with so many digits that their conversion would take a second. */
export function checkDigits(field: DescField, value: JsonValue): void {
  if (field.fieldKind === "map" && LONG_TYPES.has(field.mapKey) && isObject(value)) {
    for (const key in value) if (key.length > MAX_LONG_DIGITS) throw tooManyDigits(field);
  }
  const { scalar } = field;
  if (!LONG_TYPES.has(scalar)) return;
  if (typeof value === "string" && value.length > MAX_LONG_DIGITS) throw tooManyDigits(field);
  if (field.fieldKind === "list" && Array.isArray(value)) {
    for (const item of value) if (typeof item === "string" && item.length > MAX_LONG_DIGITS) throw tooManyDigits(field);
  } else if (field.fieldKind === "map" && isObject(value)) {
    for (const key in value) {
      const item = value[key];
      if (typeof item === "string" && item.length > MAX_LONG_DIGITS) throw tooManyDigits(field);
    }
  }
}

function tooManyDigits({ jsonName }: DescField): Error {
  return new Error(`field "${jsonName}" has an integer of more than ${MAX_LONG_DIGITS} digits, which is out of range`);
}

function estimateValue(type: DescMessage | undefined, value: JsonValue): number {
  return type === undefined ? estimateAny(value) : estimateJson(type, value);
}

/** Memory of a `google.protobuf.Value` with its oneof and its map entry, in bytes. */
export const VALUE_BYTES: number = Memory.object + Memory.oneof + Memory.slot + Memory.entry;

export function estimateAny(value: JsonValue): number {
  if (typeof value === "string") return Memory.text(value.length);
  if (typeof value !== "object" || value === null) return Memory.number;
  let memory = 0;
  if (Array.isArray(value)) {
    if (value.length > 0) memory = Memory.firstItem;
    for (const item of value) memory += VALUE_BYTES + estimateAny(item);
  } else {
    const array = new IndexArray();
    for (const key in value) {
      memory += VALUE_BYTES + firstKeyBytes(memory, key) + array.add(indexOfKey(key));
      memory += estimateAny(value[key] as JsonValue);
    }
  }
  return VALUE_BYTES + memory;
}

/** Returns the memory of the first entry of a map in addition to that of each. `memory` is that of the entries before. */
function firstKeyBytes(memory: number, key: string): number {
  return memory === 0 && key >= "0" && key < ":" ? Memory.firstIndexEntry : 0;
}

export function isPlain(type: DescMessage): boolean {
  return jsonShape(type).plain;
}

const SPECIAL = new Set(
  ["Any", "Duration", "FieldMask", "ListValue", "Struct", "Timestamp", "Value"].map(
    (name) => `google.protobuf.${name}`,
  ),
);

export function isObject(value: JsonValue): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
