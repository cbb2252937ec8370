/**
 * Entry point `triple-es/json`: clients without protobuf, for unary calls of sub-protocol A on `fetch` with messages in
 * plain JSON. Code generated with `messages=json` imports nothing else.
 */
import { type Call, intercept } from "./call/call.ts";
import type { Transport } from "./client/client.ts";
import { noCodec } from "./codec/plain-json.ts";
import { connectFetch } from "./fetch/exchange.ts";
import type { FetchTransportOptions } from "./fetch.ts";
import { createUnaryCall } from "./http-rpc/client.ts";
import { resolveUnaryOptions } from "./protocol/options.ts";

export type { Call, CallRequest, CallResponse, Interceptor, Method, Selector, ServiceDef } from "./call/call.ts";
export { Code, codeName } from "./call/code.ts";
export { RpcError } from "./call/error.ts";
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

export type JsonTransportOptions = Omit<FetchTransportOptions, "accept" | "codec" | "protocol">;

/** Makes a transport on `fetch` for clients whose messages are plain JSON. It has nothing to close. */
export function createTransport(options: JsonTransportOptions): Transport {
  const unary = createUnaryCall(connectFetch(options), noCodec, resolveUnaryOptions(options));
  // Stubs of plain JSON are unary, and the payload of interface methods refuses streams: neither needs refuseStreams.
  const call = unary as Call;
  return { call: intercept(call, options.interceptors) };
}
