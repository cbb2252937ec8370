/** The migration from nice-grpc and nice-grpc-web, with code of ts-proto. */
import { ts } from "ts-morph";
import { type Generated, generatedOf, useGenerated } from "./generated.ts";
import { code } from "./grpc-js.ts";
import { channelOptions, constantOf, listenOptions, timeoutOf, transportOptions } from "./grpc-names.ts";
import { createKind } from "./kind.ts";
import { messageRules } from "./messages.ts";
import type { Kind, Migration, Rule } from "./migration.ts";
import { middlewareRules } from "./nice-middleware.ts";

const MAIN = "triple-es";
const NODE = "triple-es/node";
const FETCH = "triple-es/fetch";

const names: Record<string, string> = {
  CallContext: `${MAIN} HandlerContext`,
  CallOptions: `${MAIN} CallOptions`,
  ChannelImplementation: `${NODE} ClosableTransport`,
  "nice-grpc-web:Channel": `${MAIN} Transport`,
  ClientError: `${MAIN} RpcError`,
  ServerError: `${MAIN} RpcError`,
  ClientMiddleware: `${MAIN} Interceptor`,
  ServerMiddleware: `${MAIN} Interceptor`,
  Metadata: `${MAIN} Metadata`,
  Server: `${NODE} Server`,
  Status: `${MAIN} Code`,
  ClientFactory: "!is a function of a transport: (transport) => ({ call: middleware(transport.call) })",
  createClientFactory: "!has no counterpart: pass interceptors to createTransport",
  retryMiddleware: "!is the option retry of createTransport",
  waitForChannelReady: "!is a call with waitForReady: true",
};

const members: Record<string, string> = {
  "CallContext.metadata": "requestHeaders",
  "CallContext.header": "responseHeaders",
  "CallContext.trailer": "responseTrailers",
  "CallContext.sendHeader": "sendHeaders",
  "CallOptions.metadata": "headers",
  "CallOptions.onHeader": "onHeaders",
  "CallOptions.onTrailer": "onTrailers",
  "ClientError.path": "method",
  ".details": "rawMessage",
  "Metadata.*": "=",
  "Server.shutdown": "close",
  "ChannelImplementation.close": "=",
  "MethodDescriptor.path": "=",
};

const same = "add code message signal name";

/** Names of generated code: definitions, implementations and clients. */
const generated: Rule = (node, migration) => {
  if (ts.isTypeReferenceNode(node) || ts.isExpressionWithTypeArguments(node)) return generatedType(node, migration);
  if (!ts.isIdentifier(node) || ts.isImportSpecifier(node.parent) || ts.isExportSpecifier(node.parent))
    return undefined;
  const of = definitionOf(node, migration);
  return of?.name === node.text.slice(0, -"Definition".length)
    ? useGenerated(`${of.name}Def`, "triple", of, node, migration)
    : undefined;
};

const generatedType: Rule = (node, migration) => {
  const reference = node as ts.TypeReferenceNode | ts.ExpressionWithTypeArguments;
  const name = ts.isTypeReferenceNode(reference) ? reference.typeName : reference.expression;
  const [argument] = reference.typeArguments ?? [];
  const old = migration.nameOf(name);
  if ((old === "Client" || old === "ServiceImplementation") && argument && ts.isTypeQueryNode(argument)) {
    const of = definitionOf(argument.exprName, migration);
    return of && useGenerated(`${of.name}${old === "Client" ? "Client" : "Handler"}`, "triple", of, node, migration);
  }
  const of = generatedOf(name, migration);
  if (of?.by !== "ts-proto") return undefined;
  if (of.name === "ServerStreamingMethodResult" && argument) return `AsyncIterable<${migration.print(argument)}>`;
  if (
    !ts.isInterfaceDeclaration(of.declaration) ||
    of.declaration.members.length === 0 ||
    of.declaration.members.some((one) => !ts.isMethodSignature(one))
  )
    return undefined;
  if (of.name.endsWith("Client")) return useGenerated(of.name, "triple", of, node, migration);
  if (!of.name.endsWith("Implementation")) return undefined;
  if (argument) migration.todo(node, "values of middleware are in context.values");
  const bare = of.name.slice(0, -"Implementation".length);
  // ts-proto adds "Service" to names without it.
  const isOwn = of.declaration.getSourceFile().text.includes(`${bare}Definition`);
  return useGenerated(`${isOwn ? bare : bare.slice(0, -"Service".length)}Handler`, "triple", of, node, migration);
};

/** The service of a definition, such as `GreeterDefinition`. */
function definitionOf(node: ts.Node, migration: Migration): Generated | undefined {
  const of = generatedOf(node, migration);
  if (of?.by !== "ts-proto" || !of.name.endsWith("Definition")) return undefined;
  return { ...of, name: of.name.slice(0, -"Definition".length) };
}

/** `createClient(GreeterDefinition, channel, { "*": options })`, also of a factory with middleware. */
const client: Rule = (node, migration) => {
  if (!ts.isCallExpression(node)) return undefined;
  const name = migration.nameOf(node.expression);
  if (name !== "createClient" && name !== "ClientFactory.create") return undefined;
  const [definition, channel, defaults] = node.arguments;
  const of = definition && definitionOf(definition, migration);
  if (!of || !channel) return undefined;
  const create = useGenerated(`create${of.name}Client`, "triple", of, node, migration);
  const factory = name === "createClient" ? undefined : (node.expression as ts.PropertyAccessExpression).expression;
  const middleware = factory ? middlewareOf(factory, migration) : [];
  const printed = migration.print(channel);
  const given = middleware
    ? transportOf(printed, middleware)
    : // A factory of elsewhere, which becomes a function of a transport.
      `${migration.print(factory as ts.Expression)}(${printed})`;
  return `${create}(${given}${defaults ? defaultsOf(defaults, migration) : ""})`;
};

/** A transport whose calls pass through middleware, the innermost first. */
function transportOf(transport: string, middleware: readonly string[]): string {
  if (middleware.length === 0) return transport;
  return `{ call: ${middleware.reduce((call, one) => `${one}(${call})`, `${transport}.call`)} }`;
}

/** A client factory that clients of elsewhere use, as a function of a transport. */
const factoryValue: Rule = (node, migration) => {
  if (!ts.isCallExpression(node) || migration.typeName(node) !== "ClientFactory") return undefined;
  if (ts.isPropertyAccessExpression(node.parent)) return undefined;
  const middleware = middlewareOf(node, migration);
  if (middleware === undefined) return undefined;
  const type = migration.typed(`: ${migration.imports.use(MAIN, "Transport", node)}`);
  const given = transportOf("transport", middleware);
  return `(transport${type})${type} => ${given.startsWith("{") ? `(${given})` : given}`;
};

/** The options of all calls. */
function defaultsOf(defaults: ts.Expression, migration: Migration): string {
  if (!ts.isObjectLiteralExpression(defaults)) return `, ${migration.print(defaults)}`;
  const all = defaults.properties.find(({ name }) => name && ts.isStringLiteral(name) && name.text === "*");
  if (defaults.properties.length > (all ? 1 : 0))
    migration.leave(defaults, "options of single methods are those of their calls");
  return all && ts.isPropertyAssignment(all) ? `, ${migration.print(all.initializer)}` : "";
}

/** The middleware of a client factory, the innermost first. */
function middlewareOf(factory: ts.Expression, migration: Migration): string[] | undefined {
  const chain = constantOf(factory, migration);
  if (!ts.isCallExpression(chain)) return undefined;
  if (migration.nameOf(chain.expression) === "createClientFactory") return [];
  if (migration.nameOf(chain.expression) !== "ClientFactory.use") return undefined;
  const before = middlewareOf((chain.expression as ts.PropertyAccessExpression).expression, migration);
  const [middleware] = chain.arguments;
  if (!before || !middleware) return undefined;
  // Timeouts are options of calls.
  return migration.nameOf(middleware) === "deadlineMiddleware" ? before : [...before, migration.print(middleware)];
}

/** A variable of a client factory, which its clients do not need. */
const factory: Rule = (node, migration) => {
  if (!ts.isVariableStatement(node) || node.modifiers || node.declarationList.flags & ts.NodeFlags.Let)
    return undefined;
  const [declaration, ...others] = node.declarationList.declarations;
  const initializer = others.length === 0 ? declaration?.initializer : undefined;
  return initializer && migration.typeName(initializer) === "ClientFactory" && middlewareOf(initializer, migration)
    ? ""
    : undefined;
};

const channel: Rule = (node, migration) => {
  if (!ts.isCallExpression(node) || migration.nameOf(node.expression) !== "createChannel") return undefined;
  if (migration.origin(node.expression)?.from !== "nice-grpc-web")
    return `${migration.imports.use(NODE, "createTransport", node)}(${transportOptions(node.arguments, migration)})`;
  const [url, options] = node.arguments;
  if (options) migration.leave(options, "options of requests are in the option fetch of createTransport");
  return `${migration.imports.use(FETCH, "createTransport", node)}({ baseUrl: ${url && migration.print(url)}, protocol: "grpc-web", codec: "proto" })`;
};

/** Servers: `createServer().use(middleware)`, `server.with(middleware).add(…)`, `listen`, `forceShutdown`. */
const server: Rule = (node, migration) => {
  if (userOf(node, migration)) return "";
  if (
    ts.isAwaitExpression(node) &&
    ts.isCallExpression(node.expression) &&
    migration.nameOf(node.expression.expression) === "Server.listen"
  ) {
    const text = `await ${migration.print(node.expression)}`;
    return ts.isExpressionStatement(node.parent) ? text : `(${text}).address.port`;
  }
  if (!ts.isCallExpression(node)) return undefined;
  const name = migration.nameOf(node.expression);
  if (name === "createServer" || name === "Server.use") return newServer(node, migration);
  if (!ts.isPropertyAccessExpression(node.expression)) return undefined;
  const target = node.expression.expression;
  const [first, second] = node.arguments;
  switch (name) {
    case "Server.add":
    case "ServerAddBuilder.add":
      return first && second && add(target, first, second, migration);
    case "Server.listen":
      if (node.arguments.length > 1) migration.todo(node, "TLS is the option tls of createServer");
      return `${migration.print(target)}.listen(${first ? listenOptions(first, migration) : ""})`;
    case "Server.forceShutdown":
      return `${ts.isExpressionStatement(node.parent) ? "void " : ""}${migration.print(target)}.close({ graceMs: 0 })`;
  }
  return undefined;
};

/** The variable of a server that uses middleware, by a statement beside the variable, on no condition. */
function userOf(node: ts.Node, migration: Migration) {
  const call = ts.isExpressionStatement(node) && ts.isCallExpression(node.expression) ? node.expression : undefined;
  if (!call || migration.nameOf(call.expression) !== "Server.use") return undefined;
  const server = migration.declared((call.expression as ts.PropertyAccessExpression).expression);
  return server?.parent?.parent?.parent === node.parent ? { server, middleware: call.arguments } : undefined;
}

function newServer(node: ts.CallExpression, migration: Migration): string | undefined {
  const used: string[] = [];
  let one: ts.Expression = node;
  while (ts.isCallExpression(one) && migration.nameOf(one.expression) === "Server.use") {
    used.unshift(...one.arguments.map((middleware) => migration.print(middleware)));
    one = (one.expression as ts.PropertyAccessExpression).expression;
  }
  if (!ts.isCallExpression(one) || migration.nameOf(one.expression) !== "createServer") return undefined;
  const variable = node.parent;
  const visit = (other: ts.Node): void => {
    const user = userOf(other, migration);
    if (user?.server === variable) used.push(...user.middleware.map((one) => migration.print(one)));
    other.forEachChild(visit);
  };
  visit(migration.file);
  const options = [
    ...channelOptions(one.arguments[0], migration),
    ...(used.length > 0 ? [`interceptors: [${used.join(", ")}]`] : []),
  ];
  return `${migration.imports.use(NODE, "createServer", node)}(${options.length > 0 ? `{ ${options.join(", ")} }` : ""})`;
}

function add(
  target: ts.Expression,
  definition: ts.Expression,
  implementation: ts.Expression,
  migration: Migration,
): string {
  const used: string[] = [];
  let one = target;
  while (
    ts.isCallExpression(one) &&
    ["Server.with", "ServerAddBuilder.with"].includes(migration.nameOf(one.expression) ?? "")
  ) {
    used.unshift(...one.arguments.map((middleware) => migration.print(middleware)));
    one = (one.expression as ts.PropertyAccessExpression).expression;
  }
  const of = migration.print(one);
  const old = migration.nameOf(definition);
  if (old === "HealthDefinition") return `${migration.imports.use("triple-es/health", "addHealth", one)}(${of})`;
  if (old === "ServerReflectionService")
    return `${migration.imports.use("triple-es/reflection", "addReflection", one)}(${of})`;
  const interceptors = used.length > 0 ? `, { interceptors: [${used.join(", ")}] }` : "";
  return `${of}.add(${migration.print(definition)}, ${migration.print(implementation)}${interceptors})`;
}

/** `Metadata(fields)`, `new ClientError(path, code, details)`, `context.peer`, and the option `deadline`. */
const value: Rule = (node, migration) => {
  if (ts.isCallExpression(node) && migration.nameOf(node.expression) === "Metadata")
    return `new ${migration.imports.use(MAIN, "Metadata", node)}(${node.arguments.map((one) => migration.print(one)).join(", ")})`;
  if (ts.isNewExpression(node) && migration.nameOf(node.expression) === "ClientError")
    return `new ${migration.imports.use(MAIN, "RpcError", node)}(${(node.arguments ?? [])
      .slice(1)
      .map((one) => migration.print(one))
      .join(", ")})`;
  if (ts.isPropertyAccessExpression(node) && migration.nameOf(node) === "CallContext.peer")
    return `String(${migration.print(node.expression)}.peer.address)`;
  if (ts.isPropertyAssignment(node) && migration.nameOf(node.name) === "DeadlineOptions.deadline") {
    const isOffset = migration.checker.getTypeAtLocation(node.initializer).flags & ts.TypeFlags.NumberLike;
    return isOffset ? `timeoutMs: ${migration.print(node.initializer)}` : timeoutOf(node.initializer, migration);
  }
  if (
    ts.isIntersectionTypeNode(node) &&
    node.types.some((one) => ts.isTypeReferenceNode(one) && migration.nameOf(one.typeName) === "CallContext")
  )
    migration.todo(node, "values of middleware are in context.values");
  return undefined;
};

export const niceGrpc: Kind = createKind({
  packages: [
    ...[
      "",
      "-common",
      "-web",
      "-server-health",
      "-server-reflection",
      "-error-details",
      "-prometheus",
      "-opentelemetry",
    ].map((name) => `nice-grpc${name}`),
    ...["deadline", "retry", "devtools", "logging"].map((name) => `nice-grpc-client-middleware-${name}`),
    ...["logging", "terminator", "access-log"].map((name) => `nice-grpc-server-middleware-${name}`),
    "@grpc/grpc-js",
  ],
  unsupported: {},
  section: "From nice-grpc",
  tools: ["ts-proto"],
  plugins: ["ts_proto", "ts-proto"],
  names,
  members,
  same,
  rules: [...middlewareRules, client, factory, factoryValue, channel, server, code, value, generated, ...messageRules],
});
