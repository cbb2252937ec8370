/**
 * The public types: every type in the signature of an export is exported too, by the same entry point or by `triple-es`.
 */
import { join, relative } from "node:path";
import { type Identifier, Node, Project, type SourceFile, type Symbol as TypeSymbol } from "ts-morph";
import { describe, expect, it } from "vitest";
import { ROOT, readDocument } from "./support/documents.ts";

const SOURCES = join(ROOT, "runtime/src/");
/** Packages by the folder of their workspace. */
const PACKAGES = { runtime: "triple-es", dubbo: "triple-es-dubbo", nest: "triple-es-nest" };

/** The sources alone, without the declarations of packages and of the platform, which no export of ours declares. */
const project = new Project({
  tsConfigFilePath: join(ROOT, "tsconfig.json"),
  compilerOptions: { noLib: true, noResolve: true, types: [] },
  skipAddingFilesFromTsConfig: true,
});
project.addSourceFilesAtPaths(Object.keys(PACKAGES).map((folder) => join(ROOT, folder, "src/**/*.ts")));
const entryPoints = readEntryPoints();
/** The entry points whose types the exports of all others may mention, by package. */
const GENERAL: readonly (readonly [folder: string, entryPoints: readonly string[]])[] = [
  ["dubbo", ["triple-es", "triple-es/discovery", "triple-es/node", "triple-es-dubbo/java", "triple-es-dubbo/rules"]],
  ["nest", ["triple-es", "triple-es/node"]],
  ["runtime", ["triple-es"]],
];

/** The source of each public entry point, by the name by which users import it. */
function readEntryPoints(): ReadonlyMap<string, SourceFile> {
  return new Map(
    Object.entries(PACKAGES).flatMap(([workspace, packageName]) => {
      const { exports } = JSON.parse(readDocument(`${workspace}/package.json`));
      return Object.entries<string | { readonly "triple-source": string }>(exports).flatMap(([name, entry]) =>
        typeof entry === "string" || name.startsWith("./internal")
          ? []
          : [[packageName + name.slice(1), sourceAt(workspace, entry["triple-source"])] as const],
      );
    }),
  );
}

function sourceAt(workspace: string, path: string): SourceFile {
  return project.addSourceFileAtPath(join(ROOT, workspace, path));
}

function entryPoint(name: string): SourceFile {
  return entryPoints.get(name) as SourceFile;
}

function resolve(symbol: TypeSymbol): TypeSymbol {
  return symbol.getAliasedSymbol() ?? symbol;
}

function exportedSymbols(file: SourceFile): ReadonlySet<TypeSymbol> {
  return new Set(file.getExportSymbols().map(resolve));
}

/** The names of types in the signature of a declaration. Bodies, initial values and private members are no part of it. */
function namesIn(declaration: Node): Identifier[] {
  const names: Identifier[] = [];
  const visit = (node: Node): void => {
    if (isInternal(node)) return;
    if (Node.isTypeReference(node) || Node.isExpressionWithTypeArguments(node) || Node.isTypeQuery(node)) {
      const name = node.getFirstChild();
      const first = Node.isTypeQuery(node) ? node.getExprName() : name;
      if (first !== undefined) names.push(...(Node.isIdentifier(first) ? [first] : lastName(first)));
    }
    node.forEachChild(visit);
  };
  visit(declaration);
  return names;
}

function lastName(node: Node): Identifier[] {
  return Node.isQualifiedName(node) ? [node.getRight()] : [];
}

function isInternal(node: Node): boolean {
  if (Node.isBlock(node)) return true;
  if (Node.isClassStaticBlockDeclaration(node)) return true;
  if (Node.isPropertyDeclaration(node) || Node.isMethodDeclaration(node)) {
    if (node.getName().startsWith("#") || node.hasModifier("private")) return true;
  }
  const parent = node.getParent();
  if (Node.isArrowFunction(parent)) return parent.getBody() === node;
  const isFunction = Node.isArrowFunction(node) || Node.isFunctionExpression(node);
  return !isFunction && Node.isInitializerExpressionGetable(parent) && parent.getInitializer() === node;
}

/** The types that the exports of an entry point mention and neither it nor `triple-es` exports. */
function missingFrom(file: SourceFile): string[] {
  const exported = exportedSymbols(file);
  const [, names = []] = GENERAL.find(([folder]) => relative(ROOT, file.getFilePath()).startsWith(folder)) ?? [];
  const general = new Set(names.flatMap((name) => [...exportedSymbols(entryPoint(name))]));
  const missing = new Set<string>();
  for (const symbol of exported) {
    for (const declaration of symbol.getDeclarations()) {
      for (const name of namesIn(declaration)) {
        const type = name.getSymbol();
        if (type === undefined) continue;
        const target = resolve(type);
        const [first] = target.getDeclarations();
        if (first === undefined || Node.isTypeParameterDeclaration(first)) continue;
        const path = first.getSourceFile().getFilePath();
        const from = relative(ROOT, path);
        if (!/^(?:runtime|dubbo|nest)\/src\//.test(from) || exported.has(target) || general.has(target)) continue;
        missing.add(`${target.getName()} of ${from}, for ${symbol.getName()}`);
      }
    }
  }
  return [...missing].sort();
}

describe("the types in signatures of exports", () => {
  it.each([...entryPoints.keys()])("are exported by %s or by a general entry point", (name) => {
    expect(missingFrom(entryPoint(name))).toEqual([]);
  });

  it.each([
    ["a parameter", "export function f(a: Hidden): void { a; }"],
    ["a result", "export const f = (): readonly Hidden[] => [];"],
    ["a member", "export interface A { readonly b?: { readonly c: Hidden } }"],
    ["a member of a class", "export class A { b: Hidden | undefined; #c: Private | undefined; d = this.#c; }"],
    ["a base", "export interface A extends Pick<Hidden, 'x'> {}"],
    ["a constraint", "export type A<B extends Hidden> = B[];"],
    ["the type of a value", "export type A = typeof hidden; export const b: Hidden = hidden;"],
  ])("are found to be missing in %s", (_place, text) => {
    const declarations = "interface Hidden { x: number }; interface Private {}; declare const hidden: Hidden;";
    const file = project.createSourceFile(`${SOURCES}planted.ts`, `${declarations}${text}`, { overwrite: true });
    const missing = missingFrom(file);
    project.removeSourceFile(file);
    expect(missing).toContainEqual(expect.stringMatching(/^Hidden of runtime\/src\/planted\.ts, for /));
    expect(missing).not.toContainEqual(expect.stringContaining("Private"));
  });
});
