/** The command `triple-es interface`, which generates files from contracts. */
import { existsSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import type { OutputFile } from "../print/file-head.ts";
import { type Arguments, ArgumentsError } from "./arguments.ts";
import { findContracts } from "./contract-files.ts";
import { checkJava } from "./java/java-check.ts";
import { javaFiles } from "./java/java-file.ts";
import type { Contract } from "./model/contract.ts";
import { Problems } from "./model/diagnostics.ts";
import { apply, type Change, changes, obstacles } from "./output.ts";
import { readContracts } from "./read/contract-reader.ts";
import { stubFile } from "./stub/stub-file.ts";
import { outlineStubs } from "./stub/stub-outline.ts";

/** The exit status of a run, and its output. */
export interface Outcome {
  readonly status: 0 | 1;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the command in a folder. Errors in arguments or contracts end it before anything is written. */
export function runInterface(args: Arguments, folder: string): Outcome {
  const { files, root, covers } = findContracts(args, folder);
  const problems = new Problems(folder);
  const contracts = readContracts(files, problems);
  if (args.java && !problems.hasErrors) checkJava(contracts, problems);
  if (!problems.hasErrors && contracts.every(({ services, declared }) => services.length + declared.length === 0)) {
    const nothing = `none of ${count(files.length, "file")} declares an interface with the tag @service`;
    throw new ArgumentsError([...problems.lines(), nothing].join("\n"));
  }
  const stderr = problems
    .lines()
    .map((line) => `${line}\n`)
    .join("");
  if (problems.hasErrors) return { status: 1, stdout: "", stderr };
  const out = args.out === undefined ? folder : resolve(folder, args.out);
  const output = args.java ? javaFiles(contracts, out) : printStubs(args, contracts, root, out);
  if (args.out === undefined) {
    return { status: 0, stdout: output.map(({ path, text }) => `// ${path}\n${text}`).join("\n"), stderr };
  }
  const isOurs = (source: string): boolean =>
    files.some((file) => file.getFilePath() === source) || (covers(source) && !existsSync(source));
  const language = args.java ? "Java" : "TypeScript";
  return writeOutput(output, { args, folder, out, isOurs, language, stderr });
}

/** The output folder of a run. */
interface OutputRun {
  readonly args: Pick<Arguments, "check" | "out">;
  readonly folder: string;
  readonly out: string;
  /** Reports whether a file with the path is a contract of this run, or was one before it was deleted. */
  readonly isOurs: (source: string) => boolean;
  readonly language: "TypeScript" | "Java";
  /** The warnings. */
  readonly stderr: string;
}

/** Writes the files of a run, or checks them. */
export function writeOutput(output: readonly OutputFile[], run: OutputRun): Outcome {
  const { args, folder, out, isOurs, language, stderr } = run;
  const foreign = obstacles(out, output, isOurs).map(({ path, reason }) => {
    const place = relative(folder, join(out, path)).replaceAll("\\", "/");
    return `${place}:1:1: error: ${reason}; move it away, or give another --out\n`;
  });
  if (foreign.length > 0) return { status: 1, stdout: "", stderr: stderr + foreign.join("") };
  const changed = changes(out, output, isOurs, language);
  if (args.check) {
    const outcome = checked(changed, args.out ?? ".");
    return { ...outcome, stderr: stderr + outcome.stderr };
  }
  apply(out, output, changed);
  return { status: 0, stdout: summary(output, changed), stderr };
}

function printStubs(args: Arguments, contracts: readonly Contract[], root: string, out: string): OutputFile[] {
  const outlines = outlineStubs(contracts, root);
  const { importExtension, targets } = args;
  const files = targets.flatMap((target) =>
    outlines.map((outline) => stubFile(outline, outlines, { target, out, importExtension })),
  );
  const twice = files.find(({ path }, i) => files.findIndex((other) => other.path === path) !== i);
  if (twice !== undefined) throw new ArgumentsError(`two contracts would both become ${twice.path}`);
  return files;
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
