/**
 * Planted faults: each patch in `mutants/` puts back a fault of the past, or makes a new one. A simulator that does not find
 * them proves nothing by finding nothing else.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Bundle, bundleProduct, root } from "./bundle.ts";
import { hasOptions } from "./draw-options.ts";
import { drawPlan, kindOf, type PlanKind } from "./draw-plan.ts";
import { run } from "./run.ts";

const FOLDER = join(root, "test/simulation/mutants");

export interface Mutant {
  /** The name of the file, without its extension. */
  readonly name: string;
  /** The first line of the file: the fault in words. */
  readonly title: string;
  readonly patch: string;
}

export interface Verdict {
  readonly mutant: Mutant;
  /** The broken invariant, or why there is none. */
  readonly outcome: string;
  readonly isFound: boolean;
  /** The seed that found it. */
  readonly seed: number | undefined;
  /** The seeds that were run on it, and their calls. */
  readonly seeds: number;
  readonly calls: number;
  readonly seconds: number;
}

export function readMutants(): readonly Mutant[] {
  return readdirSync(FOLDER)
    .filter((file) => file.endsWith(".patch"))
    .sort()
    .map((file) => {
      const patch = readFileSync(join(FOLDER, file), "utf8");
      return { name: file.replace(/\.patch$/, ""), title: patch.split("\n", 1)[0] ?? "", patch };
    });
}

/** Returns the names of the mutants that the table says are found: the first part of their file names. */
export function foundByTable(): ReadonlySet<string> {
  const table = readFileSync(join(FOLDER, "README.md"), "utf8");
  const rows = table.matchAll(/^\| (\w\d+) \|.*\| (?:≤ )?\d+ \|[^|]*\|$/gm);
  return new Set([...rows].map(([, name]) => name as string));
}

/**
 * Runs seeds on a mutant until one breaks an invariant that the unchanged product keeps with the same seed, or until the time
 * is over.
 */
export async function findMutant(mutant: Mutant, original: Bundle, maxSeconds: number): Promise<Verdict> {
  const start = performance.now();
  const seconds = (): number => (performance.now() - start) / 1_000;
  let seeds = 0;
  let calls = 0;
  const verdict = (outcome: string, seed?: number): Verdict => {
    return { mutant, outcome, isFound: seed !== undefined, seed, seeds, calls, seconds: seconds() };
  };
  let bundle: Bundle;
  try {
    bundle = await bundleProduct(mutant.patch);
  } catch (reason) {
    return verdict(String(reason).replaceAll("\n", " "));
  }
  const kinds = kindsOf(mutant.patch);
  // Some faults meet plans with options only.
  const needsOptions = /^Plans: options$/m.test(mutant.patch);
  for (let seed = 1; seconds() < maxSeconds; seed++) {
    if (!(kinds?.includes(kindOf(seed)) ?? true) || (needsOptions && !hasOptions(seed))) continue;
    const result = await run(drawPlan(seed), bundle);
    seeds++;
    calls += result.calls;
    const { violation } = result;
    if (violation === undefined) continue;
    if ((await run(drawPlan(seed), original)).violation !== undefined) continue;
    return verdict(`${violation.invariant}: ${violation.text}`, seed);
  }
  return verdict("not found");
}

/** Returns the kinds of plans that run the code that a patch changes; `undefined` for all. */
function kindsOf(patch: string): readonly PlanKind[] | undefined {
  const [, path = ""] = /^\+\+\+ b\/\w+\/src\/(.+)/m.exec(patch) ?? [];
  if (path.includes("http1")) return ["http1"];
  if (path === "http/replay.ts") return ["refusals"];
  if (path.startsWith("node/kubernetes")) return ["kubernetes"];
  if (path.startsWith("node/dns")) return ["dns"];
  if (path.startsWith("registry/nacos/")) return ["nacos"];
  if (/^registry\/(?:etcd|zookeeper)\//.test(path)) return ["registry"];
  return path.startsWith("registry/") ? ["registry", "nacos"] : undefined;
}
