/** Codecs: reading and writing of JSON and binary. */
import { create, createRegistry, isMessage, type Message } from "@bufbuild/protobuf";
import { AnySchema, anyPack, DurationSchema, FieldSchema, TypeSchema } from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { GreetEachRequestSchema, GreetRequestSchema } from "../../examples/gen/greet/v1/greet_pb.ts";
import {
  type Codec,
  createJsonCodec,
  decodeJson,
  encodeJson,
  findCodec,
  jsonCodec,
  protoCodec,
} from "../../runtime/src/codec/codec.ts";

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

describe.each<[string, Codec]>([
  ["proto", protoCodec],
  ["json", jsonCodec],
])("the %s codec", (name, codec) => {
  it("has the name of its content type", () => {
    expect(codec.name).toBe(name);
    expect(findCodec(name as "proto" | "json")).toBe(codec);
    expect(findCodec(codec)).toBe(codec);
  });

  it("decodes what it encodes", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "grapheme" })), (names) => {
        const message = create(GreetEachRequestSchema, { names });
        const decoded = codec.decode(GreetEachRequestSchema, codec.encode(GreetEachRequestSchema, message));
        expect(decoded).toEqual(message);
      }),
    );
  });

  it("accepts init shapes as messages, including nested ones", () => {
    const init = { name: "T", fields: [{ name: "f", number: 1 }] };
    const decoded = codec.decode(TypeSchema, codec.encode(TypeSchema, init));
    expect(isMessage(decoded as Message, TypeSchema)).toBe(true);
    expect(decoded).toEqual(create(TypeSchema, init));
  });

  it("throws on bytes that are not in its format", () => {
    expect(() => codec.decode(GreetRequestSchema, Uint8Array.of(0xff, 0xff))).toThrow();
  });
});

describe("JSON", () => {
  it("is read in both spellings of a field", () => {
    const camel = jsonCodec.decode(FieldSchema, bytesOf('{"typeUrl":"t","jsonName":"j"}'));
    const snake = jsonCodec.decode(FieldSchema, bytesOf('{"type_url":"t","json_name":"j"}'));
    expect(snake).toEqual(camel);
    expect(camel).toMatchObject({ typeUrl: "t", jsonName: "j" });
  });

  it("refuses durations of more than 9 digits after the point", () => {
    expect(jsonCodec.decode(DurationSchema, bytesOf('"1.123456789s"'))).toMatchObject({ nanos: 123_456_789 });
    expect(() => jsonCodec.decode(DurationSchema, bytesOf('"1.1234567890s"'))).toThrow(
      "a google.protobuf.Duration has at most 9 digits after the decimal point",
    );
  });

  it("is written in lowerCamel, without default values", () => {
    expect(text(jsonCodec.encode(FieldSchema, { typeUrl: "t", jsonName: "", number: 0 }))).toBe('{"typeUrl":"t"}');
  });

  it("may have unknown fields, at any depth", () => {
    const decoded = jsonCodec.decode(TypeSchema, bytesOf('{"name":"T","new":[1],"fields":[{"name":"f","x":{}}]}'));
    expect(decoded).toMatchObject({ name: "T", fields: [{ name: "f" }] });
  });

  it("may begin with a byte order mark and space", () => {
    expect(jsonCodec.decode(GreetRequestSchema, bytesOf('\uFEFF \r\n\t{"name":"Ada"}'))).toMatchObject({ name: "Ada" });
  });

  it("is UTF-8 and nothing else", () => {
    expect(() => decodeJson(Uint8Array.of(0x22, 0xe4, 0x22))).toThrow();
    expect(decodeJson(bytesOf('"ä"'))).toBe("ä");
    expect([...encodeJson("ä😀")]).toEqual([...bytesOf('"ä😀"')]);
  });

  it("is at most 100 levels deep in every kind of nesting", () => {
    const nested = (levels: number, open: string, close: string) =>
      bytesOf(`${open.repeat(levels)}${close.length === 1 && open !== "[" ? "1" : ""}${close.repeat(levels)}`);
    for (const [open, close] of [
      ["[", "]"],
      ['{"a":', "}"],
      ['{"\\"[":', "}"],
    ] as const) {
      expect(() => decodeJson(nested(100, open, close))).not.toThrow();
      expect(() => decodeJson(nested(101, open, close))).toThrow("the JSON is nested more than 100 levels deep");
      expect(() => decodeJson(nested(200_000, open, close))).toThrow("the JSON is nested more than 100 levels deep");
    }
    const unknown = `{"name":"Ada","unknown":${"[".repeat(100)}${"]".repeat(100)}}`;
    expect(() => jsonCodec.decode(GreetRequestSchema, bytesOf(unknown))).toThrow("100 levels deep");
  });

  it("is not deep because of brackets in its text", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'[{\\"]}a'), minLength: 300, maxLength: 400 }), (text) => {
        expect(decodeJson(encodeJson([text, { [text]: text }]))).toEqual([text, { [text]: text }]);
      }),
    );
  });

  it("has values, which binary has not", () => {
    expect(jsonCodec.values?.toValue(DurationSchema, { seconds: 3n })).toBe("3s");
    expect(jsonCodec.values?.fromValue(DurationSchema, "3s")).toMatchObject({ seconds: 3n });
    expect(protoCodec.values).toBeUndefined();
  });

  it("resolves google.protobuf.Any with a registry, both ways", () => {
    const any = anyPack(GreetRequestSchema, create(GreetRequestSchema, { name: "Ada" }));
    const codec = createJsonCodec({ registry: createRegistry(GreetRequestSchema) });
    const json = codec.encode(AnySchema, any);
    expect(decodeJson(json)).toEqual({ "@type": "type.googleapis.com/greet.v1.GreetRequest", name: "Ada" });
    expect(codec.decode(AnySchema, json)).toEqual(any);
    expect(() => jsonCodec.encode(AnySchema, any)).toThrow(/greet\.v1\.GreetRequest/);
  });
});
