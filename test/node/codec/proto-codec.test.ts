/** The binary format as written by the writer for Node: the same bytes and the same errors as with protobuf-es. */
import { create, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { FloatValueSchema, StringValueSchema, StructSchema, TypeSchema } from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  CallResponseSchema as DefaultSchema,
  CallRequestSchema as RequiredSchema,
} from "../../../fixtures/gen/fixture/proto2/v1/proto2_pb.ts";
import { BadRequestSchema, ErrorInfoSchema } from "../../../fixtures/gen/google/rpc/error_details_pb.ts";
import { protoCodec } from "../../../runtime/src/codec/codec.ts";
import { nodeProtoCodec } from "../../../runtime/src/node/proto-codec.ts";
import { everything, messagesOf } from "../../support/messages.ts";

const isNumber = (scalar: ScalarType | undefined): boolean =>
  [ScalarType.DOUBLE, ScalarType.FLOAT, ScalarType.INT32, ScalarType.UINT32, ScalarType.SINT32].includes(
    scalar as never,
  );

const isInteger = (scalar: ScalarType | undefined): boolean =>
  scalar !== undefined &&
  ![ScalarType.DOUBLE, ScalarType.FLOAT, ScalarType.BOOL, ScalarType.STRING, ScalarType.BYTES].includes(scalar);

const encodes = (type: DescMessage, message: object): void => {
  const expected = protoCodec.encode(type, message);
  expect(Buffer.from(nodeProtoCodec.encode(type, message)).equals(expected)).toBe(true);
};

describe("a message", () => {
  it.each([
    ["every kind of field in proto3", everything("proto3")],
    ["every kind of field in proto2", everything("proto2")],
    ["with default values", DefaultSchema],
    ["with messages in lists", BadRequestSchema],
    ["that describes a type", TypeSchema],
  ])("%s is written as protobuf-es writes it", (_, type) => {
    fc.assert(fc.property(messagesOf(type, 2), (message) => encodes(type, message)));
  });

  it("writes -0, which is not the default", () => {
    const type = everything("proto3");
    const zeros = type.fields.filter(({ name, scalar }) => name.startsWith("single") && isNumber(scalar));
    encodes(type, Object.assign(create(type), Object.fromEntries(zeros.map(({ localName }) => [localName, -0]))));
  });

  it("with a float that is too large is refused, and infinity is not", () => {
    for (const value of [3.5e38, -3.5e38]) {
      expect(() => nodeProtoCodec.encode(FloatValueSchema, create(FloatValueSchema, { value }))).toThrow("float");
    }
    for (const value of [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NaN, 3.4e38]) {
      encodes(FloatValueSchema, create(FloatValueSchema, { value }));
    }
  });

  it("may have any length, and leaves earlier messages unchanged", () => {
    const values = [0, 1, 40, 41, 127, 128, 1023, 1024, 16_383, 16_384, 70_000, 3_000_000].flatMap((length) =>
      ["x".repeat(length), "ü".repeat(length / 2)].map((value) => create(StringValueSchema, { value })),
    );
    const written = values.map((value) => nodeProtoCodec.encode(StringValueSchema, value));
    const right = values.map((value, i) =>
      protoCodec.encode(StringValueSchema, value).every((b, at) => b === written[i]?.[at]),
    );
    expect(right).toEqual(values.map(() => true));
  });

  it("with invalid Unicode is encoded as protobuf-es does", () => {
    encodes(StringValueSchema, create(StringValueSchema, { value: "a\ud800b".repeat(30) }));
  });

  it("keeps unknown fields", () => {
    const bytes = protoCodec.encode(TypeSchema, create(TypeSchema, { name: "n", oneofs: ["a", "b"] }));
    encodes(StringValueSchema, protoCodec.decode(StringValueSchema, bytes));
  });

  it("leaves space in front for the envelope", () => {
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

describe("encoded by protobuf-es are", () => {
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
    // The partial output is discarded.
    encodes(StringValueSchema, create(StringValueSchema, { value: "after" }));
  });

  it.each([0, "0", "", -0])("an integer that is equal to zero, %j, although it is not the default", (zero) => {
    const type = everything("proto3");
    const numbers = type.fields.filter(({ name, scalar }) => name.startsWith("single") && isInteger(scalar));
    expect(numbers).toHaveLength(10);
    encodes(type, Object.assign(create(type), Object.fromEntries(numbers.map(({ localName }) => [localName, zero]))));
  });

  it("values that it takes although their type is another", () => {
    const type = everything("proto3");
    const { localName } = type.fields.find(({ scalar }) => scalar === ScalarType.INT32) ?? { localName: "" };
    encodes(type, { ...create(type), [localName]: "12" });
    encodes(TypeSchema, { ...create(TypeSchema), oneofs: 1 });
  });
});

it("refuses values that are not messages", () => {
  for (const given of [undefined, null, [], "text"]) {
    expect(() => nodeProtoCodec.encode(StringValueSchema, given as never)).toThrow("must be an object");
  }
});
