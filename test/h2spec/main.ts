/**
 * Runs h2spec against the server and h2specd against the client, and fails if a case does. The programs are taken from the
 * folder that `H2SPEC_DIR` names, or are built by Go, version 2.2.1; without either the run is skipped, and says so.
 *
 *     npm run h2spec              # both sides
 *     npm run h2spec -- server    # the server alone
 *     npm run h2spec -- --prepare # builds the programs, and runs nothing
 *
 * h2specd of that version judges every connection of a client, not the first alone: a client that connects again without a
 * request fails a case.
 */
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { createCertificates, hasOpenssl } from "../support/certificate.ts";

const VERSION = "v2.2.1+incompatible";
const HERE = import.meta.dirname;
/** Exit status if h2spec is missing. */
const CANNOT_RUN = 3;
/** Time limit in seconds for the other side in a case. A client has to start first, possibly on a busy machine. */
const TIMEOUT_S = "10";
/** Maximum number of runs of each part, and the number of ports that each run of h2specd may use. */
const MAX_ATTEMPTS = 3;
const PORTS_OF_RUN = 100;
/** Above the ports that other programs get from test/support/port.ts, and below those of outgoing connections. */
const FIRST_PORT = 31_100;
const NODE = ["--conditions=triple-source", "--import", "tsx"];

/** Returns the folder of h2spec and h2specd; `undefined` if they are missing and cannot be built. */
function findPrograms(): string | undefined {
  const given = process.env["H2SPEC_DIR"];
  if (given !== undefined) {
    if (!existsSync(join(given, "h2spec"))) throw new Error(`H2SPEC_DIR ${given} has no h2spec`);
    return given;
  }
  const folder = join(tmpdir(), `h2spec-${VERSION.replace("+incompatible", "")}`);
  for (const name of ["h2spec", "h2specd"]) {
    if (existsSync(join(folder, name))) continue;
    const { status, stderr } = spawnSync("go", ["install", `github.com/summerwind/h2spec/cmd/${name}@${VERSION}`], {
      env: { ...process.env, GOBIN: folder, GOFLAGS: "-mod=mod" },
      encoding: "utf8",
    });
    if (status !== 0) {
      console.log(`SKIPPED h2spec: set H2SPEC_DIR, or install Go. ${stderr ?? ""}`);
      return undefined;
    }
  }
  return folder;
}

/** Runs one program. Prints its summary and failures. Returns the failed cases, or `undefined` if it did not finish. */
async function run(title: string, command: string, args: readonly string[], cwd = HERE): Promise<string[] | undefined> {
  const child = spawn(command, args, { cwd, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  child.stdout.on("data", (chunk) => {
    output += chunk;
  });
  child.stderr.on("data", (chunk) => {
    output += chunk;
  });
  await new Promise((resolve) => child.once("close", resolve));
  const summary = /^\d+ tests, \d+ passed, \d+ skipped, \d+ failed$/m.exec(output)?.[0];
  console.log(`${title}: ${summary ?? "no result"}`);
  if (summary === undefined) return undefined;
  const failures = output.match(/^ *\u00d7 .*$/gm) ?? [];
  // h2specd prints thousands of errors about sockets that it has closed itself.
  if (failures.length > 0) console.log(output.slice(output.indexOf("Failures:")).replaceAll(/^accept tcp .*\n/gm, ""));
  return failures;
}

/**
 * Runs a part up to three times. Returns the cases that no run has passed, `undefined` if none has finished: h2spec reports a
 * process that is slow, as on a busy machine, as one that sends nothing.
 */
async function failedCases(runPart: (attempt: number) => Promise<string[] | undefined>): Promise<string[] | undefined> {
  let failed: string[] | undefined;
  for (let attempt = 0; attempt < MAX_ATTEMPTS && failed?.length !== 0; attempt++) {
    const failures = await runPart(attempt);
    if (failures !== undefined) failed = failed?.filter((name) => failures.includes(name)) ?? failures;
  }
  return failed;
}

/** Runs h2spec. Returns whether every case has passed. */
async function runServer(title: string, program: string, args: readonly string[]): Promise<boolean> {
  return (await failedCases(() => run(title, program, args)))?.length === 0;
}

/** Runs h2specd. Returns whether every case has passed. Each run has separate ports, one for each case. */
async function runClient(
  title: string,
  program: string,
  args: readonly string[],
  folder: string,
  firstPort: number,
): Promise<boolean> {
  const failed = await failedCases((attempt) => {
    const port = String(firstPort + PORTS_OF_RUN * attempt);
    return run(title, program, ["-o", TIMEOUT_S, "-f", port, ...args], folder);
  });
  if (failed === undefined) console.log(`SKIPPED ${title}: h2specd gave up three times`);
  return failed === undefined || failed.length === 0;
}

const programs = findPrograms();
if (programs === undefined) process.exitCode = CANNOT_RUN;
else if (process.argv[2] !== "--prepare") {
  const results: boolean[] = [];
  const server = spawn(process.execPath, [...NODE, join(HERE, "server.ts")], { stdio: ["pipe", "pipe", "inherit"] });
  const line = await new Promise<string>((resolve) => server.stdout.once("data", (chunk) => resolve(String(chunk))));
  const ports = JSON.parse(line) as { readonly h2c: number; readonly h2: number };
  const h2spec = join(programs, "h2spec");
  const common = ["-S", "-h", "127.0.0.1", "-o", TIMEOUT_S];
  // Most of the time is spent waiting for the other side, so two runs take little longer than one.
  const ofServer = await Promise.all([
    runServer("server, h2c", h2spec, [...common, "-p", String(ports.h2c)]),
    runServer("server, TLS", h2spec, [...common, "-p", String(ports.h2), "-t", "-k"]),
  ]);
  results.push(...ofServer);
  server.kill();
  const h2specd = join(programs, "h2specd");
  if (existsSync(h2specd) && process.argv[2] !== "server") {
    const folder = mkdtempSync(join(tmpdir(), "h2specd-"));
    // Each case starts a client. One file without types starts in a tenth of the time.
    await build({
      entryPoints: [join(HERE, "client.ts")],
      outfile: join(folder, "client.mjs"),
      bundle: true,
      platform: "node",
      format: "esm",
      conditions: ["triple-source"],
      logLevel: "warning",
    });
    const exec = `${process.execPath} ${join(folder, "client.mjs")}`;
    if (hasOpenssl) {
      const { cert, key } = createCertificates().server;
      writeFileSync(join(folder, "server.crt"), cert);
      writeFileSync(join(folder, "server.key"), key);
    }
    const port = FIRST_PORT + 2 * MAX_ATTEMPTS * PORTS_OF_RUN * (process.pid % 2);
    const ofClient = [runClient("client, h2c", h2specd, ["-e", exec], folder, port)];
    const nextPort = port + MAX_ATTEMPTS * PORTS_OF_RUN;
    if (hasOpenssl) ofClient.push(runClient("client, TLS", h2specd, ["-t", "-e", exec], folder, nextPort));
    results.push(...(await Promise.all(ofClient)));
    rmSync(folder, { recursive: true });
  }
  process.exitCode = results.every(Boolean) ? 0 : 1;
}
