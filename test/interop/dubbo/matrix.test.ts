/** The evaluation of Dubbo's interoperability matrix. */
import { expect, test } from "vitest";
import { type Column, countOf, formatResult, type Outcomes, problemsOf, runTable } from "./matrix.ts";

/** A table of one column with the given results. */
function tableOf(outcomes: () => Outcomes[], unsupported: Column["unsupported"] = {}) {
  const run = async (): Promise<Outcomes[]> => outcomes();
  const column = { title: "us → them", ways: ["cleartext", "TLS"], unsupported, run };
  return { title: "Table", cases: ["unary", "cancel"], columns: [column] };
}

const ways = (cleartext: Record<string, string | undefined>, tls: Record<string, string | undefined>) => () => [
  new Map(Object.entries(cleartext)),
  new Map(Object.entries(tls)),
];
const good = { unary: undefined, cancel: undefined };

test("a cell that fails in one of its ways has failed", async () => {
  const result = await runTable(tableOf(ways(good, { ...good, cancel: "late" })));
  expect(problemsOf(result)).toEqual(["Table, us → them, TLS: cancel FAILED: late"]);
  expect(countOf(result)).toEqual({ passed: 3, unsupported: 0 });
  expect(formatResult(result)).toContain("| unary | pass |\n| cancel | FAIL TLS |");
});

test("a listed case that passes, is not run, or does not exist is a problem", async () => {
  const run = ways({ unary: undefined, cancel: undefined }, { cancel: "never", other: undefined });
  const result = await runTable(tableOf(run, { cancel: "They cannot." }));
  expect(problemsOf(result)).toEqual([
    "Table, us → them, cleartext: cancel passes, though it is listed as unsupported",
    "Table, us → them, TLS: other is no case",
    "Table, us → them, TLS: unary was not run",
  ]);
});

test("a column whose programs do not start fails with the reason", async () => {
  const fail = (): Outcomes[] => {
    throw new Error("java does not listen");
  };
  const problems = problemsOf(await runTable(tableOf(fail)));
  expect(problems).toHaveLength(4);
  expect(problems[0]).toBe("Table, us → them, cleartext: unary FAILED: Error: java does not listen");
});
