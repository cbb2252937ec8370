/**
 * A registry of npm on this machine, Verdaccio, for the rehearsal of a release. It has the packages that are published to it,
 * and serves all others in the versions of `package-lock.json`, from the registry that npm is configured with.
 */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { ROOT } from "../support/documents.ts";
import { freePort } from "../support/port.ts";

const run = promisify(execFile);
const VERDACCIO = join(ROOT, "test/release/verdaccio/node_modules/verdaccio/bin/verdaccio");
/** The packages of this repository, which are served only after they were published. */
const OWN = "{triple-es,triple-es-dubbo,triple-es-nest,create-triple-es,protoc-gen-triple-es}";

/** Reports whether Verdaccio is installed. Tests that need it are skipped where it is not. */
export const hasVerdaccio: boolean = existsSync(VERDACCIO);
if (!hasVerdaccio) console.warn("skipped: the rehearsal of a release; CONTRIBUTING.md says how to install Verdaccio");

export interface Registry {
  /** The URL, which ends with a slash. */
  readonly url: string;
  /** Ends the registry and deletes its packages. */
  stop(): Promise<void>;
}

/** Starts an empty registry. */
export async function startRegistry(): Promise<Registry> {
  if (!hasVerdaccio)
    throw new Error("needs Verdaccio: npm --prefix test/release/verdaccio ci --ignore-scripts --workspaces=false");
  const folder = mkdtempSync(join(tmpdir(), "triple-es-registry-"));
  const upstream = await startUpstream();
  const port = await freePort();
  const config = {
    storage: join(folder, "storage"),
    uplinks: { upstream: { url: upstream.url } },
    packages: {
      [OWN]: { access: "$all", publish: "$all" },
      "**": { access: "$all", proxy: "upstream" },
    },
    auth: { htpasswd: { file: join(folder, "htpasswd"), max_users: -1 } },
    web: { enable: false },
    log: { type: "stdout", level: "warn" },
  };
  mkdirSync(config.storage);
  // JSON is YAML.
  writeFileSync(join(folder, "config.yaml"), JSON.stringify(config));
  const args = [VERDACCIO, "--config", join(folder, "config.yaml"), "--listen", `127.0.0.1:${port}`];
  const log = openSync(join(folder, "log"), "w");
  const program = spawn(process.execPath, args, { cwd: folder, stdio: ["ignore", log, log, "ipc"] });
  closeSync(log);
  // Verdaccio sends a message to its parent when it listens.
  const hasStarted = await Promise.race([once(program, "message"), once(program, "exit").then(() => undefined)]);
  if (hasStarted === undefined) throw new Error(`Verdaccio has ended:\n${readFileSync(join(folder, "log"), "utf8")}`);
  return {
    url: `http://127.0.0.1:${port}/`,
    async stop() {
      if (program.exitCode === null && program.kill()) await once(program, "exit");
      await upstream.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The document of a package in a registry, as far as it is read here. */
interface Packument {
  "dist-tags": Record<string, string>;
  versions: Record<string, unknown>;
}

/**
 * A server between Verdaccio and the configured registry that leaves out all versions but those of the lock file, so that a
 * release of another package cannot change the result of a test.
 */
async function startUpstream(): Promise<{ url: string; stop: () => Promise<void> }> {
  const { stdout } = await run("npm", ["config", "get", "registry"], { cwd: ROOT });
  const locked = lockedVersions();
  const server = createServer(async ({ url = "" }, response) => {
    const answer = await fetch(new URL(url.slice(1), stdout.trim())).catch((error: Error) => error);
    if (answer instanceof Error || !answer.ok) return void response.writeHead(502).end(String(answer));
    const packument = (await answer.json()) as Packument;
    const [latest, ...others] = locked.get(decodeURIComponent(url.slice(1))) ?? [];
    if (latest !== undefined) {
      packument["dist-tags"] = { latest };
      packument.versions = Object.fromEntries([latest, ...others].map((one) => [one, packument.versions[one]]));
    }
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(packument));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    async stop() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

/** The versions of each package in the lock file; the first is that of the root. */
function lockedVersions(): Map<string, string[]> {
  const { packages } = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8"));
  const versions = new Map<string, string[]>();
  for (const [path, { name, version, link }] of Object.entries<{ name?: string; version: string; link?: true }>(
    packages,
  )) {
    const [, own] = path.split(/^(?:.*\/)?node_modules\//);
    if (own === undefined || link) continue;
    const known = versions.get(name ?? own) ?? [];
    versions.set(name ?? own, path === `node_modules/${own}` ? [version, ...known] : [...known, version]);
  }
  return versions;
}
