/** The types that are expected of literals: those of messages of ts-proto are not always written beside them. */
import { ts } from "ts-morph";
import { generatedBy, generatedOf } from "./generated.ts";
import type { Migration } from "./migration.ts";
import { contains } from "./tree.ts";

/**
 * The type of a literal in the argument of a function such as `Order.create`: by default its parameter has a type that is
 * inferred from the literal itself.
 */
export function argumentType(node: ts.Node, migration: Migration): ts.Type | undefined {
  const { parent } = node;
  const { checker } = migration;
  if (ts.isCallExpression(parent) && ts.isPropertyAccessExpression(parent.expression)) {
    const of = generatedOf(parent.expression.expression, migration);
    // The argument of `fromJSON` is JSON, whose fields stay.
    const isJson = parent.expression.name.text === "fromJSON";
    return !isJson && of?.by === "ts-proto" && ts.isInterfaceDeclaration(of.declaration)
      ? checker.getTypeAtLocation(of.declaration)
      : undefined;
  }
  if (ts.isPropertyAssignment(parent)) {
    const symbol = argumentType(parent.parent, migration)?.getProperty(parent.name.getText());
    return symbol && checker.getTypeOfSymbolAtLocation(symbol, node).getNonNullableType();
  }
  if (ts.isArrayLiteralExpression(parent)) return argumentType(parent, migration)?.getNumberIndexType();
  if (ts.isSpreadAssignment(parent)) return argumentType(parent.parent, migration);
  return ts.isParenthesizedExpression(parent) || ts.isConditionalExpression(parent) || ts.isBinaryExpression(parent)
    ? argumentType(parent, migration)
    : undefined;
}

/** The type of a literal that a function returns for each element, `Item[]` of `all.map((sku) => ({ sku }))`. */
function elementType(node: ts.Node, migration: Migration): ts.Type | undefined {
  if (ts.isParenthesizedExpression(node.parent)) return elementType(node.parent, migration);
  const call = ts.isArrowFunction(node.parent) ? node.parent.parent : undefined;
  const isMap = call && ts.isCallExpression(call) && ts.isPropertyAccessExpression(call.expression);
  if (!isMap || call.expression.name.text !== "map") return undefined;
  const type = migration.checker.getContextualType(call)?.getNonNullableType().getNumberIndexType();
  const of = type && migration.declarationOf(type);
  return of && ts.isInterfaceDeclaration(of) && generatedBy(of)?.by === "ts-proto" ? type : undefined;
}

/** The type of a literal that a variable or a function has, by the first place that needs a message of ts-proto. */
function usedType(literal: ts.Node, migration: Migration): ts.Type | undefined {
  let value = literal;
  while (ts.isParenthesizedExpression(value.parent) || ts.isConditionalExpression(value.parent)) value = value.parent;
  if (ts.isPropertyAssignment(value.parent)) {
    const field = remembered(value.parent.parent, migration)?.getProperty(value.parent.name.getText());
    return field && migration.checker.getTypeOfSymbol(field).getNonNullableType();
  }
  const owner = ownerOf(value, migration);
  if (!owner) return undefined;
  let found: ts.Type | undefined;
  contains(migration.file, (one) => {
    if (!ts.isIdentifier(one) || one.text !== owner.name?.getText() || one.parent === owner) return false;
    if (migration.declared(one) !== owner) return false;
    const isCalled = ts.isCallExpression(one.parent) && one.parent.expression === one;
    const type = migration.checker.getContextualType(isCalled ? one.parent : one)?.getNonNullableType();
    const declaration = type && migration.declarationOf(type);
    if (declaration && generatedBy(declaration)?.by === "ts-proto") found = type;
    return found !== undefined;
  });
  return found;
}

/** The variable or function without a type of its own that has a value. */
function ownerOf(value: ts.Node, migration: Migration): ts.VariableDeclaration | ts.FunctionDeclaration | undefined {
  const { parent } = value;
  if (ts.isVariableDeclaration(parent)) return parent.type ? undefined : parent;
  if (ts.isBinaryExpression(parent) && parent.right === value && ts.isIdentifier(parent.left)) {
    const declaration = migration.declared(parent.left);
    return declaration && ts.isVariableDeclaration(declaration) && !declaration.type ? declaration : undefined;
  }
  const own = ts.isReturnStatement(parent) ? parent.parent.parent : parent;
  if (!ts.isFunctionDeclaration(own) && !ts.isArrowFunction(own)) return undefined;
  if (own.type) return undefined;
  if (ts.isFunctionDeclaration(own)) return own;
  return ts.isVariableDeclaration(own.parent) && !own.parent.type ? own.parent : undefined;
}

/** The type that is expected of a literal. */
export function expectedType(node: ts.ObjectLiteralExpression, migration: Migration): ts.Type | undefined {
  const type = elementType(node, migration) ?? migration.checker.getContextualType(node);
  // A variable without a type and a value expects any.
  return !type || type.flags & ts.TypeFlags.Any ? (remembered(node, migration) ?? type) : type;
}

/** The types of literals that have been looked up. */
const usedTypes = new WeakMap<ts.Node, { readonly type: ts.Type | undefined }>();

function remembered(node: ts.Node, migration: Migration): ts.Type | undefined {
  const known = usedTypes.get(node) ?? { type: usedType(node, migration) };
  usedTypes.set(node, known);
  return known.type;
}
