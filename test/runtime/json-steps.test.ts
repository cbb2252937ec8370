/** Large messages in Protobuf's JSON format: their memory is bounded, and they are decoded in steps. */
import {
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
import { ListValueSchema, StructSchema, TypeSchema, ValueSchema } from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { estimateJson } from "../../runtime/src/codec/json-estimate.ts";
import { decodeJsonInSteps } from "../../runtime/src/codec/json-steps.ts";
import { estimateJsonText, parseJsonInSteps } from "../../runtime/src/codec/json-text.ts";
import { everySpecial, everything, messagesOf } from "../support/messages.ts";

const registry = createRegistry(TypeSchema);
const read = { ignoreUnknownFields: true, registry };

const inSteps = (type: DescMessage, value: JsonValue, limit: number, stepBytes?: number): Promise<Message> =>
  decodeJsonInSteps(type, value, limit, (one, message, part) => mergeFromJson(one, message, part, read), stepBytes);

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
          const value = text === undefined ? given : await parseJsonInSteps(Buffer.from(text), 2 ** 30, partBytes - 30);
          let expected: Message;
          try {
            expected = fromJson(type, value, read);
          } catch (error) {
            await expect(inSteps(type, value, 2 ** 30, stepBytes)).rejects.toThrow(
              (error as Error).message.slice(0, 20),
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
        expect(estimate).toBeLessThanOrEqual(bytes.byteLength * 32);
        expect(await parseJsonInSteps(bytes, estimate)).toEqual(JSON.parse(text));
        if (estimate > 0) await expect(parseJsonInSteps(bytes, estimate - 1)).rejects.toThrow("resource_exhausted");
      }),
    );
  });

  it("is judged without what is between quotes", () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[\\"[\]{},:a]*$/), (text) => {
        expect(estimateJsonText(Buffer.from(JSON.stringify([text])))).toBeLessThan(80 + 2 * text.length);
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
