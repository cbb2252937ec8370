/** Large messages in Protobuf's JSON format: their memory is bounded, and they are decoded in steps. */
import {
  create,
  createRegistry,
  type DescField,
  type DescMessage,
  fromJson,
  type JsonValue,
  type Message,
  mergeFromJson,
  ScalarType,
  toJson,
} from "@bufbuild/protobuf";
import {
  type Any,
  AnySchema,
  anyUnpack,
  type FieldMask,
  FieldMaskSchema,
  ListValueSchema,
  StructSchema,
  TypeSchema,
  ValueSchema,
} from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { estimateJson } from "../../runtime/src/codec/json-estimate.ts";
import { decodeJsonInSteps } from "../../runtime/src/codec/json-steps.ts";
import { estimateJsonText, parseJsonInSteps } from "../../runtime/src/codec/json-text.ts";
import { boundedJsonCodec } from "../../runtime/src/codec/large-message.ts";
import { DecodeBudget } from "../../runtime/src/codec/memory.ts";
import { everySpecial, everything, messagesOf } from "../support/messages.ts";

const special = everySpecial();
const registry = createRegistry(
  TypeSchema,
  StructSchema,
  ListValueSchema,
  ValueSchema,
  FieldMaskSchema,
  AnySchema,
  special,
  everything("proto2"),
  everything("proto3"),
);
const read = { ignoreUnknownFields: true, registry };

const inSteps = (type: DescMessage, value: JsonValue, limit: number, stepBytes?: number): Promise<Message> =>
  decodeJsonInSteps(type, value, new DecodeBudget(limit), {
    mergeJson: (one, message, part) => mergeFromJson(one, message, part, read),
    registry,
    stepBytes,
  });
const parseInSteps = (text: string | Uint8Array, limit: number, partBytes?: number): Promise<JsonValue> =>
  parseJsonInSteps(Buffer.from(text as string), new DecodeBudget(limit), partBytes);

/** Returns the JSON of a message, or that of an empty one if the message has values without a representation in JSON. */
function jsonOf(type: DescMessage, message: object, useProtoFieldName = false): JsonValue {
  try {
    return toJson(type, message as Message, { useProtoFieldName, registry });
  } catch {
    return {};
  }
}

/** Returns the JSON of a message, partly with the names of the proto file, with unknown members, and with changes. */
const changed = (type: DescMessage): fc.Arbitrary<JsonValue> =>
  fc
    .record({
      message: messagesOf(type, 2, 4),
      protoNames: fc.boolean(),
      more: fc.dictionary(
        fc.oneof(fc.constantFrom(...type.fields.map(({ name }) => name)), fc.string()),
        fc.jsonValue(),
        {
          maxKeys: 2,
        },
      ),
      changes: fc.boolean(),
    })
    .map(({ message, protoNames, more, changes }) => {
      const value = jsonOf(type, message, protoNames);
      const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
      return changes && isObject ? ({ ...value, ...(more as object) } as JsonValue) : value;
    });

describe.each<[name: string, type: DescMessage]>([
  ["every kind of field in proto3", everything("proto3")],
  ["every kind of field in proto2", everything("proto2")],
  ["maps and well-known messages", everySpecial()],
  ["a Struct", StructSchema],
  ["a ListValue", ListValueSchema],
  ["a Value", ValueSchema],
  ["a type's description", TypeSchema],
])("of %s", (_, type) => {
  it("steps result in the same message or the same failure as decoding at once", async () => {
    await fc.assert(
      fc.asyncProperty(
        changed(type),
        fc.integer({ min: 1, max: 3_000 }),
        fc.nat(60),
        async (given, stepBytes, partBytes) => {
          // Half of the values are decoded from text, in parts.
          const text = partBytes > 30 ? JSON.stringify(given) : undefined;
          const value = text === undefined ? given : await parseInSteps(text, 2 ** 30, partBytes - 30);
          let expected: Message;
          try {
            expected = fromJson(type, value, read);
          } catch (error) {
            await expect(inSteps(type, value, 2 ** 30, stepBytes)).rejects.toThrow(
              (error as Error).message.slice(0, "cannot decode".length),
            );
            return;
          }
          expect(await inSteps(type, value, 2 ** 30, stepBytes)).toEqual(expected);
        },
      ),
      { numRuns: 300 },
    );
  });

  it("a message within the limit is decoded, and one beyond it is refused", async () => {
    await fc.assert(
      fc.asyncProperty(messagesOf(type, 2, 4), fc.integer({ min: 1, max: 2_000 }), async (message, stepBytes) => {
        const value = type === ListValueSchema ? [jsonOf(StructSchema, message)] : jsonOf(type, message);
        const estimate = estimateJson(type, value);
        // Members of Struct, Value and ListValue are counted twice if they are decoded in separate steps.
        expect(await inSteps(type, value, 4 * estimate, stepBytes)).toEqual(fromJson(type, value, read));
        const empty = typeof value !== "object" || value === null || Object.keys(value).length === 0;
        if (!empty) await expect(inSteps(type, value, 1, stepBytes)).rejects.toThrow("resource_exhausted");
      }),
      { numRuns: 50 },
    );
  });
});

describe("an attack of", () => {
  it.each<[name: string, type: DescMessage, value: JsonValue]>([
    ["empty messages", TypeSchema, { fields: Array.from({ length: 10_000 }, () => ({})) }],
    ["empty values", StructSchema, Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`${i}`, {}]))],
    ["empty lists", ListValueSchema, Array.from({ length: 10_000 }, () => [])],
    ["empty lists in one list", ValueSchema, [Array.from({ length: 10_000 }, () => [])]],
  ])("%s is refused, with the limit and its option", async (_, type, value) => {
    await expect(inSteps(type, value, 2 ** 20, 2 ** 12)).rejects.toThrow(
      /^\[resource_exhausted\] .* at least \d+ bytes of memory, more than the limit of 1048576 bytes \(option maxDecodedBytes/,
    );
  });
});

describe("text", () => {
  it("has at least the memory of its values, and no more than a few times its size", async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), fc.constantFrom(undefined, 2), async (value, space) => {
        const text = JSON.stringify(value, undefined, space);
        const bytes = Buffer.from(text);
        const estimate = estimateJsonText(bytes);
        expect(estimate).toBeGreaterThanOrEqual(countContainers(value) * 32);
        // The most is an object with a key of one digit, such as {"0":1}: about 43 times.
        expect(estimate).toBeLessThanOrEqual(bytes.byteLength * 48);
        expect(await parseInSteps(bytes, estimate)).toEqual(JSON.parse(text));
        if (estimate > 0) await expect(parseInSteps(bytes, estimate - 1)).rejects.toThrow("resource_exhausted");
      }),
    );
  });

  it("is judged without what is between quotes", () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[\\"[\]{},:a]*$/), (text) => {
        expect(estimateJsonText(Buffer.from(JSON.stringify([text])))).toBeLessThan(104 + 2 * text.length);
      }),
    );
  });
});

function countContainers(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  return Object.values(value).reduce((count: number, item) => count + countContainers(item), 1);
}

it.each([
  ["a field", { single3: "7".repeat(500_000) }],
  ["an item of a list", { packed4: ["1", "7".repeat(500_000)] }],
])("an integer of half a million digits in %s is refused before it is converted", async (_, value) => {
  await expect(inSteps(everything("proto3"), value as JsonValue, 2 ** 30)).rejects.toThrow(
    "has an integer of more than 1000 digits",
  );
});

it("an integer of half a million digits in a wrapper, a key or a value of a map is refused", async () => {
  const digits = "7".repeat(500_000);
  const type = everySpecial();
  const refused = "has an integer of more than 1000 digits";
  const wrapper = type.fields.find(({ message }) => message?.typeName === "google.protobuf.Int64Value") as DescField;
  await expect(inSteps(type, { [wrapper.jsonName]: digits }, 2 ** 30)).rejects.toThrow(refused);
  const keys = type.fields.find(
    (field) => field.fieldKind === "map" && field.mapKey === ScalarType.UINT64,
  ) as DescField;
  await expect(inSteps(type, { [keys.jsonName]: { [digits]: "" } }, 2 ** 30)).rejects.toThrow(refused);
  const values = type.fields.find(
    (field) => field.fieldKind === "map" && field.scalar === ScalarType.INT64 && field.mapKey === ScalarType.STRING,
  ) as DescField;
  await expect(inSteps(type, { [values.jsonName]: { a: digits } }, 2 ** 30)).rejects.toThrow(refused);
});

describe("an Any", () => {
  const anyOf = (type: DescMessage, value: JsonValue, special = false): JsonValue => ({
    "@type": `type.googleapis.com/${type.typeName}`,
    ...(special ? { value } : (value as object)),
  });

  it.each<[name: string, type: DescMessage]>([
    ["every kind of field in proto3", everything("proto3")],
    ["maps and well-known messages", special],
    ["a type's description", TypeSchema],
    ["a Struct", StructSchema],
    ["a Value", ValueSchema],
    ["a ListValue", ListValueSchema],
    ["an Any", AnySchema],
  ])("of %s is decoded in steps to the same message or the same failure", async (_, type) => {
    const isPlain = type === TypeSchema || !type.typeName.startsWith("google.protobuf.");
    await fc.assert(
      fc.asyncProperty(changed(isPlain ? type : special), fc.boolean(), async (made, beside) => {
        const inside = type === ListValueSchema ? [made] : type === AnySchema ? anyOf(special, made) : made;
        const value = anyOf(type, inside, !isPlain && !beside);
        let expected: Any;
        try {
          expected = fromJson(AnySchema, value, read);
        } catch {
          await expect(inSteps(AnySchema, value, 2 ** 30, 1)).rejects.toThrow();
          return;
        }
        const any = (await inSteps(AnySchema, value, 2 ** 30, 1)) as Any;
        expect(any.typeUrl).toBe(expected.typeUrl);
        expect(unpacked(any)).toEqual(unpacked(expected));
      }),
      { numRuns: 100 },
    );
  });

  it("without a type is decoded in steps, also inside another Any", async () => {
    expect(await inSteps(AnySchema, {}, 2 ** 30, 1)).toEqual(create(AnySchema));
    const value = anyOf(AnySchema, {}, true);
    expect(await inSteps(AnySchema, value, 2 ** 30, 1)).toEqual(fromJson(AnySchema, value, read));
    const field = special.fields.find(({ message }) => message?.typeName === AnySchema.typeName) as DescField;
    const inField = anyOf(special, { [field.jsonName]: {} });
    expect(await inSteps(AnySchema, inField, 2 ** 30, 1)).toEqual(fromJson(AnySchema, inField, read));
  });

  /** Returns the message in an Any. The bytes may differ in the order of fields. */
  const unpacked = (any: Any): unknown => {
    const message = anyUnpack(any, registry);
    return message?.$typeName === AnySchema.typeName ? unpacked(message as Any) : message;
  };

  it("of an unknown type, or without a type, fails as it does at once", async () => {
    for (const type of ["unknown.Type", "", "/", 1]) {
      const value = { "@type": type, words: Array.from({ length: 100 }, String) } as JsonValue;
      let message = "";
      try {
        fromJson(AnySchema, value, read);
      } catch (error) {
        message = (error as Error).message;
      }
      await expect(inSteps(AnySchema, value, 2 ** 30, 1)).rejects.toThrow(message);
    }
  });

  it("in itself ninety times is refused by the limit on memory", async () => {
    let value = anyOf(TypeSchema, { name: "x".repeat(400_000) });
    for (let i = 0; i < 90; i++) value = anyOf(AnySchema, value, true);
    await expect(inSteps(AnySchema, value, 4 * 2 ** 20)).rejects.toThrow("resource_exhausted");
  });
});

it("a long field mask is decoded in steps, wherever a path is divided", async () => {
  for (const text of ["aB".repeat(50_000), "a,bC,".repeat(20_000), ",".repeat(40_000), `${"x".repeat(16_383)},y`]) {
    const { paths } = (await inSteps(FieldMaskSchema, text, 2 ** 30)) as FieldMask;
    expect(paths).toEqual(fromJson(FieldMaskSchema, text).paths);
    const any = { "@type": "type.googleapis.com/google.protobuf.FieldMask", value: text };
    const packed = (await inSteps(AnySchema, { ...any, more: "x".repeat(5_000) }, 2 ** 30, 1)) as Any;
    expect((anyUnpack(packed, registry) as FieldMask).paths).toEqual(paths);
  }
  await expect(inSteps(FieldMaskSchema, "a,".repeat(100_000), 2 ** 20)).rejects.toThrow("resource_exhausted");
});

it("a field that is set twice does not make the other fields be decoded in one step", async () => {
  const field = special.fields.find(({ fieldKind }) => fieldKind === "map") as DescField;
  const oneof = everything("proto3").oneofs[0]?.fields ?? [];
  expect(oneof.length).toBeGreaterThan(1);
  let longest = 0;
  const mergeJson = (type: DescMessage, message: Message, part: JsonValue): void => {
    longest = Math.max(longest, JSON.stringify(part).length);
    mergeFromJson(type, message, part, read);
  };
  const steps = { mergeJson, registry, stepBytes: 4_096 };
  const large = Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`${i}`, ""]));
  const twice = { [field.name]: large, [field.jsonName]: {} };
  if (field.name !== field.jsonName) {
    const failed = decodeJsonInSteps(special, twice, new DecodeBudget(2 ** 30), steps);
    await expect(failed).rejects.toThrow("set multiple times");
  }
  const list = everything("proto3").fields.find((one) => one.fieldKind === "list" && one.scalar === ScalarType.STRING);
  const [first, second] = oneof.filter(({ fieldKind }) => fieldKind === "scalar") as DescField[];
  const value = {
    [(list as DescField).jsonName]: Array.from({ length: 5_000 }, String),
    [(first as DescField).jsonName]: null,
    [(second as DescField).jsonName]: null,
  };
  await decodeJsonInSteps(everything("proto3"), value, new DecodeBudget(2 ** 30), steps);
  expect(longest).toBeLessThan(4_096);
});

it("the values of JSON text and the message share one limit on memory", async () => {
  const text = JSON.stringify({ fields: Array.from({ length: 5_000 }, (_, i) => ({ name: `field ${i}` })) });
  const bytes = Buffer.from(text);
  const values = estimateJsonText(bytes);
  const message = estimateJson(TypeSchema, JSON.parse(text));
  const decode = async (limit: number): Promise<object | undefined> =>
    boundedJsonCodec.decodeLarge?.(TypeSchema, bytes, limit);
  await expect(decode(Math.max(values, message) + 1_000)).rejects.toThrow("resource_exhausted");
  expect(await decode(values + message)).toEqual(fromJson(TypeSchema, JSON.parse(text)));
});

it.each<[name: string, member: (i: number) => string, bytes: number]>([
  ["a key of its own", (i) => `{"k${i}":1}`, 130],
  ["an integer as key", (i) => `{"${i}":1}`, 200],
  ["an item", () => "[1]", 64],
  ["a number with a fraction", () => "[1.5]", 72],
])("objects and lists with %s are counted with the memory that engines need for them", (_, member, bytes) => {
  const text = `[${Array.from({ length: 1_000 }, (_unused, i) => member(i)).join()}]`;
  expect(estimateJsonText(Buffer.from(text))).toBeGreaterThan(1_000 * bytes);
});

it("keys that occur in many objects are counted once", () => {
  const rows = JSON.stringify(Array.from({ length: 1_000 }, () => ({ aLongNameOfAField: 1, another: 2 })));
  expect(estimateJsonText(Buffer.from(rows))).toBeLessThan(1_000 * 110);
});

it("an empty text for each of many bytes fields is counted with the array that it becomes", () => {
  const type = everything("proto3");
  const field = type.fields.find((one) => one.fieldKind === "list" && one.scalar === ScalarType.BYTES) as DescField;
  expect(estimateJson(type, { [field.jsonName]: Array(1_000).fill("") })).toBeGreaterThan(200_000);
});
