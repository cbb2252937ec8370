/** Values of Java in JSON and MessagePack: numbers with all their digits, dates, keys, limits and rejected input. */
import type { JsonValue } from "@bufbuild/protobuf";
import { encode } from "@msgpack/msgpack";
import fc from "fast-check";
import { createRouter, Metadata } from "triple-es";
import {
  type InterfaceMethod,
  interfacePayload,
  type JavaClass,
  type JavaType,
  jsonSerialization,
} from "triple-es-dubbo/java";
import { msgpack } from "triple-es-dubbo/msgpack";
import { describe, expect, it } from "vitest";
import { valuesOf } from "../../../dubbo/src/interface/arguments.ts";
import { Cost } from "../../../dubbo/src/interface/cost.ts";
import { WholeBody } from "../../../runtime/src/http/body.ts";

const ANY: JavaType = "java.lang.Object";
const DECIMAL: JavaType = "java.math.BigDecimal";
const read = (type: JavaType, text: string): unknown => jsonSerialization.decode(type, Buffer.from(text));
const TOO_MANY = "more than the limit of 65536 (option maxMessageValues)";
const hex = (text: string): Uint8Array => new Uint8Array(Buffer.from(text.replaceAll(" ", ""), "hex"));

/** A decimal number as an integer and the number of divisions by ten. */
function exactly(text: string): readonly [bigint, number] {
  const [, sign = "", whole = "", fraction = "", exponent = "0"] =
    /^(-?)([0-9]*)\.?([0-9]*)(?:[eE]([+-]?[0-9]+))?$/.exec(text) ?? [];
  let digits = BigInt(`${whole}${fraction}` || "0");
  let scale = fraction.length - Number(exponent);
  if (digits === 0n) return [0n, 0];
  for (; digits % 10n === 0n; digits /= 10n) scale -= 1;
  return [sign === "-" ? -digits : digits, scale];
}

describe("numbers of JSON", () => {
  it.each([
    "99999999999999.99",
    "9007199254740993.5",
    "8589973000000000.1",
    "0.12345678901234567",
    "123456789012345678901234567890",
    "1E-400",
    "-1e400",
    "4.9406564584124654e-324",
    "0.30000000000000004",
  ])("keep all their digits as a BigDecimal: %s", (text) => {
    expect(exactly(String(read(DECIMAL, text)))).toEqual(exactly(text));
    expect(read({ map: [DECIMAL, DECIMAL] }, `{"1":${text}}`)).toEqual(new Map([["1", read(DECIMAL, text)]]));
    expect(read({ list: DECIMAL }, `[${text}]`)).toEqual([read(DECIMAL, text)]);
  });

  it("are the same BigDecimal in every notation", () => {
    const digits = fc.stringMatching(/^-?(?:0|[1-9][0-9]{0,24})(?:\.[0-9]{1,24})?(?:[eE][+-]?[0-9]{1,3})?$/);
    fc.assert(
      fc.property(digits, (text) => {
        expect(exactly(String(read(DECIMAL, text)))).toEqual(exactly(text));
      }),
      { numRuns: 2000 },
    );
  });

  it("are not strings at any length, and strings are not numbers", () => {
    expect(() => read("java.lang.String", "12345678901234567890")).toThrow(
      "12345678901234567890 is not a valid java.lang.String",
    );
    expect(() => read({ class: () => ({ name: "A", fields: {} }) }, "12345678901234567890")).toThrow(
      "is not a valid A",
    );
    expect(() => read("java.util.Date", "12345678901234567890")).toThrow("is not a valid date");
    expect(read("long", "9007199254740993")).toBe(9007199254740993n);
    expect(read(ANY, '[12345678901234567890,"#1","\'1",{"#2":"\\u0023"}]')).toEqual([
      "12345678901234567890",
      "#1",
      "'1",
      { "#2": "#" },
    ]);
  });

  it("are refused if they are out of the range of the type", () => {
    for (const text of ["1e300", "3.5e38"]) expect(() => read("float", text)).toThrow("is not a valid float");
    for (const text of ["1e400", '"1e999"']) expect(() => read("double", text)).toThrow("is not a valid double");
    expect(read("float", "3.4028234663852886e38")).toBe(3.4028234663852886e38);
    expect(read("double", '"Infinity"')).toBe(Number.POSITIVE_INFINITY);
    expect(() => read("int", "007")).toThrow();
    expect(() => read("long", "00712345678901234567")).toThrow();
  });
});

describe("dates", () => {
  it.each<[string, Date]>([
    ["1700000000000", new Date(1_700_000_000_000)],
    ["-1", new Date(-1)],
    ['"2023-11-14"', new Date("2023-11-14T00:00:00Z")],
    ['"2023-11-14T22:13:20Z"', new Date(1_700_000_000_000)],
    ['"2023-11-14T22:13:20.123456789Z"', new Date(1_700_000_000_123)],
    ['"2023-11-15T06:13:20+08:00"', new Date(1_700_000_000_000)],
    ['"2023-11-15 06:13:20.000+0800"', new Date(1_700_000_000_000)],
    ['"2023-11-14 22:13:20"', new Date(2023, 10, 14, 22, 13, 20)],
    ['"+012345-01-01"', new Date("+012345-01-01T00:00:00Z")],
  ])("are read from %s", (text, date) => {
    expect(read("java.util.Date", text)).toEqual(date);
  });

  it.each(["item 42", "2020", "1", "2024-02-30", "2023-13-01", "2023-11-14T25:00", "May 8, 1998", "2023-11-14T22", ""])(
    "are not read from %j",
    (text) => {
      expect(() => read("java.util.Date", JSON.stringify(text))).toThrow(`${JSON.stringify(text)} is not a valid date`);
    },
  );

  it.each(["[2020,5]", "{}", "true", "1.5", "8640000000000001", "1e400"])("are not read from %s", (text) => {
    expect(() => read("java.util.Date", text)).toThrow("is not a valid date");
  });

  it("survive a round trip as keys of a map", () => {
    const map = new Map([[new Date(-5), 1]]);
    const type: JavaType = { map: ["java.util.Date", "int"] };
    for (const one of [jsonSerialization, msgpack]) expect(one.decode(type, one.encode(type, map))).toEqual(map);
  });
});

describe("the cost of a message", () => {
  const shared = (depth: number): unknown => {
    let value: unknown[] = [];
    for (let i = 0; i < depth; i += 1) value = [value, value];
    return value;
  };
  const both = [
    ["json", jsonSerialization],
    ["msgpack", msgpack],
  ] as const;

  it.each(both)("is bounded in %s, although repeated objects are written repeatedly", (_name, serialization) => {
    expect(() => serialization.encode(ANY, shared(40))).toThrow(TOO_MANY);
    const one = { a: 1 };
    const repeated = Array.from({ length: 1_000_000 }, () => one);
    expect(() => serialization.encode(ANY, repeated)).toThrow(TOO_MANY);
    const text = "x".repeat(2 ** 20);
    expect(() =>
      serialization.encode(
        ANY,
        Array.from({ length: 65 }, () => text),
      ),
    ).toThrow("the limit of 67108864 bytes");
    const bytes = new Uint8Array(2 ** 20);
    expect(() =>
      serialization.encode(
        { list: "[B" },
        Array.from({ length: 65 }, () => bytes),
      ),
    ).toThrow(serialization === msgpack ? "the limit of 67108864 bytes" : TOO_MANY);
  });

  it.each(both)("is bounded in %s for all arguments together", (_name, serialization) => {
    const lists = Array.from({ length: 25_000 }, () => []);
    const bytes = serialization.encode(ANY, lists);
    const cost = new Cost();
    serialization.decode(ANY, bytes, cost);
    serialization.decode({ list: { list: "int" } }, bytes, cost);
    expect(() => serialization.decode(ANY, bytes, cost)).toThrow(TOO_MANY);
    const writing = new Cost();
    serialization.encode(ANY, lists, writing);
    serialization.encode(ANY, lists, writing);
    expect(() => serialization.encode(ANY, lists, writing)).toThrow(TOO_MANY);
  });

  it("is bounded in MessagePack before values are created", () => {
    const announced = new Uint8Array(1_000_005).fill(0xc0);
    announced.set(hex("dd 000f4240"));
    expect(() => msgpack.decode(ANY, announced)).toThrow(TOO_MANY);
  });

  it("counts fields without values", () => {
    const fields = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`f${index}`, ANY] as const));
    const Wide: JavaClass = { name: "W", fields };
    const text = `[${Array.from({ length: 10_000 }, () => "{}").join()}]`;
    expect(() => read({ list: { class: () => Wide } }, text)).toThrow(TOO_MANY);
  });
});

describe("MessagePack of any value", () => {
  it.each([
    ["an unknown extension", "c7 02 05 0102", "the extension 5 is not supported"],
    ["another extension", "d4 01 00", "the extension 1 is not supported"],
    ["text that is no UTF-8", "a2 fffe", "utf-8"],
    ["long text that is no UTF-8", `d9 20 ${"ff".repeat(32)}`, "utf-8"],
    ["a number beyond 64 bits", "cf ffffffffffffffff", "18446744073709551615n is not a valid long"],
    ["a time of an odd size", "c7 05 ff 0102030405", "a timestamp is invalid"],
    ["a time with too many nanoseconds", "d7 ff ffffffff00000000", "a timestamp is invalid"],
    ["a time that no date holds", "c7 0c ff 00000000 7fffffffffffffff", "is not a valid date"],
    ["such a number inside", "91 cf ffffffffffffffff", "is not a valid long"],
  ])("is refused with %s", (_what, bytes, message) => {
    expect(() => msgpack.decode(ANY, hex(bytes))).toThrow(message);
  });

  it("is what can be sent again", () => {
    const value = { a: [1, 2n ** 60n, "ß", new Date(1_700_000_000_123), Uint8Array.of(255), null, true, 1.5] };
    const bytes = msgpack.encode(ANY, value);
    expect(msgpack.decode(ANY, bytes)).toEqual(value);
    expect(msgpack.decode(ANY, msgpack.encode(ANY, msgpack.decode(ANY, bytes)))).toEqual(value);
    expect(msgpack.decode("char", msgpack.encode("char", "\ud83d"))).toBe("\ud83d");
  });

  it("has integers of any size as keys", () => {
    const longs: JavaType = { map: ["java.lang.Long", "java.lang.String"] };
    expect(msgpack.decode(longs, hex("82 01 a161 cf0000000100000000 a162"))).toEqual(
      new Map([
        [1n, "a"],
        [2n ** 32n, "b"],
      ]),
    );
  });
});

it.each(["+/8=", "-_8=", "-_8", "+/8", "[-5, -1]"])("bytes are read from %s", (text) => {
  expect(read("[B", text.startsWith("[") ? text : JSON.stringify(text))).toEqual(Uint8Array.of(0xfb, 0xff));
});

describe("a reading of arguments", () => {
  const plain = (...body: JsonValue[]): boolean =>
    valuesOf(
      {
        parameters: [
          { name: "name", type: "java.lang.String" },
          { name: "limit", type: "int" },
        ],
        result: "void",
      },
      [body],
      new Cost(),
    ).plain;

  it("has the usual form with null, which is a value of every class, and not with a number in a string", () => {
    expect([plain("a", 1), plain(null, 1), plain(null, "1")]).toEqual([true, true, false]);
  });
});

describe("overloads in JSON", () => {
  const User: JavaClass = { name: "com.acme.User", fields: { a: "java.lang.String" } };
  const OVERLOADS: Readonly<Record<string, readonly [name: string, parameters: Readonly<Record<string, JavaType>>]>> = {
    sayText: ["say", { p0: "java.lang.String" }],
    sayLong: ["say", { p0: "long" }],
    onText: ["on", { p0: "java.lang.String" }],
    onDate: ["on", { p0: "java.util.Date" }],
    putUser: ["put", { p0: { class: () => User } }],
    putPair: ["put", { p0: "java.lang.String", p1: "int" }],
    findId: ["find", { id: "long" }],
    findCustomer: ["find", { customer: "java.lang.String" }],
    findLimit: ["find", { customer: "java.lang.String", limit: "int" }],
    anyText: ["any", { p0: "java.lang.String" }],
    anyObject: ["any", { p0: ANY }],
    noneInteger: ["none", { p0: "java.lang.Integer" }],
    noneText: ["none", { p0: "java.lang.String" }],
  };
  const methods = Object.fromEntries(
    Object.entries(OVERLOADS).map(([key, [name, parameters]]): [string, InterfaceMethod] => [
      key,
      {
        kind: "unary",
        service: "t.S",
        name,
        path: `/t.S/${name}`,
        payload: interfacePayload,
        signature: {
          parameters: Object.entries(parameters).map(([parameter, type]) => ({ name: parameter, type })),
          result: "java.lang.String",
        },
      },
    ]),
  );
  const handlers = Object.fromEntries(Object.keys(OVERLOADS).map((key) => [key, () => key]));
  const router = createRouter().add({ typeName: "t.S", methods }, handlers);

  async function called(path: string, body: string, contentType = "application/json"): Promise<unknown> {
    const response = await router.exchange({
      method: "POST",
      path: `/t.S/${path}`,
      version: "1.1",
      headers: new Metadata({ "content-type": contentType, accept: "application/json" }),
      body: new WholeBody(Buffer.from(body)),
      signal: undefined,
    });
    return JSON.parse(Buffer.from(await response.body.bytes(2 ** 20)).toString());
  }

  it.each([
    ["say", "[9007199254740993]", "sayLong"],
    ["say", "[12345678901234567]", "sayLong"],
    ["say", "[5]", "sayLong"],
    ["say", '["1"]', "sayText"],
    ["say", '["9007199254740993"]', "sayText"],
    ["on", '["2020-01-01"]', "onText"],
    ["on", "[5]", "onDate"],
    ["put", '{"p0":"x","p1":1}', "putPair"],
    ["put", '{"p0":{"a":"x"}}', "putUser"],
    ["put", '{"a":"x"}', "putUser"],
    ["put", '["x",1]', "putPair"],
    ["find", '{"customer":"Ann","limit":1}', "findLimit"],
    ["find", '{"customer":"Ann"}', "findCustomer"],
    ["find", '{"id":1}', "findId"],
    ["any", '["x"]', "anyText"],
    ["any", "[1]", "anyObject"],
  ])("are distinguished: %s %s", async (path, body, expected) => {
    expect(await called(path, body)).toBe(expected);
  });

  it("are distinguished by the names in XML as well", async () => {
    const xml = "<find><customer>Ann</customer><limit>1</limit></find>";
    expect(await called("find", xml, "application/xml")).toBe("findLimit");
    expect(await called("find", "<find><customer>5</customer></find>", "application/xml")).toBe("findCustomer");
  });

  it.each([
    [
      "application/json",
      "any",
      `[{${Array.from({ length: 450_000 }, (_, i) => `"${(466_560 + i).toString(36)}":0`)}}]`,
    ],
    ["application/x-www-form-urlencoded", "put", `p0={"a":[${"[],".repeat(150_001)}0]}`],
  ])("report values beyond a limit instead of no overload, in %s", async (contentType, path, body) => {
    expect(await called(path, body, contentType)).toMatchObject({
      code: "resource_exhausted",
      message: expect.stringContaining(TOO_MANY),
    });
  });

  it("report errors in the named one, and are refused if two match", async () => {
    expect(await called("find", '{"customer":"Ann","limit":"x"}')).toMatchObject({
      status: 25,
      message: expect.stringContaining('argument "limit": "x" is not a valid int'),
    });
    expect(await called("put", 'p0={"a":', "application/x-www-form-urlencoded")).toMatchObject({
      status: 25,
      message: expect.stringContaining('argument "p0": '),
    });
    expect(await called("none", "[null]")).toMatchObject({
      status: 40,
      message: expect.stringContaining("the arguments fit several overloads of /t.S/none"),
    });
  });
});

describe("MessagePack of large values", () => {
  it.each([
    ["text", (size: number): unknown => "x".repeat(size)],
    ["bytes", (size: number): unknown => new Uint8Array(size).fill(0xff)],
    ["a list", (size: number): unknown => Array.from({ length: size }, (_, i) => i % 100)],
    ["an object", (size: number): unknown => Object.fromEntries(Array.from({ length: size }, (_, i) => [`k${i}`, 1]))],
  ])("reads %s under a length of one, two and four bytes", (_, make) => {
    for (const size of [31, 40, 300, 70_000]) {
      const decoded = msgpack.decode(ANY, encode(make(size)), new Cost(200_000)) as object;
      const sizeOf = decoded instanceof Map ? decoded.size : (decoded as { length?: number }).length;
      expect(sizeOf ?? Object.keys(decoded).length).toBe(size);
      const pair = msgpack.decode({ list: ANY }, encode([make(size), "next"]), new Cost(200_000)) as unknown[];
      expect(pair[1]).toBe("next");
    }
  });
});

it.each(['{1 : "a"}', '{1\n:"a"}', '{1\t:"a"}', '{1\r\n\t :"a"}'])(
  "a number is a key with space before the colon: %j",
  (text) => {
    expect(read({ map: ["java.lang.Integer", "java.lang.String"] }, text)).toEqual(new Map([[1, "a"]]));
  },
);

it.each(["{}", "1", '"a"', '{"a":1}'])("text with too many of %s is refused before it is parsed", (value) => {
  const text = Array.from({ length: 600_000 }, () => value).join(",");
  expect(() => read(ANY, `[${text}, and no JSON`)).toThrow(TOO_MANY);
  expect(() => read(ANY, `["${"{,:".repeat(500_000)}", and no JSON`)).toThrow(SyntaxError);
});

describe("JSON with numbers of many digits", () => {
  const exact = "9007199254740993";

  it("is read like other JSON besides these numbers", () => {
    const jsonText = fc.oneof(
      fc.json(),
      fc.jsonValue().map((value) => JSON.stringify(value, null, "\n\r\t ")),
    );
    fc.assert(
      fc.property(
        jsonText.filter((text) => !/[0-9.]{16}|[0-9][eE]/.test(text)),
        (text) => {
          expect(read(ANY, `[${exact}, ${text}]`)).toEqual([exact, JSON.parse(text)]);
        },
      ),
      { numRuns: 1_000 },
    );
  });

  it.each([
    ...[
      "",
      "[",
      "[1",
      "[1,",
      "[1,]",
      "[1 2]",
      "{",
      '{"a"',
      '{"a":',
      '{"a":1',
      '{"a":1,',
      '{"a":1,}',
      '{"a" 1}',
      "{a:1}",
    ],
    ...["tru", "True", "nul", "undefined", "01", "-", "+1", "1.", ".5", "1e", "--1", "1]", "1}", '"', '"\\', '"\\x"'],
    ...['"\n"', '"\t"', "'a'", "NaN", "[1]]", "{1.5:1}", "1 1"],
  ])("is refused where other JSON is: %j", (text) => {
    expect(() => JSON.parse(text)).toThrow(SyntaxError);
    expect(() => read(ANY, `[${exact},${text}]`)).toThrow(SyntaxError);
  });

  it("has a limit of digits", () => {
    expect(read(DECIMAL, "7".repeat(10_000))).toHaveLength(10_000);
    expect(() => read(DECIMAL, "7".repeat(10_001))).toThrow("a number has more than 10000 digits");
  });
});
