/** Large results of services without IDL are encoded in steps, to the same bytes and with the same errors as at once. */
import fc from "fast-check";
import { createHessian2, hessian2 } from "triple-es/hessian2";
import {
  createProtobufSerialization,
  type InterfaceMethod,
  interfacePayload,
  type JavaClass,
  type JavaType,
  jsonSerialization,
  type Serialization,
  typed,
} from "triple-es/java";
import { msgpack } from "triple-es/msgpack";
import { describe, expect, it } from "vitest";
import { Cost } from "../../runtime/src/java/cost.ts";
import { PositionalCall } from "../../runtime/src/java/http-rpc/server.ts";
import { encodeInSteps } from "../../runtime/src/java/large-json.ts";
import { WrappedCall } from "../../runtime/src/java/wrapper/server.ts";

const ANY: JavaType = "java.lang.Object";
const SERIALIZATIONS: readonly Serialization[] = [hessian2, jsonSerialization, msgpack];

const Node: JavaClass = {
  name: "com.acme.Node",
  fields: { label: "java.lang.String", next: { class: () => Node }, extra: ANY, data: "[B" },
};
const NODE: JavaType = { class: () => Node };

/** A type and a value of it. The value need not be valid. */
interface Sample {
  readonly type: JavaType;
  readonly value: unknown;
}

const sample = (type: JavaType, values: fc.Arbitrary<unknown>): fc.Arbitrary<Sample> =>
  values.map((value) => ({ type, value }));
const text = fc.oneof(
  fc.string(),
  fc.string({ unit: "binary" }),
  fc.constantFrom("\ud800", "\udc00x", "ä€", "__proto__", "toJSON", "0", "17", "4294967295"),
);
/** Texts of several chunks, with surrogate pairs and lone surrogates at the ends of chunks. */
const longText = fc
  .tuple(fc.nat({ max: 3 }), fc.constantFrom("a", "ä", "€", "😀", "\ud800"), fc.nat({ max: 100_000 }))
  .map(([before, unit, length]) => "x".repeat(before) + unit.repeat(length));
const bytes = fc.oneof(
  fc.uint8Array(),
  fc.nat({ max: 60_000 }).map((length) => Uint8Array.from({ length }, (_, i) => (i * 7) % 256)),
);
const date = fc.date({ noInvalidDate: true });
const scalar = fc.oneof(
  sample("int", fc.integer()),
  sample("java.lang.Long", fc.oneof(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n }), fc.constant(null))),
  sample("double", fc.double()),
  sample("java.lang.Boolean", fc.boolean()),
  sample("java.lang.String", fc.oneof(text, longText, fc.constant(3))),
  sample("java.util.Date", date),
  sample("java.math.BigInteger", fc.bigInt()),
  sample("java.math.BigDecimal", fc.double()),
  sample({ enum: { name: "com.acme.Color", values: ["RED", "BLUE"] } }, fc.constantFrom("RED", "BLUE", "GREEN")),
  sample("[B", bytes),
  sample({ array: "char" }, fc.array(fc.constantFrom("a", "€", "\ud800"), { maxLength: 5_000 })),
);

/** Repeats items, so that there are enough for several steps. An object that occurs again is a reference in Hessian 2. */
const repeated = <T>(items: fc.Arbitrary<T>): fc.Arbitrary<T[]> =>
  fc
    .tuple(fc.array(items, { maxLength: 6 }), fc.oneof(fc.constant(1), fc.nat({ max: 300 })))
    .map(([all, times]) => Array.from({ length: times }, () => all).flat());
const entries = (values: fc.Arbitrary<unknown>): fc.Arbitrary<[string, unknown][]> =>
  repeated(fc.tuple(text, values)).chain((all) =>
    fc
      .constantFrom("", "k", "-")
      .map((before) => all.map(([key, value], i) => [i < 9 ? key : `${before}${(i * 7919) % 5003}`, value])),
  );
const anything = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.oneof(text, fc.integer(), fc.double(), fc.boolean(), fc.constant(null), date, fc.uint8Array(), fc.bigInt()),
    repeated(tie("value")),
    repeated(tie("value")).map((all) => new Set(all)),
    entries(tie("value")).map((all) => new Map<unknown, unknown>(all)),
    entries(tie("value")).map(Object.fromEntries),
    tie("value").map((value) => typed(ANY, value)),
  ),
})).value;
const node = fc.letrec((tie) => ({
  node: fc.record(
    {
      label: fc.oneof(text, longText),
      next: fc.oneof({ depthSize: "small" }, fc.constant(null), tie("node")),
      extra: anything,
      data: bytes,
    },
    { requiredKeys: [] },
  ),
})).node;

const { sample: samples } = fc.letrec<{ sample: Sample }>((tie) => ({
  sample: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    scalar,
    sample(ANY, anything),
    sample(NODE, node),
    ...(["list", "set", "array"] as const).map((kind) =>
      tie("sample").chain(({ type, value }) =>
        sample({ [kind]: type } as unknown as JavaType, repeated(fc.constantFrom(value, value, value, null))),
      ),
    ),
    tie("sample").chain(({ type, value }) =>
      sample(
        { map: ["java.lang.String", type] },
        entries(fc.constant(value)).map((all) => new Map(all)),
      ),
    ),
    tie("sample").chain(({ type, value }) =>
      sample(
        { map: ["int", type] },
        repeated(fc.integer()).map((all) => new Map(all.map((one, i) => [one + i, value]))),
      ),
    ),
    tie("sample").chain(({ type, value }) =>
      sample({ map: ["java.lang.String", type], record: true }, entries(fc.constant(value)).map(Object.fromEntries)),
    ),
  ),
}));

/** Returns the bytes in hexadecimal, or the error as text. */
async function outcome(encode: () => Uint8Array | Promise<Uint8Array>): Promise<string> {
  try {
    return Buffer.from(await encode()).toString("hex");
  } catch (error) {
    return String(error);
  }
}

const encodeLarge = (serialization: Serialization, type: JavaType, value: unknown, cost?: Cost) =>
  (serialization.encodeLarge as NonNullable<Serialization["encodeLarge"]>)(type, value, cost);

/** Counts the turns of the event loop while `work` runs. */
async function turnsDuring(work: () => unknown): Promise<number> {
  let turns = 0;
  let done = false;
  const count = (): void => {
    turns += 1;
    if (!done) setImmediate(count);
  };
  setImmediate(count);
  await work();
  done = true;
  return turns;
}

const method = (result: JavaType, serialization = "hessian2"): InterfaceMethod => ({
  kind: "unary",
  service: "com.acme.Large",
  name: "get",
  path: "/com.acme.Large/get",
  payload: interfacePayload,
  signature: { parameters: [], result, serialization },
});
const wrappedCall = (result: JavaType, serialization: Serialization): WrappedCall =>
  new WrappedCall([method(result, serialization.name)], { serializations: [serialization] });

const LENGTH = 100_000;
const integers = Array.from({ length: LENGTH }, (_, i) => i * 1_000);
const LARGE: readonly (readonly [name: string, type: JavaType, value: unknown])[] = [
  ["integers", { list: "int" }, integers],
  ["a map", { map: ["int", "int"] }, new Map(integers.map((one) => [one, 1]))],
  ["a record", ANY, Object.fromEntries(integers.map((one) => [`k${one}`, one]))],
  ["objects", { list: NODE }, integers.slice(0, 20_000).map((one) => ({ label: `${one}` }))],
  ["chars", { array: "char" }, Array.from("x".repeat(1_000_000))],
];

describe.each(SERIALIZATIONS.map((serialization) => [serialization.name, serialization] as const))(
  "%s",
  (_name, serialization) => {
    it("encodes every value in steps to the bytes or the error of one step", async () => {
      await fc.assert(
        fc.asyncProperty(samples, async ({ type, value }) => {
          const atOnce = await outcome(() => serialization.encode(type, value));
          expect(await outcome(() => encodeLarge(serialization, type, value))).toBe(atOnce);
        }),
        { numRuns: 60 },
      );
    });

    it.each(LARGE)("leaves the event loop its turns while it encodes %s", async (_what, type, value) => {
      const call = wrappedCall(type, serialization);
      let encoded: Uint8Array | undefined;
      expect(
        await turnsDuring(async () => {
          encoded = await call.encodeInSteps([value]);
        }),
      ).toBeGreaterThan(3);
      expect(Buffer.from(encoded as Uint8Array).equals(call.encode([value]))).toBe(true);
    });

    it("names the field of an invalid value", async () => {
      const type: JavaType = { list: NODE };
      const nodes = [...Array.from({ length: 1_000 }, () => ({ label: "x" })), { next: { label: 3 } }];
      const atOnce = await outcome(() => wrappedCall(type, serialization).encode([nodes]));
      expect(atOnce).toMatch(/^TypeError: the result: field "next": field "label": 3 is not a valid /);
      expect(await outcome(() => wrappedCall(type, serialization).encodeInSteps([nodes]))).toBe(atOnce);
    });

    it("refuses more values than the limit of the cost that it is given", async () => {
      const cost = new Cost();
      cost.addValues(999_000);
      expect(await outcome(() => encodeLarge(serialization, { list: "int" }, integers, cost))).toMatch(
        /^LimitError: there are more than the limit of 1000000 values/,
      );
    });

    it("refuses a value that contains itself as one step does", async () => {
      const loop: unknown[] = [];
      loop.push(loop, loop);
      const atOnce = await outcome(() => serialization.encode(ANY, loop));
      expect(await outcome(() => encodeLarge(serialization, ANY, loop))).toBe(atOnce);
    });
  },
);

describe("hessian2", () => {
  it("leaves the event loop its turns while it encodes long text", async () => {
    const call = wrappedCall("java.lang.String", hessian2);
    expect(await turnsDuring(() => call.encodeInSteps(["ä".repeat(8_000_000)]))).toBeGreaterThan(3);
  });

  it("writes as many items as it has announced if the list changes between two steps", async () => {
    const list = integers.slice();
    const encoded = encodeLarge(hessian2, { list: "java.lang.Integer" }, list);
    list.length = 50;
    const decoded = hessian2.decode({ list: "java.lang.Integer" }, await encoded) as unknown[];
    expect(decoded).toHaveLength(LENGTH);
    expect(decoded.at(-1)).toBeNull();
  });

  it("counts the bytes of text that is not ASCII exactly", () => {
    const limited = (maxBytes: number): Serialization => createHessian2({ limits: { maxBytes } });
    const value = "€".repeat(1_000);
    expect(hessian2.encode("java.lang.String", value)).toHaveLength(3_002);
    expect(limited(3_002).encode("java.lang.String", value)).toHaveLength(3_002);
    expect(() => limited(3_001).encode("java.lang.String", value)).toThrow("more than the limit of 3001 bytes");
  });
});

describe("HTTP RPC", () => {
  it.each([...LARGE, ["bytes", "[B", new Uint8Array(1_000_000)] as const])(
    "leaves the event loop its turns while it encodes %s in JSON",
    async (_what, type, value) => {
      const call = new PositionalCall([method(type)]);
      let encoded: Uint8Array | undefined;
      expect(
        await turnsDuring(async () => {
          encoded = await call.encodeInSteps([value]);
        }),
      ).toBeGreaterThan(3);
      expect(Buffer.from(encoded as Uint8Array).equals(call.encode([value]))).toBe(true);
    },
  );

  it("names the field of an invalid value", async () => {
    const call = new PositionalCall([method(NODE)]);
    const atOnce = await outcome(() => call.encode([{ data: 3 }]));
    expect(atOnce).toBe('TypeError: the result: field "data": 3 is not a Uint8Array');
    expect(await outcome(() => call.encodeInSteps([{ data: 3 }]))).toBe(atOnce);
  });
});

it("a serialization without encodeLarge encodes at once", () => {
  const call = wrappedCall("java.lang.String", createProtobufSerialization());
  expect(call.encodeInSteps(["text"])).toEqual(call.encode(["text"]));
});

it("steps have no work of more than 256 values", () => {
  const steps = encodeInSteps({ list: "int" }, integers);
  let count = 0;
  while (steps.next().done !== true) count += 1;
  expect(count).toBeGreaterThan(LENGTH / 256);
});
