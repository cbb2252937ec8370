/** The command `triple-es contract`, which generates files from contracts in TypeScript. */
import { existsSync, type FSWatcher, readFileSync, watch } from "node:fs";
import { dirname, relative, resolve } from "node:path";
import { Project, type ProjectOptions, type SourceFile, ts } from "ts-morph";
import { fileHead, type OutputFile, sourceOf } from "../../print/file-head.ts";
import { type Arguments, ArgumentsError } from "../arguments.ts";
import { type Outcome, writeOutput } from "../command.ts";
import { findContracts, isGenerated } from "../contract-files.ts";
import { Problems } from "../model/diagnostics.ts";
import { contractDocument } from "./openapi-document.ts";
import { protoFile } from "./proto-file.ts";
import { type Numbers, readNumbers } from "./proto-numbers.ts";
import { SUPPORT_FILE, serviceFile } from "./service-file.ts";
import { readTypeScriptContracts } from "./service-reader.ts";
import type { TypeScriptContract } from "./wire-type.ts";

/** Opens a compiler project that resolves types, with the declarations of the language but not those of pages. */
export function openTypedProject(tsConfigFilePath: string | undefined, more: ProjectOptions = {}): Project {
  return new Project({
    ...(tsConfigFilePath === undefined ? {} : { tsConfigFilePath }),
    compilerOptions: {
      ...(tsConfigFilePath === undefined
        ? { module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler }
        : {}),
      target: ts.ScriptTarget.ESNext,
      lib: ["lib.esnext.d.ts"],
      types: [],
      strict: true,
      exactOptionalPropertyTypes: true,
      noEmit: true,
      allowImportingTsExtensions: true,
    },
    skipAddingFilesFromTsConfig: true,
    ...more,
  });
}

interface ContractOutcome extends Outcome {
  /** The paths of the files that the contracts consist of, there or not. */
  readonly sources: readonly string[];
}

/** Runs the command in a folder. `support` is the path of the module that is copied into the output folder. */
export function runContract(args: Arguments, folder: string, support: string): ContractOutcome {
  const { files, root, covers } = findContracts(args, folder, openTypedProject);
  const problems = new Problems(folder);
  const contracts = readTypeScriptContracts(files, problems).filter(({ services }) => services.length > 0);
  const sources = sourcesOf(files);
  const out = args.out === undefined ? root : resolve(folder, args.out);
  const isWhole = contracts.length > 0 && !problems.hasErrors;
  const proto = args.proto !== undefined && isWhole ? [protoOutput(contracts, args.proto, out, folder, problems)] : [];
  const stderr = problems
    .lines()
    .map((line) => `${line}\n`)
    .join("");
  if (problems.hasErrors) return { status: 1, stdout: "", stderr, sources };
  if (contracts.length === 0) {
    throw new ArgumentsError(
      `${stderr}no exported interface with methods such as order(request: Order): Promise<Receipt> is in ${files.map((file) => relative(folder, file.getFilePath())).join(", ")}`,
    );
  }
  const output: OutputFile[] = [supportFile(out, support), ...proto];
  for (const contract of contracts) {
    const path = relative(root, contract.file)
      .replaceAll("\\", "/")
      .replace(/(?:\.d)?\.ts$/, "_triple");
    output.push(serviceFile(contract, `${path}.ts`, { out, importExtension: args.importExtension }));
    if (args.openapi) output.push(contractDocument(contract, `${path}.json`, out));
  }
  const isOurs = (source: string): boolean =>
    files.some((file) => file.getFilePath() === source) || (covers(source) && !existsSync(source));
  return { ...writeOutput(output, { args, folder, out, isOurs, language: "TypeScript", stderr }), sources };
}

/** Returns the proto file, which keeps the numbers of the earlier one. A file of another origin is not read. */
function protoOutput(
  contracts: readonly TypeScriptContract[],
  proto: string,
  out: string,
  folder: string,
  problems: Problems,
): OutputFile {
  const file = resolve(folder, proto);
  const before = existsSync(file) ? readFileSync(file, "utf8") : "";
  const numbers = sourceOf(file, before) === undefined ? new Map<string, Numbers>() : readNumbers(before, proto);
  return protoFile(contracts, relative(out, file).replaceAll("\\", "/"), out, numbers, problems);
}

function supportFile(out: string, source: string): OutputFile {
  const path = SUPPORT_FILE;
  const head = fileHead(`${out}/${path}`, `${out}/${path}`, undefined, "contract");
  return { path, text: `${head}\n${readFileSync(source, "utf8")}` };
}

/** Returns the paths that the contracts consist of: they and all that they import, found or not, without packages. */
function sourcesOf(files: readonly SourceFile[]): string[] {
  const [first] = files;
  const all = first?.getProject().getSourceFiles() ?? [];
  return all
    .filter((file) => !file.isInNodeModules())
    .flatMap((file) => {
      const path = file.getFilePath();
      const imports = [...file.getImportDeclarations(), ...file.getExportDeclarations()];
      const relatives = imports.filter((one) => one.isModuleSpecifierRelative());
      return [path, ...relatives.map((one) => resolve(dirname(path), one.getModuleSpecifierValue() ?? ""))];
    });
}

/** Returns the folder of a path, or the nearest one that exists. */
function folderOf(path: string): string {
  const folder = dirname(path);
  return existsSync(folder) || folder === path ? folder : folderOf(folder);
}

/** Milliseconds without a further change before files are read: editors write a file in several steps. */
const QUIET_MS = 50;

/** Runs the command, and again after each change of a file that the contracts consist of. Returns a function that ends it. */
export function watchContract(
  args: Arguments,
  folder: string,
  support: string,
  print: (outcome: Outcome) => void,
): () => void {
  let watchers: FSWatcher[] = [];
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;
  let sources: readonly string[] = args.patterns.map((pattern) => resolve(folder, pattern));

  function run(): void {
    try {
      const outcome = runContract(args, folder, support);
      sources = outcome.sources;
      print(outcome);
    } catch (error) {
      print({ status: 1, stdout: "", stderr: `triple-es: ${reasonOf(error)}\n` });
    }
    observe();
  }

  function observe(): void {
    for (const watcher of watchers) watcher.close();
    const folders = isClosed ? [] : new Set(sources.map(folderOf));
    watchers = Array.from(folders, (one) => watch(one, (_event, name) => changed(name)));
  }

  function changed(name: string | null): void {
    // A name without an extension may be that of a folder.
    if (name !== null && (!/^[^.]+$|\.ts$/.test(name) || isGenerated(name))) return;
    clearTimeout(timer);
    timer = setTimeout(run, QUIET_MS);
  }

  observe();
  run();
  return () => {
    isClosed = true;
    clearTimeout(timer);
    observe();
  };
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
