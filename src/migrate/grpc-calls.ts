/** Calls of clients of grpc-js, with callbacks and events, as promises and async iterables. */
import { ts } from "ts-morph";
import { generatorOf } from "./generated.ts";
import { timeoutOf } from "./grpc-names.ts";
import { functionOf, inlined, inlinedBody } from "./inline.ts";
import type { Rule } from "./kind.ts";
import type { Migration } from "./migration.ts";

interface ClientCall {
  readonly node: ts.CallExpression;
  /** The type of the call, such as `ClientReadableStream`. */
  readonly type: string;
  readonly request: ts.Expression | undefined;
  readonly options: readonly ts.Expression[];
  readonly callback: ts.Expression | undefined;
}

function clientCall(node: ts.Node, migration: Migration): ClientCall | undefined {
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
function newCall({ node, request, options }: ClientCall, requests: string | undefined, migration: Migration): string {
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
  if (!ts.isArrowFunction(callback) && !ts.isFunctionExpression(callback))
    return `${promise}.then((${value}) => ${migration.print(callback)}(null, ${value}), ${migration.print(callback)})`;
  const [error, result] = callback.parameters.map(({ name }) => name.getText());
  const split = splitOf(callback, error);
  const indent = migration.indentOf(callback);
  if (split === undefined) {
    const given = `.then((${value}) => [null, ${value}] as const, (error) => [error, undefined as never] as const)`;
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
  return split.failed.length > 0
    ? `${promise}.then(${done}, (${error}) => ${block(split.failed)})`
    : `${promise}.then(${done})`;
}

/** The statements of a callback for a failed and for a successful call: `if (error) { …; return; } …`. */
function splitOf({ body, parameters }: ts.ArrowFunction | ts.FunctionExpression, error: string | undefined) {
  if (parameters.length === 0) return { failed: [], done: ts.isBlock(body) ? body.statements : [body] };
  if (!ts.isBlock(body) || error === undefined) return undefined;
  const [first, ...rest] = body.statements;
  if (!first || !ts.isIfStatement(first)) return uses(body, error) ? undefined : { failed: [], done: body.statements };
  const condition = first.expression.getText();
  if (condition !== error && condition !== `${error} !== null` && condition !== `${error} != null`) return undefined;
  const statementsOf = (one: ts.Statement): readonly ts.Statement[] => (ts.isBlock(one) ? one.statements : [one]);
  const failed = statementsOf(first.thenStatement);
  const last = failed.at(-1);
  const ends = last && (ts.isReturnStatement(last) || ts.isThrowStatement(last));
  if (!ends && !first.elseStatement && rest.length > 0) return undefined;
  if (rest.some((one) => uses(one, error))) return undefined;
  const done = [...(first.elseStatement ? statementsOf(first.elseStatement) : []), ...rest];
  return { failed: last && ts.isReturnStatement(last) && !last.expression ? failed.slice(0, -1) : failed, done };
}

function uses(node: ts.Node, name: string): boolean {
  if (ts.isIdentifier(node) && node.text === name) return true;
  return node.forEachChild((child) => uses(child, name) || undefined) ?? false;
}

/** `new Promise((resolve, reject) => client.greet(request, (error, response) => …))`, which is the call. */
const promised: Rule = (node, migration) => {
  if (!ts.isNewExpression(node) || node.expression.getText() !== "Promise") return undefined;
  const found = promisedCall(node);
  const call = found && clientCall(found.call, migration);
  if (!found || call?.type !== "ClientUnaryCall") return undefined;
  return settled(newCall(call, undefined, migration), found, migration);
};

/** The only call of a promise's executor, whose callback settles the promise. */
export function promisedCall(node: ts.NewExpression) {
  const [executor] = node.arguments ?? [];
  if (!executor || !(ts.isArrowFunction(executor) || ts.isFunctionExpression(executor))) return undefined;
  const { body } = executor;
  const [only, ...others] = ts.isBlock(body) ? body.statements : [];
  const call = ts.isBlock(body)
    ? only && others.length === 0 && ts.isExpressionStatement(only)
      ? only.expression
      : undefined
    : body;
  const callback = call && ts.isCallExpression(call) ? call.arguments.at(-1) : undefined;
  if (!call || !callback || !(ts.isArrowFunction(callback) || ts.isFunctionExpression(callback))) return undefined;
  const [resolve, reject] = executor.parameters.map(({ name }) => name.getText());
  const [error, result] = callback.parameters.map(({ name }) => name.getText());
  const text = callback.body.getText().replaceAll(/\s+/g, " ");
  const [, value] = text.split(`${resolve}(`);
  const isSettled =
    error &&
    text.includes(`${reject}(${error}`) &&
    value !== undefined &&
    text.split(`${resolve}(`).length === 2 &&
    text.split(";").length <= 5;
  return isSettled ? { call, callback, resolve: resolve ?? "", result } : undefined;
}

export function settled(
  promise: string,
  { callback, resolve, result }: NonNullable<ReturnType<typeof promisedCall>>,
  migration: Migration,
  value?: string,
): string {
  let argument: ts.Expression | undefined;
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && node.expression.getText() === resolve) argument = node.arguments[0];
    node.forEachChild(visit);
  };
  visit(callback.body);
  while (argument && (ts.isNonNullExpression(argument) || ts.isAsExpression(argument))) argument = argument.expression;
  if (value !== undefined) return `${promise}.then(() => ${argument ? value : "undefined"})`;
  if (!argument) return `${promise}.then(() => undefined)`;
  return argument.getText() === result ? promise : `${promise}.then((${result ?? ""}) => ${migration.print(argument)})`;
}

/** `promisify(client.greet.bind(client))`, which is `client.greet`. */
const promisified: Rule = (node, migration) => {
  if (!ts.isCallExpression(node)) return undefined;
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
  return declaration && generatorOf(declaration.getSourceFile()) ? migration.print(method) : undefined;
};

/** A call with a stream in a variable: `const call = client.watch(request); call.on("data", …)`. */
const stream: Rule = (node, migration) => {
  if (!ts.isVariableStatement(node) || node.declarationList.declarations.length !== 1) return undefined;
  const [declaration] = node.declarationList.declarations;
  const call = declaration?.initializer && clientCall(declaration.initializer, migration);
  if (!declaration || !call || call.type === "ClientUnaryCall" || !ts.isIdentifier(declaration.name)) return undefined;
  const parts = partsOf(declaration.name.text, node, call);
  if (parts === undefined) {
    migration.leave(node, "the stream is used in another form: pass an async iterable, and iterate over the responses");
    return undefined;
  }
  if (parts.isIterated) return undefined;
  const indent = migration.indentOf(node);
  const requests =
    parts.sent &&
    `(async function* () {\n${parts.sent.map((one) => `${indent}  ${migration.print(one)}\n`).join("")}${indent}})()`;
  for (const one of parts.all) migration.dropped.add(one);
  const begun = newCall(call, requests, migration);
  if (call.callback) return `${continued(begun, call.callback, migration)};`;
  return `${iterated(begun, parts.listeners, indent, migration)};`;
};

interface Parts {
  readonly all: readonly ts.Statement[];
  /** The statements that write the requests. */
  readonly sent: readonly ts.Statement[] | undefined;
  readonly listeners: ReadonlyMap<string, ts.Expression>;
  readonly isIterated: boolean;
}

function partsOf(name: string, node: ts.Statement, call: ClientCall): Parts | undefined {
  const block = node.parent as ts.Block;
  const after = block.statements.slice(block.statements.indexOf(node) + 1);
  const listeners = new Map<string, ts.Expression>();
  const own = after.filter((one) => uses(one, name));
  const all: ts.Statement[] = [];
  const writes: ts.Statement[] = [];
  const writesRequests = call.type !== "ClientReadableStream";
  let hasEnded = !writesRequests;
  for (const one of own) {
    const event = listenerOf(one, name);
    if (event !== undefined) {
      listeners.set(event[0], event[1]);
      all.push(one);
    } else if (isEnd(one, name)) {
      hasEnded = true;
      all.push(one);
    } else if (!hasEnded && writesRequests && isWriting(one, name, functionOf(node))) {
      writes.push(one);
    } else if (ts.isForOfStatement(one) && one.awaitModifier && one.expression.getText() === name && own.length === 1) {
      return { all: [], sent: undefined, listeners, isIterated: true };
    } else return undefined;
  }
  if (!hasEnded || (writesRequests && writes.length === 0)) return undefined;
  if (!writesRequests) return { all, sent: undefined, listeners, isIterated: false };
  // Statements between the writes, such as those that compute requests, are sent along with them.
  const between = after.slice(0, after.indexOf(writes.at(-1) as ts.Statement) + 1).filter((one) => !all.includes(one));
  for (const one of between) markWrites(one, name);
  return { all: [...all, ...between], sent: between, listeners, isIterated: false };
}

function listenerOf(node: ts.Statement, name: string): [string, ts.Expression] | undefined {
  if (!ts.isExpressionStatement(node) || !ts.isCallExpression(node.expression)) return undefined;
  const [event, listener] = node.expression.arguments;
  if (node.expression.expression.getText() !== `${name}.on` || !event || !listener) return undefined;
  return [event.getText().slice(1, -1), listener];
}

function isEnd(node: ts.Statement, name: string): boolean {
  return ts.isExpressionStatement(node) && node.expression.getText() === `${name}.end()`;
}

/** Reports whether a statement only writes to the call, in the function of the call itself. */
function isWriting(node: ts.Node, name: string, outer: ts.Node | undefined): boolean {
  if (ts.isIdentifier(node) && node.text === name) {
    const write = node.parent.parent;
    return (
      ts.isPropertyAccessExpression(node.parent) &&
      node.parent.name.text === "write" &&
      ts.isCallExpression(write) &&
      ts.isExpressionStatement(write.parent) &&
      functionOf(node) === outer
    );
  }
  return node.forEachChild((child) => (isWriting(child, name, outer) ? undefined : true)) !== true;
}

/** The statements `call.write(request)` that become `yield request`. */
const writes = new WeakSet<ts.Node>();

function markWrites(node: ts.Node, name: string): void {
  if (
    ts.isExpressionStatement(node) &&
    ts.isCallExpression(node.expression) &&
    node.expression.expression.getText() === `${name}.write`
  )
    writes.add(node);
  node.forEachChild((child) => markWrites(child, name));
}

const write: Rule = (node, migration) => {
  if (!writes.has(node)) return undefined;
  const [request] = ((node as ts.ExpressionStatement).expression as ts.CallExpression).arguments;
  return `yield ${request ? migration.print(request) : "{}"};`;
};

/** A loop over responses in place of listeners. */
function iterated(call: string, listeners: Parts["listeners"], indent: string, migration: Migration): string {
  const [data, end, error] = ["data", "end", "error"].map((event) => listeners.get(event));
  for (const event of ["metadata", "status"]) {
    const one = listeners.get(event);
    if (one)
      migration.leave(
        one,
        `the listener of ${event} is the option ${event === "metadata" ? "onHeaders" : "onTrailers"}`,
      );
  }
  if (data) inlined.set(data, "data");
  if (end) inlined.set(end, "last");
  const inner = error ? `${indent}    ` : `${indent}  `;
  const name = (listener: ts.Expression | undefined, other: string): string =>
    (listener && isFunction(listener) && listener.parameters[0]?.name.getText()) || other;
  const body = (listener: ts.Expression, value: string): string =>
    isFunction(listener) ? inlinedBody(listener, migration) : `${migration.print(listener)}(${value});`;
  const loop = [
    `for await (const ${name(data, "message")} of ${call}) {`,
    ...(data ? [`  ${body(data, "message")}`] : []),
    "}",
    ...(end ? [body(end, "")] : []),
  ].map((line) => `${inner}${line}`);
  const failed = error
    ? [`${indent}  } catch (${name(error, "error")}: any) {`, `${indent}    ${body(error, "error")}`, `${indent}  }`]
    : [];
  return ["(async () => {", ...(error ? [`${indent}  try {`] : []), ...loop, ...failed, `${indent}})()`].join("\n");
}

function isFunction(node: ts.Node): node is ts.ArrowFunction | ts.FunctionExpression {
  return ts.isArrowFunction(node) || ts.isFunctionExpression(node);
}

/** `client.watch(request)` whose stream is iterated over, and chains of `on`. */
const iterable: Rule = (node, migration) => {
  const call = clientCall(node, migration);
  if (call?.type !== "ClientReadableStream") return undefined;
  return newCall(call, undefined, migration);
};

/** `client.watch(request).on("data", …).on("end", …);`. */
const chain: Rule = (node, migration) => {
  if (!ts.isExpressionStatement(node)) return undefined;
  const listeners = new Map<string, ts.Expression>();
  let one: ts.Expression = node.expression;
  while (
    ts.isCallExpression(one) &&
    ts.isPropertyAccessExpression(one.expression) &&
    one.expression.name.text === "on"
  ) {
    const [event, listener] = one.arguments;
    if (!event || !listener) return undefined;
    listeners.set(event.getText().slice(1, -1), listener);
    one = one.expression.expression;
  }
  const call = listeners.size > 0 ? clientCall(one, migration) : undefined;
  if (call?.type !== "ClientReadableStream") return undefined;
  return `${iterated(newCall(call, undefined, migration), listeners, migration.indentOf(node), migration)};`;
};

/** `ClientReadableStream<Order>` as a type. */
const streamType: Rule = (node, migration) => {
  if (!ts.isTypeReferenceNode(node) || migration.nameOf(node.typeName) !== "ClientReadableStream") return undefined;
  return `AsyncIterable<${node.typeArguments?.map((one) => migration.print(one)).join(", ")}>`;
};

export const callRules: readonly Rule[] = [streamType, write, stream, chain, promised, promisified, unary, iterable];
