/** Generated codecs of messages whose fields have the names of methods that every object inherits. */
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
