/** Transports of Connect for ECMAScript, and the adapters that serve its routes. */
import { ts } from "ts-morph";
import { type Migration, type Rule, statementOf } from "./migration.ts";

const NODE = "triple-es/node";

/** Adapters, by the function that serves a router in their place. */
const ADAPTERS: Readonly<Record<string, string>> = {
  connectNodeAdapter: "nodeHandler",
  expressConnectMiddleware: "nodeHandler",
};
/** Options of adapters that are those of the handler; the others are those of the router. */
const HANDLER_OPTIONS = ["requestPathPrefix", "contextValues"];

const adapter: Rule = (node, migration) => {
  if (!ts.isCallExpression(node)) return undefined;
  const handler = ADAPTERS[migration.nameOf(node.expression) ?? ""];
  const [options] = node.arguments;
  if (handler === undefined || !isLiteral(options)) return undefined;
  const served = routerOf(options, NODE, node, migration);
  if (served === undefined) return undefined;
  const own = printed(options, (name) => HANDLER_OPTIONS.includes(name), migration);
  const given = own.length > 0 ? `, { ${own.join(", ")} }` : "";
  return `${migration.imports.use(NODE, handler, node)}(${served}${given})`;
};

/** `app.register(fastifyConnectPlugin, { routes })`. */
const fastify: Rule = (node, migration) => {
  if (!ts.isCallExpression(node)) return undefined;
  const [plugin, options] = node.arguments;
  if (migration.nameOf(plugin) !== "fastifyConnectPlugin" || !isLiteral(options)) return undefined;
  const served = routerOf(options, NODE, node, migration);
  if (served === undefined) return undefined;
  const router = served === "router" ? "router" : `router: ${served}`;
  const own = [router, ...printed(options, (name) => [...HANDLER_OPTIONS, "prefix"].includes(name), migration)];
  return `${migration.print(node.expression)}(${migration.imports.use("triple-es/fastify", "fastifyRpc", node)}, { ${own.join(", ")} })`;
};

/** `createRouterTransport(routes, { router, transport })`. */
const routerTransport: Rule = (node, migration) => {
  if (!ts.isCallExpression(node) || migration.nameOf(node.expression) !== "createRouterTransport") return undefined;
  const [routes, options] = node.arguments;
  const given = (name: string): ts.Expression | undefined =>
    isLiteral(options) ? initializerOf(options, name) : undefined;
  const router = given("router");
  const transport = given("transport");
  if (routes === undefined) return undefined;
  const served = serve(routes, router ? migration.print(router) : "", "triple-es", node, migration);
  if (served === undefined) return undefined;
  const create = migration.imports.use("triple-es", "createInMemoryTransport", node);
  return `${create}(${served}${transport ? `, ${migration.print(transport)}` : ""})`;
};

function routerOf(
  options: ts.ObjectLiteralExpression,
  module: string,
  node: ts.Node,
  migration: Migration,
): string | undefined {
  const routes = initializerOf(options, "routes");
  if (routes === undefined) return undefined;
  const fallback = options.properties.find(({ name }) => name?.getText() === "fallback");
  if (fallback)
    migration.todo(
      fallback,
      "the fallback is the third argument of the handler: nodeHandler(router)(request, response, next)",
    );
  const own = printed(
    options,
    (name) => ![...HANDLER_OPTIONS, "routes", "prefix", "fallback"].includes(name),
    migration,
  );
  return serve(routes, own.length > 0 ? `{ ${own.join(", ")} }` : "", module, node, migration);
}

/** Returns an expression for a router with the routes, which may be created in statements before that of the node. */
function serve(
  routes: ts.Expression,
  options: string,
  module: string,
  node: ts.Node,
  migration: Migration,
): string | undefined {
  const chain = chainOf(routes, migration);
  if (chain !== undefined) return `${migration.imports.use(module, "createRouter", node)}(${options})${chain}`;
  for (let one: ts.Node = node; one !== statementOf(node); one = one.parent) {
    if (ts.isFunctionLike(one)) return undefined;
  }
  const name = migration.imports.unique("router");
  const isInline = ts.isArrowFunction(routes) || ts.isFunctionExpression(routes);
  const given = isInline ? `(${migration.print(routes)})` : migration.print(routes);
  const create = migration.imports.use(module, "createRouter", node);
  migration.insertBefore(node, `const ${name} = ${create}(${options});`, `${given}(${name});`);
  return name;
}

/** The calls of `add` for a function that only adds services: `(router) => router.service(GreetService, greeter)`. */
function chainOf(routes: ts.Expression, migration: Migration): string | undefined {
  if (!ts.isArrowFunction(routes) || routes.parameters.length !== 1) return undefined;
  const { body } = routes;
  const statements = ts.isBlock(body) ? body.statements : [];
  const calls = ts.isBlock(body)
    ? statements.map((one) => (ts.isExpressionStatement(one) || ts.isReturnStatement(one) ? one.expression : undefined))
    : [body];
  const comments = statements.some((one) => ts.getLeadingCommentRanges(migration.file.text, one.pos));
  const [parameter] = routes.parameters;
  if (calls.length === 0 || comments || parameter === undefined) return undefined;
  const texts = calls.map((call) => call && chained(call, parameter.name, migration));
  return texts.includes(undefined)
    ? undefined
    : texts.join(`\n${migration.indentOf(routes)}  `.repeat(Number(texts.length > 1)) || "");
}

function chained(call: ts.Expression, parameter: ts.BindingName, migration: Migration): string | undefined {
  if (!ts.isCallExpression(call)) return undefined;
  const given = (): string => `.add(${addArguments(call, migration)})`;
  const { expression } = call;
  if (ts.isObjectBindingPattern(parameter)) {
    const isService = parameter.elements.some(
      (one) => one.getText() === expression.getText() && expression.getText() === "service",
    );
    return isService ? given() : undefined;
  }
  if (!ts.isPropertyAccessExpression(expression) || expression.name.text !== "service") return undefined;
  if (expression.expression.getText() === parameter.getText()) return given();
  const before = chained(expression.expression, parameter, migration);
  return before && `${before}${given()}`;
}

function addArguments(call: ts.CallExpression, migration: Migration): string {
  const [service, implementation, ...rest] = call.arguments;
  const whole = service && implementation && withAllMethods(service, implementation, migration);
  return [
    service && migration.print(service),
    whole ?? (implementation && migration.print(implementation)),
    ...rest.map((one) => migration.print(one)),
  ]
    .filter((one) => one !== undefined)
    .join(", ");
}

/** `router.service(GreetService, implementation)`, whose implementation may lack methods. */
const service: Rule = (node, migration) => {
  if (!ts.isCallExpression(node)) return undefined;
  const { expression } = node;
  // The name of a destructured parameter, `({ service }) => …`.
  const bound = ts.isIdentifier(expression) ? migration.declared(expression) : undefined;
  const name = ts.isPropertyAccessExpression(expression)
    ? expression.name
    : bound && ts.isBindingElement(bound)
      ? (bound.propertyName ?? bound.name)
      : undefined;
  return migration.nameOf(name) === "ConnectRouter.service"
    ? `${migration.print(expression)}(${addArguments(node, migration)})`
    : undefined;
};

/** An implementation with the methods that it lacks, which Connect adds itself. */
function withAllMethods(
  service: ts.Expression,
  implementation: ts.Expression,
  migration: Migration,
): string | undefined {
  const { checker } = migration;
  const methods = checker.getTypeAtLocation(service).getProperty("method");
  const given = checker.getTypeAtLocation(implementation);
  if (methods === undefined || given.flags & ts.TypeFlags.Any) return undefined;
  const lacking = checker
    .getTypeOfSymbolAtLocation(methods, service)
    .getProperties()
    .map(({ name }) => name)
    .filter((name) => {
      const own = given.getProperty(name);
      return !own || own.flags & ts.SymbolFlags.Optional;
    });
  if (lacking.length === 0) return undefined;
  if (given.isClass()) {
    migration.leave(implementation, `the class lacks ${lacking.join(", ")}: use unimplemented(context)`);
    return undefined;
  }
  const unimplemented = migration.imports.use("triple-es", "unimplemented", service);
  const added = lacking.map((name) => `${name}: (_, context) => ${unimplemented}(context)`).join(", ");
  const text = migration.print(implementation);
  return isLiteral(implementation) ? text.replace("{", `{ ${added},`) : `{ ${added}, ...${text} }`;
}

/** Transports, whose protocol may be another one. */
const transport: Rule = (node, migration) => {
  if (!ts.isCallExpression(node)) return undefined;
  const origin = migration.origin(node.expression);
  const [options] = node.arguments;
  if (!origin?.name.endsWith("Transport") || origin.name === "createRouterTransport" || options === undefined)
    return undefined;
  const { name, from } = origin;
  if (!isLiteral(options)) {
    migration.todo(node, "its options are elsewhere: useBinaryFormat is codec, and the protocol is HTTP RPC or gRPC");
    if (name !== "createGrpcWebTransport") return undefined;
    return `${migration.print(node.expression)}({ codec: "proto", ...${migration.print(options)}, protocol: "grpc-web" })`;
  }
  const isHttp1 = initializerOf(options, "httpVersion")?.getText().includes("1.1") ?? false;
  const added: string[] = [];
  if (name === "createGrpcWebTransport") {
    added.push('protocol: "grpc-web"');
    if (initializerOf(options, "useBinaryFormat") === undefined) added.push('codec: "proto"');
  } else if (name === "createConnectTransport") {
    const isRpc = isHttp1 || from !== "@connectrpc/connect-node";
    if (from === "@connectrpc/connect-node" && isHttp1) added.push('protocol: "http-rpc"', 'httpVersion: "1.1"');
    migration.todo(
      node,
      `the transport speaks ${isRpc ? "HTTP RPC" : "gRPC"}, not the Connect protocol: migrate its server too`,
    );
  }
  const text = migration.print(options);
  const [first] = options.properties;
  const isLong =
    first !== undefined &&
    migration.text(options).slice(1).trimStart() !== migration.text(options).slice(1) &&
    migration.text(options)[1] === "\n";
  const separator = isLong ? `\n${migration.indentOf(first)}` : " ";
  const whole = added.length === 0 ? text : text.replace("{", `{${separator}${added.join(`,${separator}`)},`);
  return `${migration.print(node.expression)}(${whole})`;
};

/** `useBinaryFormat`, which is a codec. */
const codec: Rule = (node, migration) => {
  if (!ts.isPropertyAssignment(node) || !migration.nameOf(node.name)?.endsWith(".useBinaryFormat")) return undefined;
  const value = migration.print(node.initializer);
  if (value === "true" || value === "false") return `codec: "${value === "true" ? "proto" : "json"}"`;
  return `codec: ${value} ? "proto" : "json"`;
};

function isLiteral(node: ts.Node | undefined): node is ts.ObjectLiteralExpression {
  return node !== undefined && ts.isObjectLiteralExpression(node);
}

function initializerOf(options: ts.ObjectLiteralExpression, name: string): ts.Expression | undefined {
  const property = options.properties.find((one) => one.name?.getText() === name);
  if (property && ts.isShorthandPropertyAssignment(property)) return property.name;
  return property && ts.isPropertyAssignment(property) ? property.initializer : undefined;
}

function printed(
  options: ts.ObjectLiteralExpression,
  isOwn: (name: string) => boolean,
  migration: Migration,
): string[] {
  return options.properties
    .filter((one) => isOwn(one.name?.getText() ?? ""))
    .map((one) => migration.print(one))
    .filter((text) => text !== "");
}

export const adapterRules: readonly Rule[] = [adapter, fastify, routerTransport, service, transport, codec];
