/** Prints the budgets of the repository beside their limits, and fails above a limit. CONTRIBUTING has the table of limits. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "ts60";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const tracked = execFileSync("git", ["ls-files"], { cwd: root, encoding: "utf8" }).trim().split("\n");
const read = (file) => readFileSync(join(root, file), "utf8");
const entryPoints = Object.entries(JSON.parse(read("runtime/package.json")).exports).filter(
  ([name]) => name !== "./package.json",
);

/** Documents of tables that `npm run generate` writes, and the results of planted faults. */
const GENERATED = ["docs/options.md", "docs/dubbo-options.md", "test/simulation/mutants/README.md"];

/** The functions that measure, by the names of the budgets in the table of CONTRIBUTING. */
const MEASURES = {
  "words of documents": countWords,
  "entry points of `triple-es`": () => entryPoints.length,
  "public names of `triple-es`": countNames,
  "options in `docs/options.md`": countOptions,
  "lines of `runtime/src`": () => countLines("runtime/src/"),
  "files of `runtime/src`": () => sourcesOf("runtime/src/").length,
  "lines of `dubbo/src`": () => countLines("dubbo/src/"),
  "files of `dubbo/src`": () => sourcesOf("dubbo/src/").length,
};

for (const [name, measure] of Object.entries(MEASURES)) {
  const limit = readLimit(name);
  const value = measure();
  if (value > limit) process.exitCode = 1;
  console.log(`${name} ${value.toLocaleString("en")} of ${limit.toLocaleString("en")}`);
}

/** Reads the limit of a budget from the table in CONTRIBUTING. Throws an `Error` if it has no row. */
function readLimit(name) {
  const row = read("CONTRIBUTING.md")
    .split("\n")
    .find((line) => line.startsWith(`| ${name} |`));
  if (row === undefined) throw new Error(`CONTRIBUTING.md has no limit of ${name}`);
  return Number(row.split("|")[2].replaceAll(",", ""));
}

/** The words of all documents, code included, without generated tables. A word has a letter or a digit. */
function countWords() {
  return tracked
    .filter((file) => file.endsWith(".md") && !file.startsWith("fixtures/") && !GENERATED.includes(file))
    .map((file) => read(file).replace(/<!-- matrix:.*?<!-- end of the matrix -->/s, ""))
    .flatMap((text) => text.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word))).length;
}

/** The distinct names that entry points export, without well-known types and what `triple-es-dubbo` alone may import. */
function countNames() {
  const sources = entryPoints
    .filter(([name]) => name !== "./wkt" && !name.startsWith("./internal"))
    .map(([, conditions]) => join("runtime", conditions["triple-source"]));
  return new Set(sources.flatMap(namesOf)).size;
}

/** The names that a module exports. */
function namesOf(file) {
  return ts.createSourceFile(file, read(file), ts.ScriptTarget.Latest).statements.flatMap((statement) => {
    if (ts.isExportDeclaration(statement)) {
      const { exportClause, moduleSpecifier } = statement;
      if (exportClause === undefined) return namesOf(join(dirname(file), moduleSpecifier.text));
      return ts.isNamedExports(exportClause)
        ? exportClause.elements.map(({ name }) => name.text)
        : exportClause.name.text;
    }
    if (!statement.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)) return [];
    if (!ts.isVariableStatement(statement)) return statement.name.text;
    return statement.declarationList.declarations.map(({ name }) => name.text);
  });
}

/** The rows of the tables with defaults: those of other tables are members of objects that programs receive. */
function countOptions() {
  return read("docs/options.md")
    .split("\n\n")
    .filter((block) => block.startsWith("| option |"))
    .flatMap((table) => table.trim().split("\n").slice(2)).length;
}

function countLines(folder) {
  return sourcesOf(folder).reduce((sum, file) => sum + read(file).split("\n").length - 1, 0);
}

/** The handwritten modules of a package. */
function sourcesOf(folder) {
  return tracked.filter((file) => file.startsWith(folder) && file.endsWith(".ts") && !file.includes("/gen/"));
}
