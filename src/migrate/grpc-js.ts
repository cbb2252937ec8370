/** The migration from @grpc/grpc-js, with code of ts-proto or of grpc-tools. */
import { ts } from "ts-morph";
import { generatedOf, useGenerated } from "./generated.ts";
import { callRules, continued, promisedCall, settled, uses } from "./grpc-calls.ts";
import { handlerRules } from "./grpc-handlers.ts";
import { channelOptions, codeOf, listenOptions, transportOptions } from "./grpc-names.ts";
import { streamRules } from "./grpc-streams.ts";
import { createKind } from "./kind.ts";
import { messageRules } from "./messages.ts";
import type { Kind, Migration, Rule } from "./migration.ts";

const MAIN = "triple-es";
const NODE = "triple-es/node";

const names: Record<string, string> = {
  Metadata: `${MAIN} Metadata`,
  ServiceError: `${MAIN} RpcError`,
  Server: `${NODE} Server`,
  Status: `${MAIN} Code`,
  Interceptor: "!is an interceptor: (next) => (request) => next(request)",
  loadPackageDefinition: "!loads proto files at run time: generate code from them",
  InterceptingCall: "!is an interceptor: (next) => (request) => next(request)",
  InterceptorOptions: "!is an interceptor: (next) => (request) => next(request)",
  HealthImplementation: "!is addHealth(server) of triple-es/health",
  ReflectionService: "!is addReflection(server) of triple-es/reflection",
};

const members: Record<string, string> = {
  ".details": "rawMessage",
  "ServiceError.metadata": "trailers",
  "StatusObject.metadata": "trailers",
  "ServerErrorResponse.code": "=",
  "Metadata.add": "append",
  "Metadata.merge": "appendAll",
  "Metadata.remove": "delete",
  "Metadata.getMap": "toJSON",
  "Client.close": "!is close of the transport",
  "Client.waitForReady": "!is a call with waitForReady: true",
};

const same = "code message set get";

/** Names of generated code: services, clients and implementations. */
const generated: Rule = (node, migration) => {
  if (ts.isPropertyAccessExpression(node) && node.name.text === "service") {
    const client = generatedOf(node.expression, migration);
    const name = client && serviceOf(client.name, "Client");
    if (client && name) return useGenerated(`${name}Def`, "triple", client, node, migration);
  }
  if (ts.isExpressionWithTypeArguments(node) && ts.isIdentifier(node.expression))
    return generated(node.expression, migration);
  if (!ts.isIdentifier(node) || ts.isImportSpecifier(node.parent) || ts.isExportSpecifier(node.parent))
    return undefined;
  const of = generatedOf(node, migration);
  if (of === undefined || of.name !== node.text || (of.by !== "ts-proto" && of.by !== "grpc-tools")) return undefined;
  const suffixes = { Service: "Def", Server: "Handler", Client: "Client" } as const;
  for (const [suffix, own] of Object.entries(suffixes)) {
    const name = serviceOf(of.name, suffix);
    if (name && isOfService(of.declaration)) return useGenerated(`${name}${own}`, "triple", of, node, migration);
  }
  return undefined;
};

/** Reports whether a declaration is that of a service, and not of a message with such a name. */
function isOfService(node: ts.Declaration): boolean {
  return (
    ts.isVariableDeclaration(node) ||
    ts.isClassDeclaration(node) ||
    (ts.isInterfaceDeclaration(node) && node.heritageClauses !== undefined) ||
    ts.isTypeAliasDeclaration(node)
  );
}

function serviceOf(name: string, suffix: string): string | undefined {
  const bare = /^I[A-Z]/.test(name) && suffix !== "Service" ? name.slice(1) : name;
  return bare.endsWith(suffix) ? bare.slice(0, -suffix.length) : undefined;
}

/** `new GreeterClient(address, credentials, options)`. */
const client: Rule = (node, migration) => {
  if (!ts.isNewExpression(node)) return undefined;
  const of = generatedOf(node.expression, migration);
  const name = of && serviceOf(of.name, "Client");
  if (!of || !name || of.by === "google-protobuf") return undefined;
  const create = useGenerated(`create${name}Client`, "triple", of, node, migration);
  const transport = `${migration.imports.use(NODE, "createTransport", node)}(${transportOptions(node.arguments ?? [], migration)})`;
  const variable = ts.isVariableDeclaration(node.parent) ? node.parent : undefined;
  if (!variable || !isClosed(variable, migration)) return `${create}(${transport})`;
  const own = migration.imports.unique("transport");
  transports.set(variable, own);
  migration.insertBefore(node, `const ${own} = ${transport};`);
  return `${create}(${own})`;
};

/** The variables of transports, by those of their clients. */
const transports = new WeakMap<ts.Node, string>();

function isClosed(variable: ts.VariableDeclaration, migration: Migration): boolean {
  let found = false;
  const visit = (node: ts.Node): void => {
    if (
      ts.isPropertyAccessExpression(node) &&
      node.name.text === "close" &&
      migration.declared(node.expression) === variable
    )
      found = true;
    node.forEachChild(visit);
  };
  visit(migration.file);
  return found;
}

const close: Rule = (node, migration) => {
  if (
    !ts.isCallExpression(node) ||
    !ts.isPropertyAccessExpression(node.expression) ||
    node.expression.name.text !== "close"
  )
    return undefined;
  const { expression } = node.expression;
  const transport = ts.isIdentifier(expression) ? transports.get(migration.declared(expression) as ts.Node) : undefined;
  return transport && `${ts.isExpressionStatement(node.parent) ? "void " : ""}${transport}.close()`;
};

/** `status.NOT_FOUND`, `status["NOT_FOUND"]` and `status[code]`. */
export const code: Rule = (node, migration) => {
  if (ts.isElementAccessExpression(node) && migration.nameOf(node.expression) === "Status") {
    const { argumentExpression: name } = node;
    if (ts.isStringLiteralLike(name))
      return `${migration.imports.use(MAIN, "Code", node.expression)}.${codeOf(name.text)}`;
    migration.todo(node, "codeName returns not_found, where Status[code] was NOT_FOUND");
    return `${migration.imports.use(MAIN, "codeName", node)}(${migration.print(node.argumentExpression)})`;
  }
  if (!ts.isPropertyAccessExpression(node)) return undefined;
  const [, name] = migration.nameOf(node)?.split("Status.") ?? [];
  if (name === undefined || name === "OK") return undefined;
  return `${migration.imports.use(MAIN, "Code", node.expression)}.${codeOf(name)}`;
};

/** `metadata.get(name)`, an array, and other members of metadata. */
const metadata: Rule = (node, migration) => {
  if (
    ts.isElementAccessExpression(node) &&
    node.argumentExpression.getText() === "0" &&
    ts.isCallExpression(node.expression)
  ) {
    const { expression } = node.expression;
    if (migration.nameOf(expression) === "Metadata.get")
      return binary(node.expression, "getBinary", migration) ?? migration.children(node.expression);
  }
  if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return undefined;
  const name = migration.nameOf(node.expression.name);
  if (name !== "Metadata.get" && name !== "Metadata.clone") return undefined;
  const of = migration.print(node.expression.expression);
  if (name === "Metadata.clone") return `new ${migration.imports.use(MAIN, "Metadata", node)}(${of})`;
  const bytes = binary(node, "getAllBinary", migration);
  if (bytes !== undefined) return bytes;
  return `${of}.getAll(${node.arguments.map((one) => migration.print(one)).join(", ")})`;
};

/** `metadata.get("key-bin")`. */
function binary(node: ts.CallExpression, method: string, migration: Migration): string | undefined {
  const [name] = node.arguments;
  if (!name || !ts.isStringLiteral(name) || !name.text.endsWith("-bin")) return undefined;
  migration.todo(node, "bytes of metadata are a Uint8Array");
  return `${migration.print((node.expression as ts.PropertyAccessExpression).expression)}.${method}(${name.getText()})`;
}

/** Servers: `new Server()`, `addService`, `bindAsync`, `start`, `tryShutdown`, `forceShutdown`. */
const server: Rule = (node, migration) => {
  if (ts.isNewExpression(node) && migration.nameOf(node.expression) === "Server") {
    const options = channelOptions(node.arguments?.[0], migration);
    return `${migration.imports.use(NODE, "createServer", node)}(${options.length > 0 ? `{ ${options.join(", ")} }` : ""})`;
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
  if (credentials && !credentials.getText().endsWith("createInsecure()"))
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

/** The index signature of classes that implement a service. */
const untyped: Rule = (node, migration) => {
  const type = (ts.isIndexSignatureDeclaration(node) || ts.isPropertyDeclaration(node)) && node.type;
  if (!type || !ts.isTypeReferenceNode(type)) return undefined;
  return migration.nameOf(type.typeName) === "UntypedHandleCall" ? "" : undefined;
};

export const grpcJs: Kind = createKind({
  packages: ["@grpc/grpc-js", "@grpc/proto-loader", "@grpc/reflection", "grpc-health-check"],
  unsupported: { "@grpc/proto-loader": "loads proto files at run time: generate code from them" },
  section: "From @grpc/grpc-js",
  tools: ["ts-proto", "grpc-tools", "grpc_tools_node_protoc_ts", "google-protobuf", "@types/google-protobuf"],
  plugins: ["ts_proto", "ts-proto", "protoc-gen-ts", "protocolbuffers/js"],
  names,
  members,
  same,
  rules: [
    ...handlerRules,
    ...streamRules,
    ...callRules,
    client,
    close,
    code,
    metadata,
    server,
    untyped,
    generated,
    ...messageRules,
  ],
});
