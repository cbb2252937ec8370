/** The matrix: the combinations that were run, the unsupported cases with their reasons, and the output of both. */

/** Cases by name, with their errors; `undefined` for passed ones. */
export type Outcomes = ReadonlyMap<string, string | undefined>;

/** One column: two programs, and the ways in which they were connected. Some programs lack some cases. */
export interface Column {
  readonly title: string;
  readonly ways: readonly string[];
  /** Cases that a peer does not support, with the reason. Such a case must fail or be absent. */
  readonly unsupported: Readonly<Record<string, string>>;
  /** The outcomes for each way, in order. */
  run(): Promise<readonly Outcomes[]>;
}

/** Columns with the same cases. */
export interface Table {
  readonly title: string;
  readonly cases: readonly string[];
  readonly columns: readonly Column[];
}

/** A table that has been run. */
export interface Result {
  readonly table: Table;
  /** The results by column, then by way. */
  readonly outcomes: readonly (readonly Outcomes[])[];
}

/** Runs the columns one after the other. */
export async function runTable(table: Table): Promise<Result> {
  const outcomes: (readonly Outcomes[])[] = [];
  for (const column of table.columns) {
    const start = Date.now();
    outcomes.push(await attempt(table, column));
    console.log(`${table.title}: ${column.title} (${((Date.now() - start) / 1000).toFixed(1)} s)`);
  }
  return { table, outcomes };
}

/** Runs a column. If a program does not start or end as expected, every case has that error. */
async function attempt({ cases }: Table, column: Column): Promise<readonly Outcomes[]> {
  try {
    return await column.run();
  } catch (error) {
    return column.ways.map(() => new Map(cases.map((name) => [name, String(error)])));
  }
}

/** Differences from the expected results: cases that fail, that pass unexpectedly, or that were not run. */
export function problemsOf({ table, outcomes }: Result): string[] {
  return table.columns.flatMap((column, i) => problemsOfColumn(table, column, outcomes[i] ?? []));
}

function problemsOfColumn(table: Table, column: Column, runs: readonly Outcomes[]): string[] {
  return column.ways.flatMap((way, i) => {
    const run = runs[i] ?? new Map<string, string | undefined>();
    const where = `${table.title}, ${column.title}${way === "" ? "" : `, ${way}`}:`;
    const strangers = [...run.keys(), ...Object.keys(column.unsupported)].filter((name) => !table.cases.includes(name));
    const problems = [
      ...strangers.map((name) => [name, "is no case"] as const),
      ...table.cases.map((name) => [name, problemOf(column, run, name)] as const),
    ];
    return problems.flatMap(([name, text]) => (text === undefined ? [] : [`${where} ${name} ${text}`]));
  });
}

/** Returns the part of an error that is shown, without its stack. */
const MAX_SHOWN = 500;

function problemOf({ unsupported }: Column, run: Outcomes, name: string): string | undefined {
  const passed = run.has(name) && run.get(name) === undefined;
  if (name in unsupported) return passed ? "passes, though it is listed as unsupported" : undefined;
  if (!run.has(name)) return "was not run";
  return passed ? undefined : `FAILED: ${run.get(name)?.slice(0, MAX_SHOWN)}`;
}

/** Counts passed cases, and those known to be unsupported. */
export function countOf({ table, outcomes }: Result): { passed: number; unsupported: number } {
  const all = table.columns.flatMap(({ unsupported }, i) =>
    (outcomes[i] ?? []).flatMap((run) => table.cases.map((name) => ({ run, name, listed: name in unsupported }))),
  );
  return {
    passed: all.filter(({ run, name, listed }) => !listed && run.has(name) && run.get(name) === undefined).length,
    unsupported: all.filter(({ listed }) => listed).length,
  };
}

/** Returns the table in Markdown: a line for each case, and a number for each reason for a missing feature. */
export function formatResult({ table, outcomes }: Result): string {
  const reasons: string[] = [];
  const cell = (column: Column, runs: readonly Outcomes[], name: string): string => {
    const reason = column.unsupported[name];
    if (reason === undefined) {
      const failed = column.ways.filter((_, j) => !runs[j]?.has(name) || runs[j]?.get(name) !== undefined);
      return failed.length === 0 ? "pass" : `FAIL ${failed.join(" ")}`.trim();
    }
    if (!reasons.includes(reason)) reasons.push(reason);
    return `– (${reasons.indexOf(reason) + 1})`;
  };
  const rows = [
    ["", ...table.columns.map(({ title }) => title)],
    ["---", ...table.columns.map(() => "---")],
    ...table.cases.map((name) => [
      name.replaceAll("_", " "),
      ...table.columns.map((column, i) => cell(column, outcomes[i] ?? [], name)),
    ]),
  ];
  return [
    `### ${table.title}`,
    "",
    ...waysOf(table),
    ...rows.map((row) => `| ${row.join(" | ")} |`),
    "",
    ...reasons.map((reason, i) => `${i + 1}. ${reason}`),
    ...(reasons.length === 0 ? [] : [""]),
  ].join("\n");
}

/** Returns the ways in which the cells of a table were run. */
function waysOf({ columns }: Table): string[] {
  const ways = new Set(columns.map((column) => column.ways.join(" and ")).filter((way) => way !== ""));
  return ways.size === 0 ? [] : [`Each cell was run over ${[...ways].join(", or over ")}.`, ""];
}
