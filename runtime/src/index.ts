/**
 * Entry point `triple-es`: clients, routers, errors and metadata for all platforms, and the imports of generated code.
 *
 * @module triple-es
 */
import "./call/inspect.ts";
import { assertMembers, assertOneOf } from "./call/option.ts";
import { interceptAttempts, interceptStreams } from "./call/request-messages.ts";
import type { Transport } from "./client/client.ts";
import { boundedJsonCodec, defaultProtoCodec, findBoundedCodec } from "./codec/bounded-codec.ts";
import { webCompressions } from "./codec/web-compression.ts";
import { createGrpcClient } from "./grpc/client.ts";
import { GrpcServer } from "./grpc/server.ts";
import { GrpcWebServer } from "./grpc/web-server.ts";
import { connectInMemory } from "./http/in-memory.ts";
import { BODY_FORMATS } from "./http-rpc/body/formats.ts";
import { createHttpRpcClient } from "./http-rpc/client.ts";
import { HttpRpcServer } from "./http-rpc/server.ts";
import { type InMemoryTransportOptions, resolveClientOptions } from "./protocol/options.ts";
import { ROUTER_OPTIONS, type RouterOptions, resolveRouterOptions } from "./server/options.ts";
import { createRouterWith, type Router } from "./server/router.ts";

export type { RequestContext, RetryEvent, TransparentRetryEvent } from "./call/attempt.ts";
export {
  type Authorize,
  type Call,
  type CallContext,
  type CallRequest,
  type CallResponse,
  type ContextKey,
  type ContextValues,
  createContextKey,
  type Interceptor,
  type Method,
  type Selector,
  type ServiceDef,
  type StreamRequest,
  type StreamResponse,
  type UnaryRequest,
  type UnaryResponse,
} from "./call/call.ts";
export { Code, codeName, Status } from "./call/code.ts";
export { type CloseOptions, createContextValues } from "./call/context.ts";
export {
  createDetail,
  type ErrorDetail,
  type ErrorHook,
  findDetails,
  RpcError,
  type RpcErrorOptions,
} from "./call/error.ts";
export { Metadata, type MetadataInit, TripleHeader } from "./call/metadata.ts";
export { descriptorOf, type GeneratedCodec, type PayloadMethod, type ProtoMethod } from "./call/method.ts";
export type { Peer, PeerCertificate, PeerConnection, PeerTls } from "./call/peer.ts";
export type { RetryOptions } from "./client/attempt-policy.ts";
export {
  type BidiStreamingMethod,
  type CallDefaults,
  type CallOptions,
  type ClientStreamingMethod,
  type ClosableTransport,
  createClient,
  createStub,
  type ServerStreamingMethod,
  type Transport,
  type TypedMethod,
  type UnaryMethod,
} from "./client/client.ts";
export { createFakeClient, type FakeMethods } from "./client/fake.ts";
export { createRetry } from "./client/retry.ts";
export type { RetryBudget } from "./client/retry-budget.ts";
export {
  boundedJsonCodec as jsonCodec,
  boundedProtoCodec as protoCodec,
  createBoundedJsonCodec as createJsonCodec,
} from "./codec/bounded-codec.ts";
export type { Codec, JsonCodecOptions, JsonValues } from "./codec/codec.ts";
export type { Compression } from "./codec/compression.ts";
export type { ValueCount } from "./codec/values/values.ts";
export type { Body } from "./http/body.ts";
export type { Exchange, HttpRequest, HttpResponse } from "./http/exchange.ts";
export { type Upload, uploadOf } from "./http-rpc/body/upload.ts";
export { nextEvent } from "./http-rpc/event-fields.ts";
export { createClientLogger, createServerLogger, type FinishedCall } from "./observe/logger.ts";
export type { HeaderLimitsInit } from "./protocol/header-limits.ts";
export type { InMemoryTransportOptions } from "./protocol/options.ts";
export type { CallLimits, ServiceLimits } from "./server/call-limits.ts";
export { serveContract } from "./server/contract.ts";
export type { CorsOptions } from "./server/cors.ts";
export { type HandlerContext, unimplemented } from "./server/handler-context.ts";
export type { BodyLimits, RouterOptions } from "./server/options.ts";
export type { AddedService, Resource } from "./server/resource.ts";
export type { Router, ServiceOptions } from "./server/router.ts";

/**
 * Creates a router that serves both sub-protocols, for handlers and in-memory transports. Throws a `TypeError` or
 * `RangeError` for an invalid option.
 */
export function createRouter(options: RouterOptions = {}): Router {
  assertMembers("the options of createRouter", options, ROUTER_OPTIONS);
  const { codecs = [defaultProtoCodec, boundedJsonCodec], compressions = webCompressions() } = options;
  const resolved = resolveRouterOptions({ ...options, codecs, compressions });
  const protocols = [new GrpcServer(resolved), new GrpcWebServer(resolved), new HttpRpcServer(resolved)];
  return createRouterWith({ ...resolved, protocols, bodyKinds: BODY_FORMATS.map(({ kind }) => kind) });
}

/**
 * Creates a transport that calls a router in the same process. Everything but the network is the same as with a server:
 * messages are encoded, metadata is validated, and errors are converted. It needs no closing. Throws a `TypeError` for an
 * invalid option.
 */
export function createInMemoryTransport(router: Router, options: InMemoryTransportOptions = {}): Transport {
  assertMembers("the options of createInMemoryTransport", options, IN_MEMORY_OPTIONS);
  const { protocol = "grpc", codec = "proto", serializations, interceptors } = options;
  const createProtocol = CLIENT_PROTOCOLS[assertOneOf("protocol", protocol, ["grpc", "http-rpc"])];
  const exchange = connectInMemory((request) => router.exchange(request));
  const resolved = { ...resolveClientOptions({ codec: findBoundedCodec(codec), compressions: [] }), serializations };
  const attempt = interceptAttempts(createProtocol(exchange, resolved), interceptors);
  return { call: interceptStreams(attempt, interceptors) };
}

const IN_MEMORY_OPTIONS: readonly (keyof InMemoryTransportOptions)[] = [
  "protocol",
  "codec",
  "serializations",
  "interceptors",
];

const CLIENT_PROTOCOLS = { grpc: createGrpcClient, "http-rpc": createHttpRpcClient };
