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
  type(name: string): string;
  value(name: string): string;
}

const relative = /^\.{1,2}\//;

/** Collects the imports of one file. A name that is taken in the file is imported under an alias. */
export class Imports {
  private readonly importer: string;
  private readonly scope: Scope;
  private readonly options: PathOptions;
  private readonly modules = new Map<string, NamedImports>();

  /** `importer` is the path of the importing file under the output folder. */
  constructor(importer: string, scope: Scope, options: PathOptions) {
    this.importer = importer;
    this.scope = scope;
    this.options = options;
  }

  /** `from` is a package, or a path under the output folder that begins with `./`. */
  module(from: string): ImportedModule {
    const path = importPath(from, this.importer, this.options);
    const names = this.modules.get(path) ?? { types: new Map(), values: new Map() };
    this.modules.set(path, names);
    return {
      type: (name) => this.claim(names.types, name),
      value: (name) => this.claim(names.values, name),
    };
  }

  /** For each module a statement for types and one for values: packages first, then files. */
  statements(): string[] {
    const sortKey = (path: string): string => (relative.test(path) ? `1${path}` : `0${path}`);
    return [...this.modules]
      .sort(([a], [b]) => (sortKey(a) < sortKey(b) ? -1 : 1))
      .flatMap(([path, { types, values }]) => [
        ...statement("import type", types, path),
        ...statement("import", values, path),
      ]);
  }

  private claim(names: Map<string, string>, name: string): string {
    const local = names.get(name) ?? this.scope.claim(name);
    names.set(name, local);
    return local;
  }
}

/** Exported name to local name. */
interface NamedImports {
  readonly types: Map<string, string>;
  readonly values: Map<string, string>;
}

function statement(keyword: string, names: ReadonlyMap<string, string>, path: string): string[] {
  const parts = [...names].map(([name, local]) => (local === name ? name : `${name} as ${local}`)).sort();
  return parts.length > 0 ? [`${keyword} { ${parts.join(", ")} } from ${literal(path)};`] : [];
}

/** The path to print: rewritten as the user asked, with the extension the user asked for, relative to the importer. */
function importPath(from: string, importer: string, { rewriteImports, importExtension }: PathOptions): string {
  const rewritten = rewrite(from, rewriteImports);
  if (!relative.test(rewritten)) {
    return rewritten;
  }
  const extension = importExtension === "none" ? "" : `.${importExtension}`;
  const target = rewritten.replace(/^\.\//, "").replace(/\.js$/, extension).split("/");
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
