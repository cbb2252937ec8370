/** Services that @grpc/proto-loader loads at run time, with types of proto-loader-gen-types, as generated code. */
import { ts } from "ts-morph";
import { generatedBy, useGenerated } from "./generated.ts";
import { loadedField, readField } from "./loader-fields.ts";
import { isOtherPattern } from "./loader-messages.ts";
import { isLoaded, loadedClient, loadedMethod, loadedPath, siblingOf } from "./loader-names.ts";
import type { Migration, Rule, Whole } from "./migration.ts";
import type { Origins } from "./origin.ts";
import { contains } from "./tree.ts";

/** Names that handlers of loaded services get, by the declarations of the old ones. */
export const handlerNames = new WeakMap<ts.Node, string>();

type View = Pick<Migration, "checker" | "declared"> & { readonly nameOf: (node: ts.Node) => string | undefined };

function outer(node: ts.Node): ts.Node {
  let one = node;
  while (
    (ts.isAsExpression(one.parent) || ts.isParenthesizedExpression(one.parent) || ts.isAwaitExpression(one.parent)) &&
    one.parent.expression === one
  )
    one = one.parent;
  return one;
}

/** Reports whether an expression is what proto files are loaded as: definitions, packages, or services. */
function isOfLoader(node: ts.Node, { checker }: Pick<View, "checker">): boolean {
  const type = checker.getTypeAtLocation(node);
  const [declaration] = (checker.getAwaitedType(type) ?? type).symbol?.declarations ?? [];
  if (declaration === undefined) return loadedClient(node, checker) !== undefined;
  if (isPackage(declaration)) return true;
  const { name } = declaration as { name?: ts.Node };
  const isOld = /\/node_modules\/@grpc\/(?:grpc-js|proto-loader)\//.test(declaration.getSourceFile().fileName);
  return isOld && ["GrpcObject", "PackageDefinition"].includes(name?.getText() ?? "");
}

const PACKAGES = "ProtoGrpcType";

/** Reports whether a node declares all packages, or one of them. */
function isPackage(node: ts.Node): boolean {
  if (ts.isInterfaceDeclaration(node)) return isLoaded(node) && node.name.text === PACKAGES;
  return ts.isTypeLiteralNode(node) && ts.isPropertySignature(node.parent) && isPackage(node.parent.parent);
}

/** Reports whether a variable only keeps what is loaded. */
function isLoading(node: ts.VariableDeclaration, view: Pick<View, "checker">): boolean {
  if (!node.initializer || !ts.isVariableDeclarationList(node.parent) || node.parent.declarations.length > 1)
    return false;
  if (!ts.isVariableStatement(node.parent.parent)) return false;
  const of = node.initializer;
  if (!isOfLoader(of, view)) return loadedClient(of, view.checker) !== undefined;
  const names = ts.isObjectBindingPattern(node.name) ? node.name.elements.map(({ name }) => name) : [node.name];
  return names.every((name) => isOfLoader(name, view) || loadedClient(name, view.checker) !== undefined);
}

/** The variable that keeps what is loaded, or an argument of what loads it, and is used for nothing else. */
function isDropped(node: ts.VariableDeclaration, migration: Migration): boolean {
  if (isLoading(node, migration)) return true;
  const { parent: list } = node;
  if (!ts.isIdentifier(node.name) || !node.initializer || !ts.isVariableDeclarationList(list)) return false;
  const isConst = list.flags & ts.NodeFlags.Const && list.declarations.length === 1;
  if (!isConst || !ts.isVariableStatement(list.parent) || list.parent.modifiers || !isPure(node.initializer))
    return false;
  const uses: ts.Node[] = [];
  contains(migration.file, (one) => {
    if (ts.isIdentifier(one) && one !== node.name && migration.declared(one) === node) uses.push(one);
    return false;
  });
  return uses.length > 0 && uses.every((one) => isInDropped(one, node, migration));
}

function isInDropped(node: ts.Node, self: ts.Node, migration: Migration): boolean {
  let one = node;
  while (one && !ts.isStatement(one) && !ts.isFunctionLike(one) && !ts.isVariableDeclaration(one)) one = one.parent;
  return one !== undefined && one !== self && ts.isVariableDeclaration(one) && isDropped(one, migration);
}

/** Reports whether an expression does nothing but name a file, or options. */
function isPure(node: ts.Node): boolean {
  const isPath = ts.isCallExpression(node) && /^(?:path\.)?(?:join|resolve)$/.test(node.expression.getText());
  if (ts.isNewExpression(node) || ts.isAwaitExpression(node) || (ts.isCallExpression(node) && !isPath)) return false;
  return node.forEachChild((child) => (isPure(child) ? undefined : true)) !== true;
}

const loading: Rule = (node, migration) => {
  if (!ts.isVariableStatement(node)) return undefined;
  const [one, next] = node.declarationList.declarations;
  return one && !next && isDropped(one, migration) ? "" : undefined;
};

/** The names of methods of loaded services: `GetOrder` and `getOrder`. */
const method: Rule = (node, migration) => {
  if (ts.isShorthandPropertyAssignment(node)) {
    const own = handlerNames.get(node);
    return own && own !== node.name.text ? `${own}: ${migration.print(node.name)}` : undefined;
  }
  if (ts.isLiteralTypeNode(node) && ts.isIndexedAccessTypeNode(node.parent)) {
    const of = migration.checker.getTypeFromTypeNode(node.parent.objectType).symbol?.declarations?.[0];
    const isHandlers = isLoaded(of) && of && generatedBy(of)?.name.endsWith("Handlers");
    return isHandlers ? JSON.stringify(loadedMethod(node.literal.getText().slice(1, -1))) : undefined;
  }
  if (!ts.isIdentifier(node)) return undefined;
  const { parent } = node;
  const isName =
    (ts.isPropertyAccessExpression(parent) && parent.name === node) ||
    ((ts.isPropertyAssignment(parent) || ts.isMethodDeclaration(parent) || ts.isPropertyDeclaration(parent)) &&
      parent.name === node);
  if (!isName) return undefined;
  const own = handlerNames.get(parent);
  if (own !== undefined) return own;
  const declaration = migration.declared(node);
  if (!declaration) return undefined;
  if (handlerNames.has(declaration)) return handlerNames.get(declaration);
  const isService =
    (ts.isMethodSignature(declaration) || ts.isPropertySignature(declaration)) &&
    isLoaded(declaration) &&
    ts.isInterfaceDeclaration(declaration.parent) &&
    declaration.parent.heritageClauses !== undefined;
  return isService ? loadedMethod(node.text) : undefined;
};

/** `JSON.stringify(order)`. */
const json: Rule = (node, migration) => {
  if (!ts.isCallExpression(node) || node.expression.getText() !== "JSON.stringify") return undefined;
  const [value] = node.arguments;
  const [message] =
    (value && migration.checker.getTypeAtLocation(value).getNonNullableType().symbol?.declarations) ?? [];
  if (isLoaded(message))
    migration.todo(node, "64-bit integers are a bigint, which JSON.stringify refuses: use toJsonString");
  return undefined;
};

/** Messages and enums, as types, and enums as values. */
const name: Rule = (node, migration) => {
  if (!ts.isIdentifier(node) || ts.isImportSpecifier(node.parent) || ts.isExportSpecifier(node.parent))
    return undefined;
  const declaration = migration.declared(node);
  if (!declaration || !isLoaded(declaration)) return undefined;
  const of = generatedBy(declaration);
  const isMessage = ts.isInterfaceDeclaration(declaration) && !declaration.heritageClauses;
  const isEnum =
    ts.isEnumDeclaration(declaration) ||
    ts.isTypeAliasDeclaration(declaration) ||
    ts.isVariableDeclaration(declaration);
  return of && (isMessage || isEnum) ? useGenerated(of.name, "pb", of, node, migration) : undefined;
};

export const loaderRules: readonly Rule[] = [loading, method, json, name];

/** Returns the reason why a file that loads proto files, or uses messages that are loaded, is left whole. */
export function whyLoaded(node: ts.Node, checker: ts.TypeChecker, origins: Origins): Whole | undefined {
  const view: View = {
    checker,
    declared: (one) => origins.declaration(one),
    nameOf: (one) => origins.of(one)?.name,
  };
  const message = ts.isImportDeclaration(node) ? whyImport(node, checker) : whyField(node, view);
  if (message !== undefined) return { message, isShared: true };
  if (!ts.isExpression(node) || !isUnknown(node, view)) return undefined;
  // A function that loads any proto file is used no more by the files that are migrated.
  const isShared = contains(node.getSourceFile(), (one) => {
    const from = origins.of(one);
    return (
      from?.from === "@grpc/grpc-js" && from.types.length === 0 && !["loadPackageDefinition", ""].includes(from.name)
    );
  });
  return { message: "@grpc/proto-loader loads proto files at run time: generate code from them", isShared };
}

/** An import of generated code whose proto file is not known. */
function whyImport({ moduleSpecifier }: ts.ImportDeclaration, checker: ts.TypeChecker): string | undefined {
  const file = checker.getSymbolAtLocation(moduleSpecifier)?.declarations?.find(ts.isSourceFile);
  if (!file || !isLoaded(file) || siblingOf(file, PACKAGES) || loadedPath(file) !== undefined) return undefined;
  const name = moduleSpecifier.getText().slice(1, -1);
  return `${name} is code for @grpc/proto-loader: generate other code from proto files`;
}

function whyField(node: ts.Node, view: View): string | undefined {
  if (ts.isSpreadAssignment(node)) {
    const [message] = view.checker.getTypeAtLocation(node.expression).symbol?.declarations ?? [];
    return isLoaded(message) ? "a message is spread into another one: name its fields" : undefined;
  }
  if (ts.isElementAccessExpression(node)) {
    const [message] = view.checker.getTypeAtLocation(node.expression).symbol?.declarations ?? [];
    const isMessage =
      isLoaded(message) && message !== undefined && ts.isInterfaceDeclaration(message) && !isPackage(message);
    return isMessage ? "a field of a message is read by a name in brackets" : undefined;
  }
  if (ts.isExpression(node) && isUntyped(node, view))
    return "an object without a type becomes a message: give it its type";
  const field = ts.isIdentifier(node) ? loadedField(node, view) : undefined;
  if (field && ts.isBindingElement(node.parent) && isOtherPattern(node.parent, field))
    return `the field ${field.name} has another form in protobuf-es, and is destructured here`;
  return field?.reason && `the field ${field.name} ${field.reason}`;
}

/** Reports whether a value without the type of a message becomes one, and has fields with other names or forms. */
function isUntyped(node: ts.Expression, { checker, declared }: View): boolean {
  const isRead = ts.isIdentifier(node) || ts.isPropertyAccessExpression(node) || ts.isCallExpression(node);
  if (!isRead || (ts.isPropertyAssignment(node.parent) && node.parent.name === node)) return false;
  const wanted = checker.getContextualType(node);
  const [message] = wanted?.getNonNullableType().symbol?.declarations ?? [];
  const type = checker.getTypeAtLocation(node).getNonNullableType();
  if (!message || !isLoaded(message) || type.symbol?.declarations?.some(isLoaded)) return false;
  return checker.getPropertiesOfType(type).some(({ name }) => {
    const field = wanted?.getNonNullableType().getProperty(name)?.declarations?.[0];
    const read = field && ts.isPropertySignature(field) ? readField(field, { checker, declared }) : undefined;
    return read !== undefined && (read.name !== name || read.form !== "plain" || read.oneof !== undefined);
  });
}

/** Reports whether an expression loads proto files, or is what they are loaded as, and is used in a way without a counterpart. */
function isUnknown(node: ts.Expression, view: View): boolean {
  if (ts.isCallExpression(node)) {
    const called = view.nameOf(node.expression) ?? "";
    return ["loadPackageDefinition", "loadSync", "load"].includes(called) && !isKept(node, view);
  }
  if (ts.isPropertyAccessExpression(node)) {
    const owner = view.declared(node.name);
    return owner !== undefined && ts.isPropertySignature(owner) && isPackage(owner.parent) && !isKept(node, view);
  }
  if (!ts.isIdentifier(node) || !isReference(node)) return false;
  const declaration = view.declared(node);
  const isVariable =
    declaration &&
    (ts.isVariableDeclaration(declaration) || ts.isBindingElement(declaration) || ts.isParameter(declaration));
  return isVariable === true && isOfLoader(node, view) && !isKept(node, view);
}

function isReference({ parent }: ts.Identifier): boolean {
  const isDeclared = ts.isVariableDeclaration(parent) && parent.initializer === undefined;
  return !(ts.isImportSpecifier(parent) || ts.isExportSpecifier(parent) || ts.isBindingElement(parent) || isDeclared);
}

/** Reports whether what is loaded is used in a way that has a counterpart. */
function isKept(node: ts.Expression, view: View): boolean {
  const whole = outer(node);
  const { parent } = whole;
  if (ts.isVariableDeclaration(parent)) return isLoading(parent, view);
  if (ts.isPropertyAccessExpression(parent) && parent.expression === whole)
    return isOfLoader(parent, view) || loadedClient(whole, view.checker) !== undefined;
  if (ts.isNewExpression(parent)) return parent.expression === whole;
  return ts.isCallExpression(parent) && view.nameOf(parent.expression) === "loadPackageDefinition";
}
