/**
 * Entry point `triple-es/proto`: clients on `fetch` with binary messages, for unary calls over HTTP RPC and server
 * streaming over gRPC-Web. A browser bundle with this entry point instead of `triple-es/fetch` does not contain the JSON
 * codec.
 *
 * @module triple-es/proto
 */
import { intercept } from "./call/call.ts";
import type { Transport } from "./client/client.ts";
import { protoCodec } from "./codec/codec.ts";
import { connectFetch, withReasons } from "./fetch/exchange.ts";
import { type FetchTransportOptions, selectProtocol } from "./fetch/transport.ts";
import { createGrpcWebCall } from "./grpc/web-client.ts";
import { codecPayload } from "./http-rpc/arguments.ts";
import { createUnaryCall, refuseStreams } from "./http-rpc/unary-client.ts";
import { resolveUnaryOptions } from "./protocol/options.ts";

export type { FetchTransportOptions } from "./fetch/transport.ts";

/** Options of a transport with binary messages. */
export type ProtoTransportOptions = Omit<FetchTransportOptions, "accept" | "codec" | "jsonBody">;

/**
 * Creates a transport on `fetch` with binary messages, for unary calls and server streaming. It needs no closing. Throws a
 * `TypeError` for an invalid option, and a `RangeError` for a `maxMessageBytes` out of range.
 */
export function createTransport(options: ProtoTransportOptions): Transport {
  const exchange = connectFetch(withReasons(options));
  const payload = codecPayload(protoCodec);
  const resolved = resolveUnaryOptions(options);
  const unary = refuseStreams(createUnaryCall(exchange, payload, resolved));
  const web = createGrpcWebCall(exchange, payload, resolved);
  return { call: intercept(selectProtocol(options.protocol, unary, web), options.interceptors) };
}
