import { create, toBinary } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { GreetResponseSchema } from "../../../examples/gen/greet/v1/greet_pb.ts";
import { defaultProtoCodec } from "../../../runtime/src/codec/bounded-codec.ts";

describe("memory that encoded messages keep", () => {
  it.each([20_000, 100_000, 1_000_000])("is at most a third more than %i characters of text", (length) => {
    const message = create(GreetResponseSchema, { greeting: "x".repeat(length) });
    const bytes = defaultProtoCodec.encode(GreetResponseSchema, message);
    expect(Buffer.compare(bytes, toBinary(GreetResponseSchema, message))).toBe(0);
    expect(bytes.buffer.byteLength).toBeLessThanOrEqual((bytes.byteLength * 4) / 3);
  });

  it("is shared by small messages", () => {
    const encode = (): Uint8Array =>
      defaultProtoCodec.encode(GreetResponseSchema, create(GreetResponseSchema, { greeting: "Hello" }));
    const buffers = new Set(Array.from({ length: 1_000 }, () => encode().buffer));
    expect(buffers.size).toBeLessThan(3);
  });
});
