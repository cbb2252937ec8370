/**
 * The options of connections, and the choice between HTTP/1.1 and HTTP/2.
 */
import type { SecureContextOptions } from "node:tls";
import { type Address, type ConnectEndpoint, parseAddress } from "../../discovery/endpoint.ts";
import type { Exchange } from "../../http/exchange.ts";
import { Backoff } from "./backoff.ts";
import type { Connector } from "./connection.ts";
import { connectHttp1 } from "./http1.ts";
import { connectHttp2 } from "./http2-connect.ts";
import { createPool } from "./pool.ts";
import type { Target } from "./socket.ts";

/** Trust and identity of a client, as `node:tls` takes them. */
export interface ClientTlsOptions extends SecureContextOptions {
  /** The name that the server's certificate must have. Default: the host of the base URL. */
  readonly servername?: string | undefined;
  /** True if servers with an untrusted certificate are refused. Default: true. */
  readonly rejectUnauthorized?: boolean | undefined;
}

/** Options for making, keeping and closing connections. Durations are in milliseconds. */
export interface ConnectionOptions {
  /** Time limit for making a connection, TLS included. Default: 20,000. */
  readonly connectTimeoutMs?: number | undefined;
  /** Time without calls after which a connection is closed. Default: 15 minutes. */
  readonly idleTimeoutMs?: number | undefined;
  /**
   * True if calls wait for a server that cannot be connected to, as long as their deadlines allow, instead of failing
   * as unavailable: attempts go on with exponential backoff while a call waits. A call's own `waitForReady` comes
   * first. The same as gRPC's wait for ready, which is off by default too: a caller that can ask another server is not
   * held up. Default: false.
   */
  readonly waitForReady?: boolean | undefined;
  /**
   * Upper bound of the exponential backoff between attempts to connect, as in gRPC's document on connection backoff. It
   * begins after the second failure in a row with a second; calls that do not wait fail at once meanwhile, and say why.
   * In the first minute the bound is five seconds, and one second where nothing listens on this machine itself. 0: no backoff.
   * Over HTTP/1.1 only between attempts for calls that wait; all other calls make one each. Default: 120,000.
   */
  readonly maxBackoffMs?: number | undefined;
  /**
   * HTTP/2: connections at a time. More than one are made only while calls are about to use up the streams that the server
   * allows on each. Calls beyond all of them queue. Default: 10.
   */
  readonly maxConnections?: number | undefined;
  /**
   * HTTP/2: after this long without calls, a connection is verified by a PING before it is used; if it is not acknowledged
   * within `pingTimeoutMs`, the call gets a new connection. Default: 30,000.
   */
  readonly verifyAfterMs?: number | undefined;
  /**
   * HTTP/2: interval of keepalive PINGs on connections with running calls (gRPC's keepalive time). Calls on a connection
   * that does not acknowledge one fail as unavailable. Many servers close connections that send more than one in five
   * minutes. Default: none are sent.
   */
  readonly pingIntervalMs?: number | undefined;
  /** HTTP/2: time limit for the acknowledgement of a PING (gRPC's keepalive timeout). Default: 5,000. */
  readonly pingTimeoutMs?: number | undefined;
}

export interface ConnectOptions extends ConnectionOptions {
  /**
   * The URL of the server: `http://` or `https://`, host, port, and a path prefix if there is one; or `unix:` and the path
   * of a socket.
   */
  readonly baseUrl: string;
  readonly httpVersion: "1.1" | "2";
  readonly tls?: ClientTlsOptions | undefined;
  /** The most that the headers of a response may be, in bytes. Over HTTP/2 engines keep up to 64 KiB, and the protocols count. */
  readonly maxHeaderBytes: number;
}

/** The options that are durations, and whether 0 is one. */
const DURATIONS = {
  connectTimeoutMs: false,
  idleTimeoutMs: true,
  maxBackoffMs: true,
  verifyAfterMs: true,
  pingIntervalMs: false,
  pingTimeoutMs: false,
} as const;

/** Makes exchanges with the origin of a base URL. Throws a `TypeError` for an invalid base URL or option. */
export function createConnector(options: ConnectOptions): Connector {
  const { origin, socketPath } = parseBaseUrl(options.baseUrl);
  checkOptions(options);
  const target: Target = { origin, socketPath, tls: options.tls, peer: socketPath ?? origin.host };
  const prefix = origin.pathname.replace(/\/$/, "");
  const connector = connectTo(target, options);
  return prefix === "" ? connector : { ...connector, exchange: withPrefix(connector.exchange, prefix) };
}

/** Options of the connections to one endpoint of many. */
export interface EndpointOptions extends Omit<ConnectOptions, "baseUrl"> {
  /** The `:authority` of requests, whose host is the name that a certificate must have. Default: the address of the endpoint. */
  readonly authority?: string | undefined;
}

/** Makes the function that connects to endpoints. Throws a `TypeError` for an invalid option. */
export function createEndpointConnector(options: EndpointOptions): ConnectEndpoint {
  checkOptions(options);
  const { authority, tls } = options;
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
    const target: Target = { origin, socketPath, tls, peer: address, address: "path" in parsed ? undefined : parsed };
    return connectTo(target, { ...options, waitForReady: false }, onReadiness);
  };
}

function connectTo(
  target: Target,
  options: Omit<ConnectOptions, "baseUrl">,
  onReadiness?: (isReady: boolean) => void,
): Connector {
  const { connectTimeoutMs = 20_000, idleTimeoutMs = 15 * 60_000, waitForReady = false, maxHeaderBytes } = options;
  const backoff = new Backoff({ maxMs: options.maxBackoffMs ?? 120_000 });
  return options.httpVersion === "1.1"
    ? connectHttp1(target, { connectTimeoutMs, idleTimeoutMs, waitForReady, backoff, maxHeaderBytes })
    : createPool(connectHttp2(target, connectTimeoutMs), {
        maxConnections: options.maxConnections ?? 10,
        idleTimeoutMs,
        verifyAfterMs: options.verifyAfterMs ?? 30_000,
        pingIntervalMs: options.pingIntervalMs,
        pingTimeoutMs: options.pingTimeoutMs ?? 5_000,
        waitForReady,
        backoff,
        onReadiness,
        hasAlternatives: onReadiness !== undefined,
      });
}

function checkOptions(options: ConnectionOptions): void {
  for (const [name, mayBeZero] of Object.entries(DURATIONS) as [keyof typeof DURATIONS, boolean][]) {
    const value: unknown = options[name];
    if (value === undefined || (typeof value === "number" && (value > 0 || (mayBeZero && value === 0)))) continue;
    throw new TypeError(`${name} must be ${mayBeZero ? "0 or more" : "more than 0"} milliseconds, not ${value}`);
  }
  const { maxConnections = 1, waitForReady = false } = options;
  if (!(typeof maxConnections === "number" && maxConnections >= 1)) {
    throw new TypeError(`maxConnections must be 1 or more, not ${maxConnections}`);
  }
  if (typeof waitForReady !== "boolean") throw new TypeError(`waitForReady must be true or false, not ${waitForReady}`);
}

/** Reads a base URL. The authority of requests to a Unix domain socket is `localhost`, as in gRPC. */
function parseBaseUrl(baseUrl: string): { readonly origin: URL; readonly socketPath: string | undefined } {
  if (typeof baseUrl !== "string") throw new TypeError(`baseUrl must be a string, not ${baseUrl}`);
  const socketPath = /^unix:(?:\/\/)?(.+)$/.exec(baseUrl)?.[1];
  if (socketPath !== undefined) return { origin: new URL("http://localhost"), socketPath };
  const origin = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  if (/[?#]/.test(baseUrl)) throw new TypeError(`baseUrl "${baseUrl}" must have no query and no fragment`);
  if (origin?.protocol === "http:" || origin?.protocol === "https:") return { origin, socketPath };
  throw new TypeError(
    `baseUrl "${baseUrl}" must start with http:// or https:// and name a host, or with unix: and name a socket`,
  );
}

function withPrefix(exchange: Exchange, prefix: string): Exchange {
  return (request) => exchange({ ...request, path: prefix + request.path });
}
