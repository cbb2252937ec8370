/** Handlers of grpc-js, functions of a call and a callback, as functions of a request and a context. */
import { ts } from "ts-morph";
import { type Generated, generatedBy, generatedOf, useGenerated, useInit } from "./generated.ts";
import { isAnswered, isTailCall } from "./grpc-handler-answers.ts";
import { emitterText, type Handler, handlerBodyRules, handlers, responsesText } from "./grpc-handler-body.ts";
import { AS_STREAM, whyNot } from "./grpc-handler-limits.ts";
import { type HandlerMethod, methodOf } from "./grpc-services.ts";
import { functionOf, inlined } from "./inline.ts";
import type { Migration, Rule } from "./migration.ts";
import { typeMessage } from "./protobuf-messages.ts";
import { contains, modifiersOf } from "./tree.ts";

const MAIN = "triple-es";
const CALLS: Readonly<Record<string, { readonly requests: boolean; readonly responses: boolean }>> = {
  ServerUnaryCall: { requests: false, responses: false },
  ServerReadableStream: { requests: true, responses: false },
  ServerWritableStream: { requests: false, responses: true },
  ServerDuplexStream: { requests: true, responses: true },
};

const handler: Rule = (node, migration) => {
  if (!ts.isFunctionLike(node) || !("body" in node) || !node.body) return undefined;
  const [call, callback] = node.parameters;
  const own = node as ts.FunctionLikeDeclaration;
  const kind = call && (CALLS[migration.typeName(call) ?? ""] ?? loadedKind(own));
  if (!call || !kind || !ts.isIdentifier(call.name)) return undefined;
  const passed = passedOn(own, migration);
  if (passed !== undefined) return passed;
  const { body } = node;
  const calls = usesOf(call, body, migration);
  const reason = isOther(methodOf(own), kind) ?? whyNot(own, calls, callback, kind, migration);
  if (reason !== undefined && reason !== AS_STREAM) {
    migration.leave(node, reason);
    return migration.verbatim(node);
  }
  const free = (names: readonly string[]): string => names.find((name) => !declares(body, name)) ?? "input";
  const uses = (callback === undefined ? [] : usesOf(callback, body, migration)).filter(
    (one) => inlined.get(functionOf(one) ?? one) !== "error",
  );
  const isUnanswered =
    !uses.every((one) => isTailCall(one, own)) || (!kind.responses && !isAnswered(body, own, callback));
  // The executor of a promise has no loop over the requests.
  const isEmitter = reason === AS_STREAM || (isUnanswered && kind.requests);
  for (const use of calls) {
    if (isEmitter) forgetListener(use);
    typeListener(use, call, migration);
  }
  const isPromise = isUnanswered || (isEmitter && callback !== undefined);
  const one: Handler = {
    node: own,
    kind,
    call,
    callback,
    isPromise,
    isEmitter,
    request: free([kind.requests ? "requests" : "request", "input"]),
    context: free(["context", "ctx"]),
    usesRequest: isEmitter && kind.requests,
    usesContext: false,
    failure: undefined,
  };
  for (const parameter of [call, callback]) if (parameter) handlers.set(parameter, one);
  return printed(one, migration);
};

/** The streams of the handler of a loaded service, whose parameters need no types. */
function loadedKind(node: ts.Node): Handler["kind"] | undefined {
  const { isLoaded = false, requests = false, responses = false } = methodOf(node) ?? {};
  return isLoaded ? { requests, responses } : undefined;
}

/** `(call, callback) => getOrder(call, callback)`, which is the handler `getOrder`. */
function passedOn({ body, parameters }: ts.FunctionLikeDeclaration, migration: Migration): string | undefined {
  if (!body || !ts.isCallExpression(body) || !ts.isIdentifier(body.expression)) return undefined;
  const [of, ...names] = [body, ...parameters].map((one) =>
    one === body ? "" : (one as ts.ParameterDeclaration).name.getText(),
  );
  const given = body.arguments.map((one) => one.getText());
  const isSame = of === "" && given.length === names.length && given.every((one, i) => one === names[i]);
  const declaration = migration.declared(body.expression);
  const called = declaration && ts.isVariableDeclaration(declaration) ? declaration.initializer : declaration;
  const [call] = called && ts.isFunctionLike(called) ? called.parameters : [];
  const isHandler = call && CALLS[migration.typeName(call) ?? ""] !== undefined;
  return isSame && isHandler ? migration.print(body.expression) : undefined;
}

function isOther(method: HandlerMethod | undefined, { requests, responses }: Handler["kind"]): string | undefined {
  const isSame = (method?.requests ?? requests) === requests && (method?.responses ?? responses) === responses;
  return isSame ? undefined : "the service declares a method with other streams";
}

/** The listener of a call that stays where it is. */
function forgetListener(use: ts.Identifier): void {
  const call = use.parent.parent;
  const listener = ts.isCallExpression(call) ? call.arguments[1] : undefined;
  if (listener) inlined.delete(listener);
}

/** Remembers the type of the requests that an untyped listener is called with. */
function typeListener({ parent }: ts.Identifier, call: ts.ParameterDeclaration, migration: Migration): void {
  const [event, listener] = ts.isCallExpression(parent.parent) ? parent.parent.arguments : [];
  const type = migration.checker.getTypeAtLocation(call).getNonNullableType();
  const [request] = type.aliasTypeArguments ?? [];
  if (event?.getText().slice(1, -1) === "data" && listener) typeMessage(listener, request);
}

function usesOf(parameter: ts.ParameterDeclaration, body: ts.Node, migration: Migration): ts.Identifier[] {
  const uses: ts.Identifier[] = [];
  const name = parameter.name.getText();
  const visit = (node: ts.Node): void => {
    if (ts.isIdentifier(node) && node.text === name && migration.declared(node) === parameter) uses.push(node);
    node.forEachChild(visit);
  };
  visit(body);
  return uses;
}

function declares(body: ts.Node, name: string): boolean {
  const isVariable = (node: ts.Node): node is ts.VariableDeclaration | ts.BindingElement | ts.ParameterDeclaration =>
    ts.isVariableDeclaration(node) || ts.isBindingElement(node) || ts.isParameter(node);
  return contains(body, (node) => isVariable(node) && node.name.getText() === name);
}

function printed(one: Handler, migration: Migration): string {
  const { node, kind } = one;
  const body = node.body as ts.Node;
  const types = typesOf(one, migration);
  let text = ts.isBlock(body)
    ? migration.print(body)
    : `{\n${migration.indentOf(node)}  ${expressionBody(body as ts.Expression, one, migration)}\n${migration.indentOf(node)}}`;
  const wasAsync = (node as ts.MethodDeclaration).modifiers?.some((one) => one.kind === ts.SyntaxKind.AsyncKeyword);
  const indent = migration.indentOf(node);
  if (one.isPromise) {
    const type = types ? `<${types.init()}>` : "";
    const callback = passedCallback(one, migration);
    if (callback !== "") text = text.replace("{", `{\n${indent}  ${callback}`);
    if (wasAsync) text = `void (async () => ${text})().catch(reject)`;
    const call = one.isEmitter ? `${emitterText(one, migration)}\n${indent}  ` : "";
    text = `{\n${indent}  ${call}return new Promise${type}((resolve, reject) => ${text});\n${indent}}`;
  } else if (one.isEmitter) {
    const name = one.call.name.getText();
    const begun = wasAsync ? `(async () => ${text})().catch((error) => ${name}.destroy(error));` : `(() => ${text})();`;
    const lines = [emitterText(one, migration), begun, `return ${responsesText(one, migration)};`];
    text = `{\n${indent}  ${lines.join(`\n${indent}  `)}\n${indent}}`;
  }
  const isTyped = types !== undefined;
  const request = `${one.request}${isTyped ? `: ${kind.requests ? `AsyncIterable<${types.request()}>` : types.request()}` : ""}`;
  const context = one.usesContext
    ? `${one.context}${isTyped ? `: ${migration.imports.use(MAIN, "HandlerContext", node.parameters[0] as ts.Node)}` : ""}`
    : "";
  const parameters = [one.usesRequest || context !== "" ? (one.usesRequest ? request : `_${request}`) : "", context]
    .filter((part) => part !== "")
    .join(", ");
  const star = kind.responses && !one.isEmitter ? "*" : "";
  const isAsync = !one.isPromise && !one.isEmitter;
  const head = `${modifiersOf(node)}${isAsync ? "async " : ""}`;
  if (ts.isArrowFunction(node))
    return star ? `${head}function* (${parameters}) ${text}` : `${head}(${parameters}) => ${text}`;
  const name = node.name ? migration.print(node.name) : "";
  if (ts.isFunctionDeclaration(node) || ts.isFunctionExpression(node))
    return `${head}function${star} ${name}(${parameters}) ${text}`;
  return `${head}${star}${name}(${parameters}) ${text}`;
}

/** The statement that declares the callback of a handler that passes it to other functions. */
function passedCallback({ node, callback }: Handler, migration: Migration): string {
  if (!callback || !node.body) return "";
  const isPassed = usesOf(callback, node.body, migration).some(
    ({ parent }) => !(ts.isCallExpression(parent) && parent.expression.getText() === callback.name.getText()),
  );
  const parameters = `error${migration.typed(": unknown")}, value${migration.typed("?: any")}`;
  return isPassed
    ? `const ${callback.name.getText()} = (${parameters}) => { if (error) reject(error); else resolve(value); };`
    : "";
}

/** The body of an arrow function without a block. */
function expressionBody(body: ts.Expression, one: Handler, migration: Migration): string {
  const text = migration.print(body);
  const isAnswer = ts.isCallExpression(body) && body.expression.getText() === one.callback?.name.getText();
  return one.isPromise || isAnswer ? `${text};` : `return ${text};`;
}

/** The types of the messages, if the parameters or a variable have types of their own. */
function typesOf({ call, node }: Handler, migration: Migration) {
  const own =
    call.type ??
    (ts.isVariableDeclaration(node.parent) || ts.isPropertyDeclaration(node.parent) ? node.parent.type : undefined);
  const [request, response] = own && ts.isTypeReferenceNode(own) ? (own.typeArguments ?? []) : [];
  const method = methodOf(node);
  if (!request || !response)
    return method?.isLoaded && isUntyped(call) ? loadedTypes(method, call.type ?? call, migration) : undefined;
  const other = (given: ts.TypeNode, type: ts.Type | undefined): Generated | undefined => {
    const [declaration] =
      type?.symbol === migration.checker.getTypeAtLocation(given).symbol ? [] : (type?.symbol.declarations ?? []);
    return declaration && generatedBy(declaration);
  };
  const named = ts.isTypeReferenceNode(response) ? generatedOf(response.typeName, migration) : undefined;
  const of = other(response, method?.response) ?? named;
  const requested = other(request, method?.request);
  return {
    request: () =>
      requested ? useGenerated(requested.name, "pb", requested, request, migration) : migration.print(request),
    init: () => (of ? useInit(of, response, migration) : "object"),
  };
}

/** Reports whether a parameter has no type, nor gets one from what its function is passed to. */
function isUntyped({ type, parent }: ts.ParameterDeclaration): boolean {
  return type?.kind === ts.SyntaxKind.AnyKeyword || ts.isFunctionDeclaration(parent);
}

/** The types of the messages that a loaded service declares. */
function loadedTypes({ request, response }: HandlerMethod, at: ts.Node, migration: Migration) {
  const [requested, of] = [request, response].map(
    ({ symbol }) => symbol.declarations?.[0] && generatedBy(symbol.declarations[0]),
  );
  return {
    request: () => (requested ? useGenerated(requested.name, "pb", requested, at, migration) : "any"),
    init: () => (of ? useInit(of, at, migration) : "object"),
  };
}

/** A variable or property whose type is that of a handler: `handleUnaryCall<Request, Response>`. */
const declared: Rule = (node, migration) => {
  if (!(ts.isVariableDeclaration(node) || ts.isPropertyDeclaration(node)) || !node.type || !node.initializer)
    return undefined;
  const name = ts.isTypeReferenceNode(node.type) ? migration.nameOf(node.type.typeName) : undefined;
  if (!name?.startsWith("handle")) return undefined;
  const text = migration.print(node.initializer);
  return `${modifiersOf(node)}${node.name.getText()} = ${text}${ts.isPropertyDeclaration(node) ? ";" : ""}`;
};

export const handlerRules: readonly Rule[] = [declared, handler, ...handlerBodyRules];
