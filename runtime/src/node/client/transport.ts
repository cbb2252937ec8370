/**
 * Transports over sockets: connections, a sub-protocol, retries and graceful shutdown.
 */

import type { RpcError } from "../../call/error.ts";
import { assertArrays, assertFunctions, assertMembers, assertOneOf, type MemberNames } from "../../call/option.ts";
import { interceptAttempts, interceptStreams } from "../../call/request-messages.ts";
import type { ClosableTransport } from "../../client/client.ts";
import { configureCalls } from "../../client/configured.ts";
import { retryConfig } from "../../client/retry.ts";
import { parseServiceConfig, type ServiceConfig } from "../../client/service-config.ts";
import { closableTransport } from "../../client/transport.ts";
import { findBoundedCodec } from "../../codec/bounded-codec.ts";
import { type Compression, findCompression, IDENTITY } from "../../codec/compression.ts";
import { checkWireNames } from "../../codec/wire-name.ts";
import { fixed } from "../../discovery/endpoint.ts";
import type { InstanceConnection } from "../../discovery/registry.ts";
import type { EndpointStatus, TargetOptions } from "../../discovery/target-options.ts";
import type { Connections, Exchange } from "../../http/exchange.ts";
import { publishCalls } from "../../observe/logger.ts";
import { type ClientProtocolOptions, resolveClientOptions } from "../../protocol/options.ts";
import type { ClientProtocol } from "../../protocol/protocol.ts";
import { nodeCompressions } from "../compression.ts";
import { createConnector, createEndpointConnector, DURATIONS, type EndpointOptions } from "./connector.ts";
import { createWatches } from "./endpoint-watch.ts";
import { createRegistryConnector, shareConnections } from "./registry-connector.ts";
import { createTargetConnector, resolveDiscovery, type TargetConnections } from "./target-connector.ts";
import type { BalancedTransportOptions, NodeTransportOptions, RegistryTransportOptions } from "./transport-options.ts";

/** Time limit for connecting to the metadata service of an instance, in milliseconds. */
const OPEN_TIMEOUT_MS = 2_000;

/** A transport to the endpoints of a target. `await using` closes it. */
export interface BalancedTransport extends ClosableTransport, AsyncDisposable {
  /** Returns the known endpoints with their state. */
  readonly endpoints: () => readonly EndpointStatus[];
}

type AnyOptions = NodeTransportOptions | BalancedTransportOptions | RegistryTransportOptions;

/** The options that have an effect with several endpoints only. */
const DISCOVERY_DEFAULTS = resolveDiscovery({});
const TRANSPORT_OPTION_NAMES: MemberNames<
  NodeTransportOptions &
    Omit<BalancedTransportOptions, "baseUrl"> &
    Omit<RegistryTransportOptions, "baseUrl" | "resolver">
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
  proxy: true,
  connect: true,
  waitForReady: true,
  maxConnections: true,
  onTransparentRetry: true,
  authority: true,
  ...DURATIONS,
  ...DISCOVERY_DEFAULTS,
};
const TRANSPORT_OPTIONS = Object.keys(TRANSPORT_OPTION_NAMES);

/** The client halves of the sub-protocols, by the option `protocol`. */
export interface ClientProtocols {
  readonly grpc: ClientProtocol;
  readonly "http-rpc": ClientProtocol;
}

/** Creates a transport to a server or its endpoints. Throws a `TypeError` or `RangeError` for an invalid option. */
export function createNodeTransport(
  protocols: ClientProtocols,
  options: AnyOptions,
): ClosableTransport & AsyncDisposable {
  assertMembers("the options of createTransport", options, TRANSPORT_OPTIONS);
  const { protocol = "grpc", interceptors, retry } = options;
  assertArrays({ interceptors, compressions: options.compressions, serializations: options.serializations });
  assertFunctions({ onRetry: options.onRetry });
  const httpVersion = resolveHttpVersion(options);
  const resolved = resolveProtocolOptions(options);
  const config = readServiceConfig(options);
  const callOf = (exchange: Exchange) => protocols.grpc(exchange, { ...resolved, wrapperContentType: undefined });
  const watches = httpVersion === "1.1" ? undefined : createWatches(callOf, options.maxBackoffMs);
  const connecting = { ...options, httpVersion, watches, maxHeaderBytes: resolved.headerLimits.response.bytes };
  const connect = (connections: Connections & Partial<TargetConnections>): ClosableTransport & AsyncDisposable => {
    const { exchange, endpoints, serviceConfig, overridesOf } = connections;
    const plain = interceptAttempts(protocols[protocol](exchange, resolved), interceptors);
    const onRetry = retry?.onRetry ?? options.onRetry;
    const current = retry === undefined && serviceConfig !== undefined ? serviceConfig : () => config;
    const isPlain = (config ?? serviceConfig ?? overridesOf) === undefined;
    const ended = new AbortController();
    const destroy = (reason: RpcError): void => {
      ended.abort(reason);
      connections.destroy(reason);
    };
    const attempts = { ...retry, onRetry, ended: ended.signal, overridesOf };
    const call = isPlain ? plain : configureCalls(plain, current, attempts);
    const intercepted = interceptStreams(call, interceptors);
    const transport = closableTransport(intercepted, { ...connections, destroy }, (call, counts) =>
      publishCalls(call, "client", counts),
    );
    const dispose = { [Symbol.asyncDispose]: () => transport.close() };
    return Object.assign(transport, dispose, endpoints && { endpoints });
  };
  const given = connecting as Readonly<Record<string, unknown>>;
  const [source, other] = ["baseUrl", "resolver", "registry"].filter((name) => given[name] !== undefined);
  if (other !== undefined) throw new TypeError(`${source} and ${other} exclude each other`);
  if ("registry" in connecting && source === "registry") {
    return connect(connectRegistry(protocols, connecting, config));
  }
  if ("resolver" in connecting && connecting.resolver !== undefined) {
    return connect(createTargetConnector(connecting, config));
  }
  refuseDiscovery(options);
  return connect(createConnector(connecting as typeof connecting & NodeTransportOptions));
}

/** Throws a `TypeError` for an option that has an effect with several endpoints only. */
function refuseDiscovery(options: AnyOptions): void {
  for (const name of Object.keys(DISCOVERY_DEFAULTS)) {
    if ((options as object as Readonly<Record<string, unknown>>)[name] === undefined) continue;
    throw new TypeError(`${name} needs a resolver or a registry, and has no effect beside baseUrl`);
  }
}

/** Makes a target for each service that is called, with connections that they share. */
function connectRegistry(
  protocols: ClientProtocols,
  options: Omit<RegistryTransportOptions, "resolver"> & EndpointOptions & Pick<TargetOptions, "watches">,
  config: ServiceConfig | undefined,
): ReturnType<typeof createRegistryConnector> {
  const { registry, authority, tls, proxy } = options;
  if (typeof registry?.resolver !== "function") {
    throw new TypeError("registry must be a registry, such as zookeeper makes");
  }
  resolveDiscovery(options);
  const connect = shareConnections(createEndpointConnector(options));
  const open = (address: string): InstanceConnection =>
    createNodeTransport(protocols, {
      resolver: fixed([address]),
      authority,
      tls,
      proxy,
      connectTimeoutMs: OPEN_TIMEOUT_MS,
    });
  return createRegistryConnector(registry, { open, javaNames: options.javaNames }, (resolver, name) =>
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
  assertOneOf("wrapperContentType", wrapperContentType, ["application/grpc+proto", "application/triple+wrapper"]);
  checkWireNames("serializations", serializations ?? []);
  checkWireNames("compressions", compressions, (name) => [IDENTITY, "*"].includes(name));
  if (protocol === "grpc" && options.accept !== undefined) throw new TypeError(`accept needs protocol "http-rpc"`);
  const general = resolveClientOptions({
    ...options,
    codec: findBoundedCodec(codec),
    accept: options.accept && findBoundedCodec(options.accept),
    compressions,
    sendCompression: requireCompression(compressions, options.compression),
  });
  return { ...general, serializations, wrapperContentType };
}

function requireCompression(compressions: readonly Compression[], name: string = IDENTITY): Compression | undefined {
  assertOneOf("compression", name, [...compressions.map((one) => one.name), IDENTITY]);
  return findCompression(compressions, name);
}

/** Reads the service config of the options. The option `retry` is one that has the same policy for all methods that it selects. */
function readServiceConfig({ retry, serviceConfig }: AnyOptions): ServiceConfig | undefined {
  if (retry === undefined) return serviceConfig === undefined ? undefined : parseServiceConfig(serviceConfig);
  if (serviceConfig === undefined) return retryConfig(retry);
  throw new TypeError("retry and serviceConfig exclude each other: write the policy into the config");
}
