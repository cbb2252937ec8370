/**
 * Limits of one connection to a server: their names, defaults and validation. The HTTP/2 engine counts (`http2/limits.ts`), and
 * the periodic sweep of the server checks times.
 */

/**
 * Limits of one connection to a server. They are for HTTP/2, and `stallTimeoutMs` for HTTP/1.1 too. Times are in milliseconds,
 * and kept to about a second.
 */
export interface ConnectionLimits {
  /** Calls that the client may have open at a time (SETTINGS_MAX_CONCURRENT_STREAMS). Default: 100. */
  readonly maxStreams?: number | undefined;
  /**
   * Handlers that may run at a time, those of cancelled calls included; calls beyond are refused with REFUSED_STREAM.
   * Default: 200.
   */
  readonly maxHandlers?: number | undefined;
  /**
   * Stream resets in a burst, beyond those of `cancelsPerSecond`, before the connection is closed with ENHANCE_YOUR_CALM (Rapid
   * Reset, CVE-2023-44487). Default: 900.
   */
  readonly cancelBurst?: number | undefined;
  /** Stream resets per second in the long run, before the connection is closed with ENHANCE_YOUR_CALM. Default: 30. */
  readonly cancelsPerSecond?: number | undefined;
  /** Time for the settings of HTTP/2 to be acknowledged, and for a header block to be completed. Default: 10,000. */
  readonly headersTimeoutMs?: number | undefined;
  /** Age at which a connection that has never had a call is closed. Default: 30,000. */
  readonly firstCallTimeoutMs?: number | undefined;
  /** Time for the message of a unary call to arrive, for each MiB of it. Default: 60,000. */
  readonly messageTimeoutMs?: number | undefined;
  /** Longest pause between two bytes of the message of a unary call. Default: 15,000. */
  readonly messageIdleMs?: number | undefined;
  /** Time for a client to take a whole response, for each MiB of it, or to answer a PING (slow read). Default: 60,000. */
  readonly stallTimeoutMs?: number | undefined;
  /** Idle time after which a connection without calls is closed. Default: 5 minutes. */
  readonly idleTimeoutMs?: number | undefined;
}

export type Limits = { readonly [Name in keyof ConnectionLimits]-?: number };

/** Adds the defaults. Throws a `RangeError` for a limit that is not more than 0. */
export function resolveLimits(given: ConnectionLimits = {}): Limits {
  const limits = {
    maxStreams: given.maxStreams ?? 100,
    maxHandlers: given.maxHandlers ?? 200,
    cancelBurst: given.cancelBurst ?? 900,
    cancelsPerSecond: given.cancelsPerSecond ?? 30,
    headersTimeoutMs: given.headersTimeoutMs ?? 10_000,
    firstCallTimeoutMs: given.firstCallTimeoutMs ?? 30_000,
    messageTimeoutMs: given.messageTimeoutMs ?? 60_000,
    messageIdleMs: given.messageIdleMs ?? 15_000,
    stallTimeoutMs: given.stallTimeoutMs ?? 60_000,
    idleTimeoutMs: given.idleTimeoutMs ?? 5 * 60_000,
  };
  for (const [name, value] of Object.entries(limits)) {
    if (!(value > 0)) throw new RangeError(`limits.${name} must be more than 0, not ${value}`);
  }
  return limits;
}

/** The interval of the checks of all connections: a tenth of the shortest of the times, but at most a second. */
export function sweepIntervalMs(limits: Limits): number {
  const times = Object.entries(limits).flatMap(([name, value]) => (name.endsWith("Ms") ? [value] : []));
  return Math.max(5, Math.min(1_000, ...times.map((time) => time / 10)));
}
