/** Middleware of nice-grpc, async generators, as interceptors. */
import { ts } from "ts-morph";
import type { Migration, Rule } from "./migration.ts";
import { contains, modifiersOf } from "./tree.ts";

const MAIN = "triple-es";
/** Options of a call, and members of a context, that a request has. */
const OPTIONS = ["metadata", "signal", "peer"];
const VALUES = "members of the context are values: request.context.values.set(key, value)";

/** The name of the request in a middleware, by the declarations of its parameters. */
const parameters = new WeakMap<ts.Node, { readonly request: string; readonly role: "call" | "options" }>();

function parameterOf(node: ts.Node, migration: Migration) {
  const declaration = migration.declared(node);
  return declaration && parameters.get(declaration);
}

type Middleware = ts.FunctionDeclaration | ts.FunctionExpression | ts.MethodDeclaration;

function isMiddleware(node: ts.Node, migration: Migration): node is Middleware {
  const isOne = ts.isFunctionDeclaration(node) || ts.isFunctionExpression(node) || ts.isMethodDeclaration(node);
  const call = isOne && node.asteriskToken && node.body ? node.parameters[0] : undefined;
  return call !== undefined && /^(?:Client|Server)MiddlewareCall/.test(typeNameOf(call, migration));
}

const middleware: Rule = (node, migration) => {
  if (!isMiddleware(node, migration)) return undefined;
  const [call, options] = node.parameters;
  const reason = whyNot(node, migration);
  if (!call || !node.body || ts.isMethodDeclaration(node) || reason !== undefined) {
    migration.leave(node, `a middleware ${reason}: write an Interceptor`);
    return migration.verbatim(node);
  }
  const request = /\b(?:const|let) request\b/.test(node.body.getText()) ? "req" : "request";
  parameters.set(call, { request, role: "call" });
  if (options) parameters.set(options, { request, role: "options" });
  const body = migration.print(node.body);
  const type = migration.typed(`: ${migration.imports.use(MAIN, "Call", call)}`);
  if (ts.isFunctionExpression(node)) return `(next${type})${type} => async (${request}) => ${body}`;
  const indent = migration.indentOf(node);
  return `${modifiersOf(node)}function ${node.name?.text ?? ""}(next${type})${type} {\n${indent}  return async (${request}) => ${body};\n${indent}}`;
};

function typeNameOf(parameter: ts.ParameterDeclaration, migration: Migration): string {
  const written = parameter.type?.getText() ?? "";
  const type = migration.checker.getTypeAtLocation(parameter);
  return written || (type.aliasSymbol?.name ?? "");
}

/** Returns the reason why a middleware stays as it is. */
function whyNot(node: Middleware, migration: Migration): string | undefined {
  const [call, options] = node.parameters;
  let reason = ts.isMethodDeclaration(node) ? "is a method" : undefined;
  const visit = (one: ts.Node): void => {
    const declaration = migration.declared(one);
    const access = ts.isPropertyAccessExpression(one.parent) && one.parent.expression === one ? one.parent : undefined;
    if (call && declaration === call) {
      const name = access?.name.text;
      const next = access && ts.isCallExpression(access.parent) ? access.parent.parent : undefined;
      if (name === "next" && !(next && ts.isYieldExpression(next))) reason = "iterates over responses";
      if (
        name === "next" &&
        access &&
        ts.isCallExpression(access.parent) &&
        !isRequest(access.parent.arguments[0], call)
      )
        reason = "changes the request";
      if (name !== "next" && name !== "request" && name !== "method") reason = `uses ${name ?? "its call"}`;
    }
    if (options && declaration === options) {
      if (access && !OPTIONS.includes(access.name.text)) reason = `uses ${access.name.text}`;
      if (!access && !ts.isSpreadAssignment(one.parent) && !isNextArgument(one)) reason = "passes its options on";
    }
    if (ts.isYieldExpression(one) && !one.asteriskToken) reason = "yields responses";
    one.forEachChild(visit);
  };
  if (node.body) visit(node.body);
  return reason;
}

function isRequest(node: ts.Node | undefined, call: ts.ParameterDeclaration): boolean {
  return node?.getText() === `${call.name.getText()}.request`;
}

/** Reports whether metadata are those of the options, or their copy, which is changed in place. */
function isOwn(node: ts.Node | undefined, migration: Migration): boolean {
  if (node === undefined) return false;
  if (ts.isIdentifier(node)) return isOwn(migration.initializer(node), migration);
  if (ts.isBinaryExpression(node)) return isOwn(node.left, migration);
  if (ts.isPropertyAccessExpression(node))
    return node.name.text === "metadata" && parameterOf(node.expression, migration)?.role === "options";
  if (!ts.isCallExpression(node) && !ts.isNewExpression(node)) return false;
  if (migration.nameOf(node.expression) !== "Metadata")
    return ts.isPropertyAccessExpression(node.expression) && isOwn(node.expression.expression, migration);
  const [copied] = node.arguments ?? [];
  return copied !== undefined && ts.isPropertyAccessExpression(copied) && isOwn(copied, migration);
}

function isNextArgument({ parent }: ts.Node): boolean {
  return (
    ts.isCallExpression(parent) &&
    ts.isPropertyAccessExpression(parent.expression) &&
    parent.expression.name.text === "next"
  );
}

/** `yield* call.next(call.request, options)`. */
const next: Rule = (node, migration) => {
  if (!ts.isYieldExpression(node) || !node.expression || !ts.isCallExpression(node.expression)) return undefined;
  const { expression, arguments: args } = node.expression;
  const of = ts.isPropertyAccessExpression(expression) ? parameterOf(expression.expression, migration) : undefined;
  if (of === undefined) return undefined;
  const [, given] = args;
  const value = given && migration.initializer(given);
  const options = isOptionsLiteral(value, migration) ? value : given;
  const isOptions = (one: ts.Node): boolean => parameterOf(one, migration)?.role === "options";
  const isLiteral = options && ts.isObjectLiteralExpression(options);
  if (options && !isLiteral && !isOptions(options)) migration.todo(node, VALUES);
  for (const one of isLiteral ? options.properties : []) {
    if (ts.isSpreadAssignment(one)) {
      if (!isOptions(one.expression)) migration.todo(node, VALUES);
      continue;
    }
    const name = one.name?.getText();
    const value = ts.isPropertyAssignment(one) ? one.initializer : one.name;
    if (name !== "metadata") migration.todo(node, `${name} is a value: request.context.values.set(key, ${name})`);
    else if (!isOwn(value, migration)) migration.todo(node, "metadata are request.headers, which are changed in place");
    // A variable is the metadata of the request, which has been changed in place.
    else if (value && !ts.isIdentifier(value)) migration.insertBefore(node, `${migration.print(value)};`);
  }
  return `await next(${of.request})`;
};

/** `const nextOptions = { ...options, metadata }` for `call.next`, whose members are those of the request. */
const nextOptions: Rule = (node, migration) => {
  if (!ts.isVariableStatement(node)) return undefined;
  const [declaration, ...others] = node.declarationList.declarations;
  const isAll = declaration && others.length === 0 && isOptionsLiteral(declaration.initializer, migration);
  return isAll && !contains(migration.file, (one) => isOtherUse(one, declaration, migration)) ? "" : undefined;
};

function isOptionsLiteral(node: ts.Expression | undefined, migration: Migration): boolean {
  const isSpread = (one: ts.Node): boolean =>
    ts.isSpreadAssignment(one) && parameterOf(one.expression, migration)?.role === "options";
  return node !== undefined && ts.isObjectLiteralExpression(node) && node.properties.some(isSpread);
}

function isOtherUse(one: ts.Node, of: ts.VariableDeclaration, migration: Migration): boolean {
  return ts.isIdentifier(one) && one !== of.name && migration.declared(one) === of && !isNextArgument(one);
}

/** `options.metadata ??= Metadata()`: a request has headers. */
const absent: Rule = (node, migration) => {
  if (!ts.isExpressionStatement(node) || !ts.isBinaryExpression(node.expression)) return undefined;
  const { left, operatorToken, right } = node.expression;
  const isCall = ts.isCallExpression(right) || ts.isNewExpression(right);
  if (!operatorToken.getText().endsWith("=") || !isOwn(left, migration) || !isCall) return undefined;
  const isNew = migration.nameOf(right.expression) === "Metadata" && !right.arguments?.length;
  return isNew || isOwn(right, migration) ? "" : undefined;
};

/** Members of the call and its options: `options.metadata`, `call.method.path`. */
const member: Rule = (node, migration) => {
  if (ts.isCallExpression(node) || ts.isNewExpression(node)) {
    const [metadata] = node.arguments ?? [];
    const isCopy =
      migration.nameOf(node.expression) === "Metadata" && metadata && ts.isPropertyAccessExpression(metadata);
    return isCopy ? member(metadata, migration) : undefined;
  }
  if (!ts.isPropertyAccessExpression(node)) return undefined;
  const of = parameterOf(node.expression, migration);
  if (of === undefined) return undefined;
  switch (`${of.role}.${node.name.text}`) {
    case "call.method":
      return `${of.request}.method`;
    case "options.metadata":
      return `${of.request}.headers`;
    case "options.signal":
      return `${of.request}.context.signal`;
    case "options.peer":
      return `String(${of.request}.context.peer?.address)`;
  }
  migration.leave(node, `${node.name.text} of a middleware has another form`);
  return undefined;
};

/** `ClientMiddleware<Options>`, whose counterpart has no parameter. The type of a middleware that stays does too. */
const middlewareType: Rule = (node, migration) => {
  const name = ts.isTypeReferenceNode(node) ? migration.nameOf(node.typeName) : undefined;
  if (name !== "ClientMiddleware" && name !== "ServerMiddleware") return undefined;
  const isOwner = ts.isVariableDeclaration(node.parent) || ts.isFunctionLike(node.parent);
  return isOwner && staysIn(node.parent, migration)
    ? migration.verbatim(node)
    : migration.imports.use(MAIN, "Interceptor", node);
};

/** Reports whether a declaration has a middleware that stays as it is. */
function staysIn(declaration: ts.Node, migration: Migration): boolean {
  return contains(declaration, (one) => isMiddleware(one, migration) && whyNot(one, migration) !== undefined);
}

/** TODO comments for middleware of old packages, by its function. */
const OTHERS: ReadonlyMap<string, string> = new Map([
  // Timeouts are options of calls.
  ["deadlineMiddleware", ""],
  ["retryMiddleware", "retryMiddleware is the option retry of createTransport"],
]);

/**
 * The interceptor that middleware becomes: none for that of an old package, which is listed. Calls through one that stays
 * fail until it is rewritten, so that nothing passes without its checks.
 */
export function interceptorOf(middleware: ts.Expression, migration: Migration): string[] {
  const one = migration.initializer(middleware) ?? middleware;
  const name = migration.nameOf(ts.isCallExpression(one) ? one.expression : one);
  if (name === undefined) {
    const text = migration.print(middleware);
    const declaration = migration.declared(ts.isCallExpression(middleware) ? middleware.expression : middleware);
    if (!declaration || !staysIn(declaration, migration)) return [text];
    migration.todo(middleware, `${middleware.getText()} is no interceptor yet: calls fail`);
    return [text + migration.typed(` as unknown as ${migration.imports.use(MAIN, "Interceptor", declaration)}`)];
  }
  const reason = OTHERS.get(name) ?? `${name} has no counterpart: it is left out`;
  if (reason !== "") migration.todo(middleware, reason);
  return [];
}

export const middlewareRules: readonly Rule[] = [middleware, middlewareType, next, nextOptions, absent, member];
