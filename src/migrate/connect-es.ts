/** The migration from Connect for ECMAScript 2. */
import { ts } from "ts-morph";
import { adapterRules } from "./connect-adapters.ts";
import { errorRules } from "./connect-errors.ts";
import { headerRules, retypedParameters } from "./connect-headers.ts";
import { generatedOf, useGenerated } from "./generated.ts";
import { createKind } from "./kind.ts";
import type { Kind, Migration, Rule } from "./migration.ts";

const MAIN = "triple-es";
const FETCH = "triple-es/fetch";
const NODE = "triple-es/node";

/** Names that stay. */
const SAME =
  "CallOptions Code ContextKey ContextValues HandlerContext Interceptor StreamRequest StreamResponse Transport \
UnaryRequest UnaryResponse createContextKey createContextValues createClient";

const names: Record<string, string> = {
  ...Object.fromEntries(SAME.split(" ").map((name) => [name, `${MAIN} ${name}`])),
  ConnectError: `${MAIN} RpcError`,
  ConnectRouter: `${MAIN} Router`,
  ConnectRouterOptions: `${MAIN} RouterOptions`,
  createConnectRouter: `${MAIN} createRouter`,
  compressionBrotli: `${NODE} brotli`,
  compressionGzip: `${NODE} gzip`,
  createGrpcTransport: `${NODE} createTransport`,
  GrpcTransportOptions: `${NODE} NodeTransportOptions`,
  "@connectrpc/connect-node:createConnectTransport": `${NODE} createTransport`,
  "@connectrpc/connect-node:ConnectTransportOptions": `${NODE} NodeTransportOptions`,
  createConnectTransport: `${FETCH} createTransport`,
  ConnectTransportOptions: `${FETCH} FetchTransportOptions`,
  createGrpcWebTransport: `${FETCH} createTransport`,
  GrpcWebTransportOptions: `${FETCH} FetchTransportOptions`,
  Client: "-",
  ServiceImpl: "-",
  MethodImpl: '!is a member of the handler, such as GreetServiceHandler["greet"]',
  cors: "!is the option cors of createRouter and createServer",
  createCallbackClient: "!has no counterpart: await the client's methods, or iterate over them",
  createHandlerContext: "!has no counterpart: call the handler through createInMemoryTransport",
  createWritableIterable: "!has no counterpart: pass an async generator",
  connectNodeAdapter: "!is nodeHandler(router) of triple-es/node",
  expressConnectMiddleware: "!is nodeHandler(router) of triple-es/node",
  fastifyConnectPlugin: "!is fastifyRpc of triple-es/fastify, with the option router",
  nextJsApiRouter: "!is nodeHandler(router) of triple-es/node",
  Http2SessionManager: "!has no counterpart: a transport manages its connections",
};

const members: Record<string, string> = {
  "Code.*": "=",
  "ConnectRouter.service": "add",
  "ConnectRouter.rpc": "add",
  "HandlerContext.service": "!is context.method.service, the name",
  "RequestCommon.service": "!is request.method.service, the name",
  "ResponseCommon.service": "!is request.method.service, the name",
  "UnaryResponse.method": "!is request.method",
  "StreamResponse.method": "!is request.method",
  "RequestCommon.signal": "!is request.context.signal",
  "RequestCommon.contextValues": "!is request.context.values",
  "RequestCommon.url": "!is request.method.path",
  "StreamRequest.message": "messages",
  "StreamResponse.message": "messages",
  ".requestHeader": "requestHeaders",
  ".responseHeader": "responseHeaders",
  ".responseTrailer": "responseTrailers",
  ".shutdownSignal": "!is context.draining",
  ".onHeader": "onHeaders",
  ".onTrailer": "onTrailers",
  ".contextValues": "values",
  ".header": "headers",
  ".trailer": "trailers",
  ".readMaxBytes": "maxMessageBytes",
  ".acceptCompression": "compressions",
  ".idleConnectionTimeoutMs": "idleTimeoutMs",
  ".pingIdleConnection": "-",
  ".httpVersion": "-",
  ".requestPathPrefix": "prefix",
  ".grpc": "-",
  ".grpcWeb": "-",
  ".connect": "-",
  ".defaultTimeoutMs": "!is timeoutMs of a client: createGreetServiceClient(transport, { timeoutMs })",
  ".nodeOptions": "!is tls, for TLS",
  ".useBinaryFormat": "!is codec, proto or json",
  ".sendCompression": "!is compression, a name such as gzip",
  ".writeMaxBytes": "!has no counterpart",
  ".useHttpGet": "!has no counterpart",
};

const same =
  "baseUrl code compressMinBytes compressions fetch from headers interceptors message method pingIntervalMs \
pingTimeoutMs rawMessage signal stream timeoutMs values name cause get set delete maxTimeoutMs defaultValue id stack";

/** `createClient(GreetService, transport)`. */
const client: Rule = (node, migration) => {
  if (!ts.isCallExpression(node) || migration.nameOf(node.expression) !== "createClient") return undefined;
  const [service, ...rest] = node.arguments;
  const generated = generatedOf(service, migration);
  if (generated === undefined) return undefined;
  const create = useGenerated(`create${generated.name}Client`, "triple", generated, node, migration);
  const given = rest.map((one) => migration.print(one));
  const timeout = defaultTimeout(rest[0], migration)?.initializer as ts.NumericLiteral | undefined;
  if (Number(timeout?.text) > 0) given.push(`{ timeoutMs: ${timeout?.text} }`);
  return `${create}(${given.join(", ")})`;
};

/** The default timeout of a transport, which is an option of its clients. */
function defaultTimeout(transport: ts.Node | undefined, migration: Migration): ts.PropertyAssignment | undefined {
  const declaration = transport && ts.isIdentifier(transport) ? migration.declared(transport) : undefined;
  const call = declaration && ts.isVariableDeclaration(declaration) ? declaration.initializer : transport;
  if (call === undefined || !ts.isCallExpression(call)) return undefined;
  const [options] = call.arguments;
  const timeout = options && ts.isObjectLiteralExpression(options) ? options.properties.find(isTimeout) : undefined;
  return timeout && ts.isPropertyAssignment(timeout) && ts.isNumericLiteral(timeout.initializer) ? timeout : undefined;
}

/** Finds the default timeouts that clients get, in any file. */
function movedTimeouts(migration: Migration): void {
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

/** `grpc: false` of an adapter. */
const protocol: Rule = (node, migration) => {
  const isOther = ts.isPropertyAssignment(node) && node.initializer.kind !== ts.SyntaxKind.TrueKeyword;
  if (!isOther && !ts.isShorthandPropertyAssignment(node)) return undefined;
  const name = isOther ? migration.nameOf(node.name) : migration.shorthand(node as ts.ShorthandPropertyAssignment);
  if (name && ["grpc", "grpcWeb", "connect"].includes(node.name.getText()))
    migration.leave(node, `${name} is always true`);
  return undefined;
};

/** `timeoutMs: 0` of a call, which has no deadline then. */
const unlimited: Rule = (node, migration) =>
  ts.isPropertyAssignment(node) &&
  node.initializer.getText() === "0" &&
  migration.nameOf(node.name) === "CallOptions.timeoutMs"
    ? "timeoutMs: Number.POSITIVE_INFINITY"
    : undefined;

/** `ReturnType<typeof createClient<typeof GreetService>>`. */
const returnType: Rule = (node, migration) => {
  if (!ts.isTypeReferenceNode(node) || node.typeName.getText() !== "ReturnType") return undefined;
  const [of] = node.typeArguments ?? [];
  if (!of || !ts.isTypeQueryNode(of) || migration.nameOf(of.exprName) !== "createClient") return undefined;
  const [service] = of.typeArguments ?? [];
  const generated = service && ts.isTypeQueryNode(service) ? generatedOf(service.exprName, migration) : undefined;
  return generated && useGenerated(`${generated.name}Client`, "triple", generated, node, migration);
};

/** `Client<typeof GreetService>`, `ServiceImpl<typeof GreetService>`, and both of a type parameter. */
const serviceType: Rule = (node, migration) => {
  if (!ts.isTypeReferenceNode(node) && !ts.isExpressionWithTypeArguments(node)) return undefined;
  const name = migration.nameOf(ts.isTypeReferenceNode(node) ? node.typeName : node.expression);
  const [of] = node.typeArguments ?? [];
  if (name === "MethodImpl") return methodType(of, migration);
  if (name !== "Client" && name !== "ServiceImpl") return parameterType(node, migration);
  if (of === undefined) return undefined;
  const generated = ts.isTypeQueryNode(of) ? generatedOf(of.exprName, migration) : undefined;
  if (generated === undefined) return ts.isTypeQueryNode(of) ? undefined : migration.text(of);
  const suffix = name === "Client" ? "Client" : "Handler";
  return useGenerated(`${generated.name}${suffix}`, "triple", generated, node, migration);
};

/** `MethodImpl<typeof GreetService.method.greet>`, which is a member of the handler. */
function methodType(of: ts.TypeNode | undefined, migration: Migration): string | undefined {
  if (!of || !ts.isTypeQueryNode(of) || !ts.isQualifiedName(of.exprName)) return undefined;
  const { left, right } = of.exprName;
  const generated = ts.isQualifiedName(left) ? generatedOf(left.left, migration) : undefined;
  return (
    generated && `${useGenerated(`${generated.name}Handler`, "triple", generated, of, migration)}["${right.text}"]`
  );
}

/** The type parameter of a function for any service: `<T extends DescService>(service: T): Client<T>`. */
const parameterType: Rule = (node, migration) => {
  if (!ts.isTypeReferenceNode(node)) return undefined;
  const name = migration.text(node);
  if (
    name === "DescService" &&
    ts.isTypeParameterDeclaration(node.parent) &&
    isOfClients(node.parent.parent, migration)
  )
    return "object";
  const declaration = migration.checker.getTypeAtLocation(node).symbol?.declarations?.[0];
  if (
    declaration === undefined ||
    !ts.isTypeParameterDeclaration(declaration) ||
    !isOfClients(declaration.parent, migration)
  )
    return undefined;
  return declaration.constraint?.getText() === "DescService"
    ? `${migration.imports.use(MAIN, "ServiceDef", node)}<${name}, object>`
    : undefined;
};

function isOfClients(scope: ts.Node, migration: Migration): boolean {
  let found = false;
  const visit = (node: ts.Node): void => {
    const name = ts.isTypeReferenceNode(node) ? node.typeName : ts.isCallExpression(node) ? node.expression : undefined;
    if (name && ["Client", "createClient"].includes(migration.nameOf(name) ?? "")) found = true;
    node.forEachChild(visit);
  };
  visit(scope);
  return found;
}

/** A service as a value, and its methods: `GreetService.method.greet`. */
const service: Rule = (node, migration) => {
  if (
    ts.isPropertyAccessExpression(node) &&
    ts.isPropertyAccessExpression(node.expression) &&
    node.expression.name.text === "method"
  ) {
    const of = generatedOf(node.expression.expression, migration);
    if (of && isService(of.declaration))
      return useGenerated(`${of.name}_${node.name.text}`, "triple", of, node, migration);
  }
  if (!ts.isIdentifier(node) || ts.isImportSpecifier(node.parent) || ts.isExportSpecifier(node.parent))
    return undefined;
  const of = generatedOf(node, migration);
  if (of === undefined || !isService(of.declaration) || isDescriptor(node, migration)) return undefined;
  const name = useGenerated(`${of.name}Def`, "triple", of, node, migration);
  return ts.isShorthandPropertyAssignment(node.parent) ? `${node.text}: ${name}` : name;
};

/** Reports whether a service is passed as a descriptor, which it stays: `createRegistry(GreetService)`. */
function isDescriptor(node: ts.Identifier, migration: Migration): boolean {
  const { parent } = node;
  if (!ts.isCallExpression(parent) || parent.expression === node) return false;
  const { checker } = migration;
  const declaration = checker.getResolvedSignature(parent)?.declaration;
  if (!declaration || migration.isDeclaredOld(declaration) || isOfClients(declaration, migration)) return false;
  const { parameters } = declaration;
  const parameter = parameters[parent.arguments.indexOf(node)] ?? parameters.at(-1);
  if (!parameter || !ts.isParameter(parameter)) return false;
  const written = checker.getTypeAtLocation(parameter);
  const given = parameter.dotDotDotToken
    ? (checker.getIndexTypeOfType(written, ts.IndexKind.Number) ?? written)
    : written;
  const type = checker.getBaseConstraintOfType(given) ?? given;
  return (type.isUnion() ? type.types : [type]).some(({ symbol }) => symbol?.name === "DescService");
}

function isService(declaration: ts.Declaration): boolean {
  return ts.isVariableDeclaration(declaration) && (declaration.type?.getText().startsWith("GenService<") ?? false);
}

/** Members of requests in interceptors and of contexts that are in other places. */
const requestMember: Rule = (node, migration) => {
  if (!ts.isPropertyAccessExpression(node)) return undefined;
  const origin = migration.origin(node);
  const text = migration.text(node);
  if (text.endsWith(".service.typeName") || text.endsWith(".method.parent.typeName")) {
    const inner = node.expression as ts.PropertyAccessExpression;
    const owner = migration.nameOf(inner.name) ? inner : (inner.expression as ts.PropertyAccessExpression);
    const name = migration.nameOf(owner);
    const of = name?.startsWith("Response") ? requestOf(node, migration) : name && migration.print(owner.expression);
    if (of) return `${of}.method.service`;
  }
  const request =
    origin?.types[0]?.includes("Response") && node.name.text === "method" ? requestOf(node, migration) : undefined;
  if (request) return `${request}.method`;
  const of = (): string => migration.print(node.expression);
  if (node.name.text === "methodKind" && migration.nameOf(node.expression)) return `${of()}.kind`;
  if (origin?.name === "HandlerContext.url") return `${of()}.method.path`;
  switch (origin?.types[0] === "RequestCommon" && origin.name) {
    case "RequestCommon.url":
      return `${of()}.method.path`;
    case "RequestCommon.signal":
      // That of a client is optional.
      return `${of()}.context.signal${ts.isPropertyAccessExpression(node.parent) && !node.parent.questionDotToken ? "?" : ""}`;
    case "RequestCommon.contextValues":
      return `${of()}.context.values`;
  }
  if (origin !== undefined && origin.types.length > 1 && node.name.text === "message")
    return `(${of()}.stream ? ${of()}.messages : ${of()}.message)`;
  return undefined;
};

/** `log(request.message)`, whose type is `object` now, where a `Message` is expected. */
const requestMessage: Rule = (node, migration) => {
  if (!ts.isPropertyAccessExpression(node) || node.name.text !== "message") return undefined;
  if (!ts.isCallExpression(node.parent) || node.parent.expression === node) return undefined;
  const [owner] = migration.origin(node)?.types ?? [];
  if (!owner?.includes("Request") && !owner?.includes("Response")) return undefined;
  const expected = migration.checker.getContextualType(node)?.getNonNullableType();
  const [of] =
    expected?.symbol?.name === "AsyncIterable" ? migration.checker.getTypeArguments(expected as ts.TypeReference) : [];
  // The type is an alias.
  const isStream = of?.aliasSymbol?.name === "Message";
  if (!isStream && expected?.aliasSymbol?.name !== "Message") return undefined;
  const type = migration.typed(migration.imports.use("@bufbuild/protobuf", "Message", node));
  const text = requestMember(node, migration) ?? migration.children(node);
  return type === "" ? text : `${text} as ${isStream ? `AsyncIterable<${type}>` : type}`;
};

/** The request of the interceptor around a response, `(next) => async (request) => …`, which has what the response lacks. */
function requestOf(node: ts.Node, migration: Migration): string | undefined {
  for (let one = node; !ts.isSourceFile(one); one = one.parent) {
    const [only, ...others] = ts.isArrowFunction(one) && ts.isArrowFunction(one.parent) ? one.parameters : [];
    const isRequest = only && migration.checker.getTypeAtLocation(only).getProperty("requestMethod");
    if (isRequest && others.length === 0 && ts.isIdentifier(only.name)) return only.name.text;
  }
  return undefined;
}

export const connectEs: Kind = createKind({
  packages: [
    "connect",
    "connect-node",
    "connect-web",
    "connect-express",
    "connect-fastify",
    "connect-next",
    "connect-query",
    "validate",
  ].map((name) => `@connectrpc/${name}`),
  unsupported: { "@connectrpc/connect-query": "has another form here: createQueries of triple-es/query" },
  section: "From Connect for ECMAScript",
  tools: [],
  plugins: [],
  names,
  members,
  same,
  prepare: (migration) => {
    retypedParameters(migration);
    movedTimeouts(migration);
  },
  rules: [
    ...adapterRules,
    ...headerRules,
    client,
    timeout,
    protocol,
    unlimited,
    returnType,
    serviceType,
    service,
    ...errorRules,
    requestMessage,
    requestMember,
  ],
});
