/** Large JSON text is parsed in parts, with the same values and errors as by `JSON.parse`. */
import fc from "fast-check";
import { Code } from "triple-es";
import { describe, expect, it } from "vitest";
import { parseJsonInSteps } from "../../runtime/src/codec/json-text.ts";
import { DecodeBudget } from "../../runtime/src/codec/memory.ts";

const UNLIMITED = new DecodeBudget(Number.POSITIVE_INFINITY);

const MIB = 1024 * 1024;
const encode = (text: string): Uint8Array => new TextEncoder().encode(text);
const parse = (text: string, partBytes: number): Promise<unknown> =>
  parseJsonInSteps(encode(text), UNLIMITED, partBytes);

/** Returns the result of `JSON.parse`: the value with the order of its keys, or an error. */
const expected = (text: string): string => {
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    return "refused";
  }
};
const actual = (text: string, partBytes: number): Promise<string> =>
  parse(text, partBytes).then(
    (value) => JSON.stringify(value),
    (error: unknown) => {
      expect(error).toBeInstanceOf(SyntaxError);
      return "refused";
    },
  );

/** JSON text with white space between its tokens. */
const text = fc
  .tuple(fc.jsonValue({ maxDepth: 6 }), fc.constantFrom(0, 1, 3))
  .map(([value, space]) => JSON.stringify(value, null, space));

describe("JSON text in parts", () => {
  it("has the same value as in one part, for any size of parts", async () => {
    await fc.assert(
      fc.asyncProperty(text, fc.constantFrom(1, 2, 5, 20, 1_000), async (one, partBytes) => {
        expect(await actual(one, partBytes)).toBe(expected(one));
      }),
      { numRuns: 500 },
    );
  });

  it("is refused if a byte is changed so that it is not JSON, and else has the changed value", async () => {
    const byte = fc.constantFrom(...'[]{}:," \\1aé-.e\n'.split(""), "");
    await fc.assert(
      fc.asyncProperty(text, fc.nat(), byte, fc.constantFrom(1, 3, 30), async (one, place, replacement, partBytes) => {
        const at = place % (one.length + 1);
        const changed = one.slice(0, at) + replacement + one.slice(at + 1);
        expect(await actual(changed, partBytes)).toBe(expected(changed));
      }),
      { numRuns: 2_000 },
    );
  });

  it("does not pass long plain strings to JSON.parse, which would copy them twice", async () => {
    const base64 = "QUJD".repeat(20_000);
    const parsed: number[] = [];
    const parseText = (part: string) => {
      parsed.push(part.length);
      return JSON.parse(part);
    };
    const other = { [base64]: 1, escaped: `${base64}"`, accented: `${base64}é` };
    const value = [{ name: "a.png", data: base64, list: [base64, base64], last: 1 }, base64];
    for (const one of [value, value[0], base64]) {
      expect(await parseJsonInSteps(encode(JSON.stringify(one)), UNLIMITED, undefined, parseText)).toEqual(one);
    }
    expect(Math.max(...parsed)).toBeLessThan(100);
    expect(await parseJsonInSteps(encode(JSON.stringify(other)), UNLIMITED, undefined, parseText)).toEqual(other);
  });

  it.each([
    `{"${"a".repeat(40)}"}`,
    `["${"a".repeat(40)}":1]`,
    `{"a":"${"a".repeat(40)}" "b":1}`,
    `{"a":"${"a".repeat(40)}",}`,
    `{"a" "${"a".repeat(40)}"}`,
    `"${"a".repeat(40)}" 1`,
    `["${"a".repeat(40)}\u0001"]`,
    "[1,2,,3]",
    "[1,2,3,]",
    "[,1,2,3]",
    "[[1,2],]",
    "[[1,2][3,4]]",
    "[[1,2] 3]",
    "[3 [1,2]]",
    "[1,2}",
    '{"a":[1,2],}',
    '{"a" [1,2]}',
    "{[1,2]}",
    "{1:[1,2]}",
    '{"a":"b":[1,2]}',
    '{,"a":[1,2]}',
    '{"a":[1,2] "b":1}',
    '["a":[1,2]]',
    "[1,2] 3",
    "[1,2]]",
    "[1,2",
    '["a',
    '["a\\"]',
    "",
    "   ",
    "[1,\ufeff2]",
    "[1,2]\ufeff",
  ])("%j is refused, as by JSON.parse", async (one) => {
    expect(expected(one)).toBe("refused");
    for (const partBytes of [1, 2, 4, 100]) expect(await actual(one, partBytes)).toBe("refused");
  });

  it.each([
    '{"__proto__":{"a":[1,2,3]},"b":1}',
    '{"a":1,"b":2,"a":[3,4]}',
    '{"2":1,"1":[2,3]}',
    "[   ]",
    "{  }",
    " [[ ]] ",
  ])("%j has the same members as with JSON.parse", async (one) => {
    for (const partBytes of [1, 2, 100]) {
      const value = await parse(one, partBytes);
      expect(JSON.stringify(value)).toBe(expected(one));
      expect(Object.getPrototypeOf(value)).toBe(Object.getPrototypeOf(JSON.parse(one)));
    }
  });

  it("may begin with a byte order mark, and must be UTF-8", async () => {
    expect(await parse('\ufeff["é",2]', 1)).toEqual(["é", 2]);
    const bytes = Uint8Array.of(0x5b, 0x22, 0xff, 0x22, 0x2c, 0x31, 0x5d);
    await expect(parseJsonInSteps(bytes, new DecodeBudget(1_000), 1)).rejects.toThrow(TypeError);
  });

  it("is refused beyond 100 levels", async () => {
    await expect(parse("[".repeat(101) + "]".repeat(101), 10)).rejects.toThrow("nested more than 100 levels deep");
    expect(JSON.stringify(await parse("[".repeat(100) + "]".repeat(100), 10))).toHaveLength(200);
  });

  it("is refused before it is parsed if its values would exceed the memory limit", async () => {
    const refused = parseJsonInSteps(encode(`[${"{},".repeat(MIB)}{}]`), new DecodeBudget(16 * MIB));
    await expect(refused).rejects.toMatchObject({ code: Code.ResourceExhausted });
  });

  it.each([
    [
      "objects with a key of their own each",
      `[${Array.from({ length: 330_000 }, (_, i) => `{"${i.toString(36)}":0}`).join(",")}]`,
    ],
    ["an object of many keys", `{${Array.from({ length: 480_000 }, (_, i) => `"${i.toString(36)}":0`).join(",")}}`],
  ])("leaves the event loop its turns with 4 MiB of %s", async (_, one) => {
    const bytes = encode(one);
    let turns = 0;
    const counting = setInterval(() => turns++, 0);
    await parseJsonInSteps(bytes, UNLIMITED);
    clearInterval(counting);
    expect(turns).toBeGreaterThan(1);
  });
});
