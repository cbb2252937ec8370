/** The time is proportional to the size of contracts. */
import { expect, it } from "vitest";
import { read, stubs } from "./support/contracts.ts";

it("400 services with 10 methods each, whose classes are in one circle, are read and printed in seconds", () => {
  const numbers = Array.from({ length: 400 }, (_, i) => i);
  const methods = numbers.slice(0, 10).map((i) => `m${i}(user: User, all: Map<string, User[]>): Promise<User | null>;`);
  const contracts = numbers.map((i): [string, string] => [
    `c${i}.ts`,
    `import type { User as Next } from "./c${(i + 1) % numbers.length}.ts";
    /** @service a.S${i} */ export interface S${i} {\n${methods.join("\n")} }
    /** @class a.U${i} */ export interface User { name: string; next: Next | null }`,
  ]);
  const start = performance.now();
  const reading = read(Object.fromEntries(contracts));
  expect(reading.problems).toEqual([]);
  expect(stubs(reading)).toHaveLength(400);
  // It takes two seconds on a laptop.
  expect(performance.now() - start).toBeLessThan(30_000);
}, 60_000);
