/**
 * JSON Schemas of scalar types, and of the well-known types, whose JSON is defined by ProtoJSON instead of their fields; with
 * examples of the latter.
 */
import { type DescMessage, type JsonObject, type JsonValue, ScalarType } from "@bufbuild/protobuf";
import { isWrapperDesc } from "@bufbuild/protobuf/wkt";
import { zeroOfScalar } from "../codec/json-fields.ts";
import { LONG_TYPES } from "../codec/values/values.ts";

const LONG_PATTERN = "^-?[0-9]{1,19}$";
const UNSIGNED_LONG_PATTERN = "^[0-9]{1,20}$";

const int32 = { type: "integer", format: "int32" };
const uint32 = { type: "integer", minimum: 0, maximum: 4_294_967_295 };
/** JSON parsers lose digits of integers beyond 2^53, so ProtoJSON writes 64-bit integers as text. */
const int64 = { type: "string", format: "int64", pattern: LONG_PATTERN };
const uint64 = { type: "string", format: "uint64", pattern: UNSIGNED_LONG_PATTERN };
const text = { type: "string" };

const float = (format: "float" | "double"): JsonObject => ({
  anyOf: [
    { type: "number", format },
    { type: "string", enum: ["NaN", "Infinity", "-Infinity"] },
  ],
});

const SCALARS: ReadonlyMap<ScalarType, JsonObject> = new Map<ScalarType, JsonObject>([
  [ScalarType.DOUBLE, float("double")],
  [ScalarType.FLOAT, float("float")],
  [ScalarType.UINT64, uint64],
  [ScalarType.FIXED64, uint64],
  [ScalarType.UINT32, uint32],
  [ScalarType.FIXED32, uint32],
  [ScalarType.BOOL, { type: "boolean" }],
  [ScalarType.STRING, text],
  [ScalarType.BYTES, { type: "string", contentEncoding: "base64" }],
]);

/** Returns the schema of a scalar in ProtoJSON. */
export function scalarSchema(scalar: ScalarType): JsonObject {
  return SCALARS.get(scalar) ?? (LONG_TYPES.has(scalar) ? int64 : int32);
}

/** The schema and an example of a message whose JSON is defined by ProtoJSON. */
interface WellKnown {
  /** `undefined`: that of its fields. */
  readonly schema?: JsonObject;
  readonly example: JsonValue;
}

const WELL_KNOWN: Readonly<Record<string, WellKnown>> = {
  Any: {
    schema: {
      type: "object",
      description: "A message of any type, with the type's URL in `@type`.",
      properties: { "@type": text },
      additionalProperties: true,
    },
    example: { "@type": "type.googleapis.com/google.protobuf.Duration", value: "1.5s" },
  },
  Duration: {
    schema: {
      type: "string",
      description: "Seconds with up to nine decimals and the suffix `s`.",
      pattern: "^-?[0-9]+(\\.[0-9]{1,9})?s$",
    },
    example: "1.5s",
  },
  Empty: { example: {} },
  FieldMask: {
    schema: { type: "string", description: "Paths of fields in lowerCamelCase, separated by commas." },
    example: "",
  },
  ListValue: { schema: { type: "array", items: {} }, example: [] },
  Struct: { schema: { type: "object", additionalProperties: true }, example: {} },
  Timestamp: { schema: { type: "string", format: "date-time" }, example: "2026-01-01T00:00:00Z" },
  Value: { schema: { description: "Any JSON value." }, example: {} },
};

const WELL_KNOWN_PACKAGE = "google.protobuf.";

/** Returns the schema and an example of a message whose JSON is defined by ProtoJSON; `undefined` for other messages. */
export function wellKnown(type: DescMessage): WellKnown | undefined {
  const { typeName } = type;
  if (!typeName.startsWith(WELL_KNOWN_PACKAGE)) return undefined;
  if (isWrapperDesc(type)) {
    const { scalar } = type.fields[0];
    return { schema: scalarSchema(scalar), example: zeroOfScalar(scalar) };
  }
  const name = typeName.slice(WELL_KNOWN_PACKAGE.length);
  return Object.hasOwn(WELL_KNOWN, name) ? WELL_KNOWN[name] : undefined;
}
