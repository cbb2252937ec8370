/**
 * Connecting: an origin becomes an exchange, over HTTP/1.1 or HTTP/2.
 */
import type { SecureContextOptions } from "node:tls";
import type { Exchange } from "../exchange.ts";
import { connectHttp1 } from "./http1.ts";
import { connectHttp2 } from "./http2.ts";
import { createSessionPool } from "./session.ts";

/** Trust and identity of a client, as `node:tls` takes them. */
export interface ClientTlsOptions extends SecureContextOptions {
  /** The name that the server's certificate must have. Default: the host of the base URL. */
  readonly servername?: string;
  /** Whether to refuse servers whose certificate cannot be trusted. Default: true. */
  readonly rejectUnauthorized?: boolean;
}

export interface ConnectOptions {
  /** Where the server is: `http://` or `https://`, host, port, and a path prefix if there is one. */
  readonly baseUrl: string;
  readonly httpVersion: "1.1" | "2";
  readonly tls?: ClientTlsOptions | undefined;
  /** How long a connection may take to be made, in milliseconds. Default: 20,000. */
  readonly connectTimeoutMs?: number | undefined;
  /** How long a connection may be idle before it is closed, in milliseconds. Default: 15 minutes. */
  readonly idleTimeoutMs?: number | undefined;
}

export interface Connector {
  readonly exchange: Exchange;
  close(): Promise<void>;
}

/** Makes exchanges with the origin of a base URL. Throws a `TypeError` for a URL that is not one of HTTP's. */
export function createConnector(options: ConnectOptions): Connector {
  const origin = parseBaseUrl(options.baseUrl);
  const { tls, connectTimeoutMs = 20_000, idleTimeoutMs = 15 * 60_000 } = options;
  const prefix = origin.pathname.replace(/\/$/, "");
  if (options.httpVersion === "1.1") {
    const { exchange, close } = connectHttp1(origin, { tls });
    return { exchange: withPrefix(exchange, prefix), close: async () => close() };
  }
  const pool = createSessionPool(origin, { connectTimeoutMs, idleTimeoutMs, tls });
  return { exchange: withPrefix(connectHttp2(pool), prefix), close: () => pool.close() };
}

function parseBaseUrl(baseUrl: string): URL {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  if (url?.protocol === "http:" || url?.protocol === "https:") return url;
  throw new TypeError(`baseUrl "${baseUrl}" must start with http:// or https:// and name a host`);
}

function withPrefix(exchange: Exchange, prefix: string): Exchange {
  return prefix === "" ? exchange : (request) => exchange({ ...request, path: prefix + request.path });
}
