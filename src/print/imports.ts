/**
 * The import statements of a generated file. Printed here and not by the plugin kit, which sorts names by the rules of
 * the machine's locale. Paths obey the kit's options in the kit's way, so that our files and those of protoc-gen-es agree.
 */
import type { EcmaScriptPluginOptions } from "@bufbuild/protoplugin";
import { literal } from "./literal.ts";
import type { Scope } from "./names.ts";

export type PathOptions = Pick<EcmaScriptPluginOptions, "importExtension" | "rewriteImports">;

/** One module in the eyes of an importing file: asking for a name imports it, and the answer is its local name. */
export interface ImportedModule {
  /** A name for use in types, `typeof` included. Called `local` in the file, if that is free. */
  type(name: string, local?: string): string;
  value(name: string): string;
  /** Settles the local name without importing it, so that it does not depend on what is printed first. */
  reserve(name: string): void;
}

interface ImportedName {
  readonly local: string;
  use: "none" | "type" | "value";
}

const relative = /^\.{1,2}\//;

/** Collects the imports of one file. A name that is taken in the file is imported under an alias. */
export class Imports {
  private readonly importer: string;
  private readonly scope: Scope;
  private readonly options: PathOptions;
  private readonly modules = new Map<string, Map<string, ImportedName>>();

  /** `importer` is the path of the importing file under the output folder. */
  constructor(importer: string, scope: Scope, options: PathOptions) {
    this.importer = importer;
    this.scope = scope;
    this.options = options;
  }

  /** `from` is a package, or a path under the output folder that begins with `./`. */
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

  /** For each module a statement for types, but not in JavaScript, and one for values: packages first, then files. */
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

/** CommonJS has no types to import. */
function requirement(names: Names, path: string): string[] {
  const parts = specifiers(names, "value", ": ");
  return parts.length > 0 ? [wrapped(parts, (list) => `const ${list} = require(${literal(path)});`)] : [];
}

const MAX_COLUMNS = 120;

/** A statement with a list of names in braces: on one line, or with as few lines of names as hold the list. */
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

/** The path to print: rewritten as the user asked, with the extension the user asked for, relative to the importer. */
function importPath(from: string, importer: string, { rewriteImports, importExtension }: PathOptions): string {
  const rewritten = rewrite(from, rewriteImports);
  if (!relative.test(rewritten)) {
    return rewritten;
  }
  const extension = importExtension === "none" ? "" : `.${importExtension}`;
  return relativePath(importer, rewritten.replace(/^\.\//, "").replace(/\.js$/, extension));
}

/** The path from a file to another, both given under the same folder. */
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

/** The first pattern that matches decides: a file keeps its path below the new root, a package is replaced whole. */
function rewrite(from: string, rewrites: PathOptions["rewriteImports"]): string {
  const rule = rewrites.find(({ pattern }) => globPattern(pattern).test(from));
  if (!rule) {
    return from;
  }
  return relative.test(from) ? rule.target.replace(/\/$/, "") + from.replace(relative, "/") : rule.target;
}

/** `*` stands for anything but a slash, and double `*` with a slash for any number of folders. */
function globPattern(glob: string): RegExp {
  const source = glob
    .replace(/[.+?^${}()|[\]\\]/g, "\\$&")
    .replace(/\*\*\/|\*/g, (star) => (star === "*" ? "[^\\/]*" : "([^\\/]+\\/)*"));
  return new RegExp(`^${source}$`);
}
