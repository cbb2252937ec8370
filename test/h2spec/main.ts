/**
 * Runs h2spec against the server and h2specd against the client, and fails if a case does. The programs are taken from the
 * folder that `H2SPEC_DIR` names, or are built by Go, version 2.2.1; without either the run is skipped, and says so.
 *
 *     npm run h2spec              # both sides
 *     npm run h2spec -- server    # the server alone; client: the client alone
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
/** The number of ports that a run of h2specd may use: one for each case. */
const PORTS_OF_RUN = 100;
/** The number of runs of a program until one has a result. */
const MAX_RUNS = 3;
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

/**
 * Runs one program. Prints its summary and failures. Returns whether every case has passed. h2specd ends without a result if
 * a case takes three seconds, as a start of a process may on a busy machine: such a run has judged nothing, and is repeated.
 */
async function run(title: string, command: string, args: readonly string[], cwd = HERE, runs = 1): Promise<boolean> {
  const child = spawn(command, args, { cwd, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  child.stdout.on("data", (chunk) => {
    output += chunk;
  });
  child.stderr.on("data", (chunk) => {
    output += chunk;
  });
  await new Promise((resolve) => child.once("close", resolve));
  const [summary, failed] = /^\d+ tests, \d+ passed, \d+ skipped, (\d+) failed$/m.exec(output) ?? [];
  console.log(`${title}: ${summary ?? "no result"}`);
  if (failed === "0") return true;
  if (failed === undefined && runs < MAX_RUNS) return run(title, command, args, cwd, runs + 1);
  // h2specd prints thousands of errors about sockets that it has closed itself.
  console.log(output.slice(Math.max(0, output.indexOf("Failures:"))).replaceAll(/^accept tcp .*\n/gm, ""));
  return false;
}

/** Runs h2spec against the server. */
async function runServer(program: string): Promise<boolean[]> {
  const server = spawn(process.execPath, [...NODE, join(HERE, "server.ts")], { stdio: ["pipe", "pipe", "inherit"] });
  const line = await new Promise<string>((resolve) => server.stdout.once("data", (chunk) => resolve(String(chunk))));
  const ports = JSON.parse(line) as { readonly h2c: number; readonly h2: number };
  const common = ["-S", "-h", "127.0.0.1", "-o", TIMEOUT_S];
  // Most of the time is spent waiting for the other side, so two runs take little longer than one.
  const results = await Promise.all([
    run("server, h2c", program, [...common, "-p", String(ports.h2c)]),
    run("server, TLS", program, [...common, "-p", String(ports.h2), "-t", "-k"]),
  ]);
  server.kill();
  return results;
}

/** Runs h2specd against the client. */
async function runClient(program: string): Promise<boolean[]> {
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
  const port = FIRST_PORT + 2 * PORTS_OF_RUN * (process.pid % 6);
  // h2specd waits for three seconds for the end of this program and of the case. The client may end later.
  const start = join(folder, "start.sh");
  writeFileSync(start, `'${process.execPath}' '${join(folder, "client.mjs")}' "$1" > /dev/null 2>&1 &\n`);
  const argsOf = (firstPort: number): string[] => ["-o", TIMEOUT_S, "-f", String(firstPort), "-e", `sh ${start}`];
  // One after the other, because each case starts a process within that time.
  const results = [await run("client, h2c", program, argsOf(port), folder)];
  if (hasOpenssl) {
    const { cert, key } = createCertificates().server;
    writeFileSync(join(folder, "server.crt"), cert);
    writeFileSync(join(folder, "server.key"), key);
    results.push(await run("client, TLS", program, ["-t", ...argsOf(port + PORTS_OF_RUN)], folder));
  }
  rmSync(folder, { recursive: true });
  return results;
}

const [part] = process.argv.slice(2);
const programs = findPrograms();
if (programs === undefined) process.exitCode = CANNOT_RUN;
else if (part !== "--prepare") {
  const results = part === "client" ? [] : await runServer(join(programs, "h2spec"));
  const h2specd = join(programs, "h2specd");
  if (existsSync(h2specd) && part !== "server") results.push(...(await runClient(h2specd)));
  process.exitCode = results.every(Boolean) ? 0 : 1;
}
