/**
 * Entry point `triple-es/node`: servers, handlers for existing servers, and transports over HTTP/1.1 and HTTP/2.
 *
 * @module triple-es/node
 */
import "./call/inspect.ts";
import { assertMembers, pickMembers } from "./call/option.ts";
import type { ClosableTransport } from "./client/client.ts";
import { boundedJsonCodec } from "./codec/bounded-codec.ts";
import { createGrpcClient } from "./grpc/client.ts";
import { createHttpRpcClient } from "./http-rpc/client.ts";
import { createRouter as createPortableRouter, type Router, type RouterOptions } from "./index.ts";
import type { DiscoveryOptions } from "./node/client/target-connector.ts";
import {
  type BalancedTransport,
  type BaseTransportOptions,
  createNodeTransport,
  type RegistryDiscoveryOptions,
} from "./node/client/transport.ts";
import { nodeCompressions } from "./node/compression.ts";
import { startDiagnostics } from "./node/io/debug.ts";
import { nodeProtoCodec } from "./node/proto-codec.ts";
import { createNodeHandler, type NodeHandler, type NodeHandlerOptions } from "./node/server/adapter/adapter.ts";
import { mountConsole } from "./node/server/console.ts";
import { SOCKET_OPTIONS, type SocketServer, type SocketServerOptions, withSockets } from "./node/server/server.ts";
import type { createConsole } from "./openapi/console.ts";
import { ROUTER_OPTIONS } from "./server/options.ts";
import type { Resource } from "./server/resource.ts";

export type { CloseOptions } from "./call/context.ts";
export type { ClosableTransport } from "./client/client.ts";
export type { Balancer, Picker, Random, ReadyEndpoint } from "./discovery/balancer.ts";
export type { EjectionMethod } from "./discovery/ejection.ts";
export type {
  EjectionOptions,
  FailurePercentageEjection,
  GivenEjection,
  SuccessRateEjection,
} from "./discovery/ejection-options.ts";
export type { Endpoint, Resolver, ResolverContext } from "./discovery/endpoint.ts";
export type { EndpointState } from "./discovery/member.ts";
export type * from "./discovery/registry.ts";
export type { EndpointStatus, TargetEvent } from "./discovery/target-options.ts";
export type { ClientTlsOptions, ConnectionOptions, ConnectOptions } from "./node/client/connector.ts";
export type { DiscoveryOptions } from "./node/client/target-connector.ts";
export type { BalancedTransport, BaseTransportOptions, RegistryDiscoveryOptions } from "./node/client/transport.ts";
export { brotli, deflate, gzip, type NodeCompression, nodeCompressions, zstd } from "./node/compression.ts";
export type { NodeHandler, NodeHandlerOptions, NodeRequest, NodeResponse } from "./node/server/adapter/adapter.ts";
export type { FallbackApplication } from "./node/server/fallback/fallback.ts";
export type { FallbackEnvironment, FetchApplication } from "./node/server/fallback/fetch.ts";
export type { ConnectionLimits } from "./node/server/listener/limits.ts";
export type { ListenerOptions, ListenOptions, TlsErrorHook } from "./node/server/listener/listener.ts";
export type { RequestHead, SocketServer, SocketServerOptions } from "./node/server/server.ts";
export type { TrustProxyOptions } from "./node/server/trusted-proxies.ts";
export type { WrapperContentType } from "./protocol/options.ts";

/** Options of a router on Node. */
export interface NodeRouterOptions extends RouterOptions {
  /**
   * Serves a page at `/triple` on which developers call the methods of the router, with Swagger UI; it needs the package
   * `swagger-ui-dist`. Everybody who reaches the server can read the page, and it calls with the rights of its reader.
   * True: the page is not served if `NODE_ENV` is `production`; `always`: it is. Default: false.
   */
  readonly console?: boolean | "always" | undefined;
}

/** Options of a server: those of its router and those of its sockets. */
export interface ServerOptions extends NodeRouterOptions, SocketServerOptions {}

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
const SERVER_OPTIONS = [...new Set([...NODE_ROUTER_OPTIONS, ...SOCKET_OPTIONS])];

function createNodeRouter(options: NodeRouterOptions): Router {
  const { codecs = [nodeProtoCodec, boundedJsonCodec], compressions = nodeCompressions } = options;
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

/** Options of a transport to one server. */
export interface NodeTransportOptions extends BaseTransportOptions {
  /** Serializations of the values of interface methods over `grpc`, such as `hessian2`. Default: none. */
  readonly serializations?: readonly { readonly name: string }[] | undefined;
}

/** Options of a transport to the endpoints that a resolver finds. */
export interface BalancedTransportOptions extends Omit<NodeTransportOptions, "baseUrl">, DiscoveryOptions {
  /** Absent: the resolver finds the servers. */
  readonly baseUrl?: undefined;
}

/** Options of a transport to the services of a registry. */
export interface RegistryTransportOptions extends Omit<NodeTransportOptions, "baseUrl">, RegistryDiscoveryOptions {
  /** Absent: the registry has the servers. */
  readonly baseUrl?: undefined;
  /** Absent: the registry has a resolver for each service. */
  readonly resolver?: undefined;
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
export function createTransport(options: NodeTransportOptions): ClosableTransport;
/**
 * Creates a transport of any of these kinds. Of more than three signatures, the compiler reports errors of options for the last
 * one alone, so this one makes it name the wrong option.
 */
export function createTransport(
  options: NodeTransportOptions | BalancedTransportOptions | RegistryTransportOptions,
): ClosableTransport;
export function createTransport(
  options: NodeTransportOptions | BalancedTransportOptions | RegistryTransportOptions,
): ClosableTransport {
  startDiagnostics();
  return createNodeTransport({ grpc: createGrpcClient, "http-rpc": createHttpRpcClient }, options);
}
