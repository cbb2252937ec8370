/**
 * Parameters: the fields of a request message, in the order of their declaration, for bodies that name their values or
 * list them. Values arrive as text and become what the type of their field says.
 */
import {
  type DescEnum,
  type DescField,
  type DescMessage,
  type JsonValue,
  type Message,
  ScalarType,
} from "@bufbuild/protobuf";
import { type ReflectList, reflect } from "@bufbuild/protobuf/reflect";
import { Code } from "../../call/code.ts";
import { reasonOf } from "../../call/error.ts";
import { decodeJson, type JsonValues } from "../../codec/codec.ts";
import { Refusal } from "../error-response.ts";
import { badRequest } from "../headers.ts";
import type { MediaType } from "../media-type.ts";

/** A body to decode into the parameters of a method. */
export interface BodyInput {
  /** The message to decode it into. */
  readonly type: DescMessage;
  readonly bytes: Uint8Array;
  readonly mediaType: MediaType;
  /** The JSON of the server's codec, which knows its registry. */
  readonly json: JsonValues;
}

/** A value of a body under the name that the body gives it. */
export interface Named<V> {
  readonly name: string;
  readonly value: V;
}

/** A value and the field it is for; for a field that repeats, one item. */
export interface FieldValue<V> {
  readonly field: DescField;
  readonly value: V;
}

/** The field with that JSON name or name in the proto file. */
export function findField(type: DescMessage, name: string): DescField | undefined {
  return type.fields.find((field) => field.jsonName === name || field.name === name);
}

/**
 * Finds the field of each value: by name, as soon as one name is known, and then unknown ones are ignored as they are in
 * JSON; by position, if none is.
 */
export function bindParameters<V>(type: DescMessage, values: readonly Named<V>[]): FieldValue<V>[] {
  if (isTextual(type)) {
    const problem = `the parameter is one ${type.typeName}, and the values of this content type are for several`;
    throw new Refusal(415, Code.Internal, `${problem}; send it as application/json`);
  }
  const byName = values.flatMap(({ name, value }) => {
    const field = findField(type, name);
    return field === undefined ? [] : [{ field, value }];
  });
  if (byName.length > 0) return byName;
  const names = type.fields.map(({ jsonName }) => jsonName).join(", ");
  return values.map(({ value }, position) => {
    const field = type.fields[position];
    if (field !== undefined) return { field, value };
    const taken = type.fields.length === 0 ? "takes no parameters" : `takes ${type.fields.length}: ${names}`;
    throw badRequest(`the body has ${values.length} values of unknown names, and ${type.typeName} ${taken}`);
  });
}

/** Makes a message of the values of its fields: values in JSON, or the bytes of a field of bytes. */
export function messageFrom(
  json: JsonValues,
  type: DescMessage,
  values: readonly FieldValue<JsonValue | Uint8Array>[],
): object {
  const members = new Map<string, JsonValue>();
  const raw: FieldValue<Uint8Array>[] = [];
  const seen = new Set<DescField>();
  for (const { field, value } of values) {
    const list = field.fieldKind === "list";
    if (!list && seen.has(field)) throw badRequest(`parameter "${field.jsonName}" is given more than once`);
    seen.add(field);
    const items = members.get(field.jsonName);
    if (value instanceof Uint8Array) raw.push({ field, value });
    else if (list && Array.isArray(items)) items.push(value);
    else members.set(field.jsonName, list ? [value] : value);
  }
  const message = json.fromValue(type, Object.fromEntries(members));
  if (raw.length > 0) setBytes(type, message, raw);
  return message;
}

function setBytes(type: DescMessage, message: object, values: readonly FieldValue<Uint8Array>[]): void {
  const fields = reflect(type, message as Message);
  for (const { field, value } of values) {
    if (field.fieldKind === "list") (fields.get(field) as ReflectList<Uint8Array>).add(value);
    else fields.set(field, value);
  }
}

/** Messages that are one text in JSON. An empty one is left out, as an empty number is. */
const TEXT_TYPES = new Set(["Timestamp", "Duration", "FieldMask"].map((name) => `google.protobuf.${name}`));

/** Messages that hold any JSON; a text for them is JSON. */
const JSON_TYPES = new Set(["Struct", "Value", "ListValue", "Any"].map((name) => `google.protobuf.${name}`));

/** Messages around one scalar. */
const WRAPPERS: ReadonlyMap<string, ScalarType> = new Map(
  Object.entries({
    Double: ScalarType.DOUBLE,
    Float: ScalarType.FLOAT,
    Int64: ScalarType.INT64,
    UInt64: ScalarType.UINT64,
    Int32: ScalarType.INT32,
    UInt32: ScalarType.UINT32,
    Bool: ScalarType.BOOL,
    String: ScalarType.STRING,
    Bytes: ScalarType.BYTES,
  }).map(([name, scalar]) => [`google.protobuf.${name}Value`, scalar]),
);

/** Whether a message is written as text rather than as a structure. */
export function isTextual({ typeName }: DescMessage): boolean {
  return WRAPPERS.has(typeName) || TEXT_TYPES.has(typeName) || JSON_TYPES.has(typeName);
}

/** Whether the text of a message is JSON. */
export function holdsJson({ typeName }: DescMessage): boolean {
  return JSON_TYPES.has(typeName);
}

/**
 * The JSON value of a text, for a field or for one item of a field that repeats. `undefined`, which leaves the field
 * unset, for an empty text where only a string could be empty: an HTML form sends every input, filled in or not.
 */
export function parseText(field: DescField, text: string): JsonValue | undefined {
  try {
    return field.fieldKind === "map" ? parseJson(text) : parseItem(field, text);
  } catch (cause) {
    throw new Error(`parameter "${field.jsonName}": ${reasonOf(cause)}`, { cause });
  }
}

/** The JSON value of a text for one item of a list, one value of a map, or a field that is neither. */
export function parseItem({ message, enum: enumeration, scalar }: DescField, text: string): JsonValue | undefined {
  if (message !== undefined) return parseMessageText(message, text);
  return enumeration === undefined ? parseScalar(scalar, text) : parseEnum(enumeration, text);
}

/** The JSON value of a text for a message: JSON, unless the message is one text itself. */
export function parseMessageText(type: DescMessage, text: string): JsonValue | undefined {
  const wrapped = WRAPPERS.get(type.typeName);
  if (wrapped !== undefined) return parseScalar(wrapped, text);
  return TEXT_TYPES.has(type.typeName) ? text.trim() || undefined : parseJson(text);
}

const encoder = new TextEncoder();

function parseJson(text: string): JsonValue | undefined {
  return text.trim() === "" ? undefined : decodeJson(encoder.encode(text));
}

function parseEnum({ values }: DescEnum, text: string): JsonValue | undefined {
  const name = text.trim();
  if (name === "") return undefined;
  if (/^-?[0-9]+$/.test(name)) return Number(name);
  if (values.some((value) => value.name === name)) return name;
  throw new Error(`${JSON.stringify(name)} is not among: ${values.map((value) => value.name).join(", ")}`);
}

/** What a checkbox sends is among them. */
const BOOLEANS: Readonly<Record<string, boolean>> = {
  true: true,
  on: true,
  1: true,
  false: false,
  off: false,
  0: false,
};
const NUMBER = /^(?:-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|-?Infinity|NaN)$/;

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

/** Throws for a text that is no boolean. */
export function parseBoolean(text: string): boolean {
  const known = Object.hasOwn(BOOLEANS, text) ? BOOLEANS[text] : undefined;
  if (known !== undefined) return known;
  throw new Error(`${JSON.stringify(text)} is not a boolean; it must be true or false`);
}
