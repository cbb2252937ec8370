/**
 * Entry point `triple-es/fetch`: clients on `fetch`, and servers that answer a `Request` with a `Response`. Both support
 * HTTP RPC, and gRPC in the framing of gRPC-Web, because `fetch` can neither read nor write trailers. Clients speak gRPC itself by
 * a WebSocket.
 *
 * @module triple-es/fetch
 */
import { intercept } from "./call/call.ts";
import { interceptAttempts, interceptStreams } from "./call/request-messages.ts";
import type { ClosableTransport, Transport } from "./client/client.ts";
import { closableTransport } from "./client/transport.ts";
import { type Codec, protoCodec } from "./codec/codec.ts";
import { checkCodecNames } from "./codec/wire-name.ts";
import { connectFetch, withReasons } from "./fetch/exchange.ts";
import { createFetchHandler, type FetchHandler, type FetchHandlerOptions } from "./fetch/handler.ts";
import { type FetchTransportOptions, resolveFetchOptions, selectProtocol } from "./fetch/transport.ts";
import { connectWebSocket } from "./fetch/web-socket.ts";
import { createGrpcClient } from "./grpc/client.ts";
import { createGrpcWebCall } from "./grpc/web-client.ts";
import { codecPayload } from "./http-rpc/arguments.ts";
import { withEvents } from "./http-rpc/event-client.ts";
import { acceptExchange, createUnaryCall } from "./http-rpc/unary-client.ts";
import { resolveClientOptions } from "./protocol/options.ts";
import type { Router } from "./server/router.ts";

export type { FetchHandler, FetchHandlerOptions } from "./fetch/handler.ts";
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
 * Creates a transport for calls of all kinds over gRPC, by HTTP/2 in one WebSocket to a server that accepts the subprotocol
 * `h2ts`. The first call opens the WebSocket, and the first call after its loss opens it again; `close` closes it.
 * Throws a `TypeError` for an invalid option, and a `RangeError` for a `maxMessageBytes` out of range.
 */
export function createWebSocketTransport(
  options: Pick<FetchTransportOptions, "baseUrl" | "interceptors" | "javaNames" | "maxMessageBytes"> & {
    /** The codec of messages. Default: protobuf's binary format. */
    readonly codec?: Codec | undefined;
  },
): ClosableTransport {
  const { codec = protoCodec, interceptors } = options;
  checkCodecNames("codec (an object, such as jsonCodec)", [codec]);
  const connections = connectWebSocket(options.baseUrl);
  const resolved = resolveClientOptions({ ...options, codec, compressions: [] });
  const attempt = interceptAttempts(createGrpcClient(connections.exchange, resolved), interceptors);
  return closableTransport(interceptStreams(attempt, interceptors), connections);
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
