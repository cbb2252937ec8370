/**
 * The contract files of a run.
 */
import { existsSync } from "node:fs";
import { basename, dirname, relative, resolve } from "node:path";
import { InMemoryFileSystemHost, type Project, type SourceFile } from "ts-morph";
import { type Arguments, ArgumentsError } from "./arguments.ts";
import { openProject } from "./read/contract-reader.ts";
import { TOO_DEEP } from "./read/syntax.ts";
import { SUPPORT_FILE } from "./typescript/service-file.ts";

export interface ContractFiles {
  readonly files: readonly SourceFile[];
  /** The absolute path of the folder that corresponds to the output folder. */
  readonly root: string;
  /** Reports whether the patterns of the run match an absolute path. The file need not exist. */
  readonly covers: (path: string) => boolean;
}

/** Reports whether a command writes files of this name. */
export function isGenerated(path: string): boolean {
  return /_triple(?:\.d)?\.ts$/.test(path) || basename(path) === SUPPORT_FILE;
}

/** Finds the files that the patterns match, except generated ones. */
export function findContracts(args: Arguments, folder: string, open = openProject): ContractFiles {
  const project = openProjectOf(args.project, folder, open);
  const absolute = (pattern: string): string => resolve(folder, pattern).replaceAll("\\", "/");
  const without = args.patterns.filter((one) => one.startsWith("!")).map((one) => `!${absolute(one.slice(1))}`);
  const wanted = args.patterns.filter((one) => !one.startsWith("!"));
  const files = new Set<SourceFile>();
  const mistakes: string[] = [];
  for (const pattern of wanted) {
    const paths = project.getFileSystem().globSync([absolute(pattern), ...without]);
    const found = paths.filter((path) => !isGenerated(path));
    if (found.length === 0) mistakes.push(`no file matches ${pattern}`);
    for (const path of found) {
      const name = relative(folder, path);
      if (/\.[jt]sx$|\.[cm]?js$|\.[cm]ts$/.test(path)) {
        mistakes.push(`${name}: a contract is a .ts file`);
        continue;
      }
      const file = parse(project, path);
      if (file === undefined) mistakes.push(`${name}:1:1: ${TOO_DEEP}`);
      else files.add(file);
    }
  }
  if (mistakes.length > 0) throw new ArgumentsError(mistakes.join("\n"));
  return {
    files: [...files],
    root: rootOf(args.root, wanted, [...files], folder),
    covers: (path) => wanted.some((pattern) => matches(path, [absolute(pattern), ...without])),
  };
}

function openProjectOf(tsconfig: string | undefined, folder: string, open: typeof openProject): Project {
  if (tsconfig === undefined) return open(undefined);
  const path = resolve(folder, tsconfig);
  if (!existsSync(path)) throw new ArgumentsError(`--project: there is no file ${tsconfig}`);
  try {
    return open(path);
  } catch (error) {
    throw new ArgumentsError(
      `--project: ${tsconfig} cannot be read: ${error instanceof Error ? error.message : error}`,
    );
  }
}

/** Parses a file. Returns `undefined` if the compiler's stack overflows. */
function parse(project: Project, path: string): SourceFile | undefined {
  try {
    return project.addSourceFileAtPath(path);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** Matches a path against patterns, with a virtual file system that contains only that file. */
function matches(path: string, patterns: readonly string[]): boolean {
  const host = new InMemoryFileSystemHost();
  host.writeFileSync(path, "");
  return host.globSync(patterns).length > 0;
}

function rootOf(
  given: string | undefined,
  patterns: readonly string[],
  files: readonly SourceFile[],
  folder: string,
): string {
  const folders = files.map((file): string => dirname(file.getFilePath()));
  if (given === undefined) return commonFolder([...patterns.map((one) => resolve(folder, fixedPart(one))), ...folders]);
  const root = resolve(folder, given);
  const outside = files.filter((file) => relative(root, file.getFilePath()).startsWith(".."));
  if (outside.length > 0) {
    const names = outside.map((file) => relative(folder, file.getFilePath())).join(", ");
    throw new ArgumentsError(`--root does not contain ${names}`);
  }
  return root;
}

/** Returns the folder before a pattern's first wildcard. */
function fixedPart(pattern: string): string {
  const parts = pattern.split(/[\\/]/);
  const wild = parts.findIndex((part) => /[*?[\]{}()!]/.test(part));
  return `${parts.slice(0, wild < 0 ? -1 : wild).join("/")}/`.replace(/^\/$/, pattern.startsWith("/") ? "/" : ".");
}

/** Returns the deepest folder that contains all given folders. */
function commonFolder(folders: readonly string[]): string {
  const [first = [], ...others] = folders.map((one) => one.split(/[\\/]/));
  const length = first.findIndex((part, i) => others.some((other) => other[i] !== part));
  return (length < 0 ? first : first.slice(0, length)).join("/") || "/";
}
