/**
 * Limits of one connection to a server: their names, defaults and validation. The HTTP/2 engine enforces the counts
 * (`http2/limits.ts`), and the periodic sweep of the server enforces the times.
 */
import { Code } from "../../../call/code.ts";
import { RpcError } from "../../../call/error.ts";
import { assertAmount, assertMembers } from "../../../call/option.ts";
import { random } from "../../../call/platform.ts";
import { DEFAULT_LIMITS } from "../../../http2/limits.ts";

/**
 * Limits of one connection to a server. They apply to HTTP/2 unless stated otherwise. Times are in milliseconds, and are
 * enforced with a precision of about a second.
 */
export interface ConnectionLimits {
  /** Maximum number of concurrent calls (SETTINGS_MAX_CONCURRENT_STREAMS), at most `maxHandlers`. Default: 100. */
  readonly maxStreams?: number | undefined;
  /**
   * Maximum number of handlers that may run at a time, including those of cancelled calls. Further calls are refused
   * with REFUSED_STREAM. Default: 200.
   */
  readonly maxHandlers?: number | undefined;
  /**
   * Maximum number of stream resets in a burst, in addition to `resetsPerSecond`. Beyond it the connection is closed with
   * ENHANCE_YOUR_CALM (rapid reset, CVE-2023-44487). Default: 900.
   */
  readonly resetBurst?: number | undefined;
  /**
   * Maximum number of stream resets per second on average. Beyond it the connection is closed with ENHANCE_YOUR_CALM. Resets by a
   * client of streams that are older than two seconds do not count. Default: 30.
   */
  readonly resetsPerSecond?: number | undefined;
  /**
   * Both versions: time limit for a new connection to identify its protocol, TLS handshake included, unless `tls` has a
   * `handshakeTimeout`; for the acknowledgement of our SETTINGS frame, and for the completion of a frame or header block;
   * HTTP/1.1: time limit for the headers of a request. Default: 10,000.
   */
  readonly headersTimeoutMs?: number | undefined;
  /** Age at which a connection that has never had a call is closed. Default: 30,000. */
  readonly firstCallTimeoutMs?: number | undefined;
  /** Time limit for each MiB of the message of a unary call to arrive; HTTP/1.1: for a whole request. Default: 60,000. */
  readonly messageTimeoutMs?: number | undefined;
  /** Longest pause between two bytes of the message of a unary call. Default: 15,000. */
  readonly messageIdleMs?: number | undefined;
  /** Both versions: time limit for a client to receive each MiB of a complete response (slow read); HTTP/1.1: also for the next output after it has ended its side. Default: 60,000. */
  readonly stallTimeoutMs?: number | undefined;
  /** Time without calls after which a connection is closed (gRPC's MAX_CONNECTION_IDLE). Default: 5 minutes. */
  readonly idleTimeoutMs?: number | undefined;
  /** HTTP/1.1: time without a request after which a connection is closed. Default: 60,000. */
  readonly http1IdleTimeoutMs?: number | undefined;
  /**
   * Keepalive: time without a received frame after which a PING is sent on a connection with open calls, so that the calls
   * of a client that has vanished end (gRPC's KEEPALIVE_TIME). Default: 5 minutes.
   */
  readonly pingIntervalMs?: number | undefined;
  /**
   * Time limit for the acknowledgement of a keepalive PING, after which the connection is closed and its calls are
   * cancelled (gRPC's KEEPALIVE_TIMEOUT). Default: 20,000.
   */
  readonly pingTimeoutMs?: number | undefined;
  /**
   * Both versions: age at which a connection takes no further calls, plus or minus a tenth at random, so that clients behind
   * a layer-4 load balancer connect again (gRPC's MAX_CONNECTION_AGE). Clients that support GOAWAY lose no call. Default:
   * `Infinity`.
   */
  readonly maxConnectionAgeMs?: number | undefined;
  /**
   * Both versions: time for running calls to end after the maximum age (gRPC's MAX_CONNECTION_AGE_GRACE). Then they
   * fail as `unavailable`; over HTTP/2, those whose handlers ignore their signal are reset a second later. Default:
   * `Infinity`.
   */
  readonly maxConnectionAgeGraceMs?: number | undefined;
}

/** The unit of time limits for bytes. */
export const MIB: number = 1024 * 1024;
/** Time for aborted calls to answer before their sockets are destroyed, in milliseconds. */
export const ABORT_GRACE_MS = 1_000;

export type Limits = { readonly [Name in keyof ConnectionLimits]-?: number };

const DEFAULT_CONNECTION_LIMITS: Limits = {
  ...DEFAULT_LIMITS,
  headersTimeoutMs: 10_000,
  firstCallTimeoutMs: 30_000,
  messageTimeoutMs: 60_000,
  messageIdleMs: 15_000,
  stallTimeoutMs: 60_000,
  idleTimeoutMs: 5 * 60_000,
  http1IdleTimeoutMs: 60_000,
  pingIntervalMs: 5 * 60_000,
  pingTimeoutMs: 20_000,
  maxConnectionAgeMs: Number.POSITIVE_INFINITY,
  maxConnectionAgeGraceMs: Number.POSITIVE_INFINITY,
};

/** Adds the defaults. Throws a `TypeError` for an unknown name, and for a limit that is not more than 0. */
export function resolveLimits(given: ConnectionLimits = {}): Limits {
  assertMembers("limits", given, Object.keys(DEFAULT_CONNECTION_LIMITS));
  const limits: { -readonly [Name in keyof Limits]: number } = { ...DEFAULT_CONNECTION_LIMITS };
  for (const name of Object.keys(DEFAULT_CONNECTION_LIMITS) as (keyof Limits)[]) {
    limits[name] = assertAmount(`limits.${name}`, given[name] ?? limits[name], true);
  }
  return { ...limits, maxStreams: Math.min(limits.maxStreams, limits.maxHandlers) };
}

/** Returns when a connection that begins at `now` is old (gRPC's MAX_CONNECTION_AGE), varied by a tenth to spread ends. */
export function oldAt({ maxConnectionAgeMs }: Limits, now: number): number {
  return maxConnectionAgeMs === Number.POSITIVE_INFINITY
    ? maxConnectionAgeMs
    : now + maxConnectionAgeMs * (0.9 + random() * 0.2);
}

/** Creates the error of calls that run on an old connection after the grace period. */
export const tooOld = (): RpcError =>
  new RpcError(Code.Unavailable, "the connection has exceeded its maximum age: call again");

/** Returns the interval of the sweep of all connections: a tenth of the shortest time limit, but at most a second. */
export function sweepIntervalMs(limits: Limits): number {
  const times = Object.entries(limits).flatMap(([name, value]) => (name.endsWith("Ms") ? [value] : []));
  return Math.max(5, Math.min(1_000, ...times.map((time) => Math.ceil(time / 10))));
}
