/** The command `triple-es migrate`, which rewrites the files of a project. */
import { spawnSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { relative, resolve } from "node:path";
import { Project, ts } from "ts-morph";
import { ArgumentsError } from "../contract/arguments.ts";
import type { Outcome } from "../contract/command.ts";
import type { MigrateArguments } from "./arguments.ts";
import { connectEs } from "./connect-es.ts";
import { generatorOf } from "./generator.ts";
import { grpcJs } from "./grpc-js.ts";
import { isWithin, type Kind, type Left, Migration } from "./migration.ts";
import { niceGrpc } from "./nice-grpc.ts";
import { migrateProjectFiles } from "./project-files.ts";
import { wholeFiles } from "./whole-files.ts";

const KINDS: Readonly<Record<MigrateArguments["kind"], Kind>> = {
  "connect-es": connectEs,
  "grpc-js": grpcJs,
  "nice-grpc": niceGrpc,
};

/** Migrates the files of a project in a folder. */
export function runMigrate(args: MigrateArguments, folder: string): Outcome {
  const kind = KINDS[args.kind];
  if (!args.dryRun && !args.force) checkClean(folder);
  const project = openProject(args, folder);
  const checker = project.getTypeChecker().compilerObject;
  const wanted = new Set(args.files.map((file) => resolve(folder, file)));
  const sources = project
    .getSourceFiles()
    .map((one) => one.compilerNode as ts.SourceFile)
    .filter(({ fileName, isDeclarationFile }) => !isDeclarationFile && !fileName.includes("/node_modules/"))
    .filter((file) => generatorOf(file) === undefined);
  const files = wanted.size === 0 ? sources : sources.filter(({ fileName }) => wanted.has(fileName));
  checkInstalled(files, kind, checker, folder);
  const shared = { retyped: new Set<ts.Node>(), moved: new Set<ts.Node>() };
  const migrations = files.map((file) => new Migration(file, checker, kind, shared));
  const whole = wholeFiles(sources, kind, checker);
  const migrated = migrations.filter((one) => {
    const reason = whole.get(one.file);
    if (reason) one.leave(reason.node, reason.message);
    return reason === undefined;
  });
  for (const one of migrated) kind.prepare?.(one);
  const changed = migrated
    .map((one) => [one.file.fileName, one.file.text, one.run()] as const)
    .filter(([, before, after]) => before !== after);
  const left: Left[] = migrations.flatMap((one) => one.left);
  const texts = new Map(changed.map(([file, , text]) => [file, text]));
  const isUsed = (name: string): boolean =>
    sources.some((one) => ['"', "'"].some((quote) => (texts.get(one.fileName) ?? one.text).includes(quote + name)));
  const others = migrateProjectFiles(folder, kind, isUsed);
  left.push(...others.left);
  const written = [...changed.map(([file, , text]) => [file, text] as const), ...others.changed];
  if (!args.dryRun) for (const [file, text] of written) writeFileSync(file, text);
  return {
    status: left.length === 0 ? 0 : 1,
    stdout: report(
      written.map(([file]) => file),
      left,
      args,
      folder,
      kind,
    ),
    stderr: "",
  };
}

function report(
  written: readonly string[],
  left: readonly Left[],
  args: MigrateArguments,
  folder: string,
  kind: Kind,
): string {
  const nameOf = (file: string): string => relative(folder, file).replaceAll("\\", "/");
  const lines = written.map((file) => `${args.dryRun ? "would change" : "changed"} ${nameOf(file)}`);
  for (const { file, line, message } of left) lines.push(`${nameOf(file)}:${line}: ${message}`);
  const files = `${written.length} ${written.length === 1 ? "file" : "files"} ${args.dryRun ? "to change" : "changed"}`;
  if (left.length === 0) return `${[...lines, `${files}, nothing left`].join("\n")}\n`;
  const hint = `the lines above are left to do: see "${kind.section}" in the document on migration`;
  return `${[...lines, `${files}, ${left.length} left`, hint].join("\n")}\n`;
}

/** Refuses to write into a work tree of Git with changes, which could not be told from those of the command. */
function checkClean(folder: string): void {
  const { status, stdout } = spawnSync("git", ["status", "--porcelain", "--", "."], { cwd: folder, encoding: "utf8" });
  if (status === 0 && stdout !== "")
    throw new ArgumentsError("the work tree has uncommitted changes: commit them, or pass --force");
}

function openProject({ project, files }: MigrateArguments, folder: string): Project {
  const tsConfigFilePath = resolve(folder, project ?? "tsconfig.json");
  const isThere = existsSync(tsConfigFilePath);
  if (!isThere && (project !== undefined || files.length === 0))
    throw new ArgumentsError(`there is no file ${project ?? "tsconfig.json"}: give --project, or files`);
  const compilerOptions: ts.CompilerOptions = {
    module: ts.ModuleKind.NodeNext,
    target: ts.ScriptTarget.ES2022,
    allowJs: true,
  };
  const opened = new Project(isThere ? { tsConfigFilePath } : { compilerOptions });
  opened.addSourceFilesAtPaths(files.map((file) => resolve(folder, file)));
  if (opened.getSourceFiles().length === 0)
    throw new ArgumentsError(`${project ?? "tsconfig.json"} has no files: give another --project, or files`);
  return opened;
}

/** The types of the old packages and of generated code show what a name is. */
function checkInstalled(files: readonly ts.SourceFile[], kind: Kind, checker: ts.TypeChecker, folder: string): void {
  for (const file of files) {
    for (const one of file.statements) {
      if (!ts.isImportDeclaration(one) || checker.getSymbolAtLocation(one.moduleSpecifier) !== undefined) continue;
      const { text } = one.moduleSpecifier as ts.StringLiteral;
      const isOld = kind.packages.some((name) => isWithin(text, name));
      if (!isOld && !/_pb(?:\.[jt]s)?$/.test(text)) continue;
      throw new ArgumentsError(
        `${text} of ${relative(folder, file.fileName)} is not found: install packages and generate code first, their types are read`,
      );
    }
  }
}
