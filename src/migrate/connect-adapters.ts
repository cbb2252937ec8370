/** Transports of Connect for ECMAScript, and the adapters that serve its routes. */
import { ts } from "ts-morph";
import { type Migration, type Rule, statementOf } from "./migration.ts";

const NODE = "triple-es/node";

/** Adapters, by the function that serves a router in their place. */
const ADAPTERS: Readonly<Record<string, string>> = {
  connectNodeAdapter: "nodeHandler",
  expressConnectMiddleware: "nodeHandler",
  nextJsApiRouter: "nodeHandler",
};
/** Options of adapters that are those of the handler; the others are those of the router. */
const HANDLER_OPTIONS = ["requestPathPrefix", "contextValues"];

const adapter: Rule = (node, migration) => {
  if (!ts.isCallExpression(node)) return undefined;
  const name = migration.nameOf(node.expression);
  const handler = ADAPTERS[name ?? ""];
  const [options] = node.arguments;
  if (handler === undefined || !isLiteral(options)) return undefined;
  const served = routerOf(options, NODE, node, migration);
  if (served === undefined) return undefined;
  const isNext = name === "nextJsApiRouter";
  const isOwn = (option: string): boolean => HANDLER_OPTIONS.includes(option) || (isNext && option === "prefix");
  const own = printed(options, isOwn, migration);
  if (isNext && initializerOf(options, "prefix") === undefined) own.unshift('prefix: "/api"');
  const given = own.length > 0 ? `, { ${own.join(", ")} }` : "";
  const text = `${migration.imports.use(NODE, handler, node)}(${served}${given})`;
  // The module of a page of Next.js exports both.
  return isNext ? `{ handler: ${text}, config: { api: { bodyParser: false } } }` : text;
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
  const name = migration.imports.unique("router");
  const isInline = ts.isArrowFunction(routes) || ts.isFunctionExpression(routes);
  const given = isInline ? `(${migration.print(routes)})` : migration.print(routes);
  const create = migration.imports.use(module, "createRouter", node);
  for (let one: ts.Node = node; one !== statementOf(node); one = one.parent) {
    // An arrow function without a block has no place for statements.
    if (ts.isFunctionLike(one)) return `((${name}) => { ${given}(${name}); return ${name}; })(${create}(${options}))`;
  }
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
  return routerMember(node.expression, migration) === "service"
    ? `${migration.print(node.expression)}(${addArguments(node, migration)})`
    : undefined;
};

/** An implementation with the methods that it lacks, which Connect adds itself. */
function withAllMethods(
  service: ts.Expression,
  implementation: ts.Expression,
  migration: Migration,
): string | undefined {
  const { checker } = migration;
  const given = checker.getTypeAtLocation(implementation);
  if (given.flags & ts.TypeFlags.Any) return undefined;
  const lacking = methodsOf(service, migration).filter((name) => {
    const own = given.getProperty(name);
    return !own || own.flags & ts.SymbolFlags.Optional;
  });
  if (lacking.length === 0) return undefined;
  if (given.isClass()) {
    migration.leave(implementation, `the class lacks ${lacking.join(", ")}: use unimplemented(context)`);
    return undefined;
  }
  const added = unimplemented(lacking, service, migration).join(", ");
  const text = migration.print(implementation);
  return isLiteral(implementation) ? text.replace("{", `{ ${added},`) : `{ ${added}, ...${text} }`;
}

function methodsOf(service: ts.Expression, { checker }: Migration): string[] {
  const methods = checker.getTypeAtLocation(service).getProperty("method");
  const names = methods && checker.getTypeOfSymbolAtLocation(methods, service).getProperties();
  return (names ?? []).map(({ name }) => name);
}

function unimplemented(names: readonly string[], at: ts.Node, migration: Migration): string[] {
  if (names.length === 0) return [];
  const thrower = migration.imports.use("triple-es", "unimplemented", at);
  return names.map((name) => `${name}: (_, context) => ${thrower}(context)`);
}

/** A chain of `router.rpc(GreetService.method.greet, greet)`: the routes of single methods, and what they are called on. */
interface Rpcs {
  readonly on: string;
  readonly base: ts.Expression;
  readonly routes: readonly Rpc[];
}

interface Rpc {
  readonly service: ts.Expression;
  readonly method: string;
  readonly implementation: ts.Expression;
}

function rpcsOf(node: ts.Node | undefined, migration: Migration): Rpcs | undefined {
  const routes: Rpc[] = [];
  let one = node as ts.Expression | undefined;
  while (one && ts.isCallExpression(one) && routerMember(one.expression, migration) === "rpc") {
    const [method, implementation, ...rest] = one.arguments;
    if (!method || !implementation || rest.length > 0 || !ts.isPropertyAccessExpression(method)) return undefined;
    if (!ts.isPropertyAccessExpression(method.expression) || method.expression.name.text !== "method") return undefined;
    routes.unshift({ service: method.expression.expression, method: method.name.text, implementation });
    if (ts.isIdentifier(one.expression)) return { on: one.expression.text, base: one.expression, routes };
    one = (one.expression as ts.PropertyAccessExpression).expression;
  }
  return one && routes.length > 0 ? { on: `${one.getText()}.rpc`, base: one, routes } : undefined;
}

/** Routes of single methods, which are those of services. Those of a block are added by its last statement of them. */
const rpc: Rule = (node, migration) => {
  if (ts.isExpressionStatement(node)) {
    const found = rpcsOf(node.expression, migration);
    return found && sharedBy(node, found, migration).at(-1)?.statement !== node ? "" : undefined;
  }
  if (!ts.isCallExpression(node) || routerMember(node.expression, migration) !== "rpc") return undefined;
  const own = rpcsOf(node, migration);
  if (own === undefined) {
    migration.leave(node, "the route of a method has another form: add the whole service");
    return undefined;
  }
  const services = new Map<string, Rpc[]>();
  for (const one of sharedBy(node.parent, own, migration).flatMap(({ routes }) => routes)) {
    const text = one.service.getText();
    services.set(text, [...(services.get(text) ?? []), one]);
  }
  const calls = [...services.values()].map((routes) => {
    const { service } = routes[0] as Rpc;
    const given = routes.map(({ method, implementation }) => {
      const text = migration.print(implementation);
      return text === method ? method : `${method}: ${text}`;
    });
    const lacking = methodsOf(service, migration).filter((name) => routes.every(({ method }) => method !== name));
    const members = [...unimplemented(lacking, service, migration), ...given].join(", ");
    return `(${migration.print(service)}, { ${members} })`;
  });
  const base = migration.print(own.base);
  return ts.isIdentifier(own.base) && own.on === base
    ? `${base}${calls.join(".add")}`
    : `${base}${calls.map((call) => `.add${call}`).join("")}`;
};

/** The statements of a block with routes of the same router. */
function sharedBy(statement: ts.Node, own: Rpcs, migration: Migration) {
  const { parent } = statement;
  if (!ts.isExpressionStatement(statement) || !ts.isBlock(parent)) return [{ statement, routes: own.routes }];
  return parent.statements.flatMap((one: ts.Node) => {
    const found = ts.isExpressionStatement(one) ? rpcsOf(one.expression, migration) : undefined;
    return found?.on === own.on ? [{ statement: one, routes: found.routes }] : [];
  });
}

/** The member of a router that is called, also by the name of a destructured parameter, `({ service }) => …`. */
function routerMember(callee: ts.Expression, migration: Migration): string | undefined {
  const bound = ts.isIdentifier(callee) ? migration.declared(callee) : undefined;
  const name = ts.isPropertyAccessExpression(callee)
    ? callee.name
    : bound && ts.isBindingElement(bound)
      ? (bound.propertyName ?? bound.name)
      : undefined;
  const [, member] = migration.nameOf(name)?.split("ConnectRouter.") ?? [];
  return member;
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

export const adapterRules: readonly Rule[] = [adapter, fastify, routerTransport, service, rpc, transport, codec];
