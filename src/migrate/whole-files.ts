/** Files that are left whole, because they use the old packages in a form that has no counterpart. */
import { ts } from "ts-morph";
import { generatorOf } from "./generator.ts";
import { isWithin, type Kind, type Whole } from "./migration.ts";
import { Origins } from "./origin.ts";
import { contains } from "./tree.ts";

interface Reason extends Whole {
  readonly node: ts.Node;
}

/** Returns the files to leave whole, with reasons. */
export function wholeFiles(
  files: readonly ts.SourceFile[],
  kind: Kind,
  checker: ts.TypeChecker,
): Map<ts.SourceFile, Reason> {
  const origins = new Origins(checker, kind.packages);
  const found = new Map<ts.SourceFile, Reason>();
  for (const file of files) {
    contains(file, (node) => {
      const reason = reasonOf(node, kind, checker, origins);
      if (reason !== undefined) found.set(file, reason);
      return reason !== undefined;
    });
  }
  spread(
    found,
    files.filter((file) => usesOld(file, kind, checker)),
    checker,
  );
  return found;
}

/** Leaves the files that import one which is left, and those that it imports. */
function spread(found: Map<ts.SourceFile, Reason>, files: readonly ts.SourceFile[], checker: ts.TypeChecker): void {
  const imports = files.flatMap((from) =>
    from.statements.filter(ts.isImportDeclaration).flatMap((node) => {
      const to = fileOf(node.moduleSpecifier, checker);
      return to && files.includes(to) ? [{ from, to, node }] : [];
    }),
  );
  for (let size = -1; size !== found.size; ) {
    size = found.size;
    for (const { from, to, node } of imports) {
      const name = node.moduleSpecifier.getText().slice(1, -1);
      if (found.get(to)?.isShared && !found.has(from))
        found.set(from, { node, message: `${name} is left, and so is this file, which imports it`, isShared: true });
      if (found.get(from)?.isShared && !found.has(to)) {
        const by = from.fileName.slice(from.fileName.lastIndexOf("/") + 1);
        const [first = to] = to.statements;
        found.set(to, { node: first, message: `${by} is left, and so is this file, which it imports`, isShared: true });
      }
    }
  }
}

function reasonOf(node: ts.Node, kind: Kind, checker: ts.TypeChecker, origins: Origins): Reason | undefined {
  if (ts.isHeritageClause(node) && node.token === ts.SyntaxKind.ExtendsKeyword) {
    const base = origins.of(node.types[0]?.expression ?? node)?.name ?? "";
    const reason = kind.unsupported[`extends ${base}`];
    return reason === undefined ? undefined : { node, message: `${base} ${reason}`, isShared: true };
  }
  const other = kind.whyWhole?.(node, checker, origins);
  if (other !== undefined) return { node, ...other };
  const isRequire = ts.isCallExpression(node) && node.expression.getText() === "require";
  const required = ts.isExternalModuleReference(node) ? node.expression : isRequire ? node.arguments[0] : undefined;
  const specifier = ts.isImportDeclaration(node) ? node.moduleSpecifier : required;
  if (!specifier) return undefined;
  const name = specifier.getText().slice(1, -1);
  if (!isOld(specifier, kind)) return undefined;
  if (required) return { node, message: `${name} is loaded by require: use import`, isShared: false };
  const used = [name, ...namesIn(node)].find((one) => kind.unsupported[one]);
  return used === undefined ? undefined : { node, message: `${used} ${kind.unsupported[used]}`, isShared: true };
}

/** The names that an import takes from its module. */
function namesIn(node: ts.Node): string[] {
  const named = ts.isImportDeclaration(node) ? node.importClause?.namedBindings : undefined;
  return named && ts.isNamedImports(named) ? named.elements.map((one) => (one.propertyName ?? one.name).text) : [];
}

/** Reports whether a file imports an old package, or code generated for one. */
function usesOld(file: ts.SourceFile, kind: Kind, checker: ts.TypeChecker): boolean {
  return file.statements.filter(ts.isImportDeclaration).some(({ moduleSpecifier }) => {
    const to = fileOf(moduleSpecifier, checker);
    return isOld(moduleSpecifier, kind) || (to !== undefined && generatorOf(to) !== undefined);
  });
}

function isOld(specifier: ts.Node, { packages }: Kind): boolean {
  return ts.isStringLiteral(specifier) && packages.some((one) => isWithin(specifier.text, one));
}

function fileOf(specifier: ts.Node, checker: ts.TypeChecker): ts.SourceFile | undefined {
  return checker.getSymbolAtLocation(specifier)?.declarations?.find(ts.isSourceFile);
}
