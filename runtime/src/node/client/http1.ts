/**
 * The client's HTTP/1.1 engine, on sockets: every request is an exchange, and has a connection for itself. The engine does not
 * depend on calls or messages.
 */

import type { Socket } from "node:net";
import { Code } from "../../call/code.ts";
import { noteObstacle } from "../../call/context.ts";
import { reportConnection } from "../../call/diagnostics.ts";
import { abortError, RpcError, transportClosed } from "../../call/error.ts";
import { Metadata } from "../../call/metadata.ts";
import { now, startBackgroundTimer } from "../../call/platform.ts";
import { ConnectionAttempts } from "../../connection/attempts.ts";
import { Collecting } from "../../connection/collecting.ts";
import { CLOSED_BY_PEER, connectionError, responseError } from "../../connection/error.ts";
import { ConnectionExchange, type ExchangeOwner } from "../../connection/exchange.ts";
import { closedError, type PoolOptions, waitsForReady } from "../../connection/pool.ts";
import { ConnectionSocket, type SocketOwner } from "../../connection/socket.ts";
import { type Indexed, SwapList } from "../../connection/swap-list.ts";
import type { EndpointConnections } from "../../discovery/endpoint.ts";
import { type ChannelState, NO_STREAMS, type SocketState } from "../../http/channel-state.ts";
import type { Exchange, ExchangeObserver, HttpRequest, HttpResponse, OnResponseEnd } from "../../http/exchange.ts";
import { ExchangeFailure } from "../../http/transparent-retry.ts";
import { ClientConnection } from "../../http1/client.ts";
import type { MessageHandler } from "../../http1/connection.ts";
import type { MessageError } from "../../http1/error.ts";
import { socketState } from "../io/socket-state.ts";
import { establish, explainEnd, inConnectionContext, readAfterFailedWrite, type Target } from "./socket.ts";

export interface Http1Options extends Pick<PoolOptions, "idleTimeoutMs" | "waitForReady" | "backoff"> {
  /** Time limit for making a connection, TLS included, in milliseconds. */
  readonly connectTimeoutMs: number;
  /** Limit of the status line and the headers of a response together, in bytes. */
  readonly maxHeaderBytes: number;
}

/** The default of `idleTimeoutMs`: servers that announce no time end idle connections after 30 s and more (Jetty), this one after 60. */
export const DEFAULT_IDLE_MS = 25_000;
/** Idle connections that are kept. */
const MAX_IDLE_CONNECTIONS = 256;
/** Time without traffic after which the kernel verifies a connection (TCP keepalive), in milliseconds. */
const VERIFY_QUIET_MS = 1_000;
/** The server may end an idle connection up to a second before the time that it has announced. */
const ANNOUNCED_TIME_MARGIN_S = 1;

/** Makes HTTP/1.1 exchanges with a server over persistent connections. */
export class Http1Pool implements EndpointConnections {
  readonly target: Target;
  readonly options: Http1Options;
  /** True if the server has answered a request, so that it is known to speak HTTP with or without TLS as configured. */
  hasAnswered = false;
  readonly #attempts: ConnectionAttempts;
  readonly #running = new SwapList<Http1Connection>();
  /** The connections without an exchange. The last one is used next, so that the others become idle. */
  #idle: Http1Connection[] = [];
  /** The number of requests that wait for their connections. */
  #connecting = 0;
  #closing: Promise<void> | undefined;
  #onOver = (): void => {};
  readonly #destroyed = new AbortController();
  constructor(target: Target, options: Http1Options) {
    this.target = target;
    this.options = options;
    const attempt = async (signal: AbortSignal): Promise<void> => (await this.#open(signal)).destroy();
    this.#attempts = new ConnectionAttempts(attempt, options.backoff, inConnectionContext);
  }

  get active(): number {
    return this.#running.size + this.#connecting;
  }

  get backoffMs(): number {
    return this.options.backoff.remainingMs;
  }

  state(): ChannelState {
    const { peer } = this.target;
    const sockets = [...this.#running, ...this.#idle].map((connection) => connection.state);
    const idle = this.#connecting > 0 ? "connecting" : "idle";
    const state = sockets.length > 0 ? "ready" : this.backoffMs > 0 ? "failing" : idle;
    return { target: peer, subchannels: [{ key: this, address: peer, state, streams: NO_STREAMS, sockets }] };
  }

  connect(): Promise<void> {
    return this.#attempts.ready(undefined, false);
  }

  check(): Promise<boolean> {
    return this.connect().then(
      () => true,
      () => false,
    );
  }

  close(): Promise<void> {
    this.#closing ??= new Promise((resolve) => {
      this.#onOver = resolve;
    });
    this.#attempts.abandon(transportClosed());
    for (const connection of [...this.#idle]) connection.destroy();
    if (this.active === 0) this.#onOver();
    return this.#closing;
  }

  destroy(reason: RpcError): void {
    void this.close();
    this.#destroyed.abort(reason);
    for (const connection of this.#running) connection.destroy(reason);
  }

  observed({ onFailure, onEnd }: ExchangeObserver): Exchange {
    return (request) => {
      const response = this.#exchange(request, onEnd);
      return request.signal?.aborted ? response : response.catch((reason) => onFailure(request, reason));
    };
  }

  #exchange(request: HttpRequest, onEnd?: OnResponseEnd): Promise<HttpResponse> {
    const { signal, context } = request;
    const { peer } = this.target;
    if (context !== undefined) context.target = peer;
    if (signal?.aborted) return Promise.reject(abortError(signal));
    if (this.#closing !== undefined) return Promise.reject(closedError(peer, this.options.waitForReady));
    for (;;) {
      const connection = this.#idle.pop();
      if (connection === undefined) return this.#connect(request, onEnd);
      if (connection.isUsable) return this.#run(connection, request, onEnd);
      connection.destroy();
    }
  }

  #run(connection: Http1Connection, request: HttpRequest, onEnd?: OnResponseEnd): Promise<HttpResponse> {
    this.#running.add(connection);
    return connection.exchange(request, onEnd);
  }

  /** Makes an exchange on a new connection. If that fails, requests that wait for ready (gRPC) share the next attempts. */
  async #connect(request: HttpRequest, onEnd?: OnResponseEnd): Promise<HttpResponse> {
    const { signal } = request;
    const stop = this.#destroyed.signal;
    noteObstacle(signal, "connection");
    this.#connecting++;
    try {
      // The connection is reused by other calls.
      const connection = await inConnectionContext(() => this.#open(signal, stop));
      if (!connection.isUsable) throw connection.lost();
      noteObstacle(signal, undefined);
      return this.#run(connection, request, onEnd);
    } catch (reason) {
      const error = reason as RpcError;
      if (signal?.aborted || stop.aborted) throw error;
      if (!waitsForReady(request, this.options)) throw new ExchangeFailure(error, "notSent");
    } finally {
      this.#connecting--;
      if (this.active === 0) this.#onOver();
    }
    await this.#attempts.ready(signal, true);
    return this.#exchange(request, onEnd);
  }

  #open(...signals: readonly (AbortSignal | undefined)[]): Promise<Http1Connection> {
    const { target, options, hasAnswered } = this;
    const attempt = { version: "HTTP/1.1", timeoutMs: options.connectTimeoutMs, hasAnswered, signals } as const;
    return establish<Http1Connection>(target, attempt, (socket, done) => {
      const connect = (): void => done(new Http1Connection(this, socket));
      if (target.origin.protocol === "https:" && target.connect === undefined) socket.once("secureConnect", connect);
      else if (socket.connecting) socket.once("connect", connect);
      else connect();
    });
  }

  /** Keeps a connection whose exchange is over for the next one. */
  onIdle(connection: Http1Connection): void {
    this.#running.delete(connection);
    const mayKeep = connection.isUsable && this.#closing === undefined && this.#idle.length < MAX_IDLE_CONNECTIONS;
    if (mayKeep) this.#idle.push(connection);
    else connection.destroy();
    if (this.active === 0) this.#onOver();
  }

  onOver(connection: Http1Connection): void {
    const index = this.#idle.indexOf(connection);
    if (index >= 0) this.#idle.splice(index, 1);
  }
}

/** A connection of a pool, with one exchange at a time. */
export class Http1Connection implements MessageHandler, SocketOwner, ExchangeOwner, Indexed {
  index = 0;
  readonly collecting: Collecting = new Collecting();
  isDestroyed = false;
  readonly #pool: Http1Pool;
  /** Streams of the option `connect` lack the members that concern the kernel or the program. */
  readonly #socket: Socket;
  readonly #io: ConnectionSocket;
  readonly #engine: ClientConnection;
  /** The reason why the connection ended, if it is known. */
  #reason: RpcError | undefined;
  /** The fields of the last response: most responses have the same ones. */
  #known: Metadata | undefined;
  /** The time until which the connection may be used again, while it has no exchange. */
  #usableUntil: number = Number.POSITIVE_INFINITY;
  #stopTimer: (() => void) | undefined;

  constructor(pool: Http1Pool, socket: Socket) {
    const { target, options } = pool;
    this.#pool = pool;
    this.#socket = socket;
    socket.setKeepAlive?.(true, VERIFY_QUIET_MS);
    this.#io = new ConnectionSocket(socket);
    readAfterFailedWrite(socket, (error) => this.#io.fail(error));
    this.#engine = new ClientConnection(this, {
      output: this.#io,
      host: target.origin.host,
      maxHeadBytes: options.maxHeaderBytes,
    });
    this.#io.attach(this.#engine, this);
  }

  get state(): SocketState {
    return socketState(this, this.#socket);
  }

  get peer(): string {
    return this.#pool.target.peer;
  }

  /** The end of a connection that has one exchange at a time is the end of that. */
  get open(): boolean {
    return !this.isDestroyed;
  }

  /** True if an idle connection may be used again. */
  get isUsable(): boolean {
    return !this.#engine.isOver && this.#io.error === undefined && this.#socket.writable && now() < this.#usableUntil;
  }

  exchange(request: HttpRequest, onEnd?: OnResponseEnd): Promise<HttpResponse> {
    const exchange = new ConnectionExchange(this, request, undefined, onEnd);
    const { body, signal } = request;
    const { whole } = body;
    this.#socket.ref?.();
    this.#usableUntil = Number.POSITIVE_INFINITY;
    try {
      exchange.stream = this.#engine.request(request, exchange, whole);
    } catch (cause) {
      this.onExchangeClosed();
      return exchange.refuse(RpcError.from(cause, Code.Internal));
    }
    if (signal !== undefined) exchange.follow(signal);
    if (whole === undefined) exchange.send(body);
    return exchange.response;
  }

  /** Returns the error for an exchange that was open when the connection ended. */
  lost(): RpcError {
    const { target, hasAnswered } = this.#pool;
    const end = this.#io.error ?? this.#socket.errored ?? CLOSED_BY_PEER;
    const cause = explainEnd(end, target, this.#socket, hasAnswered);
    this.#reason ??= connectionError(cause, this.peer);
    return this.#reason;
  }

  metadataOf(fields: readonly string[]): Metadata {
    this.#pool.hasAnswered = true;
    if (this.#known?.raw !== fields) this.#known = Metadata.fromRaw(fields).freeze();
    return this.#known;
  }

  onExchangeClosed(): void {
    const { idleTimeoutMs } = this.#pool.options;
    const { idleSeconds = Number.POSITIVE_INFINITY } = this.#engine.head ?? {};
    const idleMs = Math.min(idleTimeoutMs, 1_000 * (idleSeconds - ANNOUNCED_TIME_MARGIN_S));
    this.#usableUntil = now() + idleMs;
    // An idle connection must not keep the program running.
    this.#socket.unref?.();
    this.#pool.onIdle(this);
    if (this.open) this.#stopTimer ??= startBackgroundTimer(idleMs, this.#closeIfIdle);
  }

  /** Ends the connection when it has been idle for too long. One timer serves many exchanges. */
  readonly #closeIfIdle = (): void => {
    this.#stopTimer = undefined;
    const left = this.#usableUntil - now();
    if (left <= 0) this.destroy();
    else if (left < Number.POSITIVE_INFINITY) this.#stopTimer = startBackgroundTimer(left, this.#closeIfIdle);
  };

  onPause(isPaused: boolean): void {
    this.#io.hold(isPaused);
  }

  onOver(_isLost: boolean, error: MessageError | undefined): void {
    if (error !== undefined) this.#reason ??= responseError(error, this.peer, this.#pool.options.maxHeaderBytes);
    this.#stopTimer?.();
    this.#pool.onOver(this);
    this.#socket.destroy();
  }

  onClose(error: Error | undefined): void {
    const text = (): string => `connection to ${this.peer} closed${error === undefined ? "" : `: ${error.message}`}`;
    reportConnection("client", "closed", this.peer, text);
  }

  /** Ends the connection at once. A running exchange fails with the reason. */
  destroy(reason?: RpcError): void {
    this.#reason ??= reason;
    this.isDestroyed = true;
    this.#engine.lost();
  }
}
