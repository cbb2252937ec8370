/**
 * The work of encoding a message, counted without encoding it. The unit is a value of a field, which takes about as much
 * time as 256 characters of text, or as 16 bytes in base64.
 */
import { type DescField, type DescMessage, isMessage, ScalarType } from "@bufbuild/protobuf";

/** Weight of a message that is encoded at once: a few milliseconds. */
const SMALL_WEIGHT = 4_096;

/** Weight of the values that are encoded in one step, which takes less than a millisecond. */
export const STEP_WEIGHT = 512;

const CHARACTERS = 256;
const BYTES = 16;

/** Reports whether a message, or its init shape, is large enough to be encoded in steps. */
export function isLargeMessage(type: DescMessage, message: object): boolean {
  return weighMessage(type, message, SMALL_WEIGHT) >= SMALL_WEIGHT;
}

/**
 * Returns the weight of a message. If it is at least `enough`, the result is any number from `enough` on: the rest is not
 * counted.
 */
export function weighMessage(type: DescMessage, message: unknown, enough: number): number {
  if (typeof message !== "object" || message === null) return weighScalar(message);
  let weight = 1 + type.fields.length / 16;
  for (const field of type.fields) {
    const value = fieldValue(field, message);
    if (value !== undefined) weight += weighField(field, value, enough - weight);
    if (weight >= enough) return weight;
  }
  const { $unknown: unknown } = message as { readonly $unknown?: readonly { readonly data: Uint8Array }[] };
  return weight + (unknown?.length ?? 0);
}

/** Returns the weight of the value of a field, as {@link weighMessage} does. */
export function weighField(field: DescField, value: unknown, enough: number): number {
  if (field.fieldKind === "list") return weighList(field, value, enough);
  if (field.fieldKind !== "map") return weighValue(field, value, enough);
  let weight = 1;
  for (const key in value as object) {
    weight += 1 + weighValue(field, (value as Readonly<Record<string, unknown>>)[key], enough - weight);
    if (weight >= enough) break;
  }
  return weight;
}

function weighList(field: DescField, value: unknown, enough: number): number {
  if (!Array.isArray(value)) return 1;
  if (field.message === undefined && !isText(field)) return value.length;
  let weight = 1;
  for (const item of value) {
    weight += weighValue(field, item, enough - weight);
    if (weight >= enough) break;
  }
  return weight;
}

/** Returns the weight of one value: that of an item for a list, and of a member for a map. */
export function weighValue(field: DescField, value: unknown, enough: number): number {
  if (field.message === undefined) return weighScalar(value);
  return isPlainJson(field, value) ? weighJson(value, enough) : weighMessage(field.message, value, enough);
}

function weighScalar(value: unknown): number {
  if (typeof value === "string") return 1 + value.length / CHARACTERS;
  return value instanceof Uint8Array ? 1 + value.byteLength / BYTES : 1;
}

/** Returns the weight of a JSON value, as {@link weighMessage} does. */
export function weighJson(value: unknown, enough: number): number {
  if (typeof value !== "object" || value === null) return weighScalar(value);
  let weight = 1;
  const add = (one: unknown): boolean => {
    weight += 1 + weighJson(one, enough - weight);
    return weight >= enough;
  };
  if (Array.isArray(value)) {
    for (const item of value) if (add(item)) break;
  } else {
    for (const key in value) if (add((value as Readonly<Record<string, unknown>>)[key])) break;
  }
  return weight;
}

/** Returns the value of a field in a message or its init shape; `undefined`: it is not set. */
export function fieldValue(field: DescField, message: object): unknown {
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
