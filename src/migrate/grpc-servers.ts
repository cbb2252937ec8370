/** Servers of grpc-js, as those of triple-es. */
import { ts } from "ts-morph";
import { continued, promisedCall, settled, uses } from "./grpc-calls.ts";
import { channelOptions, constantOf, listenOptions } from "./grpc-names.ts";
import type { Migration, Rule } from "./migration.ts";

/** Servers: `new Server()`, `addService`, `bindAsync`, `start`, `tryShutdown`, `forceShutdown`. */
const server: Rule = (node, migration) => {
  if (ts.isNewExpression(node) && migration.nameOf(node.expression) === "Server") {
    const options = channelOptions(node.arguments?.[0], migration);
    return `${migration.imports.use("triple-es/node", "createServer", node)}(${options.length > 0 ? `{ ${options.join(", ")} }` : ""})`;
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
      return first && third && bind(node, first, third, migration);
    case "Server.tryShutdown":
      return first && continued(`${of()}.close()`, first, migration, "");
    case "Server.forceShutdown":
      return `${ts.isExpressionStatement(node.parent) ? "void " : ""}${of()}.close({ graceMs: 0 })`;
  }
  return undefined;
};

/** Lists handlers that are not recognized, because their parameters have no types, as in JavaScript. */
function checkTyped(implementation: ts.Expression | undefined, migration: Migration): void {
  if (implementation === undefined) return;
  const { checker } = migration;
  const untyped = checker.getPropertiesOfType(checker.getTypeAtLocation(implementation)).filter((one) => {
    const [signature] = checker.getTypeOfSymbolAtLocation(one, implementation).getCallSignatures();
    const [call] = signature?.parameters ?? [];
    return call && checker.getTypeOfSymbolAtLocation(call, implementation).flags & ts.TypeFlags.Any;
  });
  const names = untyped.map(({ name }) => name).join(", ");
  if (names !== "") migration.todo(implementation, `${names} stay as they are: their parameters have no types`);
}

function bind(node: ts.CallExpression, address: ts.Expression, callback: ts.Expression, migration: Migration): string {
  const own = migration.print((node.expression as ts.PropertyAccessExpression).expression);
  checkInsecure(node, migration);
  const listen = `${own}.listen(${listenOptions(address, migration)})`;
  const usesPort =
    (ts.isArrowFunction(callback) || ts.isFunctionExpression(callback)) && callback.parameters.length > 1;
  return continued(
    usesPort ? `${listen}.then(() => ${own}.address.port)` : listen,
    callback,
    migration,
    usesPort ? "port" : "",
  );
}

function checkInsecure({ arguments: [, credentials] }: ts.CallExpression, migration: Migration): void {
  if (credentials && !constantOf(credentials, migration).getText().endsWith("createInsecure()"))
    migration.todo(credentials, "TLS is the option tls of createServer");
}

/** `new Promise((resolve, reject) => server.bindAsync(address, credentials, (error, port) => …))`. */
function bound(node: ts.NewExpression, migration: Migration): string | undefined {
  const found = promisedCall(node);
  if (!found || !ts.isCallExpression(found.call) || migration.nameOf(found.call.expression) !== "Server.bindAsync")
    return undefined;
  const [address] = found.call.arguments;
  const own = migration.print((found.call.expression as ts.PropertyAccessExpression).expression);
  if (address === undefined) return undefined;
  checkInsecure(found.call, migration);
  const listen = `${own}.listen(${listenOptions(address, migration)})`;
  const { argument, result } = found;
  const usesPort = argument !== undefined && result !== undefined && uses(argument, result);
  return settled(usesPort ? `${listen}.then(() => ${own}.address.port)` : listen, found, migration);
}

export const serverRules: readonly Rule[] = [server];
