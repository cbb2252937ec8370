/** The binary format as Node's own writer writes it: the same bytes as protobuf-es, and the same errors. */
import { create, createFileRegistry, type DescMessage, type MessageInitShape, ScalarType } from "@bufbuild/protobuf";
import {
  FileDescriptorProtoSchema,
  FieldDescriptorProto_Label as Label,
  StringValueSchema,
  StructSchema,
  FieldDescriptorProto_Type as Type,
  TypeSchema,
} from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  CallResponseSchema as DefaultSchema,
  CallRequestSchema as RequiredSchema,
} from "../../fixtures/gen/fixture/proto2/v1/proto2_pb.ts";
import { BadRequestSchema, ErrorInfoSchema } from "../../fixtures/gen/google/rpc/error_details_pb.ts";
import { protoCodec } from "../../runtime/src/codec/codec.ts";
import { nodeProtoCodec } from "../../runtime/src/node/protobuf/codec.ts";

type FieldInit = NonNullable<
  NonNullable<MessageInitShape<typeof FileDescriptorProtoSchema>["messageType"]>[0]["field"]
>[0];

/** A message with a field of every type in every form that is written here. No proto has them all. */
function everything(syntax: "proto2" | "proto3"): DescMessage {
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
  return createFileRegistry(file, () => undefined).getMessage("all.All") as DescMessage;
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

/** Messages of a type with some of their fields set, and messages in them down to a depth. */
function messagesOf(type: DescMessage, depth: number): fc.Arbitrary<object> {
  const fields: Record<string, fc.Arbitrary<unknown>> = {};
  const cases: Record<string, fc.Arbitrary<unknown>[]> = {};
  for (const field of type.fields) {
    const { localName } = field;
    if (field.message !== undefined && depth === 0) continue;
    const value =
      field.message !== undefined
        ? messagesOf(field.message, depth - 1)
        : field.scalar !== undefined
          ? scalars[field.scalar]
          : fc.constantFrom(0, 1, -1);
    const oneof = "oneof" in field ? field.oneof?.localName : undefined;
    if (oneof !== undefined) {
      cases[oneof] = [...(cases[oneof] ?? []), fc.record({ case: fc.constant(localName), value })];
    } else fields[localName] = field.fieldKind === "list" ? fc.array(value, { maxLength: 4 }) : value;
  }
  for (const [oneof, values] of Object.entries(cases)) fields[oneof] = fc.oneof(...values);
  return fc.record(fields, { requiredKeys: [] }).map((init) => create(type, init));
}

const isNumber = (scalar: ScalarType | undefined): boolean =>
  [ScalarType.DOUBLE, ScalarType.FLOAT, ScalarType.INT32, ScalarType.UINT32, ScalarType.SINT32].includes(
    scalar as never,
  );

const encodes = (type: DescMessage, message: object): void => {
  const expected = protoCodec.encode(type, message);
  expect(Buffer.from(nodeProtoCodec.encode(type, message)).equals(expected)).toBe(true);
};

describe("a message", () => {
  it.each([
    ["of every kind of field in proto3", everything("proto3")],
    ["of every kind of field in proto2", everything("proto2")],
    ["with default values", DefaultSchema],
    ["with messages in lists", BadRequestSchema],
    ["that describes a type", TypeSchema],
  ])("%s is written as protobuf-es writes it", (_, type) => {
    fc.assert(fc.property(messagesOf(type, 2), (message) => encodes(type, message)));
  });

  it("has the other zero where that is a value", () => {
    const type = everything("proto3");
    const zeros = type.fields.filter(({ name, scalar }) => name.startsWith("single") && isNumber(scalar));
    encodes(type, Object.assign(create(type), Object.fromEntries(zeros.map(({ localName }) => [localName, -0]))));
  });

  it("may be of any length, and those before it stay as they are", () => {
    const values = [0, 1, 40, 41, 127, 128, 1023, 1024, 16_383, 16_384, 70_000, 3_000_000].flatMap((length) =>
      ["x".repeat(length), "ü".repeat(length / 2)].map((value) => create(StringValueSchema, { value })),
    );
    const written = values.map((value) => nodeProtoCodec.encode(StringValueSchema, value));
    const right = values.map((value, i) =>
      protoCodec.encode(StringValueSchema, value).every((b, at) => b === written[i]?.[at]),
    );
    expect(right).toEqual(values.map(() => true));
  });

  it("with text that is no Unicode is mended as protobuf-es does", () => {
    encodes(StringValueSchema, create(StringValueSchema, { value: "a\ud800b".repeat(30) }));
  });

  it("keeps the fields that its type does not know", () => {
    const bytes = protoCodec.encode(TypeSchema, create(TypeSchema, { name: "n", oneofs: ["a", "b"] }));
    encodes(StringValueSchema, protoCodec.decode(StringValueSchema, bytes));
  });

  it("leaves room in front for the envelope", () => {
    const message = create(StringValueSchema, { value: "Ada" });
    const bytes = nodeProtoCodec.encodeWithHeadroom?.(5, StringValueSchema, message) as Uint8Array;
    expect([...bytes.subarray(5)]).toEqual([...protoCodec.encode(StringValueSchema, message)]);
  });

  it("may be an init shape", () => {
    encodes(BadRequestSchema, { fieldViolations: [{ field: "name", description: "missing" }] });
  });

  it("may have another message encoded while it is read", () => {
    const inner = create(StringValueSchema, { value: "inner" });
    const outer = create(TypeSchema, { name: "outer", oneofs: ["one"] });
    Object.defineProperty(outer, "oneofs", {
      enumerable: true,
      get: () => {
        encodes(StringValueSchema, inner);
        return ["one"];
      },
    });
    encodes(TypeSchema, outer);
  });
});

describe("left to protobuf-es are", () => {
  it.each<[string, DescMessage, object]>([
    ["maps", ErrorInfoSchema, { reason: "r", metadata: { a: "b" } }],
    ["required fields", RequiredSchema, { id: "1" }],
    ["structs", StructSchema, { fields: { a: { kind: { case: "numberValue", value: 1 } } } }],
  ])("%s", (_, type, init) => encodes(type, create(type, init as Record<string, unknown>)));

  it.each<[string, DescMessage, object]>([
    ["a number that is too large", TypeSchema, { syntax: 2 ** 40 }],
    ["text for a message", TypeSchema, { sourceContext: "here" }],
    ["a message of another type", TypeSchema, { sourceContext: create(StringValueSchema) }],
    ["a required field that is missing", RequiredSchema, {}],
  ])("%s, with its error", (_, type, fields) => {
    const message = { ...create(type), ...fields };
    let told: unknown;
    try {
      protoCodec.encode(type, message);
    } catch (error) {
      told = error;
    }
    expect(told).toBeInstanceOf(Error);
    expect(() => nodeProtoCodec.encode(type, message)).toThrow((told as Error).message);
    // What was begun is forgotten.
    encodes(StringValueSchema, create(StringValueSchema, { value: "after" }));
  });

  it("values that it takes although their type is another", () => {
    const type = everything("proto3");
    const { localName } = type.fields.find(({ scalar }) => scalar === ScalarType.INT32) ?? { localName: "" };
    encodes(type, { ...create(type), [localName]: "12" });
    encodes(TypeSchema, { ...create(TypeSchema), oneofs: 1 });
  });
});

it("what is no message is a mistake", () => {
  for (const given of [undefined, null, [], "text"]) {
    expect(() => nodeProtoCodec.encode(StringValueSchema, given as never)).toThrow("must be an object");
  }
});
