/**
 * Conversion of `google.protobuf.Struct` fields, which protobuf-es represents as plain JSON objects: to messages before
 * encoding, and to JSON after decoding.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { ListValue, Struct, Value } from "@bufbuild/protobuf/wkt";
import { setEntry } from "./map.ts";

/** Converts a JSON object to a message. Other values become an empty one, as in protobuf-es. */
export function structFromJson(json: JsonObject): Struct {
  const fields: Struct["fields"] = {};
  // protobuf-es encodes other values as an empty object.
  const isObject = typeof json === "object" && json !== null && !Array.isArray(json);
  for (const key of isObject ? Object.keys(json) : []) setEntry(fields, key, valueFromJson(json[key] as JsonValue));
  return { $typeName: "google.protobuf.Struct", fields };
}

/** Converts a message to a JSON object. */
export function structToJson({ fields }: Struct): JsonObject {
  const json: JsonObject = {};
  for (const key of Object.keys(fields)) setEntry(json, key, valueToJson(fields[key] as Value));
  return json;
}

function valueFromJson(json: JsonValue): Value {
  return { $typeName: "google.protobuf.Value", kind: kindFromJson(json) };
}

function kindFromJson(json: JsonValue): Value["kind"] {
  switch (typeof json) {
    case "number":
      return { case: "numberValue", value: json };
    case "string":
      return { case: "stringValue", value: json };
    case "boolean":
      return { case: "boolValue", value: json };
    case "object":
      if (json === null) return { case: "nullValue", value: 0 };
      if (Array.isArray(json)) return { case: "listValue", value: listFromJson(json) };
      return { case: "structValue", value: structFromJson(json) };
    default:
      return { case: undefined };
  }
}

function listFromJson(json: readonly JsonValue[]): ListValue {
  return { $typeName: "google.protobuf.ListValue", values: json.map(valueFromJson) };
}

/** Converts a value. Numbers that JSON text does not have, such as NaN, are kept, as in protobuf-es. */
export function valueToJson({ kind }: Value): JsonValue {
  switch (kind.case) {
    case "structValue":
      return structToJson(kind.value);
    case "listValue":
      return kind.value.values.map(valueToJson);
    case "nullValue":
    case undefined:
      return null;
    default:
      return kind.value;
  }
}
