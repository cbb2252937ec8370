/** Scalar types in generated codecs: the methods of the reader and writer, wire types, and zero values. */
import { ScalarType } from "@bufbuild/protobuf";
import type { ScalarValue } from "@bufbuild/protobuf/reflect";
import { literal } from "../../print/literal.ts";
import type { CodecNames } from "./names.ts";

export const VARINT = 0;
export const LENGTH_DELIMITED = 2;
export const START_GROUP = 3;
export const END_GROUP = 4;

interface Scalar {
  /** The functions of the runtime are `read` and `write` with this name. */
  readonly name: string;
  readonly wireType: number;
}

const scalars: Readonly<Record<ScalarType, Scalar>> = {
  [ScalarType.DOUBLE]: { name: "Double", wireType: 1 },
  [ScalarType.FLOAT]: { name: "Float", wireType: 5 },
  [ScalarType.INT64]: { name: "Int64", wireType: VARINT },
  [ScalarType.UINT64]: { name: "Uint64", wireType: VARINT },
  [ScalarType.INT32]: { name: "Int32", wireType: VARINT },
  [ScalarType.FIXED64]: { name: "Fixed64", wireType: 1 },
  [ScalarType.FIXED32]: { name: "Fixed32", wireType: 5 },
  [ScalarType.BOOL]: { name: "Bool", wireType: VARINT },
  [ScalarType.STRING]: { name: "String", wireType: LENGTH_DELIMITED },
  [ScalarType.BYTES]: { name: "Bytes", wireType: LENGTH_DELIMITED },
  [ScalarType.UINT32]: { name: "Varint32", wireType: VARINT },
  [ScalarType.SFIXED32]: { name: "Sfixed32", wireType: 5 },
  [ScalarType.SFIXED64]: { name: "Sfixed64", wireType: 1 },
  [ScalarType.SINT32]: { name: "Sint32", wireType: VARINT },
  [ScalarType.SINT64]: { name: "Sint64", wireType: VARINT },
};

export const wireTypeOf = (type: ScalarType): number => scalars[type].wireType;

export const isLong = (type: ScalarType): boolean => /64$/.test(scalars[type].name);

/** Reports whether protobuf-es declares a map with keys of this type as an object with number keys. */
export const keyIsNumber = (type: ScalarType): boolean =>
  wireTypeOf(type) !== LENGTH_DELIMITED && type !== ScalarType.BOOL && !isLong(type);

/** Returns the tag of a field (Encoding, "Message Structure"): its number, shifted by three, and the wire type. */
export const tagOf = (no: number, wireType: number): number => ((no << 3) | wireType) >>> 0;

/** Returns the statement that writes a field. Items of packed lists have no tag, for which 0 is passed. */
export const writeScalar = (type: ScalarType, tag: number, value: string, names: CodecNames): string =>
  `${names.runtime(`write${scalars[type].name}`)}(writer, ${tag}, ${value});`;

/** Returns the expression that reads a value. `strict` rejects text that is not valid UTF-8. */
export function readScalar(type: ScalarType, strict: boolean, longAsString: boolean, names: CodecNames): string {
  const name = type === ScalarType.STRING && !strict ? "LenientString" : scalars[type].name;
  const value = names.read(name);
  return longAsString && isLong(type) ? `String(${value})` : value;
}

/** Returns the value of a field in a message that has not set it. */
export function zeroLiteral(type: ScalarType, longAsString: boolean, emptyBytes: () => string): string {
  switch (type) {
    case ScalarType.BOOL:
      return "false";
    case ScalarType.STRING:
      return '""';
    case ScalarType.BYTES:
      return emptyBytes();
    default:
      if (!isLong(type)) return "0";
      return longAsString ? '"0"' : "0n";
  }
}

/** Returns the default that a field declares, in proto2 and editions. */
export function valueLiteral(value: ScalarValue, emptyBytes: () => string): string {
  if (value instanceof Uint8Array) {
    return value.length === 0 ? emptyBytes() : `Uint8Array.of(${value.join(", ")})`;
  }
  switch (typeof value) {
    case "bigint":
      return `${value}n`;
    case "string":
      return literal(value);
    case "boolean":
      return String(value);
    default:
      if (Number.isNaN(value)) return "Number.NaN";
      if (!Number.isFinite(value)) return value > 0 ? "Number.POSITIVE_INFINITY" : "Number.NEGATIVE_INFINITY";
      return Object.is(value, -0) ? "-0" : String(value);
  }
}

/** Returns the condition under which a field without presence is written. */
export function isNotZero(type: ScalarType, longAsString: boolean, value: string): string {
  switch (type) {
    case ScalarType.BOOL:
      return `${value} !== false`;
    case ScalarType.STRING:
      return `${value} !== ""`;
    case ScalarType.BYTES:
      return `${value}.byteLength !== 0`;
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      // Negative zero is not the zero value, and is written.
      return `!Object.is(${value}, 0)`;
    default:
      if (longAsString && isLong(type)) return `BigInt(${value}) !== 0n`;
      return `${value} != 0${isLong(type) ? "n" : ""}`;
  }
}
