/**
 * Estimates the memory of messages that are given as JSON, from the value and its type, before they are made.
 */
import type { DescField, DescMessage, JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isWrapperDesc } from "@bufbuild/protobuf/wkt";
import { Memory } from "./memory.ts";
import { emptyMessage } from "./proto-estimate.ts";

/** A message's type, as far as its JSON and its memory depend on it. */
export interface JsonShape {
  /** Memory of an empty message. */
  readonly empty: number;
  /** True if JSON has an object with the message's fields. The well-known messages have forms of their own. */
  readonly plain: boolean;
  /** Fields by the names that JSON has for them: that of the proto file, and lowerCamel. */
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

/** Memory of a value of JSON as a message of that type, or as the JSON that the type stands for. */
export function estimateJson(type: DescMessage, value: JsonValue): number {
  const { empty, plain, fields } = jsonShape(type);
  if (!plain || !isObject(value)) return empty + estimateAny(value);
  let memory = empty;
  // Inherited members would be those of Object.prototype, which has none that are enumerable.
  for (const key in value) {
    const field = fields.get(key);
    if (field !== undefined) memory += estimateField(field, value[key] as JsonValue);
  }
  return memory;
}

export function estimateField({ fieldKind, message }: DescField, value: JsonValue): number {
  let memory = 0;
  if (fieldKind === "list" && Array.isArray(value)) {
    for (const item of value) memory += Memory.slot + estimateValue(message, item);
  } else if (fieldKind === "map" && isObject(value)) {
    for (const key in value) memory += Memory.entry + Memory.slot + estimateValue(message, value[key] as JsonValue);
  } else memory = Memory.slot + estimateValue(message, value);
  return memory;
}

function estimateValue(type: DescMessage | undefined, value: JsonValue): number {
  return type === undefined ? estimateAny(value) : estimateJson(type, value);
}

/** A value of google.protobuf.Value, with the oneof it has, and its entry of a map. */
export const VALUE_BYTES: number = 2 * Memory.object + Memory.slot + Memory.entry;

export function estimateAny(value: JsonValue): number {
  if (typeof value === "string") return Memory.text(value.length);
  if (typeof value !== "object" || value === null) return Memory.number;
  let memory: number = VALUE_BYTES;
  if (Array.isArray(value)) for (const item of value) memory += VALUE_BYTES + estimateAny(item);
  else for (const key in value) memory += VALUE_BYTES + estimateAny(value[key] as JsonValue);
  return memory;
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
