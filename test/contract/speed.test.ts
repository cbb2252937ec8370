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
  const start = process.cpuUsage();
  const reading = read(Object.fromEntries(contracts));
  expect(reading.problems).toEqual([]);
  expect(stubs(reading)).toHaveLength(400);
  // The CPU time does not depend on the load of the machine. It is two seconds on a laptop.
  const { user, system } = process.cpuUsage(start);
  expect((user + system) / 1_000).toBeLessThan(30_000);
});
