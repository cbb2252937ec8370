/**
 * Entry point `triple-es`: clients, routers, errors and metadata for all platforms, and the imports of generated code.
 */
import "./call/inspect.ts";
import { type Interceptor, intercept } from "./call/call.ts";
import type { ErrorHook } from "./call/error.ts";
import { assertOneOf } from "./call/option.ts";
import type { Transport } from "./client/client.ts";

export { createFakeClient, type FakeMethods } from "./client/fake.ts";

import type { Codec } from "./codec/codec.ts";
import type { Compression } from "./codec/compression.ts";
import { boundedJsonCodec, boundedProtoCodec, findBoundedCodec } from "./codec/large-message.ts";
import { webCompressions } from "./codec/web-compression.ts";
import { createGrpcClient } from "./grpc/client.ts";
import { createGrpcServer } from "./grpc/server.ts";
import { createGrpcWebServer } from "./grpc/web-server.ts";
import { connectInMemory } from "./http/in-memory.ts";
import { BODY_FORMATS } from "./http-rpc/body/formats.ts";
import { createHttpRpcClient } from "./http-rpc/client.ts";
import { createHttpRpcServer } from "./http-rpc/server.ts";
import type { Serialization } from "./java/serialization.ts";
import type { HeaderLimitsInit } from "./protocol/header-limits.ts";
import { type BodyLimits, resolveClientOptions, resolveServerOptions } from "./protocol/options.ts";
import { type CorsOptions, createOriginPolicy, withCors } from "./server/cors.ts";
import { createRouterWith, type Router, type VersionMatch } from "./server/router.ts";

export {
  type BodyKind,
  type Call,
  type CallContext,
  type CallRequest,
  type CallResponse,
  type ContextKey,
  type ContextValues,
  createContextKey,
  type Interceptor,
  type Method,
  type MethodKind,
  type Selector,
  type ServiceDef,
  type StreamRequest,
  type StreamResponse,
  type UnaryRequest,
  type UnaryResponse,
} from "./call/call.ts";
export { Code, codeFromName, codeName, Status } from "./call/code.ts";
export { createContextValues } from "./call/context.ts";
export { descriptorOf } from "./call/descriptor.ts";
export { type ErrorDetail, type ErrorHook, findDetails, RpcError, type RpcErrorOptions } from "./call/error.ts";
export { Metadata, type MetadataInit, TripleHeader } from "./call/metadata.ts";
export type { GeneratedCodec, Payload, PayloadMethod, ProtoMethod } from "./call/method.ts";
export type { Peer, PeerCertificate, PeerTls } from "./call/peer.ts";
export type { RetryEvent, RetryOptions } from "./client/attempt-policy.ts";
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
  type UnaryMethod,
} from "./client/client.ts";
export { createRetry } from "./client/retry.ts";
export type { RetryBudget } from "./client/retry-budget.ts";
export type { Codec, JsonCodecOptions, JsonValues } from "./codec/codec.ts";
export type { Compression } from "./codec/compression.ts";
export {
  boundedJsonCodec as jsonCodec,
  boundedProtoCodec as protoCodec,
  createBoundedJsonCodec as createJsonCodec,
} from "./codec/large-message.ts";
export type { Serialization } from "./java/serialization.ts";
export { type CallReporter, createClientLogger, createServerLogger, type FinishedCall } from "./observe/logger.ts";
export type { FieldLimitsInit, HeaderLimitsInit } from "./protocol/header-limits.ts";
export type { BodyLimits } from "./protocol/options.ts";
export type { CorsOptions } from "./server/cors.ts";
export { type HandlerContext, unimplemented } from "./server/handler.ts";
export type { RequestTarget, Resource } from "./server/resource.ts";
export type { AddedService, Router, ServiceOptions, VersionMatch } from "./server/router.ts";

export interface RouterOptions {
  /** Interceptors that wrap every call of every service, the first one outermost. Default: none. */
  readonly interceptors?: readonly Interceptor[] | undefined;
  /** Supported codecs of messages. Default: `proto` and `json`. */
  readonly codecs?: readonly Codec[] | undefined;
  /**
   * Supported compressions, in order of preference. Default: gzip and deflate if the platform has `CompressionStream`; for
   * servers and routers of `triple-es/node` gzip, br, deflate, and zstd from Node 22.15 on.
   */
  readonly compressions?: readonly Compression[] | undefined;
  /** Messages of responses with fewer bytes than this are not compressed. Default: 1,024. */
  readonly compressMinBytes?: number | undefined;
  /** Maximum size of a received message, in bytes, before and after decompression. Default: 4 MiB. */
  readonly maxMessageBytes?: number | undefined;
  /**
   * Maximum memory of a decoded message, in bytes, by estimate: two bytes on the wire can become an object with many
   * fields. A larger message is refused with `resource_exhausted`. Default: 16 times `maxMessageBytes`, which is 64 MiB by
   * default.
   */
  readonly maxDecodedBytes?: number | undefined;
  /** Serializations of the values of interface methods in sub-protocol B, such as `hessian2`. Default: none. */
  readonly serializations?: readonly Serialization[] | undefined;
  /**
   * Limits on bodies of sub-protocol A: `parts` of a multipart body (default 128), `formValues` of a form (default 1,000)
   * and `elements` of an XML document (default 10,000). A body that exceeds a limit is refused with HTTP status 400.
   */
  readonly bodyLimits?: Partial<BodyLimits> | undefined;
  /**
   * Limits of header blocks: `request` for received headers, `response` for the metadata that handlers send. Each has
   * `fields` (default 100, at most 2,000) and `bytes` (default 16,384, at most 65,536; each field adds 32 to its name and
   * value, as in HTTP/2). A request that exceeds a limit is refused with `resource_exhausted` (431 in sub-protocol A); a
   * response fails with `internal`.
   */
  readonly headerLimits?: HeaderLimitsInit | undefined;
  /** True if sub-protocol A refuses requests without `tri-protocol-version`. Default: false. */
  readonly requireProtocolVersion?: boolean | undefined;
  /**
   * True if sub-protocol B refuses requests without `te: trailers`. The specification requires the header, to detect
   * proxies that drop trailers. Default: false, as in gRPC for Go and Java.
   */
  readonly requireTe?: boolean | undefined;
  /** Other origins whose pages may call (CORS). Default: none. */
  readonly cors?: CorsOptions | undefined;
  /**
   * The rule that selects a service by the version and group of a request: an exact match, or Dubbo's fallback. Default:
   * `exact`.
   */
  readonly versionMatch?: VersionMatch | undefined;
  /**
   * The hook that is called with every error that is hidden from the peer. Default: prints the error with `console.error`.
   */
  readonly onError?: ErrorHook | undefined;
}

/**
 * Creates a router that serves both sub-protocols, for handlers and in-memory transports. Throws a `TypeError` or
 * `RangeError` for an invalid option.
 */
export function createRouter(options: RouterOptions = {}): Router {
  const {
    codecs = [boundedProtoCodec, boundedJsonCodec],
    compressions = webCompressions(),
    interceptors = [],
    cors,
  } = options;
  const resolved = {
    ...resolveServerOptions({ ...options, codecs, compressions }),
    serializations: options.serializations,
    allowsOrigin: cors && createOriginPolicy(cors),
  };
  const router = createRouterWith({
    bodyKinds: BODY_FORMATS.map(({ kind }) => kind),
    protocols: [createGrpcServer(resolved), createGrpcWebServer(resolved), createHttpRpcServer(resolved)],
    interceptors,
    onError: resolved.onError,
    versionMatch: assertOneOf("versionMatch", options.versionMatch ?? "exact", ["exact", "fallback"]),
  });
  return cors === undefined ? router : Object.assign(router, { exchange: withCors(router.exchange, cors) });
}

export interface InMemoryTransportOptions {
  /** The sub-protocol: `grpc` is B, `http-rpc` is A. Default: `grpc`. */
  readonly protocol?: "grpc" | "http-rpc" | undefined;
  /** The codec of messages. Default: `proto`. */
  readonly codec?: "proto" | "json" | Codec | undefined;
  /** Serializations of the values of interface methods in sub-protocol B, such as `hessian2`. Default: none. */
  readonly serializations?: readonly Serialization[] | undefined;
  /** Interceptors that wrap every call, the first one outermost. Default: none. */
  readonly interceptors?: readonly Interceptor[] | undefined;
}

/**
 * Creates a transport that calls a router in the same process. Everything but the network is the same as with a server:
 * messages are encoded, metadata is validated, and errors are converted. It needs no closing. Throws a `TypeError` for an
 * invalid option.
 */
export function createInMemoryTransport(router: Router, options: InMemoryTransportOptions = {}): Transport {
  const { protocol = "grpc", codec = "proto", serializations } = options;
  assertOneOf("protocol", protocol, ["grpc", "http-rpc"]);
  const createProtocol = protocol === "grpc" ? createGrpcClient : createHttpRpcClient;
  const exchange = connectInMemory((request) => router.exchange(request));
  const resolved = { ...resolveClientOptions({ codec: findBoundedCodec(codec), compressions: [] }), serializations };
  return { call: intercept(createProtocol(exchange, resolved), options.interceptors) };
}
