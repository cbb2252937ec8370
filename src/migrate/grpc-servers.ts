/** Servers of grpc-js, as those of triple-es. */
import { ts } from "ts-morph";
import { continued, promisedCall, settled } from "./grpc-calls.ts";
import { handlerNames } from "./grpc-loader.ts";
import { channelOptions, constantOf, listenOptions } from "./grpc-names.ts";
import type { Migration, Rule } from "./migration.ts";
import { isFunction, uses } from "./tree.ts";

/** Servers: `new Server()`, `addService`, `bindAsync`, `start`, `tryShutdown`, `forceShutdown`. */
const server: Rule = (node, migration) => {
  if (ts.isNewExpression(node) && migration.nameOf(node.expression) === "Server") {
    return newServer(channelOptions(node.arguments?.[0], migration), node, migration);
  }
  if (ts.isNewExpression(node) && node.expression.getText() === "Promise") return bound(node, migration);
  const statement = ts.isExpressionStatement(node) ? node.expression : undefined;
  if (statement && ts.isCallExpression(statement) && migration.nameOf(statement.expression) === "Server.start")
    return "";
  if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return undefined;
  const of = (): string => migration.print((node.expression as ts.PropertyAccessExpression).expression);
  const [first, second, third] = node.arguments;
  switch (migration.nameOf(node.expression)) {
    case "Server.addService":
      checkTyped(second, migration);
      return `${of()}.add(${[first, second].map((one) => one && migration.print(one)).join(", ")})`;
    case "Server.bindAsync":
      return first && third && bind(node, third, migration);
    case "Server.tryShutdown":
      return first && continued(`${of()}.close()`, first, migration, "");
    case "Server.forceShutdown":
      return closeNow(of(), node);
  }
  return undefined;
};

export function newServer(options: readonly string[], node: ts.Node, migration: Migration): string {
  const create = migration.imports.use("triple-es/node", "createServer", node);
  return `${create}(${options.length > 0 ? `{ ${options.join(", ")} }` : ""})`;
}

/** `forceShutdown()`, which returned nothing. */
export function closeNow(server: string, { parent }: ts.Node): string {
  return `${ts.isExpressionStatement(parent) ? "void " : ""}${server}.close({ graceMs: 0 })`;
}

/** Lists handlers that are not recognized, because their parameters have no types, as in JavaScript. */
function checkTyped(implementation: ts.Expression | undefined, migration: Migration): void {
  if (implementation === undefined) return;
  const { checker } = migration;
  const untyped = checker.getPropertiesOfType(checker.getTypeAtLocation(implementation)).filter((one) => {
    if (one.declarations?.some((own) => handlerNames.has(own))) return false;
    const [signature] = checker.getTypeOfSymbolAtLocation(one, implementation).getCallSignatures();
    const [call] = signature?.parameters ?? [];
    return call && checker.getTypeOfSymbolAtLocation(call, implementation).flags & ts.TypeFlags.Any;
  });
  const names = untyped.map(({ name }) => name).join(", ");
  if (names !== "") migration.todo(implementation, `${names} stay as they are: their parameters have no types`);
}

function bind(node: ts.CallExpression, callback: ts.Expression, migration: Migration): string {
  const usesPort = isFunction(callback) && callback.parameters.length > 1;
  return continued(listening(node, usesPort, migration), callback, migration, usesPort ? "port" : "");
}

/** The promise in place of `bindAsync`, of the port if that is used. */
function listening(node: ts.CallExpression, usesPort: boolean, migration: Migration): string {
  const [address, credentials] = node.arguments;
  const own = migration.print((node.expression as ts.PropertyAccessExpression).expression);
  if (credentials && !constantOf(credentials, migration).getText().endsWith("createInsecure()"))
    migration.todo(credentials, "TLS is the option tls of createServer");
  const listen = `${own}.listen(${address ? listenOptions(address, migration) : ""})`;
  return usesPort ? `${listen}.then(() => ${own}.address.port)` : listen;
}

/** `new Promise((resolve, reject) => server.bindAsync(address, credentials, (error, port) => …))`. */
function bound(node: ts.NewExpression, migration: Migration): string | undefined {
  const found = promisedCall(node);
  if (!found || migration.nameOf(found.call.expression) !== "Server.bindAsync") return undefined;
  const { argument, result } = found;
  const usesPort = argument !== undefined && result !== undefined && uses(argument, result);
  return settled(listening(found.call, usesPort, migration), found, migration);
}

export const serverRules: readonly Rule[] = [server];
