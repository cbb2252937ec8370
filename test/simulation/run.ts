/**
 * Runs one plan in a world of its own, and reports what was broken.
 */
import type { Bundle } from "./bundle.ts";
import { Ledger, type Violation } from "./ledger.ts";
import type { Plan } from "./plan.ts";
import { Scenario } from "./scenario.ts";
import { Trace } from "./trace.ts";
import { World } from "./world.ts";

export interface Result {
  readonly plan: Plan;
  /** The hash of the trace, in hexadecimal. */
  readonly hash: string;
  readonly violation: Violation | undefined;
  readonly calls: number;
  readonly events: number;
  readonly virtualMs: number;
  readonly seen: ReadonlyMap<string, number>;
}

export interface RunOptions {
  /** Receives every line of the trace. */
  readonly print?: ((line: string) => void) | undefined;
  /** Invariants that are not checked, such as `I1`. */
  readonly excluded?: readonly string[] | undefined;
}

/** Runs a plan. */
export async function run(plan: Plan, bundle: Bundle, { print, excluded }: RunOptions = {}): Promise<Result> {
  const trace = new Trace(print);
  const world = new World(plan.seed, plan.clock, trace);
  const ledger = new Ledger(world, plan, excluded);
  const onUncaught = (reason: unknown): void => ledger.violate("I13", `uncaught: ${textOf(reason)}`);
  world.onUncaught = onUncaught;
  process.on("uncaughtException", onUncaught);
  process.on("unhandledRejection", onUncaught);
  process.on("warning", onUncaught);
  try {
    const scenario = new Scenario(plan, bundle, world, ledger);
    await world.runUntil(scenario.run().catch(onUncaught));
  } catch (reason) {
    ledger.violate("I3", textOf(reason));
  } finally {
    process.off("uncaughtException", onUncaught);
    process.off("unhandledRejection", onUncaught);
    process.off("warning", onUncaught);
  }
  return {
    plan,
    hash: trace.hash.toString(16).padStart(8, "0"),
    violation: ledger.violations[0],
    calls: ledger.entries.size,
    events: world.events,
    virtualMs: world.now,
    seen: ledger.seen,
  };
}

function textOf(reason: unknown): string {
  return reason instanceof Error
    ? (reason.stack ?? String(reason)).split("\n").slice(0, 4).join(" ← ")
    : String(reason);
}
