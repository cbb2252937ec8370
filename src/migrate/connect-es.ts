/** The migration from Connect for ECMAScript 2. */
import { ts } from "ts-morph";
import { adapterRules } from "./connect-adapters.ts";
import { connectClientRules, movedTimeouts } from "./connect-clients.ts";
import { connectErrorRules } from "./connect-errors.ts";
import { headerRules, retypedParameters } from "./connect-headers.ts";
import { interceptorRules } from "./connect-interceptors.ts";
import { routeRules } from "./connect-routes.ts";
import { connectServiceRules } from "./connect-services.ts";
import { transportRules } from "./connect-transports.ts";
import { createKind } from "./kind.ts";
import type { Kind, Rule } from "./migration.ts";

const MAIN = "triple-es";
const FETCH = "triple-es/fetch";
const NODE = "triple-es/node";

/** Names that stay. */
const SAME =
  "CallOptions Code ContextKey ContextValues HandlerContext Interceptor StreamRequest StreamResponse Transport \
UnaryRequest UnaryResponse createContextKey createContextValues createClient";

/** Names of handlers without a framework. */
const UNIVERSAL = ["UniversalHandler", "universalServerRequestFromFetch", "universalServerResponseToFetch"];

const names: Record<string, string> = {
  ...Object.fromEntries(SAME.split(" ").map((name) => [name, `${MAIN} ${name}`])),
  ConnectError: `${MAIN} RpcError`,
  ConnectRouter: `${MAIN} Router`,
  ConnectRouterOptions: `${MAIN} RouterOptions`,
  createConnectRouter: `${MAIN} createRouter`,
  compressionBrotli: `${NODE} brotli`,
  compressionGzip: `${NODE} gzip`,
  Compression: `${NODE} NodeCompression`,
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
  ".writeMaxBytes": "-has no counterpart: the receiver limits its messages, by maxMessageBytes",
  ".useHttpGet": "-has no counterpart: calls are POST, and routes of triple-es/rest answer GET",
  ".jsonOptions": "-is createJsonCodec({ registry }), as codec of a transport or in codecs of a router",
  ".binaryOptions": "-has no counterpart, but for a codec of your own",
  ".sessionManager": "-has no counterpart: a transport manages its connections",
  "UniversalHandlerOptions.shutdownSignal": "-is server.close({ graceMs }), which fires context.draining first",
};

const same =
  "baseUrl code compressMinBytes compressions fetch from headers interceptors message method pingIntervalMs \
pingTimeoutMs rawMessage signal stream timeoutMs values name cause get set delete maxTimeoutMs defaultValue id stack";

/** `grpc: false` of an adapter. */
const protocol: Rule = (node, migration) => {
  const isOther = ts.isPropertyAssignment(node) && node.initializer.kind !== ts.SyntaxKind.TrueKeyword;
  if (!isOther && !ts.isShorthandPropertyAssignment(node)) return undefined;
  const name = isOther ? migration.nameOf(node.name) : migration.shorthand(node as ts.ShorthandPropertyAssignment);
  if (name && ["grpc", "grpcWeb", "connect"].includes(node.name.getText()))
    migration.leave(node, `${name} is always true`);
  return undefined;
};

/** `sendCompression: compressionGzip`, which is given by its name. */
const compression: Rule = (node, migration) => {
  const isGiven = ts.isPropertyAssignment(node);
  if (!isGiven && !ts.isShorthandPropertyAssignment(node)) return undefined;
  const name = isGiven ? migration.nameOf(node.name) : migration.shorthand(node);
  if (!name?.endsWith(".sendCompression")) return undefined;
  const value = isGiven ? node.initializer : node.name;
  const isAbsent = migration.checker.getTypeAtLocation(value).getNonNullableType().flags & ts.TypeFlags.Never;
  return isAbsent ? "" : `compression: (${migration.print(value)})?.name`;
};

/** `timeoutMs: 0` of a call, which has no deadline then. */
const unlimited: Rule = (node, migration) =>
  ts.isPropertyAssignment(node) &&
  node.initializer.getText() === "0" &&
  migration.nameOf(node.name) === "CallOptions.timeoutMs"
    ? "timeoutMs: Number.POSITIVE_INFINITY"
    : undefined;

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
  unsupported: {
    "@connectrpc/connect-query": "has another form here: createQueries of triple-es/query",
    ...Object.fromEntries(UNIVERSAL.map((name) => [name, "has no counterpart: use fetchHandler(router)"])),
  },
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
    ...routeRules,
    ...transportRules,
    ...headerRules,
    ...connectClientRules,
    protocol,
    compression,
    unlimited,
    ...connectServiceRules,
    ...connectErrorRules,
    ...interceptorRules,
  ],
});
