/** Servers of nice-grpc, whose middleware becomes the option `interceptors`. */
import { ts } from "ts-morph";
import { channelOptions, listenOptions } from "./grpc-names.ts";
import { closeNow, newServer } from "./grpc-servers.ts";
import type { Migration, Rule } from "./migration.ts";
import { interceptorOf } from "./nice-middleware.ts";

/** Servers: `createServer().use(middleware)`, `server.with(middleware).add(…)`, `listen`, `forceShutdown`. */
export const server: Rule = (node, migration) => {
  const call = userCall(node, migration);
  // Elsewhere only middleware that is left out goes.
  if (call && (userOf(node, migration) || call.arguments.every((one) => interceptorOf(one, migration).length === 0)))
    return "";
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
  if (name === "createServer" || name === "Server.use") return serverOf(node, migration);
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
      return closeNow(migration.print(target), node);
  }
  return undefined;
};

function userCall(node: ts.Node, migration: Migration): ts.CallExpression | undefined {
  const call = ts.isExpressionStatement(node) && ts.isCallExpression(node.expression) ? node.expression : undefined;
  return call && migration.nameOf(call.expression) === "Server.use" ? call : undefined;
}

/** The variable of a server that uses middleware, by a statement beside the variable, on no condition. */
function userOf(node: ts.Node, migration: Migration) {
  const call = userCall(node, migration);
  if (!call) return undefined;
  const server = migration.declared((call.expression as ts.PropertyAccessExpression).expression);
  return server?.parent?.parent?.parent === node.parent ? { server, middleware: call.arguments } : undefined;
}

/** A server with all its middleware. */
function serverOf(node: ts.CallExpression, migration: Migration): string | undefined {
  const used: string[] = [];
  let one: ts.Expression = node;
  while (ts.isCallExpression(one) && migration.nameOf(one.expression) === "Server.use") {
    used.unshift(...one.arguments.flatMap((middleware) => interceptorOf(middleware, migration)));
    one = (one.expression as ts.PropertyAccessExpression).expression;
  }
  if (!ts.isCallExpression(one) || migration.nameOf(one.expression) !== "createServer") return undefined;
  const variable = node.parent;
  const visit = (other: ts.Node): void => {
    const user = userOf(other, migration);
    if (user?.server === variable) used.push(...user.middleware.flatMap((one) => interceptorOf(one, migration)));
    other.forEachChild(visit);
  };
  visit(migration.file);
  const options = [
    ...channelOptions(one.arguments[0], migration),
    ...(used.length > 0 ? [`interceptors: [${used.join(", ")}]`] : []),
  ];
  return newServer(options, node, migration);
}

function add(
  target: ts.Expression,
  definition: ts.Expression,
  implementation: ts.Expression,
  migration: Migration,
): string | undefined {
  const used: string[] = [];
  let one = target;
  while (
    ts.isCallExpression(one) &&
    ["Server.with", "ServerAddBuilder.with"].includes(migration.nameOf(one.expression) ?? "")
  ) {
    used.unshift(...one.arguments.flatMap((middleware) => interceptorOf(middleware, migration)));
    one = (one.expression as ts.PropertyAccessExpression).expression;
  }
  const old = migration.nameOf(definition);
  if (used.length === 0 && old === undefined) return undefined;
  const of = migration.print(one);
  if (old === "HealthDefinition") return `${migration.imports.use("triple-es/health", "addHealth", one)}(${of})`;
  if (old === "ServerReflectionService")
    return `${migration.imports.use("triple-es/reflection", "addReflection", one)}(${of})`;
  const interceptors = used.length > 0 ? `, { interceptors: [${used.join(", ")}] }` : "";
  return `${of}.add(${migration.print(definition)}, ${migration.print(implementation)}${interceptors})`;
}
