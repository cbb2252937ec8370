import fc from "fast-check";
import { expect, it } from "vitest";
import { Roster } from "../../runtime/src/node/io/swap-list.ts";

const steps = fc.array(fc.record({ add: fc.boolean(), who: fc.nat({ max: 9 }) }));

it("a roster has who came and has not left, however they come and go", () => {
  fc.assert(
    fc.property(steps, (all) => {
      const members = Array.from({ length: 10 }, (_, name) => ({ name, place: 0 }));
      const roster = new Roster<(typeof members)[number]>();
      const there = new Set<(typeof members)[number]>();
      for (const { add, who } of all) {
        const member = members[who] as (typeof members)[number];
        // Whoever is there does not come again; whoever is not may be sent away all the same.
        if (add && !there.has(member)) roster.add(member);
        else if (!add) roster.delete(member);
        if (add) there.add(member);
        else there.delete(member);
        expect(roster.size).toBe(there.size);
        expect(new Set(roster)).toEqual(there);
      }
    }),
  );
});

it("whoever leaves before their turn is not met, and whoever is met may leave", () => {
  const [a, b, c] = [{ place: 0 }, { place: 0 }, { place: 0 }];
  const roster = new Roster();
  for (const member of [a, b, c]) roster.add(member);
  const met = [];
  for (const member of roster) {
    met.push(member);
    roster.delete(member);
    roster.delete(b);
  }
  expect(met).toEqual([a, c]);
  expect(roster.size).toBe(0);
});
