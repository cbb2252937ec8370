/** The migration from @grpc/grpc-js, with code of ts-proto or of grpc-tools. */
import { ts } from "ts-morph";
import { generatedOf, useGenerated } from "./generated.ts";
import { callRules, continued, promisedCall, settled, uses } from "./grpc-calls.ts";
import { errorOf } from "./grpc-handler-body.ts";
import { handlerRules } from "./grpc-handlers.ts";
import { channelOptions, codeOf, constantOf, listenOptions, transportOptions } from "./grpc-names.ts";
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
    if (name && (of.by === "grpc-tools" || isOfService(of.declaration)))
      return useGenerated(`${name}${own}`, "triple", of, node, migration);
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
  const made = ts.isNewExpression(node) ? clientOf(node, migration) : undefined;
  if (!made || !ts.isNewExpression(node)) return undefined;
  const create = useGenerated(`create${made.name}Client`, "triple", made.of, node, migration);
  const transport = `${migration.imports.use(NODE, "createTransport", node)}(${transportOptions(node.arguments ?? [], migration)})`;
  const owner = ownerOf(node, migration);
  if (!owner || !isClosed(owner, migration)) return `${create}(${transport})`;
  if (ts.isPropertyDeclaration(owner)) return `${create}((this.${owner.name.getText()}Transport = ${transport}))`;
  const own = migration.imports.unique("transport");
  transports.set(owner, own);
  migration.insertBefore(node, `const ${own} = ${transport};`);
  return `${create}(${own})`;
};

function clientOf(node: ts.NewExpression, migration: Migration) {
  const of = generatedOf(node.expression, migration);
  const name = of && serviceOf(of.name, "Client");
  return of && name && of.by !== "google-protobuf" ? { of, name } : undefined;
}

/** The variable or field that a new client becomes the value of. */
function ownerOf({ parent }: ts.NewExpression, migration: Migration) {
  if (ts.isVariableDeclaration(parent) || ts.isPropertyDeclaration(parent)) return parent;
  const field = ts.isBinaryExpression(parent) ? migration.declared(parent.left) : undefined;
  return field && ts.isPropertyDeclaration(field) && field.getSourceFile() === migration.file ? field : undefined;
}

/** The variables of transports, by those of their clients. */
const transports = new WeakMap<ts.Node, string>();

function isClosed(owner: ts.Node, migration: Migration): boolean {
  return hasNode(migration.file, (node) => {
    const isClose = ts.isPropertyAccessExpression(node) && node.name.text === "close";
    return isClose && migration.declared(node.expression) === owner;
  });
}

function hasNode(node: ts.Node, is: (node: ts.Node) => boolean): boolean {
  return is(node) || (node.forEachChild((child) => hasNode(child, is) || undefined) ?? false);
}

/** A field of a client that is closed, beside which its transport has one. */
const field: Rule = (node, migration) => {
  if (!ts.isPropertyDeclaration(node) || !isClosedField(node, migration)) return undefined;
  const type = migration.typed(`?: ${migration.imports.use(MAIN, "ClosableTransport", node.type ?? node)}`);
  const name = `${node.name.getText()}Transport`;
  return `${migration.typed("private ")}${name}${type};\n${migration.indentOf(node)}${migration.children(node)}`;
};

function isClosedField(owner: ts.Node, migration: Migration): owner is ts.PropertyDeclaration {
  const isMade = (node: ts.Node): boolean =>
    ts.isNewExpression(node) && ownerOf(node, migration) === owner && clientOf(node, migration) !== undefined;
  return ts.isPropertyDeclaration(owner) && hasNode(migration.file, isMade) && isClosed(owner, migration);
}

const close: Rule = (node, migration) => {
  if (
    !ts.isCallExpression(node) ||
    !ts.isPropertyAccessExpression(node.expression) ||
    node.expression.name.text !== "close"
  )
    return undefined;
  const owner = migration.declared(node.expression.expression);
  const start = ts.isExpressionStatement(node.parent) ? "void " : "";
  if (owner && isClosedField(owner, migration)) {
    const of = (node.expression.expression as ts.PropertyAccessExpression).expression;
    return `${start}${migration.print(of)}.${owner.name.getText()}Transport?.close()`;
  }
  const transport = owner && transports.get(owner);
  return transport && `${start}${transport}.close()`;
};

/** A variable of credentials, which are options of the transports and servers that they are passed to. */
const credentials: Rule = (node, migration) => {
  if (!ts.isVariableStatement(node) || node.modifiers || node.declarationList.declarations.length !== 1)
    return undefined;
  const [declaration] = node.declarationList.declarations;
  const type = declaration?.initializer && migration.typeName(declaration.initializer);
  if (!type?.endsWith("Credentials") || type === "CallCredentials") return undefined;
  const isOther = (one: ts.Node): boolean =>
    ts.isIdentifier(one) &&
    one.parent !== declaration &&
    migration.declared(one) === declaration &&
    !(ts.isNewExpression(one.parent) && clientOf(one.parent, migration)) &&
    !(ts.isCallExpression(one.parent) && migration.nameOf(one.parent.expression) === "Server.bindAsync");
  return hasNode(migration.file, isOther) ? undefined : "";
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

/** `const error: ServiceError = { code, message }`. */
const error: Rule = (node, migration) => {
  if (!ts.isObjectLiteralExpression(node)) return undefined;
  const type = migration.checker.getContextualType(node)?.getNonNullableType();
  const declaration = type && migration.declarationOf(type);
  const { name } = (declaration ?? {}) as { name?: ts.Node };
  if (!declaration || name?.getText() !== "ServiceError" || !migration.isDeclaredOld(declaration)) return undefined;
  if (node.properties.some((one) => one.name?.getText() === "name"))
    migration.todo(node, "the name of an error is RpcError");
  return errorOf(node, migration);
};

/** The index signature of classes that implement a service. */
const untyped: Rule = (node, migration) => {
  const type = (ts.isIndexSignatureDeclaration(node) || ts.isPropertyDeclaration(node)) && node.type;
  if (!type || !ts.isTypeReferenceNode(type)) return undefined;
  return ["HandleCall", "UntypedHandleCall"].includes(migration.nameOf(type.typeName) ?? "") ? "" : undefined;
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
    field,
    close,
    credentials,
    code,
    metadata,
    server,
    untyped,
    error,
    generated,
    ...messageRules,
  ],
});
