/** Sets and maps of numbers that a peer has chosen so that their hashes collide in V8. */
import { hessian2 } from "triple-es/hessian2";
import { describe, expect, it } from "vitest";
import { jsonSerialization } from "../../runtime/src/java/json-serialization.ts";
import type { Serialization } from "../../runtime/src/java/serialization.ts";
import type { JavaType } from "../../runtime/src/java/signature.ts";

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

/**
 * Returns whole numbers whose hashes have equal lower 16 bits, which are all bits that tables of up to 131,072 keys use.
 */
const COLLIDING = Array.from({ length: 20_000 }, (_, i) => keyOf((i << 16) | 7));
const ORDINARY: [name: string, keys: number[]][] = [
  ["counted", Array.from({ length: 20_000 }, (_, i) => i)],
  ["far apart", Array.from({ length: 20_000 }, (_, i) => (i * 65_536) | 0)],
  ["at random", Array.from({ length: 20_000 }, () => Math.trunc(Math.random() * 2 ** 31))],
];

const SET: JavaType = { set: "double" };
const MAP: JavaType = { map: ["int", "boolean"] };

it("are numbers as the test assumes", () => {
  expect(new Set(COLLIDING).size).toBe(COLLIDING.length);
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
  // Large input is decoded in steps.
  const decode = async (type: JavaType, keys: readonly number[]): Promise<unknown> =>
    serialization.decode(type, type === SET ? serialization.encode({ list: "double" }, keys) : encodeEntries(keys));

  it.each([
    ["a set", SET],
    ["a map", MAP],
  ])("%s of numbers that collide is refused", async (_, type) => {
    await expect(decode(type, COLLIDING)).rejects.toThrow("have the same hash");
  });

  it.each(ORDINARY)("sets and maps of numbers %s are read", async (_, keys) => {
    for (const type of [SET, MAP]) {
      expect(((await decode(type, keys)) as Set<number>).size).toBe(new Set(keys).size);
    }
  });
});
