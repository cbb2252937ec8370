import { setImmediate as turn } from "node:timers/promises";
import fc from "fast-check";
import { expect, it } from "vitest";
import { inThreadPool, MAX_IN_THREAD_POOL } from "../../../runtime/src/node/thread-pool.ts";

it("starts jobs in order, up to the concurrency limit, whether they succeed or fail", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.record({ turns: fc.nat(3), fails: fc.boolean() }), { maxLength: 20 }), async (all) => {
      let running = 0;
      let most = 0;
      const begun: number[] = [];
      const results = await Promise.allSettled(
        all.map(({ turns, fails }, index) =>
          inThreadPool(async () => {
            begun.push(index);
            running += 1;
            most = Math.max(most, running);
            for (let i = 0; i < turns; i++) await turn();
            running -= 1;
            if (fails) throw new Error("failed");
            return index;
          }),
        ),
      );
      expect(most).toBe(Math.min(all.length, MAX_IN_THREAD_POOL));
      expect(begun).toEqual(all.map((_, index) => index));
      expect(results.map(({ status }) => status === "rejected")).toEqual(all.map(({ fails }) => fails));
    }),
    { numRuns: 50 },
  );
});
