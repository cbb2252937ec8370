/**
 * Runs all checks that must pass before a change is merged: `npm run check`. Runs every step even if one fails, prints
 * the output of failed steps, and ends with a line that counts steps and tests. Steps that do not disturb each other run at
 * the same time, and the output of each is printed whole when it ends.
 */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";
import { runGroup } from "./child.js";
import "./install.js";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const temporary = mkdtempSync(join(tmpdir(), "triple-es-check-"));
const testReport = join(temporary, "tests.json");
const env = { ...process.env, PATH: `${join(root, "node_modules", ".bin")}${delimiter}${process.env.PATH}` };

/** Options of commands whose output is printed when they have ended. */
const QUIET = { cwd: root, env, stderr: "pipe", print: () => {} };

/** Generated files and folders. Running the generators must not change them. */
const GENERATED = [
  "docs/options.md",
  "docs/dubbo-options.md",
  "examples/gen",
  "runtime/src/gen",
  "dubbo/src/gen",
  "fixtures/gen",
  "fixtures/options/gen",
  "fixtures/interface/gen",
  "fixtures/interface/js/gen",
  "fixtures/contract/gen",
  "fixtures/contract/proto",
  "bench/messages/gen",
  "test/interop/grpc/gen",
  "test/interop/dubbo/gen",
  "test/simulation/gen",
];

/** Examples that are projects with their own packages. `monorepo` is linked by its test, and has no lock file. */
const EXAMPLES = readdirSync(join(root, "examples"))
  .filter((name) => name !== "monorepo" && existsSync(join(root, "examples", name, "package.json")))
  .map((name) => `examples/${name}`);

/** Packages that `npm ci` in the root does not install. Their lock files must fit their `package.json`. */
const OTHER_PACKAGES = [
  ...EXAMPLES,
  "bench/contract/entrants",
  "bench/generate/peers",
  "test/interop/grpc-web",
  "test/mcp/judges",
  "test/openapi/judges",
  "test/release/verdaccio",
  "test/validate/protovalidate",
  "test/protobuf-conformance",
  "site",
];

/** Steps that run at the same time, list after list. Generators and builds write files that the other steps read. */
const steps = [
  [
    ["format and lint", () => run("npm run --silent lint && buf format --diff --exit-code")],
    ["types", () => run("npm run --silent types")],
    ["unused code", () => run("knip")],
    ["functions of a call", () => run("npm run --silent bench:functions", true)],
    ["lock files", checkLockFiles],
    ["budgets", () => run("node scripts/budgets.js", true)],
    ["manifests", () => run("node scripts/manifests.js")],
  ],
  [["generated files", checkGenerated]],
  [["build and packages", () => run("npm run --silent packages")]],
];

/** Checks against registries, whose cells demand that changes are live within a second: not beside the tests. */
const REGISTRIES = ["registries -- --exclude test/registries/consul.cells.ts", "interop:dubbo -- --registries"];
/** Checks by independent implementations that only compute, with a lower priority than those whose calls have deadlines. */
const COMPUTING_JUDGES = [
  "conformance:protobuf",
  // The same cases and sequences each time; run them without arguments for others.
  "interop:rules -- 1000 1",
  "differential -- 1000 1",
  "differential:http1 -- 2000 1 llhttp go h11 nginx",
];
/** A cancellation of this suite must come within 200 ms, so that only judges with a lower priority run beside it. */
const TIMED_JUDGE = "conformance";
/** Lists of the other checks by independent implementations, which run at the same time. */
const JUDGES = [["interop:dubbo"], ["h2spec", "interop:grpc", "proxies"]];
/** Downloads and builds of the judges, which take place while the tests run. */
const PREPARATIONS = [
  ...["zookeeper", "nacos"].map((name) => `sh scripts/registries.sh .ci/cache/registries ${name}`),
  ...[
    "interop:dubbo -- --prepare",
    "h2spec -- --prepare",
    "conformance -- --prepare",
    "interop:grpc -- --prepare",
    "interop:rules -- --prepare",
    "differential -- 0",
    "differential:http1 -- 0 1 llhttp go h11 nginx",
  ].map((name) => `npm run --silent ${name}`),
];
/** Runs a command at a lower priority than the tests and registries, whose time limits are real. */
const LOW_PRIORITY = process.platform === "win32" ? "" : "nice -n 10 ";

// The module child.js has passed the signal on to the running command.
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(1));
process.on("exit", () => rmSync(temporary, { recursive: true, force: true }));

const count = { passed: 0, failed: 0, skipped: 0 };
const failures = [];
const failedTests = [];
/** Time limits, several times what the slowest run has taken. */
const TESTS_TIMEOUT_MS = 30 * 60_000;
const STEP_TIMEOUT_MS = 10 * 60_000;
const JUDGE_TIMEOUT_MS = 12 * 60_000;

for (const list of steps) await Promise.all(list.map(([name, step]) => runStep(name, step)));
const prepared = prepareJudges();
await runTests();
await prepared;
const computing = runJudges(COMPUTING_JUDGES);
await runJudges([...REGISTRIES, TIMED_JUDGE]);
await Promise.all([...JUDGES.map(runJudges), computing]);

for (const name of failedTests) console.log(`failed test: ${name}`);
if (failures.length > 0) console.log(`\nfailed: ${failures.join(", ")}`);
console.log(`${count.passed} passed, ${count.failed} failed${count.skipped > 0 ? `, ${count.skipped} skipped` : ""}`);
process.exit(count.failed === 0 ? 0 : 1);

async function runStep(name, step) {
  const start = Date.now();
  const problem = await step();
  count[problem === undefined ? "passed" : "failed"] += 1;
  if (problem !== undefined) failures.push(name);
  console.log(
    `${problem === undefined ? "ok    " : "FAILED"}  ${name}  (${((Date.now() - start) / 1000).toFixed(1)} s)`,
  );
  if (problem !== undefined) console.log(`\n${problem.trim()}\n`);
}

/** Runs a command. Returns its output if it fails; otherwise `undefined`, and prints it if it `isReport`. */
async function run(command, isReport = false) {
  const { status, output } = await runGroup(command, STEP_TIMEOUT_MS, QUIET);
  if (status === 0 && isReport) console.log(output.trim());
  return status === 0 ? undefined : `$ ${command}\n${output}`;
}

/** Checks that the lock files of other packages were written for the dependencies of their `package.json`, as `npm ci` does. */
function checkLockFiles() {
  const kinds = ["dependencies", "devDependencies", "optionalDependencies", "peerDependencies"];
  const wrong = OTHER_PACKAGES.filter((folder) => {
    const read = (name) => JSON.parse(readFileSync(join(root, folder, name), "utf8"));
    const own = read("package.json");
    const locked = read("package-lock.json").packages[""];
    return kinds.some((kind) => !isDeepStrictEqual(own[kind] ?? {}, locked[kind] ?? {}));
  });
  return wrong.length === 0 ? undefined : `package-lock.json does not fit package.json in: ${wrong.join(", ")}`;
}

/** Runs the generators and compares, so that a change of a schema or generator cannot omit the generated files. */
async function checkGenerated() {
  const before = readGenerated();
  const failed = await run("npm run --silent generate");
  if (failed !== undefined) return failed;
  const after = readGenerated();
  const changed = [...new Set([...before.keys(), ...after.keys()])].filter(
    (name) => before.get(name) !== after.get(name),
  );
  return changed.length === 0
    ? undefined
    : `npm run generate changes:\n${changed.map((name) => `  ${name}\n`).join("")}`;
}

function readGenerated() {
  const files = GENERATED.flatMap((name) => {
    const path = join(root, name);
    if (statSync(path).isFile()) return path;
    return readdirSync(path, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name));
  });
  return new Map(files.map((file) => [relative(root, file), readFileSync(file, "utf8")]));
}

/**
 * Runs the README's test command, with the tests of packages too, a second reporter for the counts, and 1,000 runs of each
 * property test of the HTTP/2 engine; `npm run campaign` makes a million. Its output is printed directly.
 */
async function runTests() {
  const command = `npm test -- --project packages --reporter=default --reporter=json --outputFile.json=${JSON.stringify(testReport)}`;
  const { status } = await runGroup(command, TESTS_TIMEOUT_MS, { cwd: root, env: { ...env, HTTP2_RUNS: "1000" } });
  const report = readReport();
  count.passed += report.numPassedTests;
  count.skipped += report.numPendingTests + report.numTodoTests;
  // A run without a report, or with an error outside of all tests, has no failed test.
  if (status !== 0) count.failed += Math.max(report.numFailedTests, 1);
  if (status !== 0) failures.push("tests");
  for (const { name, status: result, assertionResults } of report.testResults) {
    if (result !== "failed") continue;
    const names = assertionResults.filter((test) => test.status === "failed").map((test) => test.fullName);
    for (const one of names.length > 0 ? names : ["(the file)"]) failedTests.push(`${relative(root, name)}: ${one}`);
  }
}

/** Prepares the judges one after the other. A judge that cannot be prepared reports the reason when it runs. */
async function prepareJudges() {
  for (const command of PREPARATIONS) await runGroup(`${LOW_PRIORITY}${command}`, JUDGE_TIMEOUT_MS, QUIET);
}

async function runJudges(list) {
  for (const judge of list) await runJudge(judge, COMPUTING_JUDGES.includes(judge) ? LOW_PRIORITY : "");
}

/** Runs a check by an independent implementation, and prints its output when it has ended. Missing programs count as skipped. */
async function runJudge(name, priority) {
  const start = Date.now();
  const CANNOT_RUN = 3;
  const { status, output } = await runGroup(`${priority}npm run --silent ${name}`, JUDGE_TIMEOUT_MS, QUIET);
  const ok = status === 0 || status === CANNOT_RUN;
  count.skipped += output.match(/^SKIPPED /gm)?.length ?? 0;
  if (status === 0) count.passed += 1;
  if (!ok) count.failed += 1;
  if (!ok) failures.push(name);
  const verdict = status === 0 ? "ok    " : ok ? "skip  " : "FAILED";
  console.log(`\n${output.trim()}\n${verdict}  ${name}  (${((Date.now() - start) / 1000).toFixed(1)} s)`);
}

function readReport() {
  try {
    return JSON.parse(readFileSync(testReport, "utf8"));
  } catch {
    return { numPassedTests: 0, numFailedTests: 0, numPendingTests: 0, numTodoTests: 0, testResults: [] };
  }
}
