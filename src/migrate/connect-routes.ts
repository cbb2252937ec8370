/** Routes that are added to a router of Connect for ECMAScript: services, and single methods. */
import { ts } from "ts-morph";
import { printService } from "./connect-generics.ts";
import { isLiteral } from "./connect-options.ts";
import type { Migration, Rule } from "./migration.ts";

export function addArguments(call: ts.CallExpression, migration: Migration): string {
  const [service, implementation, ...rest] = call.arguments;
  const whole = service && implementation && withAllMethods(service, implementation, migration);
  return [
    service && printService(service, migration),
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

export const routeRules: readonly Rule[] = [service, rpc];
