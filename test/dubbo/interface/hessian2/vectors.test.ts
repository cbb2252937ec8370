/** Compares Hessian 2 with the output of Dubbo's encoder, recorded in fixtures/wire/dubbo. */
import { readFileSync } from "node:fs";
import { createHessian2, hessian2 } from "triple-es-dubbo/hessian2";
import { type JavaClass, type JavaEnum, JavaException, type JavaType, typed } from "triple-es-dubbo/java";
import { describe, expect, it } from "vitest";
import { ROOT } from "../../../support/documents.ts";

const recorded: Readonly<Record<string, string>> = JSON.parse(
  readFileSync(`${ROOT}fixtures/wire/dubbo/hessian-values.json`, "utf8"),
);

function bytesOf(name: string): Uint8Array {
  const hex = recorded[name];
  if (hex === undefined) throw new Error(`nothing is recorded under "${name}"`);
  return new Uint8Array(Buffer.from(hex, "hex"));
}

const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

const Address: JavaClass = {
  name: "com.example.interop.Address",
  fields: { number: "int", street: "java.lang.String" },
};
const Level: JavaEnum = { name: "com.example.interop.Level", values: ["NOVICE", "EXPERT"] };
const User: JavaClass = {
  name: "com.example.interop.User",
  fields: {
    name: "java.lang.String",
    age: "int",
    id: "long",
    score: "java.lang.Long",
    active: "boolean",
    weight: "double",
    level: { enum: Level },
    balance: "java.math.BigDecimal",
    born: "java.util.Date",
    avatar: "[B",
    address: { class: () => Address },
    tags: { list: "java.lang.String" },
    places: { map: ["java.lang.String", { class: () => Address }] },
    manager: { class: () => User },
  },
};
/** The classes of hessian-lite for java.time, each with the fields in Java's order. */
const TIMES = "com.alibaba.com.caucho.hessian.io.java8";
const LocalTime: JavaClass = {
  name: `${TIMES}.LocalTimeHandle`,
  fields: { nano: "int", second: "int", minute: "int", hour: "int" },
};
const LocalDate: JavaClass = { name: `${TIMES}.LocalDateHandle`, fields: { day: "int", month: "int", year: "int" } };
const LocalDateTime: JavaClass = {
  name: `${TIMES}.LocalDateTimeHandle`,
  fields: { time: { class: () => LocalTime }, date: { class: () => LocalDate } },
};
const zoe = {
  name: "Zoë",
  age: 41,
  id: 9007199254740993n,
  score: 5n,
  active: true,
  weight: 61.5,
  level: "EXPERT",
  balance: "12.50",
  born: new Date(894_621_091_000),
  avatar: Uint8Array.of(1, 2, 3),
  address: { number: 7, street: "Hauptstraße" },
  tags: ["a", "b"],
  places: new Map([["work", { number: 1, street: "Allee" }]]),
  manager: null,
};
const counting = (length: number): Uint8Array => Uint8Array.from({ length }, (_, index) => index);

const numbers = Object.keys(recorded).flatMap((name): [string, JavaType, unknown][] => {
  const [kind, value = ""] = name.split(" ");
  if (kind === "int" || kind === "byte" || kind === "short") return [[name, kind, Number(value)]];
  if (kind === "long") return [[name, kind, BigInt(value)]];
  return kind === "double" ? [[name, kind, Number(value)]] : [];
});

/** Values that are written as in Java, byte for byte. */
const both: readonly [name: string, type: JavaType, value: unknown][] = [
  ["null", "java.lang.String", null],
  ["true", "boolean", true],
  ["false", "java.lang.Boolean", false],
  ...numbers.filter(([name]) => name !== "double -0.0"),
  ["float 1.5", "float", 1.5],
  ["float 0.1", "float", 0.1],
  ["char A", "char", "A"],
  ["string ", "java.lang.String", ""],
  ["string abc", "java.lang.String", "abc"],
  ["string umlauts", "java.lang.String", "Grüße, Zoë"],
  ["string chinese", "java.lang.String", "你好"],
  ["string emoji", "java.lang.String", "\u{1F600} smile"],
  ["string 31", "java.lang.String", "x".repeat(31)],
  ["string 32", "java.lang.String", "x".repeat(32)],
  ["string 1023", "java.lang.String", "x".repeat(1023)],
  ["string 1024", "java.lang.String", "x".repeat(1024)],
  ["string pair across a chunk", "java.lang.String", `${"x".repeat(0x7fff)}\u{1F600} end`],
  ["bytes ", "[B", new Uint8Array(0)],
  ["bytes 15", "[B", counting(15)],
  ["bytes 16", { array: "byte" }, counting(16)],
  ["bytes 1023", "[B", counting(1023)],
  ["bytes 1024", "[B", counting(1024)],
  ["date 0", "java.util.Date", new Date(0)],
  ["date 894621091000", "java.util.Date", new Date(894_621_091_000)],
  ["date 894621060000", "java.util.Date", new Date(894_621_060_000)],
  ["date -1", "java.util.Date", new Date(-1)],
  ["date 1700000000123", "java.util.Date", new Date(1_700_000_000_123)],
  ["list ", { list: "java.lang.String" }, []],
  ["list of strings", { list: "java.lang.String" }, ["a", "b"]],
  ["list of 10 ints", { list: "java.lang.Integer" }, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]],
  ["int[]", { array: "int" }, [1, 2, 300]],
  ["long[]", { array: "long" }, [1n, 2n, 300n]],
  ["double[]", { array: "double" }, [1, 2.5]],
  ["boolean[]", { array: "boolean" }, [true, false]],
  ["String[]", { array: "java.lang.String" }, ["a", "b"]],
  ["Object[]", { array: "java.lang.Object" }, ["a", 1, null]],
  ["map ", { map: ["java.lang.String", "java.lang.String"] }, new Map()],
  ["map Map.of", { map: ["java.lang.String", "java.lang.Integer"] }, new Map([["a", 1]])],
  ["map Map.of", { map: ["java.lang.String", "java.lang.Integer"], record: true }, { a: 1 }],
  ["enum", { enum: Level }, "EXPERT"],
  ["BigDecimal 12.50", "java.math.BigDecimal", "12.50"],
  ["object Address", { class: () => Address }, { number: 7, street: "Hauptstraße" }],
];

/** Encodings that Java writes. They are read, but not written. */
const readOnly: readonly [name: string, type: JavaType, value: unknown][] = [
  ["double -0.0", "double", 0],
  ["bytes 10000", "[B", counting(10_000).map((one) => one)],
  ["list Arrays.asList", "java.lang.Object", ["a", 1, 2n, null]],
  ["list List.of", { list: "java.lang.String" }, ["a", "b"]],
  ["set", { set: "java.lang.String" }, new Set(["a", "b"])],
  ["map of strings", { map: ["java.lang.String", "java.lang.String"] }, new Map([["a", "b"]])],
  ["list of enums", { list: { enum: Level } }, ["EXPERT", "NOVICE", "EXPERT"]],
  ["BigInteger", "java.math.BigInteger", "123456789012345678901234567890"],
  ["object User", { class: () => User }, zoe],
  ["User[]", { array: { class: () => User } }, [zoe, null]],
];

describe("Hessian 2 of Dubbo for Java", () => {
  it.each(both)("is written the same: %s", (name, type, value) => {
    expect(hexOf(hessian2.encode(type, value))).toBe(recorded[name]);
  });

  it.each([...both, ...readOnly])("is read: %s", (name, type, value) => {
    expect(hessian2.decode(type, bytesOf(name))).toEqual(value);
  });

  it("distinguishes int, long and double if no type is declared", () => {
    const any = hessian2.decode("java.lang.Object", bytesOf("map HashMap mixed"));
    expect(any).toEqual(new Map<unknown, unknown>(Object.entries({ a: 1 })).set(2n, "two").set(3, null));
    expect(hexOf(hessian2.encode("java.lang.Object", 1n))).toBe("e1");
    expect(hexOf(hessian2.encode("java.lang.Object", typed("double", 1)))).toBe("5c");
    expect(hexOf(hessian2.encode("java.lang.Object", 1))).toBe("91");
    expect(hexOf(hessian2.encode("java.lang.Object", 1.5))).toBe("5f000005dc");
  });

  it("reads repeated and recursive references as one object", () => {
    const [one, two] = hessian2.decode(
      { list: { class: () => Address } },
      bytesOf("list with one object twice"),
    ) as object[];
    expect(one).toBe(two);
    const boss = hessian2.decode({ class: () => User }, bytesOf("object User with itself")) as typeof zoe;
    expect(boss.manager).toBe(boss);
    expect(boss.name).toBe("Ada");
  });

  it("writes a repeated object once, in the same bytes as Java", () => {
    const shared = { number: 1, street: "shared" };
    const bytes = hessian2.encode({ list: { class: () => Address } }, [shared, shared]);
    expect(hexOf(bytes)).toBe(recorded["list with one object twice"]);
  });

  it.each([
    ["exception PlainException", "com.example.interop.PlainException", "no", { reason: 7 }],
    ["exception without a message", "java.lang.NullPointerException", null, {}],
    ["exception with a cause", "java.lang.IllegalStateException", "outer", {}],
    ["exception with a stack", "java.lang.IllegalArgumentException", "traced", {}],
  ])("is read as an exception: %s", (name, className, detailMessage, fields) => {
    expect(hessian2.decodeException?.(bytesOf(name))).toMatchObject({ className, detailMessage, fields });
  });

  it("is read with its cause and its stack trace", () => {
    const outer = hessian2.decodeException?.(bytesOf("exception with a cause"));
    expect(outer?.cause).toMatchObject({ className: "java.lang.RuntimeException", detailMessage: "inner" });
    const traced = hessian2.decodeException?.(bytesOf("exception with a stack"));
    expect(traced?.trace).toEqual(["com.example.A.b(A.java:12)"]);
  });

  it("carries an exception that we write", () => {
    const cause = new JavaException("java.lang.RuntimeException");
    const exception = new JavaException("com.acme.Broken", "why", { fields: { reason: 7, at: new Date(0) }, cause });
    const read = hessian2.decodeException?.(hessian2.encodeException?.(exception) as Uint8Array);
    expect(read).toMatchObject({ className: "com.acme.Broken", detailMessage: "why", fields: exception.fields });
    expect(read?.cause).toMatchObject({ className: "java.lang.RuntimeException", detailMessage: null });
  });

  it.each<[string, JavaClass, unknown, string]>([
    [
      "LocalDateTime",
      LocalDateTime,
      { date: { year: 2020, month: 5, day: 17 }, time: { hour: 9, minute: 51, second: 31, nano: 5 } },
      "43303b636f6d2e616c69626162612e636f6d2e63617563686f2e6865737369616e2e696f2e6a617661382e4c6f63616c4461746554696d" +
        "6548616e646c65920474696d65046461746560433037636f6d2e616c69626162612e636f6d2e63617563686f2e6865737369616e2e69" +
        "6f2e6a617661382e4c6f63616c54696d6548616e646c6594046e616e6f067365636f6e64066d696e75746504686f75726195afc83399" +
        "433037636f6d2e616c69626162612e636f6d2e63617563686f2e6865737369616e2e696f2e6a617661382e4c6f63616c446174654861" +
        "6e646c659303646179056d6f6e7468047965617262a195cfe4",
    ],
    [
      "UUID",
      { name: "java.util.UUID", fields: { value: "java.lang.String" } },
      { value: "e718b269-9aad-47b4-a009-289d0e29e6d1" },
      "430e6a6176612e7574696c2e55554944910576616c756560302465373138623236392d396161642d343762342d613030392d323839643065" +
        "323965366431",
    ],
  ])("is read and written as a class: %s", (_name, declared, value, bytes) => {
    const type: JavaType = { class: () => declared };
    expect(hessian2.decode(type, new Uint8Array(Buffer.from(bytes, "hex")))).toEqual(value);
    expect(hexOf(hessian2.encode(type, value))).toBe(bytes);
  });

  it("creates objects of registered classes only", () => {
    const bytes = bytesOf("object Address");
    expect(() => hessian2.decode("java.lang.Object", bytes)).toThrow(
      'class "com.example.interop.Address" is not declared',
    );
    const knowing = createHessian2({ classes: [Address], enums: [Level] });
    expect(knowing.decode("java.lang.Object", bytes)).toEqual({ number: 7, street: "Hauptstraße" });
    expect(knowing.decode("java.lang.Object", bytesOf("enum"))).toBe("EXPERT");
  });
});
