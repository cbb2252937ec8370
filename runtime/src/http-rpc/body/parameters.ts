/**
 * Parameters: the fields of a request message in the order of their declaration, for bodies with named or ordered
 * values. Values arrive as text and are parsed by the type of their field.
 */
import {
  create,
  type DescEnum,
  type DescField,
  type DescMessage,
  type JsonValue,
  type Message,
  ScalarType,
} from "@bufbuild/protobuf";
import { isReflectMessage, type ReflectMessage, reflect } from "@bufbuild/protobuf/reflect";
import { isWrapperDesc } from "@bufbuild/protobuf/wkt";
import { RpcError, reasonOf } from "../../call/error.ts";
import type { BodyJson } from "../../codec/bounded-codec.ts";
import { jsonNameOf } from "../../codec/json-fields.ts";
import type { NamedValue } from "../../protocol/payload.ts";
import { unsupportedType } from "../error-response.ts";
import { badRequest } from "../headers.ts";

/** A value and its field. A repeated field has one such entry for each item. */
interface FieldValue<V> {
  readonly field: DescField;
  readonly value: V;
}

/** Finds the field with the name, which is its JSON name or its name in the proto file. */
export function findField(type: DescMessage, name: string): DescField | undefined {
  return type.fields.find((field) => field.jsonName === name || field.name === name);
}

/** The start of JSON text, and of no field's name. `curl -d` sends JSON as a form if no content type is given. */
const JSON_START = /^\s*[{[]/;

/**
 * Finds the field of each value. If at least one name is known, values are bound by name, and unknown names are ignored
 * as in JSON. Otherwise values are bound by position. A message that wraps one scalar is a single parameter.
 */
function bindParameters<V>(type: DescMessage, values: readonly NamedValue<V>[]): FieldValue<V>[] {
  if (isTextual(type) && !isWrapperDesc(type)) {
    const problem = `the parameter is one ${type.typeName}, and the values of this content type are for several`;
    throw unsupportedType(`${problem}; send it as application/json`);
  }
  const byName = values.flatMap(({ name, value }) => {
    const field = findField(type, name);
    return field === undefined ? [] : [{ field, value }];
  });
  if (byName.length > 0) return byName;
  if (JSON_START.test(values[0]?.name ?? "")) {
    throw badRequest("the name of the first value begins like JSON; send JSON with content-type: application/json");
  }
  const names = type.fields.map(({ jsonName }) => jsonName).join(", ");
  return values.map(({ value }, position) => {
    const field = type.fields[position];
    if (field !== undefined) return { field, value };
    const taken = type.fields.length === 0 ? "takes no parameters" : `takes ${type.fields.length}: ${names}`;
    throw badRequest(`the body has ${values.length} values of unknown names, and ${type.typeName} ${taken}`);
  });
}

/** All items of one value of a repeated field. */
export class Items {
  readonly values: JsonValue[];

  constructor(values: JsonValue[]) {
    this.values = values;
  }
}

/** A value as JSON, bytes for a field of bytes, or a message that a codec or a format has decoded. */
type ItemValue = JsonValue | Uint8Array | ReflectMessage;

export type PartValue = ItemValue | Items;

/** Decodes named values into a message. `decode` returns `undefined` for a value that leaves its field unset. */
export function decodeParameters<V>(
  json: BodyJson,
  type: DescMessage,
  named: readonly NamedValue<V>[],
  decode: (field: DescField, value: V) => PartValue | undefined,
): object {
  const values: FieldValue<PartValue>[] = [];
  for (const { field, value: given } of bindParameters(type, named)) {
    const value = decode(field, given);
    if (value !== undefined) values.push({ field, value });
  }
  return messageFrom(json, type, values);
}

/** Creates a message from the values of its fields. */
export function messageFrom(json: BodyJson, type: DescMessage, values: readonly FieldValue<PartValue>[]): object {
  const byField = new Map<DescField, ItemValue[]>();
  for (const { field, value } of values) {
    const items = value instanceof Items ? value.values : [value];
    const known = byField.get(field);
    if (known === undefined) byField.set(field, items);
    else if (field.fieldKind !== "list") throw badRequest(`parameter "${field.jsonName}" is given more than once`);
    else for (const item of items) known.push(item);
  }
  const members = new Map<string, JsonValue>();
  const placed = new Map<DescField, ItemValue[]>();
  for (const [field, items] of byField) {
    if (!items.every(isJson)) placed.set(field, items);
    else members.set(field.jsonName, field.fieldKind === "list" ? items : (items[0] as JsonValue));
  }
  const message = fromMembers(json, type, members);
  if (placed.size > 0) setPlaced(json, reflect(type, message as Message), placed);
  return message;
}

const isJson = (value: ItemValue): value is JsonValue => !(value instanceof Uint8Array || isReflectMessage(value));

/** Decodes a message from its JSON members. The JSON of a message that wraps a scalar is the scalar. */
function fromMembers(json: BodyJson, type: DescMessage, members: ReadonlyMap<string, JsonValue>): object {
  if (!isWrapperDesc(type)) return json.fromValue(type, Object.fromEntries(members));
  const boxed = members.get("value");
  return boxed === undefined ? create(type) : json.fromValue(type, boxed);
}

/** Sets the fields that have values other than JSON. */
function setPlaced(json: BodyJson, fields: ReflectMessage, placed: ReadonlyMap<DescField, ItemValue[]>): void {
  for (const [field, items] of placed) {
    const values = items.map((item) => reflected(json, field, item));
    if (field.fieldKind !== "list") fields.set(field, values[0]);
    else for (const value of values) fields.get(field).add(value);
  }
}

/** Decodes JSON of a message, and wraps bytes for a field of type `BytesValue`. */
function reflected(json: BodyJson, { message }: DescField, value: ItemValue): unknown {
  if (message === undefined || isReflectMessage(value)) return value;
  const decoded = value instanceof Uint8Array ? create(message, { value }) : json.fromValue(message, value);
  return reflect(message, decoded as Message);
}

/** Messages whose JSON is a string. An empty text leaves the field unset, as for numbers. */
const TEXT_TYPES = new Set(["Timestamp", "Duration", "FieldMask"].map((name) => `google.protobuf.${name}`));

/** Messages that contain any JSON. Their text is parsed as JSON. */
const JSON_TYPES = new Set(["Struct", "Value", "ListValue", "Any"].map((name) => `google.protobuf.${name}`));

/** Reports whether a field, or an item of a repeated field, or a value of a map, is bytes or a `BytesValue`. */
export function holdsBytes({ scalar, message }: DescField): boolean {
  return scalar === ScalarType.BYTES || message?.typeName === "google.protobuf.BytesValue";
}

/** Reports whether a message can be given as one text: it is a string or scalar in JSON, or any JSON. */
export function isTextual(type: DescMessage): boolean {
  return isWrapperDesc(type) || TEXT_TYPES.has(type.typeName) || holdsJson(type);
}

/** Reports whether the text of a message is parsed as JSON. */
export function holdsJson({ typeName }: DescMessage): boolean {
  return JSON_TYPES.has(typeName);
}

/**
 * Parses a text as the JSON value of a field, or of one item of a repeated field. Returns `undefined`, which leaves the
 * field unset, for an empty text unless the type is a string, because HTML forms send empty inputs too.
 */
export function parseText(json: BodyJson, field: DescField, text: string): JsonValue | undefined {
  try {
    return field.fieldKind === "map" ? parseJson(json, text) : parseEncoded(json, field, text);
  } catch (cause) {
    if (cause instanceof RpcError) throw cause;
    throw new Error(`parameter "${field.jsonName}": ${reasonOf(cause)}`, { cause });
  }
}

/** Parses a text of a form or a query. Base64 has no spaces: one is a plus sign that was not escaped. */
export function parseEncoded(json: BodyJson, field: DescField, text: string): JsonValue | undefined {
  if (holdsBytes(field) && text.includes(" ")) throw new Error("the base64 has a space; write + as %2B");
  return parseItem(json, field, text);
}

/** Parses a text as an item of a list, a value of a map, or a singular field. */
export function parseItem(
  json: BodyJson,
  { message, enum: enumeration, scalar }: DescField,
  text: string,
): JsonValue | undefined {
  if (message !== undefined) return parseMessageText(json, message, text);
  return enumeration === undefined ? parseScalar(scalar, text) : parseEnum(enumeration, text);
}

/** Parses a text as a message: as JSON, unless the JSON of the message is itself a string or scalar. */
export function parseMessageText(json: BodyJson, type: DescMessage, text: string): JsonValue | undefined {
  if (isWrapperDesc(type)) return parseScalar(type.fields[0].scalar, text);
  return TEXT_TYPES.has(type.typeName) ? text.trim() || undefined : parseJson(json, text);
}

const encoder = new TextEncoder();

function parseJson(json: BodyJson, text: string): JsonValue | undefined {
  return text.trim() === "" ? undefined : json.parse(encoder.encode(text));
}

function parseEnum({ values }: DescEnum, text: string): JsonValue | undefined {
  const name = text.trim();
  if (name === "") return undefined;
  if (/^-?[0-9]+$/.test(name)) return Number(name);
  if (values.some((value) => value.name === name || value.jsonName === name)) return name;
  throw new Error(`${JSON.stringify(name)} is not among: ${values.map(jsonNameOf).join(", ")}`);
}

/** Text forms of booleans. `on` is the value of a checked HTML checkbox. */
const BOOLEANS: Readonly<Record<string, boolean>> = {
  true: true,
  on: true,
  1: true,
  false: false,
  off: false,
  0: false,
};
/** A number in text, also one that JSON lacks. */
export const NUMBER: RegExp = /^(?:-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|-?Infinity|NaN)$/;

function parseScalar(scalar: ScalarType | undefined, text: string): JsonValue | undefined {
  if (scalar === ScalarType.STRING || scalar === ScalarType.BYTES) return text;
  const value = text.trim();
  if (value === "") return undefined;
  if (scalar !== ScalarType.BOOL) {
    if (NUMBER.test(value)) return value;
    throw new Error(`${JSON.stringify(value)} is not a number`);
  }
  return parseBoolean(value);
}

/** Parses a boolean. Throws for other text. */
export function parseBoolean(text: string): boolean {
  const known = Object.hasOwn(BOOLEANS, text) ? BOOLEANS[text] : undefined;
  if (known !== undefined) return known;
  throw new Error(`${JSON.stringify(text)} is not a boolean; it must be true or false`);
}
