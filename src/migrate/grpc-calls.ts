/** Calls of clients of grpc-js, with callbacks and events, as promises and async iterables. */
import { ts } from "ts-morph";
import { generatorOf } from "./generator.ts";
import { timeoutOf } from "./grpc-names.ts";
import type { Migration, Rule } from "./migration.ts";
import { isFunction, uses } from "./tree.ts";

export interface ClientCall {
  readonly node: ts.CallExpression;
  /** The type of the call, such as `ClientReadableStream`. */
  readonly type: string;
  readonly request: ts.Expression | undefined;
  readonly options: readonly ts.Expression[];
  readonly callback: ts.Expression | undefined;
}

export function clientCall(node: ts.Node, migration: Migration): ClientCall | undefined {
  if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return undefined;
  const method = migration.declared(node.expression.name);
  const returned = migration.checker.getResolvedSignature(node)?.declaration?.type?.getText() ?? "";
  const type = returned.split("<")[0]?.split(".").at(-1) ?? "";
  if (!method || generatorOf(method.getSourceFile()) === undefined || !type.startsWith("Client")) return undefined;
  const args = [...node.arguments];
  const hasRequest = type === "ClientUnaryCall" || type === "ClientReadableStream";
  const request = hasRequest ? args.shift() : undefined;
  const last = args.at(-1);
  const isFunction = last && migration.checker.getTypeAtLocation(last).getCallSignatures().length > 0;
  const callback = isFunction ? args.pop() : undefined;
  return { node, type, request, options: args, callback };
}

/** The call of the new client, with its options. */
export function newCall(
  {
    node,
    request,
    options,
  }: Pick<ClientCall, "request" | "options"> & { readonly node: Pick<ts.CallExpression, "expression"> },
  requests: string | undefined,
  migration: Migration,
): string {
  const given = options.flatMap((one): string[] => {
    if (migration.typeName(one) === "Metadata") return [`headers: ${migration.print(one)}`];
    if (!ts.isObjectLiteralExpression(one)) {
      migration.leave(one, "the options of a call are those of CallOptions");
      return [];
    }
    return one.properties.flatMap((property) => {
      const value = ts.isPropertyAssignment(property) ? property.initializer : property.name;
      if (property.name?.getText() === "deadline" && value) return [timeoutOf(value as ts.Expression, migration)];
      migration.leave(property, `the option ${property.name?.getText()} has no counterpart`);
      return [];
    });
  });
  const first = requests ?? (request ? migration.print(request) : "");
  return `${migration.print(node.expression)}(${first}${given.length > 0 ? `, { ${given.join(", ")} }` : ""})`;
}

/** `client.greet(request, callback)`. */
const unary: Rule = (node, migration) => {
  const call = clientCall(node, migration);
  if (call?.type !== "ClientUnaryCall" || !call.callback) return undefined;
  if (
    !ts.isExpressionStatement(node.parent) &&
    !ts.isReturnStatement(node.parent) &&
    !ts.isArrowFunction(node.parent)
  ) {
    migration.leave(node, "the call is used: cancel it with an AbortSignal in the option signal");
  }
  return continued(newCall(call, undefined, migration), call.callback, migration);
};

/** The continuation of a promise by a callback with an error and a value. */
export function continued(promise: string, callback: ts.Expression, migration: Migration, value = "response"): string {
  if (!isFunction(callback)) {
    const name = migration.print(callback);
    return `${promise}.then((${value}) => ${name}(${argumentsOf(callback, value, migration)}), ${failedOf(callback, name, migration)})`;
  }
  const [error, result] = callback.parameters.map(({ name }) => name.getText());
  const split = splitOf(callback, error);
  const indent = migration.indentOf(callback);
  if (split === undefined) {
    const given = `.then((${value}) => [null, ${value}]${migration.typed(" as const")}, (error) => [error, undefined${migration.typed(" as never")}]${migration.typed(" as const")})`;
    const names = callback.parameters.map(({ name }) => name.getText()).join(", ");
    return `${promise}${given}.then(([${names}]) => ${migration.print(callback.body)})`;
  }
  const body = (nodes: readonly ts.Node[]): string =>
    nodes
      .map((one) => migration.print(one))
      .filter((text) => text !== "")
      .join(`\n${indent}  `);
  const block = (nodes: readonly ts.Node[]): string => `{\n${indent}  ${body(nodes)}\n${indent}}`;
  const done = `(${result ?? ""}) => ${block(split.done)}`;
  if (split.failed !== undefined) {
    const failed = split.failed.length > 0 ? `(${error}) => ${block(split.failed)}` : "() => {}";
    return `${promise}.then(${done}, ${failed})`;
  }
  // The callback of a call runs for an error too, which would be a rejection without a handler. A server that cannot listen
  // ends the program.
  const ignored = value === "response" ? `.catch(() => undefined${migration.typed(" as never")})` : "";
  return `${promise}${ignored}.then(${done})`;
}

/** The function for an error of a callback, which may demand a value too. */
function failedOf(callback: ts.Expression, name: string, migration: Migration): string {
  const [signature] = migration.checker.getTypeAtLocation(callback).getCallSignatures();
  const [, second] = signature?.parameters ?? [];
  const parameter = second?.valueDeclaration;
  const isNeeded =
    parameter &&
    ts.isParameter(parameter) &&
    !parameter.questionToken &&
    !parameter.initializer &&
    !parameter.dotDotDotToken;
  return isNeeded ? `(error) => ${name}(error, undefined${migration.typed(" as never")})` : name;
}

/** The arguments of a callback for a value, as many as it takes. */
function argumentsOf(callback: ts.Expression, value: string, { checker }: Migration): string {
  const [signature] = checker.getTypeAtLocation(callback).getCallSignatures();
  return ["null", value].slice(0, signature?.declaration?.parameters.length ?? 2).join(", ");
}

/**
 * The statements of a callback for a failed and for a successful call: `if (error) { …; return; } …`. Those for a failed one
 * are `undefined` if the callback ignores errors.
 */
function splitOf({ body, parameters }: ts.ArrowFunction | ts.FunctionExpression, error: string | undefined) {
  if (parameters.length === 0) return { failed: undefined, done: ts.isBlock(body) ? body.statements : [body] };
  if (!ts.isBlock(body) || error === undefined) return undefined;
  const [first, ...rest] = body.statements;
  if (!first || !ts.isIfStatement(first))
    return uses(body, error) ? undefined : { failed: undefined, done: body.statements };
  const condition = first.expression.getText();
  if (condition !== error && condition !== `${error} !== null` && condition !== `${error} != null`) return undefined;
  const statementsOf = (one: ts.Statement): readonly ts.Statement[] => (ts.isBlock(one) ? one.statements : [one]);
  const failed = statementsOf(first.thenStatement);
  const last = failed.at(-1);
  const ends = last && (ts.isReturnStatement(last) || ts.isThrowStatement(last));
  if (!ends && rest.length > 0) return undefined;
  if (rest.some((one) => uses(one, error))) return undefined;
  const done = [...(first.elseStatement ? statementsOf(first.elseStatement) : []), ...rest];
  return { failed: last && ts.isReturnStatement(last) && !last.expression ? failed.slice(0, -1) : failed, done };
}

/** `new Promise((resolve, reject) => client.greet(request, (error, response) => …))`, which is the call. */
const promised: Rule = (node, migration) => {
  if (!ts.isNewExpression(node) || node.expression.getText() !== "Promise") return undefined;
  const found = promisedCall(node);
  const call = found && clientCall(found.call, migration);
  if (!found || call?.type !== "ClientUnaryCall") return undefined;
  return settled(newCall(call, undefined, migration), found, migration);
};

/** The only call of a promise's executor, whose callback settles the promise and does nothing else. */
export function promisedCall(node: ts.NewExpression) {
  const [executor] = node.arguments ?? [];
  if (!isFunction(executor)) return undefined;
  const call = callOf(ts.isBlock(executor.body) ? executor.body.statements : [executor.body]);
  const callback = call?.arguments.at(-1);
  if (!call || !isFunction(callback)) return undefined;
  const [resolve, reject] = executor.parameters.map(({ name }) => name.getText());
  const [error, result] = callback.parameters.map(({ name }) => name.getText());
  if (error === undefined) return undefined;
  const body = ts.isParenthesizedExpression(callback.body) ? callback.body.expression : callback.body;
  const isChoice = ts.isConditionalExpression(body) && body.condition.getText() === error;
  const split = isChoice ? { failed: [body.whenTrue], done: [body.whenFalse] } : splitOf(callback, error);
  const [rejected, resolved] = [callOf(split?.failed ?? []), callOf(split?.done ?? [])];
  const isSettled =
    rejected?.expression.getText() === reject &&
    rejected?.arguments[0]?.getText() === error &&
    resolved?.expression.getText() === resolve;
  return isSettled ? { call, callback, argument: resolved?.arguments[0], result } : undefined;
}

/** The call that is all that nodes do, but for a `return` after it. */
function callOf(nodes: readonly ts.Node[]): ts.CallExpression | undefined {
  const [first, next] = nodes;
  const isAll = next === undefined || (nodes.length === 2 && ts.isReturnStatement(next) && !next.expression);
  const call = first && (ts.isExpressionStatement(first) || ts.isReturnStatement(first)) ? first.expression : first;
  return isAll && call && ts.isCallExpression(call) ? call : undefined;
}

export function settled(
  promise: string,
  { argument: given, result }: NonNullable<ReturnType<typeof promisedCall>>,
  migration: Migration,
): string {
  let argument = given;
  while (argument && (ts.isNonNullExpression(argument) || ts.isAsExpression(argument))) argument = argument.expression;
  if (!argument) return `${promise}.then(() => undefined)`;
  if (argument.getText() === result) return promise;
  const text = migration.print(argument);
  return `${promise}.then((${result ?? ""}) => ${ts.isObjectLiteralExpression(argument) ? `(${text})` : text})`;
}

/** `promisify(client.greet.bind(client))`, which is `client.greet`, and calls of it, whose options are an object. */
const promisified: Rule = (node, migration) => {
  if (!ts.isCallExpression(node)) return undefined;
  const of = ts.isCallExpression(node.expression) ? promisifiedMethod(node.expression, migration) : undefined;
  if (of === undefined) {
    const method = promisifiedMethod(node, migration);
    return method && migration.print(method);
  }
  const [request, ...options] = node.arguments;
  return newCall({ node: { expression: of }, request, options }, undefined, migration);
};

function promisifiedMethod(node: ts.CallExpression, migration: Migration): ts.PropertyAccessExpression | undefined {
  const callee = node.expression;
  const inner =
    ts.isPropertyAccessExpression(callee) && callee.name.text === "bind" && ts.isCallExpression(callee.expression)
      ? callee.expression
      : node;
  if (!/^(?:util\.)?promisify$/.test(inner.expression.getText())) return undefined;
  const [bound] = inner.arguments;
  const method =
    bound &&
    ts.isCallExpression(bound) &&
    ts.isPropertyAccessExpression(bound.expression) &&
    bound.expression.name.text === "bind"
      ? bound.expression.expression
      : bound;
  if (!method || !ts.isPropertyAccessExpression(method)) return undefined;
  const declaration = migration.declared(method.name);
  return declaration && generatorOf(declaration.getSourceFile()) ? method : undefined;
}

export const callRules: readonly Rule[] = [promised, promisified, unary];
