/**
 * Programs of the tests, compiled: a process starts one in a fifth of the time in which the loader of TypeScript loads the
 * modules of the runtime.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { buildSync } from "esbuild";
import { ROOT } from "./documents.ts";

const { dependencies, devDependencies } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
const programs = new Map<string, string>();
let folder: string | undefined;

/** The compiled form of a program, given by its path from the root of the repository. Its modules see the URL of this file. */
export function compiled(file: string): string {
  return compile(file, { entryPoints: [file] });
}

/** The compiled form of a program, given by its text, which imports as a file in the root of the repository does. */
export function compiledText(contents: string): string {
  return compile("stdin", { stdin: { contents, resolveDir: ROOT, loader: "ts" } }, contents);
}

function compile(file: string, source: object, key = file): string {
  const known = programs.get(key);
  if (known !== undefined) return known;
  const outdir = join(parentFolder(), String(programs.size));
  buildSync({
    ...source,
    absWorkingDir: ROOT,
    outdir,
    entryNames: "[name]",
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20.19",
    conditions: ["triple-source"],
    // The packages of this repository are compiled with the program, and the kit of the plugin, without the compiler that it loads.
    external: Object.keys({ ...dependencies, ...devDependencies }).filter(
      (name) => !name.startsWith("triple-es") && name !== "@bufbuild/protoplugin",
    ),
    alias: { typescript: "./src/no-compiler.cjs", "@typescript/vfs": "./src/no-compiler.cjs" },
    outExtension: { ".js": ".mjs" },
    define: { "import.meta.url": JSON.stringify(pathToFileURL(join(ROOT, file)).href) },
    logLevel: "error",
  });
  const name = file.slice(file.lastIndexOf("/") + 1).replace(/\.ts$/, "");
  const path = join(outdir, `${name}.mjs`);
  programs.set(key, path);
  return path;
}

/** A folder of this process in which the packages can be resolved. */
function parentFolder(): string {
  if (folder === undefined) {
    const parent = join(ROOT, ".ci/cache/programs");
    mkdirSync(parent, { recursive: true });
    const created = mkdtempSync(join(parent, "p-"));
    process.on("exit", () => rmSync(created, { recursive: true, force: true }));
    folder = created;
  }
  return folder;
}
