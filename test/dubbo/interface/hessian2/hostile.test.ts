/** Hessian 2 from hostile peers: any input is either decoded or rejected, at a cost proportional to its size. */
import fc from "fast-check";
import { createHessian2, hessian2 } from "triple-es-dubbo/hessian2";
import type { JavaClass, JavaType } from "triple-es-dubbo/java";
import { describe, expect, it } from "vitest";
import { Cost } from "../../../../dubbo/src/interface/cost.ts";
import { Everything, everything, User } from "../../../support/shop.ts";

const hex = (text: string): Uint8Array => new Uint8Array(Buffer.from(text.replaceAll(" ", ""), "hex"));
const text = (value: string): string => Buffer.from(hessian2.encode("java.lang.String", value)).toString("hex");
const ANY: JavaType = "java.lang.Object";
const EVERYTHING: JavaType = { class: () => Everything };

/** The decoded value, or the error, which must be an `Error`. */
function outcome(type: JavaType, bytes: Uint8Array): unknown {
  try {
    return hessian2.decode(type, bytes);
  } catch (reason) {
    expect(reason).toBeInstanceOf(Error);
    expect(reason).not.toBeInstanceOf(RangeError);
    return reason;
  }
}

describe("Hessian 2", () => {
  const value = fc.record({
    flag: fc.boolean(),
    byte: fc.integer({ min: -128, max: 127 }),
    short: fc.integer({ min: -32_768, max: 32_767 }),
    int: fc.integer(),
    long: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
    float: fc.float(),
    double: fc.double(),
    char: fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)),
    text: fc.option(fc.string({ unit: "binary", maxLength: 100 })),
    boxed: fc.option(fc.integer()),
    decimal: fc.option(fc.integer().map((digits) => `${digits}.50`)),
    big: fc.option(fc.bigInt().map(String)),
    date: fc.option(fc.date({ noInvalidDate: true })),
    bytes: fc.option(fc.uint8Array({ maxLength: 2000 })),
    longs: fc.option(fc.array(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }))),
    ints: fc.option(fc.array(fc.integer())),
    chars: fc.option(fc.array(fc.constantFrom("a", "ß", "\ud83d", "\u0000"))),
    words: fc.option(fc.uniqueArray(fc.string()).map((words) => new Set(words))),
    counts: fc.option(fc.uniqueArray(fc.integer()).map((keys) => new Map(keys.map((key) => [key, BigInt(key)])))),
    labels: fc.option(fc.dictionary(fc.string(), fc.string(), { noNullPrototype: true })),
    user: fc.option(
      fc.record({ friends: fc.constant([]), id: fc.constant(null), age: fc.integer(), name: fc.string() }),
    ),
    color: fc.option(fc.constantFrom("RED", "GREEN")),
    any: fc.oneof(fc.string(), fc.boolean(), fc.bigInt({ min: 0n, max: 10n }), fc.constant(null)),
  });

  it("decodes its own output", () => {
    fc.assert(
      fc.property(value, (given) => {
        expect(hessian2.decode(EVERYTHING, hessian2.encode(EVERYTHING, given))).toEqual(given);
      }),
    );
  });

  it("decodes any bytes to a value or an error", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.constantFrom<JavaType>(ANY, EVERYTHING), (bytes, type) => {
        outcome(type, bytes);
      }),
      { numRuns: 2000 },
    );
  });

  it("decodes data with one changed byte to a value or an error", () => {
    const bytes = hessian2.encode(EVERYTHING, everything);
    fc.assert(
      fc.property(fc.nat(bytes.byteLength - 1), fc.nat(255), (index, byte) => {
        outcome(EVERYTHING, bytes.with(index, byte));
      }),
      { numRuns: 2000 },
    );
  });

  it("notices data that is cut off, wherever it is", () => {
    const bytes = hessian2.encode(EVERYTHING, everything);
    for (let end = 0; end < bytes.byteLength; end += 1) {
      expect(outcome(EVERYTHING, bytes.subarray(0, end))).toBeInstanceOf(Error);
    }
  });

  it("refuses bytes after the value", () => {
    expect(() => hessian2.decode("int", hex("91 91"))).toThrow("the value ends at byte 1, but data follows");
  });

  it.each([
    "com.sun.rowset.JdbcRowSetImpl",
    "org.springframework.beans.factory.support.DefaultListableBeanFactory",
    "com.rometools.rome.feed.impl.ToStringBean",
    "javax.naming.InitialContext",
    "sun.print.UnixPrintServiceLookup",
    "java.lang.ProcessBuilder",
  ])("treats the name of the class %s as text, and refuses it", (name) => {
    const definition = `43 ${text(name)} 91 ${text("value")} 60 ${text("x")}`;
    expect(outcome(ANY, hex(definition))).toMatchObject({ message: `class "${name}" is not declared` });
    const map = `4d ${text(name)} ${text("value")} 91 5a`;
    expect(outcome(ANY, hex(map))).toMatchObject({ message: `class "${name}" is not declared` });
    expect(outcome({ class: () => User }, hex(definition))).toMatchObject({
      message: `class "${name}" is not declared`,
    });
  });

  it("does not change prototypes for any names of keys and fields", () => {
    const before = Object.getOwnPropertyNames(Object.prototype);
    const Odd: JavaClass = { name: "com.acme.Odd", fields: { ["__proto__"]: ANY, constructor: ANY } };
    const map = `48 ${text("__proto__")} 48 ${text("polluted")} 54 5a ${text("constructor")} 91 5a`;
    const record = hessian2.decode({ map: ["java.lang.String", ANY], record: true }, hex(map)) as object;
    expect(Object.getPrototypeOf(record)).toBe(Object.prototype);
    expect(Object.keys(record)).toEqual(["__proto__", "constructor"]);
    const odd = `43 ${text("com.acme.Odd")} 92 ${text("__proto__")} ${text("constructor")} 60 48 5a 91`;
    const object = hessian2.decode({ class: () => Odd }, hex(odd)) as object;
    expect(Object.getPrototypeOf(object)).toBe(Object.prototype);
    expect(Object.getOwnPropertyNames(Object.prototype)).toEqual(before);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });

  it("refuses text whose bytes begin as no character of UTF-8 does", () => {
    expect(() => hessian2.decode(ANY, hex("02 f8 90 80 80"))).toThrow();
    expect(hessian2.decode(ANY, hex("02 f0 90 80 80"))).toBe("\u{10000}");
  });

  it("refuses data that is too deep", () => {
    expect(outcome(ANY, new Uint8Array(100_000).fill(0x57))).toMatchObject({
      message: expect.stringContaining("there are more than the limit of 200 levels"),
    });
    const unsaid = createHessian2({ limits: { maxDepth: undefined } });
    expect(() => unsaid.decode(ANY, new Uint8Array(100_000).fill(0x57))).toThrow("the limit of 200 levels");
    const shallow = createHessian2({ limits: { maxDepth: 2 } });
    expect(shallow.decode(ANY, hex("79 79 91"))).toEqual([[1]]);
    expect(() => shallow.decode(ANY, hex("79 79 79 91"))).toThrow("the limit of 2 levels");
  });

  it("sets nothing aside for a length that is only announced", () => {
    expect(outcome(ANY, hex("58 49 7fffffff"))).toMatchObject({ message: expect.stringContaining("the data ends") });
    expect(outcome(ANY, hex("43 00 49 7fffffff"))).toMatchObject({ message: expect.stringContaining("the data ends") });
    expect(outcome(ANY, hex("42 ffff 00"))).toMatchObject({ message: expect.stringContaining("the data ends") });
  });

  it.each([
    [{ maxBytes: Number.NaN }, "limits.maxBytes must be a positive integer, not NaN"],
    [{ maxDepth: 0 }, "limits.maxDepth must be a positive integer, not 0"],
    [{ maxValues: 1 }, 'limits: "maxValues" is not among: maxDepth, maxClasses, maxBytes'],
  ])("refuses limits that are invalid: %j", (limits, message) => {
    expect(() => createHessian2({ limits: limits as object })).toThrow(message);
  });

  it("keeps nothing of the message in bytes, also if it is a Buffer", () => {
    const message = Buffer.from(hessian2.encode("[B", Uint8Array.of(1, 2)));
    const bytes = hessian2.decode("[B", message);
    message.fill(0);
    expect(bytes).toStrictEqual(Uint8Array.of(1, 2));
  });

  it("refuses options that are misspelled", () => {
    const given: object = { enum: [] };
    expect(() => createHessian2(given)).toThrow(
      'the options of createHessian2: there is no "enum", did you mean "enums"?',
    );
  });

  it("limits values, lists and classes", () => {
    const strict = createHessian2({ limits: { maxClasses: 2 } });
    const decode = (bytes: string): unknown => strict.decode(ANY, hex(bytes), new Cost(10));
    const TOO_MANY = "there are at least 11 values, more than the limit of 10 (option maxMessageValues)";
    expect(decode(`57 ${"91".repeat(36)} 5a`)).toHaveLength(36);
    expect(() => decode(`57 ${"91".repeat(37)} 5a`)).toThrow(TOO_MANY);
    expect(decode(`57 ${"78".repeat(9)} 5a`)).toHaveLength(9);
    expect(() => decode(`57 ${"78".repeat(10)} 5a`)).toThrow(TOO_MANY);
    expect(() => decode(`43 00 49 7fffffff ${"00".repeat(20)}`)).toThrow(TOO_MANY);
    expect(() => decode(`${"41 0000".repeat(50)} 20`)).toThrow(TOO_MANY);
    expect(() => decode(`${"52 0000".repeat(50)} 00`)).toThrow(TOO_MANY);
    expect(() => decode("43 00 90 43 00 90 43 00 90 60")).toThrow("the limit of 2 classes");
  });

  it("refuses references and types that lead nowhere", () => {
    expect(outcome(ANY, hex("51 90"))).toMatchObject({ message: "reference 0 does not exist: there are 0" });
    expect(outcome(ANY, hex("79 51 91"))).toMatchObject({ message: "reference 1 does not exist: there are 1" });
    expect(outcome(ANY, hex("70 90"))).toMatchObject({ message: "type 0 is used, but 0 are named" });
    expect(outcome(ANY, hex("60"))).toMatchObject({ message: "class 0 is used, but 0 are defined" });
  });

  it("limits the depth of references, whatever the data declares", () => {
    const Node: JavaClass = { name: "com.acme.Node", fields: { next: { class: () => Node } } };
    const Top: JavaClass = { name: "com.acme.Top", fields: { all: ANY, last: { class: () => Node } } };
    const count = 5000;
    const int = (value: number): string => `49 ${value.toString(16).padStart(8, "0")}`;
    const maps = Array.from({ length: count }, (_, index) =>
      index === 0 ? "48 5a" : `48 ${text("next")} 51 ${int(index + 1)} 5a`,
    );
    const bytes = `43 ${text("com.acme.Top")} 92 ${text("all")} ${text("last")} 60 57 ${maps.join(" ")} 5a 51 ${int(count + 1)}`;
    expect(outcome({ class: () => Top }, hex(bytes))).toMatchObject({
      message: expect.stringContaining("the data refers to itself too deeply"),
    });
  });

  it.each<[string, JavaType, string]>([
    ["null", "int", "4e"],
    ["a long beyond it", "int", "4c 0000000100000000"],
    ["an int beyond it", "byte", "c0 00"],
    ["a fraction", "long", "5f 000005dc"],
    ["a string", "boolean", text("true")],
    ["two characters", "char", text("ab")],
    ["a list", { class: () => User }, "78"],
    ["a map", { list: ANY }, "48 5a"],
    ["an unknown name", { enum: { name: "E", values: ["A"] } }, `43 ${text("E")} 91 ${text("name")} 60 ${text("B")}`],
    ["an invalid date", ANY, "4a 7fffffffffffffff"],
    ["digits that are none", "java.math.BigDecimal", text("1e")],
    ["bytes that are not UTF-8", "java.lang.String", "01 ff"],
  ])("refuses %s as %j", (_what, type, bytes) => {
    expect(() => hessian2.decode(type, hex(bytes))).toThrow(Error);
  });

  it("decodes exceptions with circular causes or unusual fields, and refuses other objects", () => {
    const throwable = (name: string, cause: string): string =>
      `43 ${text(name)} 92 ${text("cause")} ${text("odd")} ${cause}`;
    // The cause of the inner exception is the outer one; the additional field is an object of an undeclared class.
    const gadget = `43 ${text("com.acme.Gadget")} 90 62`;
    const inner = throwable("com.acme.Inner", `61 5190 ${gadget}`);
    const outer = hessian2.decodeException?.(hex(throwable("com.acme.Outer", `60 ${inner} 91`)));
    expect(outer).toMatchObject({ className: "com.acme.Outer", detailMessage: null, fields: { odd: 1 }, trace: [] });
    expect(outer?.cause).toMatchObject({ className: "com.acme.Inner", fields: { odd: undefined } });
    expect((outer?.cause as Error | undefined)?.cause).toBeUndefined();
    expect(() => hessian2.decodeException?.(hex("91"))).toThrow("the data is not an exception");
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
        expect(() => {
          try {
            hessian2.decodeException?.(bytes);
          } catch (reason) {
            if (!(reason instanceof Error)) throw reason;
          }
        }).not.toThrow();
      }),
    );
  });

  it("refuses to encode an infinite value", () => {
    let deep: unknown[] = [];
    for (let i = 0; i < 1000; i += 1) deep = [deep];
    expect(() => hessian2.encode(ANY, deep)).toThrow("more than 200 levels deep");
  });

  it("reads a pair of surrogates in four bytes, as UTF-8 has it", () => {
    expect(hessian2.decode("java.lang.String", hex("02 f09f9880"))).toBe("\u{1F600}");
    expect(() => hessian2.decode("java.lang.String", hex("01 f09f9880"))).toThrow("beyond the end of its string");
  });
});
