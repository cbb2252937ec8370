/**
 * The interface between a listener and its HTTP engines, and what the engines of both versions share: their connections, their
 * requests, and the responses that they create without a protocol.
 */
import type { Socket } from "node:net";
import { concat } from "../../../call/bytes.ts";
import { Status } from "../../../call/code.ts";
import { clientGone, type RpcError } from "../../../call/error.ts";
import { Metadata } from "../../../call/metadata.ts";
import type { PeerConnection } from "../../../call/peer.ts";
import { defer, now, repeat } from "../../../call/platform.ts";
import { Collecting } from "../../../connection/collecting.ts";
import { IncomingBody } from "../../../connection/incoming-body.ts";
import {
  type MemoryBudget,
  type MemoryHolder,
  MemoryShare,
  outOfMemory,
  UNCOUNTED_BYTES,
} from "../../../connection/memory-budget.ts";
import type { OutgoingBody } from "../../../connection/outgoing-body.ts";
import { type Indexed, SwapList } from "../../../connection/swap-list.ts";
import { type Body, emptyBody, onRead, wholeBody } from "../../../http/body.ts";
import type { SocketState } from "../../../http/channel-state.ts";
import type { Exchange, HttpRequest, HttpResponse } from "../../../http/exchange.ts";
import type { Stream } from "../../../http2/stream.ts";
import { errorBody } from "../../../protocol/error.ts";
import type { OriginPolicy } from "../../../protocol/options.ts";
import { readPeer } from "../peer.ts";
import { type Limits, sweepIntervalMs } from "./limits.ts";
import type { WebSocketUpgrade } from "./web-socket.ts";

/** The parts of a server that its engines share. */
export interface ServerEngineOptions {
  readonly exchange: Exchange;
  readonly limits: Limits;
  readonly budget: MemoryBudget;
  /** Size limit of the headers that the protocols accept, in bytes. */
  readonly maxHeaderBytes: number;
  /** Fires when the server begins to close. */
  readonly draining: AbortSignal;
  /** Decides whether pages of an origin may open a WebSocket; default: there are none. */
  readonly allowsWebSocket?: OriginPolicy | undefined;
}

/** Creates the connection of a socket. */
type CreateConnection = (
  socket: Socket,
  connections: ServedConnections,
  upgrade: WebSocketUpgrade | undefined,
) => ServedConnection;

/** The connections of a port that use one version of HTTP. They are swept about once a second while there are any. */
export class ServedConnections extends SwapList<ServedConnection> {
  /** True after {@link drain}. */
  isLeaving = false;
  /** The reason of {@link abort}; `undefined` before that call. */
  aborted: RpcError | undefined;
  readonly #limits: Limits;
  readonly #create: CreateConnection;
  #stopSweeping: (() => void) | undefined;

  constructor(limits: Limits, create: CreateConnection) {
    super();
    this.#limits = limits;
    this.#create = create;
  }

  /** Takes over a connection, or a WebSocket on it. */
  accept(socket: Socket, upgrade?: WebSocketUpgrade): void {
    this.add(this.#create(socket, this, upgrade));
    const sweep = (): void => {
      const time = now();
      for (const one of this) one.sweep(time);
    };
    // If the event loop was blocked, input that was sent in time is read before deferred calls run.
    this.#stopSweeping ??= repeat(sweepIntervalMs(this.#limits), () => defer(sweep));
  }

  /** Begins graceful shutdown: running exchanges finish, and new ones are not started. */
  drain(): void {
    this.isLeaving = true;
    for (const connection of this) connection.leave();
  }

  /** Lets clients connect again: each connection ends after its running exchanges. New connections are accepted. */
  drainConnections(): void {
    for (const connection of this) connection.renew();
  }

  /** Aborts running exchanges: fires their signals, and fails readers that wait for more of a request. */
  abort(reason: RpcError): void {
    this.aborted = reason;
    for (const connection of this) connection.abort(reason);
  }

  override delete(connection: ServedConnection): void {
    super.delete(connection);
    if (this.size > 0) return;
    this.#stopSweeping?.();
    this.#stopSweeping = undefined;
  }
}

/** One connection of a client. */
export abstract class ServedConnection implements MemoryHolder, Indexed {
  index = 0;
  readonly service: ServerEngineOptions;
  readonly memory: MemoryShare;
  readonly peer: PeerConnection;
  /** The reason of {@link abort}; `undefined` before that call. */
  aborted: RpcError | undefined;
  readonly #connections: ServedConnections;
  /** Bytes of output, and of input that waits, that are taken from the memory budget. */
  protected held = 0;
  #collecting: Collecting | undefined;

  constructor(service: ServerEngineOptions, socket: Socket, version: "h1" | "h2", connections: ServedConnections) {
    this.service = service;
    this.aborted = connections.aborted;
    this.#connections = connections;
    // Clients such as `nc -N` half-close the connection after their requests, and still expect the responses.
    socket.allowHalfOpen = true;
    this.peer = readPeer(socket, version);
    this.memory = new MemoryShare(service.budget, this);
  }

  get collecting(): Collecting {
    this.#collecting ??= new Collecting();
    return this.#collecting;
  }

  /** The bytes that count towards the memory budget. */
  protected abstract get pending(): number;
  /** The state of the socket, for channelz. */
  abstract get state(): SocketState;
  abstract sweep(time: number): void;
  abstract reclaim(): void;
  /** Begins graceful shutdown. */
  abstract leave(): void;
  /** Lets the client connect again, without the loss of a request that it is sending now. */
  abstract renew(): void;
  /** Aborts the running requests. */
  abstract abort(reason: RpcError): void;

  /** Starts a request while memory is short: each one in a turn of its own. */
  protected admit(request: Pick<ReceivedRequest, "answer">, start: () => void): void {
    this.memory.admit(start, () => request.answer(OUT_OF_MEMORY));
  }

  /** Fires when the server begins to close. */
  get draining(): AbortSignal {
    return this.service.draining;
  }

  /** Reports whether the memory budget has this number of bytes for a response. */
  fits(bytes: number): boolean {
    if (!this.memory.take(bytes)) return false;
    this.memory.release(bytes);
    return true;
  }

  /** Counts the pending bytes towards the memory budget. Returns false, and does not count them, if they do not fit. */
  hold(): boolean {
    const more = this.pending - this.held;
    if (more > 0 && !this.memory.take(more)) return false;
    if (more < 0) this.memory.release(-more);
    this.held += more;
    return true;
  }

  onFlushed(): boolean {
    return this.hold();
  }

  onClose(): void {
    this.memory.close();
    this.#connections.delete(this);
  }
}

/** Options of the asynchronous context of a request: nothing watches its end. */
export const MANUAL = { requireManualDestroy: true } as const;

/** The part of a stream, or of an exchange over HTTP/1.1, that requests of both versions use. */
type RequestStream = Pick<Stream, "ended" | "closed" | "consumed" | "discard">;

/** The connection of a request. */
export type ReceivedRequestOwner = Pick<
  ServedConnection,
  "memory" | "peer" | "collecting" | "aborted" | "draining" | "fits" | "hold"
>;

/** A request, from its head until the end of its exchange. */
export abstract class ReceivedRequest<
  S extends RequestStream = RequestStream,
  Owner extends ReceivedRequestOwner = ReceivedRequestOwner,
> implements HttpRequest
{
  abstract readonly version: HttpRequest["version"];
  readonly method: string;
  readonly path: string;
  readonly headers: Metadata;
  readonly body: Body;
  readonly stream: S;
  /** The body, unless its end was received with the head. */
  readonly incoming: IncomingBody<S> | undefined;
  protected readonly owner: Owner;
  /** True if the response has been passed to the connection, or the exchange has failed. */
  protected isOver = false;
  protected outgoing: OutgoingBody | undefined;
  /** The number of bytes of a whole body that are taken from the memory budget. */
  #taken = 0;
  #controller: AbortController | undefined;

  /** `expects`: the client waits for 100 (Continue). */
  constructor(
    owner: Owner,
    stream: S,
    head: { readonly method: string; readonly path: string; readonly fields: readonly string[] },
    early: readonly Uint8Array[],
    expects: boolean,
  ) {
    this.owner = owner;
    this.stream = stream;
    this.method = head.method;
    this.path = head.path;
    this.headers = Metadata.fromShared(head.fields);
    if (stream.ended) {
      this.incoming = undefined;
      this.body = early.length === 0 ? emptyBody : wholeBody(joined(stream, early));
    } else {
      this.incoming = new IncomingBody(stream, early, owner.collecting, discardRest, owner.memory);
      this.body = expects ? onRead(this.incoming, () => this.inform()) : this.incoming;
    }
  }

  get peer(): PeerConnection {
    return this.owner.peer;
  }

  get draining(): AbortSignal {
    return this.owner.draining;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      const { aborted } = this.owner;
      if (aborted !== undefined) this.#controller.abort(aborted);
      else if (this.isGone) this.#controller.abort(clientGone());
    }
    return this.#controller.signal;
  }

  get isAborted(): boolean {
    return this.#controller?.signal.aborted ?? (this.owner.aborted !== undefined || this.isGone);
  }

  /** True if the client has cancelled the call. */
  protected get isGone(): boolean {
    return this.stream.closed && !this.isOver;
  }

  /** Sends 100 (Continue), unless the response has begun. */
  protected abstract inform(): void;

  /** Sends a response. */
  abstract answer(response: HttpResponse): void;

  /** Takes the memory of a whole body from the budget. Returns false if it does not fit. */
  takeMemory(): boolean {
    const bytes = this.body.whole?.length ?? 0;
    if (bytes <= UNCOUNTED_BYTES) return true;
    if (!this.owner.memory.take(bytes)) return false;
    this.#taken = bytes;
    return true;
  }

  /** Releases the memory of the request. */
  protected release(): void {
    this.incoming?.release();
    if (this.#taken === 0) return;
    this.owner.memory.release(this.#taken);
    this.#taken = 0;
  }

  /** Aborts the call: fires its signal, and fails readers that wait for more of the request. */
  abort(reason: RpcError): void {
    this.abortSignal(reason);
    if (!this.isOver) this.incoming?.stop(reason);
  }

  /** Fires the signal of the call. Default reason: the client is gone, an error that most requests never create. */
  abortSignal(reason?: RpcError): void {
    if (!this.isOver) this.#controller?.abort(reason ?? clientGone());
  }

  mayWait(): boolean {
    return this.owner.hold();
  }

  onData(bytes: Uint8Array): void {
    this.incoming?.push(bytes);
  }

  onDrain(): void {
    this.outgoing?.onDrain();
  }
}

/** Drops the rest of a request whose handler has stopped reading, while the handler runs. */
const discardRest = (stream: RequestStream): void => stream.discard(Number.POSITIVE_INFINITY);

/** Joins the chunks of a body that was received with its head, and gives the client the same flow-control credit again. */
function joined(stream: RequestStream, chunks: readonly Uint8Array[]): Uint8Array {
  let length = 0;
  for (const chunk of chunks) length += chunk.length;
  stream.consumed(length);
  return concat(chunks, length);
}

/**
 * Creates the response to a request that an engine refuses before or after a protocol handles it. The body is the error body
 * of sub-protocol A. gRPC clients use the HTTP status if there is no `grpc-status`.
 */
export function errorResponse(httpStatus: number, error: RpcError): HttpResponse {
  const { status = Status.ServiceError, rawMessage, code } = error;
  const body = errorBody(status, rawMessage, code);
  return {
    status: httpStatus,
    headers: new Metadata({ "content-type": "application/json" }).freeze(),
    body: wholeBody(Buffer.from(JSON.stringify(body))),
    trailers: new Metadata().freeze(),
  };
}

/** The response that replaces one that exceeds the memory budget. gRPC maps 503 to unavailable. */
export const OUT_OF_MEMORY: HttpResponse = errorResponse(503, outOfMemory());
