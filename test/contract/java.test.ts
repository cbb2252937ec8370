/** The Java side of contracts: its text, and its compilation by a Java compiler. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { signatureOf } from "../../dubbo/src/interface/signature.ts";
import { nameOf } from "../../dubbo/src/interface/type.ts";
import { ClassesDef } from "../../fixtures/interface/gen/classes_triple.ts";
import { CollectionsDef } from "../../fixtures/interface/gen/collections_triple.ts";
import { EnumsDef } from "../../fixtures/interface/gen/enums_triple.ts";
import { ExportsDef } from "../../fixtures/interface/gen/exports_triple.ts";
import { NullabilityDef } from "../../fixtures/interface/gen/nullability_triple.ts";
import { OverloadsDef } from "../../fixtures/interface/gen/overloads_triple.ts";
import { ScalarsDef } from "../../fixtures/interface/gen/scalars_triple.ts";
import { root } from "../plugin/support/protos.ts";
import { java, javaProblems, read, stubs } from "./support/contracts.ts";

const hasJavac = spawnSync("javac", ["-version"]).status === 0;
const needsJavac = hasJavac ? "" : " (skipped: needs javac)";

/** Stubs of the classes of Dubbo that generated code refers to. */
const OBSERVER = `package org.apache.dubbo.common.stream;
public interface StreamObserver<T> {
    void onNext(T data);
    void onError(Throwable throwable);
    void onCompleted();
}
`;

/** Uses every declaration of generated code of the fixtures with the expected Java types. */
const CALLER = `package caller;
import fixture.classes.*;
import fixture.overloads.Overloads;
import java.util.*;
class Caller {
    static String call(Overloads o, Classes c) {
        Page<Person> page = c.people(new Classes.Filter(), 1);
        Person person = page.getItems().get(0);
        person.setAge(person.getAge() + 1);
        person.setId(7L);
        Person.Address address = person.getAddress();
        Page<Page<Node>> trees = c.trees();
        return o.say("a") + o.say("a", 2) + o.say(List.of("a"), "b") + address.getStreet() + trees.getTotal();
    }
}
`;

/**
 * Prints the parameters of each method of the named interfaces as a wrapped request contains them, in the format of
 * `Class.getName`.
 */
const REFLECTOR = `package caller;
class Reflector {
    public static void main(String[] names) throws Exception {
        for (String name : names) {
            for (java.lang.reflect.Method method : Class.forName(name).getMethods()) {
                StringBuilder line = new StringBuilder(name + "." + method.getName() + ":" + method.getReturnType().getName());
                for (Class<?> parameter : method.getParameterTypes()) line.append(" ").append(parameter.getName());
                System.out.println(line);
            }
        }
    }
}
`;

/** Names that a Java compiler rejects without escaping. */
const UNUSUAL = `import type { int } from "triple-es-dubbo/java";
    /** @service a.S */
    export interface S {
      /**
       * Takes something out.
       *
       * @param final how many
       * @throws com.acme.Sold$Out if nothing is left
       * @throws {java.io.IOException} if it rains
       * @throws whenever it likes
       * @throws com.acme.Sold$Out twice
       */
      take(final: int, final_: int, observer: int, e\u0301: int): Promise<int>;
      watch(observer: int): AsyncIterable<int>;
      day(day: Day, base: Sub): void;
    }
    /** @enum java.time.DayOfWeek */ 
    export type Day = "MONDAY";
    /** @class a.Base */
    export interface Base<T = int> { value: T }
    /** @class a.record.Sub */
    export interface Sub extends Base { permits: int; date: Date; String: Own }
    /** @class a.record.String */
    export interface Own { record: string }`;

/** Services with unary methods only, because a stream is a parameter in Java. */
const unary = [ClassesDef, CollectionsDef, EnumsDef, ExportsDef, NullabilityDef, OverloadsDef, ScalarsDef];

describe("the Java side", () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "triple-es-java-"));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  function compile(name: string, sources: Record<string, string>): string {
    const paths = Object.entries(sources).map(([path, text]) => {
      const file = join(folder, name, path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text);
      return file;
    });
    const flags = ["-Xlint:all", "-encoding", "UTF-8", "-d", join(folder, name, "classes")];
    const { stdout, stderr } = spawnSync("javac", [...flags, ...paths], { encoding: "utf8" });
    return stdout + stderr;
  }

  it.skipIf(!hasJavac)(
    `compiles for all fixtures without a warning, and has the types of the signatures${needsJavac}`,
    () => {
      const from = join(root, "fixtures/interface/gen/java");
      const paths = readdirSync(from, { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".java"));
      expect(paths.length).toBeGreaterThan(20);
      const sources = Object.fromEntries(paths.map((path) => [path, readFileSync(join(from, path), "utf8")]));
      const helpers = { "StreamObserver.java": OBSERVER, "Caller.java": CALLER, "Reflector.java": REFLECTOR };
      expect(compile("fixtures", { ...sources, ...helpers })).toBe("");
      const classes = join(folder, "fixtures/classes");
      const services = unary.map(({ typeName }) => typeName);
      const { stdout } = spawnSync("java", ["-cp", classes, "caller.Reflector", ...services], { encoding: "utf8" });
      const declared = unary.flatMap(({ typeName, methods }) =>
        Object.values(methods).map((method) => {
          const { parameters, result } = signatureOf(method);
          return [`${typeName}.${method.name}:${nameOf(result)}`, ...parameters.map(({ type }) => nameOf(type))].join(
            " ",
          );
        }),
      );
      expect(stdout.trim().split("\n").sort()).toEqual(declared.sort());
    },
  );

  it.skipIf(!hasJavac)(`compiles for unusual contracts too${needsJavac}`, () => {
    const files = java(read({ "a.ts": UNUSUAL }));
    const sources = Object.fromEntries(files.map(({ path, text }) => [path, text]));
    const exception =
      "package com.acme;\npublic class Sold {\npublic static class Out extends Exception {\nprivate static final long serialVersionUID = 1L;\n}\n}\n";
    const helpers = { "StreamObserver.java": OBSERVER, "Sold.java": exception };
    expect(files).toHaveLength(4);
    expect(compile("unusual", { ...sources, ...helpers })).toBe("");
  });

  it.skipIf(!hasJavac)(`does not let a comment become code${needsJavac}`, () => {
    const comment = "Ends *\\/ here \\u002a\\u002f class Evil {} @Override <b> {@code";
    const reading = read({
      "a.ts": `/**\n * ${comment}\n * @service a.S */\nexport interface S { m(): Promise<void> }`,
    });
    const [file] = java(reading);
    expect(file?.text).toContain("&#92;u002a");
    expect(compile("comments", { "a/S.java": file?.text ?? "" })).toBe("");
  });
});

describe("contracts that Java cannot declare are refused with the location:", () => {
  const service = (methods: string): string => `/** @service a.S */ export interface S { ${methods} }`;
  it.each([
    [
      "two fields with one accessor",
      { "a.ts": "/** @class a.D */ export interface D { url: string; Url: string }" },
      "a.ts:1:19: error: a.D: Url and url would both have getUrl(); rename a field",
    ],
    [
      "a field whose accessor every object has",
      { "a.ts": "/** @class a.D */ export interface D { Class: string }" },
      "a.ts:1:19: error: a.D: Class and Object would both have getClass(); rename a field",
    ],
    [
      "a class without a package, from a package",
      { "a.ts": `/** @class Bare */ export interface Bare { a: string }\n${service("m(a: Bare[]): void")}` },
      "a.ts:2:42: error: Bare has no package, so a.S cannot refer to it in Java; give it one",
    ],
    [
      "a class without a package, as an argument of one with a package",
      {
        "a.ts": `/** @class Bare */ export interface Bare { a: string }\n${service("m(a: Box<Bare>): void")}\n/** @class a.Box */ export interface Box<T> { of: T }`,
      },
      "a.ts:2:42: error: Bare has no package, so a.S cannot refer to it in Java; give it one",
    ],
    [
      "a class that is a package too",
      {
        "a.ts":
          "/** @class a.b */ export interface B { a: string }\n/** @class a.b.C */ export interface C { a: string }",
      },
      "a.ts:1:19: error: a.b is also the package of another class; rename one of them",
    ],
    [
      "a service of two versions with different methods",
      { "a.ts": service("m(): void"), "b.ts": service("n(): void").replace("a.S", "a.S\n * @version 2") },
      "b.ts:2:18: error: a.S has a different declaration in a.ts:1:21: Java allows one class of a name; " +
        "exclude one of them with a pattern that begins with !",
    ],
    [
      "a service and a class of one name",
      { "a.ts": `${service("m(): void")}\n/** @class a.S */ export interface D { a: string }` },
      "a.ts:2:19: error: a.S has a different declaration in a.ts:1:21: Java allows one class of a name; " +
        "exclude one of them with a pattern that begins with !",
    ],
    [
      "an exception that is data",
      { "a.ts": `/** @class a.D */ export interface D { a: string }\n${service("\n/** @throws a.D */ m(): void")}` },
      "a.ts:3:20: error: a.D is declared as data, which Java cannot throw; name an exception class of your own",
    ],
    [
      "a type parameter that is a word of Java",
      { "a.ts": "/** @class a.D */ export interface D<record> { a: record }" },
      "a.ts:1:19: error: Java does not allow a type parameter with the name record; use T, for example",
    ],
  ])("%s", (_, contracts, problem) => {
    expect(javaProblems(contracts)).toEqual([problem]);
  });
});

describe("a Java class", () => {
  it("is short if that is unambiguous, and qualified otherwise", () => {
    const reading = read({
      "a.ts": `/** @class a.x.User */ export interface One { other: Two | null; when: Date }
        /** @class a.y.User */ export interface Two { one: One | null }
        /** @class a.x.Date */ export interface Three { when: Date }`,
    });
    const texts = new Map(java(reading).map(({ path, text }) => [path, text]));
    expect(texts.get("a/x/User.java")).toContain("private a.y.User other;");
    expect(texts.get("a/x/User.java")).toContain("private java.util.Date when;");
    expect(texts.get("a/y/User.java")).toContain("private a.x.User one;");
  });

  it("is declared for types of packages and other files too", () => {
    const reading = read(
      {
        "a.ts": 'import type { T, E } from "@acme/types";\n/** @service a.S */ export interface S { m(a: T<E>): void }',
      },
      {
        "node_modules/@acme/types/package.json": '{ "name": "@acme/types", "types": "index.d.ts" }',
        "node_modules/@acme/types/index.d.ts": `/** @class acme.T */ export interface T<V> { value: V; next: U<V> | null }
          /** @class acme.U */ export interface U<V> { value: V }
          /** @enum acme.E */ export type E = "A";`,
      },
    );
    expect(reading.problems).toEqual([]);
    const files = java(reading);
    expect(files.map(({ path }) => path)).toEqual(["a/S.java", "acme/E.java", "acme/T.java", "acme/U.java"]);
    expect(files[2]?.text).toContain("public class T<V> implements Serializable");
    expect(files[2]?.text).toContain("\n// @generated from file ../../node_modules/@acme/types/index.d.ts\n");
  });

  it("is used and not declared if it belongs to the JDK", () => {
    const reading = read({
      "a.ts": `/** @service a.S */ export interface S { m(a: Day): void }\n/** @enum java.time.DayOfWeek */ export type Day = "MONDAY";`,
    });
    const [file, ...others] = java(reading);
    expect(others).toEqual([]);
    expect(file?.text).toContain("import java.time.DayOfWeek;\n");
    expect(file?.text).toContain("void m(DayOfWeek a);");
  });

  it("is the class of java.time that it represents", () => {
    const io = "com.alibaba.com.caucho.hessian.io.java8";
    const reading = read({
      "a.ts": `/** @service a.S */ export interface S { m(at: At | null): Promise<On[]> }
        /** @class ${io}.LocalDateHandle */ export interface On { year: bigint }
        /** @class ${io}.LocalDateTimeHandle */ export interface At { date: On }`,
    });
    const [file, ...others] = java(reading);
    expect(others).toEqual([]);
    expect(file?.text).toContain(
      "import java.time.LocalDate;\nimport java.time.LocalDateTime;\nimport java.util.List;\n",
    );
    expect(file?.text).toContain("List<LocalDate> m(LocalDateTime at);");
    expect(stubs(reading)[0]?.text).toContain(`name: "${io}.LocalDateTimeHandle",`);
  });

  it("is declared once for several versions of a service", () => {
    const contract = "/** @service a.S */ export interface S { m(a: string): void }";
    const reading = read({ "a.ts": contract, "b.ts": contract.replace("a.S", "a.S\n * @version 2") });
    expect(java(reading).map(({ path }) => path)).toEqual(["a/S.java"]);
  });
});

describe("a Java method", () => {
  it("declares its exceptions, and has each parameter once", () => {
    const reading = read({ "a.ts": UNUSUAL });
    expect(reading.problems).toEqual([]);
    const text = java(reading).find(({ path }) => path === "a/S.java")?.text;
    expect(text).toContain(
      "int take(int final__, int final_, int observer, int argument3) throws Sold.Out, IOException;",
    );
    expect(text).toContain("void watch(int observer, StreamObserver<Integer> observer_);");
    expect(text).toContain(
      "     * @throws com.acme.Sold$Out if nothing is left\n     * @throws java.io.IOException if it rains\n",
    );
    expect(text).not.toContain("likes");
    expect(text).toContain("import com.acme.Sold;\nimport java.io.IOException;\n");
    expect(stubs(reading)[0]?.text).toContain("   * @throws whenever it likes\n");
  });
});
