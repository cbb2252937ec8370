/**
 * Text in generated codecs. Short text is encoded and decoded without a call of the platform, whose results are the
 * oracle.
 */
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { EchoRequestCodec } from "../../../bench/messages/gen/echo_codec.ts";
import { EchoRequestSchema } from "../../../bench/messages/gen/echo_pb.ts";

/** Returns the text of a message with the bytes as its first field, or `undefined` if they are rejected. */
function decoded(read: (bytes: Uint8Array) => { readonly id: string }, text: readonly number[]): string | undefined {
  try {
    return read(Uint8Array.of(10, text.length, ...text)).id;
  } catch {
    return undefined;
  }
}

function expectSameText(text: readonly number[]): void {
  const expected = decoded((bytes) => fromBinary(EchoRequestSchema, bytes), text);
  const actual = decoded((bytes) => EchoRequestCodec.decode(bytes), text);
  if (actual !== expected) expect(`${text}: ${actual}`).toBe(`${text}: ${expected}`);
}

describe("short text", () => {
  // Most of the time would be that of the stacks of a hundred thousand errors.
  const { stackTraceLimit } = Error;
  beforeAll(() => {
    Error.stackTraceLimit = 0;
  });
  afterAll(() => {
    Error.stackTraceLimit = stackTraceLimit;
  });

  it("is encoded as protobuf-es encodes it, for every UTF-16 code unit at the start, in the middle and at the end", () => {
    for (let code = 0; code <= 0xffff; code++) {
      const unit = String.fromCharCode(code);
      for (const id of [`${unit}abcdefg`, `abc${unit}defg`, `abcdefg${unit}`]) {
        const message = create(EchoRequestSchema, { id });
        const bytes = EchoRequestCodec.encode(message);
        if (Buffer.compare(bytes, toBinary(EchoRequestSchema, message)) !== 0) expect(id).toBe("encoded differently");
      }
    }
  });

  it("is decoded as protobuf-es decodes it, for all two bytes, valid or not, in ASCII and alone", () => {
    for (let first = 0x80; first <= 0xff; first++) {
      expectSameText([97, 98, 99, 100, 101, first]);
      for (let second = 0; second <= 0xff; second++) {
        expectSameText([first, second]);
        expectSameText([97, 98, 99, 100, first, second, 101]);
      }
    }
  });

  it.each([36, 37, 40, 41, 127, 128])("is as exact at a length of %i characters", (length) => {
    for (const last of ["z", "é", "ߠ", "ࠀ", "😀", "\ufffd"]) {
      const id = "ü".repeat(length - 1) + last;
      const message = create(EchoRequestSchema, { id });
      const bytes = EchoRequestCodec.encode(message);
      expect(Buffer.compare(bytes, toBinary(EchoRequestSchema, message))).toBe(0);
      expect(EchoRequestCodec.decode(bytes).id).toBe(id);
    }
  });
});
