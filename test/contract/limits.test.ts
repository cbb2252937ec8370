/** Contracts that would stop a build: they are read to a finite depth and size, and rejected with a position. */
import { Project } from "ts-morph";
import { expect, it } from "vitest";
import { Problems } from "../../src/contract/model/diagnostics.ts";
import { readDeep, TOO_DEEP } from "../../src/contract/read/syntax.ts";
import { problemsOf } from "./support/contracts.ts";

const numbers = Array.from({ length: 3_000 }, (_, i) => i);
const service = (type: string): string => `/** @service a.S */ export interface S { m(a: ${type}): void }\n`;
const DEEP = "declare parts of it as interfaces, with the tag @class";

it.each([
  [
    "aliases of aliases",
    `${service("A0")}${numbers.map((i) => `type A${i} = A${i + 1};\n`).join("")}type A3000 = string;`,
    `101:12: error: more than 100 types are nested here; ${DEEP}`,
  ],
  [
    "arrays of arrays",
    service(`string${"[]".repeat(200)}`),
    `1:47: error: more than 100 types are nested here; ${DEEP}`,
  ],
  [
    "aliases that double",
    `${service("A40")}${numbers
      .slice(0, 40)
      .map((i) => `type A${i + 1} = Map<A${i}, A${i}>;\n`)
      .join("")}type A0 = string;`,
    `2:15: error: this is made of more than 1000 types; ${DEEP}`,
  ],
  [
    "type arguments that double",
    `${service(`${"P<".repeat(40)}string${">".repeat(40)}`)}type P<T> = Map<T, T>;`,
    `2:13: error: this is made of more than 1000 types; ${DEEP}`,
  ],
  [
    "a type parameter that is its own default",
    `${service("C")}/** @class a.C */ export interface C<T = C> { a: T }`,
    `2:42: error: more than 100 types are nested here; ${DEEP}`,
  ],
  [
    "classes that extend classes",
    `${service("C0")}${numbers.map((i) => `/** @class a.C${i} */ export interface C${i} extends C${i + 1} { }\n`).join("")}
      /** @class a.C3000 */ export interface C3000 { }`,
    "102:52: error: more than 100 classes extend each other here; use fewer of them",
  ],
  [
    "interfaces that lend their fields to each other",
    `${service("C0")}/** @class a.C */ ${numbers.map((i) => `export interface C${i} extends C${i + 1} { }\n`).join("")}
      export interface C3000 { }`,
    "102:31: error: more than 100 classes extend each other here; use fewer of them",
  ],
  [
    "services that extend interfaces",
    `/** @service a.S */ ${numbers.map((i) => `export interface C${i} extends C${i + 1} { }\n`).join("")}export interface C3000 { }`,
    "102:1: error: more than 100 interfaces extend each other here; use fewer of them",
  ],
])("%s", (_, text, problem) => {
  expect(problemsOf(text)[0]).toBe(problem);
});

it("generic classes whose arguments double from one to the next", () => {
  const classes = numbers
    .slice(0, 30)
    .map(
      (i) =>
        `/** @class a.G${i} */ export interface G${i}<T> { a: G${i + 1}<T[]> | null; b: G${i + 1}<Set<T>> | null }\n`,
    );
  const problems = problemsOf(
    `${service("G0<string>")}${classes.join("")}/** @class a.G30 */ export interface G30<T> { a: T }`,
  );
  expect(problems[0]).toBe(
    "10:20: error: G8 is used with more than 500 different type arguments; split it into several classes",
  );
});

it("blames the deepest place of all files when the stack of the compiler overflows", () => {
  const project = new Project({ useInMemoryFileSystem: true });
  const contract = project.createSourceFile("/a.ts", "export type A = string;");
  project.createSourceFile("/b.ts", "export type B =\n  string[][][][];");
  project.createSourceFile("/c.ts", "export type C = string[];");
  const problems = new Problems("/");
  const overflow = () => {
    throw new RangeError("Maximum call stack size exceeded");
  };
  expect(readDeep(contract, problems, overflow)).toBeUndefined();
  expect(problems.lines()).toEqual([`b.ts:2:3: error: ${TOO_DEEP}`]);
});
