/**
 * Connectors: the checks of options of connections, and the choice between HTTP/1.1 and HTTP/2.
 */

import { assertAmount, assertFunctions, assertOneOf } from "../../call/option.ts";
import { ConnectionBackoff } from "../../connection/attempts.ts";
import { DEFAULT_CONNECT_TIMEOUT_MS } from "../../connection/connection.ts";
import { Pool } from "../../connection/pool.ts";
import { DEFAULT_TIMES } from "../../connection/pooled-connection.ts";
import {
  type Address,
  type ConnectEndpoint,
  type EndpointConnections,
  parseAddress,
} from "../../discovery/endpoint.ts";
import type { Connections } from "../../http/exchange.ts";
import { WITHOUT_OTHERS } from "../../http/transparent-retry.ts";
import { checkTlsOptions } from "../io/tls-options.ts";
import { DEFAULT_IDLE_MS, Http1Pool } from "./http1.ts";
import { connectHttp2 } from "./http2.ts";
import { proxyFor } from "./proxy.ts";
import { addressOf, inConnectionContext, type Target } from "./socket.ts";
import type { NodeTransportOptions } from "./transport-options.ts";

/** Options of the connections to one server. */
export interface ConnectOptions extends NodeTransportOptions {
  readonly httpVersion: "1.1" | "2";
  /** Limit of response headers, in bytes. HTTP/2 engines keep up to 64 KiB, and the protocols enforce the limit. */
  readonly maxHeaderBytes: number;
}

/** The options that are durations, and whether 0 is valid for each. */
export const DURATIONS = {
  connectTimeoutMs: false,
  idleTimeoutMs: true,
  maxBackoffMs: true,
  verifyAfterMs: true,
  pingIntervalMs: false,
  pingTimeoutMs: false,
} as const;

/** Creates the connector for the origin of a base URL. Throws a `TypeError` for an invalid base URL or option. */
export function createConnector(options: ConnectOptions): Connections {
  const { origin, socketPath } = parseBaseUrl(options.baseUrl);
  checkOptions(options);
  // Without this check, a program with certificates for the connection would send its calls in cleartext.
  if (options.tls !== undefined && origin.protocol !== "https:") {
    const remedy =
      socketPath === undefined ? "begin it with https://, or remove the option tls" : "remove the option tls";
    throw new TypeError(`baseUrl "${options.baseUrl}" has no TLS: ${remedy}`);
  }
  const { tls, connect, proxy = origin.protocol === "https:" && connect === undefined && "env" } = options;
  if ((proxy || connect) && socketPath !== undefined)
    throw new TypeError(`${proxy ? "proxy" : "connect"} has no effect on a Unix socket`);
  const target: Target = { origin, socketPath, tls, connect, peer: socketPath ?? origin.host };
  const prefix = origin.pathname.replace(/\/$/, "");
  const connections = connectTo({ ...target, proxy: proxyFor(proxy, addressOf(target)) }, options);
  const exchange = connections.observed(WITHOUT_OTHERS);
  return {
    state: () => connections.state?.(),
    exchange: prefix === "" ? exchange : (request) => exchange({ ...request, path: prefix + request.path }),
    close: () => connections.close(),
    destroy: (reason) => connections.destroy(reason),
  };
}

/** Options of the connections to one of several endpoints. */
export interface EndpointOptions extends Omit<ConnectOptions, "baseUrl"> {
  /** The `:authority` of requests. The server's certificate must contain its host. Default: the address of the endpoint. */
  readonly authority?: string | undefined;
}

/** Creates the function that connects to endpoints. Throws a `TypeError` for an invalid option. */
export function createEndpointConnector(options: EndpointOptions): ConnectEndpoint {
  checkOptions(options);
  const { authority, tls, proxy } = options;
  // An invalid option is reported now, not for an endpoint.
  proxyFor(proxy, { host: "", port: 0 });
  const scheme = tls === undefined ? "http" : "https";
  if (authority !== undefined && (!URL.canParse(`http://${authority}`) || /[/?#@]/.test(authority))) {
    throw new TypeError(`authority "${authority}" must be a host, or a host and a port`);
  }
  return ({ address }, onReadiness) => {
    const parsed = parseAddress(address) as Address;
    const socketPath = "path" in parsed ? parsed.path : undefined;
    const origin = new URL(
      `${socketPath === undefined ? scheme : "http"}://${authority ?? (socketPath === undefined ? address : "localhost")}`,
    );
    const to = "path" in parsed ? undefined : parsed;
    const connect = to && options.connect;
    const target: Target = {
      ...{ origin, socketPath, tls, connect, peer: address, address: to },
      proxy: to && proxyFor(proxy, to),
    };
    return connectTo(target, options, onReadiness);
  };
}

function connectTo(
  target: Target,
  options: Omit<ConnectOptions, "baseUrl">,
  onReadiness?: (isReady: boolean) => void,
): EndpointConnections {
  const { connectTimeoutMs = DEFAULT_CONNECT_TIMEOUT_MS, maxHeaderBytes } = options;
  const isHttp1 = options.httpVersion === "1.1";
  const { idleTimeoutMs = isHttp1 ? DEFAULT_IDLE_MS : DEFAULT_TIMES.idleTimeoutMs } = options;
  // Requests to one of several endpoints wait for any of them, not for this one.
  const waitForReady = onReadiness === undefined ? (options.waitForReady ?? false) : undefined;
  const backoff = new ConnectionBackoff(options.maxBackoffMs);
  return isHttp1
    ? new Http1Pool(target, { connectTimeoutMs, idleTimeoutMs, waitForReady, backoff, maxHeaderBytes })
    : new Pool(connectHttp2(target, connectTimeoutMs), {
        peer: target.peer,
        maxConnections: options.maxConnections ?? 10,
        idleTimeoutMs,
        verifyAfterMs: options.verifyAfterMs ?? DEFAULT_TIMES.verifyAfterMs,
        pingIntervalMs: options.pingIntervalMs,
        pingTimeoutMs: options.pingTimeoutMs ?? DEFAULT_TIMES.pingTimeoutMs,
        waitForReady,
        backoff,
        inContext: inConnectionContext,
        onReadiness,
        onTransparentRetry: options.onTransparentRetry,
      });
}

function checkOptions(options: Omit<ConnectOptions, "baseUrl">): void {
  for (const [name, mayBeZero] of Object.entries(DURATIONS) as [keyof typeof DURATIONS, boolean][]) {
    if (options[name] !== undefined) assertAmount(name, options[name], !mayBeZero);
  }
  const { maxConnections = 1, waitForReady = false, javaNames = false, connect, onTransparentRetry } = options;
  assertAmount("maxConnections", maxConnections, true);
  assertOneOf("waitForReady", waitForReady, [true, false]);
  assertOneOf("javaNames", javaNames, [true, false]);
  if (options.tls !== undefined) checkTlsOptions(options.tls);
  assertFunctions({ connect, onTransparentRetry });
  if (connect && (options.tls || options.proxy))
    throw new TypeError("connect excludes tls and proxy: its streams have both");
}

/** Parses a base URL. For a Unix domain socket the authority of requests is `localhost`, as in gRPC. */
function parseBaseUrl(baseUrl: string): { readonly origin: URL; readonly socketPath: string | undefined } {
  if (typeof baseUrl !== "string") {
    throw new TypeError(`baseUrl must be a string, not ${baseUrl}, unless there is a resolver or a registry`);
  }
  const socketPath = /^unix:(?:\/\/)?(.+)$/.exec(baseUrl)?.[1];
  if (socketPath !== undefined) return { origin: new URL("http://localhost"), socketPath };
  const origin = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  if (/[?#]/.test(baseUrl)) throw new TypeError(`baseUrl "${baseUrl}" must have no query and no fragment`);
  if (origin?.protocol === "http:" || origin?.protocol === "https:") return { origin, socketPath };
  throw new TypeError(
    `baseUrl "${baseUrl}" must start with http:// or https:// and name a host, or with unix: and name a socket`,
  );
}
