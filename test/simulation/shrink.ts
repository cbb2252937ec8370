/**
 * Shrinks a plan that breaks an invariant: it drops calls and faults, then options, as long as the same invariant breaks
 * (delta debugging).
 */
import type { Bundle } from "./bundle.ts";
import type { Plan } from "./plan.ts";
import { type Result, run } from "./run.ts";

/** Runs that a plan may take to shrink. */
const MAX_RUNS = 250;

/** Changes that make a plan simpler without changing what happens. */
const SIMPLER: readonly ((plan: Plan) => Plan)[] = [
  (plan) => ({ ...plan, clock: { cpuMs: 0, latenessMs: 0 } }),
  (plan) => ({ ...plan, link: { ...plan.link, jitterMs: 0 } }),
  (plan) => ({ ...plan, link: { ...plan.link, chunking: "whole" } }),
  (plan) => ({ ...plan, link: { ...plan.link, latencyMs: 1 } }),
  (plan) => ({ ...plan, servers: plan.servers.map((server) => ({ ...server, limits: {} })) }),
  (plan) => ({ ...plan, clients: plan.clients.map((client) => ({ ...client, options: {} })) }),
  (plan) => ({ ...plan, clients: plan.clients.map((client) => ({ ...client, maxAttempts: 1 })) }),
  (plan) => ({ ...plan, operations: plan.operations.map((operation) => ({ ...operation, pauseMs: 0 })) }),
];

/** Returns the smallest plan that was found, and its result. */
export async function shrink(first: Result, bundle: Bundle): Promise<Result> {
  let best = first;
  let runs = 0;

  async function accepts(plan: Plan): Promise<boolean> {
    if (runs++ >= MAX_RUNS) return false;
    const result = await run(plan, bundle);
    if (result.violation?.invariant !== first.violation?.invariant) return false;
    best = result;
    return true;
  }

  async function drop(name: "operations" | "faults"): Promise<void> {
    for (let size = Math.ceil(best.plan[name].length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
      for (let start = 0; start < best.plan[name].length; ) {
        const rest = best.plan[name].filter((_, index) => index < start || index >= start + size);
        if (!(await accepts({ ...best.plan, [name]: rest }))) start += size;
      }
    }
  }

  await drop("faults");
  await drop("operations");
  await drop("faults");
  for (const simplify of SIMPLER) await accepts(simplify(best.plan));
  return best;
}
