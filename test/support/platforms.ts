/**
 * The JavaScript runtimes that run the programs of this repository. Bun and Deno are packages of the example
 * `runtimes`, which are not installed by default, see CONTRIBUTING.md.
 */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { ROOT } from "./documents.ts";

export type Platform = "Node" | "Bun" | "Deno";

const SOURCES = "--conditions=triple-source";
const TSX = pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href;

/** The command of a program and its first arguments. */
export const PLATFORMS: Readonly<Record<Platform, readonly [command: string, ...args: string[]]>> = {
  Node: [process.execPath, SOURCES, "--import", TSX],
  Bun: [installedPackage("@oven/bun-linux", { x64: "x64", arm64: "aarch64" }, "bin/bun"), "--no-install", SOURCES],
  Deno: [
    installedPackage("@deno/linux", { x64: "x64-glibc", arm64: "arm64-glibc" }, "deno"),
    ...["run", "--no-prompt", "--allow-net", "--allow-env", "--allow-read", "--sloppy-imports", SOURCES],
  ],
};

/** The packages `bun` and `deno` install a package for the platform, which contains the program. */
function installedPackage(prefix: string, architectures: Readonly<Record<string, string>>, path: string): string {
  return join(ROOT, "examples/runtimes/node_modules", `${prefix}-${architectures[process.arch]}`, path);
}

/** The path of a platform's program. */
export function programOf(platform: Platform): string {
  return PLATFORMS[platform][0];
}

export function isInstalled(platform: Platform): boolean {
  return existsSync(PLATFORMS[platform][0]);
}

const missing = (Object.keys(PLATFORMS) as Platform[]).filter((platform) => !isInstalled(platform));
if (missing.length > 0) console.warn(`skipped: ${missing.join(", ")}; CONTRIBUTING.md says how to install them`);

/** Environment that prevents checks for updates and files outside of that folder. */
export function platformEnvironment(folder: string): NodeJS.ProcessEnv {
  return { ...process.env, DENO_DIR: folder, DENO_NO_UPDATE_CHECK: "1", NO_COLOR: "1", no_proxy: "*" };
}

/** Makes the calls of `test/platforms/calls.ts` from a platform. Its files are written to the folder. */
export async function makeCalls(platform: Platform, baseUrl: string, folder: string): Promise<unknown> {
  const [command, ...args] = PLATFORMS[platform];
  const program = [...args, "test/platforms/client.ts", baseUrl];
  const { stdout } = await promisify(execFile)(command, program, { cwd: ROOT, env: platformEnvironment(folder) });
  return JSON.parse(stdout);
}
