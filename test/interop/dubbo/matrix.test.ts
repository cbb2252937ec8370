/**
 * The evaluation of Dubbo's interoperability matrix, including the effect of a second run.
 */
import { expect, test } from "vitest";
import { type Column, countOf, formatResult, type Outcomes, problemsOf, runTable } from "./matrix.ts";

/** A table of one column, whose runs have the given results in turn. */
function tableOf(runs: readonly (() => Outcomes[])[], unsupported: Column["unsupported"] = {}) {
  let next = 0;
  const run = async (): Promise<Outcomes[]> => runs[next++]?.() ?? [];
  const column = { title: "us → them", ways: ["cleartext", "TLS"], unsupported, run };
  return { title: "Table", cases: ["unary", "cancel"], columns: [column] };
}

const ways = (cleartext: Record<string, string | undefined>, tls: Record<string, string | undefined>) => () => [
  new Map(Object.entries(cleartext)),
  new Map(Object.entries(tls)),
];
const good = { unary: undefined, cancel: undefined };

test("a cell that fails once passes at the second try, which is reported", async () => {
  const events: string[] = [];
  const run = (outcomes: () => Outcomes[]) => () => {
    events.push("run");
    return outcomes();
  };
  const runs = [run(ways(good, { ...good, cancel: "late" })), run(ways(good, good))];
  const result = await runTable(tableOf(runs), async () => void events.push("restart"));
  expect(events).toEqual(["run", "restart", "run"]);
  expect(problemsOf(result)).toEqual([]);
  expect(result.retried).toEqual(["Table, us → them, TLS: cancel FAILED: late"]);
  expect(countOf(result)).toEqual({ passed: 4, unsupported: 0 });
  expect(formatResult(result)).toContain("| cancel | pass |");
});

test("a cell that fails twice has failed", async () => {
  const result = await runTable(
    tableOf([ways({ ...good, cancel: "late" }, good), ways({ ...good, cancel: "later" }, good)]),
  );
  expect(problemsOf(result)).toEqual(["Table, us → them, cleartext: cancel FAILED: later"]);
  expect(result.retried).toEqual([]);
  expect(formatResult(result)).toContain("| cancel | FAIL cleartext |");
});

test("the second try changes nothing about cells that were as they have to be", async () => {
  const result = await runTable(
    tableOf([ways({ ...good, cancel: "late" }, good), ways({ ...good, unary: "late" }, good)]),
  );
  expect(problemsOf(result)).toEqual([]);
  expect(result.retried).toHaveLength(1);
});

test("a listed case that passes, is not run, or does not exist is a problem", async () => {
  const run = ways({ unary: undefined, cancel: undefined }, { cancel: "never", other: undefined });
  const result = await runTable(tableOf([run, run], { cancel: "They cannot." }));
  expect(problemsOf(result)).toEqual([
    "Table, us → them, cleartext: cancel passes, though it is listed as unsupported",
    "Table, us → them, TLS: other is no case",
    "Table, us → them, TLS: unary was not run",
  ]);
});

test("a column whose programs do not start has a second try, and fails with the reason", async () => {
  const fail = (): Outcomes[] => {
    throw new Error("java does not listen");
  };
  expect(problemsOf(await runTable(tableOf([fail, ways(good, good)])))).toEqual([]);
  const problems = problemsOf(await runTable(tableOf([fail, fail])));
  expect(problems).toHaveLength(4);
  expect(problems[0]).toBe("Table, us → them, cleartext: unary FAILED: Error: java does not listen");
});
