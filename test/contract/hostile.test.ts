/** For any comments, tags and names in a contract, the output contains only declarations. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { foreignShapes } from "../plugin/support/shapes.ts";
import { java, type Reading, read, stubs } from "./support/contracts.ts";

/** Texts with a meaning for a compiler, a debugger or a browser. */
const pieces = fc.constantFrom(
  ...["*\\/", "//", "/*", "`${", '"', "'", "\\", "\\u002a/", "</script>", "<!--", "\u2028", "\r", "\n", "\u0000", "\t"],
  ...[
    "//# sourceMappingURL=x",
    "/// <reference path='x' />",
    "// @ts-nocheck",
    "@class a.X",
    "@enum",
    "@method",
    "@throws a.X$Y",
    "{@link",
  ],
);
const text = fc
  .array(fc.oneof(pieces, fc.string({ unit: "binary" })), { maxLength: 6 })
  .map((parts) => parts.join("").replaceAll("*/", "* /"));

/** Returns the part of a text that can be the value of a tag. */
const word = (text = ""): string => text.replace(/[^!-~]/g, "");

const types = fc.letrec<{ type: string }>((tie) => ({
  type: fc.oneof(
    { depthSize: "small" },
    fc.constantFrom("string", "int", "long | null", "D", "E", "G<D>", "unknown", "Uint8Array", "Date | undefined"),
    tie("type").map((of) => `(${of})[]`),
    tie("type").map((of) => `Map<string, ${of}>`),
    tie("type").map((of) => `Record<string, ${of}>`),
    tie("type").map((of) => `G<${of}>`),
  ),
})).type;
const name = fc.stringMatching(/^[A-Za-z_$][\w$]{0,8}$/);

const contract = fc
  .record({
    texts: fc.array(text, { minLength: 6, maxLength: 6 }),
    names: fc.uniqueArray(name, { minLength: 4, maxLength: 4 }),
    types: fc.array(types, { minLength: 3, maxLength: 3 }),
  })
  .map(({ texts: [a, b, c, d, e, f], names: [method, parameter, field, other], types: [one, two, three] }) =>
    [
      'import type { int, long } from "triple-es-dubbo/java";',
      `/**\n * ${a}\n * @service a.S\n * @group x${word(b)}\n * @serialization x${word(c)}\n */`,
      "export interface S {",
      `  /**\n   * ${d}\n   * @param x ${e}\n   * @deprecated ${f}\n   */`,
      `  ${method}(${parameter}: ${one}, y: ${two}): Promise<${three}>;`,
      `  /** @method x${other} */\n  m$(): void;`,
      "}",
      `/**\n * ${c}\n * @class a.D */\nexport interface D { ${field}: ${two}; ${other}?: ${three} }`,
      `/**\n * ${d}\n * @enum a.E */\nexport type E = "A" | "B";`,
      "/** @class a.G */\nexport interface G<T> { of: T; more: G<T> | null }",
    ].join("\n"),
  );

/** A sample of what `npm run campaign` runs. */
const numRuns = Number(process.env["RANDOM_CONTRACTS"] ?? 25);
const seed = Number(process.env["RANDOM_SEED"] ?? 20261121);

describe("a contract of anything", () => {
  it("is refused with places, or becomes declarations alone", () => {
    let understood = 0;
    fc.assert(
      fc.property(contract, (source) => {
        const reading = read({ "a.ts": source });
        for (const line of reading.problems) expect(line).toMatch(/^a\.ts:\d+:\d+: (?:error|warning): ./);
        if (reading.problems.some((line) => line.includes(": error: "))) return;
        understood += 1;
        expectDeclarations(reading);
      }),
      { numRuns, seed },
    );
    expect(understood).toBeGreaterThan(numRuns / 2);
  });
});

function expectDeclarations(reading: Reading): void {
  for (const target of ["ts", "js", "dts"] as const) {
    for (const { path, text: printed } of stubs(reading, target))
      expect(foreignShapes(path.replace("/", "-"), printed)).toEqual([]);
  }
  for (const { text: printed } of java(reading)) {
    // In Java, a comment ends at the first end marker, and \u is decoded before everything else.
    const code = printed.replace(/\/\*\*[\s\S]*?\*\//g, "").replace(/^\/\/.*$/gm, "");
    expect(code).not.toMatch(/[*\\"'`#]/);
    expect(printed).not.toContain("\\u");
  }
}
