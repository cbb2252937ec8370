/** The bodies of handlers of grpc-js: uses of the call and of the callback. */
import { ts } from "ts-morph";
import { errorOf } from "./grpc-errors.ts";
import { emitterOf, methodCall } from "./grpc-streams.ts";
import { functionOf, inlined, inlinedBody, isInside, isTail } from "./inline.ts";
import type { Migration, Rule } from "./migration.ts";
import { contains, isNothing } from "./tree.ts";

/** A handler that is being printed. */
export interface Handler {
  readonly node: ts.FunctionLikeDeclaration;
  readonly kind: { readonly requests: boolean; readonly responses: boolean };
  readonly call: ts.ParameterDeclaration;
  readonly callback: ts.ParameterDeclaration | undefined;
  /** The names of the new parameters. */
  readonly request: string;
  readonly context: string;
  /** True if a promise is created for the callback, which is called by nested functions. */
  readonly isPromise: boolean;
  /** True if the call stays a stream of Node. */
  readonly isEmitter: boolean;
  usesRequest: boolean;
  usesContext: boolean;
  /** The variable of the error of a call that stays a stream: it follows the responses that were written before. */
  failure: string | undefined;
}

/** The handlers by the declarations of their parameters. */
export const handlers = new WeakMap<ts.Node, Handler>();

function handlerOf(name: ts.Node, migration: Migration): Handler | undefined {
  const declaration = migration.declared(name);
  return declaration && handlers.get(declaration);
}

/** Statements that call the callback, write a response or listen to the call, and calls that are all that a listener does. */
const statement: Rule = (node, migration) => {
  const isBody = ts.isCallExpression(node) && inlined.has(node.parent);
  if (!isBody && !ts.isExpressionStatement(node) && !ts.isReturnStatement(node)) return undefined;
  const call = isBody ? node : node.expression;
  const next = (): string => (ts.isReturnStatement(node) ? nextOf(node, migration) : "");
  if (call === undefined) return next() === "return;" ? undefined : "continue;";
  const otherwise = (): string | undefined =>
    next() === "continue;" ? several(node, `${migration.print(call)};`, "continue;") : undefined;
  if (!ts.isCallExpression(call)) return otherwise();
  const callee = call.expression;
  const finished = handlerOf(callee, migration);
  if (finished?.callback && !finished.isPromise) {
    if (ts.isExpressionStatement(node)) dropNext(node, migration);
    return several(node, ...answer(call, finished, migration));
  }
  if (!ts.isPropertyAccessExpression(callee)) return otherwise();
  const one = handlerOf(callee.expression, migration);
  if (one === undefined || one.isEmitter) return otherwise();
  const [first, second] = call.arguments;
  switch (callee.name.text) {
    case "write":
      if (second) migration.leave(node, "a handler passes a callback to write");
      return several(node, `yield ${first ? migration.print(first) : "{}"};`, next());
    case "end":
      if (ts.isExpressionStatement(node) && !isTail(node, one.node))
        migration.todo(node, "nothing runs after the end of the responses");
      return several(node, trailersOf(first, one, migration), isTail(node, one.node) ? "" : "return;");
    case "destroy":
      return first ? `throw ${errorOf(first, migration)};` : "return;";
    case "emit":
      return second && first?.getText().slice(1, -1) === "error" ? `throw ${errorOf(second, migration)};` : undefined;
    case "on": {
      const event = first?.getText().slice(1, -1) ?? "";
      if (!second || !inlined.has(second)) break;
      if (event === "error") {
        if (!isNeedless((second as ts.ArrowFunction).body, migration))
          migration.leave(node, "the listener of errors is removed: a handler throws them");
        return "";
      }
      if (event === "end") return inlinedBody(second as ts.ArrowFunction, migration);
      one.usesRequest = true;
      const { parameters } = second as ts.ArrowFunction;
      const indent = migration.indentOf(node);
      return `for await (const ${parameters[0]?.name.getText() ?? "_"} of ${one.request}) {\n${indent}  ${inlinedBody(second as ts.ArrowFunction, migration)}\n${indent}}`;
    }
  }
  return otherwise();
};

/** Reports whether a listener of errors only logs them, or ends the handler, as an error that it throws does. */
function isNeedless(body: ts.ConciseBody, migration: Migration): boolean {
  const statements = ts.isBlock(body) ? body.statements : [body];
  return statements.every((one) => {
    const call = ts.isExpressionStatement(one) || ts.isReturnStatement(one) ? one.expression : one;
    if (call === undefined || !ts.isCallExpression(call)) return call === undefined;
    const of = ts.isPropertyAccessExpression(call.expression) ? call.expression.expression : call.expression;
    return of.getText() === "console" || handlerOf(of, migration) !== undefined;
  });
}

/** The end of the statements of a function, which is the next message for a listener of messages. */
function nextOf(node: ts.ReturnStatement, migration: Migration): string {
  if (inlined.get(functionOf(node) ?? node) !== "data") return "return;";
  for (let one: ts.Node = node; !ts.isFunctionLike(one); one = one.parent) {
    if (ts.isIterationStatement(one, false))
      migration.todo(node, "continue with the next message, not in the inner loop");
  }
  return "continue;";
}

/** Statements in place of one, which may be all that a condition guards. */
function several(node: ts.Node, ...statements: readonly string[]): string {
  const given = statements.filter((one) => one !== "");
  const isFree = "statements" in node.parent || ts.isArrowFunction(node.parent);
  return given.length < 2 || isFree ? given.join(" ") : `{ ${given.join(" ")} }`;
}

/** Drops the `return` or `break` after the call of a callback. */
function dropNext(node: ts.Statement, migration: Migration): void {
  const { statements } = node.parent as Partial<ts.Block>;
  const next = statements?.[statements.indexOf(node) + 1];
  if (next && ((ts.isReturnStatement(next) && !next.expression) || ts.isBreakStatement(next)))
    migration.dropped.add(next);
}

/** The statement that sends trailers, if there are any. */
function trailersOf(trailers: ts.Expression | undefined, one: Handler, migration: Migration): string {
  if (!trailers || isNothing(trailers)) return "";
  return `${use(one)}.responseTrailers.appendAll(${migration.print(trailers)});`;
}

/** The statements that end a handler in place of its callback. */
function answer(call: ts.CallExpression, one: Handler, migration: Migration): string[] {
  const [error, value, trailers] = call.arguments;
  const isDone = !error || isNothing(error);
  if (isDone) {
    return [trailersOf(trailers, one, migration), `return ${value ? migration.print(value) : "{}"};`];
  }
  const text = errorOf(error, migration);
  return [isInTry(call, one.node) ? `return Promise.reject(${text});` : `throw ${text};`];
}

function use(one: Handler): string {
  one.usesContext = true;
  return one.context;
}

function isInTry(node: ts.Node, end: ts.Node): boolean {
  for (let one = node; one !== end; one = one.parent) {
    if (ts.isTryStatement(one.parent) && one.parent.tryBlock === one && one.parent.catchClause) return true;
  }
  return false;
}

/** Members of the call: `call.request`, `call.metadata`, `call.getPeer()`. */
const member: Rule = (node, migration) => {
  if (ts.isIdentifier(node) && ts.isForOfStatement(node.parent)) {
    const one = handlerOf(node, migration);
    if (one?.isEmitter) return undefined;
    if (one?.kind.requests) one.usesRequest = true;
    return one?.request;
  }
  if (ts.isCallExpression(node)) {
    const finished = handlerOf(node.expression, migration);
    if (finished?.isPromise && finished.callback) {
      const [error, value, trailers] = node.arguments;
      if (error && !isNothing(error)) return `reject(${errorOf(error, migration)})`;
      const sent = trailersOf(trailers, finished, migration).slice(0, -1);
      const result = value ? migration.print(value) : "{}";
      return sent ? `resolve((${sent}, ${result}))` : `resolve(${result})`;
    }
    if (finished && node.parent === finished.node)
      return answer(node, finished, migration).join(" ").trim().slice(0, -1);
    if (!ts.isPropertyAccessExpression(node.expression)) return undefined;
    const of = emitterOf(node.expression.expression);
    const one = handlerOf(of, migration);
    const [first, second] = node.arguments;
    if (one === undefined || (of !== node.expression.expression && !one.isEmitter)) return undefined;
    switch (node.expression.name.text) {
      case "sendMetadata":
        return `${use(one)}.responseHeaders.appendAll(${first ? migration.print(first) : "{}"})`;
      case "getPeer":
        return `String(${use(one)}.peer.address)`;
      case "getPath":
        return `${use(one)}.method.path`;
      case "on":
        if (first?.getText().slice(1, -1) !== "cancelled" || !second) break;
        return `${use(one)}.signal.addEventListener("abort", ${migration.print(second)})`;
    }
    return one.isEmitter ? emitterCall(node, one, migration) : undefined;
  }
  if (!ts.isPropertyAccessExpression(node)) return undefined;
  const one = handlerOf(node.expression, migration);
  if (one === undefined) return undefined;
  if (node.name.text === "request") {
    one.usesRequest = true;
    return one.request;
  }
  if (node.name.text === "metadata") return `${use(one)}.requestHeaders`;
  return node.name.text === "cancelled" ? `${use(one)}.signal.aborted` : undefined;
};

/** `callback({ code, message })` of a function that a handler passes its callback to. */
const passed: Rule = (node, migration) => {
  if (!ts.isCallExpression(node) || migration.typeName(node.expression) !== "sendUnaryData") return undefined;
  const [error, ...rest] = node.arguments;
  if (!error || isNothing(error)) return undefined;
  const given = [errorOf(error, migration), ...rest.map((one) => migration.print(one))];
  return `${migration.print(node.expression)}(${given.join(", ")})`;
};

/** The type of such a callback. */
const callbackType: Rule = (node, migration) => {
  if (!ts.isTypeReferenceNode(node) || migration.nameOf(node.typeName) !== "sendUnaryData") return undefined;
  const [value] = node.typeArguments ?? [];
  return `(error: unknown, value?: ${value ? migration.print(value) : "unknown"} | null) => void`;
};

/** A call of a method of a stream that stays one of Node. */
function emitterCall(node: ts.CallExpression, one: Handler, migration: Migration): string {
  const name = (node.expression as ts.PropertyAccessExpression).name.text;
  const [first, second] = node.arguments;
  const of = one.call.name.getText();
  const error = name === "destroy" ? first : name === "emit" && first?.getText().slice(1, -1) === "error" && second;
  if (error && one.isPromise) return `reject(${errorOf(error, migration)})`;
  if (error) {
    one.failure = migration.imports.free("failure");
    return `(${one.failure} = ${errorOf(error, migration)}, ${of}.end())`;
  }
  if (name === "end" && first) return `(${trailersOf(first, one, migration).slice(0, -1)}, ${of}.end())`;
  return methodCall(node, name, migration);
}

/** The statements that create the stream which is the call. A cancelled call does not end the program with an error. */
export function emitterText({ call, kind, request, failure }: Handler, migration: Migration): string {
  const create = (name: string): string => migration.imports.use("node:stream", name, call.parent);
  const name = call.name.getText();
  const error = failure === undefined ? [] : [`let ${failure}${migration.typed(": unknown")};`];
  const lines = (...all: readonly string[]): string =>
    [...error, ...all].join(`\n${migration.indentOf(call.parent)}  `);
  if (!kind.requests) return lines(`const ${name} = new ${create("PassThrough")}({ objectMode: true });`);
  if (!kind.responses)
    return lines(`const ${name} = ${create("Readable")}.from(${request});`, `${name}.on("error", () => {});`);
  const [responses, received] = ["responses", "received"].map((one) => migration.imports.free(one));
  return lines(
    `const ${responses} = new ${create("PassThrough")}({ objectMode: true });`,
    `const ${received} = ${request}[Symbol.asyncIterator]();`,
    `const ${name} = new ${create("Duplex")}({`,
    "  objectMode: true,",
    `  read() { ${received}.next().then(({ done, value }) => this.push(done ? null : value), () => this.destroy()); },`,
    `  write(response, _, done) { ${responses}.write(response, done); },`,
    `  final(done) { ${responses}.end(done); },`,
    `  destroy(error, done) { if (error) ${responses}.destroy(error); done(null); },`,
    "});",
  );
}

/** The responses of a call that is a stream, and its error after them. */
export function responsesText({ call, kind, failure }: Handler, migration: Migration): string {
  const all = kind.requests ? migration.imports.free("responses") : call.name.getText();
  if (failure === undefined) return all;
  return `(async function* () { yield* ${all}; if (${failure}) throw ${failure}; })()`;
}

/** `let max: number`, which a listener that becomes a loop may read before it sets it: the compiler checks loops only. */
const variable: Rule = (node, migration) => {
  if (!ts.isVariableDeclaration(node) || !node.type || node.initializer || node.exclamationToken) return undefined;
  const outer = functionOf(node);
  const isRead = (one: ts.Node): boolean =>
    ts.isIdentifier(one) &&
    one.text === node.name.getText() &&
    functionOf(one) !== outer &&
    outer !== undefined &&
    isInside(one, outer) &&
    migration.declared(one) === node;
  const type = migration.checker.getTypeAtLocation(node);
  const isChecked = type.getNonNullableType() === type && outer !== undefined && contains(outer, isRead);
  return isChecked ? `${node.name.getText()}!: ${migration.print(node.type)}` : undefined;
};

export const handlerBodyRules: readonly Rule[] = [variable, statement, member, passed, callbackType];
