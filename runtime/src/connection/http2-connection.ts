/**
 * A client's HTTP/2 connection: it moves exchanges over the streams of a socket.
 */

import { Code } from "../call/code.ts";
import { reportConnection } from "../call/diagnostics.ts";
import { RpcError } from "../call/error.ts";
import { Metadata } from "../call/metadata.ts";
import { defer, now, repeat, startBackgroundTimer, startTimer } from "../call/platform.ts";
import type { SocketState } from "../http/channel-state.ts";
import type { ExchangeObserver, HttpRequest, HttpResponse, OnResponseEnd } from "../http/exchange.ts";
import { ExchangeFailure } from "../http/transparent-retry.ts";
import { ClientRole, NotOpen } from "../http2/client.ts";
import { ErrorCode } from "../http2/codes.ts";
import type { EngineConnection } from "../http2/connection.ts";
import type { ConnectionEvent, ConnectionHandler } from "../http2/events.ts";
import { HeadersTooLarge } from "../http2/header-writer.ts";
import { Collecting } from "./collecting.ts";
import type { Connection, ConnectionOwner } from "./connection.ts";
import { CLOSED_BY_PEER, connectionError, hostileServer } from "./error.ts";
import { ConnectionExchange, type ExchangeOwner, NO_METADATA } from "./exchange.ts";
import { type ByteStream, ConnectionSocket, type SocketOwner } from "./socket.ts";

/** Interval at which the token buckets of the engine's limits are refilled, in milliseconds. */
const TICK_MS = 1_000;

/** Time in which a server may read the GOAWAY of a destroyed connection and close its side, in milliseconds. */
const DESTROY_GRACE_MS = 50;
const NO_HTTP2 = new Error("the server does not speak HTTP/2");
/** The debug data of gRPC servers that got too many PINGs (gRFC A8). */
const TOO_MANY_PINGS = "too_many_pings";

/** The server of a connection. */
interface Http2Server {
  readonly origin: Pick<URL, "protocol" | "host">;
  /** Its name in error messages. */
  readonly peer: string;
  /** Returns the state of the socket and of the connection on it. Default: it is not shown. */
  readonly stateOf?: ((connection: object, engine: EngineConnection) => SocketState) | undefined;
}

/** Receives the result of the handshake: the server's SETTINGS frame, or a failure, whose cause the socket may report too. */
interface HandshakeOwner {
  onReady(): void;
  onFailed(cause?: Error): void;
}

/**
 * A client's HTTP/2 connection ends in one of three ways. After GOAWAY from the server no new streams are opened. `close`
 * also opens no new streams, and closes the socket after the last stream. `destroy` ends all streams at once, and the
 * socket soon. `#ref` and `onExchangeClosed` end nothing: they ref and unref the socket, so that running exchanges keep the
 * program running and idle connections do not.
 */
export class Http2Connection implements Connection, ConnectionHandler, SocketOwner, ExchangeOwner {
  readonly collecting: Collecting = new Collecting();
  readonly peer: string;
  isDestroyed = false;
  pings = 0;
  quietSince: number = now();
  readonly #role: ClientRole;
  readonly #engine: EngineConnection;
  readonly #io: ConnectionSocket;
  readonly #socket: ByteStream;
  readonly #owner: ConnectionOwner;
  readonly #stateOf: Http2Server["stateOf"];
  readonly #stopTicks: () => void;
  #handshake: HandshakeOwner | undefined;
  /** The reason why the connection ended, if it is known. */
  #reason: RpcError | undefined;
  /** The number of open streams and unacknowledged PINGs, which keep the program running. */
  #refs = 0;
  /** The open exchanges that do not count. */
  readonly #background = new Set<ConnectionExchange>();
  /** True once the server's SETTINGS have arrived. */
  #wasReady = false;
  /** The last two lists of fields: most responses have the headers and trailers of the previous one. */
  #known: readonly Metadata[] = [NO_METADATA, NO_METADATA];
  readonly #closed: Promise<void>;
  #onClosed!: () => void;
  /** The pending calls of {@link ping}, which share the PING in flight. */
  #pings: { readonly resolve: () => void; readonly reject: (reason: RpcError) => void }[] = [];

  constructor(
    socket: ByteStream,
    { origin, peer, stateOf }: Http2Server,
    owner: ConnectionOwner,
    handshake: HandshakeOwner,
  ) {
    this.#socket = socket;
    this.peer = peer;
    this.#stateOf = stateOf;
    this.#owner = owner;
    this.#handshake = handshake;
    this.#closed = new Promise((resolve) => {
      this.#onClosed = resolve;
    });
    this.#io = new ConnectionSocket(socket);
    this.#role = new ClientRole(this, {
      output: this.#io,
      scheme: origin.protocol.slice(0, -1),
      authority: origin.host,
    });
    this.#engine = this.#role.connection;
    this.#stopTicks = repeat(TICK_MS, () => this.#engine.tick(TICK_MS));
    this.#io.attach(this.#engine, this);
  }

  get streams(): number {
    return this.#engine.streams.size - this.#background.size;
  }

  get maxStreams(): number {
    return this.#engine.peer.maxStreams - this.#background.size;
  }

  get state(): SocketState | undefined {
    return this.#stateOf?.(this, this.#engine);
  }

  get open(): boolean {
    return this.#engine.state === "open" && !this.#socket.destroyed;
  }

  onEvent(event: ConnectionEvent): void {
    if (event.type === "settings") this.#onReady();
    else if (event.type === "pong") this.#onPong();
    else if (event.type === "goaway") this.#onGoAway(event.code, event.text);
    else if (event.type === "idle") this.#onIdle();
    else if (event.type === "over") this.#onOver(event);
  }

  #onReady(): void {
    const handshake = this.#handshake;
    if (handshake === undefined) return;
    this.#handshake = undefined;
    this.#wasReady = true;
    this.quietSince = now();
    // An idle connection must not keep the program running.
    if (this.#refs === 0) this.#socket.unref?.();
    handshake.onReady();
  }

  /** Handles GOAWAY. Open streams may finish, or fail if it has an error code (RFC 9113, section 6.8). */
  #onGoAway(code: number, debug = ""): void {
    const text = (): string => `GOAWAY from ${this.peer} with HTTP/2 code ${code}, with ${this.streams} open streams`;
    reportConnection("client", "goaway", this.peer, text);
    this.#owner.onUnusable(this, code === ErrorCode.NoError, debug === TOO_MANY_PINGS);
    this.#endBackground();
    if (code !== ErrorCode.NoError) {
      const given = debug === "" ? "" : ` (${debug})`;
      this.#reason ??= connectionError(new Error(`the server ended it with HTTP/2 code ${code}${given}`), this.peer);
      this.#engine.fail(ErrorCode.NoError, "");
    } else if (this.streams === 0) this.#io.end();
  }

  #onIdle(): void {
    this.#owner.onUnusable(this, false);
    this.#io.end();
  }

  #onOver({ code, text, isLocal }: Extract<ConnectionEvent, { type: "over" }>): void {
    this.#handshake?.onFailed(isLocal ? NO_HTTP2 : undefined);
    this.#handshake = undefined;
    this.#owner.onUnusable(this, false);
    const error = this.#errorOf(code, text, isLocal);
    this.#reason = error;
    for (const { reject } of this.#pings) reject(error);
    this.#pings = [];
    this.#io.end();
  }

  /** Handles the close of the socket, after {@link #onOver}. */
  onClose(error: Error | undefined): void {
    // A connection that was never ready is reported by the failure of its handshake.
    if (this.#wasReady) {
      const text = (): string => `connection to ${this.peer} closed${error === undefined ? "" : `: ${error.message}`}`;
      reportConnection("client", "closed", this.peer, text);
    }
    this.#stopTicks();
    this.#owner.onUnusable(this, false);
    this.#onClosed();
  }

  #errorOf(code: number, text: string, isLocal: boolean): RpcError {
    if (this.#reason !== undefined) return this.#reason;
    if (!isLocal) return connectionError(this.#socket.errored ?? CLOSED_BY_PEER, this.peer);
    const what = code === ErrorCode.EnhanceYourCalm ? "exceeded a limit" : "broke the rules of HTTP/2";
    return hostileServer(`${what}: ${text}`);
  }

  /** Returns the error for an exchange that was open when the connection ended: one of its own, to which its call is added. */
  lost(): RpcError {
    const { code, rawMessage, cause } =
      this.#reason ?? connectionError(this.#socket.errored ?? CLOSED_BY_PEER, this.peer);
    return new RpcError(code, rawMessage, { cause });
  }

  metadataOf(fields: readonly string[]): Metadata {
    this.pings = 0;
    for (const known of this.#known) if (known.raw === fields) return known;
    const metadata = Metadata.fromRaw(fields).freeze();
    this.#known = [metadata, this.#known[0] as Metadata];
    return metadata;
  }

  exchange(request: HttpRequest, observer?: ExchangeObserver, onEnd?: OnResponseEnd): Promise<HttpResponse> {
    const exchange = new ConnectionExchange(this, request, observer, onEnd);
    const { body } = request;
    const { whole } = body;
    try {
      exchange.stream = this.#role.open(request, exchange, whole, whole !== undefined);
    } catch (cause) {
      if (cause instanceof NotOpen) {
        return exchange.refuse(new ExchangeFailure(connectionError(cause, this.peer), "unprocessed"));
      }
      // HeadersTooLarge is thrown for the server's SETTINGS_MAX_HEADER_LIST_SIZE. Any other error is a TypeError that names
      // the invalid field of the request.
      const code = cause instanceof HeadersTooLarge ? Code.ResourceExhausted : Code.Internal;
      return exchange.refuse(RpcError.from(cause, code));
    }
    if (request.isBackground) this.#background.add(exchange);
    else this.#ref();
    if (request.signal !== undefined) exchange.follow(request.signal);
    if (whole === undefined) exchange.send(body);
    return exchange.response;
  }

  ping(timeoutMs: number): Promise<void> {
    if (this.#engine.isOver) return Promise.reject(this.lost());
    this.#ref();
    let stopTimer = (): void => {};
    const answered = new Promise<void>((resolve, reject) => {
      this.#pings.push({ resolve, reject });
      if (this.#engine.ping("keepalive")) this.pings++;
      const noAnswer = (): void =>
        reject(new RpcError(Code.Unavailable, `${this.peer} did not answer a ping within ${timeoutMs} ms`));
      // If the event loop was blocked, the acknowledgement may be waiting in the socket: it is read before `setImmediate`
      // runs.
      stopTimer = startTimer(timeoutMs, () => defer(noAnswer));
    });
    return answered.finally(() => {
      stopTimer();
      this.onExchangeClosed();
    });
  }

  #onPong(): void {
    const pings = this.#pings;
    this.#pings = [];
    this.quietSince = now();
    for (const { resolve } of pings) resolve();
  }

  close(): Promise<void> {
    if (this.#socket.destroyed) return Promise.resolve();
    // The caller waits for the end, so the program must not exit before it.
    this.#socket.ref?.();
    this.#engine.goAway(true);
    this.#endBackground();
    if (this.streams === 0) this.#io.end();
    return this.#closed;
  }

  destroy(reason: RpcError): void {
    this.#reason ??= reason;
    this.isDestroyed = true;
    this.#engine.fail(ErrorCode.Cancel, "");
    this.#io.end();
    // A server may wait for its handlers before it closes its side. Nothing more is expected from it.
    startBackgroundTimer(DESTROY_GRACE_MS, () => this.#socket.destroy());
  }

  #ref(): void {
    if (this.#refs === 0) this.#socket.ref?.();
    this.#refs++;
  }

  /** Ends the exchanges that do not count, when the connection is no longer needed. */
  #endBackground(): void {
    for (const exchange of this.#background) exchange.fail(new RpcError(Code.Unavailable, "the connection ends"));
  }

  /** Handles the end of an exchange or of a {@link ping}. */
  onExchangeClosed(exchange?: ConnectionExchange): void {
    if (exchange === undefined || !this.#background.delete(exchange)) this.#refs--;
    if (this.#refs > 0) return;
    this.quietSince = now();
    if (this.open) this.#socket.unref?.();
  }
}
