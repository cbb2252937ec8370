/**
 * Entry point `triple-es/node`: servers, handlers for existing servers, and transports over HTTP/1.1 and HTTP/2.
 *
 * @module triple-es/node
 */
import "./call/inspect.ts";
import { assertMembers, pickMembers } from "./call/option.ts";
import type { ClosableTransport } from "./client/client.ts";
import { boundedJsonCodec, defaultProtoCodec } from "./codec/bounded-codec.ts";
import { createGrpcClient } from "./grpc/client.ts";
import { createHttpRpcClient } from "./http-rpc/client.ts";
import { createRouter as createPortableRouter, type Router } from "./index.ts";
import { type BalancedTransport, createNodeTransport } from "./node/client/transport.ts";
import type {
  BalancedTransportOptions,
  NodeTransportOptions,
  RegistryTransportOptions,
} from "./node/client/transport-options.ts";
import { nodeCompressions } from "./node/compression.ts";
import { startDiagnostics } from "./node/io/debug.ts";
import { createNodeHandler, type NodeHandler, type NodeHandlerOptions } from "./node/server/adapter/adapter.ts";
import { mountConsole } from "./node/server/console.ts";
import { SOCKET_OPTIONS, type SocketServer, withSockets } from "./node/server/server.ts";
import type { NodeRouterOptions, ServerOptions } from "./node/server/server-options.ts";
import type { createConsole } from "./openapi/console.ts";
import { ROUTER_OPTIONS } from "./server/options.ts";
import type { Resource } from "./server/resource.ts";

export type { CloseOptions } from "./call/context.ts";
export type { ClosableTransport } from "./client/client.ts";
export type { Balancer, ReadyEndpoint, RoutedBalancer } from "./discovery/balancer.ts";
export type { EjectionOptions } from "./discovery/ejection-options.ts";
export type { Endpoint, Resolver, ResolverContext } from "./discovery/endpoint.ts";
export type * from "./discovery/registry.ts";
export type { EndpointStatus, TargetEvent } from "./discovery/target-options.ts";
export type { BalancedTransport } from "./node/client/transport.ts";
export type {
  BalancedTransportOptions,
  ClientTlsOptions,
  NodeTransportOptions,
  RegistryTransportOptions,
} from "./node/client/transport-options.ts";
export { brotli, deflate, gzip, type NodeCompression, nodeCompressions, zstd } from "./node/compression.ts";
export { recordCalls } from "./node/recorder.ts";
export type { NodeHandler, NodeHandlerOptions, NodeRequest, NodeResponse } from "./node/server/adapter/adapter.ts";
export type { ConnectionLimits } from "./node/server/listener/limits.ts";
export type { SocketServer } from "./node/server/server.ts";
export type {
  FallbackApplication,
  ListenOptions,
  NodeRouterOptions,
  ServerOptions,
} from "./node/server/server-options.ts";
export type { TrustProxyOptions } from "./node/server/trusted-proxies.ts";

/** A server: a router that listens on a socket. */
export interface Server extends Router, SocketServer {
  readonly onClose: SocketServer["onClose"];
}

/**
 * Creates a router as `createRouter` of `triple-es` does, with Node's codec and compressions as defaults, for {@link
 * nodeHandler} and other handlers that run on Node. Throws a `TypeError` or `RangeError` for an invalid option, and an
 * `Error` if the option `console` needs a package that is not installed.
 */
export function createRouter(options: NodeRouterOptions = {}): Router {
  assertMembers("the options of createRouter", options, NODE_ROUTER_OPTIONS);
  return createNodeRouter(options);
}

const NODE_ROUTER_OPTIONS = [...ROUTER_OPTIONS, "console"];
const SERVER_OPTIONS = [...NODE_ROUTER_OPTIONS, ...SOCKET_OPTIONS];

function createNodeRouter(options: NodeRouterOptions): Router {
  const { codecs = [defaultProtoCodec, boundedJsonCodec], compressions = nodeCompressions } = options;
  const router = createPortableRouter(pickMembers({ ...options, codecs, compressions }, ROUTER_OPTIONS));
  return mountConsole(router, options, loadConsole);
}

/** Few servers have the page, so its modules are not loaded with this entry point. */
const loadConsole = async (...args: Parameters<typeof createConsole>): Promise<Resource> =>
  (await import("./openapi/console.ts")).createConsole(...args);

/**
 * Creates a server for both sub-protocols. Add services to it, then call `listen`. Throws a `TypeError` or `RangeError` for
 * an invalid option.
 */
export function createServer(options: ServerOptions = {}): Server {
  assertMembers("the options of createServer", options, SERVER_OPTIONS);
  startDiagnostics();
  return withSockets(createNodeRouter(options), options);
}

/**
 * Creates a handler for existing servers: `node:http`, `node:http2`, Express and Connect. It serves HTTP RPC over
 * HTTP/1.1 and both sub-protocols over HTTP/2. Requests for paths outside the router's services are passed to `next`, or
 * answered with 404 without `next`. Throws a `TypeError` for an invalid option.
 *
 * The handler reads the body itself, so it must precede body parsers. Create its router with {@link createRouter} of this
 * entry point, which has Node's compressions.
 */
export function nodeHandler(router: Router, options: NodeHandlerOptions = {}): NodeHandler {
  return createNodeHandler(router, options);
}

/**
 * Creates a transport to all services of a registry: each service, with its group and version, has endpoints of its own,
 * which are found when it is called for the first time. Throws a `TypeError` or `RangeError` for an invalid option.
 */
export function createTransport(options: RegistryTransportOptions): BalancedTransport;
/**
 * Creates a transport to the endpoints that a resolver finds. The resolver starts with the first call. Throws a `TypeError`
 * or `RangeError` for an invalid option.
 */
export function createTransport(options: BalancedTransportOptions): BalancedTransport;
/**
 * Creates a transport to one server. Connections are opened on demand. Throws a `TypeError` or `RangeError` for an invalid
 * option.
 */
export function createTransport(options: NodeTransportOptions): ClosableTransport & AsyncDisposable;
/**
 * Creates a transport of any of these kinds. Of more than three signatures, the compiler reports errors of options for the last
 * one alone, so this one makes it name the wrong option.
 */
export function createTransport(
  options: NodeTransportOptions | BalancedTransportOptions | RegistryTransportOptions,
): ClosableTransport & AsyncDisposable;
export function createTransport(
  options: NodeTransportOptions | BalancedTransportOptions | RegistryTransportOptions,
): ClosableTransport & AsyncDisposable {
  startDiagnostics();
  return createNodeTransport({ grpc: createGrpcClient, "http-rpc": createHttpRpcClient }, options);
}
