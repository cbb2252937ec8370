/** Values of messages, counted before they are decoded: against what protobuf-es decodes, and for any bytes. */
import {
  type DescField,
  type DescMessage,
  fromBinary,
  fromJson,
  type JsonValue,
  type Message,
  toBinary,
  toJson,
} from "@bufbuild/protobuf";
import { type ReflectMessage, reflect } from "@bufbuild/protobuf/reflect";
import { StructSchema, TypeSchema } from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { Code, RpcError } from "triple-es";
import { describe, expect, it } from "vitest";
import { countJsonMessage, countJsonText } from "../../runtime/src/codec/values/json.ts";
import { countProtoValues, densityOf } from "../../runtime/src/codec/values/proto.ts";
import {
  fieldUnits,
  indexUnits,
  largestKey,
  messageUnits,
  Units,
  ValueCount,
} from "../../runtime/src/codec/values/values.ts";
import { everySpecial, everything, messagesOf } from "../support/messages.ts";

const TYPES: [name: string, type: DescMessage][] = [
  ["every kind of field in proto3", everything("proto3")],
  ["every kind of field in proto2", everything("proto2")],
  ["maps, groups and well-known messages", everySpecial()],
  ["a Struct", StructSchema],
  ["a type's description", TypeSchema],
];

/** A limit that no message of these tests exceeds. */
const MANY = 2 ** 30;

/** A count for which each body is large enough to be scanned. */
const countUpTo = (max: number): ValueCount => new ValueCount(max, Number.POSITIVE_INFINITY);

function unitsOf(type: DescMessage, bytes: Uint8Array): number {
  const count = countUpTo(MANY);
  countProtoValues(type, bytes, count);
  return count.made;
}

/**
 * Returns the units of a decoded message. An entry of a map counts for a message that may be missing from it, besides its value.
 * `isLeast`: entries have no values.
 */
function weigh(message: ReflectMessage, isLeast = false): number {
  let units = messageUnits(message.desc) + (message.getUnknown()?.length ?? 0) * Units.unknown;
  for (const field of message.sortedFields) {
    if (!message.isSet(field)) continue;
    if (field.fieldKind === "list") for (const item of message.get(field)) units += weighValue(field, item, isLeast);
    else if (field.fieldKind === "map") units += weighMap(field, message.get(field), isLeast);
    else units += weighValue(field, message.get(field), isLeast);
  }
  return units;
}

const weighValue = (field: DescField, value: unknown, isLeast: boolean): number =>
  fieldUnits(field) + (field.message === undefined ? 0 : weigh(value as ReflectMessage, isLeast));

function weighMap(field: DescField, entries: Iterable<[key: unknown, value: unknown]>, isLeast: boolean): number {
  let units = 0;
  let largest = 0;
  // A decoded map does not tell the order of its integer keys on the wire, and the array is smallest in the falling one.
  for (const [key, value] of isLeast ? [...entries].reverse() : entries) {
    // A boolean is no integer, but the count takes it for the one on the wire, which may be any.
    const isName = (typeof key === "string" && !/^[0-9]{1,4}$/.test(key)) || (isLeast && typeof key === "boolean");
    const index = isName ? 0 : Number(key);
    const next = largestKey(largest, index);
    units += indexUnits(largest, next) + fieldUnits(field);
    largest = next;
    if (field.message !== undefined) units += weigh(value as ReflectMessage, isLeast);
    if (!isLeast) units += field.message === undefined ? Units.number : messageUnits(field.message);
  }
  return units;
}

/** Returns the bytes of concatenated messages, some of them changed. */
const changed = (type: DescMessage): fc.Arbitrary<Uint8Array> =>
  fc
    .record({
      messages: fc.array(messagesOf(type, 2, 4), { minLength: 1, maxLength: 2, size: "small" }),
      changes: fc.array(fc.tuple(fc.nat(2_000), fc.nat(255)), { maxLength: 3 }),
    })
    .map(({ messages, changes }) => {
      const bytes = Buffer.concat(messages.map((message) => toBinary(type, message as Message)));
      for (const [at, byte] of changes) if (at < bytes.length) bytes[at] = byte;
      return new Uint8Array(bytes);
    });

/** Runs a count. Returns true if the limit is exceeded. No other error may occur. */
function isRefused(count: () => void): boolean {
  try {
    count();
    return false;
  } catch (error) {
    expect(error).toBeInstanceOf(RpcError);
    expect((error as RpcError).code).toBe(Code.ResourceExhausted);
    return true;
  }
}

describe.each(TYPES)("of %s", (_, type) => {
  it("the count is that of the message that is decoded", () => {
    fc.assert(
      fc.property(messagesOf(type, 2, 4), (message) => {
        const bytes = toBinary(type, message as Message);
        expect(unitsOf(type, bytes)).toBeCloseTo(weigh(reflect(type, fromBinary(type, bytes))));
      }),
    );
  });

  it("the count is at least as large for any bytes, and throws nothing else", () => {
    fc.assert(
      fc.property(changed(type), (bytes) => {
        const units = unitsOf(type, bytes);
        let message: Message;
        try {
          message = fromBinary(type, bytes);
        } catch {
          return;
        }
        expect(units + 0.001).toBeGreaterThanOrEqual(weigh(reflect(type, message), true));
        // Messages that are too small to exceed a limit are not scanned.
        expect(units).toBeLessThanOrEqual(messageUnits(type) + densityOf(type) * Units.value * bytes.length);
      }),
      { numRuns: 500 },
    );
  });

  it("any bytes are counted or refused", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.integer({ min: 1, max: 20 }), (bytes, limit) => {
        isRefused(() => countProtoValues(type, bytes, countUpTo(limit)));
      }),
    );
  });

  it("a message is refused exactly if it has more values than the limit", () => {
    fc.assert(
      fc.property(messagesOf(type, 2, 4), fc.integer({ min: 1, max: 200 }), (message, limit) => {
        const bytes = toBinary(type, message as Message);
        const refused = isRefused(() => countProtoValues(type, bytes, countUpTo(limit)));
        expect(refused).toBe(unitsOf(type, bytes) > limit * Units.value);
      }),
    );
  });

  it("JSON counts at least the messages and entries that are decoded", () => {
    fc.assert(
      fc.property(messagesOf(type, 2, 4), (message) => {
        let json: JsonValue;
        try {
          json = toJson(type, message as Message);
        } catch {
          return;
        }
        const count = countUpTo(MANY);
        countJsonMessage(type, json, count);
        expect(count.made).toBeGreaterThanOrEqual(weighMessages(reflect(type, fromJson(type, json))));
      }),
    );
  });
});

it("integer keys of a map count in the order of the wire, which decides whether engines make an array for them", () => {
  const entry = (key: number): number[] => [0xc2, 7, 11, 9, key & 255, key >> 8, 0, 0, 0, 0, 0, 0, 18, 0];
  const [rising = 0, falling = 0] = [
    [2, 1_025],
    [1_025, 2],
  ].map((keys) => unitsOf(everySpecial(), Uint8Array.from(keys.flatMap(entry))));
  expect(rising - falling).toBe(indexUnits(2, 1_025));
});

/** Returns the units of the messages and entries in a decoded message. */
function weighMessages(message: ReflectMessage): number {
  let units = Units.value;
  for (const field of message.sortedFields) {
    if (!message.isSet(field)) continue;
    const value = message.get(field) as unknown;
    if (field.fieldKind === "map") {
      for (const [, one] of value as Iterable<[unknown, unknown]>) {
        units += Units.value + (field.message === undefined ? 0 : weighMessages(one as ReflectMessage));
      }
    } else if (field.message !== undefined) {
      for (const one of field.fieldKind === "list" ? (value as Iterable<ReflectMessage>) : [value as ReflectMessage]) {
        units += weighMessages(one);
      }
    }
  }
  return units;
}

describe("of JSON text", () => {
  /** Returns the arrays and objects of a value. */
  const containersOf = (value: unknown): number =>
    typeof value !== "object" || value === null
      ? 0
      : Object.values(value).reduce<number>((sum, one) => sum + containersOf(one), 1);

  it("arrays and objects count fully, and everything else at most as much", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), fc.integer({ min: 1, max: 50 }), fc.nat(3), (value, limit, indent) => {
        const bytes = Buffer.from(JSON.stringify(value, undefined, indent));
        const refused = isRefused(() => countJsonText(bytes, countUpTo(limit)));
        if (containersOf(value) > limit) expect(refused).toBe(true);
        if (bytes.length / 2 <= limit) expect(refused).toBe(false);
      }),
      { numRuns: 500 },
    );
  });

  it("any bytes are counted or refused", () => {
    const bytes = fc.array(fc.constantFrom(...Buffer.from('{}[]:,"\\1a')), { maxLength: 400 });
    fc.assert(fc.property(bytes, (text) => void isRefused(() => countJsonText(Uint8Array.from(text), countUpTo(10)))));
  });

  it("members count fully if no other object has the same names before them", () => {
    const rows = (nameOf: (row: number, column: number) => string): Uint8Array =>
      Buffer.from(
        JSON.stringify(
          Array.from({ length: 100 }, (_, row) =>
            Object.fromEntries(Array.from({ length: 20 }, (__, column) => [nameOf(row, column), 1])),
          ),
        ),
      );
    const same = rows((_, column) => `name${column}`);
    const distinct = rows((row, column) => `name${row}.${column}`);
    const reordered = rows((row, column) => `name${(column + row) % 20}`);
    expect(isRefused(() => countJsonText(same, countUpTo(300)))).toBe(false);
    for (const text of [distinct, reordered]) expect(isRefused(() => countJsonText(text, countUpTo(300)))).toBe(true);
  });
});

it("merging a Struct into another one counts its values again, because protobuf-es converts all of them", () => {
  const type = everySpecial();
  const field = type.fields.find(
    (one) => one.fieldKind === "message" && one.message.typeName === StructSchema.typeName,
  );
  const entries = Object.fromEntries(Array.from({ length: 1_000 }, (_, i) => [`k${i}`, i]));
  const bytes = toBinary(type, fromJson(type, { [(field as DescField).jsonName]: entries }));
  const one = unitsOf(type, bytes);
  const two = unitsOf(type, Buffer.concat([bytes, bytes]));
  const three = unitsOf(type, Buffer.concat([bytes, bytes, bytes]));
  expect([Math.round(two / one), Math.round(three / one)]).toEqual([3, 6]);
});

it("integers of too many digits are refused before they are converted", () => {
  const type = everything("proto3");
  const field = type.fields.find((one) => one.scalar === 3 && one.fieldKind === "scalar") as DescField;
  const digits = { [field.jsonName]: "7".repeat(1_001) };
  expect(() => countJsonMessage(type, digits, countUpTo(MANY))).toThrow("an integer of more than 1000 digits");
});
