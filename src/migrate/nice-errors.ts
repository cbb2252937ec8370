/** Errors of nice-grpc, and classes that extend them. */
import { ts } from "ts-morph";
import type { Migration, Rule } from "./migration.ts";

/** `new ClientError(path, code, details)`, also of subclasses that inherit it, and `super(…)` in them: without the path. */
const newError: Rule = (node, migration) => {
  const isNew = ts.isNewExpression(node);
  if (!isNew && !(ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.SuperKeyword)) return undefined;
  const inherited = migration.checker.getResolvedSignature(node)?.declaration;
  if (!inherited || migration.nameOf((inherited.parent as ts.ClassDeclaration).name) !== "ClientError")
    return undefined;
  if (node.arguments?.some(ts.isSpreadElement)) {
    migration.leave(node, "the arguments of an error are its code, message and options");
    return undefined;
  }
  const given = (node.arguments ?? []).slice(1).map((one) => migration.print(one));
  return `${isNew ? "new " : ""}${migration.print(node.expression)}(${given.join(", ")})`;
};

/** `error.path`, which only the error of a call has. */
const path: Rule = (node, migration) => {
  if (ts.isPropertyAccessExpression(node) && isPath(node.name, migration) && !ts.isOptionalChain(node))
    return `(${migration.print(node.expression)}.method ?? "")`;
  if (!ts.isBindingElement(node) || node.initializer || !isPath(node.propertyName ?? node.name, migration))
    return undefined;
  return `method: ${node.name.getText()} = ""`;
};

function isPath(name: ts.Node, migration: Migration): boolean {
  return migration.nameOf(name) === "ClientError.path";
}

/** `this.name = "ShopError"` in a subclass: the name of an `RpcError` is readonly. */
const ownName: Rule = (node, migration) => {
  if (!ts.isBinaryExpression(node) || node.operatorToken.kind !== ts.SyntaxKind.EqualsToken) return undefined;
  const { left, right } = node;
  if (!ts.isPropertyAccessExpression(left) || left.name.text !== "name") return undefined;
  if (!isError(migration.checker.getTypeAtLocation(left.expression), migration)) return undefined;
  return `Object.assign(${migration.print(left.expression)}, { name: ${migration.print(right)} })`;
};

function isError(type: ts.Type, migration: Migration): boolean {
  if (["ClientError", "ServerError"].includes(migration.oldName(type) ?? "")) return true;
  const own = type.isTypeParameter() ? type.getConstraint() : type;
  return own?.getBaseTypes()?.some((one) => isError(one, migration)) ?? false;
}

export const niceErrorRules: readonly Rule[] = [newError, ownName, path];
