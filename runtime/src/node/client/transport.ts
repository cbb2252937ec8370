/**
 * Transports over sockets: connections, a sub-protocol, retries and graceful shutdown.
 */

import type { Call, Interceptor } from "../../call/call.ts";
import { assertArrays, assertMembers, assertObject, assertOneOf, type MemberNames } from "../../call/option.ts";
import type { RetryOptions } from "../../client/attempt-policy.ts";
import type { ClosableTransport } from "../../client/client.ts";
import { configureCalls } from "../../client/configured.ts";
import { interceptStreams } from "../../client/request-messages.ts";
import { createRetry } from "../../client/retry.ts";
import { parseServiceConfig, type ServiceConfig } from "../../client/service-config.ts";
import { closableTransport } from "../../client/transport.ts";
import { findBoundedCodec } from "../../codec/bounded-codec.ts";
import type { Codec } from "../../codec/codec.ts";
import { type Compression, findCompression } from "../../codec/compression.ts";
import { checkWireNames } from "../../codec/wire-name.ts";
import { fixed } from "../../discovery/fixed.ts";
import type { InstanceConnection, Registry } from "../../discovery/registry.ts";
import type { EndpointStatus } from "../../discovery/target-options.ts";
import type { Connections } from "../../http/exchange.ts";
import type { HeaderLimitsInit } from "../../protocol/header-limits.ts";
import { type ClientProtocolOptions, resolveClientOptions, type WrapperContentType } from "../../protocol/options.ts";
import type { PayloadOptions } from "../../protocol/payload.ts";
import type { ClientProtocol } from "../../protocol/protocol.ts";
import { nodeCompressions } from "../compression.ts";
import { nodeProtoCodec } from "../proto-codec.ts";
import { type ConnectOptions, createConnector, createEndpointConnector, type EndpointOptions } from "./connector.ts";
import { createRegistryConnector, type RegistryConnections, shareConnections } from "./registry-connector.ts";
import { createTargetConnector, type DiscoveryOptions, resolveDiscovery } from "./target-connector.ts";

/** Time limit for connecting to the metadata service of an instance, in milliseconds. */
const OPEN_TIMEOUT_MS = 2_000;

/** Options of a transport to one server, other than those of interface methods. */
export interface BaseTransportOptions extends Omit<ConnectOptions, "httpVersion" | "maxHeaderBytes"> {
  /** The protocol: `grpc`, for all four kinds of call, or `http-rpc` (HTTP RPC), for unary calls only. Default: `grpc`. */
  readonly protocol?: "grpc" | "http-rpc" | undefined;
  /** The version of HTTP. Default: `2` for `grpc`, which requires it; `1.1` for `http-rpc`. */
  readonly httpVersion?: "1.1" | "2" | undefined;
  /** The codec of messages. Default: `proto`. */
  readonly codec?: "proto" | "json" | Codec | undefined;
  /** The name of the compression of requests, such as `gzip`. Default: none. */
  readonly compression?: string | undefined;
  /** Supported compressions. Default: gzip, br, deflate, and zstd from Node 22.15 on. */
  readonly compressions?: readonly Compression[] | undefined;
  /** Messages with fewer bytes than this are not compressed. Default: 1,024. */
  readonly compressMinBytes?: number | undefined;
  /**
   * Limits of header blocks: `request` for the headers that are sent, with `fields` (default 100) and `bytes` (default
   * 16,384; each field adds 32 to its name and value, as in HTTP/2), and `response` for received headers and trailers,
   * separately (default and maximum 2,000 and 65,536). A call fails with `invalid_argument` if its metadata exceeds a
   * limit, and with `resource_exhausted` if its response does.
   */
  readonly headerLimits?: HeaderLimitsInit | undefined;
  /** Maximum size of a received message, in bytes. A larger one fails the call with `resource_exhausted`. Default: 4 MiB. */
  readonly maxMessageBytes?: number | undefined;
  /**
   * Maximum number of values of a received message, as of the server option. A message with more fails the call with
   * `resource_exhausted` before it is decoded. Default: 65,536.
   */
  readonly maxMessageValues?: number | undefined;
  /**
   * The JSON body of a message over `http-rpc`: the specification's array of one element, or the bare object. The option
   * also applies to a single argument of an interface method, of any type. Default: `array`.
   */
  readonly jsonBody?: "array" | "object" | undefined;
  /**
   * True if methods are called by their names in Dubbo for Java. Code generated with `java_names` contains the names. Java
   * servers require them over `http-rpc`, and over `grpc` for a service with several groups or versions. Default: false,
   * the names of the proto file.
   */
  readonly javaNames?: boolean | undefined;
  /**
   * The codec of responses over `http-rpc`, requested by the header `accept`. Default: the codec of requests, without the
   * header. If a call sets `accept` in its headers, it must allow this codec, which decodes the response.
   */
  readonly accept?: "proto" | "json" | Codec | undefined;
  /**
   * True if requests over `grpc` send the type of their messages in `grpc-message-type`, such as `greet.v1.GreetRequest`.
   * Default: false. A call can also set the header itself.
   */
  readonly messageType?: boolean | undefined;
  /**
   * The content type of the messages of interface methods over `grpc`. Default: `application/grpc+proto`, which known peers
   * use.
   */
  readonly wrapperContentType?: WrapperContentType | undefined;
  /**
   * The policy for retries or hedging (gRFC A6). Methods are retried if they are idempotent by their `idempotency_level`,
   * unless the policy's option `applies` selects others; only methods with an `idempotency_level` are hedged. Interceptors
   * run once for each call, not for each attempt. Default: none.
   */
  readonly retry?: RetryOptions | undefined;
  /**
   * A service config in gRPC's JSON format, as text or parsed: timeouts, wait for ready, retries and hedging by method. It
   * excludes the option `retry`. Default: none.
   */
  readonly serviceConfig?: string | object | undefined;
  /**
   * Called for each further attempt of a call, by the option `retry`, if that has no hook of its own, or by a service
   * config. An error that it throws is printed. Default: none.
   */
  readonly onRetry?: RetryOptions["onRetry"];
  /** Interceptors that wrap every call, the first one outermost. Default: none. */
  readonly interceptors?: readonly Interceptor[] | undefined;
}

/** A transport to the endpoints of a target. */
export interface BalancedTransport extends ClosableTransport {
  /** Returns the known endpoints with their state. */
  readonly endpoints: () => readonly EndpointStatus[];
}

/** Options of a transport to the endpoints of a target, other than those of interface methods. */
type TargetOptions = Omit<BaseTransportOptions, "baseUrl"> & DiscoveryOptions & { readonly baseUrl?: undefined };

/** Options of the choice among the endpoints that a registry lists for each service. */
export interface RegistryDiscoveryOptions extends Omit<DiscoveryOptions, "resolver"> {
  /**
   * Finds the endpoints of each service that is called, with its group and version, for example `zookeeper({ servers })`. The
   * transport does not close it.
   */
  readonly registry: Registry;
}

/** Options of a transport to the services of a registry, other than those of interface methods. */
type RegistryTargetOptions = Omit<BaseTransportOptions, "baseUrl"> &
  RegistryDiscoveryOptions & { readonly baseUrl?: undefined; readonly resolver?: undefined };

type AnyOptions = (BaseTransportOptions | TargetOptions | RegistryTargetOptions) & PayloadOptions;

const TRANSPORT_OPTION_NAMES: MemberNames<
  BaseTransportOptions & DiscoveryOptions & RegistryDiscoveryOptions & PayloadOptions
> = {
  baseUrl: true,
  resolver: true,
  registry: true,
  protocol: true,
  httpVersion: true,
  codec: true,
  compression: true,
  compressions: true,
  compressMinBytes: true,
  headerLimits: true,
  maxMessageBytes: true,
  maxMessageValues: true,
  jsonBody: true,
  javaNames: true,
  accept: true,
  messageType: true,
  wrapperContentType: true,
  serializations: true,
  retry: true,
  serviceConfig: true,
  onRetry: true,
  interceptors: true,
  tls: true,
  connectTimeoutMs: true,
  idleTimeoutMs: true,
  waitForReady: true,
  maxBackoffMs: true,
  maxConnections: true,
  verifyAfterMs: true,
  pingIntervalMs: true,
  pingTimeoutMs: true,
  onTransparentRetry: true,
  authority: true,
  balancer: true,
  subset: true,
  warmUpMs: true,
  slowStartMs: true,
  keepUnlistedMs: true,
  ejection: true,
  onEndpoint: true,
};
const TRANSPORT_OPTIONS = Object.keys(TRANSPORT_OPTION_NAMES);

/** The client halves of the sub-protocols, by the option `protocol`. */
export interface ClientProtocols {
  readonly grpc: ClientProtocol;
  readonly "http-rpc": ClientProtocol;
}

const WRAPPER_CONTENT_TYPES: readonly WrapperContentType[] = ["application/grpc+proto", "application/triple+wrapper"];

/**
 * Creates a transport to one server, or to the endpoints that a resolver finds. Throws a `TypeError` or `RangeError` for an
 * invalid option.
 */
export function createNodeTransport(protocols: ClientProtocols, options: AnyOptions): ClosableTransport {
  assertMembers("the options of createTransport", options, TRANSPORT_OPTIONS);
  const { protocol = "grpc", interceptors } = options;
  assertArrays({ interceptors, compressions: options.compressions, serializations: options.serializations });
  const httpVersion = resolveHttpVersion(options);
  const resolved = resolveProtocolOptions(options);
  const config = readServiceConfig(options);
  assertObject("retry", options.retry, "{ maxAttempts: 4 }");
  const connecting = { ...options, httpVersion, maxHeaderBytes: resolved.headerLimits.response.bytes };
  const connect = (
    connections: Connections,
    current: (() => ServiceConfig | undefined) | undefined,
  ): ClosableTransport => {
    const call = withRetries(protocols[protocol](connections.exchange, resolved), options, current);
    return closableTransport(interceptStreams(call, interceptors), connections);
  };
  if (hasRegistry(connecting)) {
    const all = connectRegistry(protocols, connecting, config);
    return Object.assign(connect(all, config && (() => config)), { endpoints: all.endpoints });
  }
  if (!hasResolver(connecting)) {
    refuseDiscovery(options);
    return connect(createConnector(connecting), config && (() => config));
  }
  const target = createTargetConnector(connecting, config);
  return Object.assign(connect(target, target.serviceConfig), { endpoints: target.endpoints });
}

/** Throws a `TypeError` for an option that has an effect with several endpoints only. */
function refuseDiscovery(options: AnyOptions): void {
  for (const name of DISCOVERY_OPTIONS) {
    if ((options as object as Readonly<Record<string, unknown>>)[name] === undefined) continue;
    throw new TypeError(`${name} needs a resolver or a registry, and has no effect beside baseUrl`);
  }
}

const DISCOVERY_OPTIONS = ["balancer", "subset", "warmUpMs", "slowStartMs", "keepUnlistedMs", "ejection", "onEndpoint"];

/** Makes a target for each service that is called, with connections that they share. */
function connectRegistry(
  protocols: ClientProtocols,
  options: Omit<RegistryTargetOptions, "resolver"> & EndpointOptions,
  config: ServiceConfig | undefined,
): RegistryConnections {
  const { registry, authority, tls } = options;
  if (typeof registry?.resolver !== "function") {
    throw new TypeError("registry must be a registry, such as zookeeper makes");
  }
  resolveDiscovery(options);
  const connect = shareConnections(createEndpointConnector(options));
  const open = (address: string): InstanceConnection =>
    createNodeTransport(protocols, { resolver: fixed([address]), authority, tls, connectTimeoutMs: OPEN_TIMEOUT_MS });
  return createRegistryConnector(registry, { open }, (resolver, name) =>
    createTargetConnector({ ...options, resolver }, config, { connect, name }),
  );
}

/** Returns the version of HTTP. Throws a `TypeError` for an invalid word, or a version that the protocol does not support. */
function resolveHttpVersion({ protocol = "grpc", ...options }: AnyOptions): "1.1" | "2" {
  const { httpVersion = protocol === "grpc" ? "2" : "1.1" } = options;
  assertOneOf("protocol", protocol, ["grpc", "http-rpc"]);
  assertOneOf("httpVersion", httpVersion, ["1.1", "2"]);
  if (protocol === "grpc" && httpVersion !== "2") throw new TypeError(`protocol "grpc" needs httpVersion "2"`);
  return httpVersion;
}

/** Fills in the defaults of Node. Throws a `TypeError` or `RangeError` for an invalid option. */
function resolveProtocolOptions(options: AnyOptions): ClientProtocolOptions {
  const { protocol = "grpc", codec = "proto", compressions = nodeCompressions } = options;
  const { serializations, wrapperContentType = "application/grpc+proto", jsonBody = "array" } = options;
  assertOneOf("jsonBody", jsonBody, ["array", "object"]);
  assertOneOf("wrapperContentType", wrapperContentType, WRAPPER_CONTENT_TYPES);
  checkWireNames("compressions", compressions, ["identity", "*"]);
  if (protocol === "grpc" && options.accept !== undefined) throw new TypeError(`accept needs protocol "http-rpc"`);
  const general = resolveClientOptions({
    ...options,
    codec: find(codec),
    accept: options.accept && find(options.accept),
    compressions,
    sendCompression: requireCompression(compressions, options.compression),
  });
  return { ...general, serializations, wrapperContentType };
}

function find(codec: "proto" | "json" | Codec): Codec {
  return codec === "proto" ? nodeProtoCodec : findBoundedCodec(codec);
}

function requireCompression(compressions: readonly Compression[], name: string | undefined): Compression | undefined {
  if (name === undefined || name === "identity") return undefined;
  const compression = findCompression(compressions, name);
  if (compression !== undefined) return compression;
  throw new TypeError(`compression "${name}" is not among: ${compressions.map((one) => one.name).join(", ")}`);
}

function readServiceConfig({ retry, serviceConfig }: AnyOptions): ServiceConfig | undefined {
  if (serviceConfig === undefined) return undefined;
  if (retry === undefined) return parseServiceConfig(serviceConfig);
  throw new TypeError("retry and serviceConfig exclude each other: write the policy into the config");
}

/** Applies the policy of the options, otherwise that of the current service config. */
function withRetries(
  call: Call,
  { retry, onRetry }: AnyOptions,
  current: (() => ServiceConfig | undefined) | undefined,
): Call {
  if (retry !== undefined) return createRetry({ ...retry, onRetry: retry.onRetry ?? onRetry })(call);
  return current === undefined ? call : configureCalls(call, current, onRetry);
}

function hasRegistry<Options extends object>(
  options: Options,
): options is Extract<Options, { readonly registry: unknown }> {
  if (!("registry" in options) || options.registry === undefined) return false;
  for (const other of ["baseUrl", "resolver"]) {
    if ((options as Readonly<Record<string, unknown>>)[other] === undefined) continue;
    throw new TypeError(`${other} and registry exclude each other`);
  }
  return true;
}

type Resolving<Options> = Extract<Options, { readonly resolver: unknown }>;

function hasResolver<Options extends { readonly baseUrl?: string | undefined }>(
  options: Options,
): options is Resolving<Options> {
  if (!("resolver" in options) || options.resolver === undefined) return false;
  if (options.baseUrl === undefined) return true;
  throw new TypeError("baseUrl and resolver exclude each other");
}
