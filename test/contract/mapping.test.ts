/**
 * The Java type of each TypeScript type, and its form in generated code.
 */
import { describe, expect, it } from "vitest";
import { java, read, stubs } from "./support/contracts.ts";

const imports = `import type { BigDecimal, BigInteger, byte, char, double, float, int, JavaArray, long, short } from "triple-es-dubbo/java";
`;
const declared = `
/** @class a.User */ export interface User { name: string }
/** @enum a.Color */ export type Color = "RED";
/** @class a.Page */ export interface Page<T> { items: T[] }
export type Names = string[];
type Hidden<T> = Map<string, T>;`;

/** Returns the type in the client, the descriptor and Java, as a parameter and as a result. */
function mapped(type: string): string[] {
  const reading = read({
    "a.ts": `${imports}/** @service a.S */ export interface S { m(a: ${type}): Promise<${type}> }${declared}`,
  });
  expect(reading.problems.filter((line) => line.includes("error"))).toEqual([]);
  const [{ text = "" } = {}] = stubs(reading);
  const [, parameter, result] = /m\(a: (.*), options\?: CallOptions\): Promise<(.*)>;/.exec(text) ?? [];
  const [, literal] = /\{ name: "a", type: (.*) \},/.exec(text) ?? [];
  const [, resultLiteral] = /\n {4}result: (.*),/.exec(text) ?? [];
  const source = java(reading).find(({ path }) => path === "a/S.java")?.text ?? "";
  const [, javaResult, javaParameter] = /^ {4}(.*) m\((.*) a\);/m.exec(source) ?? [];
  expect([result, resultLiteral, javaResult]).toEqual([parameter, literal, javaParameter]);
  return [parameter ?? "", literal ?? "", javaParameter ?? ""];
}

describe("a type", () => {
  it.each([
    ["string", '"java.lang.String"', "String"],
    ["boolean", '"boolean"', "boolean"],
    ["boolean | null", '"java.lang.Boolean"', "Boolean"],
    ["double", '"double"', "double"],
    ["double | null", '"java.lang.Double"', "Double"],
    ["float", '"float"', "float"],
    ["byte", '"byte"', "byte"],
    ["short | null", '"java.lang.Short"', "Short"],
    ["int", '"int"', "int"],
    ["int | null", '"java.lang.Integer"', "Integer"],
    ["long", '"long"', "long"],
    ["bigint", '"long"', "long"],
    ["bigint | null", '"java.lang.Long"', "Long"],
    ["char", '"char"', "char"],
    ["char | null", '"java.lang.Character"', "Character"],
    ["BigDecimal", '"java.math.BigDecimal"', "BigDecimal"],
    ["BigInteger | null", '"java.math.BigInteger"', "BigInteger"],
    ["Date", '"java.util.Date"', "Date"],
    ["Uint8Array", '"[B"', "byte[]"],
    ["unknown", '"java.lang.Object"', "Object"],
    ["int[]", '{ list: "java.lang.Integer" }', "List<Integer>"],
    ["readonly string[]", '{ list: "java.lang.String" }', "List<String>"],
    ["(readonly string[])[]", '{ list: { list: "java.lang.String" } }', "List<List<String>>"],
    ["(int | null)[]", '{ list: "java.lang.Integer" }', "List<Integer>"],
    ["Array<Date>", '{ list: "java.util.Date" }', "List<Date>"],
    ["ReadonlyArray<boolean>", '{ list: "java.lang.Boolean" }', "List<Boolean>"],
    ["JavaArray<int>", '{ array: "int" }', "int[]"],
    ["JavaArray<JavaArray<string>>", '{ array: { array: "java.lang.String" } }', "String[][]"],
    ["JavaArray<int | null>", '{ array: "java.lang.Integer" }', "Integer[]"],
    ["Set<long>", '{ set: "java.lang.Long" }', "Set<Long>"],
    ["ReadonlySet<User>", "{ set: { class: () => UserClass } }", "Set<User>"],
    ["Map<int, boolean>", '{ map: ["java.lang.Integer", "java.lang.Boolean"] }', "Map<Integer, Boolean>"],
    ["ReadonlyMap<Color, Uint8Array>", '{ map: [{ enum: ColorEnum }, "[B"] }', "Map<Color, byte[]>"],
    ["Record<string, int>", '{ map: ["java.lang.String", "java.lang.Integer"], record: true }', "Map<String, Integer>"],
    ["User", "{ class: () => UserClass }", "User"],
    ["User | null", "{ class: () => UserClass }", "User"],
    ["Color", "{ enum: ColorEnum }", "Color"],
    ["Page<User>", "{ class: () => Page_UserClass }", "Page<User>"],
    ["Page<int>", "{ class: () => Page_IntegerClass }", "Page<Integer>"],
    ["Page<Page<Color>[]>", "{ class: () => Page_list_Page_ColorClass }", "Page<List<Page<Color>>>"],
    ["Names", '{ list: "java.lang.String" }', "List<String>"],
  ])("%s is %s, in Java %s", (type, literal, inJava) => {
    expect(mapped(type)).toEqual([type, literal, inJava]);
  });

  it.each([
    ["number", "number", '"double"', "double"],
    ["any", "unknown", '"java.lang.Object"', "Object"],
    ["(string)", "string", '"java.lang.String"', "String"],
    [
      "{ [k: string]: int }",
      "Record<string, int>",
      '{ map: ["java.lang.String", "java.lang.Integer"], record: true }',
      "Map<String, Integer>",
    ],
    ["Hidden<long>", "Map<string, long>", '{ map: ["java.lang.String", "java.lang.Long"] }', "Map<String, Long>"],
    ["globalThis.Date", "Date", '"java.util.Date"', "Date"],
  ])("%s is written %s", (type, ...expected) => {
    expect(mapped(type)).toEqual(expected);
  });
});

describe("a name", () => {
  const service = "/** @service a.S */ export interface S { m(): Promise<T> }";

  it("may be imported under another name, and through other files", () => {
    const reading = read(
      { "c/a.ts": `import { U as T } from "./b.js";\n${service}` },
      {
        "c/b.ts": 'export { V as U } from "./d";\nexport * from "./e";',
        "c/d.ts": 'import type { int as V } from "triple-es-dubbo/java";\nexport type { V };',
        "c/e.ts": "export type Other = string;",
      },
    );
    expect(reading.problems).toEqual([]);
    expect(stubs(reading)[0]?.text).toContain('result: "int"');
  });

  it("may be that of a module", () => {
    const text = 'import type * as java from "triple-es-dubbo/java";\nimport * as own from "./b.js";\n';
    const contract = "/** @service a.S */ export interface S { m(a: java.JavaArray<java.int>): Promise<own.T> }";
    const reading = read({ "a.ts": text + contract }, { "b.ts": "/** @class a.T */ export interface T { b: string }" });
    expect(reading.problems).toEqual([]);
    expect(stubs(reading)[0]?.text).toContain("m(a: JavaArray<int>, options?: CallOptions): Promise<T>;");
  });

  it("is imported from the package that declares the type", () => {
    const reading = read(
      { "a.ts": `import type { T } from "@acme/types";\n${service}` },
      {
        "node_modules/@acme/types/package.json": '{ "name": "@acme/types", "types": "index.d.ts" }',
        "node_modules/@acme/types/index.d.ts": 'export { User as T } from "./user.js";',
        "node_modules/@acme/types/user.d.ts":
          "/** @class acme.User */\ninterface User { name: string }\nexport { User };",
      },
    );
    expect(reading.problems).toEqual([]);
    const [{ text = "" } = {}] = stubs(reading);
    expect(text).toContain('import type { T } from "@acme/types";');
    expect(text).toMatch(/\nconst UserClass: JavaClass = \{\n {2}name: "acme.User",/);
  });

  it("may be exported at the end of its file, under another name", () => {
    const reading = read({
      "a.ts": `${service}\n/** @class a.T */\ninterface T { name: string }\nexport type { T as Thing };`,
    });
    expect(stubs(reading)[0]?.text).toContain('import type { Thing } from "../a.js";');
  });
});

it("a list of exports names each type as other files import it", () => {
  const reading = read({
    "a.ts": `/** @service a.S */ export interface S { m(): Promise<T> }\n/** @class a.T */ interface T { a: string }
type U = string;\nexport { type U as V, type T as W };`,
  });
  expect(reading.problems).toEqual([]);
  expect(stubs(reading)[0]?.text).toContain('import type { W } from "../a.js";');
});

describe("the default export of a file", () => {
  const thing = "/** @class a.T */\n";
  const service = "/** @service a.S */ export interface S { m(): Promise<T> }\n";
  it.each([
    ["at the end", { "a.ts": `${service}${thing}interface T { a: string }\nexport { type T as default };` }, "../a.js"],
    ["where it is declared", { "a.ts": `${service}${thing}export default interface T { a: string }` }, "../a.js"],
    [
      "in another file",
      { "a.ts": `import T from "./b.js";\n${service}`, "b.ts": `${thing}export default interface T { a: string }` },
      "../b.js",
    ],
    [
      "of a package",
      {
        "a.ts": `import type { default as T } from "acme";\n${service}`,
        "node_modules/acme/package.json": '{ "name": "acme", "types": "index.d.ts" }',
        "node_modules/acme/index.d.ts": `${thing}export default interface T { a: string }`,
      },
      "acme",
    ],
  ])("%s is imported under the name it has there", (_, { "a.ts": text, ...others }, from) => {
    const reading = read({ "a.ts": text }, others);
    expect(reading.problems).toEqual([]);
    expect(stubs(reading)[0]?.text).toContain(`import type { default as T } from "${from}";`);
    expect(stubs(reading)[0]?.text).toContain("m(options?: CallOptions): Promise<T>;");
  });
});

it("an omitted type argument has its default, on the wire and in Java", () => {
  const reading = read({
    "a.ts": `${imports}/** @service a.S */ export interface S { m(a: Sub, b: Base): void }
/** @class a.Base */ export interface Base<T = int> { value: T }
/** @class a.Sub */ export interface Sub extends Base, Plain { n: string }
interface Plain<V = long[]> { plain: V }`,
  });
  expect(reading.problems).toEqual([]);
  const [{ text = "" } = {}] = stubs(reading);
  expect(text).toMatch(
    /SubClass: JavaClass = \{[^}]*value: "java.lang.Integer",\s+plain: \{ list: "java.lang.Long" \}/,
  );
  expect(text).toContain("b: Base<int>, options?");
  expect(java(reading).find(({ path }) => path === "a/Sub.java")?.text).toContain("class Sub extends Base<Integer>");
});

describe("generated code", () => {
  const contract = {
    "deep/er/a.ts": `import type { B, E } from "../b.js";\n/** @service a.S */ export interface S { m(b: B): Promise<E> }`,
    "deep/b.ts": `/** @class a.B */ export interface B { e: E }\n/** @enum a.E */ export type E = "X";`,
  };

  it("imports classes from the adjacent file that describes them, and describes enums itself", () => {
    const [b, a] = stubs(read(contract));
    expect([a?.path, b?.path]).toEqual(["deep/er/a_triple.ts", "deep/b_triple.ts"]);
    expect(a?.text).toContain('import { BClass } from "../b_triple.js";');
    expect(a?.text).toContain('import type { B, E } from "../../../deep/b.js";');
    expect(a?.text).toContain("\nconst EEnum: JavaEnum");
    expect(b?.text).toContain("\nexport const EEnum: JavaEnum");
  });

  it("is JavaScript and declarations of the same things", () => {
    const reading = read(contract);
    const [, js] = stubs(reading, "js");
    expect(js?.path).toBe("deep/er/a_triple.js");
    expect(js?.text).not.toMatch(/^export interface|: Java|import type/m);
    const [, dts] = stubs(reading, "dts");
    expect(dts?.path).toBe("deep/er/a_triple.d.ts");
    expect(dts?.text).toContain("export declare const SDef: ServiceDef<SClient, SHandler>;");
    expect(dts?.text).not.toContain("EEnum");
  });

  it("does not depend on the order of files", () => {
    const reversed = Object.fromEntries(Object.entries(contract).reverse());
    expect(stubs(read(reversed))).toEqual(stubs(read(contract)));
  });

  it("does not let a comment or a string become code", () => {
    const reading = read({
      "a.ts":
        '/**\n * Ends *\\/ here: //# sourceMappingURL=x\n * @service a.S\n * @group "</script>\n */\nexport interface S { }',
    });
    const [{ text = "" } = {}] = stubs(reading);
    expect(text).toContain(" * Ends *\\/ here: //# \\sourceMappingURL=x");
    expect(text).toContain(String.raw`group: "\"<\u002fscript>"`);
  });
});
