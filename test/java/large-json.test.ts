/** Large JSON of services without IDL is decoded in steps, with the same values and the same rejections as in one step. */
import fc from "fast-check";
import { createRouter, Metadata } from "triple-es";
import { type InterfaceMethod, interfacePayload, type JavaType, jsonSerialization } from "triple-es/java";
import { describe, expect, it } from "vitest";
import { runInSteps } from "../../runtime/src/call/steps.ts";
import { wholeBody } from "../../runtime/src/http/body.ts";
import { Cost } from "../../runtime/src/java/cost.ts";
import { parseExactJsonInSteps } from "../../runtime/src/java/large-json.ts";
import { stepsFromJson } from "../../runtime/src/java/read-json.ts";
import { encodeWrapper } from "../../runtime/src/java/wrapper/wrapper.ts";
import { User } from "../support/shop.ts";

const MIB = 1024 * 1024;
const ANY: JavaType = "java.lang.Object";
const atOnce = (type: JavaType, text: string): unknown => jsonSerialization.decode(type, Buffer.from(text));
const inSteps = async (type: JavaType, text: string, partBytes?: number): Promise<unknown> =>
  runInSteps(stepsFromJson(type, await parseExactJsonInSteps(Buffer.from(text), new Cost(), partBytes), new Cost()));

/** A type and JSON text for it as Java writes it, with unquoted keys and numbers with more digits than JavaScript has. */
interface Sample {
  readonly type: JavaType;
  readonly text: string;
}

const digits = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String);
const string = fc.string().map((text) => JSON.stringify(text));
const fraction = fc.tuple(digits, fc.nat()).map(([whole, part]) => `${whole}.${part}`);
const scalars: fc.Arbitrary<fc.Arbitrary<string>> = fc.constantFrom(digits, string, fraction);

const listOf = (items: fc.Arbitrary<string>, max = 8): fc.Arbitrary<string> =>
  fc.array(items, { maxLength: max }).map((all) => `[${all.join(" , ")}]`);
const objectOf = (keys: fc.Arbitrary<string>, items: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.array(fc.tuple(keys, items), { maxLength: 8 }).map((all) => `{${all.map(([k, v]) => `${k} : ${v}`).join(",")}}`);
const anything = fc.oneof(
  fc.json(),
  scalars.chain((scalar) => scalar),
  scalars.chain((scalar) => listOf(scalar, 30)),
  scalars.chain((scalar) => objectOf(digits, scalar)),
);

const { type: sample } = fc.letrec<{ type: Sample }>((tie) => ({
  type: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.record({
      type: fc.constantFrom<JavaType[]>(ANY, "long", "double", "java.lang.String", "[B", { array: "char" }),
      text: anything,
    }),
    fc.record({ type: fc.constant<JavaType>("[B"), text: listOf(fc.integer({ min: -129, max: 128 }).map(String), 30) }),
    fc.record({ type: fc.constant<JavaType>("java.math.BigDecimal"), text: fraction }),
    ...(["list", "set", "array"] as const).map((kind) =>
      tie("type").chain(({ type, text }) =>
        listOf(fc.constant(text)).map((all): Sample => ({ type: { [kind]: type } as unknown as JavaType, text: all })),
      ),
    ),
    ...[true, false].map((record) =>
      tie("type").chain(({ type, text }) =>
        objectOf(record ? string : digits, fc.constant(text)).map(
          (all): Sample => ({
            type: record ? { map: ["java.lang.String", type], record } : { map: ["long", type] },
            text: all,
          }),
        ),
      ),
    ),
    tie("type").map(
      ({ type, text }): Sample => ({
        type: { class: () => ({ name: "com.acme.Pair", fields: { one: type, other: "int", third: type } }) },
        text: `{ "third" : ${text} , "more" : [1,2,3], "one": ${text} }`,
      }),
    ),
    tie("type").chain(({ type }) => anything.map((text): Sample => ({ type, text }))),
  ),
}));

const outcome = async (read: () => unknown): Promise<{ value?: unknown; refused?: string }> => {
  try {
    return { value: await read() };
  } catch (reason) {
    const { message, name } = reason as Error;
    return { refused: name === "SyntaxError" ? name : message };
  }
};

describe("JSON of services without IDL, in steps", () => {
  it("has the same value, or the same refusal, as in one step", async () => {
    await fc.assert(
      fc.asyncProperty(sample, fc.constantFrom(1, 5, 30, 1_000), async ({ type, text }, partBytes) => {
        // If there are several reasons for a rejection, another one may be reported first, because a replaced key has
        // another position.
        const { value, refused } = await outcome(() => inSteps(type, text, partBytes));
        const expected = await outcome(() => atOnce(type, text));
        expect([value, refused === undefined]).toEqual([expected.value, expected.refused === undefined]);
      }),
      { numRuns: 1_000 },
    );
  });

  it.each<[JavaType, string]>([
    [{ map: ["long", { list: "long" }] }, `{ 9007199254740993 : [${"9007199254740993,".repeat(20)}1], -2 : [1]}`],
    [ANY, `{"__proto__":{"a":[1,2,3,9007199254740993]},1:{"toString":[1,2,3]}}`],
    [{ class: () => User }, `{"friends":[{"name":"${"x".repeat(30)}","id":9007199254740993}],"hasOwnProperty":[1,2]}`],
    [{ map: ["java.lang.String", ANY] }, '{"a":1,"b":[1,2,3],"a":[4,5,6],"b":2}'],
    ["[B", "[1,-1,2]"],
    ["[B", "[1,[2,3]]"],
    [{ map: ["int", "int"] }, "{[1,2]:1}"],
    [{ map: ["int", "int"] }, "{:[1,2]}"],
    [{ array: "char" }, '["a","b","c"]'],
    ["java.lang.String", "[1,2,3]"],
    [{ list: "int" }, '{"a":[1,2]}'],
  ])("reads %j from %s as at once", async (type, text) => {
    const expected = await outcome(() => atOnce(type, text));
    for (const partBytes of [1, 3, 10, 1_000])
      expect(await outcome(() => inSteps(type, text, partBytes))).toEqual(expected);
  });

  it("is refused beyond the limit on containers, and on levels", async () => {
    const text = `[${"[],".repeat(150_000)}[]]`;
    await expect(inSteps(ANY, text)).rejects.toThrow("more than the limit of 150000 lists, maps and objects");
    await expect(inSteps(ANY, "[".repeat(101) + "]".repeat(101), 1)).rejects.toThrow("more than 100 levels deep");
  });
});

const METHODS: Readonly<Record<string, InterfaceMethod>> = Object.fromEntries(
  Object.entries<JavaType>({
    counts: { map: ["java.lang.String", "int"] },
    longs: { list: "long" },
    decimals: { list: "java.math.BigDecimal" },
    any: ANY,
    bytes: "[B",
    users: { list: { class: () => User } },
  }).map(([name, type]) => [
    name,
    {
      kind: "unary",
      service: "com.acme.Store",
      name,
      path: `/com.acme.Store/${name}`,
      payload: interfacePayload,
      signature: { parameters: [{ name: "values", type }], result: "int", serialization: "json" },
    },
  ]),
);

const sizeOf = (value: unknown): number => {
  if (Array.isArray(value) || value instanceof Uint8Array) return value.length;
  return value instanceof Map ? value.size : Object.keys(value as object).length;
};

const router = createRouter({ serializations: [jsonSerialization] }).add(
  { name: "com.acme.Store", methods: METHODS } as never,
  Object.fromEntries(Object.keys(METHODS).map((name) => [name, sizeOf])) as never,
);

async function post(method: string, body: string): Promise<string> {
  const response = await router.exchange({
    method: "POST",
    path: `/com.acme.Store/${method}`,
    version: "1.1",
    headers: new Metadata({ "content-type": "application/json" }),
    body: wholeBody(Buffer.from(body)),
    signal: undefined,
  });
  return Buffer.from(await response.body.bytes(MIB)).toString();
}

/** Makes calls over sub-protocol B with an argument in the serialization `json`. Returns the status and its message. */
async function callWrapped(method: string, argument: string): Promise<(string | undefined)[]> {
  const wrapper = encodeWrapper({ serializeType: "json", values: [Buffer.from(argument)], types: ["any"] });
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(wrapper.byteLength, 1);
  const response = await router.exchange({
    method: "POST",
    path: `/com.acme.Store/${method}`,
    version: "2",
    headers: new Metadata({ "content-type": "application/grpc+proto", te: "trailers" }),
    body: wholeBody(Buffer.concat([prefix, wrapper])),
    signal: undefined,
  });
  await response.body.bytes(MIB);
  return ["grpc-status", "grpc-message"].map((name) => response.trailers.get(name) ?? response.headers.get(name));
}

const join = (count: number, item: (index: number) => string): string =>
  Array.from({ length: count }, (_, i) => item(i)).join();
const key = (index: number): string => index.toString(36);

describe("a server of a service without IDL", () => {
  it.each([
    ["counts", "many keys", 450_000, (count: number) => `[{${join(count, (i) => `"${key(i)}":0`)}}]`],
    ["counts", "many keys without an array", 450_000, (count: number) => `{${join(count, (i) => `"${key(i)}":0`)}}`],
    ["any", "many keys", 340_000, (count: number) => `[{${join(count, (i) => `"${key(i)}":0`)}}]`],
    ["longs", "long numbers", 200_000, (count: number) => `[[${join(count, (i) => `${2n ** 60n + BigInt(i)}`)}]]`],
    [
      "decimals",
      "long numbers",
      200_000,
      (count: number) => `[[${join(count, (i) => `0.1${2n ** 53n + BigInt(i)}`)}]]`,
    ],
    ["bytes", "numbers", 800_000, (count: number) => `[[${join(count, () => "-128")}]]`],
    ["users", "objects", 140_000, (count: number) => `{"values":[${join(count, (i) => `{"age":${i}}`)}]}`],
  ])("leaves the event loop its turns with 4 MiB for %s of %s", async (method, _what, count, text) => {
    // The first large body loads the module that decodes it.
    expect(await post("bytes", `[[${join(20_000, () => "1")}]]`)).toBe("20000");
    const body = text(count);
    expect(body.length).toBeLessThan(4 * MIB);
    let turns = 0;
    const counting = setInterval(() => turns++, 0);
    const answer = await post(method, body);
    clearInterval(counting);
    expect(answer).toBe(String(count));
    expect(turns).toBeGreaterThan(1);
  });

  it("keeps the event loop responsive with 4 MiB in the serialization of sub-protocol B too", async () => {
    expect(await callWrapped("bytes", `[${join(20_000, () => "1")}]`)).toEqual(["0", undefined]);
    const argument = `{${join(450_000, (i) => `"${key(i)}":0`)}}`;
    let turns = 0;
    const counting = setInterval(() => turns++, 0);
    const answer = await callWrapped("counts", argument);
    clearInterval(counting);
    expect(answer).toEqual(["0", undefined]);
    expect(turns).toBeGreaterThan(1);
  });

  it("refuses a large argument in sub-protocol B as it does a small one", async () => {
    const wrong = (count: number): string => `[${join(count, () => "1")},"x"]`;
    const [status, message] = await callWrapped("bytes", wrong(20_000));
    expect([status, message]).toEqual(await callWrapped("bytes", wrong(1)));
    expect([status, message]).toEqual(["3", expect.stringContaining('argument "values": "x" is not a valid byte')]);
  });

  it("refuses a large body for the reason for which it refuses a small one", async () => {
    const wrong = (count: number): string => `[[${join(count, () => "1")},"x"]]`;
    expect(await post("bytes", wrong(20_000))).toBe(await post("bytes", wrong(1)));
    expect(await post("bytes", `${"[1],".repeat(20_000)}`)).toContain("the arguments of /com.acme.Store/bytes");
  });
});
