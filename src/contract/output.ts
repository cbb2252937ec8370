/** Writes generated files, and finds those of earlier runs that have lost their contract. */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { sourceOf } from "../print/file-head.ts";

export interface Change {
  readonly kind: "missing" | "different" | "stale";
  /** Under the output folder. */
  readonly path: string;
}

export interface OutputFile {
  readonly path: string;
  readonly text: string;
}

/** Files in the place of an output file that must not be lost: those of other tools, or of another run. */
export function obstacles(
  out: string,
  files: readonly OutputFile[],
  isOurs: (source: string) => boolean,
): { path: string; reason: string }[] {
  return files.flatMap(({ path, text }) => {
    const before = read(join(out, path));
    if (before === undefined) return [];
    const source = sourceOf(join(out, path), before);
    if (source === undefined) return [{ path, reason: "triple-es interface did not make this file" }];
    const isSame = source === sourceOf(join(out, path), text);
    if (isSame || isOurs(source) || !existsSync(source)) return [];
    return [{ path, reason: `this file was made of ${relative(out, source)}, which this run does not read` }];
  });
}

/**
 * The differences between the folder and the files. A file of ours is stale if `isOurs` says that this run is about its
 * contract, which does not make it any more or is gone: those of other runs into the same folder are left alone.
 */
export function changes(
  out: string,
  files: readonly OutputFile[],
  isOurs: (source: string) => boolean,
  language: "TypeScript" | "Java",
): Change[] {
  const isOfLanguage = language === "Java" ? /\.java$/ : /_triple\.(?:ts|js|d\.ts)$/;
  const wanted = new Set(files.map(({ path }) => path));
  const written = files.flatMap(({ path, text }): Change[] => {
    const before = read(join(out, path));
    if (before === text) return [];
    return [{ kind: before === undefined ? "missing" : "different", path }];
  });
  const stale = [...listFiles(out, "")]
    .filter((path) => !wanted.has(path) && isOfLanguage.test(path))
    .filter((path) => {
      const source = sourceOf(join(out, path), read(join(out, path)) ?? "");
      return source !== undefined && isOurs(source);
    });
  return [...written, ...stale.map((path): Change => ({ kind: "stale", path }))];
}

/** Makes the changes, each one atomically, so that no reader sees half a file. Files that are up to date are not touched. */
export function apply(out: string, files: readonly OutputFile[], changed: readonly Change[]): void {
  const texts = new Map(files.map(({ path, text }) => [path, text]));
  for (const { kind, path } of changed) {
    const target = join(out, path);
    if (kind === "stale") {
      rmSync(target);
      continue;
    }
    mkdirSync(dirname(target), { recursive: true });
    const temporary = `${target}.${process.pid}.tmp`;
    try {
      writeFileSync(temporary, texts.get(path) ?? "");
      renameSync(temporary, target);
    } catch (error) {
      rmSync(temporary, { force: true });
      throw error;
    }
  }
}

function read(path: string): string | undefined {
  return existsSync(path) ? readFileSync(path, "utf8") : undefined;
}

/** All files of a folder and those below, but not of installed packages. */
function* listFiles(folder: string, prefix: string): Generator<string> {
  if (!existsSync(folder)) return;
  const entries = readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const entry of entries) {
    if (entry.isFile()) yield prefix + entry.name;
    const isOwn = entry.name !== "node_modules" && !entry.name.startsWith(".");
    if (entry.isDirectory() && isOwn) yield* listFiles(join(folder, entry.name), `${prefix}${entry.name}/`);
  }
}
