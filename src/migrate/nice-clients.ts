/** Channels, clients and client factories of nice-grpc. */
import { ts } from "ts-morph";
import { serviceMember, useGenerated } from "./generated.ts";
import { constantOf, transportOptions } from "./grpc-names.ts";
import type { Migration, Rule } from "./migration.ts";
import { interceptorOf } from "./nice-middleware.ts";
import { definitionOf } from "./nice-services.ts";
import { contains } from "./tree.ts";

const MAIN = "triple-es";
const NODE = "triple-es/node";
const FETCH = "triple-es/fetch";

/** `createClient(GreeterDefinition, channel, { "*": options })`, also of a factory with middleware. */
const client: Rule = (node, migration) => {
  if (!ts.isCallExpression(node)) return undefined;
  const name = migration.nameOf(node.expression);
  if (name !== "createClient" && name !== "ClientFactory.create") return undefined;
  const [definition, channel, defaults] = node.arguments;
  if (!definition || !channel) return undefined;
  const of = definitionOf(definition, migration);
  const type = migration.checker.getTypeAtLocation(definition);
  if (!of && type.flags & ts.TypeFlags.Any) return undefined;
  const create = of
    ? useGenerated(`create${of.name}Client`, "triple", of, node, migration)
    : migration.imports.use(MAIN, "createClient", node);
  const factory = name === "createClient" ? undefined : (node.expression as ts.PropertyAccessExpression).expression;
  const middleware = factory ? middlewareOf(factory, migration) : [];
  const printed = migration.print(channel);
  const given = middleware
    ? transportOf(printed, middleware)
    : // A factory of elsewhere, which becomes a function of a transport.
      `${migration.print(factory as ts.Expression)}(${printed})`;
  const options = defaults ? defaultsOf(defaults, migration) : "";
  if (of) return `${create}(${given}${options})`;
  // A definition that is a parameter, whose type says which client is created.
  const [argument, cast] = type.isTypeParameter()
    ? [migration.typed("<object>"), migration.typed(` as ${serviceMember(type.symbol.name, "client")}`)]
    : ["", ""];
  return `${create}${argument}(${migration.print(definition)}, ${given}${options})${cast}`;
};

/** A transport whose calls pass through middleware, the innermost first. */
function transportOf(transport: string, middleware: readonly string[]): string {
  if (middleware.length === 0) return transport;
  return `{ call: ${middleware.reduce((call, one) => `${/=>| as /.test(one) ? `(${one})` : one}(${call})`, `${transport}.call`)} }`;
}

/** A client factory that clients of elsewhere use, as a function of a transport. */
const factoryValue: Rule = (node, migration) => {
  if (!ts.isCallExpression(node) || migration.typeName(node) !== "ClientFactory") return undefined;
  if (ts.isPropertyAccessExpression(node.parent)) return undefined;
  const middleware = middlewareOf(node, migration);
  if (middleware === undefined) return usedBy(node, migration);
  const type = migration.typed(`: ${migration.imports.use(MAIN, "Transport", node)}`);
  const given = transportOf("transport", middleware);
  return `(transport${type})${type} => ${given.startsWith("{") ? `(${given})` : given}`;
};

/** `factory.use(middleware)`, if the factory is a variable that changes or is of elsewhere. */
function usedBy({ expression, arguments: [middleware] }: ts.CallExpression, migration: Migration): string | undefined {
  if (migration.nameOf(expression) !== "ClientFactory.use" || !middleware) return undefined;
  const factory = migration.print((expression as ts.PropertyAccessExpression).expression);
  const transport = migration.imports.use(MAIN, "Transport", expression);
  const type = migration.typed(`: (transport: ${transport}) => ${transport}`);
  const interceptor = migration.typed(`: ${migration.imports.use(MAIN, "Interceptor", expression)}`);
  return interceptorOf(middleware, migration).reduce(
    (before, one) =>
      `((before${type}, interceptor${interceptor}) => (transport${migration.typed(`: ${transport}`)}) => ({ call: interceptor(before(transport).call) }))(${before}, ${one})`,
    factory,
  );
}

/** The options of all calls. */
function defaultsOf(defaults: ts.Expression, migration: Migration): string {
  if (!ts.isObjectLiteralExpression(defaults)) {
    migration.todo(defaults, "options of all calls are those of createClient, not a member of their own");
    return `, ${migration.print(defaults)}`;
  }
  const all = defaults.properties.find(({ name }) => name && ts.isStringLiteral(name) && name.text === "*");
  if (defaults.properties.length > (all ? 1 : 0))
    migration.leave(defaults, "options of single methods are those of their calls");
  return all && ts.isPropertyAssignment(all) ? `, ${migration.print(all.initializer)}` : "";
}

/** The middleware of a client factory, the innermost first. */
function middlewareOf(factory: ts.Expression, migration: Migration): string[] | undefined {
  const chain = isVariable(factory, migration) ? factory : constantOf(factory, migration);
  if (!ts.isCallExpression(chain)) return undefined;
  if (migration.nameOf(chain.expression) === "createClientFactory") return [];
  if (migration.nameOf(chain.expression) !== "ClientFactory.use") return undefined;
  const before = middlewareOf((chain.expression as ts.PropertyAccessExpression).expression, migration);
  const [middleware] = chain.arguments;
  if (!before || !middleware) return undefined;
  return [...before, ...interceptorOf(middleware, migration)];
}

/** Reports whether a variable may have other values than the first one. */
function isVariable(node: ts.Expression, migration: Migration): boolean {
  const { parent } = migration.declared(node) ?? {};
  return parent !== undefined && ts.isVariableDeclarationList(parent) && !(parent.flags & ts.NodeFlags.Const);
}

/** A variable of a client factory, which its clients do not need. */
const factory: Rule = (node, migration) => {
  if (!ts.isVariableStatement(node) || node.modifiers || node.declarationList.flags & ts.NodeFlags.Let)
    return undefined;
  const [declaration, ...others] = node.declarationList.declarations;
  const initializer = others.length === 0 ? declaration?.initializer : undefined;
  if (!declaration || !initializer || migration.typeName(initializer) !== "ClientFactory") return undefined;
  return isOnlyCreating(declaration, migration) && middlewareOf(initializer, migration) ? "" : undefined;
};

/** Reports whether a file uses a factory for nothing but clients. */
function isOnlyCreating(factory: ts.VariableDeclaration, migration: Migration): boolean {
  const isOther = (node: ts.Node): boolean =>
    ts.isIdentifier(node) &&
    node !== factory.name &&
    migration.declared(node) === factory &&
    migration.nameOf(node.parent) !== "ClientFactory.create";
  return !contains(migration.file, isOther);
}

/** The type of a client factory. */
const factoryType: Rule = (node, migration) => {
  if (!ts.isTypeReferenceNode(node) || migration.nameOf(node.typeName) !== "ClientFactory") return undefined;
  const type = migration.imports.use(MAIN, "Transport", node);
  const own = `(transport: ${type}) => ${type}`;
  return ts.isUnionTypeNode(node.parent) ? `(${own})` : own;
};

const channel: Rule = (node, migration) => {
  if (ts.isTypeQueryNode(node) && migration.nameOf(node.exprName) === "createChannel")
    return `typeof ${migration.imports.use(NODE, "createTransport", node)}`;
  if (!ts.isCallExpression(node) || migration.nameOf(node.expression) !== "createChannel") return undefined;
  if (migration.origin(node.expression)?.from !== "nice-grpc-web")
    return `${migration.imports.use(NODE, "createTransport", node)}(${transportOptions(node.arguments, migration)})`;
  const [url, options] = node.arguments;
  if (options) migration.leave(options, "options of requests are in the option fetch of createTransport");
  return `${migration.imports.use(FETCH, "createTransport", node)}({ baseUrl: ${url && migration.print(url)}, protocol: "grpc-web", codec: "proto" })`;
};

export const channelRules: readonly Rule[] = [client, factory, factoryValue, factoryType, channel];
