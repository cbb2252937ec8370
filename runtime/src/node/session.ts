/**
 * The client's HTTP/2 connections on `node:http2`: one session each, which moves exchanges over its streams.
 */
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type ClientSessionOptions,
  connect,
  constants,
  type IncomingHttpHeaders,
  type SecureClientSessionOptions,
} from "node:http2";
import { connect as connectSocket } from "node:net";
import { Code } from "../code.ts";
import { onAbort, startTimer } from "../deadline.ts";
import { RpcError } from "../error.ts";
import { type Body, emptyBody, type HttpRequest, type HttpResponse } from "../exchange.ts";
import { Metadata } from "../metadata.ts";
import { pump, ReadableBody } from "./body.ts";
import { type Connect, type Connection, type ConnectionOwner, markUnprocessed } from "./connection.ts";
import { connectionError, connectTimeout, handshakeError, resetError } from "./error.ts";
import { readFields, toHttp2Headers } from "./headers.ts";

export interface SessionOptions {
  /** Path of the Unix socket to connect to, instead of the origin's host and port. */
  readonly socketPath: string | undefined;
  /** How long a connection may take to be made, TLS included, in milliseconds. */
  readonly connectTimeoutMs: number;
  /** For `https` origins: what `node:tls` takes. */
  readonly tls: Omit<SecureClientSessionOptions, keyof ClientSessionOptions> | undefined;
}

/** Bytes the server may send ahead of what is read: on one stream, and on one connection. */
const STREAM_WINDOW_BYTES = 256 * 1024;
const CONNECTION_WINDOW_BYTES = 4 * 1024 * 1024;
/** Stream ids are never used twice. A connection that has used this many is left before they run out (RFC 9113, 5.1.1). */
const LAST_STREAM_ID = 1.5 * 2 ** 30;
/** What a server may say beside responses before it is taken to be hostile: interim responses to a call, ORIGIN, ALTSVC. */
const MAX_INTERIM_RESPONSES = 10;
const MAX_ANNOUNCEMENTS = 100;
/** The largest header block, or trailers, of a response. */
const MAX_HEADER_BYTES = 64 * 1024;

const CLOSED_BY_PEER = new Error("the server closed the connection");

/** Makes connections to an origin, such as `http://localhost:50051`. */
export function connectSessions(origin: URL, options: SessionOptions): Connect {
  const { socketPath, connectTimeoutMs, tls } = options;
  return (owner, signal) =>
    new Promise((resolve, reject) => {
      const session = connect(origin, {
        ...tls,
        settings: { enablePush: false, initialWindowSize: STREAM_WINDOW_BYTES },
        ...(socketPath === undefined ? {} : { createConnection: () => connectSocket(socketPath) }),
      });
      const peer = socketPath ?? origin.host;
      const fail = (cause: unknown): void => {
        settle();
        reject(handshakeError(cause, peer));
        session.destroy();
      };
      const stopTimer = startTimer(connectTimeoutMs, () => fail(connectTimeout(connectTimeoutMs, peer)));
      const unlink = onAbort(signal, fail);
      const settle = (): void => {
        stopTimer();
        unlink();
      };
      // Stays for good: a session may fail at any time, and its streams tell the calls on it.
      session.on("error", fail);
      session.once("close", () => fail(CLOSED_BY_PEER));
      // A server that refuses a certificate does so when the client takes TLS to be done. Node destroys the session then
      // and tells nobody but a ping that is under way. Events come a turn late: a session that was given up in between
      // would throw.
      if (origin.protocol === "https:") {
        session.once("connect", () => {
          if (!session.destroyed) session.ping((error) => error && fail(error));
        });
      }
      const connection = new SessionConnection(session, origin, peer, owner);
      // Not "connect", which says nothing about the other end: only now is it known to speak HTTP/2, and how much it takes.
      session.once("remoteSettings", () => {
        if (session.destroyed) return;
        settle();
        session.setLocalWindowSize(CONNECTION_WINDOW_BYTES);
        // An idle connection must not keep a program from ending.
        session.unref();
        resolve(connection);
      });
    });
}

class SessionConnection implements Connection {
  streams = 0;
  maxStreams = 0;
  readonly #session: ClientHttp2Session;
  readonly #scheme: string;
  readonly #authority: string;
  /** What messages call the other end. */
  readonly #peer: string;
  readonly #owner: ConnectionOwner;
  #leaving = false;
  /** The last stream that the server says it has looked at, or may yet. */
  #lastStreamId = Number.POSITIVE_INFINITY;
  /** Why this side ended the connection, if it did. */
  #reason: RpcError | undefined;
  /** Streams and pings under way, which keep the program running. */
  #holds = 0;
  /** Ends a connection that is to close when its streams have. */
  #onIdle: (() => void) | undefined;

  constructor(session: ClientHttp2Session, origin: URL, peer: string, owner: ConnectionOwner) {
    this.#session = session;
    this.#scheme = origin.protocol.slice(0, -1);
    this.#authority = origin.host;
    this.#peer = peer;
    this.#owner = owner;
    session.on("remoteSettings", ({ maxConcurrentStreams }) => {
      this.maxStreams = maxConcurrentStreams ?? Number.POSITIVE_INFINITY;
    });
    session.on("goaway", (_code, lastStreamId) => {
      this.#lastStreamId = Math.min(this.#lastStreamId, lastStreamId ?? 0);
      this.#leave();
    });
    session.once("close", () => this.#leave());
    let announcements = 0;
    const count = (): void => {
      announcements++;
      if (announcements === MAX_ANNOUNCEMENTS) this.destroy(hostile("announces too many other origins"));
    };
    session.on("origin", count);
    session.on("altsvc", count);
  }

  get open(): boolean {
    return !(this.#leaving || this.#session.closed || this.#session.destroyed);
  }

  ping(timeoutMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const noAnswer = (): void => {
        settle();
        reject(new RpcError(Code.Unavailable, `${this.#peer} did not answer a ping within ${timeoutMs} ms`));
      };
      // An answer may be waiting to be read, if it was this program that had no time: one turn later it has been.
      const stopTimer = startTimer(timeoutMs, () => setImmediate(() => !settled && noAnswer()));
      let settled = false;
      const settle = (): void => {
        settled = true;
        stopTimer();
        this.#session.off("close", onClose);
        this.#letGo();
      };
      const onClose = (): void => {
        if (settled) return;
        settle();
        reject(connectionError(CLOSED_BY_PEER, this.#peer));
      };
      this.#hold();
      this.#session.once("close", onClose);
      if (this.#session.destroyed) onClose();
      else {
        this.#session.ping((error) => {
          if (settled) return;
          settle();
          if (error) reject(connectionError(error, this.#peer));
          else resolve();
        });
      }
    });
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      const session = this.#session;
      if (session.destroyed) return resolve();
      // Whoever waits for the end must not be left behind by a program that has nothing else to do.
      session.ref();
      session.once("close", resolve);
      // Node's own way to close would wait for the peer to do the same.
      this.#onIdle = () => session.destroy();
      if (this.streams === 0) this.#onIdle();
      else session.close();
    });
  }

  destroy(reason: RpcError): void {
    this.#reason ??= reason;
    this.#session.destroy();
    this.#leave();
  }

  exchange(request: HttpRequest): Promise<HttpResponse> {
    const { signal, body } = request;
    const headers = toHttp2Headers(request.headers);
    headers[":method"] = request.method;
    headers[":path"] = request.path;
    headers[":scheme"] = this.#scheme;
    headers[":authority"] = this.#authority;
    // Node ends a stream before it resets it, and the server would take what it has for the whole request. It does not
    // when a signal resets the stream.
    const abort = body.whole === undefined ? new AbortController() : undefined;
    let stream: ClientHttp2Stream;
    try {
      const options = abort === undefined ? { endStream: body === emptyBody } : { signal: abort.signal };
      stream = this.#session.request(headers, options);
    } catch (cause) {
      return Promise.reject(this.#notOpened(cause));
    }
    this.streams++;
    this.#hold();
    if ((stream.id ?? 0) > LAST_STREAM_ID) this.#retire();
    const cancel = (): void => {
      // Never from inside one of the stream's own events, where Node is still at work on it.
      setImmediate(() => (abort === undefined ? stream.close(constants.NGHTTP2_CANCEL) : abort.abort()));
    };
    const response = this.#receive(stream, signal, cancel);
    sendBody(body, stream);
    return response;
  }

  #receive(stream: ClientHttp2Stream, signal: AbortSignal | undefined, cancel: () => void): Promise<HttpResponse> {
    return new Promise((resolve, reject) => {
      let failure: RpcError | undefined;
      let cause: Error | undefined;
      let responded = false;
      let interim = 0;
      const trailers = new Metadata();
      const lost = (): RpcError => failure ?? this.#lost(stream, cause);
      const fail = (error: RpcError): void => {
        failure ??= error;
        cancel();
        reject(error);
      };
      const unlink = signal && onAbort(signal, fail);
      stream.on("error", (error) => {
        if (error instanceof RpcError) failure ??= error;
        else cause ??= error;
      });
      stream.on("headers", () => {
        interim++;
        if (interim > MAX_INTERIM_RESPONSES) fail(hostile("sends interim responses without end"));
      });
      stream.on("trailers", (_headers: IncomingHttpHeaders, _flags: number, raw: string[]) => {
        if (sizeOf(raw) > MAX_HEADER_BYTES) fail(headersTooLarge());
        else trailers.appendRaw(raw);
      });
      stream.on("response", (headers: IncomingHttpHeaders, _flags: number, raw: string[]) => {
        if (sizeOf(raw) > MAX_HEADER_BYTES) return fail(headersTooLarge());
        responded = true;
        resolve({
          status: Number(headers[":status"]),
          headers: readFields(raw),
          body: new ReadableBody(stream, { lost, cancel }),
          trailers,
        });
      });
      stream.on("close", () => {
        unlink?.();
        this.streams--;
        this.#letGo();
        if (!responded) reject(lost());
        if (this.streams > 0) return;
        this.#owner.onIdle(this);
        if (this.#onIdle !== undefined) setImmediate(this.#onIdle);
      });
    });
  }

  /** Why a stream closed before it had ended; `cause` is what Node said about it, if anything. */
  #lost(stream: ClientHttp2Stream, cause: Error | undefined): RpcError {
    // A stream that goes down with its connection looks like one that was reset, but nobody has judged the call.
    const { destroyed } = this.#session;
    const error = destroyed
      ? (this.#reason ?? connectionError(cause ?? CLOSED_BY_PEER, this.#peer))
      : resetError(stream.rstCode);
    const refused = !destroyed && stream.rstCode === constants.NGHTTP2_REFUSED_STREAM;
    const unseen = stream.id === undefined || stream.id > this.#lastStreamId;
    return refused || unseen ? markUnprocessed(error) : error;
  }

  /** Why Node would not open a stream: the session is over, or the request is not one that can be sent. */
  #notOpened(cause: unknown): RpcError {
    if ((cause as NodeJS.ErrnoException).code === "ERR_HTTP2_OUT_OF_STREAMS") this.#retire();
    // A TypeError is about the request, and names the field.
    if (!(this.open || cause instanceof TypeError)) return markUnprocessed(connectionError(cause, this.#peer));
    return RpcError.from(cause, Code.Internal);
  }

  /** Goes on with the streams that are open, and has new ones opened elsewhere. */
  #retire(): void {
    this.#leave();
    this.#session.close();
  }

  #leave(): void {
    this.#leaving = true;
    this.#owner.onUnusable(this);
  }

  #hold(): void {
    if (this.#holds === 0) this.#session.ref();
    this.#holds++;
  }

  #letGo(): void {
    this.#holds--;
    if (this.#holds === 0 && this.open) this.#session.unref();
  }
}

function sendBody(body: Body, stream: ClientHttp2Stream): void {
  if (body.whole !== undefined) stream.end(body.whole);
  else pump(body, stream).catch((reason) => stream.destroy(RpcError.from(reason, Code.Internal)));
}

/** The size of a header block as HTTP/2 counts it: 32 bytes for each field beside its name and value. */
function sizeOf(raw: readonly string[]): number {
  let bytes = raw.length * 16;
  for (const text of raw) bytes += text.length;
  return bytes;
}

function headersTooLarge(): RpcError {
  return new RpcError(
    Code.ResourceExhausted,
    `the headers of the response are larger than the limit of ${MAX_HEADER_BYTES} bytes`,
  );
}

function hostile(what: string): RpcError {
  return new RpcError(Code.Unavailable, `the connection was given up, because the server ${what}`);
}
