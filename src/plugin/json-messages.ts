/**
 * Messages without a protobuf runtime: an interface for the JSON form of each message, or the type `unknown`. Such
 * services are for clients that use JSON only.
 */
import type { DescEnum, DescField, DescFile, DescMessage } from "@bufbuild/protobuf";
import { scalarJsonType } from "@bufbuild/protobuf/codegenv2";
import { safeIdentifier } from "@bufbuild/protoplugin";
import { type Declaration, unionOf } from "../print/declaration.ts";
import { jsDoc } from "../print/jsdoc.ts";
import { propertyKey } from "../print/literal.ts";
import { memo } from "../print/memoize.ts";
import type { Scope } from "../print/names.ts";
import { fieldDocs, typeDocs } from "./message-docs.ts";
import type { MessageOutline, Messages, Tools } from "./message-types.ts";
import { flatName } from "./pb-names.ts";

type JsonType = DescMessage | DescEnum;

export function jsonMessages(
  file: DescFile,
  used: readonly DescMessage[],
  exported: Scope,
  { options, textOf }: Tools,
): Messages {
  const declared = options.messages === "json" ? withFields(used) : [];
  const ownFirst = [...declared.filter((t) => t.file === file), ...declared.filter((t) => t.file !== file)];
  const nameOf = memo((type: JsonType) => exported.claim(safeIdentifier(flatName(type))));
  ownFirst.forEach(nameOf);

  return () => {
    const of = memo((message: DescMessage): MessageOutline => {
      const type = options.messages === "json" ? () => nameOf(message) : () => "unknown";
      return { shape: type, init: type };
    });
    return { declarations: declared.map((type) => declareJson(type, nameOf, textOf)), of };
  };
}

/** Returns the messages, and all messages and enums that their fields refer to. */
function withFields(messages: readonly DescMessage[]): JsonType[] {
  const reached = new Set<JsonType>();
  const pending: JsonType[] = [...messages].reverse();
  for (let type = pending.pop(); type !== undefined; type = pending.pop()) {
    if (reached.has(type)) continue;
    reached.add(type);
    if (type.kind === "message" && (!wellKnownJson.has(type.typeName) || isRecursive(type))) {
      pending.push(...type.fields.flatMap((field) => field.message ?? field.enum ?? []).reverse());
    }
  }
  return [...reached];
}

type NameOf = (type: JsonType) => string;

function declareJson(type: JsonType, nameOf: NameOf, textOf: Tools["textOf"]): Declaration {
  const name = nameOf(type);
  const wellKnown = wellKnownJson.get(type.typeName);
  if (wellKnown !== undefined) {
    return {
      kind: "type",
      doc: jsDoc([`The JSON form of ${type.typeName}.`]),
      name,
      type: () => wellKnown(type, nameOf),
    };
  }
  const text = textOf(type.file);
  const common = { doc: typeDocs(type, text), name };
  if (type.kind === "enum") {
    return { ...common, kind: "type", type: () => unionOf(type.values.map(({ jsonName }) => jsonName)) };
  }
  const docs = fieldDocs(type, text);
  const members = type.fields.map(
    (field) => `${docs(field, "  ")}\n  ${propertyKey(field.jsonName)}?: ${fieldType(field, nameOf)};\n`,
  );
  return { ...common, kind: "interface", members: () => members.join("\n") };
}

function fieldType(field: DescField, nameOf: NameOf): string {
  switch (field.fieldKind) {
    case "list":
      return arrayOf(elementType(field, nameOf));
    case "map":
      return `{ [key: string]: ${elementType(field, nameOf)} }`;
    default:
      return elementType(field, nameOf);
  }
}

function elementType({ message, enum: enumeration, scalar }: DescField, nameOf: NameOf): string {
  const type = message ?? enumeration;
  return type !== undefined ? nameOf(type) : scalarJsonType(scalar as NonNullable<typeof scalar>);
}

function arrayOf(type: string): string {
  return type.includes("|") ? `(${type})[]` : `${type}[]`;
}

/** Types whose JSON form is not an object of their fields, as the JSON mapping of Protocol Buffers defines it. */
const wellKnownJson = new Map<string, (type: JsonType, nameOf: NameOf) => string>([
  ["google.protobuf.Any", () => '{ "@type"?: string; [key: string]: unknown }'],
  ["google.protobuf.Duration", () => "string"],
  ["google.protobuf.Empty", () => "{ [key: string]: never }"],
  ["google.protobuf.FieldMask", () => "string"],
  ["google.protobuf.ListValue", (type, nameOf) => `${nameOf(fieldMessage(type, "values"))}[]`],
  ["google.protobuf.NullValue", () => "null"],
  ["google.protobuf.Struct", (type, nameOf) => `{ [key: string]: ${nameOf(fieldMessage(type, "fields"))} }`],
  ["google.protobuf.Timestamp", () => "string"],
  ["google.protobuf.Value", jsonValue],
  ["google.protobuf.BoolValue", wrapped],
  ["google.protobuf.BytesValue", wrapped],
  ["google.protobuf.DoubleValue", wrapped],
  ["google.protobuf.FloatValue", wrapped],
  ["google.protobuf.Int32Value", wrapped],
  ["google.protobuf.Int64Value", wrapped],
  ["google.protobuf.StringValue", wrapped],
  ["google.protobuf.UInt32Value", wrapped],
  ["google.protobuf.UInt64Value", wrapped],
]);

function jsonValue(type: JsonType, nameOf: NameOf): string {
  const name = nameOf(type);
  return `null | number | string | boolean | { [key: string]: ${name} } | ${name}[]`;
}

function wrapped(type: JsonType): string {
  const value = type.kind === "message" ? type.fields[0]?.scalar : undefined;
  if (value === undefined) throw new Error(`${type} wraps nothing`);
  return scalarJsonType(value);
}

/** Reports whether the JSON form of a well-known type refers to another type. */
function isRecursive({ typeName }: JsonType): boolean {
  return typeName === "google.protobuf.ListValue" || typeName === "google.protobuf.Struct";
}

function fieldMessage(type: JsonType, name: string): DescMessage {
  const field = type.kind === "message" ? type.fields.find((field) => field.name === name) : undefined;
  if (field?.message === undefined) throw new Error(`${type} has no field "${name}"`);
  return field.message;
}
