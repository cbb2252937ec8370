/**
 * The pool of a transport's HTTP/2 connections. It opens connections on demand, verifies idle ones by a PING, replaces
 * connections that end, and transparently retries requests that no server has processed (gRFC A6).
 *
 * A request that is not sent takes the first step that applies (`#nextStep`):
 *
 *     send      a connection that needs no verification has a free stream
 *     verify    a connection must be verified: wait for the first PING, and use that connection or begin again, with no failed attempt
 *     queue     there are connections, and no other may be opened for the request: it waits in the one with the fewest streams
 *     give up   there is no connection, and none may be opened for it, or the attempt has failed and it does not wait for ready
 *     connect   otherwise: wait for an attempt to connect, and begin again
 *
 * A request that has failed begins again after a delay, if the pool is not closed and no server has processed it (`#retry`).
 */
import { Code } from "../call/code.ts";
import { abortError, endpointRemoved, RpcError, transportClosed } from "../call/error.ts";
import { delay, unlessAborted } from "../call/timer.ts";
import type { EndpointConnections } from "../discovery/endpoint.ts";
import { addStreams, type ChannelState, NO_STREAMS } from "../http/channel-state.ts";
import type { Exchange, ExchangeObserver, HttpRequest, OnResponseEnd } from "../http/exchange.ts";
import { ReplayBody } from "../http/replay.ts";
import {
  ExchangeFailure,
  mayRetry,
  outcomeOf,
  reportTransparentRetry,
  TRANSPARENT_RETRY_DELAYS_MS,
  type TransparentRetryHook,
} from "../http/transparent-retry.ts";
import { ConnectionAttempts, type ConnectionBackoff, type InContext } from "./attempts.ts";
import type { Connect, Connection, ConnectionOwner } from "./connection.ts";
import { type ConnectionTimes, keepAlive, PooledConnection, verifyFirst } from "./pooled-connection.ts";

export interface PoolOptions extends ConnectionTimes {
  /** The name of the server in errors. */
  readonly peer: string;
  /** Most connections that are open for new streams at a time. */
  readonly maxConnections: number;
  /**
   * The default of `waitForReady` for requests that do not set it. `undefined`: requests can go to other servers, so
   * none waits and the pool makes only one transparent retry.
   */
  readonly waitForReady: boolean | undefined;
  readonly backoff: ConnectionBackoff;
  readonly inContext?: InContext | undefined;
  /** Called with true if there is a connection again, and with false if the last one was lost, not closed when idle. */
  readonly onReadiness?: ((isReady: boolean) => void) | undefined;
  /** Called for each transparent retry, before its delay. */
  readonly onTransparentRetry?: TransparentRetryHook | undefined;
}

/** The share of the stream limit above which another connection is opened. */
const NEARLY_FULL = 0.8;
/** The number of lost connections, beyond one for each request that waits, after which a request fails. */
const EXTRA_ATTEMPTS = 15;
const notSent = (error: RpcError): ExchangeFailure => new ExchangeFailure(error, "notSent");
const LOST_AT_ONCE = "the server closes every connection before it can be used";

/**
 * The error of a request after `close` of the connections. If requests can go to other servers (`waitForReady` is
 * `undefined`), the list of endpoints may have changed after this one was picked, and the request goes to another one.
 */
export function closedError(peer: string, waitForReady: boolean | undefined): RpcError | ExchangeFailure {
  return waitForReady === undefined ? new ExchangeFailure(endpointRemoved(peer), "unprocessed") : transportClosed();
}

export function waitsForReady({ context }: HttpRequest, { waitForReady }: Pick<PoolOptions, "waitForReady">): boolean {
  return waitForReady !== undefined && (context?.waitForReady ?? waitForReady);
}

/** The pool of connections to a server. The first connection is made by the first exchange. */
export class Pool implements EndpointConnections, ConnectionOwner {
  readonly #options: PoolOptions;
  readonly #attempts: ConnectionAttempts;
  /** The connections that accept new streams. */
  readonly #pooled: PooledConnection[] = [];
  /** All connections that are not closed yet, including those that accept no new streams. */
  readonly #alive = new Set<Connection>();
  readonly #delaysMs: readonly number[];
  /** The streams of closed connections. */
  #ended = NO_STREAMS;
  /** The number of attempts that wait for a connection. */
  #unconnected = 0;
  #closing: Promise<void> | undefined;
  /** The interval of keepalive PINGs on later connections. */
  #pingIntervalMs: number | undefined;

  constructor(connect: Connect, options: PoolOptions) {
    const { waitForReady, backoff, inContext } = options;
    this.#options = options;
    this.#pingIntervalMs = options.pingIntervalMs;
    this.#delaysMs = waitForReady === undefined ? TRANSPARENT_RETRY_DELAYS_MS.slice(0, 1) : TRANSPARENT_RETRY_DELAYS_MS;
    const add = async (signal: AbortSignal): Promise<void> => this.#add(await connect(this, signal));
    this.#attempts = new ConnectionAttempts(add, backoff, inContext);
  }

  get active(): number {
    let active = this.#unconnected;
    if (this.#alive.size === this.#pooled.length) {
      for (const { connection } of this.#pooled) active += connection.streams;
    } else for (const connection of this.#alive) active += connection.streams;
    return active;
  }

  get backoffMs(): number {
    return this.#options.backoff.remainingMs;
  }

  state(): ChannelState {
    const { peer } = this.#options;
    const idle = this.#unconnected > 0 ? "connecting" : "idle";
    const state = this.#pooled.length > 0 ? "ready" : this.backoffMs > 0 ? "failing" : idle;
    const sockets = [...this.#alive].flatMap((connection) => connection.state ?? []);
    const streams = sockets.reduce((sum, { http2 }) => addStreams(sum, http2?.streams ?? NO_STREAMS), this.#ended);
    return { target: peer, subchannels: [{ key: this, address: peer, state, streams, sockets }] };
  }

  connect(): Promise<void> {
    return this.#pooled.length > 0 ? Promise.resolve() : this.#attempts.ready(undefined, false);
  }

  async check(): Promise<boolean> {
    await Promise.all(this.#pooled.map((one) => one.verify()));
    return this.#pooled.length > 0;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  destroy(reason: RpcError): void {
    this.#attempts.abandon(reason);
    for (const connection of [...this.#alive]) connection.destroy(reason);
  }

  onUnusable(connection: Connection, isLeaving: boolean, tooManyPings = false): void {
    // gRFC A8: later connections have fewer PINGs.
    if (tooManyPings && this.#pingIntervalMs !== undefined) this.#pingIntervalMs *= 2;
    // A connection that accepted no new streams any more may be lost before its last stream ends.
    if (connection.streams === 0) this.#forget(connection);
    if (!this.#remove(connection) || this.#closing !== undefined || this.#pooled.length > 0) return;
    // A client with open streams will probably open more, so the next connection is opened in advance. After a
    // failure it is opened when a call needs it, because the server may fail again, or no call may follow.
    if (isLeaving && connection.streams > 0) this.#startAhead();
    this.#options.onReadiness?.(false);
  }

  /** Makes the exchange function of an observer. One observer serves all requests, so a request allocates nothing for it. */
  observed(observer: ExchangeObserver): Exchange {
    const { peer, waitForReady } = this.#options;
    const retrying: ExchangeObserver = {
      onFailure: (request, reason) => this.#retry(request, reason, observer),
      onEnd: observer.onEnd,
    };
    return (request) => {
      const { signal, body, context } = request;
      if (context !== undefined) context.target = peer;
      // The server has no part in it: it is not reported.
      if (signal?.aborted) return Promise.reject(abortError(signal));
      if (this.#closing !== undefined) return observer.onFailure(request, closedError(peer, waitForReady));
      // A body that is already a ReplayBody is settled by the caller that created it.
      if (body.whole !== undefined || body instanceof ReplayBody) return this.#attempt(request, retrying);
      const replay = new ReplayBody(body);
      return this.#attempt({ ...request, body: replay }, retrying).finally(() => replay.settle());
    };
  }

  /** Adds a connection that was made, unless the pool or the connection has been closed meanwhile. */
  #add(connection: Connection): void {
    if (this.#attempts.abandoned.aborted) return void connection.close();
    this.#alive.add(connection);
    if (!connection.open) return;
    const times = { ...this.#options, pingIntervalMs: this.#pingIntervalMs };
    this.#pooled.push(new PooledConnection(connection, times, (retired) => this.#retire(retired)));
    if (this.#pooled.length === 1) this.#options.onReadiness?.(true);
  }

  #startAhead(): void {
    this.#attempts.start().catch(() => {});
  }

  #remove(connection: Connection): boolean {
    const index = this.#pooled.findIndex((one) => one.connection === connection);
    if (index < 0) return false;
    const [one] = this.#pooled.splice(index, 1);
    one?.stopTimers();
    if (connection.streams === 0) this.#forget(connection);
    return true;
  }

  #forget(connection: Connection): void {
    if (this.#alive.delete(connection))
      this.#ended = addStreams(this.#ended, connection.state?.http2?.streams ?? NO_STREAMS);
  }

  #retire(connection: Connection): void {
    this.#remove(connection);
    void connection.close();
  }

  /** Returns a connection that can open a stream at once, if any. May begin to open another one for later requests. */
  #pick(): Connection | undefined {
    let best: Connection | undefined;
    for (const one of this.#pooled) {
      const { connection } = one;
      const { streams, maxStreams } = connection;
      if (one.mustBeVerified) continue;
      // Connections are filled in order, so that connections which are no longer needed become idle.
      if (streams < maxStreams * NEARLY_FULL) return connection;
      if (streams < maxStreams && (best === undefined || streams < best.streams)) best = connection;
    }
    if (best !== undefined && this.#pooled.length < this.#options.maxConnections) this.#startAhead();
    return best;
  }

  /**
   * Makes the first attempt of a request. The choice of the connection and the opening of the stream must happen in one
   * synchronous step; otherwise concurrent calls would all choose the same connection.
   */
  #attempt(request: HttpRequest, retrying: ExchangeObserver): ReturnType<Exchange> {
    const { onEnd } = retrying;
    const connection = this.#pick();
    if (connection !== undefined && this.#options.onTransparentRetry === undefined) {
      return connection.exchange(request, retrying, onEnd);
    }
    // The hook runs in the asynchronous context of the call, which connections do not keep.
    const response = connection?.exchange(request, undefined, onEnd) ?? this.#attemptLater(request, onEnd);
    return response.catch((reason) => retrying.onFailure(request, reason));
  }

  /** Makes an attempt as soon as a connection is available. */
  async #attemptLater(request: HttpRequest, onEnd: OnResponseEnd | undefined): ReturnType<Exchange> {
    const { signal } = request;
    const { peer, waitForReady } = this.#options;
    const { abandoned } = this.#attempts;
    this.#unconnected++;
    // Every new connection serves at least one of the calls that wait already, unless it is lost.
    let connectionsLeft = this.#unconnected + EXTRA_ATTEMPTS;
    let failure: RpcError | undefined;
    try {
      for (;;) {
        const step = this.#nextStep(request, connectionsLeft, failure);
        if (step === "connect") {
          connectionsLeft--;
          try {
            await this.#attempts.ready(signal, this.#pooled.length === 0 && waitsForReady(request, this.#options));
          } catch (error) {
            if (signal?.aborted || abandoned.aborted) throw error;
            failure = RpcError.from(error, Code.Unavailable);
          }
        } else if (step === "verify") {
          const one = await unlessAborted(verifyFirst(this.#pooled, signal), abandoned);
          if (one.open && one.streams < one.maxStreams) return one.exchange(request, undefined, onEnd);
          failure = undefined;
        } else return step.exchange(request, undefined, onEnd);
      }
    } catch (error) {
      throw this.#closing === undefined || signal?.aborted ? error : closedError(peer, waitForReady);
    } finally {
      this.#unconnected--;
    }
  }

  /** Decides the step of a request that is not sent, by the table above. `failure`: its last attempt to connect has failed. */
  #nextStep(request: HttpRequest, connectionsLeft: number, failure?: RpcError): Connection | "verify" | "connect" {
    const picked = this.#pick();
    if (picked !== undefined) return picked;
    const pooled = this.#pooled;
    if (pooled.some((one) => one.mustBeVerified)) return "verify";
    if (pooled.length > 0) {
      const mayConnect = pooled.length < this.#options.maxConnections && connectionsLeft > 0 && failure === undefined;
      if (mayConnect) return "connect";
      return pooled.reduce((a, b) => (b.connection.streams < a.connection.streams ? b : a)).connection;
    }
    if (request.isBackground) throw notSent(new RpcError(Code.Unavailable, "there is no connection"));
    if (connectionsLeft === 0) throw notSent(new RpcError(Code.Unavailable, LOST_AT_ONCE));
    if (failure !== undefined && !waitsForReady(request, this.#options)) throw notSent(failure);
    return "connect";
  }

  /** Repeats a request that has failed, as long as no server has processed it. The observer gets the last failure. */
  async #retry(request: HttpRequest, first: unknown, { onFailure, onEnd }: ExchangeObserver): ReturnType<Exchange> {
    const { signal } = request;
    let reason = first;
    for (let retries = 0; ; retries++) {
      if (signal?.aborted && abortError(signal).code === Code.DeadlineExceeded) {
        for (const one of this.#pooled) one.doubt();
      }
      // gRFC A6: what was never sent is repeated without a limit, so that calls may wait for longer than connections live.
      const most = outcomeOf(reason) === "queued" ? TRANSPARENT_RETRY_DELAYS_MS.length - 1 : retries;
      const delayMs = this.#closing === undefined ? this.#delaysMs[Math.min(retries, most)] : undefined;
      if (delayMs === undefined || !mayRetry(request, reason, "sameEndpoint")) return onFailure(request, reason);
      reportTransparentRetry(request, delayMs, reason, this.#options.onTransparentRetry);
      try {
        if (delayMs > 0) await delay(delayMs, signal);
        return await this.#attemptLater(request, onEnd);
      } catch (next) {
        reason = next;
      }
    }
  }

  /** Closes all connections after their open streams. Exchanges that wait for a connection fail. */
  async #close(): Promise<void> {
    this.#attempts.abandon(transportClosed());
    for (const one of this.#pooled) one.stopTimers();
    // Without keepalive, a dead connection would never close.
    for (const connection of this.#alive) void keepAlive(connection, this.#options.pingTimeoutMs);
    await Promise.all([...this.#alive].map((connection) => connection.close()));
  }
}
