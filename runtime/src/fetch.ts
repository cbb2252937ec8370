/**
 * Entry point `triple-es/fetch`: clients in browsers, and servers that answer a `Request` with a `Response`. It speaks sub-protocol A, and
 * sub-protocol B in the framing of gRPC-Web: fetch can neither read nor write trailers.
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
   * Protocol of calls: `http-rpc` is sub-protocol A, unary only; `grpc-web` is sub-protocol B in the framing of gRPC-Web, unary and
   * server streaming. Default: `http-rpc` for unary calls, `grpc-web` for server streaming. Fetch carries no streams of requests.
   */
  readonly protocol?: "http-rpc" | "grpc-web" | undefined;
  /** Encoding of messages. Default: `json`. */
  readonly codec?: "proto" | "json" | Codec | undefined;
  /** The codec of responses, requested by the header `accept`. Default: that of requests, without the header. */
  readonly accept?: "proto" | "json" | Codec | undefined;
  /**
   * JSON body of a message: the specification's array of one, or the bare object. The option also applies to a single
   * argument of an interface method, of any type. Default: `array`.
   */
  readonly jsonBody?: "array" | "object" | undefined;
  /**
   * True if methods are called by their names in Dubbo for Java, which Java servers require and which code generated
   * with `java_names` contains. Default: false, the names of the proto file.
   */
  readonly javaNames?: boolean | undefined;
  /** Largest message accepted from the server, in bytes. Default: 4 MiB. */
  readonly maxMessageBytes?: number | undefined;
  /** Wrap every call, the first one outermost. */
  readonly interceptors?: readonly Interceptor[] | undefined;
}

/**
 * Makes a transport on `fetch`. It carries unary calls and server streaming, and has nothing to close: the platform owns the connections.
 */
export function createTransport(options: FetchTransportOptions): Transport {
  const exchange = connectFetch(withReasons(options));
  assertOneOf("jsonBody", options.jsonBody ?? "array", ["array", "object"]);
  const accept = options.accept && findCodec(options.accept);
  const codec = findCodec(options.codec ?? "json");
  const payload = codecPayload(codec, accept);
  // The platform compresses and inflates by itself.
  const unary = createUnaryCall(acceptExchange(exchange, accept), payload, resolveUnaryOptions(options));
  return { call: intercept(withStreams(unary, exchange, codecPayload(codec), options), options.interceptors) };
}

/**
 * Adds gRPC-Web to unary calls over sub-protocol A, or replaces them, as the option `protocol` says. `schemas` is the payload of methods
 * that bring none.
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
   * The path prefix under which methods are served, such as `/api`, if the framework does not remove it. Default: none.
   */
  readonly prefix?: string | undefined;
  /**
   * Makes the values of each call's context, from the request and what the platform passes after it, such as `env` in Workers. Called
   * when interceptors or the handler first read `context.values`. Default: no values.
   */
  readonly values?: ((request: Request, ...platform: Platform) => ContextValues) | undefined;
  /**
   * Reads the address of the client, which a `Request` does not have, such as `info.remoteAddr` in Deno. Called when `context.peer` is
   * first read. Default: the address is `undefined`.
   */
  readonly peer?: ((request: Request, ...platform: Platform) => FetchPeer) | undefined;
}

/** Makes a handler that serves the methods of a router over sub-protocol A and gRPC-Web. It never rejects. */
export function fetchHandler<Platform extends readonly unknown[] = readonly unknown[]>(
  router: Router,
  options: FetchHandlerOptions<Platform> = {},
): FetchHandler<Platform> {
  return createFetchHandler((request) => router.exchange(request), pathsBelow(options.prefix), options);
}
