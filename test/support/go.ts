/** Programs in Go for interoperability tests, built from the module proxy at pinned versions, each of them once. */
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { ROOT } from "./documents.ts";

/** Folder for downloads and builds of peers. It is not part of the repository. */
export const CACHE = join(ROOT, ".ci", "cache");

/** The version of Go, such as `go1.26.8`; `undefined` if Go is missing. */
export function goVersion(): string | undefined {
  const { status, stdout } = spawnSync("go", ["env", "GOVERSION"], { encoding: "utf8" });
  return status === 0 ? stdout.trim() : undefined;
}

/** A text that is replaced for the build. */
export interface GoChange {
  readonly module: string;
  /** The path of the source file in the module. */
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

/** Returns the path of the program. Builds it first, if needed. Throws with Go's message if that fails. */
export function installGoProgram(pkg: string, version: string, change?: GoChange): string {
  const folder = join(CACHE, "go", pkg.replaceAll("/", "+"), change === undefined ? version : `${version}+changed`);
  const program = join(folder, basename(pkg));
  if (existsSync(program)) return program;
  console.log(`Building ${pkg}@${version}, once; this takes a minute`);
  const building = `${folder}.${process.pid}`;
  mkdirSync(building, { recursive: true });
  try {
    if (change === undefined) go(["install", `${pkg}@${version}`], { GOBIN: building });
    else go(["install", pkg], { GOBIN: building }, changedModule(building, version, change));
    rmSync(folder, { recursive: true, force: true });
    renameSync(building, folder);
  } finally {
    rmSync(building, { recursive: true, force: true });
  }
  return program;
}

/** Writes a copy of the module with the changed file into the folder. Returns the path of the copy. */
function changedModule(folder: string, version: string, { module, file, from, to }: GoChange): string {
  const copy = join(folder, "source");
  cpSync(goModuleFolder(module, version), copy, { recursive: true });
  const path = join(copy, file);
  const source = readFileSync(path, "utf8");
  if (!source.includes(from)) throw new Error(`${file} of ${module} ${version} does not contain: ${from}`);
  // Go's folder of modules, and so the copy, is read-only.
  spawnSync("chmod", ["-R", "u+w", copy]);
  writeFileSync(
    path,
    source.replace(from, () => to),
  );
  return copy;
}

/** Returns the folder with the sources of a module. */
export function goModuleFolder(module: string, version: string): string {
  const { Dir } = JSON.parse(go(["mod", "download", "-json", `${module}@${version}`])) as { Dir: string };
  return Dir;
}

/** Runs a command that may download modules, so it has three tries. */
function go(args: readonly string[], env: Readonly<Record<string, string>> = {}, cwd = CACHE): string {
  const options = { env: { ...process.env, GOWORK: "off", ...env }, encoding: "utf8", cwd } as const;
  for (let tries = 3; ; tries--) {
    const { status, stdout, stderr, error } = spawnSync("go", args, options);
    if (status === 0) return stdout;
    if (tries === 1) throw new Error(`go ${args.join(" ")} failed: ${error?.message ?? ""}\n${stderr}`);
  }
}
