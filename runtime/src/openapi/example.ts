/**
 * Examples of messages in ProtoJSON, with which pages fill their forms: every field with its default value, one field of each
 * oneof, and messages up to a small depth.
 */
import { type DescField, type DescMessage, type JsonObject, type JsonValue, ScalarType } from "@bufbuild/protobuf";
import { LONG_TYPES } from "../codec/json-estimate.ts";

/** Maximum number of messages inside each other. */
const MAX_EXAMPLE_DEPTH = 3;

const WELL_KNOWN_EXAMPLES: Readonly<Record<string, JsonValue>> = {
  "google.protobuf.Any": { "@type": "type.googleapis.com/google.protobuf.Duration", value: "1.5s" },
  "google.protobuf.BoolValue": false,
  "google.protobuf.BytesValue": "",
  "google.protobuf.DoubleValue": 0,
  "google.protobuf.Duration": "1.5s",
  "google.protobuf.Empty": {},
  "google.protobuf.FieldMask": "",
  "google.protobuf.FloatValue": 0,
  "google.protobuf.Int32Value": 0,
  "google.protobuf.Int64Value": "0",
  "google.protobuf.ListValue": [],
  "google.protobuf.StringValue": "",
  "google.protobuf.Struct": {},
  "google.protobuf.Timestamp": "2026-01-01T00:00:00Z",
  "google.protobuf.UInt32Value": 0,
  "google.protobuf.UInt64Value": "0",
  "google.protobuf.Value": {},
};

/** Returns an example of a message, or of some of its fields. */
export function exampleOf(
  type: DescMessage,
  fields: readonly DescField[] = type.fields,
  depth: number = MAX_EXAMPLE_DEPTH,
): JsonValue {
  const known = Object.hasOwn(WELL_KNOWN_EXAMPLES, type.typeName) ? WELL_KNOWN_EXAMPLES[type.typeName] : undefined;
  if (known !== undefined) return known;
  const example: JsonObject = {};
  for (const field of fields) {
    if (field.deprecated || (field.oneof !== undefined && field.oneof.fields[0] !== field)) continue;
    const value = exampleOfField(field, depth);
    if (value !== undefined) example[field.jsonName] = value;
  }
  return example;
}

/** Returns an example of the value of a field; `undefined` if it is a message that is too deep. */
export function exampleOfField(field: DescField, depth: number = MAX_EXAMPLE_DEPTH): JsonValue | undefined {
  switch (field.fieldKind) {
    case "scalar":
      return exampleOfScalar(field.scalar);
    case "enum":
      return field.enum.typeName === "google.protobuf.NullValue" ? null : field.enum.values[0]?.name;
    case "message":
      return exampleOfMessage(field.message, depth);
    case "list": {
      const item = field.listKind === "message" ? exampleOfMessage(field.message, depth) : undefined;
      return item === undefined ? [] : [item];
    }
    case "map":
      return {};
  }
}

function exampleOfMessage(type: DescMessage, depth: number): JsonValue | undefined {
  return depth > 0 ? exampleOf(type, type.fields, depth - 1) : undefined;
}

function exampleOfScalar(scalar: ScalarType): JsonValue {
  if (scalar === ScalarType.BOOL) return false;
  if (scalar === ScalarType.STRING || scalar === ScalarType.BYTES) return "";
  return LONG_TYPES.has(scalar) ? "0" : 0;
}
