/** Adapters of Connect for ECMAScript, which serve its routes. */
import { ts } from "ts-morph";
import { initializerOf, isLiteral } from "./connect-options.ts";
import { addArguments } from "./connect-routes.ts";
import type { Migration, Rule } from "./migration.ts";
import { isFunction, statementOf } from "./tree.ts";

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
  const given = isFunction(routes) ? `(${migration.print(routes)})` : migration.print(routes);
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
  return texts.includes(undefined) ? undefined : texts.join(`\n${migration.indentOf(routes)}  `);
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

export const adapterRules: readonly Rule[] = [adapter, fastify, routerTransport];
