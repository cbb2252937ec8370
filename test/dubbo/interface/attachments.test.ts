/** Attachments of Dubbo for Java: names with upper-case letters, values with types. */
import fc from "fast-check";
import { Metadata } from "triple-es";
import { attachments, readAttachments } from "triple-es-dubbo/java";
import { describe, expect, it } from "vitest";

describe("attachments", () => {
  it("are written as by Dubbo for Java", () => {
    const date = new Date(Date.UTC(2026, 10, 21, 16));
    const metadata = attachments({ userName: "Ada", key: Uint8Array.of(0xff), n: 1n, ok: true, date, none: undefined });
    expect([...metadata]).toEqual([
      ["username", "Ada"],
      ["key-bin", "/w"],
      ["n", "1"],
      ["ok", "true"],
      ["date", "Sat, 21 Nov 2026 16:00:00 GMT"],
      ["tri-header-convert", "%7B%22username%22%3A%22userName%22%7D"],
    ]);
  });

  it("are read as Dubbo for Java sends them, without fields of the protocol", () => {
    // Recorded from 3.3.6.
    const metadata = Metadata.fromRaw([
      ...["tri-consumer-appname", "interop-client", "timeout", "3000", "grpc-timeout", "3000000u"],
      ...["x-camelcase", "yes", "x-bytes-bin", "q83v/w", "content-type", "application/grpc"],
      ...["tri-header-convert", "%7B%22x-camelcase%22%3A%22x-camelCase%22%7D"],
    ]);
    expect({ ...readAttachments(metadata) }).toEqual({
      "x-camelCase": "yes",
      "x-bytes": Uint8Array.of(0xab, 0xcd, 0xef, 0xff),
    });
  });

  it.each(["%", "[]", "null", "%7B", '{"x-a":1}', '{"x-a":"something-else"}', '{"x-a":"__proto__"}'])(
    "keep their names if the list of original names is malformed: %s",
    (convert) => {
      const metadata = Metadata.fromRaw(["x-a", "1", "tri-header-convert", convert]);
      expect(Object.keys(readAttachments(metadata))).toEqual(["x-a"]);
    },
  );

  it("leave bytes that are not base64 as the text they are", () => {
    expect({ ...readAttachments(Metadata.fromRaw(["x-bin", "?"])) }).toEqual({ "x-bin": "?" });
  });

  it("survive a round trip", () => {
    const name = fc.stringMatching(/^x[a-zA-Z0-9_]{0,12}$/).filter((text) => !/bin$/i.test(text));
    const value = fc.oneof(fc.stringMatching(/^[!-~]{1,20}$/), fc.uint8Array({ minLength: 1 }));
    const distinct = fc.uniqueArray(fc.tuple(name, value), { selector: ([key]) => key.toLowerCase() });
    fc.assert(
      fc.property(distinct, (entries) => {
        const read = readAttachments(attachments(Object.fromEntries(entries)));
        const plain = Object.entries(read).map(([key, one]) => [key, typeof one === "string" ? one : [...one]]);
        const expected = entries.map(([key, one]) => [key, typeof one === "string" ? one : [...one]]);
        expect(Object.fromEntries(plain)).toEqual(Object.fromEntries(expected));
      }),
    );
  });
});
