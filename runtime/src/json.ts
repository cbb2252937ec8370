/**
 * Entry point `triple-es/json`: clients without protobuf, on `fetch` with messages in plain JSON, for unary calls over
 * HTTP RPC and server streaming over gRPC-Web. Code generated with `messages=json` imports only this entry point.
 *
 * @module triple-es/json
 */
import { type Call, intercept } from "./call/call.ts";
import type { Transport } from "./client/client.ts";
import { connectFetch } from "./fetch/exchange.ts";
import { type FetchTransportOptions, type StreamPayload, selectByPayload } from "./fetch/transport.ts";
import { createGrpcWebCall } from "./grpc/web-client.ts";
import { createUnaryCall } from "./http-rpc/unary-client.ts";
import { resolveUnaryOptions } from "./protocol/options.ts";
import { noCodec, plainJsonMessages } from "./protocol/plain-json.ts";

export type { Call, CallRequest, CallResponse, Interceptor, Method, Selector, ServiceDef } from "./call/call.ts";
export { Code, codeName } from "./call/code.ts";
export { type ErrorDetail, findJsonDetails as findDetails, RpcError } from "./call/error.ts";
export { Metadata, type MetadataInit } from "./call/metadata.ts";
export {
  type CallDefaults,
  type CallOptions,
  createClient as createStreamingClient,
  createStub as createStreamingStub,
  createUnaryClient as createClient,
  createUnaryStub as createStub,
  type ServerStreamingMethod,
  type Transport,
  type UnaryMethod,
} from "./client/client.ts";
export { createFakeClient, type FakeMethods } from "./client/fake.ts";
export type { FetchTransportOptions } from "./fetch/transport.ts";
export { type ContractMessage, contractPayload } from "./protocol/contract.ts";
export { plainJson } from "./protocol/plain-json.ts";

/** Options of a transport for messages in plain JSON. */
export type JsonTransportOptions = Omit<FetchTransportOptions, "accept" | "codec" | "protocol">;

/**
 * The payload of server-streaming methods whose messages are plain JSON. It contains the code for streams, so that a bundle
 * without such methods does not contain it.
 */
export const plainJsonStreams: object = {
  httpRpc: plainJsonMessages,
  createStreamCall: createGrpcWebCall,
} satisfies StreamPayload;

/**
 * Creates a transport on `fetch` for messages in plain JSON, for unary calls and server streaming. It needs no closing.
 * Throws a `TypeError` for an invalid base URL.
 */
export function createTransport(options: JsonTransportOptions): Transport {
  const exchange = connectFetch(options);
  const resolved = resolveUnaryOptions(options);
  // refuseStreams is not needed: streams of plain JSON have a call of their own, and interface methods refuse streams.
  const unary = createUnaryCall(exchange, noCodec, resolved) as Call;
  return { call: intercept(selectByPayload(unary, exchange, noCodec, resolved), options.interceptors) };
}
