import fc from "fast-check";
import { expect, it } from "vitest";
import { SwapList } from "../../../runtime/src/connection/swap-list.ts";

const steps = fc.array(fc.record({ add: fc.boolean(), who: fc.nat({ max: 9 }) }));

it("contains what was added and not removed, in any sequence of both", () => {
  fc.assert(
    fc.property(steps, (all) => {
      const members = Array.from({ length: 10 }, (_, name) => ({ name, index: 0 }));
      const list = new SwapList<(typeof members)[number]>();
      const there = new Set<(typeof members)[number]>();
      for (const { add, who } of all) {
        const member = members[who] as (typeof members)[number];
        // A member is added only if it is absent. Removing an absent one has no effect.
        if (add && !there.has(member)) list.add(member);
        else if (!add) list.delete(member);
        if (add) there.add(member);
        else there.delete(member);
        expect(list.size).toBe(there.size);
        expect(new Set(list)).toEqual(there);
      }
    }),
  );
});

it("a member that is removed before its turn is skipped, and the current member may be removed", () => {
  const [a, b, c] = [{ index: 0 }, { index: 0 }, { index: 0 }];
  const list = new SwapList();
  for (const member of [a, b, c]) list.add(member);
  const met = [];
  for (const member of list) {
    met.push(member);
    list.delete(member);
    list.delete(b);
  }
  expect(met).toEqual([a, c]);
  expect(list.size).toBe(0);
});
