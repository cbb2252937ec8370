/**
 * Entry point `triple-es/proto`: clients with messages in binary, for unary calls of sub-protocol A and server streaming over gRPC-Web
 * on `fetch`. A page that uses it instead of `triple-es/fetch` does not load the JSON codec.
 */
import { intercept } from "./call/call.ts";
import type { Transport } from "./client/client.ts";
import { protoCodec } from "./codec/codec.ts";
import { connectFetch, withReasons } from "./fetch/exchange.ts";
import { type FetchTransportOptions, withStreams } from "./fetch.ts";
import { codecPayload } from "./http-rpc/arguments.ts";
import { createUnaryCall } from "./http-rpc/client.ts";
import { resolveUnaryOptions } from "./protocol/options.ts";

export type ProtoTransportOptions = Omit<FetchTransportOptions, "accept" | "codec" | "jsonBody">;

/** Makes a transport on `fetch` with messages in binary. It carries unary calls and server streaming, and has nothing to close. */
export function createTransport(options: ProtoTransportOptions): Transport {
  const exchange = connectFetch(withReasons(options));
  const payload = codecPayload(protoCodec);
  const unary = createUnaryCall(exchange, payload, resolveUnaryOptions(options));
  return { call: intercept(withStreams(unary, exchange, payload, options), options.interceptors) };
}
