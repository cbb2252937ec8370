/**
 * The simulator: `npm run simulate -- [--seed N] [--seeds N] [--calls N] [--trace] [--plan FILE] [--exclude I1,I2] [--hash]`, or
 * `npm run simulate -- --mutants [--only n01,p02] [--seconds N]`. Exits with 1 if something is broken,
 * or a mutant is not found that the table in `mutants/README.md` has with a seed.
 */
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { bundleProduct } from "./bundle.ts";
import { runCampaign } from "./campaign.ts";
import { drawPlan } from "./draw-plan.ts";
import { findMutant, foundByTable, readMutants } from "./mutants.ts";
import type { Plan } from "./plan.ts";
import { report } from "./report.ts";
import { type Result, run } from "./run.ts";
import { shrink } from "./shrink.ts";

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    seeds: { type: "string", default: "1" },
    calls: { type: "string" },
    plan: { type: "string" },
    trace: { type: "boolean", default: false },
    hash: { type: "boolean", default: false },
    exclude: { type: "string", default: "" },
    mutants: { type: "boolean", default: false },
    only: { type: "string", default: "" },
    seconds: { type: "string", default: "600" },
    "no-shrink": { type: "boolean", default: false },
  },
});
const excluded = values.exclude.split(",").filter((name) => name !== "");

if (values.mutants) process.exitCode = await runMutants();
else if (Number(values.seeds) > 1 || values.calls !== undefined) process.exitCode = await runSeeds();
else process.exitCode = await runOne();
// Nothing of a simulation is left, but node:http servers of the product start timers of their own.
process.exit();

async function runOne(): Promise<number> {
  const bundle = await bundleProduct();
  const plan =
    values.plan === undefined ? drawPlan(Number(values.seed)) : (JSON.parse(readFileSync(values.plan, "utf8")) as Plan);
  const result = await run(plan, bundle, { excluded, print: values.trace ? console.log : undefined });
  if (result.violation === undefined) {
    const { calls, events, virtualMs, hash } = result;
    console.log(
      values.hash
        ? hash
        : `held: seed ${plan.seed} (${plan.profile}), ${calls} calls, ${events} events, ${(virtualMs / 1_000).toFixed(1)} virtual seconds, trace ${hash}`,
    );
    return 0;
  }
  console.log(report(result, values["no-shrink"] ? undefined : await shrink(result, bundle)));
  return 1;
}

async function runSeeds(): Promise<number> {
  const bundle = await bundleProduct();
  const start = performance.now();
  const onBroken = async (result: Result): Promise<void> => {
    console.log(report(result, values["no-shrink"] ? undefined : await shrink(result, bundle)));
  };
  const isByCalls = values.calls !== undefined;
  const seeds = isByCalls ? Number.POSITIVE_INFINITY : Number(values.seeds);
  const given = { first: Number(values.seed), seeds, calls: isByCalls ? Number(values.calls) : undefined };
  const { calls, events, broken, missing, seen } = await runCampaign(bundle, { ...given, excluded, onBroken });
  const seconds = (performance.now() - start) / 1_000;
  for (const [what, times] of [...seen].sort()) console.log(`  ${String(times).padStart(9)}  ${what}`);
  for (const what of missing) console.log(`NEVER HAPPENED: ${what}`);
  const kinds = [...calls].map(([kind, count]) => `${kind} ${count}`).join(", ");
  console.log(`calls: ${kinds}; ${events} events in ${seconds.toFixed(0)} s: ${broken} broken`);
  return broken > 0 || missing.length > 0 ? 1 : 0;
}

async function runMutants(): Promise<number> {
  const original = await bundleProduct();
  const mutants = readMutants().filter(({ name }) => values.only.split(",").some((one) => name.startsWith(one)));
  const expected = foundByTable();
  let found = 0;
  let missed = 0;
  for (const mutant of mutants) {
    const { isFound, outcome, seed, seeds, calls, seconds } = await findMutant(
      mutant,
      original,
      Number(values.seconds),
    );
    if (isFound) found++;
    else if (expected.has(mutant.name.split("-", 1)[0] ?? "")) missed++;
    const row = [
      mutant.name.padEnd(40),
      isFound ? "found" : "NOT FOUND",
      `seed ${seed ?? "-"}`,
      `${seeds} seeds`,
      `${calls} calls`,
      `${seconds.toFixed(1)} s`,
      outcome.slice(0, 110),
    ];
    console.log(row.join("  "));
  }
  console.log(`${found} of ${mutants.length} mutants found; ${missed} that the table has were missed`);
  return missed > 0 ? 1 : 0;
}
