/**
 * The server's HTTP/1.1 engine, on `node:http`: every request is an exchange. Calls and messages are unknown here.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { Metadata } from "../../call/metadata.ts";
import type { Body, Exchange, HttpRequest, HttpResponse } from "../../http/exchange.ts";
import { ReadableBody } from "../io/body.ts";
import { MAX_HTTP1_HEADER_BYTES } from "../io/error.ts";
import { discard, pump } from "../io/pump.ts";
import { type Indexed, SwapList } from "../io/swap-list.ts";
import { NO_EXPECTATION, NO_TUNNEL, objectionTo, Responses, refusalOf, refuseRequest } from "./http1-errors.ts";
import type { ServerEngine } from "./http2.ts";
import { ExchangeSignals, REQUEST_BODY } from "./signals.ts";

/** How long the headers, and a whole request, may take to arrive; and how long a connection may be idle. */
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 60_000;
const KEEP_ALIVE_TIMEOUT_MS = 60_000;
/** Of a request that was answered early, this much is read and thrown away to keep the connection. */
const MAX_DISCARDED_BYTES = 64 * 1024 * 1024;

/**
 * Bodies up to this size are handed to Node as text, one character per byte: it then joins them with the headers and
 * writes once, where it would write two buffers.
 */
const MAX_JOINED_BYTES = 16 * 1024;

/** Serves HTTP/1.1 connections. */
export function serveHttp1(exchange: Exchange): ServerEngine {
  const signals = new ExchangeSignals();
  const responses = new Responses();
  /** Requests that have not been answered yet, and may not have come to their ends. */
  const arriving = new SwapList<Http1Request>();
  const sockets = new Set<Socket>();
  let draining = false;
  const server = createServer(
    {
      // Beyond this `node:http` answers 431 by itself; below it the protocols count.
      maxHeaderSize: MAX_HTTP1_HEADER_BYTES,
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
      connectionsCheckingInterval: 5_000,
      // Node would answer without saying what is wrong.
      requireHostHeader: false,
    },
    (incoming, outgoing) => {
      incoming.on("error", ignore);
      outgoing.on("error", ignore);
      responses.add(outgoing);
      const request = new Http1Request(incoming, outgoing, signals);
      const objection = objectionTo(request.headers, incoming.httpVersion);
      if (objection !== undefined) return refuseRequest(outgoing, objection);
      arriving.add(request);
      exchange(request)
        .then((response) => {
          arriving.delete(request);
          // Asked now and not when the request came: the server may have begun to close in between.
          if (draining) outgoing.shouldKeepAlive = false;
          return respond(incoming, outgoing, response);
        })
        // Such as a header that Node will not send: the call has failed, and the peer must not wait for it.
        .catch(() => outgoing.destroy());
    },
  );
  server.on("clientError", (error, socket) => responses.refuse(socket, refusalOf(error)));
  server.on("checkExpectation", (_incoming, outgoing) => refuseRequest(outgoing, NO_EXPECTATION));
  server.on("connect", (_incoming, socket) => responses.refuse(socket, NO_TUNNEL));
  // Clients such as `nc -N` end their side when they have sent what they have to say, and want the answer nevertheless.
  Object.assign(server, { httpAllowHalfOpen: true });
  // The server never listens itself; without this event it would not enforce the timeouts above.
  server.emit("listening");

  /** Node takes a connection for idle whose response has been written and is yet to leave, and would cut it off. */
  function closeIdle(): void {
    const sending = [...sockets].filter(({ writableLength }) => writableLength > 0);
    if (sending.length > 0) {
      void Promise.all(sending.map(flushed)).then(closeIdle);
      return;
    }
    server.close(() => {});
    server.closeIdleConnections();
  }

  return {
    accept(socket) {
      sockets.add(socket);
      socket.once("close", () => sockets.delete(socket));
      socket.allowHalfOpen = true;
      // Requests in a pipeline each listen for its end.
      socket.setMaxListeners(0);
      server.emit("connection", socket);
    },
    drain: () => {
      draining = true;
      closeIdle();
    },
    abort: (reason) => {
      signals.abort(reason);
      for (const { body } of arriving) body.abandon(reason);
    },
  };
}

/** Settles when what has been written has left, or never will. */
function flushed(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    // What has ended closes when all has left, and nothing more may be written to it.
    if (socket.writableEnded || socket.destroyed) socket.once("close", () => resolve());
    else socket.write("", () => resolve());
  });
}

/** For errors that another event tells of too; without a listener they would end the process. */
const ignore = (): void => {};

/** A request as `node:http` hands it out. */
export class Http1Request implements HttpRequest, Indexed {
  readonly method: string;
  readonly path: string;
  readonly version = "1.1";
  readonly headers: Metadata;
  readonly body: ReadableBody;
  readonly #incoming: IncomingMessage;
  readonly #outgoing: ServerResponse;
  readonly #signals: ExchangeSignals;
  index = 0;
  #signal: AbortSignal | undefined;

  constructor(
    incoming: IncomingMessage,
    outgoing: ServerResponse,
    signals: ExchangeSignals,
    path: string = pathOf(incoming.url ?? ""),
  ) {
    this.method = incoming.method ?? "";
    this.path = path;
    this.headers = Metadata.fromRaw(lowerNames(incoming.rawHeaders));
    this.body = new ReadableBody(incoming, REQUEST_BODY);
    this.#incoming = incoming;
    this.#outgoing = outgoing;
    this.#signals = signals;
  }

  get signal(): AbortSignal {
    this.#signal ??= this.#signals.create(this.#outgoing, this.#incoming.socket);
    return this.#signal;
  }
}

// absolute-form = absolute-URI    (RFC 9112, section 3.2.2: a server must accept it)
const ABSOLUTE_FORM = /^https?:\/\/[^/?#]*/i;

/** The path of a request target, with its query. Proxies are sent the whole URL, and some pass it on. */
function pathOf(target: string): string {
  if (target.startsWith("/")) return target;
  const path = target.replace(ABSOLUTE_FORM, "");
  return path === "" || path.startsWith("?") ? `/${path}` : path;
}

/** Hands a response over. What is a promise settles when a body that comes in pieces has ended. */
function respond(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  response: HttpResponse,
): undefined | Promise<void> {
  const { whole } = response.body;
  if (outgoing.destroyed) return discard(response.body);
  const fields = [...response.headers.raw];
  // A 204 has no length, not even 0 (RFC 9110, section 8.6).
  if (whole !== undefined && response.status !== 204) fields.push("content-length", String(whole.byteLength));
  outgoing.writeHead(response.status, fields);
  return writeBody(incoming, outgoing, response.body);
}

/** Writes a body behind the headers, and ends the response. */
export function writeBody(incoming: IncomingMessage, outgoing: ServerResponse, body: Body): undefined | Promise<void> {
  const { whole } = body;
  if (whole === undefined) return pump(body, outgoing).then(() => discardRest(incoming));
  if (whole.byteLength > MAX_JOINED_BYTES) outgoing.end(whole);
  else outgoing.end(Buffer.from(whole.buffer, whole.byteOffset, whole.byteLength).toString("latin1"), "latin1");
  discardRest(incoming);
  return undefined;
}

/** Reads a request to its end for nothing, so that the next one on the connection can be understood. */
function discardRest(incoming: IncomingMessage): void {
  if (incoming.complete) return;
  let bytes = 0;
  incoming.on("data", (chunk: Uint8Array) => {
    bytes += chunk.byteLength;
    if (bytes > MAX_DISCARDED_BYTES) incoming.destroy();
  });
}

/** Field names of HTTP/1.1 in the lower case that metadata has. */
export function lowerNames(raw: string[]): string[] {
  const fields = new Array<string>(raw.length);
  for (let i = 0; i < raw.length; i += 2) {
    fields[i] = (raw[i] as string).toLowerCase();
    fields[i + 1] = raw[i + 1] as string;
  }
  return fields;
}
