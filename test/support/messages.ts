/** Types of messages with fields of every kind, and arbitrary messages of any type. */
import {
  create,
  createFileRegistry,
  type DescField,
  type DescMessage,
  type MessageInitShape,
  ScalarType,
} from "@bufbuild/protobuf";
import {
  anyPack,
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
  file_google_protobuf_any,
  file_google_protobuf_struct,
  file_google_protobuf_wrappers,
  isWrapperDesc,
  FieldDescriptorProto_Label as Label,
  FieldDescriptorProto_Type as Type,
  TypeSchema,
} from "@bufbuild/protobuf/wkt";
import fc from "fast-check";

type FieldInit = NonNullable<
  NonNullable<MessageInitShape<typeof FileDescriptorProtoSchema>["messageType"]>[0]["field"]
>[0];

/** A message with a field of every type in every form, except those of {@link everySpecial}. */
export function everything(syntax: "proto2" | "proto3"): DescMessage {
  const types = Object.values(Type).filter((type) => typeof type === "number" && type !== Type.GROUP) as Type[];
  const form = (name: string, from: number, more: FieldInit): FieldInit[] =>
    types.map((type) => {
      const typeName = type === Type.ENUM ? ".all.Mood" : type === Type.MESSAGE ? ".all.All" : "";
      return { name: `${name}_${type}`, number: from + type, type, label: Label.OPTIONAL, typeName, ...more };
    });
  const packable = ({ type }: FieldInit): boolean =>
    type !== Type.STRING && type !== Type.BYTES && type !== Type.MESSAGE;
  const moods = ["CALM", "GLAD", "SAD"].map((name, i) => ({ name, number: i === 2 ? -1 : i }));
  const file = create(FileDescriptorProtoSchema, {
    name: "all.proto",
    package: "all",
    syntax,
    enumType: [{ name: "Mood", value: moods }],
    messageType: [
      {
        name: "All",
        oneofDecl: [{ name: "one" }],
        field: [
          ...form("single", 0, {}),
          // Tags of two bytes, of three, and of four.
          ...form("loose", 100, { label: Label.REPEATED, options: { packed: false } }).map((field) =>
            packable(field) ? field : { ...field, options: undefined },
          ),
          ...form("packed", 3000, { label: Label.REPEATED, options: { packed: true } }).filter(packable),
          ...form("choice", 300_000, { oneofIndex: 0 }),
        ],
      },
    ],
  });
  nameInJson(file);
  return createFileRegistry(file, () => undefined).getMessage("all.All") as DescMessage;
}

/** Gives fields the JSON names that a compiler assigns. */
function nameInJson({ messageType }: Pick<FileDescriptorProto, "messageType">): void {
  for (const { field, nestedType } of messageType) {
    for (const one of field) one.jsonName = one.name.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase());
    nameInJson({ messageType: nestedType });
  }
}

const SPECIAL_FILES = [file_google_protobuf_any, file_google_protobuf_struct, file_google_protobuf_wrappers];

/**
 * A message with the types that {@link everything} omits: maps of all keys and values, groups, closed enums, and the
 * messages with a special form in JavaScript or JSON, in a field, a list, a oneof and a map each.
 */
export function everySpecial(): DescMessage {
  const wellKnown = ["Any", "Struct", "Value", "ListValue", "StringValue", "Int64Value", "BytesValue"];
  const messages = [
    ...wellKnown.map((name) => `.google.protobuf.${name}`),
    ".special.Special",
    ".special.Special.Leaf",
  ];
  const message = { type: Type.MESSAGE, label: Label.OPTIONAL };
  const keys = [Type.STRING, Type.BOOL, Type.INT32, Type.UINT64, Type.SFIXED64];
  const values: FieldInit[] = [
    ...[Type.STRING, Type.BYTES, Type.DOUBLE, Type.INT64, Type.FIXED32].map((type) => ({ type })),
    { type: Type.ENUM, typeName: ".special.Mood" },
    ...messages.map((typeName) => ({ type: Type.MESSAGE, typeName })),
  ];
  const maps = keys.flatMap((key) => values.map((value) => ({ key, value })));
  const file = create(FileDescriptorProtoSchema, {
    name: "special.proto",
    package: "special",
    dependency: SPECIAL_FILES.map(({ proto }) => proto.name),
    enumType: [{ name: "Mood", value: ["CALM", "GLAD"].map((name, number) => ({ name, number })) }],
    messageType: [
      {
        name: "Special",
        oneofDecl: [{ name: "one" }],
        field: [
          ...messages.flatMap((typeName, i) => [
            { ...message, name: `single_${i}`, number: 1 + i, typeName },
            { ...message, name: `list_${i}`, number: 20 + i, typeName, label: Label.REPEATED },
            { ...message, name: `choice_${i}`, number: 40 + i, typeName, oneofIndex: 0 },
          ]),
          ...maps.map((_, i) => ({
            ...message,
            name: `map_${i}`,
            number: 60 + i,
            label: Label.REPEATED,
            typeName: `.special.Special.Map${i}Entry`,
          })),
          { name: "mood", number: 200, type: Type.ENUM, typeName: ".special.Mood", label: Label.OPTIONAL },
          { name: "moods", number: 201, type: Type.ENUM, typeName: ".special.Mood", label: Label.REPEATED },
          { name: "leaf", number: 202, type: Type.GROUP, typeName: ".special.Special.Leaf", label: Label.OPTIONAL },
          { name: "leaves", number: 203, type: Type.GROUP, typeName: ".special.Special.Leaf", label: Label.REPEATED },
        ],
        nestedType: [
          {
            name: "Leaf",
            field: [
              { name: "text", number: 1, type: Type.STRING, label: Label.OPTIONAL },
              { name: "numbers", number: 2, type: Type.SINT64, label: Label.REPEATED },
            ],
          },
          ...maps.map(({ key, value }, i) => ({
            name: `Map${i}Entry`,
            options: { mapEntry: true },
            field: [
              { name: "key", number: 1, label: Label.OPTIONAL, type: key },
              { name: "value", number: 2, label: Label.OPTIONAL, ...value },
            ],
          })),
        ],
      },
    ],
  });
  nameInJson(file);
  const registry = createFileRegistry(file, (name) => SPECIAL_FILES.find(({ proto }) => proto.name === name));
  return registry.getMessage("special.Special") as DescMessage;
}

/** Messages in the form that fields have in JavaScript: some wrappers are scalars, and a Struct is JSON. */
function formOf(field: DescField, messages: fc.Arbitrary<object>): fc.Arbitrary<unknown> {
  const type = field.message as DescMessage;
  if (field.fieldKind === "message" && field.oneof === undefined && isWrapperDesc(type)) {
    return messages.map((message) => (message as { readonly value?: unknown }).value);
  }
  const isJson = type.typeName === "google.protobuf.Struct" && field.parent.typeName !== "google.protobuf.Value";
  return isJson ? fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 4 }) : messages;
}

function keysOf(scalar: ScalarType): fc.Arbitrary<string> {
  if (scalar === ScalarType.STRING) return fc.oneof(fc.string(), fc.constant("__proto__"));
  if (scalar === ScalarType.BOOL) return fc.constantFrom("true", "false");
  return fc.nat(300).map(String);
}

const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
const uint64 = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
const uint32 = fc.nat({ max: 2 ** 32 - 1 });

const scalars: Readonly<Record<ScalarType, fc.Arbitrary<unknown>>> = {
  [ScalarType.DOUBLE]: fc.double(),
  [ScalarType.FLOAT]: fc.float(),
  [ScalarType.BOOL]: fc.boolean(),
  [ScalarType.STRING]: fc.oneof(fc.string(), fc.string({ unit: "grapheme", maxLength: 2000, size: "max" })),
  [ScalarType.BYTES]: fc.uint8Array({ maxLength: 300, size: "max" }),
  [ScalarType.INT32]: fc.integer(),
  [ScalarType.SINT32]: fc.integer(),
  [ScalarType.SFIXED32]: fc.integer(),
  [ScalarType.UINT32]: uint32,
  [ScalarType.FIXED32]: uint32,
  [ScalarType.INT64]: int64,
  [ScalarType.SINT64]: int64,
  [ScalarType.SFIXED64]: int64,
  [ScalarType.UINT64]: uint64,
  [ScalarType.FIXED64]: uint64,
};

/** Messages of a type with at most `most` of their fields set, with nested messages down to a depth. */
export function messagesOf(type: DescMessage, depth: number, most = Number.POSITIVE_INFINITY): fc.Arbitrary<object> {
  if (type.typeName === "google.protobuf.Any") return fc.constant(anyPack(TypeSchema, create(TypeSchema)));
  const fields = type.fields.filter(({ message }) => message === undefined || depth > 0);
  if (fields.length <= most) return recordOf(type, fields, depth, most);
  return fc.subarray(fields, { maxLength: most }).chain((some) => recordOf(type, some, depth, most));
}

function recordOf(type: DescMessage, some: DescField[], depth: number, most: number): fc.Arbitrary<object> {
  const fields: Record<string, fc.Arbitrary<unknown>> = {};
  const cases: Record<string, fc.Arbitrary<unknown>[]> = {};
  for (const field of some) {
    const { localName } = field;
    const value =
      field.message !== undefined
        ? formOf(field, messagesOf(field.message, depth - 1, most))
        : field.scalar !== undefined
          ? scalars[field.scalar]
          : fc.constantFrom(...(field.enum?.values ?? []).map(({ number }) => number));
    const oneof = "oneof" in field ? field.oneof?.localName : undefined;
    if (field.fieldKind === "map") fields[localName] = fc.dictionary(keysOf(field.mapKey), value, { maxKeys: 4 });
    else if (oneof !== undefined) {
      cases[oneof] = [...(cases[oneof] ?? []), fc.record({ case: fc.constant(localName), value })];
    } else fields[localName] = field.fieldKind === "list" ? fc.array(value, { maxLength: 4 }) : value;
  }
  for (const [oneof, values] of Object.entries(cases)) fields[oneof] = fc.oneof(...values);
  return fc.record(fields, { requiredKeys: [] }).map((init) => create(type, init));
}
