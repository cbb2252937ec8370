/** Clients of Connect for ECMAScript, and the default timeout of their transport. */
import { ts } from "ts-morph";
import { printService } from "./connect-generics.ts";
import { generatedOf, useGenerated } from "./generated.ts";
import type { Migration, Rule } from "./migration.ts";

/** `createClient(GreetService, transport)`. */
const client: Rule = (node, migration) => {
  if (!ts.isCallExpression(node) || migration.nameOf(node.expression) !== "createClient") return undefined;
  const [service, ...rest] = node.arguments;
  const generated = generatedOf(service, migration);
  if (generated === undefined) {
    if (service === undefined || node.typeArguments) return undefined;
    const given = [printService(service, migration), ...rest.map((one) => migration.print(one))];
    return `${migration.print(node.expression)}(${given.join(", ")})`;
  }
  const create = useGenerated(`create${generated.name}Client`, "triple", generated, node, migration);
  const given = rest.map((one) => migration.print(one));
  const timeout = defaultTimeout(rest[0], migration)?.initializer as ts.NumericLiteral | undefined;
  if (Number(timeout?.text) > 0) given.push(`{ timeoutMs: ${timeout?.text} }`);
  return `${create}(${given.join(", ")})`;
};

/** The default timeout of a transport, which is an option of its clients. */
function defaultTimeout(transport: ts.Node | undefined, migration: Migration): ts.PropertyAssignment | undefined {
  const call = (transport && migration.initializer(transport)) ?? transport;
  if (call === undefined || !ts.isCallExpression(call)) return undefined;
  const [options] = call.arguments;
  const timeout = options && ts.isObjectLiteralExpression(options) ? options.properties.find(isTimeout) : undefined;
  return timeout && ts.isPropertyAssignment(timeout) && ts.isNumericLiteral(timeout.initializer) ? timeout : undefined;
}

/** Finds the default timeouts that clients get, in any file. */
export function movedTimeouts(migration: Migration): void {
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && migration.nameOf(node.expression) === "createClient") {
      const moved = generatedOf(node.arguments[0], migration) && defaultTimeout(node.arguments[1], migration);
      if (moved) migration.moved.add(moved);
    }
    node.forEachChild(visit);
  };
  visit(migration.file);
}

function isTimeout({ name }: ts.ObjectLiteralElementLike): boolean {
  return name?.getText() === "defaultTimeoutMs";
}

/** `defaultTimeoutMs` of a transport, whose value its clients get. */
const timeout: Rule = (node, migration) => (migration.moved.has(node) ? "" : undefined);

export const connectClientRules: readonly Rule[] = [client, timeout];
