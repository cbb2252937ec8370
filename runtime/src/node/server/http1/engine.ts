/**
 * The server's HTTP/1.1 engine, on `node:http`: every request is an exchange. The engine does not depend on calls or
 * messages.
 */

import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import { defer, now, repeat } from "../../../call/platform.ts";
import type { Body } from "../../../http/body.ts";
import type { HttpResponse } from "../../../http/exchange.ts";
import { MAX_JOINED_BYTES } from "../../io/body.ts";
import { ignore } from "../../io/error.ts";
import type { MemoryShare } from "../../io/memory-budget.ts";
import { discard, pump } from "../../io/pump.ts";
import type { Fallback } from "../fallback/fallback.ts";
import { ConnectionAge } from "../listener/connection-age.ts";
import { OUT_OF_MEMORY, type ServerEngine, type ServerEngineOptions } from "../listener/engine.ts";
import { sweepIntervalMs } from "../listener/limits.ts";
import { peerOf } from "../peer.ts";
import { ExchangeSignals } from "../signals.ts";
import { Http1Connection } from "./connection.ts";
import { errorResponseFor, NO_TUNNEL, sendErrorResponse, validateRequest } from "./errors.ts";
import { Http1Request } from "./request.ts";
import { parseTarget } from "./request-target.ts";

/** Largest rest of a request, in bytes, that is discarded after an early response to keep the connection. */
const MAX_DISCARDED_BYTES = 64 * 1024 * 1024;

/**
 * Size of the slices, in bytes, in which larger bodies are written. TLS copies the data that is written to it, so it then
 * holds a copy of one slice only.
 */
const TLS_SLICE_BYTES = 128 * 1024;

/**
 * Bytes beyond the header fields, whose size the protocols limit: the request line, and part of a field that exceeds the
 * limit.
 */
const HEADROOM_BYTES = 16 * 1024;

/** Creates the engine that serves HTTP/1.1 connections. The listener of `fallback` answers requests that are not calls. */
export function serveHttp1(
  { exchange, limits, budget, maxHeaderBytes, draining: drainSignal }: ServerEngineOptions,
  fallback?: Pick<Fallback, "isCall" | "listener">,
): ServerEngine {
  const { stallTimeoutMs, headersTimeoutMs, requestTimeoutMs, http1IdleTimeoutMs } = limits;
  const sweepMs = sweepIntervalMs(limits);
  const signals = new ExchangeSignals(drainSignal);
  const connections = new Set<Http1Connection>();
  /** Responses of the fallback that have not ended. */
  const passed = new Set<ServerResponse>();
  let stopSweeping: (() => void) | undefined;
  let draining = false;
  const server = createServer(
    {
      // Beyond this size `node:http` itself answers 431. Below it the protocols enforce the limit.
      maxHeaderSize: maxHeaderBytes + HEADROOM_BYTES,
      headersTimeout: headersTimeoutMs,
      requestTimeout: requestTimeoutMs,
      keepAliveTimeout: http1IdleTimeoutMs,
      connectionsCheckingInterval: Math.min(5_000, 5 * sweepMs),
      // Node would answer without a message, so `validateRequest` checks the Host field.
      requireHostHeader: false,
    },
    (incoming, outgoing) => receive(incoming, outgoing),
  );
  server.on("checkContinue", (incoming: IncomingMessage, outgoing: ServerResponse) => {
    receive(incoming, outgoing, () => {
      if (!outgoing.headersSent) outgoing.writeContinue();
    });
  });
  server.on("checkExpectation", (incoming, outgoing) => receive(incoming, outgoing));
  server.on("clientError", (error, socket) => Http1Connection.of(socket as Socket).fail(errorResponseFor(error)));
  server.on("connect", (_incoming, socket) => Http1Connection.of(socket as Socket).fail(NO_TUNNEL));
  // Node would silently drop fields beyond 2,000. `maxHeaderSize` bounds them, and the protocols count them.
  server.maxHeadersCount = 0;
  // Clients such as `nc -N` half-close the connection after the request, and still expect the response.
  Object.assign(server, { httpAllowHalfOpen: true });
  // This server does not listen on a port. Without the event it would not enforce the timeouts above.
  server.emit("listening");

  /** Receives a request. `begin`, if given, is called when its body is about to be read. */
  function receive(incoming: IncomingMessage, outgoing: ServerResponse, begin?: () => void): void {
    incoming.on("error", ignore);
    outgoing.on("error", ignore);
    const connection = Http1Connection.of(incoming.socket);
    const { path, authority } = parseTarget(incoming.url ?? "");
    const request = new Http1Request(incoming, outgoing, signals, path, connection.memory, begin);
    const malformed = connection.validateLine(incoming, request.headers);
    connection.schedule(outgoing, () => {
      const invalid = malformed ?? validateRequest(request.headers, incoming.httpVersion, authority);
      if (invalid !== undefined) {
        sendErrorResponse(outgoing, invalid);
        return;
      }
      if (authority !== undefined) {
        request.headers.set("host", authority);
        incoming.headers.host = authority;
      }
      if (fallback?.listener === undefined || fallback.isCall(request)) serve(connection, request);
      else {
        begin?.();
        passOn(connection, fallback.listener, incoming, outgoing);
      }
    });
  }

  function serve(connection: Http1Connection, request: Http1Request): void {
    connection.body = request.received;
    exchange(request)
      .then((response) => {
        connection.body = undefined;
        request.received.release();
        // This is checked here and not when the request arrived, because graceful shutdown may have begun since.
        if (draining || connection.age.isOld(now())) request.outgoing.shouldKeepAlive = false;
        else if (response.body.whole === undefined) request.outgoing.once("close", closeIfDraining);
        return respond(request, response, connection.memory);
      })
      // A header that Node refuses to send leads here: the call has failed, and the peer must not wait for it.
      .catch(() => request.outgoing.destroy());
  }

  /** Passes a request to the fallback. During graceful shutdown, its connection is closed after the response. */
  function passOn(
    connection: Http1Connection,
    listener: RequestListener,
    incoming: IncomingMessage,
    outgoing: ServerResponse,
  ): void {
    passed.add(outgoing);
    if (draining || connection.age.isOld(now())) outgoing.shouldKeepAlive = false;
    outgoing.once("close", () => {
      passed.delete(outgoing);
      closeIfDraining();
    });
    listener(incoming, outgoing);
  }

  /** Closes the connection of a response whose headers were sent before the shutdown began, and that has ended now. */
  function closeIfDraining(): void {
    if (draining) defer(closeIdle);
  }

  /**
   * Closes idle connections after pending output has been sent. Node treats a connection as idle as soon as its response has
   * been written, and would cut off data that has not been sent.
   */
  function closeIdle(): void {
    const sending = [...connections].filter(({ socket }) => socket.writableLength > 0);
    if (sending.length > 0) {
      void Promise.all(sending.map(({ socket }) => flushed(socket))).then(closeIdle);
      return;
    }
    server.close(() => {});
    server.closeIdleConnections();
  }

  function sweep(): void {
    const time = now();
    for (const connection of connections) connection.sweep(time, stallTimeoutMs);
  }

  return {
    accept(socket) {
      const connection = new Http1Connection(socket, budget, ConnectionAge.of(limits, now()));
      peerOf(socket, "h1");
      connections.add(connection);
      stopSweeping ??= repeat(sweepMs, sweep);
      socket.once("close", () => {
        connection.close();
        connections.delete(connection);
        if (connections.size > 0) return;
        stopSweeping?.();
        stopSweeping = undefined;
      });
      socket.allowHalfOpen = true;
      // Each pipelined request adds a "close" listener.
      socket.setMaxListeners(0);
      server.emit("connection", socket);
      connection.attach();
    },
    drain: () => {
      draining = true;
      for (const outgoing of passed) outgoing.shouldKeepAlive = false;
      closeIdle();
    },
    abort: (reason) => {
      signals.abort(reason);
      for (const outgoing of passed) outgoing.destroy();
      for (const connection of connections) connection.abandon(reason);
    },
  };
}

/** Settles when the written data has been sent, or when the socket has closed. */
function flushed(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    // A socket that has ended closes after everything has been sent, and cannot be written to.
    if (socket.writableEnded || socket.destroyed) socket.once("close", () => resolve());
    else socket.write("", () => resolve());
  });
}

/** Sends a response. Returns a promise for a streamed body, which settles when the body has ended. */
function respond(
  { incoming, outgoing }: Http1Request,
  response: HttpResponse,
  memory: MemoryShare,
): undefined | Promise<void> {
  if (outgoing.destroyed) return discard(response.body);
  const { whole } = response.body;
  // Small bodies do not count towards the memory budget.
  const taken = whole !== undefined && whole.byteLength > MAX_JOINED_BYTES ? whole.byteLength : 0;
  const fits = taken === 0 || memory.take(taken);
  const { status, headers, body } = fits ? response : OUT_OF_MEMORY;
  const fields = [...headers.raw];
  // A 204 response must not have a content-length field, not even 0 (RFC 9110, section 8.6).
  if (body.whole !== undefined && status !== 204) fields.push("content-length", String(body.whole.byteLength));
  outgoing.writeHead(status, fields);
  const writing = writeBody(incoming, outgoing, body, memory);
  if (taken > 0 && fits) {
    if (outgoing.writableEnded && outgoing.writableLength === 0) memory.release(taken);
    else outgoing.once("close", () => memory.release(taken));
  }
  return writing;
}

/** Writes a body after the headers, and ends the response. The headers of a stream do not wait for its first message. */
export function writeBody(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  body: Body,
  memory?: MemoryShare,
): undefined | Promise<void> {
  const { whole } = body;
  if (whole === undefined) {
    outgoing.flushHeaders();
    return pump(body, outgoing, memory).then(() => dropRest(incoming));
  }
  if (whole.byteLength > TLS_SLICE_BYTES && outgoing.socket instanceof TLSSocket) writeSlices(outgoing, whole);
  else if (whole.byteLength > MAX_JOINED_BYTES) outgoing.end(whole);
  else outgoing.end(Buffer.from(whole.buffer, whole.byteOffset, whole.byteLength).toString("latin1"), "latin1");
  dropRest(incoming);
  return undefined;
}

/** Writes a body in slices with backpressure, and ends the response. */
function writeSlices(outgoing: ServerResponse, bytes: Uint8Array): void {
  let offset = 0;
  const write = (): void => {
    while (offset + TLS_SLICE_BYTES < bytes.byteLength) {
      const slice = bytes.subarray(offset, offset + TLS_SLICE_BYTES);
      offset += TLS_SLICE_BYTES;
      if (!outgoing.write(slice)) return;
    }
    outgoing.off("drain", write);
    outgoing.end(bytes.subarray(offset));
  };
  outgoing.on("drain", write);
  write();
}

/** Reads and discards the rest of a request, so that the next request on the connection can be found. */
function dropRest(incoming: IncomingMessage): void {
  if (incoming.complete) return;
  let bytes = 0;
  incoming.on("data", (chunk: Uint8Array) => {
    bytes += chunk.byteLength;
    if (bytes > MAX_DISCARDED_BYTES) incoming.destroy();
  });
}
