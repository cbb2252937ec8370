/** The command `triple-es interface`: contracts in, generated files out. */
import { existsSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import type { Project, SourceFile } from "ts-morph";
import { type Arguments, ArgumentsError } from "./arguments.ts";
import type { Contract } from "./contract.ts";
import { openProject, readContracts } from "./contract-reader.ts";
import { JavaError, javaFiles } from "./java-file.ts";
import { apply, type Change, changes, type OutputFile } from "./output.ts";
import { Problems } from "./problem.ts";
import { stubFile } from "./stub-file.ts";
import { outlineStubs } from "./stub-outline.ts";

/** What a run has to say, and how it ended. */
export interface Outcome {
  readonly status: 0 | 1;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the command in a folder. Mistakes of the user end it before anything is written. */
export function runInterface(args: Arguments, folder: string): Outcome {
  const files = findFiles(args, folder);
  const problems = new Problems(folder);
  const contracts = readContracts(files, problems);
  if (!problems.hasErrors && contracts.every(({ services, declared }) => services.length + declared.length === 0)) {
    throw new ArgumentsError(`none of ${count(files.length, "file")} declares an interface with the tag @service`);
  }
  const told = problems.lines();
  const stderr = told.map((line) => `${line}\n`).join("");
  if (problems.hasErrors) return { status: 1, stdout: "", stderr };
  const out = args.out === undefined ? folder : resolve(folder, args.out);
  const output = args.java ? printJava(contracts, out) : printStubs(args, contracts, folder, out);
  if (args.out === undefined) {
    return { status: 0, stdout: output.map(({ path, text }) => `// ${path}\n${text}`).join("\n"), stderr };
  }
  const sources = new Set(files.map((file): string => file.getFilePath()));
  const changed = changes(out, output, sources, args.java ? "Java" : "TypeScript");
  if (args.check) return { ...checked(changed, args.out), stderr: stderr + checked(changed, args.out).stderr };
  apply(out, output, changed);
  return { status: 0, stdout: summary(output, changed), stderr };
}

/** The files that the patterns match, without generated ones. */
function findFiles({ patterns, project: tsconfig }: Arguments, folder: string): SourceFile[] {
  const project = openProjectOf(tsconfig, folder);
  const absolute = (pattern: string): string => resolve(folder, pattern).replaceAll("\\", "/");
  const without = patterns.filter((one) => one.startsWith("!")).map((one) => `!${absolute(one.slice(1))}`);
  const files = new Set<SourceFile>();
  const mistakes: string[] = [];
  for (const pattern of patterns.filter((one) => !one.startsWith("!"))) {
    const found = project.addSourceFilesAtPaths([absolute(pattern), ...without]).filter(isNotGenerated);
    if (found.length === 0) mistakes.push(`no file matches ${pattern}`);
    for (const file of found) {
      if (/\.[jt]sx$|\.[cm]?js$|\.[cm]ts$/.test(file.getFilePath())) {
        mistakes.push(`${relative(folder, file.getFilePath())}: a contract is a .ts file`);
      }
      files.add(file);
    }
  }
  if (mistakes.length > 0) throw new ArgumentsError(mistakes.join("\n"));
  return [...files];
}

function openProjectOf(tsconfig: string | undefined, folder: string): Project {
  if (tsconfig === undefined) return openProject(undefined);
  const path = resolve(folder, tsconfig);
  if (!existsSync(path)) throw new ArgumentsError(`--project: there is no file ${tsconfig}`);
  try {
    return openProject(path);
  } catch (error) {
    throw new ArgumentsError(
      `--project: ${tsconfig} cannot be read: ${error instanceof Error ? error.message : error}`,
    );
  }
}

function isNotGenerated(file: SourceFile): boolean {
  return !/_triple(?:\.d)?\.ts$/.test(file.getFilePath());
}

function printStubs(args: Arguments, contracts: readonly Contract[], folder: string, out: string): OutputFile[] {
  const root = resolve(folder, args.root ?? commonFolder(args.patterns));
  const outside = contracts.filter(({ file }) => relative(root, file).startsWith(".."));
  if (outside.length > 0) {
    const names = outside.map(({ file }) => relative(folder, file)).join(", ");
    throw new ArgumentsError(`--root does not contain ${names}`);
  }
  const outlines = outlineStubs(contracts, root);
  const { importExtension, targets } = args;
  const files = targets.flatMap((target) =>
    outlines.map((outline) => stubFile(outline, outlines, { target, out, importExtension })),
  );
  const twice = files.find(({ path }, i) => files.findIndex((other) => other.path === path) !== i);
  if (twice !== undefined) throw new ArgumentsError(`two contracts would both become ${twice.path}`);
  return files;
}

function printJava(contracts: readonly Contract[], out: string): OutputFile[] {
  try {
    return javaFiles(contracts, out);
  } catch (error) {
    throw error instanceof JavaError ? new ArgumentsError(error.message) : error;
  }
}

/** The deepest folder that contains what the patterns say before their first wildcard. */
function commonFolder(patterns: readonly string[]): string {
  const folders = patterns
    .filter((pattern) => !pattern.startsWith("!"))
    .map((pattern) => {
      const parts = join(pattern).split(/[\\/]/);
      const wild = parts.findIndex((part) => /[*?[\]{}()!]/.test(part));
      return wild < 0 ? dirname(join(pattern)).split(/[\\/]/) : parts.slice(0, wild);
    });
  const [first = []] = folders;
  const length = first.findIndex((part, i) => folders.some((other) => other[i] !== part));
  return (length < 0 ? first : first.slice(0, length)).join("/") || (patterns[0]?.startsWith("/") ? "/" : ".");
}

function checked(changed: readonly Change[], out: string): Outcome {
  if (changed.length === 0) return { status: 0, stdout: `${out} is up to date\n`, stderr: "" };
  const lines = changed.map(({ kind, path }) => `${join(out, path)} is ${kind}\n`);
  return { status: 1, stdout: "", stderr: lines.join("") };
}

function summary(output: readonly OutputFile[], changed: readonly Change[]): string {
  const stale = changed.filter(({ kind }) => kind === "stale").length;
  const written = changed.length - stale;
  const removed = stale > 0 ? `, ${count(stale, "file")} removed` : "";
  return `${count(written, "file")} written, ${output.length - written} unchanged${removed}\n`;
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}
