/** Resolves the names in a contract to their declarations. */
import { Node, SyntaxKind, type Symbol as TypeSymbol } from "ts-morph";
import type { Home } from "../model/java-type.ts";
import { JAVA_MODULE } from "../model/known-types.ts";

const IMPORT = SyntaxKind.ImportDeclaration;

export type Resolved =
  | { readonly kind: "brand"; readonly name: string }
  /** `specifier` and `name` are those of the import, if the declaration is imported from a package. */
  | { readonly kind: "declared"; readonly declaration: Node; readonly specifier?: string; readonly name?: string }
  /** A name that no file of the program declares: a global type, or an error. */
  | { readonly kind: "global"; readonly name: string }
  /** `isFound`: there is the module, but it does not export the name. */
  | { readonly kind: "missing"; readonly module: string; readonly isFound: boolean }
  /** A name that files re-export from each other although none of them declares it. */
  | { readonly kind: "circular"; readonly module: string };

export function resolve(name: Node): Resolved {
  let foreign: { specifier: string; name: string } | undefined;
  const module = Node.isQualifiedName(name) ? moduleOf(name.getLeft()) : undefined;
  if (Node.isQualifiedName(name) && module !== undefined) {
    const member = name.getRight().getText();
    if (module === JAVA_MODULE) return { kind: "brand", name: member };
    if (!module.startsWith(".")) foreign = { specifier: module, name: member };
  }
  let symbol: TypeSymbol | undefined = name.getSymbol();
  const seen = new Set<unknown>();
  while (symbol?.isAlias()) {
    const imported = importOf(symbol);
    if (seen.has(symbol.compilerSymbol)) return { kind: "circular", module: imported?.module ?? name.getText() };
    seen.add(symbol.compilerSymbol);
    if (imported?.module === JAVA_MODULE) return { kind: "brand", name: imported.name };
    if (imported !== undefined && !imported.module.startsWith(".")) {
      foreign ??= { specifier: imported.module, name: imported.name };
    }
    const next: TypeSymbol | undefined = symbol.getImmediatelyAliasedSymbol();
    if (next === undefined || next.getDeclarations().length === 0) {
      return { kind: "missing", module: imported?.module ?? name.getText(), isFound: imported?.isFound === true };
    }
    symbol = next;
  }
  const declaration = symbol?.getDeclarations().find(isTypeDeclaration);
  return declaration === undefined
    ? { kind: "global", name: name.getText().replace(/^globalThis\./, "") }
    : { kind: "declared", declaration, ...foreign };
}

/** Reports whether TypeScript merges the declaration with others into one type. */
export function isMerged(declaration: Node): boolean {
  const all = declaration.getSymbol()?.getDeclarations() ?? [];
  return all.filter((one) => Node.isInterfaceDeclaration(one) || Node.isClassDeclaration(one)).length > 1;
}

export function homeOf(declaration: Node, foreign: { specifier?: string; name?: string }): Home {
  const file = declaration.getSourceFile().getFilePath();
  const { specifier, name } = foreign;
  const declaredName = nameOf(declaration) ?? "Default";
  if (specifier !== undefined) return { file, declaredName, specifier, name };
  const isForeign = declaration.getSourceFile().isInNodeModules();
  return { file, declaredName, name: isForeign || isInNamespace(declaration) ? undefined : exportedName(declaration) };
}

/** Returns the module of a name such as that of `import * as java from "triple-es-dubbo/java"`. */
function moduleOf(name: Node): string | undefined {
  const [declaration] = name.getSymbol()?.getDeclarations() ?? [];
  const statement = Node.isNamespaceImport(declaration) ? declaration.getFirstAncestorByKind(IMPORT) : undefined;
  return statement?.getModuleSpecifierValue();
}

export function isTypeDeclaration(node: Node): boolean {
  return (
    Node.isInterfaceDeclaration(node) ||
    Node.isClassDeclaration(node) ||
    Node.isTypeAliasDeclaration(node) ||
    Node.isEnumDeclaration(node) ||
    Node.isTypeParameterDeclaration(node)
  );
}

/** Returns the module from which a name is imported, whether there is a file of it, and the name there. */
function importOf(symbol: TypeSymbol): { module: string; name: string; isFound: boolean } | undefined {
  const [declaration] = symbol.getDeclarations();
  if (
    !Node.isImportSpecifier(declaration) &&
    !Node.isImportClause(declaration) &&
    !Node.isExportSpecifier(declaration)
  ) {
    return undefined;
  }
  const statement = Node.isExportSpecifier(declaration)
    ? declaration.getExportDeclaration()
    : declaration.getFirstAncestorByKindOrThrow(IMPORT);
  const module = statement.getModuleSpecifierValue();
  const name = Node.isImportClause(declaration) ? "default" : declaration.getName();
  const isFound = statement.getModuleSpecifierSourceFile() !== undefined;
  return module === undefined ? undefined : { module, name, isFound };
}

/** Reports whether a file cannot export the declaration because it is in a namespace. */
function isInNamespace(declaration: Node): boolean {
  return declaration.getFirstAncestorByKind(SyntaxKind.ModuleDeclaration) !== undefined;
}

function nameOf(declaration: Node): string | undefined {
  return Node.isNameable(declaration) || Node.isNamed(declaration) ? declaration.getName() : undefined;
}

/** Returns the name under which its file exports a declaration; `default` for the default export. */
function exportedName(declaration: Node): string | undefined {
  const name = nameOf(declaration);
  if (Node.isExportable(declaration) && declaration.hasExportKeyword()) {
    return declaration.hasDefaultKeyword() ? "default" : name;
  }
  const listed = declaration
    .getSourceFile()
    .getExportDeclarations()
    .filter((statement) => !statement.hasModuleSpecifier())
    .flatMap((statement) => statement.getNamedExports())
    .find((specifier) => specifier.getName() === name);
  return listed === undefined ? undefined : (listed.getAliasNode()?.getText() ?? name);
}
