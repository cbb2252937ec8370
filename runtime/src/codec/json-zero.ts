/** Names of enum values in ProtoJSON, and zero values, those of fields that are not set. */
import { type DescEnum, type DescEnumValue, type DescField, type JsonValue, ScalarType } from "@bufbuild/protobuf";
import { LONG_TYPES } from "./values/values.ts";

/** Returns the name of an enum value in ProtoJSON. Versions of protobuf-es before 2.17 have no names of their own for it. */
export const jsonNameOf = ({ name, jsonName = name }: DescEnumValue): string => jsonName;

/** Returns the zero value of a field in ProtoJSON; `undefined` for messages, which have none. */
export function zeroOf({ fieldKind, scalar, enum: type }: DescField): JsonValue | undefined {
  if (fieldKind === "list") return [];
  if (fieldKind === "map") return {};
  if (type !== undefined) return zeroOfEnum(type);
  return scalar && zeroOfScalar(scalar);
}

/** Returns the zero value of an enum in ProtoJSON: its first value. */
export function zeroOfEnum({ typeName, values }: DescEnum): JsonValue {
  return typeName === "google.protobuf.NullValue" ? null : values[0] ? jsonNameOf(values[0]) : 0;
}

/** Returns the zero value of a scalar in ProtoJSON. */
export function zeroOfScalar(scalar: ScalarType): JsonValue {
  if (scalar === ScalarType.BOOL) return false;
  if (scalar === ScalarType.STRING || scalar === ScalarType.BYTES) return "";
  return LONG_TYPES.has(scalar) ? "0" : 0;
}
