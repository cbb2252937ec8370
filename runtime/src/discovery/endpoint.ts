/**
 * Endpoints of a target, the resolvers that find them, and the connections that calls reach them by.
 */
import type { Connections, Exchange } from "../http/exchange.ts";

/** A place where a target is served. Two endpoints with one address are the same endpoint. */
export interface Endpoint {
  /** `host:port`, `[v6]:port`, or `unix:` and the path of a socket. */
  readonly address: string;
  /** Share of calls relative to other endpoints. 0: only where no endpoint with a weight is ready. Default: 100. */
  readonly weight?: number | undefined;
  /** Since when it serves, in milliseconds since 1970: a new one gets its share little by little. Default: long ago. */
  readonly since?: number | undefined;
  /** Where it runs. Policies may read it. */
  readonly zone?: string | undefined;
  /** Other facts that a registry knows, such as `dubbo.tag`. Policies may read them. */
  readonly attributes?: Readonly<Record<string, string>> | undefined;
}

/** The weight of endpoints that do not say theirs. */
export const DEFAULT_WEIGHT = 100;

/**
 * Finds the endpoints of a target: yields a complete list with every step. It throws when it cannot know them, and is run again after a
 * backoff; meanwhile the last list counts. One that returns has no news any more.
 */
export interface Resolver {
  (context: ResolverContext): AsyncIterable<readonly Endpoint[]>;
  /** The `:authority` of requests, unless the transport has its own. Default: the address of the endpoint. */
  readonly authority?: string;
}

export interface ResolverContext {
  /** Fires when the target is not needed any more, or not for the time being. */
  readonly signal: AbortSignal;
  /**
   * Resolves after that many milliseconds, or earlier when a connection was lost, but never within a second of the last time. Rejects
   * when the signal fires.
   */
  next(maxMs: number): Promise<void>;
  /** Hands over a service config that came with the endpoints, as JSON text or parsed; `undefined`: there is none any more. */
  configure(serviceConfig: unknown): void;
}

/** Connections to one endpoint. */
export interface EndpointConnections extends Connections {
  readonly exchange: Exchange;
  /** Streams that are open, and calls that wait for one. */
  readonly active: number;
  /** Time until the next attempt to connect may be made, in milliseconds. */
  readonly backoffMs: number;
  /** Connects ahead of calls. Rejects where that fails. */
  connect(): Promise<void>;
}

/** Makes the connections to an endpoint. `onReadiness` is told when there is a connection again, and when the last is lost. */
export type ConnectEndpoint = (endpoint: Endpoint, onReadiness: (isReady: boolean) => void) => EndpointConnections;

/** The parts of an address. */
export type Address = { readonly host: string; readonly port: number } | { readonly path: string };

/**
 * Reads an address; `undefined` for one that is invalid.
 *
 *     Address → host ":" port / "[" IPv6 "]" ":" port / "unix:" path
 */
export function parseAddress(address: string): Address | undefined {
  const path = /^unix:(?:\/\/)?(.+)$/.exec(address)?.[1];
  if (path !== undefined) return { path };
  const [, v6, name, digits] = /^(?:\[([0-9a-fA-F:.%\w]+)\]|([^\s:/?#[\]@]+)):([0-9]{1,5})$/.exec(address) ?? [];
  const host = v6 ?? name;
  const port = Number(digits);
  return host === undefined || port < 1 || port > 65_535 ? undefined : { host, port };
}

/** The violation of an endpoint's format, in words; `undefined` if there is none. */
export function endpointProblem(endpoint: Endpoint): string | undefined {
  const { address, weight = DEFAULT_WEIGHT, since = 0 } = endpoint ?? {};
  if (typeof address !== "string" || parseAddress(address) === undefined) {
    return `address ${JSON.stringify(address)} must be host:port, [v6]:port or unix: and a path`;
  }
  if (!(typeof weight === "number" && weight >= 0 && weight <= 1e6)) {
    return `weight of ${address} must be between 0 and 1,000,000, not ${weight}`;
  }
  return Number.isFinite(since) ? undefined : `since of ${address} must be a time in milliseconds, not ${since}`;
}
