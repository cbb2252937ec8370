/**
 * Entry point `triple-es/json`: clients without protobuf, for unary calls over sub-protocol A on `fetch` with messages in
 * plain JSON. Code generated with `messages=json` imports only this entry point.
 */
import { type Call, intercept } from "./call/call.ts";
import type { Transport } from "./client/client.ts";
import { noCodec } from "./codec/plain-json.ts";
import { connectFetch } from "./fetch/exchange.ts";
import type { FetchTransportOptions } from "./fetch/transport.ts";
import { createUnaryCall } from "./http-rpc/client.ts";
import { resolveUnaryOptions } from "./protocol/options.ts";

export type { Call, CallRequest, CallResponse, Interceptor, Method, Selector, ServiceDef } from "./call/call.ts";
export { Code, codeName } from "./call/code.ts";
export { type ErrorDetail, RpcError } from "./call/error.ts";
export { findJsonDetails as findDetails } from "./call/error-detail.ts";
export { Metadata, type MetadataInit } from "./call/metadata.ts";
export {
  type CallDefaults,
  type CallOptions,
  createUnaryClient as createClient,
  createUnaryStub as createStub,
  type Transport,
  type UnaryMethod,
} from "./client/client.ts";
export { createFakeClient, type FakeMethods } from "./client/fake.ts";
export { plainJson } from "./codec/plain-json.ts";

export type { FetchOptions } from "./fetch/exchange.ts";
export type { FetchTransportOptions } from "./fetch/transport.ts";

export type JsonTransportOptions = Omit<FetchTransportOptions, "accept" | "codec" | "protocol">;

/**
 * Creates a transport on `fetch` for messages in plain JSON. It needs no closing. Throws a `TypeError` for an invalid base
 * URL.
 */
export function createTransport(options: JsonTransportOptions): Transport {
  const unary = createUnaryCall(connectFetch(options), noCodec, resolveUnaryOptions(options));
  // refuseStreams is not needed: stubs of plain JSON are unary, and the payload of interface methods refuses streams.
  const call = unary as Call;
  return { call: intercept(call, options.interceptors) };
}
