/** Sets and maps of numbers that a peer has chosen so that their hashes collide in V8: numbers count in proportion. */
import { hessian2 } from "triple-es-dubbo/hessian2";
import { describe, expect, it } from "vitest";
import { Cost } from "../../../dubbo/src/interface/cost.ts";
import { jsonSerialization, type Serialization } from "../../../dubbo/src/interface/serialization.ts";
import type { JavaType } from "../../../dubbo/src/interface/signature.ts";

/** The multiplicative inverse of an odd number, modulo 2 to the power of 32. */
function inverseOf(odd: number): number {
  let inverse = odd;
  for (let i = 0; i < 5; i++) inverse = Math.imul(inverse, 2 - Math.imul(odd, inverse));
  return inverse;
}

/** Undoes `x ^= x >>> by`. */
function unshift(x: number, by: number): number {
  let y = x;
  for (let i = 0; i < 32 / by; i++) y = x ^ (y >>> by);
  return y;
}

/** Returns the number with the given hash in V8 (`ComputeUnseededHash`): its steps are reversed. */
function keyOf(hash: number): number {
  const x = unshift(Math.imul(unshift(hash, 16), inverseOf(2057)), 4);
  return Math.imul(unshift(Math.imul(x, inverseOf(5)), 12) + 1, inverseOf(32_767)) | 0;
}

/** Numbers whose hashes have equal lower 16 bits, which are all bits that tables of up to 131,072 keys use. */
const COLLIDING = Array.from({ length: 20_000 }, (_, i) => keyOf((i << 16) | 7));
const ORDINARY = Array.from({ length: 20_000 }, (_, i) => i);
/** As many numbers as one set may have by default. */
const MOST = 7_300;

const SET: JavaType = { set: "double" };
const MAP: JavaType = { map: ["int", "boolean"] };

it("are numbers as the test assumes", () => {
  // As texts, whose hashes do not collide: a set of the numbers would take seconds.
  expect(new Set(COLLIDING.map(String)).size).toBe(COLLIDING.length);
});

/** Encodes entries like a peer that does not build a map of them. */
const ENTRIES: readonly (readonly [serialization: Serialization, encode: (keys: readonly number[]) => Uint8Array])[] = [
  [
    hessian2,
    (keys) => {
      const entries = keys.map((key) => {
        const entry = Buffer.from([0x49, 0, 0, 0, 0, 0x54]);
        entry.writeInt32BE(key, 1);
        return entry;
      });
      return Buffer.concat([Buffer.from("H"), ...entries, Buffer.from("Z")]);
    },
  ],
  [jsonSerialization, (keys) => Buffer.from(`{${keys.map((key) => `"${key}":true`).join()}}`)],
];

describe.each(ENTRIES)("in $name", (serialization, encodeEntries) => {
  const decode = (type: JavaType, keys: readonly number[], cost?: Cost): unknown =>
    serialization.decode(
      type,
      type === SET ? serialization.encode({ list: "double" }, keys) : encodeEntries(keys),
      cost,
    );

  it.each([
    ["a set", SET],
    ["a map", MAP],
  ])("%s has a limit on numbers, whether they collide or not", (_, type) => {
    for (const keys of [COLLIDING, ORDINARY]) {
      expect(decode(type, keys.slice(0, MOST))).toHaveProperty("size", MOST);
      expect(() => decode(type, keys.slice(0, MOST + 300))).toThrow("more than the limit of 65536 (");
    }
    expect(decode(type, ORDINARY, new Cost(500_000))).toHaveProperty("size", ORDINARY.length);
  });

  it("many small sets of numbers have the limit of other values", () => {
    const sets = Array.from({ length: 400 }, () => ORDINARY.slice(0, 50));
    const bytes = serialization.encode({ list: { list: "double" } }, sets);
    expect(serialization.decode({ list: SET }, bytes)).toHaveLength(400);
  });
});
