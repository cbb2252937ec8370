/** Random proto files with messages that have every kind of field, for comparing generated codecs with protobuf-es. */
import { create } from "@bufbuild/protobuf";
import {
  type DescriptorProto,
  DescriptorProtoSchema,
  Edition,
  EnumDescriptorProtoSchema,
  FeatureSet_EnumType,
  FeatureSet_FieldPresence,
  FeatureSet_MessageEncoding,
  FeatureSet_RepeatedFieldEncoding,
  FeatureSet_Utf8Validation,
  type FieldDescriptorProto,
  FieldDescriptorProtoSchema,
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
  FieldOptions_JSType as JSType,
  FieldDescriptorProto_Label as Label,
  FieldDescriptorProto_Type as Type,
} from "@bufbuild/protobuf/wkt";
import fc from "fast-check";

export type Syntax = "proto2" | "proto3" | "editions";

const PACKAGE = "random.v1";
const MESSAGES = 4;
const WELL_KNOWN = [
  ["google.protobuf.Struct", "struct"],
  ["google.protobuf.Value", "struct"],
  ["google.protobuf.ListValue", "struct"],
  ["google.protobuf.Timestamp", "timestamp"],
  ["google.protobuf.StringValue", "wrappers"],
  ["google.protobuf.Int64Value", "wrappers"],
  ["google.protobuf.BytesValue", "wrappers"],
  ["google.protobuf.BoolValue", "wrappers"],
  ["google.protobuf.Api", "api"],
] as const;

const scalarTypes = [
  Type.DOUBLE,
  Type.FLOAT,
  Type.INT64,
  Type.UINT64,
  Type.INT32,
  Type.FIXED64,
  Type.FIXED32,
  Type.BOOL,
  Type.STRING,
  Type.BYTES,
  Type.UINT32,
  Type.SFIXED32,
  Type.SFIXED64,
  Type.SINT32,
  Type.SINT64,
];
const keyTypes = scalarTypes.filter((type) => ![Type.DOUBLE, Type.FLOAT, Type.BYTES].includes(type));
const longTypes = [Type.INT64, Type.UINT64, Type.FIXED64, Type.SFIXED64, Type.SINT64];

interface Draft {
  readonly kind: "scalar" | "enum" | "message" | "wellKnown" | "list" | "map" | "oneof";
  readonly type: Type;
  readonly key: Type;
  readonly target: number;
  readonly wellKnown: number;
  readonly number: number;
  readonly optional: boolean;
  readonly required: boolean;
  readonly flag: boolean;
  readonly asString: boolean;
  readonly delimited: boolean;
  readonly lenient: boolean;
  readonly withDefault: boolean;
}

const draft: fc.Arbitrary<Draft> = fc.record({
  kind: fc.constantFrom("scalar", "scalar", "scalar", "enum", "message", "wellKnown", "list", "list", "map", "oneof"),
  type: fc.constantFrom(...scalarTypes),
  key: fc.constantFrom(...keyTypes),
  target: fc.nat(MESSAGES - 1),
  wellKnown: fc.nat(WELL_KNOWN.length - 1),
  number: fc.oneof(fc.integer({ min: 1, max: 40 }), fc.constantFrom(2047, 2048, 18999, 20000, 536870911)),
  optional: fc.boolean(),
  required: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
  flag: fc.boolean(),
  asString: fc.boolean(),
  delimited: fc.boolean(),
  lenient: fc.boolean(),
  withDefault: fc.boolean(),
});

const messageDraft = fc.uniqueArray(draft, { maxLength: 9, selector: ({ number }) => number });

/** Creates a file with a few messages that refer to each other and to well-known types. */
export const randomFile: fc.Arbitrary<FileDescriptorProto> = fc
  .record({
    syntax: fc.constantFrom<Syntax>("proto2", "proto3", "editions"),
    messages: fc.array(messageDraft, { minLength: MESSAGES, maxLength: MESSAGES }),
  })
  .map(({ syntax, messages }) => toFile(syntax, messages));

/** Creates a file with one message, which has a field `data` of bytes. */
export function fileOfBytes(): FileDescriptorProto {
  const data = { name: "data", number: 1, label: Label.OPTIONAL, type: Type.BYTES };
  return create(FileDescriptorProtoSchema, {
    name: "bytes.proto",
    package: PACKAGE,
    syntax: "proto3",
    messageType: [{ name: "Holder", field: [data] }],
  });
}

function toFile(syntax: Syntax, messages: readonly (readonly Draft[])[]): FileDescriptorProto {
  const types = messages.map((drafts, index) => toMessage(syntax, drafts, index));
  const used = messages.flat().filter(({ kind }) => kind === "wellKnown");
  return create(FileDescriptorProtoSchema, {
    name: "random.proto",
    package: PACKAGE,
    syntax: syntax === "proto2" ? "" : syntax,
    ...(syntax === "editions" ? { edition: Edition.EDITION_2023 } : {}),
    dependency: [...new Set(used.map(({ wellKnown }) => `google/protobuf/${WELL_KNOWN[wellKnown]?.[1]}.proto`))],
    messageType: types,
    enumType: [false, true].map((closed) =>
      create(EnumDescriptorProtoSchema, {
        name: closed ? "Closed" : "Open",
        ...(closed && syntax === "editions" ? { options: { features: { enumType: FeatureSet_EnumType.CLOSED } } } : {}),
        value: [
          { name: `${closed ? "C" : "O"}_ZERO`, number: 0 },
          { name: `${closed ? "C" : "O"}_ONE`, number: 1 },
          { name: `${closed ? "C" : "O"}_MINUS`, number: -5 },
        ],
      }),
    ),
  });
}

function toMessage(syntax: Syntax, drafts: readonly Draft[], index: number): DescriptorProto {
  const message = create(DescriptorProtoSchema, { name: `M${index}` });
  if (drafts.some(({ kind }) => kind === "oneof")) message.oneofDecl.push({ name: "choice" } as never);
  for (const [position, one] of drafts.entries()) {
    const field = toField(syntax, one, `f_${position}`);
    if (one.kind === "map") addMap(syntax, message, one, field, `M${index}`);
    if (field.proto3Optional) {
      field.oneofIndex = message.oneofDecl.length;
      message.oneofDecl.push({ name: `_f_${position}` } as never);
    }
    message.field.push(field);
  }
  // Real oneofs precede those of optional fields.
  return create(DescriptorProtoSchema, message);
}

/** Returns a usual name, one with characters to escape, or a number. */
function jsonNameOf({ number, flag, asString, lenient, delimited }: Draft, name: string): string {
  if (flag && asString && lenient) return delimited ? String(number) : `"ä" ${name}`;
  return name.replace("_", "");
}

function toField(syntax: Syntax, one: Draft, name: string): FieldDescriptorProto {
  const { kind, type } = one;
  const isRepeated = kind === "list" || kind === "map";
  const isOneof = kind === "oneof";
  const isMessage = kind === "message" || kind === "wellKnown" || ((kind === "list" || isOneof) && one.flag);
  const isEnum = kind === "enum" || ((kind === "list" || isOneof) && !one.flag && one.lenient);
  const typeName = kind === "wellKnown" ? `.${WELL_KNOWN[one.wellKnown]?.[0]}` : `.${PACKAGE}.M${one.target}`;
  const field = create(FieldDescriptorProtoSchema, {
    name,
    jsonName: jsonNameOf(one, name),
    number: one.number,
    label: isRepeated ? Label.REPEATED : Label.OPTIONAL,
    ...(isMessage ? { type: Type.MESSAGE, typeName } : isEnum ? enumType(one) : { type }),
  });
  if (isOneof) field.oneofIndex = 0;
  if (syntax === "proto3" && one.optional && (kind === "scalar" || kind === "enum")) field.proto3Optional = true;
  if (syntax === "proto2" && one.required && (kind === "scalar" || kind === "enum")) field.label = Label.REQUIRED;
  const features: Record<string, number> = {};
  if (syntax === "editions") {
    if (isMessage && one.delimited) features["messageEncoding"] = FeatureSet_MessageEncoding.DELIMITED;
    if (!isMessage && (kind === "scalar" || kind === "enum") && one.optional) {
      features["fieldPresence"] = FeatureSet_FieldPresence.IMPLICIT;
    }
    if (kind === "list" && packable(field) && one.optional) {
      features["repeatedFieldEncoding"] = FeatureSet_RepeatedFieldEncoding.EXPANDED;
    }
    if (field.type === Type.STRING && one.lenient) features["utf8Validation"] = FeatureSet_Utf8Validation.NONE;
  }
  const isImplicit = syntax === "proto3" || features["fieldPresence"] === FeatureSet_FieldPresence.IMPLICIT;
  if (kind === "scalar" && one.withDefault && !isImplicit) field.defaultValue = defaultOf(type);
  const options = {
    ...(longTypes.includes(field.type) && one.asString && kind !== "map" ? { jstype: JSType.JS_STRING } : {}),
    ...(syntax !== "editions" && kind === "list" && packable(field) ? { packed: one.optional } : {}),
    ...(Object.keys(features).length > 0 ? { features } : {}),
  };
  return create(FieldDescriptorProtoSchema, {
    ...field,
    ...(Object.keys(options).length > 0 ? { options } : {}),
  } as never);
}

const packable = ({ type }: FieldDescriptorProto): boolean =>
  ![Type.STRING, Type.BYTES, Type.MESSAGE, Type.GROUP].includes(type);

/** Implicit presence requires an open enum. */
function enumType(one: Draft): { type: Type; typeName: string } {
  return {
    type: Type.ENUM,
    typeName: `.${PACKAGE}.${(one.flag || one.kind !== "enum") && !one.optional ? "Closed" : "Open"}`,
  };
}

function addMap(
  syntax: Syntax,
  message: DescriptorProto,
  one: Draft,
  field: FieldDescriptorProto,
  parent: string,
): void {
  const name = `${field.name.replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase())}Entry`;
  const value = one.flag
    ? {
        type: Type.MESSAGE,
        typeName: one.optional ? `.${PACKAGE}.M${one.target}` : `.${WELL_KNOWN[one.wellKnown]?.[0]}`,
      }
    : { type: one.type };
  const isOther = one.flag && !one.optional;
  const target = isOther && syntax !== undefined ? { type: Type.ENUM, typeName: `.${PACKAGE}.Open` } : value;
  const entry = create(DescriptorProtoSchema, {
    name,
    options: { mapEntry: true },
    field: [
      { name: "key", number: 1, label: Label.OPTIONAL, type: one.key },
      { name: "value", number: 2, label: Label.OPTIONAL, ...target },
    ],
  });
  message.nestedType.push(entry);
  field.type = Type.MESSAGE;
  field.typeName = `.${PACKAGE}.${parent}.${name}`;
}

function defaultOf(type: Type): string {
  if (type === Type.BOOL) return "true";
  if (type === Type.STRING) return 'a "default"';
  if (type === Type.BYTES) return "\\001\\377";
  if (type === Type.DOUBLE || type === Type.FLOAT) return "-1.5";
  return "7";
}
