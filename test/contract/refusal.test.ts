/** Declarations without a counterpart in Java are rejected with their positions, all in one run. */
import { describe, expect, it } from "vitest";
import { problemsOf, read } from "./support/contracts.ts";

const brands = 'import type { int, JavaArray } from "triple-es-dubbo/java";\n';

/** Returns the problem of a parameter of the given type, in the third line of its contract. */
function problemOf(type: string, declarations = ""): string[] {
  return problemsOf(
    `${brands}/** @service a.S */ export interface S {\n  m(a: ${type}): Promise<void>;\n}\n${declarations}`,
  );
}

describe("a type", () => {
  it.each([
    ["string | int", "Java has no unions; only null or undefined may be joined to a type"],
    [
      '"a" | "b"',
      "an enum needs a name: declare the strings as a type of their own, with the tag @enum com.acme.Color",
    ],
    ["null", "Java has no literal types"],
    ["null | undefined", "a type of null alone does not exist in Java; for no result, void"],
    ['"a"', "Java has no literal types"],
    ["42", "Java has no literal types"],
    ["[string, int]", "Java has no tuples"],
    ["{ a: string }", "an object needs a name: declare it as an interface, with the tag @class com.acme.User"],
    ["{}", "an object needs a name"],
    ["{ [key: string]: string; a: string }", "an object needs a name"],
    ["Record<int, string>", "a Record has keys of string; for others there is Map"],
    ["{ a: string } & { b: string }", "Java has no intersections"],
    ["{ [K in 'a']: string }", "Java has no counterpart of the type { [K in 'a']: string }"],
    ["() => void", "a function is not data"],
    ["object", "object does not declare its contents; use unknown for java.lang.Object"],
    ["void", "void can only be the result of a method: Promise<void>"],
    ["undefined", "undefined can only be the result of a method"],
    ["never", "Java has no counterpart of the type never"],
    ["symbol", "Java has no counterpart of the type symbol"],
    ["keyof S", "Java has no counterpart of the type keyof S"],
    ["keyof S[]", "Java has no counterpart of the type keyof S[]"],
    ['S["m"]', 'Java has no counterpart of the type S["m"]'],
    ["typeof globalThis", "Java has no counterpart of the type typeof globalThis"],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a type of TypeScript
    ["`a${string}`", "Java has no counterpart of the type"],
    ['import("./b").B', "import the type in a statement at the top of the file"],
    ["Promise<string>", "Promise can only enclose the whole type"],
    ["Function", "a function or symbol is not data"],
    ["WeakMap<S, S>", "WeakMap is neither imported nor a type with a counterpart in Java"],
    ["q.int", "q.int is neither imported nor a type with a counterpart in Java"],
    ["Dat", 'Dat is neither imported nor a type with a counterpart in Java, did you mean "Date"?'],
    ["long", "long must be imported from triple-es-dubbo/java"],
    ["Error", "an exception is thrown, not passed; a method says so with @throws com.acme.SoldOutException"],
    ["Int32Array", "Int32Array is not a type of contracts; use JavaArray<int>"],
    ["String", "String is not a type of contracts; use string"],
    ["Map<string>", "Map takes 2 type arguments, not 1"],
    ["Date<string>", "Date takes 0 type arguments, not 1"],
    ["JavaArray", "JavaArray needs the type of its elements: JavaArray<int>"],
    ["S", "S is a service, which cannot be passed or returned"],
  ])("%s is refused: %s", (type, message) => {
    const [problem = "", ...others] = problemOf(type);
    expect(others).toEqual([]);
    const isAtUse = type !== "S";
    expect(problem).toMatch(isAtUse ? /^3:8: error: / : /^2:\d+: error: /);
    expect(problem).toContain(message);
  });

  it("is looked for in the whole type", () => {
    expect(problemOf("Map<string, [int, WeakSet<S>][]>")).toEqual([
      "3:20: error: Java has no tuples; use an array, or an interface with the tag @class",
    ]);
    expect(problemOf("Map<symbol, never>")).toHaveLength(2);
  });

  it("must be one of the brands, if it is imported from there", () => {
    const text =
      'import type { innt } from "triple-es-dubbo/java";\n/** @service a.S */ export interface S { m(a: innt): void }';
    expect(problemsOf(text)).toEqual([
      '2:47: error: triple-es-dubbo/java has no type innt for contracts, did you mean "int"?',
    ]);
  });

  it("must be found", () => {
    const text = 'import type { B } from "./b.js";\n/** @service a.S */ export interface S { m(a: B): void }';
    expect(problemsOf(text)).toEqual(['2:47: error: B cannot be found: "./b.js" does not export it']);
    expect(problemsOf(text, { "b.ts": "export type C = string" })).toEqual([
      '2:47: error: B cannot be found: "./b.js" does not export it',
    ]);
    expect(problemsOf(text, { "b.ts": "export type B = string" })).toEqual([]);
  });

  it("is not an array of numbers if it is an array of bytes", () => {
    const text = problemsOf(
      'import type { byte, JavaArray } from "triple-es-dubbo/java";\n/** @service a.S */ export interface S { m(a: JavaArray<byte>): void }',
    );
    expect(text).toEqual(["2:47: error: an array of bytes is Uint8Array"]);
  });

  it("must be declared somewhere, and not only exported", () => {
    const circles = [
      { "a.ts": 'import type { X } from "./b.js";\nexport type { X };\n', "b.ts": 'export * from "./a.js";' },
      {
        "a.ts": 'import type { X } from "./b.js";\n\n',
        "b.ts": 'export type { X } from "./c.js";',
        "c.ts": 'export type { X } from "./b.js";',
      },
    ];
    for (const { "a.ts": text, ...others } of circles) {
      expect(problemsOf(`${text}/** @service a.S */ export interface S { m(a: X): void }`, others)).toEqual([
        expect.stringMatching(
          /^3:47: error: X has no declaration: files re-export it from each other in a cycle that includes "\.\/.\.js"; declare it in one of them$/,
        ),
      ]);
    }
  });

  it("may leave out type arguments that have a default, and no others", () => {
    const text = "/** @class a.P */ export interface P<K, V = K> { k: K; v: V }";
    expect(problemOf("P<int>", text)).toEqual([]);
    expect(problemOf("P<int, int>", text)).toEqual([]);
    expect(problemOf("P", text)).toEqual(["3:8: error: P takes 1 to 2 type arguments, not 0"]);
    expect(problemOf("P<P>", text)).toEqual(["3:10: error: P takes 1 to 2 type arguments, not 0"]);
  });

  it("may not refer to itself without end", () => {
    expect(problemOf("Tree", "export type Tree = Tree[];")).toEqual([
      "5:1: error: a type alias cannot refer to itself; declare an interface instead",
    ]);
    const grows = "/** @class a.G */ export interface G<T> { g: G<G<T>[]> | null }";
    expect(problemOf("G<string>", grows)).toEqual(["5:19: error: G contains itself with ever longer type arguments"]);
  });
});

describe("data", () => {
  const declared = (declarations: string, type = "D"): string[] => problemOf(type, declarations);

  it.each([
    [
      "export interface D { a: string }",
      "5:1: error: D is used as data, but has no tag with its Java name: @class com.acme.D",
    ],
    ["export enum D { A = 'A' }", "5:1: error: D is used as data, but has no tag with its Java name: @enum com.acme.D"],
    [
      "/** @class a.D */ interface D { a: string }",
      "3:8: error: D cannot be imported as generated code must: export it from its file, and outside of any namespace",
    ],
    [
      "/** @class */ export interface D { a: string }",
      "5:5: error: @class needs a value, such as @class com.acme.User",
    ],
    ["/** @class a.b-c */ export interface D { a: string }", "5:21: error: a.b-c is not the full name of a Java class"],
    [
      "/** @class a.record */ export interface D { a: string }",
      "5:24: error: a.record is not the full name of a Java class",
    ],
    ["/** @class a.D$D */ export interface D { a: string }", "5:21: error: a.D$D is not the full name of a Java class"],
    [
      "/** @class a.class */ export interface D { a: string }",
      "5:23: error: a.class is not the full name of a Java class",
    ],
    [
      "/** @class a.D */ export type D = string;",
      "5:19: error: @class belongs to an interface, a class or a type of the form { … }",
    ],
    ["/** @class a.D */ export interface D { m(): void }", "5:40: error: a Java class of a contract is data"],
    ["/** @class a.D */ export interface D { [k: string]: string }", "5:40: error: a Java class of a contract is data"],
    ["/** @class a.D */ export class D { private a!: string }", "5:36: error: fields must be public and not static"],
    ["/** @class a.D */ export class D { static a: string }", "5:36: error: fields must be public and not static"],
    ["/** @class a.D */ export class D { constructor() {} }", "5:36: error: a Java class of a contract is data"],
    ["/** @class a.D */ export class D { a = 1 }", "5:36: error: a needs a type"],
    [
      "/** @class a.D */ export interface D { 'first-name': string }",
      "5:40: error: Java cannot have a field called 'first-name'",
    ],
    ["/** @class a.D */ export interface D { class: string }", "5:40: error: Java cannot have a field called class"],
    [
      "/** @class a.D */ export interface D { __proto__: string }",
      "5:40: error: Java cannot have a field called __proto__",
    ],
    ["/** @class a.D */ export interface D { 1: string }", "5:40: error: Java cannot have a field called 1"],
    ["/** @class a.D */ export interface D { a: string | D }", "5:43: error: Java has no unions"],
    [
      "/** @class a.D */ export interface D extends Nothing { }",
      "5:46: error: Nothing is not an interface or class of a contract",
    ],
    [
      "/** @class a.D */ export interface D extends T { }\ntype T = { a: string };",
      "5:46: error: T is not an interface or class of a contract",
    ],
    ["/** @class a.D */ export interface D extends D { }", "5:46: error: D extends itself in a cycle"],
    [
      "/** @class a.D */ export interface D extends E { }\n/** @class a.E */ export interface E extends D { }",
      "6:46: error: D extends itself in a cycle",
    ],
    ["/** @enum a.D */ export type D = string;", "5:18: error: @enum belongs to a union of strings"],
    [
      "/** @enum a.D */ export type D = 'A' | 1;",
      "5:40: error: 1 is not a string that names a constant of a Java enum",
    ],
    ["/** @enum a.D */ export type D = 'A' | 'not-a-name';", "5:40: error: 'not-a-name' is not a string that names"],
    [
      "/** @enum a.D */ export type D = 'A' | 'A';",
      "5:40: error: A is a value of the enum already; Java has each once",
    ],
    ["/** @enum a.D */ export enum D { A = 'A', B = 'A' }", "5:43: error: A is a value of the enum already"],
    [
      "/** @enum a.D */ export type D = (typeof Two)['X']; export const Two = { X: 'X', Y: 'Y' } as const;",
      "5:18: error: @enum belongs to a union of strings, an enum, or the values of a constant object: (typeof Color)[keyof typeof Color]",
    ],
    [
      "/** @enum a.D */ export type D = (typeof Two)[keyof typeof One]; const One = { X: 'X' }; const Two = { X: 'X' };",
      "5:18: error: @enum belongs to",
    ],
    [
      "/** @class a.D */ export interface D extends C { }\nexport interface C extends B { }\nexport interface B extends C { }",
      "7:28: error: C extends itself in a cycle",
    ],
    [
      "/** @class a.D */ export interface D extends C { }\nexport interface C<T> { a: T }",
      "5:46: error: C takes 1 type arguments, not 0",
    ],
    [
      "/** @class a.D */ export interface D extends C<string> { }\n/** @class a.C */ export interface C { a: string }",
      "5:46: error: C takes 0 type arguments, not 1",
    ],
    ["/** @enum a.D */ export enum D { A, B = 'B' }", "5:34: error: A is not a string that names a constant"],
    ["/** @class a.D */ export interface D<T> { a: T }", "3:8: error: D takes 1 type arguments, not 0"],
    ["export namespace D { export interface E { } }", "3:8: error: D is neither imported nor a type"],
  ])("of %s is refused: %s", (declarations, message) => {
    const [problem = "", ...others] = declared(declarations);
    expect(others).toEqual([]);
    expect(problem).toContain(message);
  });

  it("needs a name in TypeScript, and a full name of Java", () => {
    const unnamed = "/** @class a.D */ export default class { a!: string }";
    expect(problemsOf(unnamed)).toEqual(["1:19: error: a class of the contracts needs a name"]);
    expect(declared("/** @enum a.b-c */ export enum D { A = 'A' }")).toEqual([
      "5:20: error: a.b-c is not the full name of a Java class, such as in @enum com.acme.D",
    ]);
  });

  it("is declared in one place", () => {
    const text = "/** @class a.D */ export interface D { a: string }\nexport interface D { b: string }";
    expect(declared(text)).toEqual(["5:19: error: D is declared in several parts; merge them"]);
  });

  it("may refer to itself by an alias", () => {
    const text = "/** @class a.D */ export interface D { children: Tree[] }\nexport type Tree = D | null;";
    expect(declared(text, "Tree")).toEqual([]);
  });

  it("has one type for each name of Java", () => {
    const twice =
      "/** @class a.D */ export interface D { a: string }\n/** @class a.D */ export interface E { a: string }";
    expect(declared(twice)).toEqual(["6:19: error: a.D is already the name of another type of the contracts"]);
  });

  it("does not change the type of inherited fields", () => {
    const text =
      "/** @class a.B */ export interface B { a: unknown }\n/** @class a.D */ export interface D extends B { a: string }";
    expect(declared(text)).toEqual(["6:19: error: D declares a with another type than what it extends"]);
  });
});

it("a type that must be imported is refused without an import, with the name of its module", () => {
  const text = "/** @service a.S */ export interface S { m(a: JavaArray<string>): void }";
  expect(problemsOf(text)).toEqual(["1:47: error: JavaArray must be imported from triple-es-dubbo/java"]);
});

it("a type parameter of a method is refused at its method and at its uses", () => {
  expect(problemsOf("/** @service a.S */ export interface S { m<T>(a: T): void }")).toEqual([
    "1:42: error: the type that a type parameter stands for is unknown on the wire; use a type of its own, or unknown",
    "1:50: error: the type that T stands for is unknown here",
  ]);
});

describe("a service", () => {
  it.each([
    ["/** @service a.S */ interface S { }", "1:21: error: S is a service and must be exported"],
    [
      "/** @service */ export interface S { }",
      "1:5: error: @service needs a value, such as @service com.acme.GreetService",
    ],
    ["/** @service a/S */ export interface S { }", "1:21: error: a/S is not the full name of a Java interface"],
    [
      "/** @service a.S @service a.T */ export interface S { }",
      "1:18: error: there is another @service before this one",
    ],
    ["/** @service a.S @group */ export interface S { }", "1:18: error: @group needs a value, such as @group blue"],
    [
      "/** @service not a name! */ export interface S { }",
      '1:5: error: @service takes one value, but "a name!" follows not; begin a line with it',
    ],
    [
      "/** @service o.日本 */ export interface S { }",
      "1:22: error: o.日本 is not ASCII, and Dubbo sends other characters of a call's path as question marks",
    ],
    [
      "/** @service a.S */ export interface S { café(): void }",
      "1:42: error: café is not ASCII, and Dubbo sends other characters of a call's path as question marks: give it another",
    ],
    [
      "/** @service a.S */ export interface S {\n/** @method こんにちは */ hello(): void }",
      "2:22: error: こんにちは is not ASCII",
    ],
    [
      "/** @service a.S\n * @group 青 */ export interface S { }",
      "2:4: error: @group is sent in a header field, which takes ASCII only",
    ],
    ["/** @service a.S */ export interface S<T> { }", "1:21: error: a service cannot have type parameters"],
    ["/** @service a.S */ export class S { }", "1:21: error: @service belongs to an interface"],
    [
      "/** @service a.S */ export interface S extends T<string> { }",
      "1:48: error: a service can extend interfaces without type parameters",
    ],
    ["/** @service a.S */ export interface S extends S { }", "1:21: error: S extends itself in a cycle"],
    [
      "/** @service a.S */ export interface S { m: () => void }",
      "1:42: error: a service has methods only, in the form m(parameters): Promise<Result>",
    ],
    ["/** @service a.S */ export interface S { (): void }", "1:42: error: a service has methods only"],
    ["/** @service a.S */ export interface S { new (): S }", "1:42: error: a service has methods only"],
    ["/** @service a.S */ export interface S { 'a-b'(): void }", "1:42: error: a method needs a plain name"],
    [
      "/** @service a.S */ export interface S { then(): void }",
      "1:42: error: a client cannot have a method then: give it another name, and the tag @method then",
    ],
    [
      "/** @service a.S */ export interface S {\n/** @method a-b */ m(): void }",
      "2:20: error: Java cannot have a method called a-b",
    ],
    ["/** @service a.S */ export interface S { class(): void }", "1:42: error: Java cannot have a method called class"],
    [
      "/** @service a.S */ export interface S { m<T>(): void }",
      "1:42: error: the type that a type parameter stands for is unknown on the wire",
    ],
    ["/** @service a.S */ export interface S { m?(): void }", "1:42: error: a method of a service cannot be optional"],
    ["/** @service a.S */ export interface S { m(): string }", "1:47: error: the result of a method is a Promise<…>"],
    [
      "/** @service a.S */ export interface S { m(): Promise<string, string> }",
      "1:47: error: the result of a method is a Promise<…>",
    ],
    ["/** @service a.S */ export interface S { m() }", "1:42: error: the result of a method is a Promise<…>"],
    [
      "/** @service a.S */ export interface S { m(...a: string[]): void }",
      "1:44: error: a parameter needs a plain name",
    ],
    ["/** @service a.S */ export interface S { m({ a }: Date): void }", "1:44: error: a parameter needs a plain name"],
    ["/** @service a.S */ export interface S { m(this: Date): void }", "1:44: error: a parameter needs a plain name"],
    ["/** @service a.S */ export interface S { m(a): void }", "1:44: error: a needs a type"],
    [
      "/** @service a.S */ export interface S { m(a?: string, b: string): void }",
      "1:56: error: b is required, but a before it is not",
    ],
    [
      "/** @service a.S */ export interface S { m(a: AsyncIterable<string>, b: string): void }",
      "1:44: error: a stream must be the only parameter of its method",
    ],
    [
      "/** @service a.S */ export interface S { m(a?: AsyncIterable<string>): void }",
      "1:44: error: a stream cannot be optional",
    ],
    [
      "/** @service a.S */ export interface S { m(a: string, b: string): AsyncIterable<string> }",
      "1:42: error: in Java, a method that returns a stream has at most one parameter",
    ],
    [
      "/** @service a.S */ export interface S { m(): void; m(a: string): void }",
      "1:53: error: m is already declared: give each overload a name of its own, and the tag @method m",
    ],
    [
      "/** @service a.S */ export interface S { m(): void;\n/** @method m */ n(): void }",
      "2:18: error: n and m are the same method in Java: m()",
    ],
    [
      "/** @service a.S */ export interface S { m(a: string[]): void;\n/** @method m */ n(a: Date[]): void }",
      "2:18: error: n and m are the same method in Java: m(java.util.List)",
    ],
    [
      "/** @service a.S */ export interface S { m(): AsyncIterable<string>;\n/** @method m */ n(a: Date): void }",
      "1:42: error: overloads are distinguished by their arguments, and a stream has none",
    ],
  ])("such as %s is refused: %s", (text, message) => {
    const problems = problemsOf(text);
    expect(problems[0]).toContain(message);
    expect(problems.slice(1).filter((line) => !/parameter|plain name|needs a type|no tag says/.test(line))).toEqual([]);
  });

  it("is declared in one place", () => {
    const text = "/** @service a.S */ export interface S { }\nexport interface S { m(): void }";
    expect(problemsOf(text)).toEqual(["1:21: error: S is declared in several parts; merge them"]);
  });

  it.each([
    ["wait(): void", "wait()"],
    ["notify(): void", "notify()"],
    ["getClass(): Promise<string>", "getClass()"],
    ["hashCode(): Promise<string>", "hashCode()"],
    ["wait(a: bigint): void", "wait(long)"],
    ["equals(a: unknown): Promise<boolean>", "equals(java.lang.Object)"],
  ])("cannot have %s, which every object of Java has", (method, signature) => {
    expect(problemsOf(`/** @service a.S */ export interface S { ${method} }`)).toEqual([
      `1:42: error: every object of Java has ${signature}, so no interface can declare it; rename it`,
    ]);
    expect(problemsOf("/** @service a.S */ export interface S { wait(a: string): void; equals(): void }")).toEqual([]);
  });

  it("may inherit one method by two ways, if it is the same in Java", () => {
    const extended = (b: string): string =>
      `/** @service a.S */ export interface S extends B, A { }
interface A { ping(a: bigint): Promise<string> }
interface B extends A { ${b} }`;
    expect(problemsOf(extended("ping(word: bigint): Promise<string>"))).toEqual([]);
    expect(problemsOf(extended(""))).toEqual([]);
    expect(problemsOf(extended("ping(a: bigint): Promise<string | null>"))).toEqual([]);
    expect(problemsOf(extended("ping(a: string): Promise<string>"))).toEqual([
      "2:15: error: ping is already declared: give each overload a name of its own, and the tag @method ping",
    ]);
  });

  it.each(["service", "class", "enum"])(
    "and all else with a tag such as @%s is declared outside of namespaces",
    (tag) => {
      const text = `export namespace v1 {\n  export namespace deep {\n    /** @${tag} a.S */\n    export interface S { }\n  }\n}`;
      expect(problemsOf(text)).toEqual([`4:5: error: @${tag} is not read inside of a namespace; declare it outside`]);
    },
  );

  it("cannot name what only a namespace has", () => {
    const text = `import type { v1 } from "./b.js";\n/** @service a.S */ export interface S { m(a: v1.T): Promise<v1.Name> }`;
    const other =
      "export namespace v1 {\n/** @class a.T */\nexport interface T { a: string }\nexport type Name = string }";
    expect(problemsOf(text, { "b.ts": other })).toEqual([
      "2:47: error: T cannot be imported as generated code must: export it from its file, and outside of any namespace",
    ]);
  });

  it("cannot have methods that every object has", () => {
    const text = "/** @service a.S */ export interface S { toString(): void; toJSON(): void; __proto__(): void }";
    expect(problemsOf(text)).toHaveLength(3);
  });

  it("may be exported at the end, or as the default", () => {
    expect(problemsOf("/** @service a.S */ interface S { }\nexport type { S };")).toEqual([]);
    expect(problemsOf("/** @service a.S */ export default interface S { }")).toEqual([]);
  });

  it("is one of its name, group and version", () => {
    const one = "/** @service a.S */ export interface S { }";
    const other = "/** @service a.S */ export interface T { }";
    const { problems } = read({ "a.ts": one, "b.ts": other });
    expect(problems).toEqual(["b.ts:1:21: error: another interface is a.S of the same group and version"]);
    const version = "/** @service a.S\n * @version 2 */ export interface T { }";
    expect(read({ "a.ts": one, "b.ts": version }).problems).toEqual([]);
  });
});

describe("a contract", () => {
  it("that does not parse is reported with the compiler's message", () => {
    expect(problemsOf("/** @service a.S */ export interface S { m(: void }")[0]).toMatch(/^1:44: error: .+ expected/);
  });

  it("reports everything in one run, ordered by file and line", () => {
    const text = "/** @service a.S */ export interface S {\n  m(a: symbol): never;\n  n(b: [string]): void;\n}";
    const { problems } = read({ "b.ts": text.replace("a.S", "b.S"), "a.ts": text });
    expect(problems.map((line) => line.replace(/: error.*/, ""))).toEqual([
      "a.ts:2:8",
      "a.ts:2:17",
      "a.ts:3:8",
      "b.ts:2:8",
      "b.ts:2:17",
      "b.ts:3:8",
    ]);
  });
});

describe("a warning", () => {
  it.each([
    ["number", "number is a double in Java; say so with double, or int and the like, of triple-es-dubbo/java"],
    ["any", "any is treated as unknown, which is java.lang.Object: its contents are not type-checked"],
    ["string | undefined", "undefined arrives as null: join null to the type"],
  ])("is given for %s", (type, message) => {
    expect(problemOf(type)).toEqual([`3:8: warning: ${message}`]);
  });

  it.each(["services", "Service", "servce"])("is given for the tag @%s, which does not declare a service", (tag) => {
    expect(problemsOf(`/** @${tag} a.S */\nexport interface S {\n  m(): Promise<void>;\n}`)).toEqual([
      `1:5: warning: @${tag} is unknown, did you mean @service?`,
    ]);
  });

  it.each([
    ["/**\n * @service a.S\n * @verison 1.0.0\n */\nexport interface S {}", "3:4", "verison", "version"],
    ["/**\n * @service a.S\n * @grupp blue\n */\nexport interface S {}", "3:4", "grupp", "group"],
    ["/** @clas a.D */\nexport interface D {}", "1:5", "clas", "class"],
    ["/** @Enum a.D */\nexport type D = 'A';", "1:5", "Enum", "enum"],
    ["/** @service a.S */\nexport interface S {\n  /** @methd say */\n  m(): void;\n}", "3:7", "methd", "method"],
  ])("is given for a misspelt tag: %j", (text, place, name, meant) => {
    expect(problemsOf(text)).toEqual([`${place}: warning: @${name} is unknown, did you mean @${meant}?`]);
  });

  it("is given for a tag in a comment that the compiler ignores", () => {
    const text =
      "export namespace v1 { /** @service a.S */ export interface S { } }\n/** @service a.T */ export interface T { }";
    expect(problemsOf(text)).toEqual([
      "1:23: warning: @service is ignored in a comment that does not begin its line; begin a line with it",
    ]);
    const seen = "/** Words. */ /**\n * @service a.S */\n  /** @serialization json */ export interface D { }\n/**/";
    expect(problemsOf(`${seen}\n/* @service */ const text = "/** service */";`)).toEqual([]);
  });

  it("is not given for tags of TSDoc and JSDoc", () => {
    const tags = `alpha beta decorator deprecated defaultValue eventProperty example experimental inheritDoc internal label link
      override packageDocumentation param privateRemarks public readonly remarks returns sealed see throws typeParam virtual
      since author type property prop todo const module summary template exception private protected static alias name`;
    const doc = `/**\n${tags
      .split(/\s+/)
      .map((tag) => ` * @${tag} x\n`)
      .join("")} */\n`;
    expect(problemsOf(`${doc}export interface S {\n${doc}  m(): void;\n}`)).toEqual([]);
  });

  it("is given for an optional field, because it can be null", () => {
    expect(problemOf("D", "/** @class a.D */ export interface D { a?: string; b?: string | null }")).toEqual([
      "5:40: warning: an omitted a arrives as null: join null to its type",
    ]);
  });

  it.each([
    ["(string | null)", ""],
    ["M", "type M = string | null;"],
    ["M", "export type M = string | null;"],
    ["M", "type N = string | null; export type M = N;"],
    ["M<string>", "export type M<T> = T | null;"],
    ["M<string | null>", "export type M<T> = T;"],
    ["M | undefined", "export type M = string | null;"],
    ["(string | null) | undefined", ""],
    ["unknown", ""],
    ["unknown | undefined", ""],
  ])("is not given for an optional field whose type contains null: %s of %s", (type, declaration) => {
    expect(problemOf("D", `${declaration}\n/** @class a.D */ export interface D { a?: ${type} }`)).toEqual([]);
  });

  it("is given for an optional field whose type is an alias without null", () => {
    const text = "export type M = string;\n/** @class a.D */ export interface D { a?: M }";
    expect(problemOf("D", text)).toEqual(["6:40: warning: an omitted a arrives as null: join null to its type"]);
  });
});
