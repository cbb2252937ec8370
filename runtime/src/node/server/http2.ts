/**
 * The server's HTTP/2 engine, on `node:http2`: every stream is an exchange. Calls and messages are unknown here.
 */
import {
  constants,
  createServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
  type ServerOptions,
} from "node:http2";
import type { Socket } from "node:net";
import type { RpcError } from "../../call/error.ts";
import { Metadata } from "../../call/metadata.ts";
import { type Exchange, type HttpRequest, type HttpResponse, wholeBody } from "../../http/exchange.ts";
import { ReadableBody, type StreamOwner } from "../io/body.ts";
import { authorityConflictsWithHost, readFields, toHttp2Headers } from "../io/headers.ts";
import { CONNECTION_WINDOW_BYTES, MAX_HTTP2_FIELDS, STREAM_WINDOW_BYTES } from "../io/http2-limits.ts";
import { discard, pump } from "../io/pump.ts";
import { type Limits, SessionGuard, sweepIntervalMs, type Watched } from "./guard.ts";
import { ExchangeSignals, STREAM_REQUEST_BODY } from "./signals.ts";

/** Megabytes a session may hold before `node:http2` refuses new streams; its default of 10 is two large messages. */
const MAX_SESSION_MEMORY_MB = 64;

/** What serves the connections of a port that speak one version of HTTP. */
export interface ServerEngine {
  /** Takes over a connection. */
  accept(socket: Socket): void;
  /** Lets running exchanges finish, and starts no new ones. */
  drain(): void;
  /** Tells the running exchanges that the server goes away: those that listen, and those that wait for more of a request. */
  abort(reason: RpcError): void;
}

/** Serves HTTP/2 connections. */
export function serveHttp2(exchange: Exchange, limits: Limits): ServerEngine {
  const guards = new Map<ServerHttp2Session, SessionGuard>();
  const signals = new ExchangeSignals();
  const server = createServer({
    maxSessionMemory: MAX_SESSION_MEMORY_MB,
    // Node would reset the stream; below this the protocols count.
    maxHeaderListPairs: MAX_HTTP2_FIELDS,
    settings: { maxConcurrentStreams: limits.maxStreams, initialWindowSize: STREAM_WINDOW_BYTES },
    // Behind the guard, which counts the same and closes the connection too. Node 20 does not know these, and has 1,000
    // and 33.
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
      pumping = respond(request.stream, response);
    } catch {
      // Such as a header that Node will not send.
      fail(guard, request);
      return;
    }
    if (pumping === undefined) finish(guard, request);
    else {
      pumping.then(
        () => finish(guard, request),
        () => fail(guard, request),
      );
    }
  }

  /** Ends a call without an answer, or in the middle of it. The session goes on. */
  function fail(guard: SessionGuard, request: Http2Request): void {
    request.stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    finish(guard, request);
  }

  /** Makes room for another handler, once all work of this one has ended. */
  function finish(guard: SessionGuard, { lingering }: Http2Request): void {
    if (lingering === undefined) guard.finished();
    else void lingering.then(() => guard.finished());
  }

  function sweep(): void {
    const now = performance.now();
    for (const guard of guards.values()) guard.sweep(now);
  }

  function watchOver(session: ServerHttp2Session, socket: Socket): void {
    const guard = new SessionGuard(session, socket, limits);
    guards.set(session, guard);
    // The session's event and not the server's: a stream that has been reset already does not know its session. Node's own
    // listener, which makes the one into the other, would cost every stream a little.
    session.removeAllListeners("stream");
    session.on("stream", (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, _flags: number, raw: string[]) =>
      serve(guard, stream, headers, raw),
    );
    sweeping ??= setInterval(sweep, sweepIntervalMs(limits)).unref();
    // Not the session's own "close", which does not always come.
    socket.on("close", () => {
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

/** For errors that another event tells of too; without a listener they would end the process. */
const ignore = (): void => {};

/** The answer to a request that {@link authorityConflictsWithHost}: in words, for nobody has looked yet at what the client speaks. */
const TWO_HOSTS: HttpResponse = {
  status: 400,
  headers: new Metadata({ "content-type": "text/plain" }).freeze(),
  body: wholeBody(Buffer.from("host and :authority are not the same")),
  trailers: new Metadata().freeze(),
};

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
  /** Settles when all work has ended that goes on after the response, if there is any. */
  lingering: Promise<unknown> | undefined;

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
    this.body = new ReadableBody(stream, STREAM_REQUEST_BODY, this);
    this.stream = stream;
    this.#signals = signals;
    this.#guard = guard;
  }

  onClosed(): void {
    this.#guard?.closed(this);
  }

  get signal(): AbortSignal {
    this.#signal ??= this.#signals.create(this.stream);
    return this.#signal;
  }

  waitUntil(work: Promise<unknown>): void {
    this.lingering = Promise.allSettled([this.lingering, work]);
  }
}

/** Hands a response over. What is a promise settles when a body that comes in pieces has ended. */
function respond(
  stream: ServerHttp2Stream,
  { status, headers: metadata, body, trailers }: HttpResponse,
): undefined | Promise<void> {
  if (stream.destroyed || stream.closed) return discard(body);
  const { whole } = body;
  const headers = toHttp2Headers(metadata);
  headers[":status"] = status;
  if (whole === undefined || trailers.size > 0) {
    stream.respond(headers, WAIT_FOR_TRAILERS);
    (stream as WithTrailers)[TRAILERS] = trailers;
    stream.on("wantTrailers", sendTrailers);
    if (whole === undefined) return pump(body, stream);
    stream.end(whole);
    return undefined;
  }
  if (whole.byteLength === 0) stream.respond(headers, { endStream: true });
  else {
    stream.respond(headers);
    stream.end(whole);
  }
  // Where there are trailers, sendTrailers does the same: "finish" comes before they have been sent.
  stream.on("finish", () => setImmediate(closeUnread, stream));
  return undefined;
}

/** Where a stream has its trailers until they are sent: a listener that all streams share is less than one for each. */
const TRAILERS = Symbol("trailers");
type WithTrailers = ServerHttp2Stream & { [TRAILERS]?: Metadata };

function sendTrailers(this: WithTrailers): void {
  try {
    this.sendTrailers(toHttp2Headers(this[TRAILERS] as Metadata));
    if (!this.readableEnded) setImmediate(closeUnread, this);
  } catch {
    // A field that Node will not send. Nobody else hears of what is thrown here.
    this.close(constants.NGHTTP2_INTERNAL_ERROR);
  }
}

/**
 * The rest of a request that is answered already is of no use to anybody. Called a turn after the answer was handed
 * over: a reset in the same turn would overtake it.
 */
export function closeUnread(stream: ServerHttp2Stream): void {
  if (!stream.readableEnded) stream.close(constants.NGHTTP2_NO_ERROR);
}

const WAIT_FOR_TRAILERS = { waitForTrailers: true };
