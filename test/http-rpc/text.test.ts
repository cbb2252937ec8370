import { create, createFileRegistry, type DescMessage } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema, file_google_protobuf_wrappers } from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { createRouter, type ServiceDef } from "triple-es";
import { describe, expect, it } from "vitest";
import { decodeText } from "../../runtime/src/http-rpc/body/text.ts";
import { rpcRequest, textOf } from "../support/greeter.ts";
import { EVERY_BODY, routeParameters } from "../support/parameters.ts";

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);
const utf16 = (text: string, littleEndian: boolean): Uint8Array => {
  const view = new DataView(new ArrayBuffer(2 * text.length));
  for (let i = 0; i < text.length; i += 1) view.setUint16(2 * i, text.charCodeAt(i), littleEndian);
  return new Uint8Array(view.buffer);
};
const HEY = "Grüße, 世界 🌍";

describe("a charset", () => {
  it("is decoded in steps to the same text for every character at the end of a step", () => {
    for (let shift = 0; shift < 4; shift += 1) {
      const text = "x".repeat(shift) + "€😀".repeat(30_000);
      expect(decodeText(utf8(text))).toBe(text);
      expect(decodeText(utf16(text, true), "utf-16le")).toBe(text);
    }
    expect(() => decodeText(utf8("€".repeat(100_000)).subarray(0, -1))).toThrow("the bytes are not text in");
    expect(() => decodeText(utf8(`${"a".repeat(100_000)}ä`), "us-ascii")).toThrow("byte 100000 is above 127");
  });

  it.each<[string | undefined, Uint8Array, string]>([
    [undefined, utf8(HEY), HEY],
    ["UTF-8", utf8(`\ufeff${HEY}`), HEY],
    ["utf8", utf8(HEY), HEY],
    ["UTF-16", utf16(`\ufeff${HEY}`, false), HEY],
    ["UTF-16", utf16(`\ufeff${HEY}`, true), HEY],
    ["utf-16", utf16(HEY, false), HEY],
    ["UTF-16LE", utf16(HEY, true), HEY],
    ["UTF-16BE", utf16(HEY, false), HEY],
    ["US-ASCII", utf8("plain"), "plain"],
    ["ascii", utf8("plain"), "plain"],
    ["ISO-8859-1", Uint8Array.of(0x47, 0xfc, 0x80, 0x93), "G\u00fc\u0080\u0093"],
    ["latin1", Uint8Array.of(0xff), "\u00ff"],
    ["windows-1252", Uint8Array.of(0x7f, 0x80, 0x81, 0x9f, 0xa0, 0xff), "\u007f€\u0081Ÿ\u00a0ÿ"],
    ["GBK", Uint8Array.of(0xca, 0xc0, 0xbd, 0xe7), "世界"],
    ["gb18030", Uint8Array.of(0x94, 0x39, 0xbc, 0x35), "🍿"],
    ["big5", Uint8Array.of(0xa5, 0x40), "世"],
    ["shift_jis", Uint8Array.of(0x90, 0xa2), "世"],
    ["euc-kr", Uint8Array.of(0xe1, 0xa6), "世"],
    ["koi8-r", Uint8Array.of(0xcd, 0xc9, 0xd2), "мир"],
  ])("%s is decoded", (charset, bytes, text) => {
    expect(decodeText(bytes, charset)).toBe(text);
  });

  it.each<[string | undefined, Uint8Array]>([
    [undefined, Uint8Array.of(0xff)],
    ["utf-8", Uint8Array.of(0xc0, 0x80)],
    ["utf-16", Uint8Array.of(0xd8, 0x00, 0x00)],
    ["utf-16le", Uint8Array.of(0x00)],
    ["us-ascii", Uint8Array.of(0x41, 0x80)],
    ["gbk", Uint8Array.of(0xca)],
  ])("%s with bytes that it does not have is an error", (charset, bytes) => {
    expect(() => decodeText(bytes, charset)).toThrow("the bytes are not text in");
  });

  it("that is unknown is unsupported media", async () => {
    const { status, body } = await routeParameters()("text", "text/plain; charset=utf-7", "Ada");
    expect([status, body]).toMatchObject([415, { status: 40, message: expect.stringMatching(/utf-7.*UTF-8, UTF-16/) }]);
  });

  it("round-trips every text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), fc.boolean(), (text, littleEndian) => {
        expect(decodeText(utf8(`\ufeff${text}`))).toBe(text);
        expect(decodeText(utf16(`\ufeff${text}`, littleEndian), "utf-16")).toBe(text);
        expect(decodeText(utf16(`\ufeff${text}`, littleEndian), littleEndian ? "utf-16le" : "utf-16be")).toBe(text);
      }),
    );
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 20_000 }), (bytes) => {
        const text = decodeText(bytes, "iso-8859-1");
        expect(Uint8Array.from(text, (character) => character.charCodeAt(0))).toEqual(bytes);
      }),
      { numRuns: 20 },
    );
  });

  it("decodes any bytes to text or an error", () => {
    const charsets = fc.constantFrom("utf-8", "utf-16", "utf-16le", "ascii", "latin1", "gbk", "big5", "no-such");
    fc.assert(
      fc.property(fc.uint8Array(), charsets, (bytes, charset) => {
        try {
          expect(typeof decodeText(bytes, charset)).toBe("string");
        } catch (error) {
          expect((error as Error).message).toMatch(/not text in|not supported/);
        }
      }),
    );
  });
});

describe("a text body", () => {
  const send = routeParameters();

  it("is the string of a StringValue", async () => {
    expect((await send("text", "text/plain; charset=UTF-16", utf16(HEY, false))).body).toBe(HEY);
    expect((await send("text", "text/plain", "")).body).toBe("");
  });

  it("is the one string parameter among others", async () => {
    expect((await send("file", "text/plain", "Ada")).body).toEqual({ name: "Ada" });
  });

  it("is refused by a method with no or several string parameters", async () => {
    for (const method of ["all", "map"] as const) {
      const { status, body } = await send(method, "text/plain", "Ada");
      expect([status, body]).toMatchObject([415, { message: expect.stringContaining("one string parameter") }]);
    }
  });

  it("that is not in its charset has status 25", async () => {
    const { status, body } = await send("text", "text/plain", Uint8Array.of(0xff));
    expect([status, body]).toMatchObject([400, { status: 25, message: expect.stringContaining("not text in utf-8") }]);
  });
});

describe("text for a message whose only field is a message", () => {
  /** Sends text to a method whose request and response have one field, of a type in wrappers.proto. */
  async function send(wrapper: string, accept?: string): Promise<[status: number, body: string]> {
    const file = create(FileDescriptorProtoSchema, {
      name: "t.proto",
      package: "t",
      syntax: "proto3",
      dependency: ["google/protobuf/wrappers.proto"],
      messageType: [
        {
          name: "M",
          field: [
            {
              name: "value",
              jsonName: "value",
              number: 1,
              label: 1,
              type: 11,
              typeName: `.google.protobuf.${wrapper}`,
            },
          ],
        },
      ],
    });
    const registry = createFileRegistry(file, () => file_google_protobuf_wrappers.proto);
    const type = registry.getMessage("t.M") as DescMessage;
    const method = {
      kind: "unary",
      service: "t.S",
      name: "Echo",
      path: "/t.S/Echo",
      input: type,
      output: type,
    } as const;
    const def = { typeName: "t.S", methods: { echo: method } } as unknown as ServiceDef<object, { echo: unknown }>;
    const router = createRouter().add(def, { echo: (message: object) => message } as never, { bodies: EVERY_BODY });
    const headers = { "content-type": "text/plain", accept };
    const response = await router.exchange(rpcRequest({ path: "/t.S/Echo", headers, body: "Ada" }));
    return [response.status, await textOf(response)];
  }

  it("is the value of a StringValue", async () => {
    expect(await send("StringValue", "text/plain")).toEqual([200, "Ada"]);
  });

  it.each(["Int32Value", "BytesValue"])("is unsupported media for a %s", async (wrapper) => {
    const [status, body] = await send(wrapper);
    expect([status, JSON.parse(body)]).toEqual([
      415,
      expect.objectContaining({
        message: "text/plain is for methods with one string parameter, and t.M has none or several",
      }),
    ]);
  });
});
