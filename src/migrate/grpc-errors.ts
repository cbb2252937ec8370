/** Codes, and errors of grpc-js, objects with a code, as `RpcError`. */
import { ts } from "ts-morph";
import { codeOf } from "./grpc-names.ts";
import type { Migration, Rule } from "./migration.ts";

const MAIN = "triple-es";

/** Types of errors, as literals of which an `RpcError` is created. */
export const ERRORS: readonly string[] = ["ServiceError", "ServerErrorResponse"];

/** The number of `status.OK`, for which `Code` has no name. */
export const OK = "(0 as number)";

/** `status.NOT_FOUND`, `status["NOT_FOUND"]` and `status[code]`. */
export const code: Rule = (node, migration) => {
  if (ts.isElementAccessExpression(node) && migration.nameOf(node.expression) === "Status") {
    const { argumentExpression: name } = node;
    if (ts.isStringLiteralLike(name))
      return `${migration.imports.use(MAIN, "Code", node.expression)}.${codeOf(name.text)}`;
    migration.todo(node, "codeName returns not_found, where Status[code] was NOT_FOUND");
    return `${migration.imports.use(MAIN, "codeName", node)}(${migration.print(node.argumentExpression)})`;
  }
  if (!ts.isPropertyAccessExpression(node) && !ts.isQualifiedName(node)) return undefined;
  const [, name] = migration.nameOf(node)?.split("Status.") ?? [];
  if (name === undefined) return undefined;
  if (name === "OK") return ts.isQualifiedName(node) ? "0" : OK;
  const of = ts.isQualifiedName(node) ? node.left : node.expression;
  return `${migration.imports.use(MAIN, "Code", of)}.${codeOf(name)}`;
};

/** Lists of codes, such as `new Set([status.UNAVAILABLE])`: their type is that of all codes, not of those in the list. */
export const codes: Rule = (node, migration) => {
  const list = ts.isNewExpression(node) && !node.typeArguments ? node.arguments?.[0] : node;
  if (!list || !ts.isArrayLiteralExpression(list) || list.elements.length === 0) return undefined;
  if (!list.elements.every((one) => migration.nameOf(one)?.startsWith("Status."))) return undefined;
  const type = (): string => migration.imports.use(MAIN, "Code", node.parent);
  if (node !== list) {
    const { expression } = node as ts.NewExpression;
    if (expression.getText() !== "Set") return undefined;
    return `new Set${migration.typed(`<${type()}>`)}(${migration.children(list)})`;
  }
  const { parent } = node;
  const isValue = ts.isVariableDeclaration(parent) && !parent.type;
  if (!isValue && !ts.isPropertyAccessExpression(parent)) return undefined;
  const text = migration.children(list) + migration.typed(` as ${type()}[]`);
  return isValue ? text : `(${text})`;
};

/** The error that a callback is called with. */
export function errorOf(given: ts.Expression, migration: Migration): string {
  const error = ts.isAsExpression(given) ? given.expression : given;
  const name = migration.imports.use(MAIN, "RpcError", error);
  if (!ts.isObjectLiteralExpression(error)) return converted(given, error, name, migration);
  if (error.properties.some(ts.isSpreadAssignment)) migration.todo(given, "RpcError takes no spread members");
  const of = (name: string): string | undefined => {
    const found = error.properties.find((one) => one.name?.getText() === name);
    return found && (ts.isPropertyAssignment(found) ? migration.print(found.initializer) : found.name?.getText());
  };
  const isOk = of("code") === OK;
  if (isOk) migration.todo(given, "OK is no code of an error");
  const code = (isOk ? undefined : of("code")) ?? `${migration.imports.use(MAIN, "Code", error)}.Unknown`;
  const trailers = of("metadata");
  return `new ${name}(${code}, ${of("details") ?? of("message") ?? '""'}${trailers ? `, { trailers: ${trailers} }` : ""})`;
}

/** Another error: one with the number of a code has that of the call. */
function converted(given: ts.Expression, error: ts.Expression, name: string, migration: Migration): string {
  const text = migration.print(error);
  const type = migration.checker.getTypeAtLocation(error).getNonNullableType();
  const typeOf = (member: string): ts.Type | undefined => {
    const symbol = type.getProperty(member);
    return symbol && migration.checker.getTypeOfSymbolAtLocation(symbol, error);
  };
  const code = ERRORS.includes(migration.typeName(error) ?? "") ? undefined : typeOf("code");
  const isNumber = (code?.getNonNullableType().flags ?? 0) & (ts.TypeFlags.NumberLike | ts.TypeFlags.Union);
  if (!code || !isNumber) return `${name}.from(${text})`;
  const own = ts.isIdentifier(error) ? text : "error";
  const isOptional = (one: ts.Type): boolean => one.getNonNullableType() !== one;
  const unknown = isOptional(code) ? ` ?? ${migration.imports.use(MAIN, "Code", given)}.Unknown` : "";
  const details = typeOf("details");
  const message = [
    ...(details ? [`${own}.details`] : []),
    ...(!details || isOptional(details) ? [`${own}.message`] : []),
  ];
  const trailers = typeOf("metadata") ? `, { trailers: ${own}.metadata }` : "";
  const made = `new ${name}(${own}.code${unknown}, ${message.join(" ?? ")}${trailers})`;
  return ts.isIdentifier(error) ? made : `((error) => ${made})(${text})`;
}

/** `const error: ServiceError = { code, message }`. */
const error: Rule = (node, migration) => {
  if (!ts.isObjectLiteralExpression(node)) return undefined;
  const type = migration.checker.getContextualType(node);
  if (!type || !ERRORS.includes(migration.oldName(type) ?? "")) return undefined;
  if (node.properties.some((one) => one.name?.getText() === "name"))
    migration.todo(node, "the name of an error is RpcError");
  return errorOf(node, migration);
};

/** The type of an error that may have a code. */
const errorType: Rule = (node, migration) => {
  if (!ts.isTypeReferenceNode(node) || migration.nameOf(node.typeName) !== "ServerErrorResponse") return undefined;
  return `Error & { code?: ${migration.imports.use(MAIN, "Code", node)} }`;
};

export const grpcErrorRules: readonly Rule[] = [error, errorType, codes];
