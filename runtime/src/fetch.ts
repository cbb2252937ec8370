/**
 * Entry point `triple-es/fetch`: clients on `fetch`, and servers that answer a `Request` with a `Response`. Both support
 * sub-protocol A, and sub-protocol B in the framing of gRPC-Web, because `fetch` can neither read nor write trailers.
 */
import { type Call, type ContextValues, type Interceptor, intercept } from "./call/call.ts";
import type { HttpRpcPayload } from "./call/method.ts";
import { assertOneOf } from "./call/option.ts";
import type { Transport } from "./client/client.ts";
import { type Codec, findCodec } from "./codec/codec.ts";
import { connectFetch, type FetchOptions, withReasons } from "./fetch/exchange.ts";
import { createFetchHandler, type FetchHandler, type FetchPeer } from "./fetch/handler.ts";
import { createGrpcWebCall } from "./grpc/web-client.ts";
import type { Exchange } from "./http/exchange.ts";
import { pathsBelow } from "./http/path-prefix.ts";
import { acceptExchange } from "./http-rpc/accept-exchange.ts";
import { codecPayload } from "./http-rpc/arguments.ts";
import { createUnaryCall, refuseStreams, type UnaryCall } from "./http-rpc/client.ts";
import { resolveUnaryOptions } from "./protocol/options.ts";
import type { Router } from "./server/router.ts";

export { connectFetch, type FetchOptions } from "./fetch/exchange.ts";
export type { FetchHandler, FetchPeer } from "./fetch/handler.ts";

export interface FetchTransportOptions extends FetchOptions {
  /**
   * The protocol of calls: `http-rpc` is sub-protocol A, for unary calls only; `grpc-web` is sub-protocol B in the framing
   * of gRPC-Web, for unary calls and server streaming. Default: `http-rpc` for unary calls, `grpc-web` for server
   * streaming. Client streaming is not supported.
   */
  readonly protocol?: "http-rpc" | "grpc-web" | undefined;
  /** The codec of messages. Default: `json`. */
  readonly codec?: "proto" | "json" | Codec | undefined;
  /** The codec of responses, requested by the header `accept`. Default: the codec of requests, without the header. */
  readonly accept?: "proto" | "json" | Codec | undefined;
  /**
   * The JSON body of a message: the specification's array of one element, or the bare object. The option also applies to a
   * single argument of an interface method, of any type. Default: `array`.
   */
  readonly jsonBody?: "array" | "object" | undefined;
  /**
   * True if methods are called by their names in Dubbo for Java, which Java servers require. Code generated with
   * `java_names` contains the names. Default: false, the names of the proto file.
   */
  readonly javaNames?: boolean | undefined;
  /** Maximum size of a received message, in bytes. A larger one fails the call with `resource_exhausted`. Default: 4 MiB. */
  readonly maxMessageBytes?: number | undefined;
  /** Interceptors that wrap every call, the first one outermost. Default: none. */
  readonly interceptors?: readonly Interceptor[] | undefined;
}

/**
 * Creates a transport on `fetch` for unary calls and server streaming. It needs no closing: the platform manages the
 * connections. Throws a `TypeError` for an invalid option, and a `RangeError` for a `maxMessageBytes` out of range.
 */
export function createTransport(options: FetchTransportOptions): Transport {
  const exchange = connectFetch(withReasons(options));
  assertOneOf("jsonBody", options.jsonBody ?? "array", ["array", "object"]);
  const accept = options.accept && findCodec(options.accept);
  const codec = findCodec(options.codec ?? "json");
  const payload = codecPayload(codec, accept);
  // The platform decompresses responses itself.
  const unary = createUnaryCall(acceptExchange(exchange, accept), payload, resolveUnaryOptions(options));
  return { call: intercept(withStreams(unary, exchange, codecPayload(codec), options), options.interceptors) };
}

/**
 * Returns the call of a transport, which uses `unary` (sub-protocol A), gRPC-Web or both, by the option `protocol`.
 * `schemas` is the payload of methods that have none.
 */
export function withStreams(
  unary: UnaryCall,
  exchange: Exchange,
  schemas: HttpRpcPayload,
  options: Pick<FetchTransportOptions, "protocol" | "maxMessageBytes" | "javaNames">,
): Call {
  const { protocol } = options;
  assertOneOf("protocol", protocol ?? "grpc-web", ["http-rpc", "grpc-web"]);
  if (protocol === "http-rpc") return refuseStreams(unary);
  const web = createGrpcWebCall(exchange, schemas, resolveUnaryOptions(options));
  return (request) => (request.stream || protocol ? web(request) : unary(request));
}

export interface FetchHandlerOptions<Platform extends readonly unknown[] = readonly unknown[]> {
  /**
   * The path prefix of methods, such as `/api`, if the framework does not remove it. Default: none.
   */
  readonly prefix?: string | undefined;
  /**
   * Creates the values of each call's context from the request and the platform's other arguments, such as `env` in
   * Cloudflare Workers. Called when interceptors or the handler first read `context.values`. Default: no values.
   */
  readonly values?: ((request: Request, ...platform: Platform) => ContextValues) | undefined;
  /**
   * Returns the address of the client from the platform's arguments, such as `info.remoteAddr` in Deno, because a `Request`
   * does not contain it. Called when `context.peer` is first read. Default: the address is `undefined`.
   */
  readonly peer?: ((request: Request, ...platform: Platform) => FetchPeer) | undefined;
}

/**
 * Creates a handler that serves the methods of a router over sub-protocol A and gRPC-Web. The handler never rejects. Throws a
 * `TypeError` for an invalid `prefix`.
 */
export function fetchHandler<Platform extends readonly unknown[] = readonly unknown[]>(
  router: Router,
  options: FetchHandlerOptions<Platform> = {},
): FetchHandler<Platform> {
  return createFetchHandler((request) => router.exchange(request), pathsBelow(options.prefix), options);
}
