/**
 * Endpoints of a target, the resolvers that find them, and the connections that carry calls to them.
 */
import type { Connections, Exchange, ExchangeObserver } from "../http/exchange.ts";

/** An address that serves a target. Two endpoints with the same address are the same endpoint. */
export interface Endpoint {
  /** `host:port`, `[v6]:port`, or `unix:` and the path of a socket. */
  readonly address: string;
  /**
   * Share of calls relative to other endpoints, from 0 to 1,000,000. 0: takes calls only if no endpoint with a weight
   * is ready. Default: 100.
   */
  readonly weight?: number | undefined;
  /**
   * Time at which it began to serve, in milliseconds since 1970: the weight of a new endpoint grows gradually. Default:
   * long ago.
   */
  readonly since?: number | undefined;
  /** Zone in which it runs, which the option `zone` of transports compares. Policies may read it. Default: unknown. */
  readonly zone?: string | undefined;
  /** Other attributes that a registry knows, such as `dubbo.tag`. Policies may read them. Default: none. */
  readonly attributes?: Readonly<Record<string, string>> | undefined;
}

/** The weight of endpoints that do not declare one. */
export const DEFAULT_WEIGHT = 100;

/**
 * Finds the endpoints of a target. Each step yields a complete list. If the lookup fails, the resolver throws and is
 * run again after a backoff; until then the last list stays in use. If it returns, the last list is final.
 */
export interface Resolver {
  (context: ResolverContext): AsyncIterable<readonly Endpoint[]>;
  /** The `:authority` of requests, unless the transport has its own. Default: the address of the endpoint. */
  readonly authority?: string;
  /** The reason in the errors of calls while the list is empty. Default: `it has no endpoints`. */
  readonly emptyReason?: string;
  /**
   * The source of the list, such as `zookeeper at 10.0.0.7:2181`. The error of a call whose deadline passes before
   * there is a list names it. Default: none.
   */
  readonly source?: string;
  /** The first and the longest delay before it runs again, in milliseconds. Default: 1,000 and 30,000. */
  readonly backoff?: { readonly initialMs: number; readonly maxMs: number };
}

/** The connection of a resolver to its target: when to look up again, and what to report. */
export interface ResolverContext {
  /** Fires when the target is no longer needed, or is paused. */
  readonly signal: AbortSignal;
  /**
   * Waits until the next lookup is due: after `maxMs` milliseconds, or earlier if a connection was lost, but at least one
   * second after the previous wait ended. Rejects when the signal fires.
   */
  next(maxMs: number): Promise<void>;
  /**
   * Reports a service config that was found with the endpoints, as JSON text or parsed. `undefined`: there is no longer
   * one.
   */
  configure(serviceConfig: unknown): void;
  /** Reports an invalid entry that the resolver has skipped. */
  warn(problem: string): void;
}

/** Connections to one endpoint. */
export interface EndpointConnections extends Omit<Connections, "exchange"> {
  /** The number of open streams and of calls that wait for a stream. */
  readonly active: number;
  /** Time until the next attempt to connect may be made, in milliseconds. */
  readonly backoffMs: number;
  /** Makes an exchange function that reports to the observer. */
  observed(observer: ExchangeObserver): Exchange;
  /** Connects before there are calls. Rejects if that fails. */
  connect(): Promise<void>;
  /**
   * Resolves with true if the endpoint answers: over HTTP/2 PINGs on its open connections, of which there must be one; over
   * HTTP/1.1 an attempt to connect.
   */
  check(): Promise<boolean>;
}

/**
 * Makes the connections to an endpoint. `onReadiness` is called when there is a connection again, and when the last one
 * is lost.
 */
export type ConnectEndpoint = (endpoint: Endpoint, onReadiness: (isReady: boolean) => void) => EndpointConnections;

/** The parts of an address. */
export type Address = { readonly host: string; readonly port: number } | { readonly path: string };

/**
 * Parses an address. Returns `undefined` if it is invalid.
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

/** Joins host and port, unless it is 0. IPv6 addresses get brackets. */
export function formatAddress(host: string, port: number): string {
  const name = host.includes(":") && !host.startsWith("[") ? `[${host}]` : host;
  return port === 0 ? name : `${name}:${port}`;
}

/** Lists up to three endpoints with the reasons of their failures: the address, unless the reason contains it, and the reason. */
export function listFailures(failed: readonly (readonly [endpoint: Endpoint, reason: string])[]): string {
  const named = failed.map(([{ address }, reason]) => (reason.includes(address) ? reason : `${address}: ${reason}`));
  const more = failed.length > 3 ? ` and ${failed.length - 3} more` : "";
  return `${named.slice(0, 3).join("; ")}${more}`;
}

/**
 * Describes the first invalid field of an endpoint. Returns `undefined` if all are valid. An endpoint that others have written,
 * in a registry for example, must not be a Unix socket: programs that listen on one trust every process that may open it.
 */
export function endpointProblem(endpoint: Endpoint, from: "program" | "network" = "program"): string | undefined {
  const { address, weight = DEFAULT_WEIGHT, since = 0 } = endpoint ?? {};
  const parsed = typeof address === "string" ? parseAddress(address) : undefined;
  if (from === "network" && parsed !== undefined && "path" in parsed) {
    return `address ${JSON.stringify(address)} is a Unix socket, which only lists of the program may contain`;
  }
  if (parsed === undefined) {
    return `address ${JSON.stringify(address)} must be host:port, [v6]:port or unix: and a path`;
  }
  if (!(typeof weight === "number" && weight >= 0 && weight <= 1e6)) {
    return `weight of ${address} must be between 0 and 1,000,000, not ${weight}`;
  }
  return Number.isFinite(since) ? undefined : `since of ${address} must be a time in milliseconds, not ${since}`;
}

/**
 * Makes the resolver of a list of endpoints or their addresses. Throws a `TypeError` for anything but a list, an empty list or an
 * invalid endpoint.
 */
export function fixed(given: readonly (Endpoint | string)[]): Resolver {
  if (!Array.isArray(given)) throw new TypeError('fixed needs a list of endpoints, such as ["localhost:50051"]');
  const endpoints = given.map((one): Endpoint => (typeof one === "string" ? { address: one } : one));
  if (endpoints.length === 0) throw new TypeError("fixed needs at least one endpoint");
  for (const endpoint of endpoints) {
    const problem = endpointProblem(endpoint);
    if (problem !== undefined) throw new TypeError(problem);
  }
  return async function* () {
    yield endpoints;
  };
}
