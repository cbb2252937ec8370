/** Fields in ProtoJSON: their plans, the names of enum values, and zero values, those of fields that are not set. */
import {
  type DescEnum,
  type DescEnumValue,
  type DescField,
  type DescMessage,
  type JsonValue,
  ScalarType,
} from "@bufbuild/protobuf";
import { isWrapperDesc, FeatureSet_FieldPresence as Presence } from "@bufbuild/protobuf/wkt";
import { encodeUtf8 } from "./codec.ts";
import { LONG_TYPES } from "./values/values.ts";

/** The shape of a field in a message. */
export const Shape = { Implicit: 0, Explicit: 1, Oneof: 2, List: 3, Map: 4 } as const;
/** The kind of a value. */
export const Kind = { Text: 0, Integer: 1, Float: 2, Bool: 3, Long: 4, Bytes: 5, Enum: 6, Message: 7 } as const;

/** The plan of a field, for the writer and the reader. Engines read it faster than a descriptor, because all plans have the same members. */
export interface FieldPlan {
  readonly field: DescField;
  /** The property of the message: that of the field, or of its oneof. */
  readonly property: string;
  /** The name in JSON, and its text after a comma and before a colon. */
  readonly name: string;
  readonly key: Uint8Array;
  readonly shape: number;
  readonly kind: number;
  /** The type of the scalar; for a wrapper, that of its value. */
  readonly scalar: ScalarType | undefined;
  /** Numbers of an enum by their names. */
  readonly numbers: ReadonlyMap<string, number> | undefined;
  readonly child: MessagePlan | undefined;
}

/** The plan of a message. */
export interface MessagePlan {
  readonly type: DescMessage;
  /** In the order of their numbers. `undefined`: protobuf-es converts messages of the type. */
  fields: readonly FieldPlan[] | undefined;
  /** Positions in `fields` by the names that JSON accepts for them. */
  readonly positions: Map<string, number>;
}

const plans = new WeakMap<DescMessage, MessagePlan>();

/** Returns the plan of a message. */
export function planOf(type: DescMessage): MessagePlan {
  let plan = plans.get(type);
  if (plan === undefined) {
    plan = { type, fields: undefined, positions: new Map() };
    // A plan is stored before its fields are made, because a field may have the same message type.
    plans.set(type, plan);
    if (isPlain(type)) {
      const sorted = [...type.fields].sort((a, b) => a.number - b.number);
      plan.fields = sorted.map(planField);
      for (const [i, { name, jsonName }] of sorted.entries()) plan.positions.set(name, i).set(jsonName, i);
    }
  }
  return plan;
}

/** Reports whether messages of the type are objects of their fields, in the order of their numbers. */
function isPlain({ typeName, fields }: DescMessage): boolean {
  const isUsual = ({ jsonName, presence, message, enum: type }: DescField): boolean =>
    // Engines sort members whose names are numbers.
    Number.isNaN(Number(jsonName)) &&
    presence !== Presence.LEGACY_REQUIRED &&
    message?.typeName !== "google.protobuf.Struct" &&
    type?.typeName !== "google.protobuf.NullValue";
  const names = fields.flatMap(({ name, jsonName }) => (name === jsonName ? [name] : [name, jsonName]));
  return !typeName.startsWith("google.protobuf.") && new Set(names).size === names.length && fields.every(isUsual);
}

function planField(field: DescField): FieldPlan {
  const { fieldKind, localName, jsonName, oneof, presence } = field;
  const singular = presence === Presence.IMPLICIT ? Shape.Implicit : Shape.Explicit;
  const shape = { list: Shape.List, map: Shape.Map }[fieldKind as string] ?? (oneof ? Shape.Oneof : singular);
  // A wrapper is represented by its value.
  const isUnwrapped = fieldKind === "message" && shape === Shape.Explicit && isWrapperDesc(field.message);
  const value = isUnwrapped ? (field.message.fields[0] as DescField) : field;
  return {
    field,
    property: oneof?.localName ?? localName,
    name: jsonName,
    key: encodeUtf8(`,${JSON.stringify(String(jsonName))}:`),
    shape,
    child: field.message && planOf(field.message),
    kind: kindOf(value),
    scalar: value.scalar,
    numbers: field.enum && new Map(field.enum.values.map(({ name, number }) => [name, number])),
  };
}

function kindOf({ message, enum: type, scalar }: DescField): number {
  if (message !== undefined) return Kind.Message;
  if (type !== undefined) return Kind.Enum;
  if (scalar === ScalarType.STRING) return Kind.Text;
  if (scalar === ScalarType.BOOL) return Kind.Bool;
  if (scalar === ScalarType.BYTES) return Kind.Bytes;
  if (scalar === ScalarType.DOUBLE || scalar === ScalarType.FLOAT) return Kind.Float;
  return LONG_TYPES.has(scalar) ? Kind.Long : Kind.Integer;
}

const left = new TypeError("only protobuf-es can convert the message");

/** Leaves a message to protobuf-es. */
export function leave(): never {
  throw left;
}

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
