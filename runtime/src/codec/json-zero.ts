/** Zero values in ProtoJSON, those of fields that are not set. */
import { type DescField, type JsonValue, ScalarType } from "@bufbuild/protobuf";
import { LONG_TYPES } from "./values/values.ts";

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
