/**
 * Connecting: an origin becomes an exchange, over HTTP/1.1 or HTTP/2.
 */
import type { SecureContextOptions } from "node:tls";
import type { Connections, Exchange } from "../../http/exchange.ts";
import { usesOwnHttp2 } from "../io/engine.ts";
import { BackOff } from "./backoff.ts";
import { connectSessions } from "./connect.ts";
import { connectHttp1 } from "./http1.ts";
import { connectOwn } from "./http2-connect.ts";
import { createPool } from "./pool.ts";
import type { Target } from "./socket.ts";

/** Trust and identity of a client, as `node:tls` takes them. */
export interface ClientTlsOptions extends SecureContextOptions {
  /** The name that the server's certificate must have. Default: the host of the base URL. */
  readonly servername?: string | undefined;
  /** Whether to refuse servers whose certificate cannot be trusted. Default: true. */
  readonly rejectUnauthorized?: boolean | undefined;
}

/** How connections are made, kept and left. The two timeouts hold for both versions of HTTP, the rest for HTTP/2. */
export interface ConnectionOptions {
  /** How long a connection may take to be made, TLS included, in milliseconds. Default: 20,000. */
  readonly connectTimeoutMs?: number | undefined;
  /** How long a connection may be without calls before it is closed, in milliseconds. Default: 15 minutes. */
  readonly idleTimeoutMs?: number | undefined;
  /**
   * Connections at a time. More than one are made only while calls are about to use up the streams that the server
   * allows on each. Calls beyond all of them wait. Default: 10.
   */
  readonly maxConnections?: number | undefined;
  /**
   * A connection that was without calls for longer than this is asked whether it still lives before it is used, in
   * milliseconds; without an answer within `pingTimeoutMs` the call gets a new one. Default: 30,000.
   */
  readonly verifyAfterMs?: number | undefined;
  /**
   * How often a connection with running calls is asked for a sign of life, in milliseconds. Calls on one that does not
   * answer fail as unavailable. Many servers close connections that ask more than once in five minutes. Default: never.
   */
  readonly pingIntervalMs?: number | undefined;
  /** How long an answer to a ping may take, in milliseconds. Default: 5,000. */
  readonly pingTimeoutMs?: number | undefined;
  /**
   * A server that cannot be connected to, twice in a row, is left alone for a second, then for longer and longer up to
   * this, in milliseconds. Calls made meanwhile fail at once as unavailable and say why. 0 tries for every call.
   * Default: 120,000.
   */
  readonly maxBackOffMs?: number | undefined;
}

export interface ConnectOptions extends ConnectionOptions {
  /**
   * Where the server is: `http://` or `https://`, host, port, and a path prefix if there is one; or `unix:` and the path
   * of a socket.
   */
  readonly baseUrl: string;
  readonly httpVersion: "1.1" | "2";
  readonly tls?: ClientTlsOptions | undefined;
}

export interface Connector extends Connections {
  readonly exchange: Exchange;
}

/** Makes exchanges with the origin of a base URL. Throws a `TypeError` for what is no such URL. */
export function createConnector(options: ConnectOptions): Connector {
  const { origin, socketPath } = parseBaseUrl(options.baseUrl);
  const target: Target = { origin, socketPath, tls: options.tls, peer: socketPath ?? origin.host };
  const { connectTimeoutMs = 20_000, idleTimeoutMs = 15 * 60_000 } = options;
  const prefix = origin.pathname.replace(/\/$/, "");
  if (options.httpVersion === "1.1") {
    const { exchange, close, destroy } = connectHttp1(target, { connectTimeoutMs, idleTimeoutMs });
    return { exchange: withPrefix(exchange, prefix), close: async () => close(), destroy };
  }
  const { exchange, close, destroy } = createPool(
    (usesOwnHttp2 ? connectOwn : connectSessions)(target, connectTimeoutMs),
    {
      maxConnections: options.maxConnections ?? 10,
      idleTimeoutMs,
      verifyAfterMs: options.verifyAfterMs ?? 30_000,
      pingIntervalMs: options.pingIntervalMs,
      pingTimeoutMs: options.pingTimeoutMs ?? 5_000,
      backOff: new BackOff({ maxMs: options.maxBackOffMs ?? 120_000 }),
    },
  );
  return { exchange: withPrefix(exchange, prefix), close, destroy };
}

/** What a base URL names. Requests to a socket say that they are for `localhost`, as gRPC has it. */
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
  return prefix === "" ? exchange : (request) => exchange({ ...request, path: prefix + request.path });
}
