/**
 * Entry point `triple-es/node`: servers that listen, and transports over HTTP/1.1 and HTTP/2.
 */
import "./call/inspect.ts";
import type { AddressInfo } from "node:net";
import { type ContextValues, type Interceptor, intercept } from "./call/call.ts";
import { type CloseOptions, gracePeriod } from "./call/context.ts";
import { callHook } from "./call/error.ts";
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
import { Listener, type ListenerOptions, type ListenOptions } from "./node/server/listener.ts";
import { type TrustProxyOptions, withTrustedProxies } from "./node/server/trusted-proxies.ts";
import type { HeaderLimitsInit } from "./protocol/header-limits.ts";
import { resolveClientOptions, type WrapperContentType } from "./protocol/options.ts";
import { isServed } from "./server/router.ts";

export type { CloseOptions } from "./call/context.ts";
export type { ClosableTransport } from "./client/client.ts";
export type { EndpointStatus, TargetEvent } from "./discovery/target.ts";
export type { ClientTlsOptions, ConnectionOptions } from "./node/client/connector.ts";
export type { DiscoveryOptions } from "./node/client/target-connector.ts";
export { brotli, deflate, gzip, type NodeCompression, nodeCompressions, zstd } from "./node/compression.ts";
export type { NodeHandler, NodeRequest, NodeResponse } from "./node/server/adapter.ts";
export type { ConnectionLimits } from "./node/server/limits.ts";
export type { ListenOptions, TlsErrorHook } from "./node/server/listener.ts";
export type { TrustProxyOptions } from "./node/server/trusted-proxies.ts";

/** The head of a request, from which `values` makes the values of its call. */
export type RequestHead = Pick<HttpRequest, "path" | "headers" | "authority" | "peer">;

export interface ServerOptions extends RouterOptions, ListenerOptions {
  /**
   * Makes the values of each call's context, from the head of its request. Called when interceptors or the handler first read
   * `context.values`. A call fails as `unknown` if it throws. Default: no values.
   */
  readonly values?: ((request: RequestHead) => ContextValues) | undefined;
  /**
   * Proxies whose header names the client: `context.peer` then has the client's address. Default: none, the address is that of the
   * connection, and the headers are ignored. Only the address is taken from them.
   */
  readonly trustProxy?: TrustProxyOptions | undefined;
}

/** A server: a router that listens on a socket. */
export interface Server extends Router {
  /** Starts to listen, on one port for HTTP/1.1 and HTTP/2. */
  readonly listen: (options: ListenOptions) => Promise<this>;
  /**
   * The address the server listens on. Throws before the server listens, and for a Unix socket, which has no address.
   */
  readonly address: AddressInfo;
  /**
   * Graceful shutdown: stops listening and waits for running calls, up to the grace period. Always settles. Rejects
   * with a `TypeError`, and closes nothing, if the grace period is invalid.
   */
  readonly close: (options?: CloseOptions) => Promise<void>;
  /**
   * Calls back when the server begins to close, while it still answers. End long streams in the callback; otherwise
   * they run until the grace period ends.
   */
  readonly onClose: (callback: () => void) => void;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
}

/**
 * Makes a router as `createRouter` of `triple-es` does, with Node's codec and compressions as defaults: for {@link
 * nodeHandler} and other handlers that run on Node.
 */
export function createRouter(options: RouterOptions = {}): Router {
  const { codecs = [nodeProtoCodec, boundedJsonCodec], compressions = nodeCompressions } = options;
  return createPortableRouter({ ...options, codecs, compressions });
}

/** Makes a server that speaks both sub-protocols. Add services to it, then listen. */
export function createServer(options: ServerOptions = {}): Server {
  const router = createRouter(options);
  const { values, trustProxy } = options;
  const valued: Exchange =
    values === undefined
      ? router.exchange
      : (request) => router.exchange(Object.assign(request, { values: () => values(request) }));
  const exchange = trustProxy === undefined ? valued : withTrustedProxies(valued, trustProxy);
  const listener = new Listener(exchange, options);
  const closing = new Set<() => void>();
  const server: Server = {
    exchange: router.exchange,
    services: router.services,
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
    onClose: (callback) => {
      closing.add(callback);
    },
    async close(closeOptions = {}) {
      // Validated first: hooks must not be called for a shutdown that is refused.
      const graceMs = gracePeriod(closeOptions);
      for (const callback of closing) callHook("the hook onClose", callback);
      closing.clear();
      return listener.close(graceMs);
    },
    [Symbol.asyncDispose]: () => server.close(),
  };
  return server;
}

export interface NodeHandlerOptions {
  /**
   * The path prefix under which methods are served, such as `/api`. Default: none. Express and Connect remove the path
   * that a handler is mounted at.
   */
  readonly prefix?: string | undefined;
  /**
   * Makes the values of each call's context, from the request of the server, with all that its middleware has added, such as
   * `request.user`. Called when interceptors or the handler first read `context.values`. Default: no values.
   */
  readonly values?: ((request: NodeRequest) => ContextValues) | undefined;
  /** As that of {@link ServerOptions}. Default: none. */
  readonly trustProxy?: TrustProxyOptions | undefined;
}

/**
 * Makes a handler for existing servers: `node:http`, `node:http2`, Express, Connect. Requests for other paths than
 * those of the router's services go to `next`, or are answered with 404 if there is none. Over HTTP/1.1 it speaks
 * sub-protocol A, over HTTP/2 both.
 *
 * It reads the body itself, so it must come before body parsers. Make its router with {@link createRouter} of this
 * entry point, which has Node's compressions.
 */
export function nodeHandler(router: Router, options: NodeHandlerOptions = {}): NodeHandler {
  const pathOf = pathsBelow(options.prefix);
  const { values, trustProxy } = options;
  const exchange = trustProxy === undefined ? router.exchange : withTrustedProxies(router.exchange, trustProxy);
  return createNodeHandler(exchange, { pathOf, serves: (path) => isServed(router, path), values });
}

export interface NodeTransportOptions extends Omit<ConnectOptions, "httpVersion" | "maxHeaderBytes"> {
  /** The sub-protocol: `grpc` is B, with all four kinds of call; `http-rpc` is A, unary only. Default: `grpc`. */
  readonly protocol?: "grpc" | "http-rpc" | undefined;
  /** The version of HTTP. Default: `2` for `grpc`, which has no other; `1.1` for `http-rpc`. */
  readonly httpVersion?: "1.1" | "2" | undefined;
  /** Encoding of messages. Default: `proto`. */
  readonly codec?: "proto" | "json" | Codec | undefined;
  /** Name of the compression of requests, such as `gzip`. Default: none. */
  readonly compression?: string | undefined;
  /** Supported compressions. Default: gzip, br, deflate, and zstd from Node 22.15 on. */
  readonly compressions?: readonly Compression[] | undefined;
  /** Messages below this many bytes are not compressed. Default: 1,024. */
  readonly compressMinBytes?: number | undefined;
  /**
   * Limits of header blocks: `request` of those sent, each with `fields` (default 100) and `bytes` (16,384, with 32 added for
   * each field), and `response` of those received, headers and trailers each (2,000 and 65,536, which are the most there can be).
   * A call whose metadata is beyond fails as `invalid_argument`, and with a response beyond as `resource_exhausted`.
   */
  readonly headerLimits?: HeaderLimitsInit | undefined;
  /** Largest message accepted from the server, in bytes. Default: 4 MiB. */
  readonly maxMessageBytes?: number | undefined;
  /**
   * Most memory that a decoded message may take, in bytes, by estimate. A call with a larger response fails with
   * `resource_exhausted`. Default: 16 times `maxMessageBytes`, 64 MiB.
   */
  readonly maxDecodedBytes?: number | undefined;
  /**
   * JSON body of a message over `http-rpc`: the specification's array of one, or the bare object. The option also
   * applies to a single argument of an interface method, of any type. Default: `array`.
   */
  readonly jsonBody?: "array" | "object" | undefined;
  /**
   * True if methods are called by their names in Dubbo for Java, which code generated with `java_names` contains. Java
   * servers require them over `http-rpc`, and over `grpc` for a service with several groups or versions. Default:
   * false, the names of the proto file.
   */
  readonly javaNames?: boolean | undefined;
  /**
   * The codec of responses over `http-rpc`, requested by the header `accept`. Default: that of requests, without the
   * header. A call may set `accept` in its headers itself.
   */
  readonly accept?: "proto" | "json" | Codec | undefined;
  /**
   * True if requests over `grpc` name the type of their messages in `grpc-message-type`, such as
   * `greet.v1.GreetRequest`. Default: false. A call may set the header itself.
   */
  readonly messageType?: boolean | undefined;
  /** Serializations of the values of interface methods over `grpc`, such as `hessian2`. Default: none. */
  readonly serializations?: readonly Serialization[] | undefined;
  /**
   * Content type of the messages of interface methods over `grpc`. Default: `application/grpc+proto`, as peers use it.
   */
  readonly wrapperContentType?: WrapperContentType | undefined;
  /**
   * Retries or hedging of failed calls by policy, after gRFC A6, for the methods that are idempotent by their `idempotency_level` unless
   * `applies` says otherwise. Interceptors see one call, whatever the number of its attempts. Default: none.
   */
  readonly retry?: RetryOptions | undefined;
  /**
   * A service config in gRPC's JSON, as text or parsed: time limits, wait for ready, retries and hedging by method. In place of
   * `retry`. Default: none.
   */
  readonly serviceConfig?: string | object | undefined;
  /** Wrap every call, the first one outermost. */
  readonly interceptors?: readonly Interceptor[] | undefined;
}

/** Options of a transport to the endpoints that a resolver finds. */
export interface BalancedTransportOptions extends Omit<NodeTransportOptions, "baseUrl">, DiscoveryOptions {
  readonly baseUrl?: undefined;
}

/** A transport to the endpoints of a target. */
export interface BalancedTransport extends ClosableTransport {
  /** The endpoints that are known, with their state. */
  readonly endpoints: () => readonly EndpointStatus[];
}

/** Makes a transport to the endpoints that a resolver finds. It is asked at the first call. */
export function createTransport(options: BalancedTransportOptions): BalancedTransport;
/** Makes a transport to one server. Connections are made on demand. */
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
