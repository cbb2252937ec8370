/**
 * The server's HTTP/2 engine, on `node:http2`: every stream is an exchange. Calls and messages are unknown here.
 */
import {
  constants,
  createServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { Duplex } from "node:stream";
import type { RpcError } from "../error.ts";
import type { Body, Exchange, HttpRequest, HttpResponse } from "../exchange.ts";
import type { Metadata } from "../metadata.ts";
import { discard, pump, ReadableBody } from "./body.ts";
import { readFields, toHttp2Headers } from "./headers.ts";
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
    exchange(new ServerRequest(stream, headers, raw, signals))
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

class ServerRequest implements HttpRequest {
  readonly method: string;
  readonly path: string;
  readonly version = "2";
  readonly headers: Metadata;
  readonly body: Body;
  readonly #stream: ServerHttp2Stream;
  readonly #signals: ExchangeSignals;
  #signal: AbortSignal | undefined;

  constructor(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, raw: string[], signals: ExchangeSignals) {
    this.method = headers[":method"] ?? "";
    this.path = headers[":path"] ?? "";
    this.headers = readFields(raw);
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
function closeUnread(stream: ServerHttp2Stream): void {
  if (!stream.readableEnded) stream.close(constants.NGHTTP2_NO_ERROR);
}

const WAIT_FOR_TRAILERS = { waitForTrailers: true };
