/**
 * Entry point `triple-es/fetch`: clients on `fetch`, and servers that answer a `Request` with a `Response`. Both support
 * HTTP RPC, and gRPC in the framing of gRPC-Web, because `fetch` can neither read nor write trailers.
 *
 * @module triple-es/fetch
 */
import { intercept } from "./call/call.ts";
import type { Transport } from "./client/client.ts";
import { connectFetch, withReasons } from "./fetch/exchange.ts";
import { createFetchHandler, type FetchHandler, type FetchHandlerOptions } from "./fetch/handler.ts";
import { type FetchTransportOptions, resolveFetchOptions, selectProtocol } from "./fetch/transport.ts";
import { createGrpcWebCall } from "./grpc/web-client.ts";
import { codecPayload } from "./http-rpc/arguments.ts";
import { withEvents } from "./http-rpc/event-client.ts";
import { acceptExchange, createUnaryCall } from "./http-rpc/unary-client.ts";
import type { Router } from "./server/router.ts";

export type { FetchHandler, FetchHandlerOptions, FetchPeer } from "./fetch/handler.ts";
export type { FetchTransportOptions } from "./fetch/transport.ts";

/**
 * Creates a transport on `fetch` for unary calls and server streaming. It needs no closing: the platform manages the
 * connections. Throws a `TypeError` for an invalid option, and a `RangeError` for a `maxMessageBytes` out of range.
 */
export function createTransport(options: FetchTransportOptions): Transport {
  const exchange = connectFetch(withReasons(options));
  const resolved = resolveFetchOptions(options);
  const { codec, accept } = resolved;
  // The platform decompresses responses itself.
  const unary = createUnaryCall(acceptExchange(exchange, accept), codecPayload(codec, accept), resolved);
  const httpRpc = withEvents(unary, exchange, codec, codecPayload, resolved);
  const web = createGrpcWebCall(exchange, codecPayload(codec), resolved);
  return { call: intercept(selectProtocol(options.protocol, httpRpc, web), options.interceptors) };
}

/**
 * Creates a handler that serves the methods of a router over HTTP RPC and gRPC-Web. The handler never rejects. Throws a
 * `TypeError` for an invalid `prefix`.
 */
export function fetchHandler<Platform extends readonly unknown[] = readonly unknown[]>(
  router: Router,
  options: FetchHandlerOptions<Platform> = {},
): FetchHandler<Platform> {
  return createFetchHandler((request) => router.exchange(request), options);
}
