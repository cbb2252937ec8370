/**
 * A sample of what `npm run simulate` does: a few seeds, the same trace in two processes, and mutants that must be found.
 */
import { execFileSync } from "node:child_process";
import { relative } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { type Bundle, bundleProduct, patchSources, root } from "./bundle.ts";
import { drawPlan } from "./draw-plan.ts";
import { findMutant, readMutants } from "./mutants.ts";
import { report } from "./report.ts";
import { run } from "./run.ts";

/** Seeds of different profiles, with few events. Two have a registry, ZooKeeper and etcd; one has HTTP/1.1. */
const SEEDS = [12, 20, 3, 15, 17, 37];
/** Seeds that have found a fault of the product or of the model, with few events. */
const FOUND = [
  // The list of a DNS resolver grew with each lookup in which one of two equal SRV records failed.
  101_291,
  // Each call that waited for a failed connection made another attempt, above the maximum number of connections.
  102_353,
  // A socket stayed open whose peer had ended and took no more of the output.
  100_344,
  // A transport that closed waited for the PING of an idle connection, beyond its grace period.
  100_429,
  // Round robin never chose an endpoint with a low weight, because its connections, and so the set of endpoints, often changed.
  101_588,
  // A call that waited for a stream failed after several connections had reached their age.
  103_463,
  // A server closed the connection of a client whose calls it had refused, because handlers of other calls went on.
  102_121,
  // A registration wrote an entry of its lost session to ZooKeeper in the next one, and did not know it there.
  200_116,
  // A call whose error was lost in its body failed as unimplemented, by the status 404 alone.
  301_542,
  // The dead connections to a crashed server were found one after the other, each by a call that failed.
  301_102,
  // Each transport that began anew connected to all servers of a registry in Nacos that was away, without a backoff.
  301_902,
  // A pool was counted together with the connections of a removed endpoint, whose streams had not ended.
  400_283,
  // An endpoint was avoided as slow because all others had become fast since its last call.
  5_170,
  // The server of a dead connection was watched as not serving until the connection had been idle for its time.
  5_620,
];

let bundle: Bundle;

beforeAll(async () => {
  bundle = await bundleProduct();
});

describe("the product in a simulated world", () => {
  test.each([...SEEDS, ...FOUND])("keeps all invariants with seed %i", async (seed) => {
    const result = await run(drawPlan(seed), bundle);
    expect(result.violation && report(result, undefined)).toBeUndefined();
    expect(result.calls).toBeGreaterThan(10);
  });

  test("runs the same events for the same seed, in this process and in another one", async () => {
    const [seed] = SEEDS;
    const first = await run(drawPlan(seed as number), bundle);
    const again = await run(drawPlan(seed as number), bundle);
    const flags = ["scripts/run.js", "test/simulation/main.ts", "--seed", String(seed), "--hash"];
    // The other process may be another version of Node.
    const other = execFileSync(process.env["OTHER_NODE"] ?? process.execPath, flags, {
      cwd: root,
      encoding: "utf8",
    }).trim();
    expect([again.hash, other]).toEqual([first.hash, first.hash]);
    expect((await run(drawPlan(SEEDS[1] as number), bundle)).hash).not.toBe(first.hash);
  });
});

describe("planted faults", () => {
  const mutants = readMutants();

  test("are found: a connection whose ticks are not stopped leaves a timer", async () => {
    const mutant = mutants.find(({ name }) => name.startsWith("n07"));
    const { outcome } = await findMutant(mutant as (typeof mutants)[number], bundle, 60);
    expect(outcome).toMatch(/^I9: a timer is left after the end/);
  });

  test.each(mutants)("the patch of $name applies", ({ patch, title }) => {
    expect(title).not.toBe("");
    for (const path of patchSources(patch).keys()) expect(relative(root, path)).toMatch(/^(?:runtime|dubbo)\/src\//);
  });
});
