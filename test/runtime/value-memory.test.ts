/** Estimates of the memory of decoded messages: from their bytes, at most by their size, and from their values. */
import { create, type DescMessage, fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema, StructSchema, TypeSchema } from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CostlySchema, WideSchema } from "../../bench/gen/costly_pb.ts";
import { Memory } from "../../runtime/src/codec/memory.ts";
import { emptyMessage, estimateProto, expansionOf } from "../../runtime/src/codec/proto-estimate.ts";
import { valueMemory } from "../../runtime/src/codec/value-memory.ts";
import { everySpecial, everything, messagesOf } from "../support/messages.ts";

const TYPES: [name: string, type: DescMessage][] = [
  ["every kind of field in proto3", everything("proto3")],
  ["every kind of field in proto2", everything("proto2")],
  ["maps, groups and well-known messages", everySpecial()],
  ["a Struct", StructSchema],
  ["a type's description", TypeSchema],
];

/** Estimates in steps. Returns the estimate and the number of pauses. */
function measure(value: object, isShared = false): { memory: number; pauses: number } {
  const work = valueMemory(value, isShared);
  for (let pauses = 0; ; pauses++) {
    const { done, value: memory } = work.next();
    if (done) return { memory, pauses };
  }
}

const memoryOf = (value: object, isShared = false): number => measure(value, isShared).memory;

describe.each(TYPES)("%s", (_, type) => {
  it("takes no more memory than its size allows", () => {
    fc.assert(
      fc.property(messagesOf(type, 2, 4), (message) => {
        const bytes = toBinary(type, message as Message);
        expect(estimateProto(type, bytes)).toBeLessThanOrEqual(bytes.length * expansionOf(type).most);
      }),
    );
  });

  it("has similar estimates from its bytes and from its values", () => {
    fc.assert(
      fc.property(messagesOf(type, 2, 4), (init) => {
        const bytes = toBinary(type, init as Message);
        const ratio = memoryOf(fromBinary(type, bytes)) / (emptyMessage(type) + estimateProto(type, bytes));
        expect(ratio).toBeGreaterThan(0.4);
        expect(ratio).toBeLessThan(2);
      }),
    );
  });
});

/** An entry of the map in the message that is repeated. */
const entry = (key: string): number[] => [0x3a, 6, 0x0a, 4, ...Buffer.from(key)];

describe("messages that take the most memory for their size", () => {
  it.each<[string, number[]]>([
    ["empty messages with many fields", [0x1a, 0]],
    ["unknown fields", [0x78, 0]],
    ["maps with the keys 1040, 2600, 4940 and 8450", [0x1a, 32, ...["1040", "2600", "4940", "8450"].flatMap(entry)]],
  ])("%s", (__, one) => {
    const bytes = new Uint8Array(one.length * 500).map((___, at) => one[at % one.length] as number);
    const estimate = estimateProto(CostlySchema, bytes);
    expect(estimate).toBeGreaterThan(40 * bytes.length);
    expect(estimate).toBeLessThanOrEqual(bytes.length * expansionOf(CostlySchema).most);
  });
});

it("the most memory for each byte depends on the widest message, and on maps", () => {
  const { most, withoutMaps } = expansionOf(FileDescriptorProtoSchema);
  expect(most).toBe(withoutMaps);
  expect(expansionOf(CostlySchema).withoutMaps).toBeGreaterThanOrEqual(emptyMessage(WideSchema) / 2);
  expect(expansionOf(CostlySchema).most).toBeGreaterThan(expansionOf(CostlySchema).withoutMaps);
  expect(withoutMaps).toBeLessThan(500);
});

describe("an estimate from values", () => {
  it("contains text, numbers, lists, maps, sets, oneofs and bytes", () => {
    const parts = {
      text: "x".repeat(100),
      small: 1,
      large: 1.5,
      long: 5n,
      nothing: null,
      empty: [],
      items: [1, 2, 3],
      map: new Map([["key", "value"]]),
      set: new Set([1, 2]),
      date: new Date(0),
      choice: { case: "text", value: "yes" },
      none: { case: undefined },
      bytes: new Uint8Array(1_000),
    };
    const members = Object.entries(parts).map(([name, value]) => memoryOf({ [name]: value }) - memoryOf({ [name]: 1 }));
    const first = Memory.firstItem + Memory.list;
    expect(members).toEqual([
      124,
      0,
      Memory.number,
      Memory.bigint,
      0,
      Memory.list,
      first + 3 * Memory.item,
      Memory.map + Memory.entry + Memory.text(3) + Memory.text(5),
      Memory.map + 2 * Memory.entry,
      Memory.map,
      Memory.oneof + Memory.text(3),
      Memory.oneof,
      Memory.ownBytes,
    ]);
  });

  it("contains the array that engines reserve for integers among the names of an object", () => {
    expect(memoryOf({ 1040: 0 }) - memoryOf({ name: 0 })).toBeGreaterThan(12_000);
  });

  it("counts an object once to which several others refer, even if it refers to itself", () => {
    const shared: { text: string; self?: unknown } = { text: "x".repeat(10_000) };
    shared.self = shared;
    const list = Array.from({ length: 1_000 }, () => shared);
    expect(memoryOf(list, true)).toBeLessThan(30_000);
  });

  it("pauses after a few hundred values", () => {
    const message = create(CostlySchema, { wides: Array.from({ length: 1_000 }, () => ({})) });
    const { memory, pauses } = measure(message);
    expect(memory).toBeGreaterThan(1_000 * emptyMessage(WideSchema) * 0.5);
    expect(pauses).toBeGreaterThan(20);
  });
});
