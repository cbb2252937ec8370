/** Comments of proto files in generated JSDoc. */
import ts from "ts59";
import { describe, expect, it } from "vitest";
import { generate } from "./support/protos.ts";

/** The JSDoc of the client's method for an rpc with the given comment before and after it. */
function docOf(before: string, after = ""): string {
  const file = generate(`service S {\n${before}\nrpc R(M) returns (M);${after}\n}\nmessage M {}`);
  const end = file.indexOf("  r(request: MInit");
  return file.slice(file.lastIndexOf("  /**", end), end);
}

/** Returns the names of all tags that TypeScript finds in a file. */
function tagsIn(file: string): string[] {
  const source = ts.createSourceFile("a.ts", file, ts.ScriptTarget.Latest, true);
  const tags = new Set<string>();
  const visit = (node: ts.Node): void => {
    for (const tag of ts.getJSDocTags(node)) {
      tags.add(tag.tagName.text);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return [...tags];
}

describe("comments", () => {
  it("precede the origin, leading ones before trailing ones", () => {
    expect(docOf("// Before.\n//\n//   Indented.", " // After.")).toBe(`  /**
   * Before.
   *
   *   Indented.
   *
   * After.
   *
   * @generated from rpc a.v1.S.R
   */
`);
  });

  it("are written once at the client and once at the handler, and nowhere else", () => {
    const file = generate(
      "// Of the service.\nservice S {\n// Of the rpc.\nrpc R(M) returns (M) { option deprecated = true; }\n}\nmessage M {}",
      "target=ts,server_base=true,fakes=true",
    );
    for (const text of [
      "Of the service.",
      "Of the rpc.",
      "@generated from rpc a.v1.S.R",
      "@generated from service a.v1.S",
    ]) {
      expect(file.split(text), text).toHaveLength(3);
    }
    expect(file).toContain("\n/**\n * @deprecated\n */\nexport const S_r:");
    expect(file).toContain("\n};\n\nexport const SDef:");
  });

  it("lose surrounding blank lines and trailing spaces", () => {
    expect(docOf("//\n// Text.   \n// \t\n//")).toBe(
      "  /**\n   * Text.\n   *\n   * @generated from rpc a.v1.S.R\n   */\n",
    );
    expect(docOf("//\n//")).toBe("  /**\n   * @generated from rpc a.v1.S.R\n   */\n");
  });

  it("may be blocks, in the style of JSDoc too", () => {
    expect(docOf("/* One. */")).toContain("  /**\n   * One.\n   *\n");
    expect(docOf("/**\n * Two\n *   lines.\n */")).toContain("  /**\n   * Two\n   *   lines.\n   *\n");
    expect(docOf("// * a bullet")).toContain("  /**\n   * * a bullet\n");
  });

  it("cannot end the block they are printed in", () => {
    const file = generate("// */ export const x = 1; /*\nservice S {}");
    expect(file).toContain(" * *\\/ export const x = 1; /*\n");
    expect(file).not.toContain("*/ export const x");
  });

  it("hold no tags but ours", () => {
    const file = generate(`
      // @param one at the start
      // and @returns in the middle, a@b.example, (@see) and \`@code\`
      //   @deprecated after spaces
      service S {
        // @deprecated not really
        rpc R(M) returns (M);
      }
      message M {}`);
    expect(file).toContain(
      " * \\@param one at the start\n * and \\@returns in the middle, a@b.example, (@see) and `@code`\n",
    );
    expect(tagsIn(file)).toEqual(["generated"]);
  });

  it("lose what steers terminals and what reorders text", () => {
    const doc = docOf("// A\u202eB\u2066C\u2069D\u202aE\u009bF\u0085G\u007fH\u001b[2J, but \u200fשלום\u200e stays");
    expect(doc).toContain("   * ABCDEFGH[2J, but \u200fשלום\u200e stays\n");
    const preamble = generate("service S {}", "target=ts").split("/* eslint-disable */")[0];
    expect(preamble).not.toMatch(/[\u0080-\u009f\u202a-\u202e\u2066-\u2069]/);
  });

  it("break lines at Unicode line breaks", () => {
    expect(docOf("// One\u2028Two\u2029Three\rFour")).toContain("   * One\n   * Two\n   * Three\n   * Four\n");
  });
});
