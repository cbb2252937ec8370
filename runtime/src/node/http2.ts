/**
 * The HTTP/2 engine, on `node:http2`: moves exchanges over sessions, as a server and as a client. Calls and messages are
 * unknown here.
 */
import {
  type ClientHttp2Stream,
  constants,
  createServer,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { Duplex } from "node:stream";
import { Code } from "../code.ts";
import { onAbort } from "../deadline.ts";
import { abortError, RpcError } from "../error.ts";
import { type Body, type Exchange, emptyBody, type HttpRequest, type HttpResponse } from "../exchange.ts";
import { Metadata } from "../metadata.ts";
import { discard, pump, ReadableBody } from "./body.ts";
import { connectionError, resetError } from "./error.ts";
import type { SessionPool } from "./session.ts";
import { ExchangeSignals, REQUEST_BODY } from "./signal.ts";

/** Streams a peer may have open on one connection at a time. */
const MAX_CONCURRENT_STREAMS = 100;
/** Bytes a peer may send ahead of what is read: on one stream, and on one connection. */
const STREAM_WINDOW_BYTES = 256 * 1024;
const CONNECTION_WINDOW_BYTES = 4 * 1024 * 1024;
/** Megabytes a session may hold before `node:http2` refuses new streams; its default of 10 is two large messages. */
const MAX_SESSION_MEMORY_MB = 64;

/** What serves the connections of a port that speak one version of HTTP. */
export interface ServerEngine {
  /** Takes over a connection. */
  accept(socket: Duplex): void;
  /** Lets running exchanges finish, and starts no new ones. */
  drain(): void;
  /** Tells the running exchanges that the server goes away. */
  abort(reason: RpcError): void;
}

/** Serves HTTP/2 connections. */
export function serveHttp2(exchange: Exchange): ServerEngine {
  const sessions = new Set<ServerHttp2Session>();
  const signals = new ExchangeSignals();
  const server = createServer({
    maxSessionMemory: MAX_SESSION_MEMORY_MB,
    settings: { maxConcurrentStreams: MAX_CONCURRENT_STREAMS, initialWindowSize: STREAM_WINDOW_BYTES },
  });
  server.on("session", (session) => {
    sessions.add(session);
    session.on("close", () => sessions.delete(session));
    // An error ends the session and all its streams; each exchange learns of it from its own stream.
    session.on("error", () => {});
    session.once("remoteSettings", () => {
      if (!session.destroyed) session.setLocalWindowSize(CONNECTION_WINDOW_BYTES);
    });
  });
  server.on("sessionError", () => {});
  server.on("stream", (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, _flags: number, raw: string[]) => {
    // A stream may fail at any time, also between two exchanges; without a listener that would end the process.
    stream.on("error", ignore);
    exchange(new Http2Request(stream, headers[":method"] ?? "", headers[":path"] ?? "", raw, signals))
      .then((response) => respond(stream, response))
      // Such as a header that Node will not send: the call has failed, the session has not.
      .catch(() => stream.close(constants.NGHTTP2_INTERNAL_ERROR));
  });
  return {
    accept: (socket) => server.emit("connection", socket),
    drain: () => {
      for (const session of sessions) session.close();
    },
    abort: (reason) => signals.abort(reason),
  };
}

/** For errors that another event tells of too; without a listener they would end the process. */
const ignore = (): void => {};

/** A request as `node:http2` hands it out. */
export class Http2Request implements HttpRequest {
  readonly method: string;
  readonly path: string;
  readonly version = "2";
  readonly headers: Metadata;
  readonly body: Body;
  readonly #stream: ServerHttp2Stream;
  readonly #signals: ExchangeSignals;
  #signal: AbortSignal | undefined;

  constructor(stream: ServerHttp2Stream, method: string, path: string, raw: string[], signals: ExchangeSignals) {
    this.method = method;
    this.path = path;
    this.headers = withoutPseudoHeaders(raw);
    this.body = new ReadableBody(stream, REQUEST_BODY);
    this.#stream = stream;
    this.#signals = signals;
  }

  get signal(): AbortSignal {
    this.#signal ??= this.#signals.create(this.#stream);
    return this.#signal;
  }
}

function respond(stream: ServerHttp2Stream, { status, headers: metadata, body, trailers }: HttpResponse): void {
  if (stream.destroyed || stream.closed) {
    discard(body);
    return;
  }
  const { whole } = body;
  const headers = toHttp2Headers(metadata);
  headers[":status"] = status;
  if (whole?.byteLength === 0 && trailers.size === 0) {
    stream.respond(headers, { endStream: true });
  } else if (whole !== undefined && trailers.size === 0) {
    stream.respond(headers);
    stream.end(whole);
  } else {
    stream.respond(headers, WAIT_FOR_TRAILERS);
    stream.on("wantTrailers", () => {
      stream.sendTrailers(toHttp2Headers(trailers));
      setImmediate(closeUnread, stream);
    });
    if (whole === undefined) pump(body, stream).catch(() => stream.close(constants.NGHTTP2_INTERNAL_ERROR));
    else stream.end(whole);
    return;
  }
  // Not for a response with trailers: its "finish" comes before they have been sent.
  stream.on("finish", () => setImmediate(closeUnread, stream));
}

/**
 * The rest of a request that is answered already is of no use to anybody. Called a turn after the answer was handed
 * over: a reset in the same turn would overtake it.
 */
export function closeUnread(stream: ServerHttp2Stream): void {
  if (!stream.readableEnded) stream.close(constants.NGHTTP2_NO_ERROR);
}

const WAIT_FOR_TRAILERS = { waitForTrailers: true };

/** Makes HTTP/2 exchanges over the sessions of a pool. */
export function connectHttp2(pool: SessionPool): Exchange {
  const { scheme, authority } = pool;
  return async (request) => {
    const { signal, body } = request;
    if (signal?.aborted) throw abortError(signal);
    const session = await pool.acquire(signal);
    const headers = toHttp2Headers(request.headers);
    headers[":method"] = request.method;
    headers[":path"] = request.path;
    headers[":scheme"] = scheme;
    headers[":authority"] = authority;
    // Node ends a stream before it resets it, and the server would take what it has for the whole request. It does not
    // when a signal resets the stream.
    const abort = body.whole === undefined ? new AbortController() : undefined;
    let stream: ClientHttp2Stream;
    try {
      stream = session.request(
        headers,
        abort === undefined ? { endStream: body === emptyBody } : { signal: abort.signal },
      );
    } catch (cause) {
      pool.release(session);
      throw connectionError(cause, authority);
    }
    const response = receive(stream, signal, {
      release: () => pool.release(session),
      cancel: () => (abort === undefined ? stream.close(constants.NGHTTP2_CANCEL) : abort.abort()),
      // A stream that goes down with its connection looks like one that was reset, but nobody has judged the call.
      lost: (cause) =>
        session.destroyed ? connectionError(cause ?? CLOSED_BY_PEER, authority) : resetError(stream.rstCode),
    });
    if (body.whole !== undefined) stream.end(body.whole);
    else pump(body, stream).catch((reason) => stream.destroy(RpcError.from(reason, Code.Internal)));
    return response;
  };
}

const CLOSED_BY_PEER = new Error("the server closed the connection");

interface StreamEnd {
  readonly release: () => void;
  readonly cancel: () => void;
  /** Why the stream closed before it had ended; `cause` is what Node said about it, if anything. */
  readonly lost: (cause: Error | undefined) => RpcError;
}

function receive(stream: ClientHttp2Stream, signal: AbortSignal | undefined, end: StreamEnd): Promise<HttpResponse> {
  return new Promise((resolve, reject) => {
    let failure: RpcError | undefined;
    let cause: Error | undefined;
    let responded = false;
    const trailers = new Metadata();
    const lost = (): RpcError => failure ?? end.lost(cause);
    const unlink =
      signal &&
      onAbort(signal, (error) => {
        failure ??= error;
        end.cancel();
        reject(error);
      });
    stream.on("error", (error) => {
      if (error instanceof RpcError) failure ??= error;
      else cause ??= error;
    });
    stream.on("trailers", (_headers: IncomingHttpHeaders, _flags: number, raw: string[]) => {
      trailers.appendRaw(raw);
    });
    stream.on("response", (headers: IncomingHttpHeaders, _flags: number, raw: string[]) => {
      responded = true;
      resolve({
        status: Number(headers[":status"]),
        headers: withoutPseudoHeaders(raw),
        body: new ReadableBody(stream, { lost, cancel: end.cancel }),
        trailers,
      });
    });
    stream.on("close", () => {
      end.release();
      unlink?.();
      if (!responded) reject(lost());
    });
  });
}

/** The fields of a received header block; the pseudo-headers come first in it. */
function withoutPseudoHeaders(raw: string[]): Metadata {
  let start = 0;
  while (raw[start]?.startsWith(":")) start += 2;
  return Metadata.fromRaw(start === 0 ? raw : raw.slice(start));
}

/** The forms of metadata that many responses share. Node copies what it is given, so they can be used again. */
const sharedHeaders = new WeakMap<Metadata, OutgoingHttpHeaders>();

/** Metadata as an object of Node's: a list of values where a name repeats. */
export function toHttp2Headers(metadata: Metadata): OutgoingHttpHeaders {
  if (!metadata.frozen) return convertHeaders(metadata);
  let headers = sharedHeaders.get(metadata);
  if (headers === undefined) {
    headers = convertHeaders(metadata);
    sharedHeaders.set(metadata, headers);
  }
  return headers;
}

function convertHeaders(metadata: Metadata): OutgoingHttpHeaders {
  // A plain literal: an object without a prototype would be several times slower to copy, which Node does. The one name
  // that means something else on it cannot be set on metadata.
  const headers: OutgoingHttpHeaders = {};
  const fields = metadata.raw;
  for (let i = 0; i < fields.length; i += 2) {
    const name = fields[i] as string;
    const value = fields[i + 1] as string;
    const existing = headers[name];
    if (existing === undefined) headers[name] = value;
    else if (Array.isArray(existing)) existing.push(value);
    else if (name !== "__proto__") headers[name] = [String(existing), value];
  }
  return headers;
}
