/** Generated codecs of messages whose fields have names that are special in JavaScript. */
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import {
  FileDescriptorProtoSchema,
  FieldDescriptorProto_Label as Label,
  FieldDescriptorProto_Type as Type,
} from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "vitest";
import { load } from "./load.ts";

const names = ["has_own_property", "is_prototype_of", "property_is_enumerable", "to_locale_string", "constructor"];

/** Message `Texts` with an optional text of each name, and message `Parts` with a message of each name. */
const file = create(FileDescriptorProtoSchema, {
  name: "names.proto",
  package: "names.v1",
  syntax: "proto3",
  messageType: [
    {
      name: "Texts",
      field: names.map((name, index) => ({
        name,
        number: index + 1,
        label: Label.OPTIONAL,
        type: Type.STRING,
        proto3Optional: true,
        oneofIndex: index,
      })),
      oneofDecl: names.map((name) => ({ name: `_${name}` })),
    },
    {
      name: "Parts",
      field: names.map((name, index) => ({
        name,
        number: index + 1,
        label: Label.OPTIONAL,
        type: Type.MESSAGE,
        typeName: ".names.v1.Texts",
      })),
    },
  ],
});
const { messages, codecOf } = load(file);

describe.each(messages.map((schema) => [schema.name, schema] as const))(
  "a message %s with inherited names",
  (_, schema) => {
    it("is empty if no field is set", () => {
      expect(codecOf(schema).encode(create(schema))).toEqual(toBinary(schema, create(schema)));
      expect(codecOf(schema).decode(new Uint8Array())).toEqual(create(schema));
    });

    it.each(schema.fields.map((field) => [field.name, field] as const))(
      "keeps the field %s",
      (_name, { localName, message }) => {
        // protobuf-es would take inherited functions of an init object for values.
        const value = message === undefined ? "text" : Object.assign(create(message), { toLocaleString: "text" });
        const given = Object.assign(create(schema), { [localName]: value });
        const bytes = codecOf(schema).encode(given);
        expect(bytes).toEqual(toBinary(schema, given));
        const decoded = codecOf(schema).decode(bytes);
        expect(Reflect.get(decoded, localName)).toEqual(value);
        expect(Object.keys(decoded)).toEqual(["$typeName", localName]);
        // protobuf-es merges a message into the inherited function.
        if (message === undefined) expect(decoded).toEqual(fromBinary(schema, bytes));
        expect(Object.keys(Object.prototype.toLocaleString)).toEqual([]);
      },
    );
  },
);

describe("a message with fields that begin with an underscore and a digit", () => {
  const { OPTIONAL, REPEATED } = Label;
  const part = { type: Type.MESSAGE, typeName: ".digits.v1.Digits" };
  const entry = [
    { name: "key", number: 1, label: OPTIONAL, type: Type.STRING },
    { name: "value", number: 2, label: OPTIONAL, type: Type.INT64 },
  ];
  const digits = (syntax: string) =>
    create(FileDescriptorProtoSchema, {
      name: "digits.proto",
      package: "digits.v1",
      syntax,
      messageType: [
        {
          name: "Digits",
          field: [
            { name: "_1", number: 1, label: OPTIONAL, type: Type.STRING },
            { name: "_2", number: 2, label: REPEATED, type: Type.INT32 },
            { name: "_3", number: 3, label: OPTIONAL, ...part },
            { name: "_4", number: 4, label: REPEATED, ...part },
            { name: "_5", number: 5, label: REPEATED, type: Type.MESSAGE, typeName: ".digits.v1.Digits.5Entry" },
            { name: "_6", number: 6, label: OPTIONAL, type: Type.BYTES, oneofIndex: 0 },
            { name: "_7", number: 7, label: OPTIONAL, ...part, oneofIndex: 0 },
          ],
          oneofDecl: [{ name: "_8" }],
          nestedType: [{ name: "5Entry", field: entry, options: { mapEntry: true } }],
        },
      ],
    });

  it.each(["proto2", "proto3"])("is encoded and decoded in %s", (syntax) => {
    const { messages, codecOf } = load(digits(syntax));
    const [schema] = messages;
    if (schema === undefined) throw new Error("no message");
    const inner = create(schema, { 1: "inner", 8: { case: "7", value: { 2: [7] } } } as never);
    const whole = {
      1: "text",
      2: [1, -2],
      3: inner,
      4: [inner, {}],
      5: { a: 5n },
      8: { case: "6", value: Uint8Array.of(1) },
    };
    for (const message of [create(schema), inner, create(schema, whole as never)]) {
      const bytes = codecOf(schema).encode(message);
      expect(bytes).toEqual(toBinary(schema, message));
      expect(codecOf(schema).decode(bytes)).toEqual(fromBinary(schema, bytes));
    }
  });
});
