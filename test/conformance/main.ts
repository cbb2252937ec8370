/**
 * `npm run conformance`: the gRPC and gRPC-Web parts of the conformance suite of connectrpc.com, against the server and the
 * clients of triple-es. Prints the number of passed cases, and every failed case with its HTTP exchange. Arguments are
 * passed to the runner, such as `--run 'Timeouts/**'`. `--prepare` builds the runner, and runs nothing.
 */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { createInterface } from "node:readline";
import { buffer } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { bundlePage, EXECUTABLE, launchBrowser } from "../support/chromium.ts";
import { compiled } from "../support/compiled.ts";
import { ROOT } from "../support/documents.ts";
import { CACHE, goModuleFolder, goVersion, installGoProgram } from "../support/go.ts";
import { startBridge } from "../support/web-socket-bridge.ts";
import { isWorkerdInstalled, startWorker } from "../support/workerd.ts";
import { compressions } from "./compressions.ts";
import type { RunInPage } from "./page.ts";

const MODULE = "connectrpc.com/conformance";
const VERSION = "v1.0.5";
const PROTOS = ["config", "service", "client_compat", "server_compat"];
/**
 * The runner describes the differences of each pair of messages before it knows whether there are any, byte by byte: 165 of
 * 181 seconds, for the 364 cases with messages of 200 kB. With this change it describes those of unequal messages.
 */
const COMPARE_FIRST = {
  module: MODULE,
  file: "internal/app/connectconformance/results.go",
  from: 'diff := cmp.Diff(expectedMsg, actualMsg, protocmp.Transform())\n\t\tif diff != "" {',
  to: "if !proto.Equal(expectedMsg, actualMsg) {\n\t\t\tdiff := cmp.Diff(expectedMsg, actualMsg, protocmp.Transform())",
};
/**
 * The number of cases of all features, by the number of compressions, including identity. A smaller number means that a
 * feature is disabled.
 */
const EXPECTED_CASES: Readonly<Record<number, number>> = { 5: 7544, 6: 8912 };
/** The number of cases of the client and of the server in a Cloudflare Worker, whose compressions do not depend on Node. */
const WORKER_CASES = 1429 + 1180;
/** The number of cases in a page by a WebSocket. */
const PAGE_CASES = 312;
/** The exit status for a missing program, as opposed to a failed case. `scripts/check.js` recognizes it. */
const EXIT_CANNOT_RUN = 3;

const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

/** Generates the suite's messages and service again, and reports whether the committed files are equal. */
function generatedIsCurrent(): boolean {
  const protos = join(goModuleFolder(MODULE, VERSION), "proto");
  const folder = mkdtempSync(join(tmpdir(), "triple-es-conformance-"));
  try {
    const paths = PROTOS.flatMap((name) => ["--path", join(protos, "connectrpc/conformance/v1", `${name}.proto`)]);
    const args = ["generate", protos, ...paths, "--template", here("buf.gen.yaml"), "--output", folder];
    // buf finds its plugins on the PATH, which contains them only if npm started this program.
    const env = { ...process.env, PATH: `${join(ROOT, "node_modules", ".bin")}${delimiter}${process.env["PATH"]}` };
    const { status, stderr } = spawnSync("buf", args, { cwd: ROOT, env, encoding: "utf8" });
    if (status !== 0) throw new Error(`buf generate failed:\n${stderr}`);
    const [fresh, committed] = [readFolder(join(folder, "test/conformance/gen")), readFolder(here("gen"))];
    const names = new Set([...fresh.keys(), ...committed.keys()]);
    const changed = [...names].filter((name) => fresh.get(name) !== committed.get(name));
    for (const name of changed) {
      console.log(`test/conformance/gen/${name} is not what the generators write today`);
      const text = fresh.get(name);
      if (text === undefined) rmSync(join(here("gen"), name));
      else writeFileSync(join(here("gen"), name), text);
    }
    if (changed.length > 0) console.log("They have been written again: look at the difference, and commit it");
    return changed.length === 0;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function readFolder(folder: string): Map<string, string> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = files.map((entry) => join(entry.parentPath, entry.name));
  return new Map(paths.map((path) => [path.slice(folder.length + 1), readFileSync(path, "utf8")]));
}

/** Removes the features that this version of Node lacks from the configuration. */
function writeConfig(file: string): string {
  const names = ["identity", ...compressions.map(({ name }) => name)];
  const config = readFileSync(here(file), "utf8").replace(/^ +- COMPRESSION_(\w+)\n/gm, (line, name: string) =>
    names.includes(name.toLowerCase()) ? line : "",
  );
  mkdirSync(CACHE, { recursive: true });
  const path = join(CACHE, `conformance-${file}`);
  writeFileSync(path, config);
  return path;
}

interface Result {
  readonly ok: boolean;
  readonly passed: number;
}

/** Runs all cases of a mode, and prints the runner's output about failures unchanged. */
async function runMode(
  runner: string,
  mode: "server" | "client",
  config: string,
  options: readonly string[] = [],
): Promise<Result> {
  // The runner waits ten seconds for each of ten servers, which start at the same time.
  const program = [process.execPath, compiled(`test/conformance/${mode}.ts`), ...options];
  const args = ["--conf", config, "--mode", mode, "--trace", "-v", ...process.argv.slice(2), "--", ...program];
  const start = Date.now();
  const child = spawn(runner, args, { cwd: ROOT, stdio: ["ignore", "pipe", "inherit"] });
  const closed = new Promise<number | null>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", resolve);
  });
  let passed = 0;
  for await (const line of createInterface({ input: child.stdout })) {
    passed = Number(/^(\d+) passed, /.exec(line)?.[1] ?? passed);
    console.log(`${mode}: ${line}`);
  }
  const status = await closed;
  console.log(`${mode}: took ${((Date.now() - start) / 1000).toFixed(0)} s\n`);
  return { ok: status === 0, passed };
}

/** Runs the cases of the client and of the server in a Cloudflare Worker. Without workerd, none is run. */
async function runInWorker(runner: string): Promise<Result> {
  if (!isWorkerdInstalled()) {
    console.log("SKIPPED client and server in workerd; CONTRIBUTING.md says how to install examples/workers\n");
    return { ok: true, passed: 0 };
  }
  const worker = await startWorker("test/conformance/worker.ts");
  try {
    const config = here("worker.yaml");
    const client = await runMode(runner, "client", config, ["--worker", `http://127.0.0.1:${worker.port}/`]);
    const server = await runMode(runner, "server", config, ["--worker", String(worker.tcpPort)]);
    return { ok: client.ok && server.ok, passed: client.passed + server.passed };
  } finally {
    await worker.stop();
  }
}

/** Runs the cases of the client in a page of Chromium, through a gateway of WebSockets. Without Chromium, none is run. */
async function runInPage(runner: string): Promise<Result> {
  if (!existsSync(EXECUTABLE)) {
    console.log(`SKIPPED the client in Chromium: there is no browser at ${EXECUTABLE}\n`);
    return { ok: true, passed: 0 };
  }
  const gateway = await startBridge();
  const browser = await launchBrowser();
  const page = await browser.newPage();
  await page.addScriptTag({ content: await bundlePage("test/conformance/page.ts") });
  const server = createServer(async (request, response) => {
    const bytes = [...(await buffer(request))];
    const result = page.evaluate(
      ([bytes, gateway]) => (globalThis as unknown as { run: RunInPage }).run(bytes, gateway),
      [bytes, gateway.baseUrl] as const,
    );
    response.end(Buffer.from(await result));
  }).listen(0, "127.0.0.1");
  try {
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    return await runMode(runner, "client", here("client-page.yaml"), ["--worker", `http://127.0.0.1:${port}/`]);
  } finally {
    await browser.close();
    gateway.close();
    server.close();
  }
}

async function main(): Promise<number> {
  const go = goVersion();
  if (go === undefined) {
    console.log(
      "SKIPPED conformance: its runner is written in Go, and there is no go on the PATH; install 1.24 or newer",
    );
    return EXIT_CANNOT_RUN;
  }
  mkdirSync(CACHE, { recursive: true });
  const runner = installGoProgram(`${MODULE}/cmd/connectconformance`, VERSION, COMPARE_FIRST);
  if (process.argv[2] === "--prepare") return 0;
  const names = ["identity", ...compressions.map(({ name }) => name)];
  console.log(`conformance ${VERSION}, ${go}, Node ${process.version}, compressions: ${names.join(", ")}\n`);
  if (!generatedIsCurrent()) return 1;
  const server = await runMode(runner, "server", writeConfig("server.yaml"));
  const client = await runMode(runner, "client", writeConfig("client.yaml"));
  const page = await runMode(runner, "client", writeConfig("client-web.yaml"));
  const worker = await runInWorker(runner);
  const socket = await runInPage(runner);
  const all = [server, client, page, worker, socket];
  const total = all.reduce((sum, { passed }) => sum + passed, 0);
  const parts = `server ${server.passed} + client ${client.passed} + on fetch ${page.passed} + in workerd ${worker.passed}`;
  console.log(`${parts} + by a WebSocket ${socket.passed} = ${total} cases passed`);
  if (!all.every(({ ok }) => ok)) return 1;
  const expected =
    (EXPECTED_CASES[names.length] ?? 0) +
    (isWorkerdInstalled() ? WORKER_CASES : 0) +
    (existsSync(EXECUTABLE) ? PAGE_CASES : 0);
  if (process.argv.length > 2 || total === expected) return 0;
  console.log(`but ${expected} cases were expected with ${names.length} compressions`);
  return 1;
}

process.exitCode = await main();
