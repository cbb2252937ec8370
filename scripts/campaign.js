/**
 * Runs, one after the other, the long random checks of which `npm run check` runs samples: `npm run campaign`. Names choose
 * among them: `npm run campaign -- simulate soak`. With `--full`, ten times as many properties, cases, calls and restarts: it
 * takes days. Prints the output of each, with the seeds that repeat a failure, runs all even if one fails, and ends with a line
 * of totals.
 */
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { runGroup } from "./child.js";
import "./install.js";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
/** Time limit for a part, which only a hang exceeds. */
const TIMEOUT_MS = 48 * 60 * 60_000;

/** Another one in each campaign. */
const seed = Date.now() & 0x3fff_ffff;

const given = process.argv.slice(2).filter((name) => name !== "--full");
const isFull = process.argv.includes("--full");
/** The runs of each property, and the calls of each kind of plans of the simulator. */
const runs = isFull ? 10_000_000 : 1_000_000;

const env = {
  ...process.env,
  RANDOM_SEED: String(seed),
  RANDOM_FILES: "600",
  RANDOM_REQUESTS: "3000",
  RANDOM_CONTRACTS: "3000",
  EARLY_RESPONSES: "200",
  ROTATIONS: "1000",
  EXPRESSIONS: "all",
};

/** Files of tests of which `npm test` runs samples. */
const SAMPLED = ["contract/hostile", "expressions", "interop/early-response", "node/io/tls-files", "plugin/random"];

/** The parts, in the order of their duration. */
const PARTS = {
  tests: `test -- ${SAMPLED.map((name) => `test/${name}.test.ts`).join(" ")}`,
  // Not in the check, because the build of Consul takes ten minutes of a processor.
  consul: "registries -- test/registries/consul.cells.ts",
  soak: isFull ? "soak -- --unary=10000000 --streams=1000000 --cancelled=1000000" : "soak",
  restarts: `bench:restarts -- --restarts ${isFull ? 1_000 : 100}`,
  corpus: "corpus",
  events: "events",
  mutants: "simulate -- --mutants",
  simulate: `simulate -- --seed ${seed} ${isFull ? `--calls ${runs}` : "--seeds 10000"}`,
  codecs: `codecs:differential -- --cases ${runs} --seed ${seed}`,
  differential: "differential -- 1000000",
  http1: "differential:http1 -- 1000000",
  fuzz: `fuzz -- ${runs}`,
};

const unknown = given.filter((name) => !Object.hasOwn(PARTS, name));
if (unknown.length > 0) {
  console.error(`unknown: ${unknown.join(", ")}; known are ${Object.keys(PARTS).join(", ")}`);
  process.exit(2);
}

for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(1));

const names = given.length > 0 ? given : Object.keys(PARTS);
const failed = [];
for (const [index, name] of names.entries()) {
  const start = Date.now();
  console.log(`\n${index + 1} of ${names.length}: npm run ${PARTS[name]}`);
  const { status } = await runGroup(`npm run --silent ${PARTS[name]}`, TIMEOUT_MS, { cwd: root, env });
  if (status !== 0) failed.push(name);
  console.log(
    `${status === 0 ? "ok    " : "FAILED"}  ${name}  (${((Date.now() - start) / 60_000).toFixed(1)} minutes)`,
  );
}
if (failed.length > 0) console.log(`\nfailed: ${failed.join(", ")}`);
console.log(`${names.length - failed.length} passed, ${failed.length} failed`);
process.exitCode = failed.length === 0 ? 0 : 1;
