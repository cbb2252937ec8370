import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { chooseMediaType, parseMediaType, qualityOf } from "../../runtime/src/http-rpc/media-type.ts";

const taken = (contentType: string): unknown => {
  const mediaType = parseMediaType(contentType);
  return mediaType && [mediaType.name, Object.fromEntries(mediaType.parameters)];
};

describe("a content type", () => {
  it.each<[string, string, Record<string, string>]>([
    ["application/json", "application/json", {}],
    ["Application/JSON", "application/json", {}],
    [" text/plain ;charset=UTF-8", "text/plain", { charset: "UTF-8" }],
    ['text/plain; Charset="utf-8"', "text/plain", { charset: "utf-8" }],
    ['multipart/form-data; boundary="a b\\"c"', "multipart/form-data", { boundary: 'a b"c' }],
    ["text/plain;", "text/plain", {}],
    ["text/plain; ; charset=x ;", "text/plain", { charset: "x" }],
    ["text/plain; charset = x", "text/plain", { charset: "x" }],
    ["text/plain; charset=a; charset=b", "text/plain", { charset: "a" }],
    ["application/json; __proto__=x", "application/json", Object.fromEntries([["__proto__", "x"]])],
  ])("%j is taken apart", (contentType, name, parameters) => {
    expect(taken(contentType)).toEqual([name, parameters]);
  });

  it.each([
    "",
    "json",
    "application/",
    "/json",
    "a/b/c",
    "a b/c",
    "text/plain; charset",
    'text/plain; a="b',
    "a/b; =c",
  ])("%j is invalid", (contentType) => {
    expect(parseMediaType(contentType)).toBeUndefined();
  });

  it("is parsed or refused, in linear time", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'ab/;="\\ ,\t*'), maxLength: 200 }), (rest) => {
        const mediaType = parseMediaType(`text/plain${rest}`);
        if (mediaType !== undefined) expect(mediaType.name).toMatch(/^text\/plain[ab*]*$/);
      }),
    );
    for (const hostile of [";".repeat(900), " ".repeat(900), `;a="${"\\".repeat(900)}`, ";a".repeat(450)]) {
      parseMediaType(`text/plain${hostile}x`);
    }
  });

  it("survives a round trip", () => {
    const token = fc.stringMatching(/^[a-z0-9-]{1,10}$/);
    const value = fc.string({ maxLength: 20 }).map((text) => text.replaceAll(/[^ -~]/g, "x"));
    fc.assert(
      fc.property(token, token, fc.dictionary(token, value, { maxKeys: 4 }), (type, subtype, parameters) => {
        const written = Object.entries(parameters).map(
          ([name, text]) => `; ${name}="${text.replaceAll(/["\\]/g, (character) => `\\${character}`)}"`,
        );
        expect(taken(`${type}/${subtype}${written.join("")}`)).toEqual([`${type}/${subtype}`, parameters]);
      }),
    );
  });
});

describe("accept", () => {
  it.each([
    ["application/json", "application/json", 1],
    ["application/json;q=0.5", "application/json", 0.5],
    ["application/json; q=0", "application/json", 0],
    ["text/html, */*;q=0.8", "application/json", 0.8],
    ["*/*;q=0.8, application/*;q=0.3", "application/json", 0.3],
    ["application/json;q=0, */*", "application/json", 0],
    ["APPLICATION/JSON", "application/json", 1],
    ["application/json;version=1;q=0.2", "application/json", 0.2],
    ["application/x-protobuf", "application/proto", 0],
    ["text/*", "application/json", 0],
    ["application/json;q=2, application/*;q=0.1", "application/json", 0.1],
    ["application/json;q=x", "application/json", 0],
    ["", "application/json", 0],
    ["*", "application/json", 1],
    ["text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2", "application/json", 0.2],
    ["application/json;q=.", "application/json", 0],
  ])("%j accepts %s with the quality %d", (accept, mediaType, quality) => {
    expect(qualityOf(accept, mediaType)).toBe(quality);
  });

  it("is read up to eight parameters of an item, so that thousands of them cost nothing", () => {
    const parameters = (count: number) => ";a=1".repeat(count);
    expect(qualityOf(`application/json${parameters(7)};q=0.2`, "application/json")).toBe(0.2);
    expect(qualityOf(`application/json${parameters(8)};q=0.2`, "application/json")).toBe(1);
  });

  it("is served with the type it prefers, and of equal ones with the first", () => {
    const types = ["application/json", "application/proto"];
    expect(chooseMediaType("application/proto, application/json;q=0.9", types)).toBe("application/proto");
    expect(chooseMediaType("application/*", types)).toBe("application/json");
    expect(chooseMediaType("text/html", types)).toBeUndefined();
  });

  it("has qualities from 0 to 1 for any text", () => {
    const item = fc.constantFrom("*/*", "a/*", "a/b", "q", ";q=0.5", ";q=9", ";q=-1", ",", ";", "=", " ");
    fc.assert(
      fc.property(fc.array(item, { maxLength: 100 }), (items) => {
        const quality = qualityOf(items.join(""), "a/b");
        expect(quality).toBeGreaterThanOrEqual(0);
        expect(quality).toBeLessThanOrEqual(1);
      }),
    );
  });
});
