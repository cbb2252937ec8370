/** Messages without a generated codec: protobuf-es encodes them, into the memory of generated codecs. */
import { create, type DescMessage } from "@bufbuild/protobuf";
import { StringValueSchema, TypeSchema } from "@bufbuild/protobuf/wkt";
import { expect, it } from "vitest";
import { CallRequestSchema as RequiredSchema } from "../../fixtures/gen/fixture/proto2/v1/proto2_pb.ts";
import { BadRequestSchema } from "../../fixtures/gen/google/rpc/error_details_pb.ts";
import { defaultProtoCodec } from "../../runtime/src/codec/bounded-codec.ts";
import { protoCodec } from "../../runtime/src/codec/codec.ts";

const encodes = (type: DescMessage, message: object): void => {
  const expected = protoCodec.encode(type, message);
  expect(Buffer.from(defaultProtoCodec.encode(type, message)).equals(expected)).toBe(true);
};

it("a message may have any length, and leaves earlier messages unchanged", () => {
  const values = [0, 1, 1023, 1024, 16_383, 16_384, 70_000, 3_000_000].flatMap((length) =>
    ["x".repeat(length), "ü".repeat(length / 2)].map((value) => create(StringValueSchema, { value })),
  );
  const written = values.map((value) => defaultProtoCodec.encode(StringValueSchema, value));
  const right = values.map((value, i) =>
    Buffer.from(protoCodec.encode(StringValueSchema, value)).equals(written[i] as Uint8Array),
  );
  expect(right).toEqual(values.map(() => true));
});

it("leaves space in front for the envelope", () => {
  const message = create(StringValueSchema, { value: "Ada" });
  const bytes = defaultProtoCodec.encodeWithHeadroom?.(5, StringValueSchema, message) as Uint8Array;
  expect([...bytes.subarray(5)]).toEqual([...protoCodec.encode(StringValueSchema, message)]);
});

it("a message may be an init shape", () => {
  encodes(BadRequestSchema, { fieldViolations: [{ field: "name", description: "missing" }] });
});

it("a message may have another one encoded while it is read", () => {
  const outer = create(TypeSchema, { name: "outer", oneofs: ["one"] });
  Object.defineProperty(outer, "oneofs", {
    enumerable: true,
    get: () => {
      encodes(StringValueSchema, create(StringValueSchema, { value: "inner" }));
      return ["one"];
    },
  });
  encodes(TypeSchema, outer);
});

it.each<[string, DescMessage, object, string]>([
  ["a number that is too large", TypeSchema, { syntax: 2 ** 40 }, "syntax"],
  ["text for a message", TypeSchema, { sourceContext: "here" }, "cannot use field"],
  ["a message of another type", TypeSchema, { sourceContext: create(StringValueSchema) }, "cannot use field"],
  ["a required field that is missing", RequiredSchema, {}, "required field not set"],
])("%s is refused with the error of protobuf-es", (_, type, fields, message) => {
  expect(() => defaultProtoCodec.encode(type, { ...create(type), ...fields })).toThrow(message);
  encodes(StringValueSchema, create(StringValueSchema, { value: "after" }));
});

it.each([undefined, null, [], "text"])("%j is no message", (given) => {
  expect(() => defaultProtoCodec.encode(StringValueSchema, given as never)).toThrow("must be an object");
});
