/**
 * The server's HTTP/2 engine, on sockets: every stream is an exchange. Calls and messages are unknown here.
 */
import { AsyncResource } from "node:async_hooks";
import type { Socket } from "node:net";
import type { RpcError } from "../../call/error.ts";
import { Metadata } from "../../call/metadata.ts";
import { startTimer } from "../../call/timer.ts";
import { type Body, concat, emptyBody, wholeBody } from "../../http/body.ts";
import { clientGone, type Exchange, type HttpRequest, type HttpResponse } from "../../http/exchange.ts";
import { ErrorCode } from "../../http2/codes.ts";
import type { ConnectionEvent, ServerHandler } from "../../http2/events.ts";
import type { HeaderBlock } from "../../http2/messages.ts";
import { ServerConnection } from "../../http2/server.ts";
import type { StreamSink } from "../../http2/sink.ts";
import type { Stream } from "../../http2/stream.ts";
import { isSameHost } from "../io/headers.ts";
import { Collecting, IncomingBody, OutgoingBody } from "../io/http2-body.ts";
import { Http2Socket, nodeLatin1, type SocketOwner } from "../io/http2-socket.ts";
import { discard } from "../io/pump.ts";
import { type Indexed, SwapList } from "../io/swap-list.ts";
import type { ServerEngine } from "./engine.ts";
import { type Limits, sweepIntervalMs } from "./guard.ts";
import { ConnectionGuard, type WatchedRequest } from "./http2-guard.ts";

/** How long a client may take to hear that the server goes away, before it is told which calls were accepted. */
const LEAVE_MS = 1_000;

/** What all connections of a server share. */
interface Service {
  readonly exchange: Exchange;
  readonly limits: Limits;
  /** Why requests are aborted, once they are. */
  aborted: RpcError | undefined;
}

/** Serves HTTP/2 connections. */
export function serveOwnHttp2(exchange: Exchange, limits: Limits): ServerEngine {
  const service: Service = { exchange, limits, aborted: undefined };
  const connections = new SwapList<ServedConnection>();
  let sweeping: NodeJS.Timeout | undefined;

  function sweep(): void {
    const now = performance.now();
    for (const { guard } of connections) guard.sweep(now);
  }

  function onClosed(connection: ServedConnection): void {
    connections.delete(connection);
    if (connections.size > 0) return;
    clearInterval(sweeping);
    sweeping = undefined;
  }

  return {
    accept(socket) {
      connections.add(new ServedConnection(service, socket, onClosed));
      sweeping ??= setInterval(sweep, sweepIntervalMs(limits)).unref();
    },
    drain() {
      for (const connection of connections) connection.leave();
    },
    abort(reason) {
      service.aborted = reason;
      for (const connection of connections) connection.abort(reason);
    },
  };
}

/** One connection of a client. */
class ServedConnection implements ServerHandler, SocketOwner, Indexed {
  index = 0;
  readonly guard: ConnectionGuard;
  readonly service: Service;
  readonly connection: ServerConnection;
  readonly collecting: Collecting = new Collecting();
  readonly requests: SwapList<ServedRequest> = new SwapList();
  readonly #socket: Http2Socket;
  readonly #onClosed: (connection: ServedConnection) => void;
  #stopTimer: (() => void) | undefined;
  #isGone = false;

  constructor(service: Service, socket: Socket, onClosed: (connection: ServedConnection) => void) {
    const { limits } = service;
    this.service = service;
    this.#onClosed = onClosed;
    // Clients may end their side when they have said everything, and want the answers nevertheless.
    socket.allowHalfOpen = true;
    this.#socket = new Http2Socket(socket);
    this.connection = new ServerConnection(this, {
      output: this.#socket,
      latin1: nodeLatin1,
      limits: {
        maxStreams: limits.maxStreams,
        maxHandlers: limits.maxHandlers,
        resetBurst: limits.cancelBurst,
        resetsPerSecond: limits.cancelsPerSecond,
      },
    });
    this.guard = new ConnectionGuard(this.connection, socket, this.requests, limits, () => this.leave());
    this.#socket.attach(this.connection, this);
  }

  onRequest(stream: Stream, block: HeaderBlock, early: readonly Uint8Array[]): StreamSink {
    const request = new ServedRequest(this, stream, block, early);
    this.requests.add(request);
    // A handler that changes the context of its own must not change that of the next request in the chunk.
    new AsyncResource("TRIPLE_REQUEST", MANUAL).runInAsyncScope(serve, undefined, request, block);
    return request;
  }

  onEvent(event: ConnectionEvent): void {
    if (event.type === "over") this.#socket.end();
    else if (event.type === "pong" && event.kind === "shutdown") this.#finishLeaving();
    else if (event.type === "idle" && (this.#isGone || this.connection.state === "leaving")) this.#endIfIdle();
  }

  /** Lets open calls finish, and those that are on their way, and takes no others (RFC 9113, section 6.8). */
  leave(): void {
    if (this.connection.state !== "open") return;
    this.connection.goAway(ErrorCode.NoError, false);
    this.connection.ping("shutdown");
    this.#stopTimer = startTimer(LEAVE_MS, () => this.#finishLeaving());
  }

  #finishLeaving(): void {
    this.#stopTimer?.();
    this.#stopTimer = undefined;
    if (this.connection.isOver || this.#isGone) return;
    this.#isGone = true;
    this.connection.goAway(ErrorCode.NoError, true);
    this.#endIfIdle();
  }

  /** The client has gone away itself, or has heard that it should: nothing more will come. */
  #endIfIdle(): void {
    if (this.#stopTimer === undefined && this.connection.streams === 0) this.#socket.end();
  }

  abort(reason: RpcError): void {
    for (const request of this.requests) request.abort(reason);
  }

  onPeerEnd(): void {
    for (const request of this.requests) request.abortSignal(clientGone());
  }

  onClose(): void {
    this.#stopTimer?.();
    this.#onClosed(this);
  }
}

const MANUAL = { requireManualDestroy: true };

function serve(request: ServedRequest, block: HeaderBlock): void {
  if (isSameHost(block)) request.serve();
  else request.answer(TWO_HOSTS);
}

/** The answer to a request that names two hosts: in words, for nobody has looked yet at what the client speaks. */
const TWO_HOSTS: HttpResponse = {
  status: 400,
  headers: new Metadata({ "content-type": "text/plain" }).freeze(),
  body: wholeBody(Buffer.from("host and :authority are not the same")),
  trailers: new Metadata().freeze(),
};

const NO_HEADERS: Metadata = new Metadata().freeze();

/** A request, from its header block until its stream is closed. */
class ServedRequest implements HttpRequest, StreamSink, WatchedRequest {
  readonly method: string;
  readonly path: string;
  readonly version = "2";
  readonly authority: string | undefined;
  readonly headers: Metadata;
  readonly body: Body;
  index = 0;
  hasResponded = false;
  readonly stream: Stream;
  /** The body, where it has not come as a whole. */
  readonly incoming: IncomingBody | undefined;
  readonly #connection: ServedConnection;
  #controller: AbortController | undefined;
  /** The response has been handed over, or will never be. */
  #isOver = false;
  #outgoing: OutgoingBody | undefined;
  /** Settles when all work has ended that goes on after the response, if there is any. */
  #lingering: Promise<unknown> | undefined;

  constructor(connection: ServedConnection, stream: Stream, block: HeaderBlock, early: readonly Uint8Array[]) {
    this.#connection = connection;
    this.stream = stream;
    this.method = block.method;
    this.path = block.path;
    this.authority = block.authority === "" ? undefined : block.authority;
    this.headers = Metadata.fromShared(block.fields);
    if (stream.ended) {
      this.incoming = undefined;
      this.body = early.length === 0 ? emptyBody : wholeBody(joined(stream, early));
    } else {
      // What nobody reads goes on into nothing, until the response resets it.
      this.incoming = new IncomingBody(stream, early, connection.collecting, ignore);
      this.body = this.incoming;
      if (block.fields.includes("100-continue")) this.#continue();
    }
  }

  /** RFC 9110, section 10.1.1. */
  #continue(): void {
    if (this.headers.get("expect") === "100-continue") this.stream.sendInformational(100, NO_HEADERS);
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      const { aborted } = this.#connection.service;
      if (aborted !== undefined) this.#controller.abort(aborted);
      else if (this.stream.closed && !this.#isOver) this.#controller.abort(clientGone());
    }
    return this.#controller.signal;
  }

  waitUntil(work: Promise<unknown>): void {
    this.#lingering = Promise.allSettled([this.#lingering, work]);
  }

  serve(): void {
    this.#connection.service.exchange(this).then(
      (response) => this.answer(response),
      () => this.#fail(),
    );
  }

  /** Hands a response over. */
  answer({ status, headers, body, trailers }: HttpResponse): void {
    const { stream } = this;
    const { whole } = body;
    if (stream.closed) {
      this.#isOver = true;
      void discard(body).then(() => this.#finish());
      return;
    }
    try {
      if (whole === undefined) {
        stream.respond(status, headers, undefined, undefined, false);
        this.#outgoing = new OutgoingBody(body, stream);
        void this.#pump(this.#outgoing, trailers);
        return;
      }
      this.#isOver = true;
      this.hasResponded = true;
      stream.respond(status, headers, whole, trailers.size > 0 ? trailers : undefined, true);
      this.#finish();
    } catch {
      // Such as a field that cannot be sent.
      this.#fail();
    }
  }

  async #pump(outgoing: OutgoingBody, trailers: Metadata): Promise<void> {
    try {
      const isThere = await outgoing.send();
      this.#outgoing = undefined;
      this.#isOver = true;
      this.hasResponded = true;
      if (isThere && trailers.size > 0) this.stream.sendTrailers(trailers);
      else if (isThere) this.stream.sendData(NO_BYTES, true);
      this.#finish();
    } catch {
      this.#fail();
    }
  }

  /** Ends a call without an answer, or in the middle of it. The connection goes on. */
  #fail(): void {
    this.#isOver = true;
    this.stream.reset(ErrorCode.InternalError);
    this.#finish();
  }

  /** Makes room for another handler, once all work of this one has ended. */
  #finish(): void {
    const { connection } = this.#connection;
    if (this.#lingering === undefined) connection.finished();
    else void this.#lingering.then(() => connection.finished());
  }

  /** Tells the call that the server goes away: its signal, and whoever waits for more of the request. */
  abort(reason: RpcError): void {
    this.abortSignal(reason);
    if (!this.#isOver) this.incoming?.abandon(reason);
  }

  abortSignal(reason: RpcError): void {
    if (!this.#isOver) this.#controller?.abort(reason);
  }

  onInformational(): void {}

  onResponse(): void {}

  onData(bytes: Uint8Array): void {
    this.incoming?.push(bytes);
  }

  onEnd(): void {
    this.incoming?.end();
  }

  onReset(): void {
    this.abortSignal(clientGone());
  }

  onDrain(): void {
    this.#outgoing?.onDrain();
  }

  onClosed(): void {
    this.#connection.requests.delete(this);
    this.incoming?.fail(clientGone());
    this.#outgoing?.onClosed();
  }
}

const NO_BYTES = new Uint8Array(0);
const ignore = (): void => {};

/** The chunks of a body that has come in one go. Read already, as far as the client's window is concerned. */
function joined(stream: Stream, chunks: readonly Uint8Array[]): Uint8Array {
  let length = 0;
  for (const { byteLength } of chunks) length += byteLength;
  stream.consumed(length);
  return concat(chunks, length);
}
