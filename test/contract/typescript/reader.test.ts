// biome-ignore-all lint/suspicious/noTemplateCurlyInString: types of TypeScript
/** The reader of contracts in TypeScript: the types that it reads, and an error with a position for each other one. */
import { describe, expect, it } from "vitest";
import { Problems } from "../../../src/contract/model/diagnostics.ts";
import { openTypedProject } from "../../../src/contract/typescript/contract-command.ts";
import { serviceFile } from "../../../src/contract/typescript/service-file.ts";
import { readTypeScriptContracts } from "../../../src/contract/typescript/service-reader.ts";
import type { TypeScriptContract } from "../../../src/contract/typescript/wire-type.ts";

interface Reading {
  readonly contracts: readonly TypeScriptContract[];
  readonly problems: readonly string[];
}

/** The project of all readings, so that the declarations of the language are parsed once. */
const project = openTypedProject(undefined, { useInMemoryFileSystem: true });

/** Reads the contract `a.ts`. Other files are only imported. Ends the last reading. */
function read(text: string, others: Record<string, string> = {}): Reading {
  for (const file of project.getSourceFiles()) project.removeSourceFile(file);
  for (const [path, content] of Object.entries(others)) project.createSourceFile(`/${path}`, content);
  const problems = new Problems("/");
  const contracts = readTypeScriptContracts([project.createSourceFile("/a.ts", text)], problems);
  return { contracts, problems: problems.lines() };
}

/** Returns the printed code for the parameter type of a method. */
function codeOf(type: string, declarations = "", others: Record<string, string> = {}): string {
  const { contracts, problems } = read(`${declarations}\nexport interface S { m(it: ${type}): Promise<void> }`, others);
  expect(problems).toEqual([]);
  const [contract] = contracts;
  const { text } = serviceFile(contract as TypeScriptContract, "a_triple.ts", { out: "/", importExtension: "js" });
  const from = Math.max(text.indexOf("\nconst convert"), 0) || text.indexOf('t.message("it"');
  return text
    .slice(from, text.indexOf("\n    t.nothing"))
    .replaceAll(/\n(?:export const S_m(?:.*\n)*? {2}payload.*\n)?/g, "\n")
    .trim();
}

describe("a type", () => {
  it.each([
    ["an enum", "E", 'export enum E { A = "a", B = "b" }', 't.oneOf(value, key, at, ["a", "b"])'],
    ["a numeric enum", "E", "export enum E { A, B = 5 }", "t.oneOf(value, key, at, [0, 5])"],
    ["an alias of a primitive type", "{ a: Id }", "export type Id = string;", 'a: t.string(fields["a"], "a", at)'],
    [
      "a brand",
      "{ a: Id[] }",
      "/** @minLength 2 */\nexport type Id = string & { readonly id: unique symbol };",
      "t.string(value, key, at, { min: 2 })",
    ],
    [
      "a mapped type",
      'Pick<P, "b">',
      "export interface P { a: string; b?: number }",
      '...t.optional(fields["b"], "b", at, t.number)',
    ],
    ["an intersection", "P & { c: null }", "export interface P { a: Date }", 'a: t.date(fields["a"], "a", at),'],
    [
      "inherited fields",
      "Q",
      "export interface P { a: Date }\nexport interface Q extends P { b: bigint }",
      'a: t.date(fields["a"], "a", at),',
    ],
    ["a class with fields", "P", "export class P { a!: boolean }", 'a: t.boolean(fields["a"], "a", at),'],
    [
      "a generic type of a generic type",
      "Page<Page<string>>",
      "export interface Page<T> { items: T[] }",
      "const convertPagePageString",
    ],
    [
      "a union of constants and their alias",
      '"x" | E',
      'export type E = "y" | "z";',
      't.oneOf(value, key, at, ["x", "y", "z"])',
    ],
    ["a union of unions with tags", "A | B", "export type A = { t: 1 } | { t: 2 };\nexport type B = { t: 3 };", "[3, "],
    [
      "a union of which one member is absent",
      "{ a: string | undefined }",
      "",
      '...t.optional(fields["a"], "a", at, t.string)',
    ],
    [
      "a union of generic objects",
      'E<"x", Date> | E<"y", bigint>',
      "export interface E<K, V> { kind: K; value: V }",
      '["x", convertEXDate],',
    ],
    [
      "a union of a mapped type",
      "E",
      "export interface M { x: Date; y: bigint }\nexport type E = { [K in keyof M]: { kind: K; value: M[K] } }[keyof M];",
      't.tagged(value, key, at, "kind", [\n  ["x", ',
    ],
    [
      "a union of objects without a field",
      'Omit<A, "x"> | Omit<B, "x">',
      'export interface A { kind: "a"; x: number }\nexport interface B { kind: "b"; x: number }',
      '["b", ',
    ],
    [
      "a union of objects, of which one has several constants",
      "A | B",
      'export interface A { kind: "a" | "b" }\nexport interface B { kind: "c" }',
      '["b", convertA],',
    ],
    ["a brand of a date", 'Date & { readonly id: "due" }', "", "t.date"],
    ["a map whose keys have a brand", "Map<Id, number>", 'export type Id = string & { readonly id: "id" };', "t.map("],
    ["an object without fields", "{}", "", "t.object(value, key, at, () => ({}))"],
    [
      "a generic union",
      "M<Date>",
      "export type M<T> = T | null;\nexport interface X { a: M<bigint> }",
      "t.isNull(value, at) ? null : t.date(value, key, at)",
    ],
    ["a record of constants", 'Record<"a" | "b", number>', "", 'b: t.number(fields["b"], "b", at),'],
    ["a brand of constants", '("x" | "y") & { readonly id: 1 }', "", 't.oneOf(value, key, at, ["x", "y"])'],
    ["constants that editors suggest", '"x" | "y" | (string & {})', "", 't.message("it", t.string)'],
    ["a field that is never present", "{ a?: never; b?: undefined }", "", "t.object(value, key, at, () => ({}))"],
    [
      "a union of a type and the type around it",
      "N",
      "export interface N { n: N | string; m: N | number }",
      "{ object: convertN, string: t.string }",
    ],
    [
      "a mapped type that contains itself",
      "D",
      "export interface D { d?: Readonly<D>; e: Map<string, Readonly<D>> }",
      't.map(fields["e"], "e", at, convertReadonlyD),',
    ],
    [
      "an alias of a union that contains itself",
      "A",
      'export type A = { k: "a"; a?: A } | { k: "b"; a: A | null };',
      'a: t.isNull(fields["a"], at) ? null : convertA(fields["a"], "a", at),',
    ],
    ["a template", "{ a: `T-${number}` }", "", "pattern: /^T-"],
    [
      "a template of strings",
      "`${string}/${string}.x`",
      "",
      '{ pattern: /^[^/]*\\/[\\s\\S]*\\.x$/u, format: "`${string}/${string}.x`" }',
    ],
    ["templates and a constant", '`a${string}` | "b"', "", "pattern: /^a[\\s\\S]*$|^(?:b)$/u"],
    [
      "a record whose keys have a brand",
      "Record<Id, 1>",
      'export type Id = string & { readonly id: "id" };',
      "t.record(",
    ],
    ["a record whose keys are numbers", "Record<number, 1>", "", ", t.INTEGER)"],
    ["a record whose keys are templates", "{ [key: `x-${string}`]: 1 }", "", ", /^x-[\\s\\S]*$/u)"],
    ["a record whose keys have a pattern", "Record<Id, 1>", "/** @pattern ^a */\nexport type Id = string;", ", /^a/u)"],
    [
      "an interface whose keys have a pattern",
      "Readonly<R>",
      "/** @pattern ^a */\nexport type Id = string;\nexport interface R { [key: Id]: 1 }",
      ", /^a/u)",
    ],
    [
      "a mapped type whose keys have a pattern",
      "{ [K in Id]: 1 }",
      "/** @pattern ^a */\nexport type Id = string;",
      ", /^a/u)",
    ],
    [
      "a readonly list of an alias with a tag",
      "Readonly<Id[]>",
      "/** @minLength 2 */\nexport type Id = string;",
      "{ min: 2 }",
    ],
    [
      "a map that contains itself",
      "M",
      "export type M = Map<string, M | string>;",
      "t.map(value, key, at, (value, key, at) => t.union(value, key, at, { object: convertM, string: t.string },",
    ],
    ["a template with a brand", "`u-${Id}`", 'export type Id = string & { readonly id: "id" };', 'format: "`u-${Id}`"'],
    ["a map whose keys are constants", "Map<K, 1>", 'export type K = "a.b" | "c";', ", /^(?:a\\.b|c)$/u)"],
    ["a record without fields", "Record<string, never>", "", "t.object(value, key, at, () => ({}))"],
    ["a member of an enum", "{ a: E.A }", "export enum E { A = 5, B = 6 }", 't.oneOf(fields["a"], "a", at, [5])'],
  ])("is read from %s", (_, type, declarations, code) => {
    expect(codeOf(type, declarations)).toContain(code);
  });

  it("is imported from the file that declares it, under its name there", () => {
    const { contracts } = read(
      'import { type Item as Thing } from "./b.js";\nimport C from "./b.js";\nexport interface S { m(it: Thing): AsyncIterable<C[]> }',
      {
        "b.ts": "export interface Item { a: string }\nexport default interface Other { b: string }",
      },
    );
    const { text } = serviceFile(contracts[0] as TypeScriptContract, "gen/a_triple.ts", {
      out: "/gen",
      importExtension: "js",
    });
    expect(text).toContain('import type { Item, default as Other } from "../../b.js";');
    expect(text).toContain("m(it: Item, options?: CallOptions): AsyncIterable<Other[]>;");
  });
});

it("a type of a package is imported as the contract imports it", () => {
  const { contracts, problems } = read(
    'import P, { type R } from "p";\nimport * as p from "p";\nexport interface S { a(it: P): Promise<p.Q>; b(it: R[]): Promise<void> }',
    {
      "node_modules/p/index.d.ts":
        "export default interface P { a: string }\nexport interface Q { b: Date }\nexport interface R { c: P }",
    },
  );
  expect(problems).toEqual([]);
  const { text } = serviceFile(contracts[0] as TypeScriptContract, "a_triple.ts", { out: "/", importExtension: "js" });
  expect(text).toContain('import type { Q, R, default as P } from "p";');
  expect(text).toContain("const convertP: t.Convert");
});

it("interfaces of one name are one service, and its methods have parameters without a name", () => {
  const { contracts, problems } = read(
    "export interface S { a({ b }: { b: string }): Promise<void> }\n/** @service acme.S */\nexport interface S { c(): Promise<void> }",
  );
  expect(problems).toEqual([]);
  const services = contracts.flatMap((one) => one.services);
  expect(services).toMatchObject([
    { wireName: "acme.S", methods: [{ name: "a", parameter: "request" }, { name: "c" }] },
  ]);
});

it("methods of generic bases have the types that the service gives them", () => {
  const { contracts, problems } = read(
    'import type { Crud, Items } from "./b.js";\nexport interface User { id: bigint; name: string }\n' +
      'export interface S extends Items<User>, Crud<User | null, string> { "v1.get-it"(a: bigint): Promise<void> }',
    {
      "b.ts": `export interface Page<T> { items: T[] }
export interface Crud<T, K = string> { put(a: { key: K; all: T[] }): Promise<T>; watch(a: AsyncIterable<T>): AsyncIterable<Page<T>> }
export interface Items<V, I = Omit<V & object, "id">> extends Named<I> { find(a: V): Promise<I[]> }
export interface Named<N> { label(a: N): Promise<void> }`,
    },
  );
  expect(problems).toEqual([]);
  const { text } = serviceFile(contracts[0] as TypeScriptContract, "a_triple.ts", { out: "/", importExtension: "js" });
  const signatures = text.slice(0, text.indexOf("SHandler")).match(/^ {2}\S+\(.*;$/gm);
  expect(signatures?.map((line) => line.trim().replace(", options?: CallOptions", ""))).toEqual([
    '"v1.get-it"(a: bigint): Promise<void>;',
    'find(a: User): Promise<(Omit<User & object, "id">)[]>;',
    'label(a: Omit<User & object, "id">): Promise<void>;',
    "put(a: { key: string; all: (User | null)[] }): Promise<User | null>;",
    "watch(a: AsyncIterable<User | null>): AsyncIterable<Page<(User | null)>>;",
  ]);
  expect(text).toContain('import type { Page } from "./b.js";');
  expect(text).toContain("export const S_v1_get_it:");
  expect(text).toContain('"v1.get-it": S_v1_get_it,');
  expect(text).toContain('key: t.string(fields["key"], "key", at),');
});

it("a part of a generic base has the types that the service gives it", () => {
  const { contracts, problems } = read(`export interface User { id: bigint }
export interface Crud<T, K> { put(a: T): Promise<void>; get(a: { key: K }): Promise<T>; remove(a: { key: K }): Promise<void> }
export interface Named<N> extends Crud<N, string> { label(a: N): Promise<void> }
export interface S extends Omit<Pick<Named<User>, "get" | "put" | "label">, "put"> {}`);
  expect(problems).toEqual([]);
  const service = contracts.flatMap((one) => one.services).find(({ name }) => name === "S");
  const texts = service?.methods.map(({ name, request, response }) => [name, request?.text.text, response?.text.text]);
  expect(texts).toEqual([
    ["get", "{ key: string }", "User"],
    ["label", "User", undefined],
  ]);
});

it("names of two services stay apart", () => {
  const { contracts } = read(
    "export interface A { b_c(): Promise<void> }\nexport interface A_b { c(): Promise<void> }",
  );
  const { text } = serviceFile(contracts[0] as TypeScriptContract, "a_triple.ts", { out: "/", importExtension: "js" });
  expect(text.match(/export const A\S+:/g)).toEqual([
    "export const A_b_c:",
    "export const ADef:",
    "export const A_b_c$:",
    "export const A_bDef:",
  ]);
  expect(text).toContain("    c: A_b_c$,");
});

describe("an error", () => {
  const shape = (type: string, declarations = ""): string =>
    `export interface S { m(it: ${type}): Promise<void> }\n${declarations}`;

  it.each([
    [shape("any"), "1:28: error: any has no form in JSON; name the type, such as type Json = null | boolean"],
    [
      shape("{ a: Money }", 'import type { Money } from "@acme/money";'),
      "1:33: error: there is no module @acme/money; if it is a path of a tsconfig, name that with --project",
    ],
    [
      shape("{ a: Page<string>[] }", 'import type { Page } from "@acme/page";'),
      "1:33: error: there is no module @acme/page; if it is a path of a tsconfig, name that with --project",
    ],
    [shape("{ a: Page<string> }"), "1:33: error: Page is not declared"],
    [shape("{ a: Buffer }"), "1:33: error: Buffer has no form in JSON; use Uint8Array"],
    [
      shape("typeof a", "export const a = { b: 1 };"),
      "1:28: error: typeof a needs a name that generated code imports: export type Name = typeof a",
    ],
    [
      shape('import("./b.js").B'),
      '1:28: error: import("./b.js").B needs a name that generated code imports: export type Name = import("./b.js").B',
    ],
    ...["(string | undefined)[]", "Partial<Record<string, Date>>", "[1 | undefined]", "Map<bigint, 1 | undefined>"].map(
      (type) => [shape(`{ a: ${type} }`), "error: undefined has no form in JSON; use an optional field, or null"],
    ),
    [
      "export interface S { m(): Promise<Date | undefined> }",
      "1:35: error: undefined has no form in JSON; use an optional field, or null",
    ],
    [shape("unknown"), "1:28: error: unknown has no form in JSON; name the type, such as type Json = null | boolean"],
    [shape("{ a: symbol }"), "1:33: error: symbol has no form in JSON; use a string"],
    [shape("undefined"), "1:28: error: undefined has no form in JSON; use an optional field, or null"],
    [shape("Set<string>"), "1:28: error: Set has no form in JSON; use an array"],
    [
      shape("Promise<string>"),
      "1:28: error: Promise has no form in JSON; name the fields of an object, or use a string",
    ],
    [shape("{ e: Error }"), "1:33: error: Error has no form in JSON; name the fields of an object, or use a string"],
    [shape("() => void"), "1:28: error: a function has no form in JSON; messages are data"],
    [shape("{ f(): void }"), "1:30: error: f is a function, which has no form in JSON; messages are data"],
    [shape("Uppercase<string>"), "1:28: error: Uppercase<string> has no form in JSON; use string with @pattern"],
    [
      shape("E", "/** @pattern a */\nexport type E = `x${number}`;"),
      "1:28: error: `x${number}` is a pattern already; remove the tag, or use string",
    ],
    [shape("P", "export class P { #a = 1 }"), "2:18: error: #a is not public, and messages are; use an interface"],
    [
      shape("P", "export interface P extends Array<string> {}"),
      "1:28: error: P has the method toString; messages are data",
    ],
    [
      shape("P", "export class P extends Error {}"),
      "1:28: error: cause of the language has no form in JSON; use an interface of your own",
    ],
    [shape("{ a: { readonly b: unique symbol } }"), "1:47: error: symbol has no form in JSON; use a string"],
    [
      shape("{ [k]: string }", 'const k = "a";'),
      "1:30: error: [k] is not known to generated code; write the name itself",
    ],
    [shape("5n"), "1:28: error: a literal cannot be a bigint; use bigint"],
    [
      shape("string | Date"),
      "1:28: error: types of the union have the same form in JSON, string, which cannot tell them apart; use an object with a field for each",
    ],
    [
      shape("{ a: 1 } | { b: 2 }"),
      '1:28: error: types of the union have the same form in JSON, object, which cannot tell them apart; give each a field with a constant of its own, such as kind: "circle"',
    ],
    [
      shape("[string, number?]"),
      "1:28: error: each item of a tuple is required; use an array, or null for an item that is absent",
    ],
    [
      shape("[string, ...number[]]"),
      "1:28: error: each item of a tuple is required; use an array, or null for an item that is absent",
    ],
    [shape("Map<Date, string>"), "1:32: error: keys are string, number or bigint; use an array of pairs"],
    [
      shape("{ [a: number]: 1; [b: `x-${string}`]: 2 }"),
      "1:28: error: an object has keys of one type; use { [key: string]: … }",
    ],
    [
      shape("Record<E, 1>", "/** @minLength 2 */\nexport type E = string;"),
      "1:35: error: keys have no tags but @pattern and @format; use an array of objects",
    ],
    [shape("Iterable<string>"), "1:28: error: Iterable has no form in JSON; use an array"],
    [shape("Readonly<Date>"), "1:28: error: Readonly<Date> has the method toString; messages are data"],
    [
      shape("E", 'export enum E { A = 1, B = "x".length }'),
      "1:28: error: a value of E.B is computed; write it as a constant",
    ],
    [
      shape("P", "export class P { private a = 1 }"),
      "2:18: error: a is not public, and messages are; use an interface",
    ],
    [
      shape("N.P", "export namespace N { export interface P { a: string } }"),
      "1:28: error: P must be declared outside of a namespace, because generated code imports it",
    ],
    [
      shape("{ a: string; [key: string]: string }"),
      "1:28: error: an object has declared fields or an index signature; put the others into a field of their own",
    ],
    [shape("{ __proto__: string }"), "1:30: error: a field cannot be called __proto__; use another name"],
    [shape("P", "interface P { a: string }"), "1:28: error: P must be exported, because generated code imports it"],
    [shape("Missing"), "1:28: error: Missing is not declared"],
    [
      shape("P<string>", "export interface P<T> { a: P<T[]> | null }"),
      "more than 100 types contain each other; does one contain itself with other arguments?",
    ],
    [
      'import type { X } from "./gone.js";\nexport interface S { m(it: X): Promise<void> }',
      "2:28: error: there is no file ./gone.js",
    ],
    [shape("Partial<P>", "export interface P extends Gone { a: string }"), "2:28: error: Gone is not declared"],
    [
      shape("P", 'import { Base } from "@acme/base";\nexport class P extends Base { a = "x" as const }'),
      "3:24: error: there is no module @acme/base; if it is a path of a tsconfig, name that with --project",
    ],
    [
      'import type { X } from "./gone.js";\nexport interface S extends X { m(): Promise<void> }',
      "2:28: error: there is no file ./gone.js",
    ],
    [
      "export interface S { m(a: string, b: number): Promise<void> }",
      "1:35: error: a method has one parameter, its message: write m(request: { a: string; b: number })",
    ],
    [
      "export interface S { m(a?: string): Promise<void> }",
      "1:24: error: the parameter of a method is required; use optional fields",
    ],
    ["export interface S { m(a): Promise<void> }", "1:24: error: a needs a type"],
    [
      "export interface S { m(): string }",
      "1:27: error: a method returns Promise<T>, or AsyncIterable<T> for a stream",
    ],
    [
      "interface Promise<T> { value: T }\nexport interface S { m(): Promise<string> }",
      "2:27: error: a method returns Promise<T>, or AsyncIterable<T> for a stream",
    ],
    [
      "export interface S { m<T>(a: string): Promise<void> }",
      "1:22: error: a method cannot have type parameters, which are unknown on the wire; name the types",
    ],
    ["export interface S { m?(): Promise<void> }", "1:22: error: a method of a service cannot be optional"],
    [
      "export interface S { m(): Promise<void>; a: string }",
      "1:42: error: a service has methods only: write order(request: Order): Promise<Receipt>",
    ],
    ...["new(): Promise<void>", "(): Promise<void>", "[key: string]: unknown"].map((signature) => [
      `export interface S { m(): Promise<void>; ${signature} }`,
      "1:42: error: a service has methods only: write order(request: Order): Promise<Receipt>",
    ]),
    [
      "export interface S { m(): Promise<void>; m(a: string): Promise<void> }",
      "1:42: error: a method cannot have overloads; give each a name of its own",
    ],
    ["export interface S { then(): Promise<void> }", "1:22: error: a method cannot be called then; use another name"],
    [
      "export interface S { toString(): Promise<string> }",
      "1:22: error: a method cannot be called toString; use another name",
    ],
    [
      "export interface S<T> { m(): Promise<T> }",
      "1:1: error: a service cannot have type parameters; give each type parameter a type: interface Users extends Crud<User> {}",
    ],
    [
      "export interface C<T> { m(a: T): Promise<void>; n(): Promise<T> }\n" +
        'export interface S extends Pick<C<string>, "m">, Omit<C<number>, "m"> {}',
      "1:30: error: T is not known here; give each type parameter a type: interface Users extends Crud<User> {}",
    ],
    [
      "/** @minLength 1 */\nexport type E = string;\nexport interface C<T> { m(a: { b: T }): Promise<void> }\nexport interface S extends C<E> {}",
      "4:30: error: the tags of E are lost as an argument of a generic type; use a field of type E",
    ],
    ["export interface S { '../a'(): Promise<void> }", "1:22: error: a method cannot be called ../a; use another name"],
    [
      "/** @service A */\nexport type A = { m(): Promise<void> };\nexport interface S { m(): Promise<void> }",
      "2:1: error: @service belongs to an interface; write interface Shop { … }",
    ],
    [
      'import { z } from "p";\nexport const a = { b: 1 };\nexport interface S { m(a: z.infer<typeof a>): Promise<void> }',
      "export type Name = z.infer<typeof a>",
    ],
    [
      "/** @service a b */\nexport interface S { m(): Promise<void> }",
      '1:5: error: @service takes one value, but "b" follows a; begin a line with it',
    ],
    [
      "/** @service 1a */\nexport interface S { m(): Promise<void> }",
      "2:1: error: a service is called like shop.v1.Shop, not 1a",
    ],
    ["/** @service a.B */\ninterface S { m(): Promise<void> }", "2:1: error: S is a service and must be exported"],
    [
      "export interface S { m(): Promise<void> }\n/** @service S */\nexport interface T { m(): Promise<void> }",
      "3:1: error: another service is called S; name one with @service",
    ],
  ])("names the place and the remedy: %s", (text, problem) => {
    expect(read(text).problems.join("\n")).toContain(problem);
  });

  it("names the place in an imported file", () => {
    const others = {
      "b.ts":
        'export type { Y } from "./c.js";\nexport interface X extends Z { a: string }\nimport type { Z } from "./c.js";',
      "c.ts": "export interface W { a: string }",
    };
    const text = 'import type { X, Y } from "./b.js";\nexport interface S { m(x: X): Promise<Y> }';
    expect(read(text, others).problems).toEqual([
      "a.ts:2:39: error: ./c.js does not export Y",
      "b.ts:2:28: error: ./c.js does not export Z",
    ]);
    expect(read(text, { ...others, "c.ts": "export interface Z {" }).problems).toEqual([
      "c.ts:1:21: error: '}' expected.",
    ]);
  });

  const tagged = (tag: string, type: string): string =>
    `export interface S { m(it: {\n  /** ${tag} */\n  a: ${type}\n}): Promise<void> }`;

  it.each([
    [tagged("@min 1", "string"), "2:7: error: @min is for numbers, and the type has none"],
    [tagged("@minLength 1", "number[]"), "2:7: error: @minLength is for strings, and the type has none"],
    [tagged("@maxItems 1", "string"), "2:7: error: @maxItems is for arrays, and the type has none"],
    [tagged("@min", "number"), "2:7: error: @min needs a number, such as @min 1"],
    [tagged("@minLength -1", "string"), "2:7: error: @minLength needs a whole number, such as @minLength 1"],
    [tagged("@int yes", "number"), "2:7: error: @int takes no value; begin a line with the text"],
    [
      tagged("@format phone", "string"),
      "2:7: error: @format is one of date, email, uri, uuid; use @pattern for others",
    ],
    [
      tagged("@pattern (", "string"),
      "2:7: error: ( is not a regular expression with the flag u; @pattern takes it without slashes",
    ],
    [tagged("@pattern /^a$/", "string"), "2:7: error: /^a$/ matches no text; @pattern takes it without slashes"],
    [tagged("@min 5\n   * @max 1", "number"), "3:6: error: no value is at least 5 and at most 1"],
    [tagged("@minlength 1", "string"), "2:7: warning: @minlength is unknown, did you mean @minLength?"],
    [tagged("@maxlength 1", "string"), "2:7: warning: @maxlength is unknown, did you mean @maxLength?"],
    [tagged("@minimum 1", "number"), "2:7: warning: @minimum is unknown, did you mean @min?"],
    [
      `${tagged("@minLength 1", "N")}\nexport type N = string | null;`,
      "2:7: error: @minLength is not read here, because all values of N have the same rules; move it there",
    ],
    [
      "/** @minLength 1 */\nexport type E = string;\nexport interface P<T> { a: T }\nexport interface S { m(it: P<E>): Promise<void> }",
      "4:30: error: the tags of E are lost as an argument of a generic type; use a field of type E",
    ],
    [
      "export interface S { m(it: { /** @min 1 */ a: number }): Promise<void> }",
      "1:30: warning: @min is ignored in a comment that does not begin its line; begin a line with it",
    ],
  ])("names the place and the remedy of a tag: %#", (text, problem) => {
    expect(read(text).problems.join("\n")).toContain(problem);
  });
});
