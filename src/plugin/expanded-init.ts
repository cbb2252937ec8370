/**
 * Init types written out as interfaces. For an alias of protobuf-es's `MessageInitShape`, the type checker has to map
 * every field of every message; an interface needs no such work.
 */
import { type DescEnum, type DescField, type DescMessage, type DescOneof, ScalarType } from "@bufbuild/protobuf";
import { scalarTypeScriptType, wktPublicImportPaths } from "@bufbuild/protobuf/codegenv2";
import { isWrapperDesc } from "@bufbuild/protobuf/wkt";
import type { InterfaceDeclaration } from "../print/declaration.ts";
import type { ImportedModule } from "../print/imports.ts";
import { jsDoc } from "../print/jsdoc.ts";
import { literal, propertyKey } from "../print/literal.ts";
import type { SourceText } from "./comments.ts";
import { fieldDocs } from "./message-docs.ts";

/** The names of the types that fields refer to. */
export interface InitNames {
  readonly init: (message: DescMessage) => string;
  readonly shape: (type: DescEnum) => string;
  readonly protobuf: ImportedModule;
}

/**
 * Returns the messages and all messages that their fields refer to by init type. The fields of well-known messages are
 * not followed, because these messages are not expanded.
 */
export function reachedBy(messages: readonly DescMessage[]): DescMessage[] {
  const reached = new Set<DescMessage>();
  const pending = [...messages].reverse();
  for (let message = pending.pop(); message !== undefined; message = pending.pop()) {
    if (reached.has(message)) continue;
    reached.add(message);
    if (isWellKnown(message)) continue;
    const next = message.fields.flatMap((field) =>
      field.message !== undefined && foreignType(field) === undefined ? [field.message] : [],
    );
    pending.push(...next.reverse());
  }
  return [...reached];
}

/**
 * Declares the init type as an interface. Returns `undefined` for well-known messages, whose init types come from
 * protobuf-es.
 */
export function expandedInit(
  message: DescMessage,
  names: InitNames,
  textOf: (file: DescMessage["file"]) => SourceText,
): InterfaceDeclaration | undefined {
  if (isWellKnown(message)) return undefined;
  const docs = fieldDocs(message, textOf(message.file));
  return {
    kind: "interface",
    doc: jsDoc([`The init shape of ${message.typeName}: the message, or some of its fields.`]),
    name: names.init(message),
    members: () =>
      [
        `  readonly $typeName?: ${literal(message.typeName)};\n`,
        ...message.members.map((member) => {
          const { type, optional } =
            member.kind === "oneof" ? { type: oneofType(member, names), optional: false } : fieldType(member, names);
          const undefinable = optional ? " | undefined" : "";
          return `${docs(member, "  ")}\n  ${propertyKey(member.localName)}?: ${type}${undefinable};\n`;
        }),
      ].join("\n"),
  };
}

function isWellKnown(message: DescMessage): boolean {
  return wktPublicImportPaths[message.file.proto.name] !== undefined;
}

function oneofType(oneof: DescOneof, names: InitNames): string {
  const cases = oneof.fields.map((field) => {
    const { type } = fieldType(field, names);
    return `{ case: ${literal(field.localName)}; value: ${type} }`;
  });
  return [...cases, "{ case: undefined; value?: undefined }"].join(" | ");
}

/**
 * Returns the type of a field by the rules of protoc-gen-es, and whether `undefined` is a value of the field in the
 * message.
 */
function fieldType(field: DescField, names: InitNames): { type: string; optional: boolean } {
  const optional = field.proto.proto3Optional;
  switch (field.fieldKind) {
    case "scalar":
      return { type: scalarTypeScriptType(field.scalar, field.longAsString), optional };
    case "enum":
      return { type: names.shape(field.enum), optional };
    case "message":
      return { type: messageType(field, field.message, names), optional: true };
    case "list":
      return { type: `${elementType(field, names)}[]`, optional: false };
    case "map": {
      const key = numericKeys.has(field.mapKey) ? "number" : "string";
      return { type: `{ [key: ${key}]: ${elementType(field, names)} }`, optional: false };
    }
  }
}

const numericKeys: ReadonlySet<ScalarType> = new Set([
  ScalarType.INT32,
  ScalarType.FIXED32,
  ScalarType.UINT32,
  ScalarType.SFIXED32,
  ScalarType.SINT32,
]);

function elementType(field: DescField & { fieldKind: "list" | "map" }, names: InitNames): string {
  if (field.message !== undefined) return messageType(field, field.message, names);
  if (field.enum !== undefined) return names.shape(field.enum);
  const longAsString = field.fieldKind === "list" && field.longAsString;
  return scalarTypeScriptType(field.scalar as ScalarType, longAsString);
}

function messageType(field: DescField, message: DescMessage, names: InitNames): string {
  const foreign = foreignType(field);
  if (foreign === "JsonObject") return names.protobuf.type(foreign);
  return foreign ?? names.init(message);
}

/**
 * Returns the type of a field whose init type in protobuf-es is not the init type of its message: the scalar for a
 * wrapper, and `JsonObject` for a struct. Returns `undefined` for other fields.
 */
function foreignType(field: DescField): string | undefined {
  const { message } = field;
  if (message === undefined) return undefined;
  if (isWrapperDesc(message) && !field.oneof && field.fieldKind === "message") {
    return scalarTypeScriptType((message.fields[0] as DescField).scalar as ScalarType, false);
  }
  const isStruct = message.typeName === "google.protobuf.Struct";
  return isStruct && field.parent?.typeName !== "google.protobuf.Value" ? "JsonObject" : undefined;
}
