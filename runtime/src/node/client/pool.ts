/**
 * The pool of a transport's HTTP/2 connections. It opens connections on demand, verifies idle ones by a PING, replaces
 * connections that end, and transparently retries requests that no server has processed (gRFC A6).
 */
import { Code } from "../../call/code.ts";
import { abortError, RpcError, transportClosed } from "../../call/error.ts";
import { delay, startBackgroundTimer } from "../../call/timer.ts";
import type { EndpointConnections } from "../../discovery/endpoint.ts";
import { type Exchange, type ExchangeObserver, type HttpRequest, reportOutcome } from "../../http/exchange.ts";
import { ReplayBody } from "../../http/replay.ts";
import {
  ExchangeFailure,
  mayRetry,
  reportTransparentRetry,
  TRANSPARENT_RETRY_DELAYS_MS,
  type TransparentRetryHook,
} from "../../http/transparent-retry.ts";
import { repeat, unlessAborted } from "../io/timer.ts";
import { ConnectionAttempts } from "./attempts.ts";
import type { Connect, Connection, ConnectionOwner } from "./connection.ts";
import type { ConnectionBackoff } from "./connection-backoff.ts";
import { closedError } from "./readiness.ts";

export interface PoolOptions {
  /** The name of the server in errors. */
  readonly peer: string;
  /** Most connections that are open for new streams at a time. */
  readonly maxConnections: number;
  /** Time without streams after which a connection is closed, in milliseconds. */
  readonly idleTimeoutMs: number;
  /** Time without streams after which a connection must acknowledge a PING before it is used again, in milliseconds. */
  readonly verifyAfterMs: number;
  /** Interval of keepalive PINGs on connections with open streams, in milliseconds. `undefined`: none. */
  readonly pingIntervalMs: number | undefined;
  /** Time limit for the acknowledgement of a PING, in milliseconds. */
  readonly pingTimeoutMs: number;
  /**
   * The default of `waitForReady` for requests that do not set it. `undefined`: requests can go to other servers, so
   * none waits and the pool makes only one transparent retry.
   */
  readonly waitForReady: boolean | undefined;
  readonly backoff: ConnectionBackoff;
  /**
   * Called with true when there is a connection again, and with false when the last one was lost. Not called when an idle
   * connection is closed.
   */
  readonly onReadiness?: ((isReady: boolean) => void) | undefined;
  /** Called for each transparent retry, before its delay. */
  readonly onTransparentRetry?: TransparentRetryHook | undefined;
}

/** The share of the stream limit above which another connection is opened. */
const NEARLY_FULL = 0.8;
/** The number of lost connections, beyond `maxConnections`, after which a request fails. */
const EXTRA_ATTEMPTS = 5;
const LOST_AT_ONCE = "the server closes every connection before it can be used";

/** A connection that accepts new streams, and its timers. */
interface PooledConnection {
  readonly connection: Connection;
  /** The time since which it has had no streams, or of its last acknowledged PING, whichever is later. */
  quietSince: number;
  verifying: Promise<void> | undefined;
  /**
   * True after a call on one of the connections exceeded its deadline: this connection may be dead without having been
   * closed.
   */
  suspect: boolean;
  readonly stopTimers: () => void;
}

/** Creates the pool of connections to a server. The first connection is made by the first exchange. */
export function createPool(connect: Connect, options: PoolOptions): EndpointConnections {
  const { maxConnections, idleTimeoutMs, verifyAfterMs, pingIntervalMs, pingTimeoutMs } = options;
  const pooled: PooledConnection[] = [];
  /** All connections that are not closed yet, including those that accept no new streams. */
  const alive = new Set<Connection>();
  const delaysMs =
    options.waitForReady === undefined ? TRANSPARENT_RETRY_DELAYS_MS.slice(0, 1) : TRANSPARENT_RETRY_DELAYS_MS;
  /**
   * True if a failure must be handled in the asynchronous context of its call (AsyncLocalStorage), which a connection
   * does not keep.
   */
  const isHooked = options.onTransparentRetry !== undefined;
  /** The number of exchanges without a response, which may still need a connection. */
  let waiting = 0;
  /** The number of attempts that wait for a connection. */
  let unconnected = 0;
  let onNoneWaiting = (): void => {};
  let closing: Promise<void> | undefined;

  const attempts = new ConnectionAttempts(async (signal) => {
    const connection = await connect(owner, signal);
    if (attempts.abandoned.aborted) return void connection.close();
    alive.add(connection);
    if (!connection.open) return;
    pooled.push(addTimers(connection));
    if (pooled.length === 1) options.onReadiness?.(true);
  }, options.backoff);

  const owner: ConnectionOwner = {
    onUnusable(connection, isLeaving) {
      // A connection that accepted no new streams any more may be lost before its last stream ends.
      if (connection.streams === 0) alive.delete(connection);
      if (!remove(connection) || closing !== undefined || pooled.length > 0) return;
      // A client with open streams will probably open more, so the next connection is opened in advance. After a
      // failure it is opened when a call needs it, because the server may fail again, or no call may follow.
      if (isLeaving && connection.streams > 0) startAhead();
      options.onReadiness?.(false);
    },
    onIdle(connection) {
      const one = pooled.find((each) => each.connection === connection);
      if (one !== undefined) one.quietSince = performance.now();
      else alive.delete(connection);
    },
  };

  function startAhead(): void {
    attempts.start().catch(() => {});
  }

  function remove(connection: Connection): boolean {
    const index = pooled.findIndex((one) => one.connection === connection);
    if (index < 0) return false;
    const [one] = pooled.splice(index, 1);
    one?.stopTimers();
    if (connection.streams === 0) alive.delete(connection);
    return true;
  }

  function addTimers(connection: Connection): PooledConnection {
    const stopPings = pingIntervalMs === undefined ? () => {} : repeat(pingIntervalMs, () => keepAlive(connection));
    let stopIdle = (): void => {};
    const one: PooledConnection = {
      connection,
      quietSince: performance.now(),
      verifying: undefined,
      suspect: false,
      stopTimers: () => {
        stopPings();
        stopIdle();
      },
    };
    const closeIfIdle = (): void => {
      const left = connection.streams > 0 ? idleTimeoutMs : one.quietSince + idleTimeoutMs - performance.now();
      if (left > 0) stopIdle = startBackgroundTimer(left, closeIfIdle);
      else retire(connection);
    };
    stopIdle = startBackgroundTimer(idleTimeoutMs, closeIfIdle);
    return one;
  }

  function retire(connection: Connection): void {
    remove(connection);
    void connection.close();
  }

  async function keepAlive(connection: Connection): Promise<void> {
    if (connection.streams === 0) return;
    await connection.ping(pingTimeoutMs).catch((error: RpcError) => connection.destroy(error));
  }

  /**
   * Returns a connection that can open a stream at once, if there is one. May begin to open another connection for later
   * requests.
   */
  function pick(): Connection | undefined {
    let best: Connection | undefined;
    for (const one of pooled) {
      const { connection } = one;
      const { streams, maxStreams } = connection;
      if (mustBeVerified(one)) continue;
      // Connections are filled in order, so that connections which are no longer needed become idle.
      if (streams < maxStreams * NEARLY_FULL) return connection;
      if (streams < maxStreams && (best === undefined || streams < best.streams)) best = connection;
    }
    if (best !== undefined && pooled.length < maxConnections) startAhead();
    return best;
  }

  function mustBeVerified({ connection, quietSince, suspect }: PooledConnection): boolean {
    return suspect || (connection.streams === 0 && performance.now() - quietSince > verifyAfterMs);
  }

  /**
   * Makes an exchange on a pooled connection. The choice and the opening of the stream must happen in one synchronous step;
   * otherwise concurrent calls would all choose the same connection.
   */
  function attempt(request: HttpRequest, observer?: ExchangeObserver): ReturnType<Exchange> {
    const connection = pick();
    if (connection !== undefined && !isHooked) return connection.exchange(request, observer);
    const response = connection === undefined ? attemptLater(request) : connection.exchange(request);
    return observer === undefined ? response : reportOutcome(response, request, observer);
  }

  /** Makes an exchange as soon as a connection is available. */
  async function attemptLater(request: HttpRequest): ReturnType<Exchange> {
    const { signal, context } = request;
    const waitForReady = options.waitForReady !== undefined && (context?.waitForReady ?? options.waitForReady);
    let full = false;
    unconnected++;
    // Every new connection serves at least one of the calls that wait already, unless it is lost.
    let connectionsLeft = unconnected + maxConnections + EXTRA_ATTEMPTS;
    try {
      for (;;) {
        const connection = pick();
        if (connection !== undefined) return connection.exchange(request);
        const unverified = pooled.find(mustBeVerified);
        if (unverified !== undefined) {
          await unlessAborted(verify(unverified), signal);
          continue;
        }
        const isLast = connectionsLeft-- === 0;
        full ||= isLast;
        if (pooled.length >= maxConnections || (full && pooled.length > 0)) return leastLoaded().exchange(request);
        if (isLast) throw new ExchangeFailure(new RpcError(Code.Unavailable, LOST_AT_ONCE), "notSent");
        try {
          await attempts.ready(signal, waitForReady && pooled.length === 0);
        } catch (error) {
          if (signal?.aborted || attempts.abandoned.aborted) throw error;
          if (pooled.length === 0 && !waitForReady) {
            throw new ExchangeFailure(RpcError.from(error, Code.Unavailable), "notSent");
          }
          full = true;
        }
      }
    } finally {
      unconnected--;
    }
  }

  /** Returns the connection with the fewest streams. Streams queue on it if all connections are full. */
  function leastLoaded(): Connection {
    return pooled.map(({ connection }) => connection).reduce((a, b) => (b.streams < a.streams ? b : a));
  }

  /**
   * Sends a PING on a connection that has been quiet, and destroys the connection if it is not acknowledged. Never rejects.
   */
  function verify(one: PooledConnection): Promise<void> {
    const { connection } = one;
    one.verifying ??= connection
      .ping(pingTimeoutMs)
      .then(
        () => {
          one.quietSince = performance.now();
          one.suspect = false;
        },
        (error: RpcError) => connection.destroy(error),
      )
      .finally(() => {
        one.verifying = undefined;
      });
    return one.verifying;
  }

  /** Makes the exchange function of an observer. One observer serves all requests, so a request allocates nothing for it. */
  function observed(observer?: ExchangeObserver): Exchange {
    const counted: ExchangeObserver = {
      onResponse(response) {
        settled();
        observer?.onResponse(response);
      },
      onFailure(request, reason) {
        const retried = retry(request, reason).finally(settled);
        return observer === undefined ? retried : reportOutcome(retried, request, observer);
      },
    };
    return (request) => {
      const { signal, body, context } = request;
      if (context !== undefined) context.target = options.peer;
      // The server has no part in it: it is not reported.
      if (signal?.aborted) return Promise.reject(abortError(signal));
      if (closing !== undefined) {
        const error = closedError(options.peer, options.waitForReady);
        return observer?.onFailure(request, error) ?? Promise.reject(error);
      }
      waiting++;
      // A body that is already a ReplayBody is settled by the caller that created it.
      if (body.whole !== undefined || body instanceof ReplayBody) return attempt(request, counted);
      const replayed = exchangeReplayed(request, new ReplayBody(body));
      return observer === undefined ? replayed : reportOutcome(replayed, request, observer);
    };
  }

  async function exchangeReplayed(request: HttpRequest, replay: ReplayBody): ReturnType<Exchange> {
    const sent = { ...request, body: replay };
    try {
      return await attempt(sent).catch((error) => retry(sent, error));
    } finally {
      replay.settle();
      settled();
    }
  }

  /** Records that an exchange has its response or has finally failed. */
  function settled(): void {
    waiting--;
    if (waiting === 0) onNoneWaiting();
  }

  /** Repeats an exchange that failed with this error, as long as no server has processed it. Rejects with the last error. */
  async function retry(request: HttpRequest, first: unknown): ReturnType<Exchange> {
    const { signal } = request;
    let error = first;
    for (let retries = 0; ; retries++) {
      if (signal?.aborted && abortError(signal).code === Code.DeadlineExceeded) {
        for (const one of pooled) one.suspect = true;
      }
      const delayMs = delaysMs[retries];
      if (delayMs === undefined || !mayRetry(request, error, "sameEndpoint")) throw error;
      reportTransparentRetry(request, delayMs, error, options.onTransparentRetry);
      if (delayMs > 0) await delay(delayMs, signal);
      try {
        return await attempt(request);
      } catch (reason) {
        error = reason;
      }
    }
  }

  /** Waits for all exchanges that have begun, which may still open connections, then closes all connections. */
  async function close(): Promise<void> {
    if (waiting > 0) {
      await new Promise<void>((resolve) => {
        onNoneWaiting = resolve;
      });
    }
    attempts.abandon(transportClosed());
    for (const { stopTimers } of pooled) stopTimers();
    // Without keepalive, a dead connection would never close.
    for (const connection of alive) void keepAlive(connection);
    await Promise.all([...alive].map((connection) => connection.close()));
  }

  return {
    exchange: observed(),
    observed,
    get active() {
      let active = unconnected;
      if (alive.size === pooled.length) for (const { connection } of pooled) active += connection.streams;
      else for (const connection of alive) active += connection.streams;
      return active;
    },
    get backoffMs() {
      return options.backoff.remainingMs;
    },
    connect: () => (pooled.length > 0 ? Promise.resolve() : attempts.ready(undefined, false)),
    async check() {
      await Promise.all(pooled.map(verify));
      return pooled.length > 0;
    },
    close() {
      closing ??= close();
      return closing;
    },
    destroy(reason) {
      attempts.abandon(reason);
      for (const connection of [...alive]) connection.destroy(reason);
    },
  };
}
