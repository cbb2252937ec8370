/** Values that the types of messages do not allow: programs in JavaScript may pass them to the encoder. */
import { create, toBinary } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import {
  FindRequestCodec,
  FindResponseCodec,
} from "../../../fixtures/options/gen/codecs/fixture/options/v1/options_codec.ts";
import {
  FindRequest_FilterSchema,
  FindRequestSchema,
  FindResponseSchema,
} from "../../../fixtures/options/gen/codecs/fixture/options/v1/options_pb.ts";
import { defaultProtoCodec } from "../../../runtime/src/codec/bounded-codec.ts";

describe("a field of bytes", () => {
  it.each<[string, unknown]>([
    ["an ArrayBuffer", new ArrayBuffer(8)],
    ["a DataView", new DataView(new ArrayBuffer(8))],
    ["an array of larger items", Uint16Array.of(1, 2)],
    ["a list", [1, 2]],
    ["text", "12"],
    ["an object", {}],
    ["a number", 5],
  ])("refuses %s, and later messages are not damaged", (_, value) => {
    const after = create(FindRequestSchema, { name: "after", token: Uint8Array.of(1, 2, 3) });
    const expected = toBinary(FindRequestSchema, after);
    expect(() => FindRequestCodec.encode({ ...create(FindRequestSchema), token: value as never })).toThrow();
    const chunks = { 1: value as never };
    expect(() => FindResponseCodec.encode({ ...create(FindResponseSchema), chunks })).toThrow();
    expect(FindRequestCodec.encode(after)).toEqual(expected);
  });

  it("names the value that it refuses", () => {
    const message = { ...create(FindRequestSchema), token: new ArrayBuffer(8) as never };
    expect(() => FindRequestCodec.encode(message)).toThrow("invalid bytes: [object ArrayBuffer]");
  });

  it("takes other arrays of bytes", () => {
    for (const token of [Buffer.from("ab"), Uint8ClampedArray.of(1, 255), Int8Array.of(-1)]) {
      const message = { ...create(FindRequestSchema), token: token as never };
      expect(FindRequestCodec.encode(message)).toEqual(toBinary(FindRequestSchema, message));
    }
  });
});

describe("the codec on Node", () => {
  it("encodes undefined for a message in a list or oneof as protobuf-es does", () => {
    const anyOf = [undefined as never];
    const values = [undefined, { $typeName: FindRequest_FilterSchema.typeName, pattern: "", anyOf }];
    for (const value of values) {
      const message = { ...create(FindRequestSchema), by: { case: "filter", value: value as never } as const };
      const bytes = defaultProtoCodec.encodeWithHeadroom?.(5, FindRequestSchema, message, FindRequestCodec);
      expect(bytes?.subarray(5)).toEqual(toBinary(FindRequestSchema, message));
    }
  });

  it("refuses an ArrayBuffer for bytes", () => {
    const message = { ...create(FindRequestSchema), token: new ArrayBuffer(8) as never };
    expect(() => defaultProtoCodec.encode(FindRequestSchema, message, FindRequestCodec)).toThrow("invalid bytes");
  });
});

it("an unknown field without bytes is refused, and later messages are not damaged", () => {
  const after = create(FindRequestSchema, { name: "after" });
  const $unknown = [{ no: 1000, wireType: 2, data: new ArrayBuffer(2) as never }];
  expect(() => FindRequestCodec.encode({ ...after, $unknown })).toThrow();
  expect(FindRequestCodec.encode(after)).toEqual(toBinary(FindRequestSchema, after));
});

it.each([null, "text", [1, 2], 5])("a Struct that is %j is empty, as in protobuf-es", (details) => {
  const message = { ...create(FindResponseSchema), details: details as never };
  expect(FindResponseCodec.encode(message)).toEqual(toBinary(FindResponseSchema, message));
});
