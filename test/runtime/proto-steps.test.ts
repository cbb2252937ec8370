/** Large messages in Protobuf's binary format: their memory is estimated in advance, and they are decoded in steps. */
import {
  create,
  type DescField,
  type DescMessage,
  fromBinary,
  type Message,
  mergeFromBinary,
  ScalarType,
  toBinary,
} from "@bufbuild/protobuf";
import { type ReflectMessage, reflect } from "@bufbuild/protobuf/reflect";
import { BinaryWriter } from "@bufbuild/protobuf/wire";
import { FeatureSet_FieldPresence, StructSchema, TypeSchema, ValueSchema } from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { CostlySchema } from "../../bench/gen/costly_pb.ts";
import { IndexArray, indexOfKey, Memory } from "../../runtime/src/codec/memory.ts";
import { emptyMessage, ProtoEstimator, shapeOf } from "../../runtime/src/codec/proto-estimate.ts";
import { decodeProtoInSteps } from "../../runtime/src/codec/proto-steps.ts";
import { everySpecial, everything, messagesOf } from "../support/messages.ts";

const TYPES: [name: string, type: DescMessage][] = [
  ["every kind of field in proto3", everything("proto3")],
  ["every kind of field in proto2", everything("proto2")],
  ["maps, groups and well-known messages", everySpecial()],
  ["a Struct", StructSchema],
  ["a type's description", TypeSchema],
];

const estimate = (type: DescMessage, bytes: Uint8Array): number =>
  new ProtoEstimator(bytes, Number.POSITIVE_INFINITY).fields(shapeOf(type), bytes.length);

interface Weights {
  /** Returns the least number of bytes that a text had. */
  readonly sizeOf: (text: string) => number;
  /** Memory of the value null in a Struct. In JSON, it is also the value of an entry that had no bytes for it. */
  readonly nullValue: number;
}

/** The memory of a message whose bytes protobuf-es would write. */
const written: Weights = { sizeOf: Buffer.byteLength, nullValue: Memory.oneof + Memory.slot };
/** The least memory of a message that any bytes may encode. */
const least: Weights = { sizeOf: (text) => text.length, nullValue: 0 };

/** Returns the same estimate for a decoded message. */
function weigh(message: ReflectMessage, weights: Weights): number {
  const { sizeOf, nullValue } = weights;
  const weighValue = (field: DescField, value: unknown): number => {
    if (field.message !== undefined) return weigh(value as ReflectMessage, weights);
    return field.scalar === undefined ? 0 : weighScalar(field.scalar, value, field.fieldKind === "list");
  };
  const weighScalar = (scalar: ScalarType, value: unknown, listed: boolean): number => {
    if (value instanceof Uint8Array) return Memory.bytes;
    if (typeof value === "string") return Memory.text(sizeOf(value));
    if (typeof value === "bigint") return Memory.bigint;
    return !listed && (scalar === ScalarType.DOUBLE || scalar === ScalarType.FLOAT) ? Memory.number : 0;
  };
  let memory = emptyMessage(message.desc);
  for (const field of message.sortedFields) {
    if (!message.isSet(field)) continue;
    const isNull =
      message.desc.typeName === ValueSchema.typeName && field.number === ValueSchema.field.nullValue.number;
    const own = isNull ? nullValue : ("oneof" in field && field.oneof ? Memory.oneof : 0) + explicit(field);
    if (field.fieldKind === "list") {
      memory += Memory.firstItem;
      for (const item of message.get(field)) memory += Memory.item + weighValue(field, item);
    } else if (field.fieldKind === "map") {
      memory += field.mapKey === ScalarType.STRING ? 0 : Memory.firstIndexEntry;
      const array = new IndexArray();
      for (const [key, value] of message.get(field)) {
        memory += array.add(indexOfKey(String(key)));
        memory += Memory.entry + weighScalar(field.mapKey, key, false) + weighValue(field, value);
      }
    } else memory += own + weighValue(field, message.get(field));
  }
  return memory + (message.getUnknown()?.length ?? 0) * Memory.unknown;
}

const explicit = (field: DescField): number =>
  field.fieldKind !== "list" && field.presence === FeatureSet_FieldPresence.EXPLICIT ? Memory.slot : 0;

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

describe.each(TYPES)("of %s", (_, type) => {
  it("the estimate is that of the message that is decoded", () => {
    fc.assert(
      fc.property(messagesOf(type, 2, 4), (message) => {
        const bytes = toBinary(type, message as Message);
        expect(estimate(type, bytes) + emptyMessage(type)).toBe(weigh(reflect(type, message as Message), written));
      }),
    );
  });

  it("the estimate is at least as large for any bytes", () => {
    fc.assert(
      fc.property(changed(type), (bytes) => {
        let message: Message;
        try {
          message = fromBinary(type, bytes);
        } catch {
          return;
        }
        expect(estimate(type, bytes) + emptyMessage(type)).toBeGreaterThanOrEqual(weigh(reflect(type, message), least));
      }),
      { numRuns: 500 },
    );
  });

  it("steps result in the same message as decoding at once", async () => {
    await fc.assert(
      fc.asyncProperty(changed(type), fc.integer({ min: 1, max: 2_000 }), async (bytes, stepBytes) => {
        let expected: Message;
        try {
          expected = fromBinary(type, bytes);
        } catch {
          return;
        }
        let decoded: object;
        try {
          decoded = await decodeProtoInSteps(type, bytes, 2 ** 30, { stepBytes });
        } catch (error) {
          // A field that is longer than the message that contains it, which protobuf-es accepts.
          expect(error).toBeInstanceOf(Error);
          return;
        }
        expect(decoded).toEqual(expected);
      }),
      { numRuns: 100 },
    );
  });

  it("a message is refused exactly if its estimate is beyond the limit", async () => {
    await fc.assert(
      fc.asyncProperty(messagesOf(type, 2, 4), fc.nat(4_000), async (message, limit) => {
        const bytes = toBinary(type, message as Message);
        const refused = estimate(type, bytes) > limit;
        const decoding = (async () => decodeProtoInSteps(type, bytes, limit, { stepBytes: 200 }))();
        if (!refused) expect(await decoding).toEqual(fromBinary(type, bytes));
        else
          await expect(decoding).rejects.toThrow(
            new RegExp(
              `^\\[resource_exhausted\\] decoding the message would take at least \\d+ bytes of memory, more than the limit of ${limit} bytes \\(option maxDecodedBytes`,
            ),
          );
      }),
      { numRuns: 50 },
    );
  });
});

it("the estimate of an entry of a Struct field without a value is that of the value null", () => {
  const type = everySpecial();
  // The field 2, a Struct, with an entry of no bytes.
  const bytes = Uint8Array.of(0x12, 2, 0x0a, 0);
  const message = reflect(type, fromBinary(type, bytes));
  expect(estimate(type, bytes) + emptyMessage(type)).toBe(weigh(message, least));
});

it("steps keep numbers in a Struct field that JSON text does not have", async () => {
  const type = everySpecial();
  const field = type.fields.find(
    ({ fieldKind, message, oneof }) =>
      fieldKind === "message" && oneof === undefined && message.typeName === StructSchema.typeName,
  );
  const struct = { first: Number.NaN, second: [Number.POSITIVE_INFINITY, { third: Number.NEGATIVE_INFINITY }] };
  const bytes = toBinary(type, create(type, { [field?.localName ?? ""]: struct }));
  const decoded = await decodeProtoInSteps(type, bytes, 2 ** 30, { stepBytes: 1 });
  expect(decoded).toMatchObject({ [field?.localName ?? ""]: struct });
  expect(decoded).toEqual(fromBinary(type, bytes));
});

it("messages may be nested as deeply as for protobuf-es, also in maps", async () => {
  const field = (number: number, contents: Uint8Array): Uint8Array =>
    new BinaryWriter().tag(number, 2).bytes(contents).finish();
  const inList = (depth: number): [DescMessage, Uint8Array] => {
    let bytes: Uint8Array = new Uint8Array();
    // A list in a value, as in [[[]]].
    for (let level = 1; level < depth; level += 1) bytes = field((depth - level) % 2 === 1 ? 6 : 1, bytes);
    return [ValueSchema, bytes];
  };
  const inStruct = (depth: number): [DescMessage, Uint8Array] => {
    let bytes: Uint8Array = new Uint8Array();
    for (let level = 1; level < depth; level += 1)
      bytes = (depth - level) % 2 === 1 ? field(1, field(2, bytes)) : field(5, bytes);
    return [StructSchema, bytes];
  };
  for (const nested of [inList, inStruct]) {
    for (let depth = 97; depth <= 103; depth += 1) {
      const [type, bytes] = nested(depth);
      const inSteps = (async () => decodeProtoInSteps(type, bytes, 2 ** 30, { stepBytes: 1 }))();
      if (depth <= 100) expect(await inSteps).toEqual(fromBinary(type, bytes));
      else {
        expect(() => fromBinary(type, bytes)).toThrow();
        await expect(inSteps).rejects.toThrow("nested");
      }
    }
  }
});

it("an unknown varint of any length is skipped as protobuf-es skips it", async () => {
  const unknown = [0xf8, 0x7f, ...new Array<number>(14).fill(0x80), 0];
  const bytes = Uint8Array.from([...unknown, ...toBinary(TypeSchema, create(TypeSchema, { name: "after" }))]);
  expect(await decodeProtoInSteps(TypeSchema, bytes, 2 ** 30, { stepBytes: 1 })).toEqual(fromBinary(TypeSchema, bytes));
});

it("a step decodes few values of a packed field", async () => {
  const type = everything("proto3");
  const field = type.fields.find(({ name }) => name === "packed_3") as DescField;
  const values = Array.from({ length: 10_000 }, (_, i) => BigInt(i) ** 3n);
  const bytes = toBinary(type, create(type, { [field.localName]: values }));
  const sizes: number[] = [];
  const generated = {
    encode: () => new Uint8Array(),
    decode: (part: Uint8Array, message?: object) => {
      sizes.push(part.length);
      return mergeFromBinary(type, message as Message, part);
    },
  };
  const decoded = await decodeProtoInSteps(type, bytes, 2 ** 30, { stepBytes: 4_000, generated });
  expect(decoded).toEqual(fromBinary(type, bytes));
  expect(Math.max(...sizes)).toBeLessThan(200);
});

it("a message at the end of many levels is estimated a few times, and not once for each level", async () => {
  const type = everything("proto3");
  const { localName } = type.fields.find(({ name }) => name === "single_11") as DescField;
  const text = type.fields.find(({ name }) => name === "loose_9") as DescField;
  let message = create(type, { [text.localName]: Array.from({ length: 20_000 }, () => "x") });
  for (let i = 0; i < 60; i += 1) message = create(type, { [localName]: message });
  const bytes = toBinary(type, message);
  let open = 0;
  let read = 0;
  const { fields } = ProtoEstimator.prototype;
  vi.spyOn(ProtoEstimator.prototype, "fields").mockImplementation(function (this: ProtoEstimator, ...given) {
    const { position } = this;
    open += 1;
    const memory = fields.apply(this, given);
    open -= 1;
    if (open === 0) read += this.position - position;
    return memory;
  });
  const decoded = await decodeProtoInSteps(type, bytes, 2 ** 30, { stepBytes: 100_000 });
  vi.restoreAllMocks();
  expect(decoded).toEqual(fromBinary(type, bytes));
  expect(read).toBeLessThan(15 * bytes.length);
});

it("fields that protobuf-es keeps in a hash table, first items and integer keys are counted", () => {
  const wide = everything("proto3");
  expect(wide.members.length).toBeGreaterThan(16);
  expect(emptyMessage(wide)).toBeGreaterThan(emptyMessage(wide, true) + 24 * wide.members.length);
  const options = TypeSchema.fields.find(({ name }) => name === "oneofs") as DescField;
  const item = Uint8Array.of((options.number << 3) | 2, 0);
  const one = estimate(TypeSchema, item);
  expect(one).toBe(Memory.firstItem + Memory.item);
  expect(estimate(TypeSchema, Buffer.concat([item, item]))).toBe(one + Memory.item);
});

it("integer keys are counted with the array that engines reserve, in whatever order an entry has its fields", () => {
  const type = everySpecial();
  const field = type.fields.find((one) => one.fieldKind === "map" && one.mapKey === ScalarType.INT32) as DescField;
  const entryOf = (...bytes: number[]): Uint8Array =>
    Uint8Array.from([...new BinaryWriter().uint32((field.number << 3) | 2).finish(), bytes.length, ...bytes]);
  const key = (value: number): number[] => [0x08, ...new BinaryWriter().uint32(value).finish()];
  const value = [0x12, 0];
  const base = estimate(type, entryOf(...key(0), ...value));
  expect(estimate(type, entryOf(...key(1_000), ...value)) - base).toBe(12_000);
  expect(estimate(type, entryOf(...key(2_000), ...value)) - base).toBe(0);
  for (const bytes of [
    [...value, ...key(1_000)],
    [...key(1), ...key(1_000), ...value],
    [0x78, 0, ...key(1_000)],
  ]) {
    expect(estimate(type, entryOf(...bytes)) - base).toBeGreaterThan(12_000);
  }
  const chain = Buffer.concat([1_000, 2_000, 3_000, 4_000].map((one) => entryOf(...key(one), ...value)));
  expect(estimate(type, chain)).toBeGreaterThan(12 * 4_000);
});

it.each([
  ["empty texts", Buffer.alloc(200_000, Buffer.from([0x0a, 0]))],
  ["empty packed numbers", Buffer.alloc(200_000, Buffer.from([0x3a, 0]))],
])("%s that replace each other take no memory, and are decoded in steps because of their number", async (_, fields) => {
  const nested = new BinaryWriter().tag(15, 2).bytes(fields).finish();
  for (const bytes of [fields, nested]) {
    const decoding = decodeProtoInSteps(CostlySchema, bytes, 2_000);
    expect(decoding).toBeInstanceOf(Promise);
    expect(await decoding).toEqual(fromBinary(CostlySchema, bytes));
  }
});
