/**
 * References of Hessian 2: a repeated object is created once and written once, so that the work is proportional to the
 * bytes.
 */
import { createHessian2, hessian2 } from "triple-es-dubbo/hessian2";
import { type JavaClass, type JavaType, typed } from "triple-es-dubbo/java";
import { afterEach, describe, expect, it, vi } from "vitest";
import { Cost } from "../../../../dubbo/src/interface/cost.ts";
import { ClassDefinition, RawObject } from "../../../../dubbo/src/interface/hessian2/raw.ts";

const ANY: JavaType = "java.lang.Object";
const hex = (text: string): Uint8Array => new Uint8Array(Buffer.from(text.replaceAll(" ", ""), "hex"));
const text = (value: string): string => Buffer.from(hessian2.encode("java.lang.String", value)).toString("hex");
const int = (value: number): string => Buffer.from(hessian2.encode("int", value)).toString("hex");
const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

/** A class that contains itself under two types, in the given order. */
function nodeClass(order: readonly ("left" | "right")[]): JavaClass {
  const types = { left: { class: () => Node }, right: ANY } as const;
  const Node: JavaClass = {
    name: "com.acme.Node",
    get fields(): Readonly<Record<string, JavaType>> {
      return Object.fromEntries(order.map((field) => [field, types[field]]));
    },
  };
  return Node;
}

/** Nested objects, each of which occurs twice in the one that contains it. */
function doubled(depth: number, make: (inner: unknown) => unknown): unknown {
  let value: unknown = null;
  for (let i = 0; i < depth; i += 1) value = make(value);
  return value;
}

afterEach(() => {
  vi.unstubAllGlobals();
});

describe("reading", () => {
  const words = `${int(1024)}${int(0x7fffffff).repeat(1024)}`;
  const definition = `43 ${text("java.math.BigInteger")} 92 ${text("signum")} ${text("mag")}`;

  /** Counts how often the digits of an integer were computed during `work`. */
  function conversions(work: () => unknown): number {
    let count = 0;
    const counting = new Proxy(BigInt, {
      apply(target, self, given) {
        if (typeof given[0] === "string") count += 1;
        return Reflect.apply(target as never, self, given);
      },
    });
    vi.stubGlobal("BigInt", counting);
    work();
    vi.unstubAllGlobals();
    return count;
  }

  it("computes the digits of a BigInteger once for any number of references", () => {
    const references = 2000;
    const bytes = hex(
      `58 ${int(references + 1)} ${definition} 60 91 56 ${text("[int")} ${words} ${"5191".repeat(references)}`,
    );
    let list: unknown;
    expect(conversions(() => (list = hessian2.decode(ANY, bytes)))).toBe(1);
    expect(new Set(list as string[]).size).toBe(1);
  });

  it("reads the words of a BigInteger once for any number of numbers that use them", () => {
    const numbers = 2000;
    const bytes = hex(
      `58 ${int(numbers + 1)} ${definition} 60 91 56 ${text("[int")} ${words} ${"608f5192".repeat(numbers)}`,
    );
    let list: string[] = [];
    expect(conversions(() => (list = hessian2.decode(ANY, bytes) as string[]))).toBe(1);
    expect(list[1]).toBe(`-${list[0]}`);
  });

  it("finds a field without looking at all the others", () => {
    const names = Array.from({ length: 1000 }, (_, index) => `f${index}`);
    let reads = 0;
    const counted = new Proxy(names, {
      get(target, key, receiver) {
        reads += 1;
        return Reflect.get(target, key, receiver);
      },
    });
    const object = new RawObject(new ClassDefinition("com.acme.Wide", counted));
    object.values.push(...names);
    for (const name of names) expect(object.get(name)).toBe(name);
    expect(reads).toBeLessThan(10 * names.length);
  });

  it("takes of two fields of one name the last, as Java does", () => {
    const Base: JavaClass = { name: "V$Base", fields: { n: "int", name: "java.lang.String", x: ANY } };
    const known = createHessian2({ classes: [{ ...Base, name: "V$Sub" }] });
    // hessian-lite writes a class and its base that both have n and name in this way: V$Sub { n, f, name; n, name, x }.
    const recorded = "43055624537562960178046e616d65016e0166046e616d65016e604e046261736591443fb99999a00000000373756292";
    const read = known.decode({ class: () => Base }, hex(recorded));
    expect(read).toEqual({ n: 2, name: "sub", x: null });
  });

  it("counts values that are created for missing fields", () => {
    const fields = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`f${index}`, ANY] as const));
    const Wide: JavaClass = { name: "W", fields };
    const known = createHessian2({ classes: [Wide] });
    const bytes = (objects: number) => hex(`58 ${int(objects)} 43 ${text("W")} 90 ${"60".repeat(objects)}`);
    // An object with 100 fields counts as 26, and the list as 1.
    expect(known.decode(ANY, bytes(9), new Cost(260))).toHaveLength(9);
    expect(() => known.decode(ANY, bytes(10), new Cost(260))).toThrow("more than the limit of 260 (");
  });
});

describe("writing", () => {
  it.each([
    ["a class, and then any object", nodeClass(["left", "right"])],
    ["any object, and then a class", nodeClass(["right", "left"])],
  ])("writes bytes in proportion to the objects if they are declared as %s", (_order, Node) => {
    const size = (depth: number): number =>
      hessian2.encode(
        { class: () => Node },
        doubled(depth, (inner) => ({ left: inner, right: inner })),
      ).byteLength;
    expect(size(16) - size(8)).toBeLessThan(3 * (size(8) - size(4)));
  });

  it("refers to an object inside itself, under whichever type", () => {
    const Owned: JavaClass = { name: "N", fields: { owner: ANY } };
    const node: { owner: unknown } = { owner: null };
    node.owner = node;
    const bytes = hessian2.encode({ class: () => Owned }, node);
    expect(hexOf(bytes)).toBe(`43${text("N")}91${text("owner")}605190`);
    const read = hessian2.decode({ class: () => Owned }, bytes) as typeof node;
    expect(read.owner).toBe(read);
    const list: unknown[] = [];
    list.push(list);
    const map = { map: ["java.lang.String", ANY] } as const;
    expect(hexOf(hessian2.encode(map, { a: list }))).toBe(`48${text("a")}7951915a`);
    expect(hexOf(hessian2.encode({ array: ANY }, list))).toBe(`71${text("[object")}5190`);
  });

  it("writes an object again if it has another type", () => {
    const shared = [1];
    const Both: JavaClass = {
      name: "B",
      fields: { list: { list: "int" }, set: { set: "int" }, long: { list: "long" } },
    };
    const bytes = hessian2.encode({ class: () => Both }, { list: shared, set: shared, long: shared });
    expect(hessian2.decode({ class: () => Both }, bytes)).toEqual({ list: [1], set: new Set([1]), long: [1n] });
    const Lists: JavaClass = { name: "L", fields: { ints: { list: "int" }, longs: { list: "long" } } };
    const lists = hessian2.encode({ class: () => Lists }, { ints: shared, longs: shared });
    expect(hexOf(lists)).toBe(`43${text("L")}92${text("ints")}${text("longs")}60799179e1`);
  });

  it("counts references in the order in which Java does", () => {
    const shared = { n: 1 };
    const big = typed("java.math.BigInteger", "12345678901234567890");
    const bytes = hessian2.encode({ list: ANY }, [big, new Set([1]), shared, big, shared]);
    const [first, set, one, second, two] = hessian2.decode({ list: ANY }, bytes) as unknown[];
    expect([first, set, second]).toEqual(["12345678901234567890", new Set([1]), "12345678901234567890"]);
    expect(one).toEqual(new Map([["n", 1]]));
    expect(two).toBe(one);
  });

  it("stops at its limits", () => {
    const strict = createHessian2({ limits: { maxBytes: 1000 } });
    const TOO_MANY = "there are at least 4 values, more than the limit of 3 (option maxMessageValues)";
    const numbers = (count: number): number[] => Array.from({ length: count }, () => 1);
    expect(strict.encode(ANY, numbers(8), new Cost(3))).toHaveLength(10);
    expect(() => strict.encode(ANY, numbers(9), new Cost(3))).toThrow(TOO_MANY);
    expect(strict.encode(ANY, [[], []], new Cost(3))).toHaveLength(3);
    expect(() => strict.encode(ANY, [[], [], []], new Cost(3))).toThrow(TOO_MANY);
    expect(() => strict.encode(ANY, ["x".repeat(600), "x".repeat(600)])).toThrow("the limit of 1000 bytes");
    expect(() => strict.encode("[B", new Uint8Array(1001))).toThrow("the limit of 1000 bytes");
  });

  it("names arrays of bytes as Java does", () => {
    const recorded = "72065b5b6279746521012102";
    const value = [Uint8Array.of(1), Uint8Array.of(2)];
    for (const type of [{ array: "[B" }, { array: { array: "byte" } }] as const) {
      expect(hexOf(hessian2.encode(type, value))).toBe(recorded);
      expect(hessian2.decode(type, hex(recorded))).toEqual(value);
      expect(hessian2.decode(type, hex(`72${text("[[B")}21012102`))).toEqual(value);
    }
  });
});

it("a million references to one object are refused, to read and to write", () => {
  const references = 1_000_000;
  const bytes = Buffer.from(`5748 5a${"5191".repeat(references)}5a`.replaceAll(" ", ""), "hex");
  expect(() => hessian2.decode(ANY, bytes)).toThrow("more than the limit of 65536 (");
  const one = { a: 1 };
  const list = Array.from({ length: references }, () => one);
  expect(() => hessian2.encode(ANY, list)).toThrow("more than the limit of 65536 (");
});

describe("sets", () => {
  const Color = { name: "V$E", values: ["A", "B"] };
  /** hessian-lite writes `EnumSet.of(E.B)` in this way. */
  const recorded =
    "433030636f6d2e616c69626162612e636f6d2e63617563686f2e6865737369616e2e696f2e456e756d53657448616e646c65" +
    "7292076f626a6563747304747970656071075b6f626a656374430356244591046e616d65610142430f6a6176612e6c616e67" +
    "2e436c61737391046e616d656203562445";

  it("are read as Java writes sets of enums", () => {
    expect(hessian2.decode({ set: { enum: Color } }, hex(recorded))).toEqual(new Set(["B"]));
    expect(createHessian2({ enums: [Color] }).decode(ANY, hex(recorded))).toEqual(new Set(["B"]));
    expect(() => hessian2.decode(ANY, hex(recorded))).toThrow('class "V$E" is not declared');
  });

  it("and maps of enums are read as Java writes them", () => {
    const map = "4d116a6176612e7574696c2e456e756d4d6170430356244591046e616d65600142915a";
    expect(hessian2.decode({ map: [{ enum: Color }, "java.lang.Integer"] }, hex(map))).toEqual(new Map([["B", 1]]));
  });

  it.each(["java.util.HashSet", "java.util.LinkedHashSet", "java.util.TreeSet"])(
    "remain sets if no type is declared: %s",
    (name) => {
      expect(hessian2.decode(ANY, hex(`72 ${text(name)} 91 92`))).toEqual(new Set([1, 2]));
    },
  );

  it("survive a round trip if no type is declared", () => {
    expect(hessian2.decode(ANY, hessian2.encode(ANY, new Set(["a"])))).toEqual(new Set(["a"]));
  });
});

describe("exceptions", () => {
  it("have no half of what could not be read", () => {
    // The field a is a list of 1 and an undeclared object, b a reference to that list.
    const bytes = `43 ${text("X")} 90 43 ${text("E")} 92 ${text("a")} ${text("b")} 61 7a 91 60 5191`;
    expect(hessian2.decodeException?.(hex(bytes)).fields).toEqual({ a: undefined, b: undefined });
    // The same after another list, which contains the invalid one: a is [[a, <undeclared>]], b its content.
    const inner = `43 ${text("X")} 90 43 ${text("E")} 93 ${text("a")} ${text("b")} ${text("c")}`;
    const nested = `${inner} 61 7a 7a 91 5191 60 5192 79 93`;
    expect(hessian2.decodeException?.(hex(nested)).fields).toEqual({ a: undefined, b: undefined, c: [3] });
  });

  it("have their valid fields for any number of invalid ones", () => {
    const bad = 1500;
    const names = Array.from({ length: bad }, (_, index) => text(`f${index}`)).join("");
    const bytes = `43${text("X")}90 43${text("E")} ${int(bad + 1)} ${names} ${text("last")} 61 ${"7960".repeat(bad)} 7991`;
    expect(hessian2.decodeException?.(hex(bytes)).fields["last"]).toEqual([1]);
  });

  it("have traces in the form that Java prints, without a line or file that is not known", () => {
    const names = ["declaringClass", "methodName", "fileName", "lineNumber"].map(text).join("");
    const element = `43${text("T")}94${names}`;
    const calls = [`60${text("A")}${text("b")}${text("A.java")}${int(12)}`, `60${text("A")}${text("c")}4e8f`];
    const bytes = `${element} 43${text("E")}91${text("stackTrace")} 61 7a ${calls.join("")}`;
    expect(hessian2.decodeException?.(hex(bytes)).trace).toEqual(["A.b(A.java:12)", "A.c(Unknown Source)"]);
  });

  it("have names and traces of bounded length", () => {
    const long = text("x".repeat(5000));
    const element = `43${text("T")}93${text("declaringClass")}${text("methodName")}${text("fileName")}`;
    const bytes = `${element} 43${long}91${text("stackTrace")} 61 79 60 ${long}${long}${long}`;
    const exception = hessian2.decodeException?.(hex(bytes));
    expect(exception?.className).toHaveLength(500);
    expect(exception?.trace[0]?.length).toBeLessThan(2000);
  });
});
