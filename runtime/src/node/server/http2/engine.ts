/**
 * The server's HTTP/2 engine, on sockets: every stream is an exchange. The engine does not depend on calls or messages.
 */

import { AsyncResource } from "node:async_hooks";
import type { Socket } from "node:net";
import type { RpcError } from "../../../call/error.ts";
import { startTimer } from "../../../call/platform.ts";
import { ConnectionSocket, type SocketOwner } from "../../../connection/socket.ts";
import { SwapList } from "../../../connection/swap-list.ts";
import type { SocketState } from "../../../http/channel-state.ts";
import type { Exchange, HttpResponse } from "../../../http/exchange.ts";
import { MessageError } from "../../../http1/error.ts";
import type { EngineConnection } from "../../../http2/connection.ts";
import type { ConnectionEvent, ServerHandler } from "../../../http2/events.ts";
import type { EngineLimits } from "../../../http2/limits.ts";
import type { HeaderBlock } from "../../../http2/messages.ts";
import { ServerRole } from "../../../http2/server.ts";
import type { Stream } from "../../../http2/stream.ts";
import type { OriginPolicy } from "../../../protocol/options.ts";
import { CloseCode, WebSocketTunnel } from "../../../websocket/tunnel.ts";
import { socketState } from "../../io/socket-state.ts";
import { MANUAL, ServedConnection, ServedConnections, type ServerEngineOptions } from "../listener/engine.ts";
import { refusal } from "../listener/request.ts";
import { answerConnect, type WebSocketUpgrade } from "../listener/web-socket.ts";
import { readPeer } from "../peer.ts";
import { ConnectionGuard } from "./guard.ts";
import { type RequestOwner, ServedRequest } from "./request.ts";

/** Time limit, in milliseconds, for acknowledging the first GOAWAY of a shutdown. The second names the last stream. */
const LEAVE_MS = 1_000;

/** The options of an engine of HTTP/2. */
interface Http2Service extends ServerEngineOptions {
  readonly engineLimits: EngineLimits;
}

/** Creates the engine that serves HTTP/2 connections. */
export function serveHttp2(options: ServerEngineOptions): ServedConnections {
  const engineLimits = { ...options.limits, maxHeaderListBytes: options.maxHeaderBytes };
  const service: Http2Service = { ...options, engineLimits };
  return new ServedConnections(options.limits, (...one) => new ServedHttp2Connection(service, ...one));
}

/** One connection of a client. */
class ServedHttp2Connection extends ServedConnection implements ServerHandler, SocketOwner, RequestOwner {
  readonly guard: ConnectionGuard;
  readonly role: ServerRole;
  readonly connection: EngineConnection;
  readonly requests: SwapList<ServedRequest> = new SwapList();
  readonly #socket: ConnectionSocket<Socket>;
  /** The WebSocket that carries the connection; `undefined` if the socket does. */
  readonly #tunnel: WebSocketTunnel | undefined;
  readonly #upgrade: WebSocketUpgrade | undefined;
  /** Stops the timer that runs between the two GOAWAY frames of a shutdown. */
  #stopTimer: (() => void) | undefined;
  /** True if this side has begun graceful shutdown. */
  #isLeaving = false;

  constructor(service: Http2Service, socket: Socket, connections: ServedConnections, upgrade?: WebSocketUpgrade) {
    super(service, socket, upgrade?.peer ?? readPeer(socket, "h2"), connections);
    const way = upgrade === undefined ? "over HTTP/2" : "over HTTP/2 in a WebSocket";
    this.report("connected", (client) => `connection from ${client} ${way}`);
    this.#socket = new ConnectionSocket(socket);
    this.role = new ServerRole(this, {
      output: this.#socket,
      limits: service.engineLimits,
      allowsProtocol: service.allowsWebSocket !== undefined && upgrade === undefined,
    });
    this.connection = this.role.connection;
    this.guard = new ConnectionGuard(this.connection, socket, this.requests, service.limits, this);
    if (upgrade !== undefined) {
      this.#tunnel = new WebSocketTunnel(this.connection, upgrade.handshake, () => this.#socket.wake());
      this.#upgrade = upgrade;
    }
    this.#socket.attach(this.connection, this, this.#tunnel);
    if (connections.isLeaving) this.leave();
  }

  onRequest(stream: Stream, block: HeaderBlock, early: readonly Uint8Array[]): void {
    const upgrade = this.#upgrade;
    const head = upgrade ? { ...block, fields: upgrade.inherit(block.fields), result: undefined } : block;
    const request = new ServedRequest(this, stream, head, early);
    stream.sink = request;
    this.requests.add(request);
    if (!block.hasOneHost) request.answer(TWO_HOSTS);
    else if (block.protocol !== "") this.#connect(request, block.protocol);
    else if (stream.ended && this.memory.budget.short) this.admit(request, () => this.#start(request));
    else this.#start(request);
  }

  /** Answers a request that opens a WebSocket on its stream. */
  #connect(request: ServedRequest, protocol: string): void {
    const { connections, service } = this;
    const accept = (...one: Parameters<ServedConnections["accept"]>): void => {
      request.inner = connections.accept(...one);
      if (this.#isLeaving) request.inner.leave();
    };
    if (connections.size >= service.maxConnections) request.answer(TOO_MANY);
    else request.answer(answerConnect(request, protocol, service.allowsWebSocket as OriginPolicy, accept));
  }

  #start(request: ServedRequest): void {
    // Changes of the context must not affect the next request of the same chunk.
    new AsyncResource("TRIPLE_REQUEST", MANUAL).runInAsyncScope(serve, undefined, this.service.exchange, request);
  }

  onEvent(event: ConnectionEvent): void {
    if (event.type === "over") {
      this.report("ended", (client) => `connection from ${client} ended with HTTP/2 code ${event.code}: ${event.text}`);
      this.#end();
    } else if (event.type === "pong" && event.kind === "shutdown") this.#finishLeaving();
    else if (event.type === "pong" && event.kind === "receipt") {
      for (const request of this.requests) request.onPong();
    } else if (event.type === "idle") this.#endIfIdle();
  }

  /** Begins graceful shutdown: calls that are open or already sent finish, later ones are refused (RFC 9113, section 6.8). */
  leave(): void {
    // The client may have sent GOAWAY before, which says nothing about its own requests.
    if (this.#isLeaving || this.connection.isOver) return;
    this.#isLeaving = true;
    this.report("goaway", (client) => `GOAWAY to ${client}, with ${this.connection.streams.size} open streams`);
    this.connection.goAway(false);
    this.connection.ping("shutdown");
    this.#stopTimer = startTimer(LEAVE_MS, () => this.#finishLeaving());
    for (const { inner } of this.requests) inner?.leave();
  }

  /** After two GOAWAY frames, no request is lost. */
  renew(): void {
    this.leave();
  }

  #finishLeaving(): void {
    if (this.#stopTimer === undefined) return;
    this.#stopTimer();
    this.#stopTimer = undefined;
    if (this.connection.isOver) return;
    this.connection.goAway(true);
    this.#endIfIdle();
  }

  /** Ends an idle connection after either side has sent GOAWAY, because no more requests follow. */
  #endIfIdle(): void {
    if (this.#stopTimer === undefined && this.connection.streams.size === 0) this.#end();
  }

  #end(): void {
    this.#tunnel?.close(CloseCode.Normal);
    // A stream takes the last bytes as fast as its client reads, for which its own connection limits the time.
    this.#socket.end(this.#upgrade?.peer !== undefined);
  }

  abort(reason: RpcError): void {
    this.aborted = reason;
    for (const request of this.requests) (request.inner ?? request).abort(reason);
  }

  protected get pending(): number {
    const { unsent } = this.#socket;
    return this.connection.kept(unsent > 0) + unsent;
  }

  get state(): SocketState {
    return socketState(this, this.#socket.socket, this.connection);
  }

  sweep(time: number): void {
    this.guard.sweep(time);
    this.#tunnel?.tick(time);
  }

  reclaim(): void {
    this.guard.reclaim();
    if (this.pending < this.held) this.hold();
  }

  onPeerEnd(): void {
    for (const request of this.requests) request.abortSignal();
  }

  override onClose(): void {
    this.#stopTimer?.();
    super.onClose();
  }
}

function serve(exchange: Exchange, request: ServedRequest) {
  if (!request.takeMemory()) return request.refuse();
  exchange(request).then(
    (response) => request.answer(response),
    () => request.fail(),
  );
}

/** The response to a request whose Host and :authority differ (RFC 9113, section 8.3.1). */
const TWO_HOSTS: HttpResponse = refusal(new MessageError(400, "host and :authority must be the same"));
/** The response to a WebSocket beyond `maxConnections`. */
const TOO_MANY: HttpResponse = refusal(new MessageError(503, "the server has too many connections"));
