/** A message type with fields whose option `debug_redact` is set: scalars, messages, lists and maps. */
import { create, createFileRegistry, type DescMessage, type MessageInitShape } from "@bufbuild/protobuf";
import {
  FileDescriptorProtoSchema,
  file_google_protobuf_struct,
  FieldDescriptorProto_Label as Label,
  FieldDescriptorProto_Type as Type,
} from "@bufbuild/protobuf/wkt";

type MessageInit = NonNullable<MessageInitShape<typeof FileDescriptorProtoSchema>["messageType"]>[0];
type FieldInit = NonNullable<MessageInit["field"]>[0];

const NODE = ".secret.Node";
const hidden = { options: { debugRedact: true } };
const list = { label: Label.REPEATED };

const fields: readonly FieldInit[] = [
  { name: "text", type: Type.STRING },
  { name: "number", type: Type.INT64 },
  { name: "node", type: Type.MESSAGE, typeName: NODE },
  { name: "nodes", type: Type.MESSAGE, typeName: NODE, ...list },
  { name: "map", type: Type.MESSAGE, typeName: `${NODE}.MapEntry`, ...list },
  { name: "texts", type: Type.MESSAGE, typeName: `${NODE}.TextsEntry`, ...list },
  { name: "any_json", type: Type.MESSAGE, typeName: ".google.protobuf.Struct" },
  { name: "secret_text", type: Type.STRING, ...hidden },
  { name: "secret_bytes", type: Type.BYTES, ...hidden },
  { name: "secret_number", type: Type.DOUBLE, ...hidden },
  { name: "secret_list", type: Type.STRING, ...list, ...hidden },
  { name: "secret_node", type: Type.MESSAGE, typeName: NODE, ...hidden },
  { name: "secret_map", type: Type.MESSAGE, typeName: `${NODE}.SecretMapEntry`, ...list, ...hidden },
];

function entryOf(name: string, value: FieldInit): MessageInit {
  return {
    name,
    options: { mapEntry: true },
    field: [
      { name: "key", number: 1, label: Label.OPTIONAL, type: Type.STRING },
      { name: "value", number: 2, label: Label.OPTIONAL, ...value },
    ],
  };
}

const camelCase = (name: string): string => name.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase());

const file = create(FileDescriptorProtoSchema, {
  name: "secret.proto",
  package: "secret",
  syntax: "proto3",
  dependency: ["google/protobuf/struct.proto"],
  messageType: [
    {
      name: "Node",
      field: fields.map((field, i) => ({
        label: Label.OPTIONAL,
        ...field,
        number: i + 1,
        jsonName: camelCase(field.name ?? ""),
      })),
      nestedType: [
        entryOf("MapEntry", { type: Type.MESSAGE, typeName: NODE }),
        entryOf("TextsEntry", { type: Type.STRING }),
        entryOf("SecretMapEntry", { type: Type.STRING }),
      ],
    },
  ],
});

export const SecretSchema = createFileRegistry(file, () => file_google_protobuf_struct).getMessage(
  "secret.Node",
) as DescMessage;
