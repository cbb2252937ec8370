/** Messages in generated codecs: their representation in fields, and the object of a new message. */
import type { DescField, DescMessage, DescOneof } from "@bufbuild/protobuf";
import { Edition, isWrapperDesc, FeatureSet_FieldPresence as Presence } from "@bufbuild/protobuf/wkt";
import { objectLiteral } from "../../print/declaration.ts";
import { literal, propertyAccess, propertyKey } from "../../print/literal.ts";
import { valueLiteral, zeroLiteral } from "./scalar.ts";

/** A field with a message: as its value, as the items of a list, or as the values of a map. */
export type MessageField = DescField & { readonly message: DescMessage };

/**
 * Returns the representation of a field's message in protobuf-es: the message itself; a `Struct` as JSON, except in a
 * `Value`; a wrapper such as `StringValue` as its value, unless it is in a list, map or oneof.
 */
export function representationOf(field: MessageField): "message" | "json" | "wrapped" {
  const { message, parent } = field;
  if (message.typeName === "google.protobuf.Struct" && parent?.typeName !== "google.protobuf.Value") return "json";
  const isWrapper = field.fieldKind === "message" && field.oneof === undefined && isWrapperDesc(message);
  return isWrapper ? "wrapped" : "message";
}

export const isImplicit = (field: DescField): boolean => field.presence === Presence.IMPLICIT;

/**
 * Reports whether defaults are on the prototype of messages, where protobuf-es keeps those of fields with presence:
 * always in proto2, never in proto3, and in editions where a scalar or enum field outside of oneofs has presence.
 */
export function hasPrototype(message: DescMessage): boolean {
  const { edition } = message.file;
  if (edition === Edition.EDITION_PROTO3) return false;
  if (edition === Edition.EDITION_PROTO2) return true;
  return message.fields.some((field) => !isImplicit(field) && field.fieldKind !== "message" && !field.oneof);
}

/** Returns the access to the property of a field, or to that of its oneof. */
export function propertyOf({ localName, oneof }: DescField): string {
  return propertyAccess("message", oneof?.localName ?? localName);
}

/** Reports whether every object inherits a property with the name of the field, such as `hasOwnProperty`. */
export const isMethodOfObjects = ({ localName }: DescField): boolean => localName in Object.prototype;

/** Returns `[name, value]` of each property that a new message has, in the order of the proto file. */
export function initialProperties(message: DescMessage, emptyBytes: () => string): [string, string][] {
  const properties = message.members.flatMap((member): [string, string][] => {
    const value = initialValue(member, emptyBytes);
    return value === undefined ? [] : [[member.localName, value]];
  });
  return [["$typeName", literal(message.typeName)], ...properties];
}

/** Returns the object literal with the properties. */
export function propertiesLiteral(properties: readonly (readonly [string, string])[]): string {
  return objectLiteral(properties.map(([name, value]) => [propertyKey(name), value]));
}

/** Returns the object that is the prototype of messages, with the default of each scalar and enum field. */
export function prototypeLiteral(message: DescMessage, emptyBytes: () => string): string {
  return propertiesLiteral(
    message.members.flatMap((member): [string, string][] =>
      member.kind === "field" && (member.fieldKind === "scalar" || member.fieldKind === "enum")
        ? [[member.localName, zeroValue(member, emptyBytes)]]
        : [],
    ),
  );
}

function initialValue(member: DescField | DescOneof, emptyBytes: () => string): string | undefined {
  if (member.kind === "oneof") return "{ case: undefined }";
  switch (member.fieldKind) {
    case "list":
      return "[]";
    case "map":
      return "{}";
    case "message":
      return undefined;
    default:
      return isImplicit(member) ? zeroValue(member, emptyBytes) : undefined;
  }
}

function zeroValue(field: DescField & { fieldKind: "scalar" | "enum" }, emptyBytes: () => string): string {
  const value = field.getDefaultValue();
  if (field.fieldKind === "enum") return String(value ?? field.enum.values[0]?.number ?? 0);
  if (value === undefined) return zeroLiteral(field.scalar, field.longAsString, emptyBytes);
  return valueLiteral(field.longAsString ? String(value) : value, emptyBytes);
}
