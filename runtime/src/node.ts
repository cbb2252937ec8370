/**
 * Entry point `triple-es/node`: servers, handlers for existing servers, and transports over HTTP/1.1 and HTTP/2.
 */
import "./call/inspect.ts";
import type { AddressInfo } from "node:net";
import { type ContextValues, type Interceptor, intercept } from "./call/call.ts";
import { type CloseOptions, gracePeriod } from "./call/context.ts";
import { assertOneOf } from "./call/option.ts";
import type { RetryOptions } from "./client/attempt-policy.ts";
import type { ClosableTransport } from "./client/client.ts";
import { configureCalls } from "./client/configured.ts";
import { createRetry } from "./client/retry.ts";
import { parseServiceConfig, type ServiceConfig } from "./client/service-config.ts";
import { closableTransport } from "./client/transport.ts";
import type { Codec } from "./codec/codec.ts";
import { type Compression, findCompression } from "./codec/compression.ts";
import { boundedJsonCodec, decodedLimit, findBoundedCodec } from "./codec/large-message.ts";
import { checkWireNames } from "./codec/wire-name.ts";
import type { EndpointStatus } from "./discovery/target.ts";
import { createGrpcClient } from "./grpc/client.ts";
import type { Exchange, HttpRequest } from "./http/exchange.ts";
import { pathsBelow } from "./http/path-prefix.ts";
import { createHttpRpcClient } from "./http-rpc/client.ts";
import { createRouter as createPortableRouter, type Router, type RouterOptions } from "./index.ts";
import type { Serialization } from "./java/serialization.ts";
import { type ConnectOptions, createConnector } from "./node/client/connector.ts";
import { createTargetConnector, type DiscoveryOptions } from "./node/client/target-connector.ts";
import { nodeCompressions } from "./node/compression.ts";
import { nodeProtoCodec } from "./node/proto-codec.ts";
import { createNodeHandler, type NodeHandler, type NodeRequest } from "./node/server/adapter.ts";
import { CloseHooks } from "./node/server/close-hooks.ts";
import { createFallback, type FallbackApplication } from "./node/server/fallback.ts";
import { Listener, type ListenerOptions, type ListenOptions } from "./node/server/listener.ts";
import { type TrustProxyOptions, withTrustedProxies } from "./node/server/trusted-proxies.ts";
import type { HeaderLimitsInit } from "./protocol/header-limits.ts";
import { isMarkedCall } from "./protocol/headers.ts";
import { resolveClientOptions, resolveErrorHook, type WrapperContentType } from "./protocol/options.ts";

export type { CloseOptions } from "./call/context.ts";
export type { ClosableTransport } from "./client/client.ts";
export type { EndpointStatus, TargetEvent } from "./discovery/target.ts";
export type { ClientTlsOptions, ConnectionOptions } from "./node/client/connector.ts";
export type { DiscoveryOptions } from "./node/client/target-connector.ts";
export { brotli, deflate, gzip, type NodeCompression, nodeCompressions, zstd } from "./node/compression.ts";
export type { NodeHandler, NodeRequest, NodeResponse } from "./node/server/adapter.ts";
export type { FallbackApplication } from "./node/server/fallback.ts";
export type { FallbackEnvironment, FetchApplication } from "./node/server/fallback-fetch.ts";
export type { ConnectionLimits } from "./node/server/limits.ts";
export type { ListenOptions, TlsErrorHook } from "./node/server/listener.ts";
export type { TrustProxyOptions } from "./node/server/trusted-proxies.ts";

/** The head of a request, from which the option `values` creates the values of its call. */
export type RequestHead = Pick<HttpRequest, "path" | "headers" | "authority" | "peer">;

export interface ServerOptions extends RouterOptions, ListenerOptions {
  /**
   * Creates the values of each call's context from the head of its request. Called when interceptors or the handler first
   * read `context.values`. If it throws, the call fails with `unknown`. Default: no values.
   */
  readonly values?: ((request: RequestHead) => ContextValues) | undefined;
  /**
   * Trusted proxies. For a request from one of them, `context.peer.address` is the client's address in the proxy's header,
   * and the port is `undefined`; the other values still come from the connection. Default: none, so that such headers are
   * ignored.
   */
  readonly trustProxy?: TrustProxyOptions | undefined;
  /**
   * The application that answers all requests that are not calls: a function `(request, response)` as for `node:http`, such
   * as an application of Express, or an object with `fetch`, such as an application of Hono. A request is a call if its path
   * begins with the name of an added service, or if it has a content type of gRPC or the header `tri-protocol-version`. A
   * `node:http` function receives requests over HTTP/2 as if they were HTTP/1.1. Errors of the application are passed to
   * `onError`, and answered with 500. Default: none, so that these requests are answered as calls of unknown methods.
   */
  readonly fallback?: FallbackApplication | undefined;
}

/** A server: a router that listens on a socket. */
export interface Server extends Router {
  /** Starts to listen on one port for HTTP/1.1 and HTTP/2. Resolves when the server listens, and rejects if it cannot. */
  readonly listen: (options: ListenOptions) => Promise<this>;
  /**
   * The address that the server listens on. Throws an `Error` if the server does not listen, or listens on a Unix socket.
   */
  readonly address: AddressInfo;
  /**
   * Shuts down gracefully: stops listening, sends GOAWAY to HTTP/2 clients, and closes connections without a call. Running
   * calls, including streams, continue up to the grace period (default: 30 seconds). Then their signals fire and they fail as
   * unavailable; one second later the remaining connections are closed. Settles when all connections are closed. A second
   * call waits for the same shutdown, and its grace period has no effect. Rejects with a `TypeError`, without closing
   * anything, if the grace period is invalid.
   */
  readonly close: (options?: CloseOptions) => Promise<void>;
  /**
   * Registers a callback that runs when the server begins to close, while it still answers calls. End long streams in the
   * callback; otherwise they run until the grace period ends. If the callback returns a promise, the server continues to
   * accept calls until the promise settles, for half of the grace period at most.
   */
  readonly onClose: (callback: () => unknown) => void;
  /** Closes the server with the default grace period, for `await using`. */
  readonly [Symbol.asyncDispose]: () => Promise<void>;
}

/**
 * Creates a router as `createRouter` of `triple-es` does, with Node's codec and compressions as defaults, for {@link
 * nodeHandler} and other handlers that run on Node. Throws a `TypeError` or `RangeError` for an invalid option.
 */
export function createRouter(options: RouterOptions = {}): Router {
  const { codecs = [nodeProtoCodec, boundedJsonCodec], compressions = nodeCompressions } = options;
  return createPortableRouter({ ...options, codecs, compressions });
}

/**
 * Creates a server for both sub-protocols. Add services to it, then call `listen`. Throws a `TypeError` or `RangeError` for
 * an invalid option.
 */
export function createServer(options: ServerOptions = {}): Server {
  const router = createRouter(options);
  const { values, trustProxy } = options;
  const valued: Exchange =
    values === undefined
      ? router.exchange
      : (request) => router.exchange(Object.assign(request, { values: () => values(request) }));
  const trusting = (exchange: Exchange): Exchange =>
    trustProxy === undefined ? exchange : withTrustedProxies(exchange, trustProxy);
  const fallback =
    options.fallback &&
    createFallback(
      options.fallback,
      (request) => router.serves(request) || isMarkedCall(request.headers),
      resolveErrorHook(options.onError),
      trusting,
    );
  const listener = new Listener(trusting(valued), options, fallback);
  const closeHooks = new CloseHooks();
  let closing: Promise<void> | undefined;
  const server: Server = {
    exchange: router.exchange,
    services: router.services,
    mount(resource) {
      router.mount(resource);
      return server;
    },
    serves: router.serves,
    add(service, implementation, serviceOptions) {
      router.add(service, implementation, serviceOptions);
      return server;
    },
    async listen(listenOptions) {
      await listener.listen(listenOptions);
      return server;
    },
    get address() {
      return listener.address;
    },
    onClose: (callback) => closeHooks.add(callback),
    async close(closeOptions = {}) {
      // The grace period is validated first, because hooks must not be called for a shutdown that is refused.
      const graceMs = gracePeriod(closeOptions);
      closing ??= shutDown(graceMs);
      return closing;
    },
    [Symbol.asyncDispose]: () => server.close(),
  };

  async function shutDown(graceMs: number): Promise<void> {
    const startedAt = performance.now();
    const hooks = closeHooks.run(graceMs / 2);
    if (hooks !== undefined) await hooks;
    return listener.close(Math.max(0, graceMs - (performance.now() - startedAt)));
  }

  return server;
}

export interface NodeHandlerOptions {
  /**
   * The path prefix of methods, such as `/api`. Default: none. It is not needed in Express and Connect, which remove the
   * path that a handler is mounted at.
   */
  readonly prefix?: string | undefined;
  /**
   * Creates the values of each call's context from the server's request, including the properties that middleware has
   * added, such as `request.user`. Called when interceptors or the handler first read `context.values`. Default: no values.
   */
  readonly values?: ((request: NodeRequest) => ContextValues) | undefined;
  /** Trusted proxies, as in {@link ServerOptions}. Default: none. */
  readonly trustProxy?: TrustProxyOptions | undefined;
}

/**
 * Creates a handler for existing servers: `node:http`, `node:http2`, Express and Connect. It serves sub-protocol A over
 * HTTP/1.1 and both sub-protocols over HTTP/2. Requests for paths outside the router's services are passed to `next`, or
 * answered with 404 without `next`. Throws a `TypeError` for an invalid option.
 *
 * The handler reads the body itself, so it must precede body parsers. Create its router with {@link createRouter} of this
 * entry point, which has Node's compressions.
 */
export function nodeHandler(router: Router, options: NodeHandlerOptions = {}): NodeHandler {
  const pathOf = pathsBelow(options.prefix);
  const { values, trustProxy } = options;
  const exchange = trustProxy === undefined ? router.exchange : withTrustedProxies(router.exchange, trustProxy);
  return createNodeHandler(exchange, { pathOf, serves: router.serves, values });
}

export interface NodeTransportOptions extends Omit<ConnectOptions, "httpVersion" | "maxHeaderBytes"> {
  /** The sub-protocol: `grpc` is B, for all four kinds of call; `http-rpc` is A, for unary calls only. Default: `grpc`. */
  readonly protocol?: "grpc" | "http-rpc" | undefined;
  /** The version of HTTP. Default: `2` for `grpc`, which requires it; `1.1` for `http-rpc`. */
  readonly httpVersion?: "1.1" | "2" | undefined;
  /** The codec of messages. Default: `proto`. */
  readonly codec?: "proto" | "json" | Codec | undefined;
  /** The name of the compression of requests, such as `gzip`. Default: none. */
  readonly compression?: string | undefined;
  /** Supported compressions. Default: gzip, br, deflate, and zstd from Node 22.15 on. */
  readonly compressions?: readonly Compression[] | undefined;
  /** Messages with fewer bytes than this are not compressed. Default: 1,024. */
  readonly compressMinBytes?: number | undefined;
  /**
   * Limits of header blocks. `request` applies to the headers that are sent: `fields` (default 100) and `bytes` (default
   * 16,384; each field adds 32 to its name and value, as in HTTP/2). `response` applies to received headers and trailers,
   * separately (default and maximum 2,000 and 65,536). A call fails with `invalid_argument` if its metadata exceeds a
   * limit, and with `resource_exhausted` if its response does.
   */
  readonly headerLimits?: HeaderLimitsInit | undefined;
  /** Maximum size of a received message, in bytes. A larger one fails the call with `resource_exhausted`. Default: 4 MiB. */
  readonly maxMessageBytes?: number | undefined;
  /**
   * Maximum memory of a decoded message, in bytes, by estimate. A call with a larger response fails with
   * `resource_exhausted`. Default: 16 times `maxMessageBytes`, which is 64 MiB by default.
   */
  readonly maxDecodedBytes?: number | undefined;
  /**
   * The JSON body of a message over `http-rpc`: the specification's array of one element, or the bare object. The option
   * also applies to a single argument of an interface method, of any type. Default: `array`.
   */
  readonly jsonBody?: "array" | "object" | undefined;
  /**
   * True if methods are called by their names in Dubbo for Java. Code generated with `java_names` contains the names. Java
   * servers require them over `http-rpc`, and over `grpc` for a service with several groups or versions. Default: false,
   * the names of the proto file.
   */
  readonly javaNames?: boolean | undefined;
  /**
   * The codec of responses over `http-rpc`, requested by the header `accept`. Default: the codec of requests, without the
   * header. A call can also set `accept` in its headers.
   */
  readonly accept?: "proto" | "json" | Codec | undefined;
  /**
   * True if requests over `grpc` send the type of their messages in `grpc-message-type`, such as `greet.v1.GreetRequest`.
   * Default: false. A call can also set the header itself.
   */
  readonly messageType?: boolean | undefined;
  /** Serializations of the values of interface methods over `grpc`, such as `hessian2`. Default: none. */
  readonly serializations?: readonly Serialization[] | undefined;
  /**
   * The content type of the messages of interface methods over `grpc`. Default: `application/grpc+proto`, which known peers
   * use.
   */
  readonly wrapperContentType?: WrapperContentType | undefined;
  /**
   * The policy for retries or hedging (gRFC A6). Methods are retried if they are idempotent by their `idempotency_level`,
   * unless the policy's option `applies` selects others; only methods with an `idempotency_level` are hedged. Interceptors
   * run once for each call, not for each attempt. Default: none.
   */
  readonly retry?: RetryOptions | undefined;
  /**
   * A service config in gRPC's JSON format, as text or parsed: timeouts, wait for ready, retries and hedging by method. It
   * excludes the option `retry`. Default: none.
   */
  readonly serviceConfig?: string | object | undefined;
  /** Interceptors that wrap every call, the first one outermost. Default: none. */
  readonly interceptors?: readonly Interceptor[] | undefined;
}

/** Options of a transport to the endpoints that a resolver finds. */
export interface BalancedTransportOptions extends Omit<NodeTransportOptions, "baseUrl">, DiscoveryOptions {
  readonly baseUrl?: undefined;
}

/** A transport to the endpoints of a target. */
export interface BalancedTransport extends ClosableTransport {
  /** Returns the known endpoints with their state. */
  readonly endpoints: () => readonly EndpointStatus[];
}

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
export function createTransport(options: NodeTransportOptions | BalancedTransportOptions): ClosableTransport {
  const { protocol = "grpc", codec: given = "proto", compressions = nodeCompressions } = options;
  const { httpVersion = protocol === "grpc" ? "2" : "1.1" } = options;
  assertOneOf("protocol", protocol, ["grpc", "http-rpc"]);
  assertOneOf("httpVersion", httpVersion, ["1.1", "2"]);
  assertOneOf("jsonBody", options.jsonBody ?? "array", ["array", "object"]);
  assertOneOf("wrapperContentType", options.wrapperContentType ?? "application/grpc+proto", WRAPPER_CONTENT_TYPES);
  if (protocol === "grpc" && httpVersion !== "2") throw new TypeError(`protocol "grpc" needs httpVersion "2"`);
  const createProtocol = protocol === "grpc" ? createGrpcClient : createHttpRpcClient;
  const { serializations, wrapperContentType } = options;
  checkWireNames("compressions", compressions, ["identity"]);
  if (protocol === "grpc" && options.accept !== undefined) throw new TypeError(`accept needs protocol "http-rpc"`);
  const find = (one: "proto" | "json" | Codec): Codec => (one === "proto" ? nodeProtoCodec : findBoundedCodec(one));
  const codec = find(given);
  const accept = options.accept && find(options.accept);
  const sendCompression = requireCompression(compressions, options.compression);
  const general = resolveClientOptions({ ...options, codec, accept, compressions, sendCompression });
  const maxHeaderBytes = general.headerLimits.response.bytes;
  const connecting = { ...options, httpVersion, maxHeaderBytes };
  const serviceConfig = readServiceConfig(options);
  const connector = hasResolver(connecting)
    ? createTargetConnector(connecting, serviceConfig)
    : createConnector(connecting);
  const resolved = {
    ...general,
    maxDecodedBytes: decodedLimit({ ...options, ...general }),
    serializations,
    wrapperContentType,
  };
  const call = createProtocol(connector.exchange, resolved);
  const current = "serviceConfig" in connector ? connector.serviceConfig : () => serviceConfig;
  const mayConfigure = options.retry === undefined && (serviceConfig !== undefined || "serviceConfig" in connector);
  const attempted = mayConfigure
    ? configureCalls(call, current)
    : options.retry
      ? createRetry(options.retry)(call)
      : call;
  const transport = closableTransport(intercept(attempted, options.interceptors), connector);
  return "endpoints" in connector ? Object.assign(transport, { endpoints: connector.endpoints }) : transport;
}

type Resolving<Options> = Extract<Options, { readonly resolver: unknown }>;

function hasResolver<Options extends { readonly baseUrl?: string | undefined }>(
  options: Options,
): options is Resolving<Options> {
  if (!("resolver" in options) || options.resolver === undefined) return false;
  if (options.baseUrl === undefined) return true;
  throw new TypeError("baseUrl and resolver exclude each other");
}

function readServiceConfig({
  retry,
  serviceConfig,
}: Pick<NodeTransportOptions, "retry" | "serviceConfig">): ServiceConfig | undefined {
  if (serviceConfig === undefined) return undefined;
  if (retry === undefined) return parseServiceConfig(serviceConfig);
  throw new TypeError("retry and serviceConfig exclude each other: write the policy into the config");
}

const WRAPPER_CONTENT_TYPES: readonly WrapperContentType[] = ["application/grpc+proto", "application/triple+wrapper"];

function requireCompression(compressions: readonly Compression[], name: string | undefined): Compression | undefined {
  if (name === undefined || name === "identity") return undefined;
  const compression = findCompression(compressions, name);
  if (compression !== undefined) return compression;
  throw new TypeError(`compression "${name}" is not among: ${compressions.map((one) => one.name).join(", ")}`);
}
