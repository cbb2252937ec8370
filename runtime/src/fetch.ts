/**
 * Entry point `triple-es/fetch`: clients in browsers, and servers that answer a `Request` with a `Response`. It speaks sub-protocol
 * A: fetch can neither read nor write the trailers that sub-protocol B needs.
 */
import { type Interceptor, intercept } from "./call/call.ts";
import { assertOneOf } from "./call/option.ts";
import type { Transport } from "./client/client.ts";
import { type Codec, findCodec } from "./codec/codec.ts";
import { connectFetch, type FetchOptions, withReasons } from "./fetch/exchange.ts";
import { createFetchHandler, type FetchHandler } from "./fetch/handler.ts";
import { pathsBelow } from "./http/path-prefix.ts";
import { acceptExchange } from "./http-rpc/accept-exchange.ts";
import { codecPayload } from "./http-rpc/arguments.ts";
import { createUnaryCall, refuseStreams } from "./http-rpc/client.ts";
import { resolveUnaryOptions } from "./protocol/options.ts";
import type { Router } from "./server/router.ts";

export { connectFetch, type FetchOptions } from "./fetch/exchange.ts";
export type { FetchHandler } from "./fetch/handler.ts";

export interface FetchTransportOptions extends FetchOptions {
  /** How messages are encoded. Default: `json`. */
  readonly codec?: "proto" | "json" | Codec | undefined;
  /** The codec of responses, which the header `accept` asks for. Default: that of requests, without the header. */
  readonly accept?: "proto" | "json" | Codec | undefined;
  /**
   * What a message in JSON is sent as: the specification's array of one, or the bare object. The same goes for an only
   * argument of a method without IDL, whatever it is. Default: `array`.
   */
  readonly jsonBody?: "array" | "object" | undefined;
  /**
   * Whether methods are called by the names Dubbo for Java has for them, which a Java server wants and which are there in
   * code generated with `java_names`. Default: false, the names of the proto file.
   */
  readonly javaNames?: boolean | undefined;
  /** Largest message accepted from the server, in bytes. Default: 4 MiB. */
  readonly maxMessageBytes?: number | undefined;
  /** Around every call, the first one outermost. */
  readonly interceptors?: readonly Interceptor[] | undefined;
}

/** Makes a transport on `fetch`. It carries unary calls, and has nothing to close: its connections are those of the platform. */
export function createTransport(options: FetchTransportOptions): Transport {
  const exchange = connectFetch(withReasons(options));
  assertOneOf("jsonBody", options.jsonBody ?? "array", ["array", "object"]);
  const accept = options.accept && findCodec(options.accept);
  const payload = codecPayload(findCodec(options.codec ?? "json"), accept);
  // The browser compresses and inflates on its own.
  const call = refuseStreams(createUnaryCall(acceptExchange(exchange, accept), payload, resolveUnaryOptions(options)));
  return { call: intercept(call, options.interceptors) };
}

export interface FetchHandlerOptions {
  /** The path in front of those of the methods, such as `/api`, where the framework leaves it on. Default: none. */
  readonly prefix?: string | undefined;
}

/** Makes a handler that serves the router's unary methods over sub-protocol A. It never rejects. */
export function fetchHandler(router: Router, options: FetchHandlerOptions = {}): FetchHandler {
  return createFetchHandler((request) => router.exchange(request), pathsBelow(options.prefix));
}
