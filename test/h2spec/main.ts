/**
 * Runs h2spec against the server and h2specd against the client, and fails if a case does. The programs are taken from the
 * folder that `H2SPEC_DIR` names, or are built by Go, version 2.2.1; without either the run is skipped, and says so.
 *
 *     npm run h2spec
 */
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { createCertificates, hasOpenssl } from "../support/certificate.ts";

const VERSION = "v2.2.1+incompatible";
const HERE = import.meta.dirname;
/** Exit status of a judge that is not there. */
const CANNOT_RUN = 3;
/** Seconds that a case may wait for the other side. A client has to start first, on a machine that is busy. */
const TIMEOUT_S = "10";
const NODE = ["--conditions=triple-source", "--import", "tsx"];

/** The folder of h2spec and h2specd; `undefined` where they are not and cannot be built. */
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

/** Runs one program, prints what failed, and returns whether all cases passed. */
async function run(title: string, command: string, args: readonly string[], cwd = HERE): Promise<boolean> {
  const child = spawn(command, args, {
    cwd,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  child.stdout.on("data", (chunk) => {
    output += chunk;
  });
  child.stderr.on("data", (chunk) => {
    output += chunk;
  });
  await new Promise((resolve) => child.once("close", resolve));
  const summary = /^(\d+) tests, (\d+) passed, (\d+) skipped, (\d+) failed$/m.exec(output);
  const isGood = summary !== null && summary[1] === summary[2];
  console.log(`${title}: ${summary?.[0] ?? "no result"}`);
  if (!isGood) console.log(output.slice(output.indexOf("Failures:")));
  return isGood;
}

/** The first of the ports that h2specd listens on, one for each case: those of two runs at a time do not meet. */
const firstPort = (index: number): string => String(10_000 + 100 * ((2 * process.pid + index) % 200));

const programs = findPrograms();
if (programs === undefined) process.exitCode = CANNOT_RUN;
else {
  const results: boolean[] = [];
  const server = spawn(process.execPath, [...NODE, join(HERE, "server.ts")], { stdio: ["pipe", "pipe", "inherit"] });
  const line = await new Promise<string>((resolve) => server.stdout.once("data", (chunk) => resolve(String(chunk))));
  const ports = JSON.parse(line) as { readonly h2c: number; readonly h2: number };
  const h2spec = join(programs, "h2spec");
  const common = ["-S", "-h", "127.0.0.1", "-o", TIMEOUT_S];
  results.push(await run("server, h2c", h2spec, [...common, "-p", String(ports.h2c)]));
  results.push(await run("server, TLS", h2spec, [...common, "-p", String(ports.h2), "-t", "-k"]));
  server.kill();
  const h2specd = join(programs, "h2specd");
  if (existsSync(h2specd)) {
    const folder = mkdtempSync(join(tmpdir(), "h2specd-"));
    // Each case starts a client: in one file, and without types, that takes a tenth of the time.
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
    results.push(await run("client, h2c", h2specd, ["-o", TIMEOUT_S, "-f", firstPort(0), "-e", exec], folder));
    if (hasOpenssl)
      results.push(await run("client, TLS", h2specd, ["-o", TIMEOUT_S, "-f", firstPort(1), "-t", "-e", exec], folder));
    rmSync(folder, { recursive: true });
  }
  process.exitCode = results.every(Boolean) ? 0 : 1;
}
