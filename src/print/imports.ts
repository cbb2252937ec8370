/**
 * The import statements of a generated file. They are not printed by the plugin kit, because it sorts names by the
 * locale of the machine. Paths follow the kit's options in the same way as in files of protoc-gen-es.
 */
import type { EcmaScriptPluginOptions } from "@bufbuild/protoplugin";
import { literal } from "./literal.ts";
import type { Scope } from "./names.ts";

export type PathOptions = Pick<EcmaScriptPluginOptions, "importExtension" | "rewriteImports">;

/** A module as seen from an importing file. Its methods import a name and return its local name. */
export interface ImportedModule {
  /** Imports a name for use in types and `typeof`. Its local name is `local`, or an alias if `local` is taken. */
  type(name: string, local?: string): string;
  value(name: string): string;
  /** Settles the local name without importing it, so that local names do not depend on the order of printing. */
  reserve(name: string): void;
}

interface ImportedName {
  readonly local: string;
  use: "none" | "type" | "value";
}

const relative = /^\.{1,2}\//;

/** Collects the imports of one file. A name that is already taken in the file is imported under an alias. */
export class Imports {
  private readonly importer: string;
  private readonly scope: Scope;
  private readonly options: PathOptions;
  private readonly modules = new Map<string, Map<string, ImportedName>>();

  /** `importer` is the path of the importing file below the output folder. */
  constructor(importer: string, scope: Scope, options: PathOptions) {
    this.importer = importer;
    this.scope = scope;
    this.options = options;
  }

  /** Returns a module. `from` is a package, or a path below the output folder that begins with `./`. */
  module(from: string): ImportedModule {
    const path = importPath(from, this.importer, this.options);
    const names = this.modules.get(path) ?? new Map<string, ImportedName>();
    this.modules.set(path, names);
    const named = (name: string, local = name): ImportedName => {
      let imported = names.get(name);
      if (imported === undefined) {
        imported = { local: this.scope.claim(local), use: "none" };
        names.set(name, imported);
      }
      return imported;
    };
    return {
      type: (name, local) => {
        const imported = named(name, local);
        if (imported.use === "none") imported.use = "type";
        return imported.local;
      },
      value: (name) => {
        const imported = named(name);
        imported.use = "value";
        return imported.local;
      },
      reserve: (name) => named(name),
    };
  }

  /**
   * Prints the statements for each module: one for types, in TypeScript only, and one for values. Packages come before
   * files.
   */
  statements(language: "TypeScript" | "JavaScript" | "CommonJS"): string[] {
    const sortKey = (path: string): string => (relative.test(path) ? `1${path}` : `0${path}`);
    return [...this.modules]
      .sort(([a], [b]) => (sortKey(a) < sortKey(b) ? -1 : 1))
      .flatMap(([path, names]) =>
        language === "CommonJS"
          ? requirement(names, path)
          : [
              ...(language === "TypeScript" ? statement("import type", names, "type", path) : []),
              ...statement("import", names, "value", path),
            ],
      );
  }
}

type Names = ReadonlyMap<string, ImportedName>;

function statement(keyword: string, names: Names, use: ImportedName["use"], path: string): string[] {
  const parts = specifiers(names, use, " as ");
  return parts.length > 0 ? [wrapped(parts, (list) => `${keyword} ${list} from ${literal(path)};`)] : [];
}

/** Prints a `require` call for the values of a module. CommonJS has no types to import. */
function requirement(names: Names, path: string): string[] {
  const parts = specifiers(names, "value", ": ");
  return parts.length > 0 ? [wrapped(parts, (list) => `const ${list} = require(${literal(path)});`)] : [];
}

const MAX_COLUMNS = 120;

/**
 * Prints a statement with a list of names in braces: on one line if it fits, else with the names wrapped onto as few
 * lines as possible.
 */
function wrapped(parts: readonly string[], print: (list: string) => string): string {
  const line = print(`{ ${parts.join(", ")} }`);
  if (line.length <= MAX_COLUMNS) return line;
  const lines: string[] = [];
  for (const part of parts) {
    const extended = `${lines.at(-1) ?? " "} ${part},`;
    if (lines.length > 0 && extended.length <= MAX_COLUMNS) lines[lines.length - 1] = extended;
    else lines.push(`  ${part},`);
  }
  return print(`{\n${lines.join("\n")}\n}`);
}

function specifiers(names: Names, use: ImportedName["use"], as: string): string[] {
  return [...names]
    .filter(([, imported]) => imported.use === use)
    .map(([name, { local }]) => (local === name ? name : `${name}${as}${local}`))
    .sort();
}

/** Returns the path to print: rewritten by `rewriteImports`, with `importExtension`, and relative to the importer. */
function importPath(from: string, importer: string, { rewriteImports, importExtension }: PathOptions): string {
  const rewritten = rewrite(from, rewriteImports);
  if (!relative.test(rewritten)) {
    return rewritten;
  }
  const extension = importExtension === "none" ? "" : `.${importExtension}`;
  return relativePath(importer, rewritten.replace(/^\.\//, "").replace(/\.js$/, extension));
}

/** Returns the relative path from one file to another. Both paths are relative to the same folder. */
export function relativePath(importer: string, to: string): string {
  const target = to.split("/");
  const folder = importer.split("/").slice(0, -1);
  let common = 0;
  while (common < folder.length && folder[common] === target[common]) {
    common++;
  }
  const path = [...folder.slice(common).map(() => ".."), ...target.slice(common)].join("/");
  return relative.test(path) ? path : `./${path}`;
}

/**
 * Rewrites an import path by the first pattern that matches. A file keeps its path below the new root; a package is
 * replaced completely.
 */
function rewrite(from: string, rewrites: PathOptions["rewriteImports"]): string {
  const rule = rewrites.find(({ pattern }) => globPattern(pattern).test(from));
  if (!rule) {
    return from;
  }
  return relative.test(from) ? rule.target.replace(/\/$/, "") + from.replace(relative, "/") : rule.target;
}

/**
 * Converts a glob to a regular expression. `*` matches any characters except a slash; double `*` with a slash matches
 * any number of folders.
 */
function globPattern(glob: string): RegExp {
  const source = glob
    .replace(/[.+?^${}()|[\]\\]/g, "\\$&")
    .replace(/\*\*\/|\*/g, (star) => (star === "*" ? "[^\\/]*" : "([^\\/]+\\/)*"));
  return new RegExp(`^${source}$`);
}
