/** Zero values in ProtoJSON, those of fields that are not set. */
import { type DescEnum, type DescField, type JsonValue, ScalarType } from "@bufbuild/protobuf";
import { LONG_TYPES } from "./values/values.ts";

/** Returns the zero value of a field in ProtoJSON; `undefined` for messages, which have none. */
export function zeroOf(field: DescField): JsonValue | undefined {
  switch (field.fieldKind) {
    case "scalar":
      return zeroOfScalar(field.scalar);
    case "enum":
      return zeroOfEnum(field.enum);
    case "list":
      return [];
    case "map":
      return {};
    case "message":
      return undefined;
  }
}

/** Returns the zero value of an enum in ProtoJSON: its first value. */
export function zeroOfEnum({ typeName, values }: DescEnum): JsonValue {
  return typeName === "google.protobuf.NullValue" ? null : (values[0]?.name ?? 0);
}

/** Returns the zero value of a scalar in ProtoJSON. */
export function zeroOfScalar(scalar: ScalarType): JsonValue {
  if (scalar === ScalarType.BOOL) return false;
  if (scalar === ScalarType.STRING || scalar === ScalarType.BYTES) return "";
  return LONG_TYPES.has(scalar) ? "0" : 0;
}
