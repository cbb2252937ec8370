/**
 * Reader of protobuf's JSON format, from parsed JSON. It creates the same messages as protobuf-es, and leaves to it whatever is
 * rare or invalid.
 */
import { create, type DescMessage, fromJson, type JsonValue, protoInt64, ScalarType } from "@bufbuild/protobuf";
import { base64Decode, getTextEncoding } from "@bufbuild/protobuf/wire";
import { setEntry } from "./binary/map.ts";
import { type FieldPlan, Kind, leave, type MessagePlan, planOf, Shape } from "./json-fields.ts";
import { isObject } from "./values/json.ts";
import { LONG_TYPES } from "./values/values.ts";

type Members = Record<string, unknown>;

/** The limit of protobuf-es on the nesting of messages. */
const MAX_DEPTH = 100;

/** Creates a message from its JSON. Returns `undefined` if protobuf-es has to create it, or to refuse the JSON. */
export function readJson(type: DescMessage, json: JsonValue): object | undefined {
  const plan = planOf(type);
  if (plan.fields === undefined) return undefined;
  try {
    return readMessage(plan, json, MAX_DEPTH);
  } catch {
    return undefined;
  }
}

/** Reads a message that may be nested up to `depth` levels. */
function readMessage({ type, fields, positions }: MessagePlan, json: JsonValue, depth: number): object {
  if (fields === undefined) return fromJson(type, json, { ignoreUnknownFields: true, recursionLimit: depth });
  if (!isObject(json) || depth === 0) leave();
  const message = create(type) as object as Members;
  const names = Object.keys(json);
  let next = 0;
  for (let i = 0; i < names.length; i++) {
    const name = names[i] as string;
    // Writers usually keep the order of the fields.
    if (fields[next]?.name !== name) {
      const position = positions.get(name);
      if (position === undefined) continue;
      next = position;
    }
    const plan = fields[next++] as FieldPlan;
    // A field may have both of its names.
    if (plan.name !== name && Object.hasOwn(json, plan.name)) leave();
    const value = json[name] as JsonValue;
    const { property, shape } = plan;
    if (value === null) {
      // Otherwise the field is not set.
      if (shape === Shape.Oneof || plan.child?.type.typeName === "google.protobuf.Value") leave();
    } else if (shape === Shape.List) readList(plan, message[property] as unknown[], value, depth);
    else if (shape === Shape.Map) readMap(plan, message[property] as Members, value, depth);
    else if (shape !== Shape.Oneof) message[property] = readValue(plan, value, depth);
    else {
      if ((message[property] as Members)["case"] !== undefined) leave();
      message[property] = { case: plan.field.localName, value: readValue(plan, value, depth) };
    }
  }
  return message;
}

function readList(plan: FieldPlan, items: unknown[], json: JsonValue, depth: number): void {
  if (!Array.isArray(json)) leave();
  for (let i = 0; i < json.length; i++) items.push(readValue(plan, json[i] as JsonValue, depth));
}

function readMap(plan: FieldPlan, map: Members, json: JsonValue, depth: number): void {
  if (!isObject(json)) leave();
  const keys = Object.keys(json);
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i] as string;
    checkKey(plan.field as { mapKey?: ScalarType }, key);
    setEntry(map, key, readValue(plan, json[key] as JsonValue, depth));
  }
}

/** Leaves keys to protobuf-es that are not in their usual form, in which two of them may be equal. */
function checkKey({ mapKey }: { readonly mapKey?: ScalarType }, key: string): void {
  let isUsual: boolean;
  if (mapKey === ScalarType.STRING) isUsual = getTextEncoding().checkUtf8(key);
  else if (mapKey === ScalarType.BOOL) isUsual = key === "true" || key === "false";
  else if (LONG_TYPES.has(mapKey)) isUsual = String(parseLong(mapKey, key)) === key;
  else isUsual = String(toInteger(mapKey, Number(key))) === key;
  if (!isUsual) leave();
}

function readValue(plan: FieldPlan, json: JsonValue, depth: number): unknown {
  const { kind, scalar } = plan;
  switch (kind) {
    case Kind.Message:
      return json === null ? leave() : readMessage(plan.child as MessagePlan, json, depth - 1);
    case Kind.Text:
      return typeof json === "string" && getTextEncoding().checkUtf8(json) ? json : leave();
    case Kind.Bool:
      return typeof json === "boolean" ? json : leave();
    case Kind.Integer:
      return toInteger(scalar, json as number) === json ? json : leave();
    case Kind.Float:
      if (typeof json !== "number") leave();
      return Number.isFinite(scalar === ScalarType.FLOAT ? Math.fround(json) : json) ? json : leave();
    case Kind.Long: {
      if (typeof json !== "number" && (typeof json !== "string" || json === "")) leave();
      const long = parseLong(scalar, json);
      return (plan.field as { longAsString?: boolean }).longAsString ? String(json) : long;
    }
    case Kind.Bytes:
      return typeof json === "string" ? base64Decode(json) : leave();
    // An enum, by name or by number.
    default: {
      if (typeof json === "string") return plan.numbers?.get(json) ?? leave();
      if (typeof json !== "number") leave();
      const { enum: type } = plan.field;
      return (type?.open ? (json | 0) === json : type?.value[json] !== undefined) ? json : leave();
    }
  }
}

/** Converts a number to one of 32 bits. */
function toInteger(scalar: ScalarType | undefined, value: number): number {
  return scalar === ScalarType.UINT32 || scalar === ScalarType.FIXED32 ? value >>> 0 : value | 0;
}

/** Throws for integers that are out of range. */
function parseLong(scalar: ScalarType | undefined, json: string | number): bigint | string {
  const isUnsigned = scalar === ScalarType.UINT64 || scalar === ScalarType.FIXED64;
  return isUnsigned ? protoInt64.uParse(json) : protoInt64.parse(json);
}
