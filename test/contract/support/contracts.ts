/** Contracts for tests, read from text instead of files. */
import { checkJava } from "../../../src/contract/java/java-check.ts";
import { javaFiles } from "../../../src/contract/java/java-file.ts";
import type { Contract } from "../../../src/contract/model/contract.ts";
import { Problems } from "../../../src/contract/model/diagnostics.ts";
import { openProject, readContracts } from "../../../src/contract/read/contract-reader.ts";
import { stubFile } from "../../../src/contract/stub/stub-file.ts";
import { outlineStubs } from "../../../src/contract/stub/stub-outline.ts";
import type { Target } from "../../../src/print/declaration.ts";
import type { OutputFile } from "../../../src/print/file-head.ts";

export interface Reading {
  readonly contracts: readonly Contract[];
  /** Returns errors and warnings, one per line. */
  readonly problems: readonly string[];
}

/** Reads contracts by path and text. Other files are only imported. */
export function read(contracts: Record<string, string>, others: Record<string, string> = {}): Reading {
  const project = openProject(undefined, { useInMemoryFileSystem: true });
  for (const [path, text] of Object.entries(others)) project.createSourceFile(`/${path}`, text);
  const files = Object.entries(contracts).map(([path, text]) => project.createSourceFile(`/${path}`, text));
  const problems = new Problems("/");
  return { contracts: readContracts(files, problems), problems: problems.lines() };
}

/** Returns the problems of a contract in one file, `a.ts`, without the name of the file. */
export function problemsOf(text: string, others: Record<string, string> = {}): string[] {
  return read({ "a.ts": text }, others).problems.map((line) => line.replace(/^a\.ts:/, ""));
}

/** Returns the files generated from contracts into the adjacent folder `/gen`. */
export function stubs({ contracts }: Reading, target: Target = "ts"): OutputFile[] {
  const outlines = outlineStubs(contracts, "/");
  return outlines.map((one) => stubFile(one, outlines, { target, out: "/gen", importExtension: "js" }));
}

/** Returns the problems of a contract that only exist in Java. */
export function javaProblems(contracts: Record<string, string>): string[] {
  const reading = read(contracts);
  if (reading.problems.length > 0) throw new Error(reading.problems.join("\n"));
  const problems = new Problems("/");
  checkJava(reading.contracts, problems);
  return problems.lines();
}

export function java({ contracts }: Reading): OutputFile[] {
  return javaFiles(contracts, "/java");
}
