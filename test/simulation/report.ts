/**
 * The report of a broken invariant: one line that repeats it, the events before it, and the shrunk plan.
 */
import { spawnSync } from "node:child_process";
import { root } from "./bundle.ts";
import type { Result } from "./run.ts";

export function report(result: Result, shrunk: Result | undefined): string {
  const { plan, violation, hash } = result;
  const commit = spawnSync("git", ["rev-parse", "--short", "HEAD"], { cwd: root, encoding: "utf8" }).stdout.trim();
  const head = `BROKEN ${violation?.invariant}: ${violation?.text}`;
  const repeat = `  npm run simulate -- --seed ${plan.seed}    (commit ${commit}, Node ${process.version}, trace ${hash})`;
  const parts = [head, repeat, ...(violation?.lines ?? []).map((line) => `  ${line}`)];
  if (shrunk !== undefined) {
    const { operations, faults } = shrunk.plan;
    const sizes = `${plan.operations.length} calls and ${plan.faults.length} faults to ${operations.length} and ${faults.length}`;
    parts.push(`  plan, shrunk from ${sizes}: ${shrunk.violation?.text}`, `  ${JSON.stringify(shrunk.plan)}`);
  }
  return parts.join("\n");
}
