/**
 * The server's HTTP/2 engine, on `node:http2`: every stream is an exchange. Calls and messages are unknown here.
 */
import {
  constants,
  createServer,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
  type ServerOptions,
} from "node:http2";
import type { Socket } from "node:net";
import { Status } from "../../call/code.ts";
import { RpcError } from "../../call/error.ts";
import type { Metadata } from "../../call/metadata.ts";
import { clientGone, type Exchange, type HttpRequest, type HttpResponse } from "../../http/exchange.ts";
import { ReadableBody, type ReadableBodyOptions, type StreamOwner } from "../io/body.ts";
import { discardRest } from "../io/discard.ts";
import { authorityConflictsWithHost, readFields, toHttp2Headers } from "../io/headers.ts";
import { CONNECTION_WINDOW_BYTES, MAX_HTTP2_FIELDS, STREAM_WINDOW_BYTES } from "../io/http2-limits.ts";
import type { MemoryBudget, MemoryShare } from "../io/memory-budget.ts";
import { discard, pump } from "../io/pump.ts";
import { errorResponse, OUT_OF_MEMORY, type ServerEngine } from "./engine.ts";
import { SessionGuard, type Watched } from "./guard.ts";
import { type Limits, sweepIntervalMs } from "./limits.ts";
import { ExchangeSignals } from "./signals.ts";

/** Megabytes a session may hold before `node:http2` refuses new streams; its default of 10 is two large messages. */
const MAX_SESSION_MEMORY_MB = 64;

/** Reading of a request. Before its response, a stream closes only by a reset, whatever its code. */
const REQUEST_BODY: ReadableBodyOptions = {
  lost: clientGone,
  cancel: () => {},
  cutOff: (stream) => (stream as ServerHttp2Stream).closed,
};

/** Serves HTTP/2 connections. */
export function serveHttp2(exchange: Exchange, limits: Limits, budget: MemoryBudget): ServerEngine {
  const guards = new Map<ServerHttp2Session, SessionGuard>();
  const signals = new ExchangeSignals();
  const server = createServer({
    maxSessionMemory: MAX_SESSION_MEMORY_MB,
    // Node would reset the stream; below this the protocols count.
    maxHeaderListPairs: MAX_HTTP2_FIELDS,
    settings: { maxConcurrentStreams: limits.maxStreams, initialWindowSize: STREAM_WINDOW_BYTES },
    // Node counts resets too, and closes the connection: at twice the limits of the guard, which are met before. Node 20
    // does not know the options, and has 1,000 and 33.
    streamResetBurst: 2 * limits.cancelBurst,
    streamResetRate: 2 * limits.cancelsPerSecond,
  } as ServerOptions);
  let sweeping: NodeJS.Timeout | undefined;

  function serve(guard: SessionGuard, stream: ServerHttp2Stream, headers: IncomingHttpHeaders, raw: string[]): void {
    // A stream may fail at any time, also between two exchanges; without a listener that would end the process.
    stream.on("error", ignore);
    if (!guard.admit(stream)) return;
    const request = new Http2Request(stream, headers, headers[":path"] ?? "", raw, signals, guard);
    guard.watch(request);
    if (authorityConflictsWithHost(headers)) {
      answer(guard, request, TWO_HOSTS);
      return;
    }
    if (headers.expect === "100-continue") stream.additionalHeaders({ ":status": 100 });
    exchange(request).then(
      (response) => answer(guard, request, response),
      () => fail(guard, request),
    );
  }

  function answer(guard: SessionGuard, request: Http2Request, response: HttpResponse): void {
    let pumping: undefined | Promise<void>;
    try {
      pumping = respond(request, response);
    } catch {
      // Such as a header that Node will not send.
      fail(guard, request);
      return;
    }
    if (pumping === undefined) finish(guard, request);
    else {
      pumping.then(
        () => finish(guard, request),
        (reason) => fail(guard, request, reason),
      );
    }
  }

  /** Resets the stream of a call that has no response, or not all of it. The session goes on. */
  function fail(guard: SessionGuard, request: Http2Request, reason?: unknown): void {
    const refused = reason instanceof RpcError;
    request.stream.close(refused ? constants.NGHTTP2_ENHANCE_YOUR_CALM : constants.NGHTTP2_INTERNAL_ERROR);
    finish(guard, request);
  }

  /** Lets another handler run, once all work of this one has ended. */
  function finish(guard: SessionGuard, { lingering, body }: Http2Request): void {
    body.release();
    if (lingering === undefined) guard.finished();
    else void lingering.then(() => guard.finished());
  }

  function sweep(): void {
    const now = performance.now();
    for (const guard of guards.values()) guard.sweep(now);
  }

  function watchOver(session: ServerHttp2Session, socket: Socket): void {
    const guard = new SessionGuard(session, socket, limits, budget);
    guards.set(session, guard);
    // The session's event and not the server's: a stream that has been reset already does not know its session. Node's own
    // listener would cost every stream a little.
    session.removeAllListeners("stream");
    session.on("stream", (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, _flags: number, raw: string[]) =>
      serve(guard, stream, headers, raw),
    );
    sweeping ??= setInterval(sweep, sweepIntervalMs(limits)).unref();
    // Not the session's own "close", which does not always come.
    socket.on("close", () => {
      guard.memory.close();
      guards.delete(session);
      if (guards.size > 0) return;
      clearInterval(sweeping);
      sweeping = undefined;
    });
    // An error ends the session and all its streams; each exchange learns of it from its own stream.
    session.on("error", ignore);
    session.once("remoteSettings", () => {
      if (!session.destroyed) session.setLocalWindowSize(CONNECTION_WINDOW_BYTES);
    });
  }

  server.on("sessionError", ignore);
  return {
    accept: (socket) => {
      const onSession = (session: ServerHttp2Session): void => watchOver(session, socket);
      // Node makes the session before it returns, or none at all: no session is without its guard.
      server.once("session", onSession);
      server.emit("connection", socket);
      server.off("session", onSession);
    },
    drain: () => {
      for (const session of guards.keys()) session.close();
    },
    abort: (reason) => {
      signals.abort(reason);
      for (const guard of guards.values()) guard.abandon(reason);
    },
  };
}

/** For errors that another event reports too; without a listener they would end the process. */
const ignore = (): void => {};

/** The response to a request with an {@link authorityConflictsWithHost}. */
const TWO_HOSTS: HttpResponse = errorResponse(400, Status.BadRequest, "host and :authority must be the same");

/** A request as `node:http2` hands it out. */
export class Http2Request implements HttpRequest, StreamOwner, Watched {
  readonly method: string;
  readonly path: string;
  readonly version = "2";
  readonly authority: string | undefined;
  readonly headers: Metadata;
  readonly body: ReadableBody;
  readonly stream: ServerHttp2Stream;
  index = 0;
  readonly #guard: SessionGuard | undefined;
  readonly #signals: ExchangeSignals;
  #signal: AbortSignal | undefined;
  /** Settles when the work that goes on after the response has ended, if there is any. */
  lingering: Promise<unknown> | undefined;
  /** Bytes of the response that count towards the memory budget until the stream closes. */
  #unsent = 0;

  constructor(
    stream: ServerHttp2Stream,
    { ":method": method = "", ":authority": authority }: IncomingHttpHeaders,
    path: string,
    raw: string[],
    signals: ExchangeSignals,
    guard?: SessionGuard,
  ) {
    this.method = method;
    this.path = path;
    this.authority = authority;
    this.headers = readFields(raw);
    this.body = new ReadableBody(stream, REQUEST_BODY, this, guard?.memory);
    this.stream = stream;
    this.#signals = signals;
    this.#guard = guard;
  }

  onClosed(): void {
    if (this.#unsent > 0) this.#guard?.memory.release(this.#unsent);
    this.#unsent = 0;
    this.#guard?.closed(this);
  }

  /** Takes memory for a response until the client has taken it. Returns false if the budget is used up. */
  holdResponse(bytes: number): boolean {
    if (this.#guard?.memory.take(bytes) === false) return false;
    this.#unsent = bytes;
    return true;
  }

  get memory(): MemoryShare | undefined {
    return this.#guard?.memory;
  }

  get signal(): AbortSignal {
    this.#signal ??= this.#signals.create(this.stream);
    return this.#signal;
  }

  waitUntil(work: Promise<unknown>): void {
    this.lingering = Promise.allSettled([this.lingering, work]);
  }
}

/** Sends a response. A promise settles when a body that is not whole has ended. */
function respond(request: Http2Request, response: HttpResponse): undefined | Promise<void> {
  const { stream } = request;
  if (stream.destroyed || stream.closed) return discard(response.body);
  const { whole } = response.body;
  if (whole === undefined) return respondInChunks(request, response);
  request.body.release();
  if (!request.holdResponse(whole.byteLength)) return respond(request, OUT_OF_MEMORY);
  const { status, headers: metadata, trailers } = response;
  const headers = toHttp2Headers(metadata);
  headers[":status"] = status;
  if (trailers.size > 0) {
    stream.respond(headers, WAIT_FOR_TRAILERS);
    (stream as WithTrailers)[TRAILERS] = trailers;
    stream.on("wantTrailers", sendTrailers);
    stream.end(whole);
    return undefined;
  }
  if (whole.byteLength === 0) stream.respond(headers, { endStream: true });
  else if (!request.body.ended) {
    respondEarly(stream, headers, whole);
    return undefined;
  } else {
    stream.respond(headers);
    stream.end(whole);
  }
  // Where there are trailers, sendTrailers does the same: "finish" comes before they have been sent.
  stream.on("finish", () => setImmediate(closeUnread, stream));
  return undefined;
}

/**
 * Sends a response before the request has ended. The end of the response waits for that of the request, within bounds. Clients
 * that stop sending when they have the response know by content-length when that is.
 */
function respondEarly(stream: ServerHttp2Stream, headers: OutgoingHttpHeaders, whole: Uint8Array): void {
  stream.respond({ ...headers, "content-length": whole.byteLength });
  stream.write(whole);
  discardRest(stream, () => {
    stream.on("finish", () => setImmediate(resetUnread, stream));
    stream.end();
  });
}

function respondInChunks(
  { stream, memory }: Http2Request,
  { status, headers: metadata, body, trailers }: HttpResponse,
): Promise<void> {
  const headers = toHttp2Headers(metadata);
  headers[":status"] = status;
  stream.respond(headers, WAIT_FOR_TRAILERS);
  (stream as WithTrailers)[TRAILERS] = trailers;
  stream.on("wantTrailers", sendTrailers);
  return pump(body, stream, memory);
}

/** The property of a stream that holds its trailers. All streams share one listener, which finds them by it. */
const TRAILERS = Symbol("trailers");
type WithTrailers = ServerHttp2Stream & { [TRAILERS]?: Metadata };

function sendTrailers(this: WithTrailers): void {
  try {
    this.sendTrailers(toHttp2Headers(this[TRAILERS] as Metadata));
    if (!this.readableEnded) setImmediate(closeUnread, this);
  } catch {
    // A field that Node will not send.
    this.close(constants.NGHTTP2_INTERNAL_ERROR);
  }
}

/**
 * Ends a request that has been answered before its end (RFC 9113, section 8.1): drops a bounded rest, then resets the stream.
 * Called a turn after the response was written: a reset in the same turn would overtake it.
 */
export function closeUnread(stream: ServerHttp2Stream): void {
  if (!stream.readableEnded) discardRest(stream, () => resetUnread(stream));
}

function resetUnread(stream: ServerHttp2Stream): void {
  if (!stream.readableEnded) stream.close(constants.NGHTTP2_NO_ERROR);
}

const WAIT_FOR_TRAILERS = { waitForTrailers: true };
