/**
 * JSON Schemas of scalar types, and of the well-known types, whose JSON is defined by ProtoJSON instead of their fields.
 */
import { type DescField, type DescMessage, type JsonObject, type JsonValue, ScalarType } from "@bufbuild/protobuf";
import { LONG_TYPES } from "../codec/values/values.ts";

const LONG_PATTERN = "^-?[0-9]{1,19}$";
const UNSIGNED_LONG_PATTERN = "^[0-9]{1,20}$";

const int32 = { type: "integer", format: "int32" };
const uint32 = { type: "integer", minimum: 0, maximum: 4_294_967_295 };
/** JSON parsers lose digits of integers beyond 2^53, so ProtoJSON writes 64-bit integers as text. */
const int64 = { type: "string", format: "int64", pattern: LONG_PATTERN };
const uint64 = { type: "string", format: "uint64", pattern: UNSIGNED_LONG_PATTERN };
const bytes = { type: "string", contentEncoding: "base64" };
const text = { type: "string" };
const bool = { type: "boolean" };

const float = (format: "float" | "double"): JsonObject => ({
  anyOf: [
    { type: "number", format },
    { type: "string", enum: ["NaN", "Infinity", "-Infinity"] },
  ],
});

/** Returns the schema of a scalar in ProtoJSON. */
export function scalarSchema(scalar: ScalarType): JsonObject {
  switch (scalar) {
    case ScalarType.DOUBLE:
      return float("double");
    case ScalarType.FLOAT:
      return float("float");
    case ScalarType.INT64:
    case ScalarType.SINT64:
    case ScalarType.SFIXED64:
      return int64;
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return uint64;
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return uint32;
    case ScalarType.BOOL:
      return bool;
    case ScalarType.STRING:
      return text;
    case ScalarType.BYTES:
      return bytes;
    default:
      return int32;
  }
}

/** Returns the zero value of a field in ProtoJSON; `undefined` for messages, which have none. */
export function zeroOf(field: DescField): JsonValue | undefined {
  switch (field.fieldKind) {
    case "scalar":
      return zeroOfScalar(field.scalar);
    case "enum":
      return field.enum.typeName === "google.protobuf.NullValue" ? null : field.enum.values[0]?.name;
    case "list":
      return [];
    case "map":
      return {};
    case "message":
      return undefined;
  }
}

/** Returns the zero value of a scalar in ProtoJSON. */
export function zeroOfScalar(scalar: ScalarType): JsonValue {
  if (scalar === ScalarType.BOOL) return false;
  if (scalar === ScalarType.STRING || scalar === ScalarType.BYTES) return "";
  return LONG_TYPES.has(scalar) ? "0" : 0;
}

const WELL_KNOWN: Readonly<Record<string, JsonObject>> = {
  Any: {
    type: "object",
    description: "A message of any type, with the type's URL in `@type`.",
    properties: { "@type": text },
    additionalProperties: true,
  },
  BoolValue: bool,
  BytesValue: bytes,
  DoubleValue: float("double"),
  Duration: {
    type: "string",
    description: "Seconds with up to nine decimals and the suffix `s`.",
    pattern: "^-?[0-9]+(\\.[0-9]{1,9})?s$",
  },
  FieldMask: { type: "string", description: "Paths of fields in lowerCamelCase, separated by commas." },
  FloatValue: float("float"),
  Int32Value: int32,
  Int64Value: int64,
  ListValue: { type: "array", items: {} },
  StringValue: text,
  Struct: { type: "object", additionalProperties: true },
  Timestamp: { type: "string", format: "date-time" },
  UInt32Value: uint32,
  UInt64Value: uint64,
  Value: { description: "Any JSON value." },
};

const WELL_KNOWN_PACKAGE = "google.protobuf.";

/** Returns the schema of a message whose JSON is defined by ProtoJSON; `undefined` for other messages. */
export function wellKnownSchema({ typeName }: DescMessage): JsonObject | undefined {
  if (!typeName.startsWith(WELL_KNOWN_PACKAGE)) return undefined;
  const name = typeName.slice(WELL_KNOWN_PACKAGE.length);
  return Object.hasOwn(WELL_KNOWN, name) ? WELL_KNOWN[name] : undefined;
}
