/** The Java side of contracts: what is printed, and that a Java compiler takes it. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ClassesDef } from "../../fixtures/interface/gen/classes_triple.ts";
import { CollectionsDef } from "../../fixtures/interface/gen/collections_triple.ts";
import { EnumsDef } from "../../fixtures/interface/gen/enums_triple.ts";
import { NullabilityDef } from "../../fixtures/interface/gen/nullability_triple.ts";
import { OverloadsDef } from "../../fixtures/interface/gen/overloads_triple.ts";
import { ScalarsDef } from "../../fixtures/interface/gen/scalars_triple.ts";
import { nameOf } from "../../runtime/src/java/type.ts";
import { JavaError } from "../../src/interface/java-file.ts";
import { root } from "../plugin/support/protos.ts";
import { java, read } from "./support/contracts.ts";

const hasJavac = spawnSync("javac", ["-version"]).status === 0;
const needsJavac = hasJavac ? "" : " (skipped: needs javac)";

/** Of Dubbo's own library, as far as generated code refers to it. */
const OBSERVER = `package org.apache.dubbo.common.stream;
public interface StreamObserver<T> {
    void onNext(T data);
    void onError(Throwable throwable);
    void onCompleted();
}
`;

/** Calls everything that generated code of fixtures has, with the types that Java must see. */
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

/** Prints what a wrapped request says of each method of the named interfaces: its parameters as `Class.getName` writes them. */
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

/** Services whose methods are all unary: a stream is a parameter in Java. */
const unary = [ClassesDef, CollectionsDef, EnumsDef, NullabilityDef, OverloadsDef, ScalarsDef];

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
    `of all fixtures compiles without a warning, and has the types that signatures say${needsJavac}`,
    { timeout: 60_000 },
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
        Object.values(methods).map(({ name, signature }) => {
          const { parameters = [], result = "void" } = signature ?? {};
          return [`${typeName}.${name}:${nameOf(result)}`, ...parameters.map(({ type }) => nameOf(type))].join(" ");
        }),
      );
      expect(stdout.trim().split("\n").sort()).toEqual(declared.sort());
    },
  );

  it.skipIf(!hasJavac)(`lets no comment become code${needsJavac}`, { timeout: 60_000 }, () => {
    const comment = "Ends *\\/ here \\u002a\\u002f class Evil {} @Override <b> {@code";
    const reading = read({
      "a.ts": `/**\n * ${comment}\n * @service a.S */\nexport interface S { m(): Promise<void> }`,
    });
    const [file] = java(reading);
    expect(file?.text).toContain("&#92;u002a");
    expect(compile("comments", { "a/S.java": file?.text ?? "" })).toBe("");
  });
});

describe("a Java class", () => {
  it("cannot have two fields with one accessor", () => {
    const reading = read({ "a.ts": "/** @class a.D */ export interface D { url: string; Url: string }" });
    expect(() => java(reading)).toThrow(new JavaError("a.D: Url and url would both have getUrl()"));
  });

  it("cannot have a field whose accessor every object has", () => {
    const reading = read({ "a.ts": "/** @class a.D */ export interface D { Class: string }" });
    expect(() => java(reading)).toThrow("a.D: Class and Object would both have getClass()");
  });

  it("is short where that is clear, and full where it is not", () => {
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
});
