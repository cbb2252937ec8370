/**
 * Runs h2spec against the server and h2specd against the client, and fails if a case does or lacks. The programs are taken from the
 * folder that `H2SPEC_DIR` names, or are built by Go, version 2.2.1; without either the run is skipped, and says so.
 *
 *     npm run h2spec              # both sides
 *     npm run h2spec -- server    # the server alone; client: the client alone
 *     npm run h2spec -- --prepare # builds the programs, and runs nothing
 */
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { hasOpenssl, sharedCertificates } from "../support/certificate.ts";
import { exchange } from "./client.ts";

const VERSION = "v2.2.1+incompatible";
const HERE = import.meta.dirname;
/** Exit status if h2spec is missing. */
const CANNOT_RUN = 3;
/** The numbers of cases of that version. */
const SERVER_CASES = "146";
const CLIENT_CASES = "57";
/** Time limit in seconds for the other side in a case. */
const TIMEOUT_S = "10";
/** The number of ports that a run of h2specd may use: one for each case. */
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

/** Runs one program. Prints its summary and failures. Returns whether this many cases have passed. */
async function run(
  title: string,
  cases: string,
  command: string,
  args: readonly string[],
  cwd = HERE,
): Promise<boolean> {
  const child = spawn(command, args, { cwd, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  child.stdout.on("data", (chunk) => {
    output += chunk;
  });
  child.stderr.on("data", (chunk) => {
    output += chunk;
  });
  await new Promise((resolve) => child.once("close", resolve));
  const [summary, passed, failed] = /^\d+ tests, (\d+) passed, \d+ skipped, (\d+) failed$/m.exec(output) ?? [];
  console.log(`${title}: ${summary ?? "no result"}`);
  if (passed === cases && failed === "0") return true;
  if (failed === "0") console.log(`expected ${cases} passed`);
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
    run("server, h2c", SERVER_CASES, program, [...common, "-p", String(ports.h2c)]),
    run("server, TLS", SERVER_CASES, program, [...common, "-p", String(ports.h2), "-t", "-k"]),
  ]);
  server.kill();
  return results;
}

/** Runs h2specd against the client. */
async function runClient(program: string): Promise<boolean[]> {
  const folder = mkdtempSync(join(tmpdir(), "h2specd-"));
  const addresses = join(folder, "addresses");
  spawnSync("mkfifo", [addresses], { stdio: "inherit" });
  // A process of its own, because a thread that waits for a named pipe cannot be ended.
  const reader = spawn("sh", ["-c", 'exec cat <> "$0"', addresses], { stdio: ["ignore", "pipe", "inherit"] });
  createInterface(reader.stdout).on("line", (url) => void exchange(url).catch(console.error));
  const port = FIRST_PORT + 2 * PORTS_OF_RUN * (process.pid % 6);
  // h2specd runs a program for each case, and gives it and the case three seconds. The client, which runs here, gets its address.
  const start = join(folder, "start.sh");
  writeFileSync(start, `echo "$1" > '${addresses}'\n`);
  const argsOf = (firstPort: number): string[] => ["-o", TIMEOUT_S, "-f", String(firstPort), "-e", `sh ${start}`];
  const results = [await run("client, h2c", CLIENT_CASES, program, argsOf(port), folder)];
  if (hasOpenssl) {
    const { cert, key } = sharedCertificates().server;
    writeFileSync(join(folder, "server.crt"), cert);
    writeFileSync(join(folder, "server.key"), key);
    results.push(await run("client, TLS", CLIENT_CASES, program, ["-t", ...argsOf(port + PORTS_OF_RUN)], folder));
  }
  reader.kill();
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
