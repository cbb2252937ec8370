/** Streams of clients of grpc-js, with writes and listeners, as async iterables. */
import { ts } from "ts-morph";
import { type ClientCall, clientCall, continued, newCall } from "./grpc-calls.ts";
import { functionOf, inlined, inlinedBody } from "./inline.ts";
import type { Migration, Rule } from "./migration.ts";
import { typeMessage } from "./protobuf-messages.ts";
import { contains, isFunction, uses } from "./tree.ts";

/** A call with a stream in a variable: `const call = client.watch(request); call.on("data", …)`. */
const stream: Rule = (node, migration) => {
  if (!ts.isVariableStatement(node) || node.declarationList.declarations.length !== 1) return undefined;
  const [declaration] = node.declarationList.declarations;
  const call = declaration?.initializer && clientCall(declaration.initializer, migration);
  if (!declaration || !call || call.type === "ClientUnaryCall" || !ts.isIdentifier(declaration.name)) return undefined;
  const parts = partsOf(declaration.name.text, node, call);
  const data = parts?.listeners.get("data");
  if (data) typeMessage(data, responseOf(call.node, migration));
  if (parts === undefined) return emitter(node, declaration, call, migration);
  if (parts.isIterated) return undefined;
  const indent = migration.indentOf(node);
  const requests =
    parts.sent &&
    `(async function* () {\n${parts.sent.map((one) => `${indent}  ${migration.print(one)}\n`).join("")}${indent}})()`;
  const last = parts.all.at(-1);
  if (!parts.sent && last) {
    for (const one of parts.all) if (one !== last) migration.dropped.add(one);
    // Statements between, such as variables, come before their uses in listeners.
    loops.set(last, () => `${iterated(newCall(call, undefined, migration), parts.listeners, indent, migration)};`);
    return "";
  }
  for (const one of parts.all) migration.dropped.add(one);
  const begun = newCall(call, requests, migration);
  if (call.callback) return `${continued(begun, call.callback, migration)};`;
  return `${iterated(begun, parts.listeners, indent, migration)};`;
};

/** A stream that is written or listened to in another form, as a stream of Node. */
function emitter(
  node: ts.VariableStatement,
  declaration: ts.VariableDeclaration,
  call: ClientCall,
  migration: Migration,
): string | undefined {
  const head = node.getText().slice(0, declaration.getStart() - node.getStart());
  const name = declaration.name.getText();
  if (call.type !== "ClientWritableStream") return `${head}${name} = ${streamOf(call, migration)};`;
  const create = migration.imports.use("node:stream", "PassThrough", node);
  const begun = newCall(call, name, migration);
  const done = call.callback ? continued(begun, call.callback, migration) : begun;
  return `${head}${name} = new ${create}({ objectMode: true });\n${migration.indentOf(node)}${done};`;
}

/** A call with a stream of responses, as a stream of Node. */
function streamOf(call: ClientCall, migration: Migration): string {
  if (call.type === "ClientReadableStream")
    return `${migration.imports.use("node:stream", "Readable", call.node)}.from(${newCall(call, undefined, migration)})`;
  const create = migration.imports.use("node:stream", "Duplex", call.node);
  const requests = `(requests${migration.typed(": AsyncIterable<any>")})`;
  return `${create}.from(${requests} => ${newCall(call, "requests", migration)})`;
}

/** Calls of a stream that stays an emitter or is passed on. Those of Node have them too, but for `cancel` and some events. */
const emitterUse: Rule = (node, migration) => {
  if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return undefined;
  const { expression, name } = node.expression;
  const object = emitterOf(expression);
  if (!/^Client\w+Stream$/.test(migration.typeName(object) ?? "")) return undefined;
  const event = name.text === "on" ? node.arguments[0]?.getText().slice(1, -1) : undefined;
  if (event === "data" && node.arguments[1]) typeMessage(node.arguments[1], responseOf(object, migration));
  if (event !== undefined && OPTIONS[event] !== undefined)
    migration.todo(node, `the listener of ${event} does not run: it ${OPTIONS[event]}`);
  if (name.text === "getPeer") return undefined;
  return methodCall(node, name.text === "cancel" ? "destroy" : name.text, migration);
};

/** The text of a call of a method, whose name may differ. */
export function methodCall(node: ts.CallExpression, name: string, migration: Migration): string {
  const { expression, questionDotToken } = node.expression as ts.PropertyAccessExpression;
  return `${migration.print(expression)}${questionDotToken ? "?." : "."}${name}(${node.arguments.map((one) => migration.print(one)).join(", ")})`;
}

/** The object on which a chain of `on` is called. */
export function emitterOf(node: ts.Expression): ts.Expression {
  return ts.isCallExpression(node) &&
    ts.isPropertyAccessExpression(node.expression) &&
    node.expression.name.text === "on"
    ? emitterOf(node.expression.expression)
    : node;
}

/** `this.call = client.chat()` and `client.send(callback)`, whose streams are written to elsewhere. */
const writable: Rule = (node, migration) => {
  const call = clientCall(node, migration);
  if (call?.type === "ClientDuplexStream") return streamOf(call, migration);
  if (call?.type !== "ClientWritableStream" || !call.callback) return undefined;
  const requests = migration.imports.free("requests");
  const done = continued(newCall(call, requests, migration), call.callback, migration);
  const create = migration.imports.use("node:stream", "PassThrough", call.node);
  return `((${requests}) => (${done}, ${requests}))(new ${create}({ objectMode: true }))`;
};

/** The loops over responses that replace the last listeners of streams. */
const loops = new WeakMap<ts.Node, () => string>();

const loop: Rule = (node) => loops.get(node)?.();

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
      if (listeners.has(event[0])) return undefined;
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

/** The type of the responses of a stream. */
function responseOf(stream: ts.Node, { checker }: Migration): ts.Type | undefined {
  return checker.getTypeAtLocation(stream).getNonNullableType().aliasTypeArguments?.at(-1);
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
function isWriting(statement: ts.Node, name: string, outer: ts.Node | undefined): boolean {
  const isWrite = (node: ts.Node): boolean =>
    ts.isPropertyAccessExpression(node.parent) &&
    node.parent.name.text === "write" &&
    ts.isCallExpression(node.parent.parent) &&
    ts.isExpressionStatement(node.parent.parent.parent) &&
    functionOf(node) === outer;
  return !contains(statement, (node) => ts.isIdentifier(node) && node.text === name && !isWrite(node));
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

/** The options in place of listeners. */
const OPTIONS: Readonly<Record<string, string>> = {
  metadata: "is the option onHeaders",
  status: "is the option onTrailers",
};

/** A loop over responses in place of listeners. */
function iterated(call: string, listeners: Parts["listeners"], indent: string, migration: Migration): string {
  const [data, end, error] = ["data", "end", "error"].map((event) => listeners.get(event));
  for (const [event, one] of listeners) {
    if (!["data", "end", "error"].includes(event))
      migration.leave(one, `the listener of ${event} ${OPTIONS[event] ?? "has no counterpart"}`);
  }
  if (data) inlined.set(data, "data");
  if (end) inlined.set(end, "last");
  const inner = error ? `${indent}    ` : `${indent}  `;
  const name = (listener: ts.Expression | undefined, other: string): string =>
    (isFunction(listener) && listener.parameters[0]?.name.getText()) || other;
  const body = (listener: ts.Expression, value: string): string =>
    isFunction(listener) ? inlinedBody(listener, migration) : `${migration.print(listener)}(${value});`;
  const loop = [
    `for await (const ${name(data, "message")} of ${call}) {`,
    ...(data ? [`  ${body(data, "message")}`] : []),
    "}",
    ...(end ? [body(end, "")] : []),
  ].map((line) => `${inner}${line}`);
  const failed = error
    ? [
        `${indent}  } catch (${name(error, "error")}${migration.typed(": any")}) {`,
        `${indent}    ${body(error, "error")}`,
        `${indent}  }`,
      ]
    : [];
  return ["void (async () => {", ...(error ? [`${indent}  try {`] : []), ...loop, ...failed, `${indent}})()`].join(
    "\n",
  );
}

/** `client.watch(request)` whose stream is iterated over or passed on, and chains of `on`. */
const iterable: Rule = (node, migration) => {
  const call = clientCall(node, migration);
  if (call?.type !== "ClientReadableStream") return undefined;
  const isUsed = ts.isPropertyAccessExpression(node.parent) || isListened(node, migration);
  return isUsed && !ts.isForOfStatement(node.parent) ? streamOf(call, migration) : newCall(call, undefined, migration);
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
    const name = event?.getText().slice(1, -1) ?? "";
    if (!listener || listeners.has(name)) return undefined;
    listeners.set(name, listener);
    one = one.expression.expression;
  }
  const call = listeners.size > 0 ? clientCall(one, migration) : undefined;
  if (call?.type !== "ClientReadableStream") return undefined;
  const data = listeners.get("data");
  if (data) typeMessage(data, responseOf(call.node, migration));
  return `${iterated(newCall(call, undefined, migration), listeners, migration.indentOf(node), migration)};`;
};

/** Types of streams that stay those of Node. */
const STREAMS: Readonly<Record<string, string>> = {
  ClientDuplexStream: "Duplex",
  ClientWritableStream: "Writable",
  ServerDuplexStream: "Duplex",
  ServerWritableStream: "Writable",
};

/** The types of responses whose streams are listened to elsewhere than where a client is called. */
const listened = new WeakSet<ts.Type>();

/** Finds, before files are migrated, streams of responses that are passed on and used as those of Node. */
export function findStreams(migration: Migration): void {
  contains(migration.file, (node) => {
    if (!ts.isPropertyAccessExpression(node) || migration.typeName(node.expression) !== "ClientReadableStream")
      return false;
    const object = emitterOf(node.expression);
    const response = responseOf(object, migration);
    if (response && !clientCall(migration.initializer(object) ?? object, migration)) listened.add(response);
    return false;
  });
}

function isListened(stream: ts.Node, migration: Migration): boolean {
  const response = responseOf(stream, migration);
  return response !== undefined && listened.has(response);
}

/** `ClientReadableStream<Order>` and `ReturnType<OrderClient["watch"]>` as types. */
const streamType: Rule = (node, migration) => {
  if (!ts.isTypeReferenceNode(node)) return undefined;
  const isReturned = node.typeName.getText() === "ReturnType";
  const name = isReturned ? migration.typeName(node) : migration.nameOf(node.typeName);
  const isReadable = name === "ClientReadableStream" && isListened(node, migration);
  const own = isReadable ? "Readable" : STREAMS[name ?? ""];
  if (own !== undefined) return migration.imports.use("node:stream", own, node);
  if (name !== "ClientReadableStream" || isReturned) return undefined;
  return `AsyncIterable<${node.typeArguments?.map((one) => migration.print(one)).join(", ")}>`;
};

export const streamRules: readonly Rule[] = [streamType, write, loop, stream, emitterUse, chain, iterable, writable];
