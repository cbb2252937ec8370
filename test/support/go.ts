/** Programs in Go for interoperability tests, built from the module proxy at pinned versions, each of them once. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { ROOT } from "./documents.ts";

/** Folder for downloads and builds of peers. It is not part of the repository. */
export const CACHE = join(ROOT, ".ci", "cache");

/** The version of Go, such as `go1.26.8`; `undefined` if Go is missing. */
export function goVersion(): string | undefined {
  const { status, stdout } = spawnSync("go", ["env", "GOVERSION"], { encoding: "utf8" });
  return status === 0 ? stdout.trim() : undefined;
}

/** Returns the path of the program. Builds it first, if needed. Throws with Go's message if that fails. */
export function installGoProgram(pkg: string, version: string): string {
  const folder = join(CACHE, "go", pkg.replaceAll("/", "+"), version);
  const program = join(folder, basename(pkg));
  if (existsSync(program)) return program;
  console.log(`Building ${pkg}@${version}, once; this takes a minute`);
  const building = `${folder}.${process.pid}`;
  mkdirSync(building, { recursive: true });
  try {
    go(["install", `${pkg}@${version}`], { GOBIN: building });
    rmSync(folder, { recursive: true, force: true });
    renameSync(building, folder);
  } finally {
    rmSync(building, { recursive: true, force: true });
  }
  return program;
}

/** Returns the folder with the sources of a module. */
export function goModuleFolder(module: string, version: string): string {
  const { Dir } = JSON.parse(go(["mod", "download", "-json", `${module}@${version}`])) as { Dir: string };
  return Dir;
}

/** Runs a command that may download modules, so it has three tries. */
function go(args: readonly string[], env: Readonly<Record<string, string>> = {}): string {
  const options = { env: { ...process.env, GOWORK: "off", ...env }, encoding: "utf8", cwd: CACHE } as const;
  for (let tries = 3; ; tries--) {
    const { status, stdout, stderr, error } = spawnSync("go", args, options);
    if (status === 0) return stdout;
    if (tries === 1) throw new Error(`go ${args.join(" ")} failed: ${error?.message ?? ""}\n${stderr}`);
  }
}
