/**
 * The server's HTTP/1.1 engine, on sockets: every request is an exchange. The engine does not depend on calls or messages.
 */

import { AsyncResource } from "node:async_hooks";
import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { RpcError } from "../../../call/error.ts";
import { defer, now, wallClock } from "../../../call/platform.ts";
import { outOfMemory, STALLED_MS } from "../../../connection/memory-budget.ts";
import { ConnectionSocket, type SocketOwner } from "../../../connection/socket.ts";
import type { SocketState } from "../../../http/channel-state.ts";
import type { Exchange } from "../../../http/exchange.ts";
import { type MessageError, malformed } from "../../../http1/error.ts";
import type { ServerExchange } from "../../../http1/exchange.ts";
import type { Http1Limits } from "../../../http1/limits.ts";
import type { RequestHead } from "../../../http1/request.ts";
import { type Http1Handler, ServerConnection } from "../../../http1/server.ts";
import type { OriginPolicy } from "../../../protocol/options.ts";
import { socketState } from "../../io/socket-state.ts";
import { MANUAL, ServedConnection, ServedConnections, type ServerEngineOptions } from "../listener/engine.ts";
import { ABORT_GRACE_MS, MIB, oldAt, tooOld } from "../listener/limits.ts";
import { refusal } from "../listener/request.ts";
import { openWebSocket, type WebSocketUpgrade } from "../listener/web-socket.ts";
import { readPeer } from "../peer.ts";
import { type Http1RequestOwner, ServedHttp1Request } from "./request.ts";

/** Bytes beyond the limited header fields: the request line, and part of a field that exceeds the limit. */
const HEADROOM_BYTES = 16 * 1024;

/** The options of an engine of HTTP/1.1. */
interface Http1Service extends ServerEngineOptions {
  readonly engineLimits: Http1Limits;
  /** The connections that take WebSockets over. */
  readonly http2: ServedConnections;
}

/** Creates the engine that serves HTTP/1.1 connections. `http2` takes those over that become WebSockets. */
export function serveHttp1(options: ServerEngineOptions, http2: ServedConnections): ServedConnections {
  const { headersTimeoutMs: headMs, messageTimeoutMs: requestMs, http1IdleTimeoutMs: idleMs } = options.limits;
  const engineLimits = { headBytes: options.maxHeaderBytes + HEADROOM_BYTES, headMs, requestMs, idleMs };
  const service: Http1Service = { ...options, engineLimits, http2 };
  return new ServedConnections(options.limits, (socket, all) => new ServedHttp1Connection(service, socket, all));
}

let dateSecond = -1;
let dateText = "";

/** Returns the field date of this second, with the end of its line. */
function dateLine(): string {
  const second = Math.floor(wallClock() / 1_000);
  if (second !== dateSecond) {
    dateSecond = second;
    dateText = `date: ${new Date(second * 1_000).toUTCString()}\r\n`;
  }
  return dateText;
}

/** One connection of a client. */
class ServedHttp1Connection extends ServedConnection implements Http1Handler, SocketOwner, Http1RequestOwner {
  /** True if the client has ended its side: over HTTP/1.1 that is all that most clients do when they cancel. */
  hasEnded = false;
  readonly #connection: ServerConnection;
  readonly #socket: ConnectionSocket<Socket>;
  readonly #http2: ServedConnections;
  /** The time at which the connection ends after its next response. */
  readonly #oldAt: number;
  #request: ServedHttp1Request | undefined;
  // The progress at the last sweep.
  #sweptAt: number = Math.floor(now());
  #moved = 0;
  #stalledSince: number = this.#sweptAt;

  constructor(service: Http1Service, socket: Socket, connections: ServedConnections) {
    super(service, socket, readPeer(socket, "h1"), connections);
    this.report("connected", (client) => `connection from ${client} over HTTP/1.1`);
    this.#http2 = service.http2;
    this.#oldAt = oldAt(service.limits, this.#sweptAt);
    this.#socket = new ConnectionSocket(socket);
    this.#connection = new ServerConnection(this, {
      output: this.#socket,
      dateLine,
      reasons: STATUS_CODES,
      limits: service.engineLimits,
    });
    this.#connection.isLeaving = connections.isLeaving;
    this.#socket.attach(this.#connection, this);
  }

  onRequest(exchange: ServerExchange, head: RequestHead, early: readonly Uint8Array[]): void {
    if (this.service.allowsWebSocket !== undefined && this.#opens(exchange, head, this.service.allowsWebSocket)) return;
    const request = new ServedHttp1Request(this, exchange, head, early);
    exchange.sink = request;
    this.#request = request;
    if (exchange.ended && this.memory.budget.short) this.admit(request, () => this.#start(request));
    else this.#start(request);
  }

  /** Handles a request that opens a WebSocket, by an answer or after the rest of its chunk. Returns false for other requests. */
  #opens(exchange: ServerExchange, head: RequestHead, allowsWebSocket: OriginPolicy): boolean {
    if (!head.fields.includes("upgrade")) return false;
    try {
      const upgrade = openWebSocket(head, this.peer, allowsWebSocket);
      if (upgrade === undefined) return false;
      queueMicrotask(() => this.#upgrade(exchange, upgrade));
    } catch (reason) {
      this.onInvalid(exchange, reason as MessageError);
    }
    return true;
  }

  /** Leaves the socket to a WebSocket. */
  #upgrade(exchange: ServerExchange, upgrade: WebSocketUpgrade): void {
    this.#socket.finishReading();
    if (exchange.closed) return;
    if (this.hasEnded || this.#connection.waiting > 0) {
      exchange.closes = true;
      this.onInvalid(exchange, malformed("nothing may follow a request for a WebSocket before its response"));
      return;
    }
    this.#socket.detach();
    super.onClose();
    this.#http2.accept(this.#socket.socket, upgrade);
  }

  #start(request: ServedHttp1Request): void {
    // Changes of the context must not affect the next request of the same chunk.
    new AsyncResource("TRIPLE_REQUEST", MANUAL).runInAsyncScope(serve, undefined, this.service.exchange, request);
  }

  onInvalid(exchange: ServerExchange, error: MessageError): void {
    const { status, headers, body } = refusal(error);
    exchange.respond(status, headers, body.whole);
  }

  onPause(isPaused: boolean): void {
    this.#socket.hold(isPaused);
    if (!this.hold()) this.#destroy();
  }

  onOver(isLost: boolean): void {
    if (isLost) this.#destroy();
    else this.#socket.end(true);
  }

  /** Forgets a request whose exchange has ended: an idle connection must not keep its body. */
  onRequestClosed(): void {
    this.#request = undefined;
  }

  /** Lets the connection end after the response that begins now, if the connection is old. */
  beginResponse(): void {
    // The clock is read for a finite age only.
    if (this.#oldAt < Number.POSITIVE_INFINITY && now() >= this.#oldAt) this.renew();
  }

  /** Ends the connection after the next response, not at once: an idle client could be sending a request. */
  renew(): void {
    this.#connection.isLeaving = true;
  }

  /** Ends the connection after the current request, or after one that has arrived: it is read by the end of the next turn. */
  leave(): void {
    this.renew();
    defer(() => defer(() => this.#connection.leave()));
  }

  abort(reason: RpcError): void {
    this.aborted = reason;
    this.#request?.abort(reason);
  }

  protected get pending(): number {
    const { unsent } = this.#socket;
    return this.#connection.kept(unsent > 0) + this.#connection.waiting + unsent;
  }

  /** The end of the client's side cancels calls: it is all that most clients do when they cancel. The response is still sent. */
  onPeerEnd(): void {
    this.hasEnded = true;
    this.#stalledSince = Math.floor(now());
    this.#request?.abortSignal();
  }

  #destroy(): void {
    this.memory.close();
    this.#socket.socket.destroy();
  }

  get state(): SocketState {
    return socketState(this, this.#socket.socket);
  }

  /**
   * Limits slow reads: ends a connection whose client does not receive the response within `stallTimeoutMs` for each MiB of
   * it, or that has ended and gets nothing. Also ends those that have exceeded their maximum age. Called about once a second.
   */
  sweep(time: number): void {
    const at = Math.floor(time);
    const { bytesRead, bytesWritten } = this.#socket.socket;
    this.#connection.tick(at - this.#sweptAt);
    this.#sweptAt = at;
    const expiredMs = at - this.#oldAt - this.service.limits.maxConnectionAgeGraceMs;
    if (expiredMs >= 0 && this.#request !== undefined && this.aborted === undefined) this.abort(tooOld());
    else if (expiredMs > (this.#request === undefined ? 0 : ABORT_GRACE_MS)) this.#destroy();
    // A client that has ended its side may be gone, which only writes show.
    const unsent = this.#socket.unsent + this.#connection.unsent || Number(this.hasEnded);
    if (bytesRead + bytesWritten !== this.#moved) {
      this.#moved = bytesRead + bytesWritten;
      this.#stalledSince = at;
    } else if (unsent > 0 && at - this.#stalledSince > this.service.limits.stallTimeoutMs * Math.ceil(unsent / MIB)) {
      this.#destroy();
    }
  }

  /** Frees the memory of a client that has stopped reading or sending. */
  reclaim(): void {
    if (now() - this.#stalledSince < STALLED_MS) return;
    if (this.#socket.unsent > 0) this.#destroy();
    else this.#request?.incoming?.stop(outOfMemory());
  }
}

function serve(exchange: Exchange, request: ServedHttp1Request) {
  if (!request.takeMemory()) return request.refuse();
  exchange(request).then(
    (response) => request.answer(response),
    () => request.fail(),
  );
}
