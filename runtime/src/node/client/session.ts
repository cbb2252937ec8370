/**
 * A client's HTTP/2 connection on `node:http2`: one session, which moves exchanges over its streams.
 */
import { type ClientHttp2Session, type ClientHttp2Stream, constants } from "node:http2";
import type { Socket } from "node:net";
import { Code } from "../../call/code.ts";
import { RpcError } from "../../call/error.ts";
import { startTimer } from "../../call/timer.ts";
import type { HttpRequest, HttpResponse } from "../../http/exchange.ts";
import { CLOSED_BY_PEER, connectionError, hostileServer, resetError } from "../io/error.ts";
import { toHttp2Headers } from "../io/headers.ts";
import { type Connection, type ConnectionOwner, markUnprocessed } from "./connection.ts";
import type { Target } from "./socket.ts";
import { watchHearing } from "./stall-detector.ts";
import { type SessionOfStream, StreamExchange } from "./stream.ts";

/** Stream ids are never used twice. A connection that has used this many is left before they run out (RFC 9113, 5.1.1). */
const LAST_STREAM_ID = 1.5 * 2 ** 30;
/** What a server may say on its own, by ORIGIN and ALTSVC, before it is taken to be hostile. */
const MAX_ANNOUNCEMENTS = 100;
/** What a server has done whose connection Node gives up without a word. */
const RULE_BREAKER = "broke the rules of HTTP/2";

/**
 * Ends in one of four ways, the mildest first. `#leave`: no new streams, whatever happens to the session. `#retire`: the
 * same, and the session closes after its last stream. `close`: the same as far as streams go, but the session does not wait
 * for the server then. `destroy`: at once, with all streams. `#hold` and `#letGo` end nothing: they are about whether the
 * program may end.
 */
export class SessionConnection implements Connection {
  streams = 0;
  maxStreams = 0;
  readonly #session: ClientHttp2Session;
  readonly #socket: Socket;
  readonly #scheme: string;
  readonly #authority: string;
  /** What messages call the other end. */
  readonly #peer: string;
  readonly #owner: ConnectionOwner;
  readonly #streamOwner: SessionOfStream = {
    lost: (stream, cause) => this.#lost(stream, cause),
    onClosed: () => this.#onStreamClosed(),
  };
  #leaving = false;
  /** The last stream that the server says it has looked at, or may yet. */
  #lastStreamId = Number.POSITIVE_INFINITY;
  /** Why this side ended the connection, if it did. */
  #reason: RpcError | undefined;
  /** Streams and pings under way, which keep the program running. */
  #holds = 0;
  /** Whether the session is destroyed when its last stream has closed. */
  #closing = false;

  constructor(session: ClientHttp2Session, socket: Socket, { origin, peer }: Target, owner: ConnectionOwner) {
    this.#session = session;
    this.#socket = socket;
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
    watchHearing(
      session,
      () => this.streams > 0,
      () => this.destroy(hostileServer(RULE_BREAKER)),
    );
    let announcements = 0;
    const countAnnouncement = (): void => {
      announcements++;
      if (announcements === MAX_ANNOUNCEMENTS) this.destroy(hostileServer("announces too many other origins"));
    };
    session.on("origin", countAnnouncement);
    session.on("altsvc", countAnnouncement);
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
      this.#closing = true;
      if (this.streams === 0) this.#end();
      else session.close();
    });
  }

  #end(): void {
    this.#session.destroy();
    // A session that was closed before waits for the peer to end the connection, even after that has gone.
    this.#socket.destroySoon();
  }

  destroy(reason: RpcError): void {
    this.#reason ??= reason;
    // With a reason, or its streams would end as if all had come.
    this.#session.destroy(reason, constants.NGHTTP2_CANCEL);
    this.#leave();
  }

  exchange(request: HttpRequest): Promise<HttpResponse> {
    const { signal, body } = request;
    const headers = toHttp2Headers(request.headers);
    headers[":method"] = request.method;
    headers[":path"] = request.path;
    headers[":scheme"] = this.#scheme;
    headers[":authority"] = this.#authority;
    let exchange: StreamExchange;
    try {
      exchange = new StreamExchange(this.#session, headers, body, this.#streamOwner);
    } catch (cause) {
      return Promise.reject(this.#notOpened(cause));
    }
    this.streams++;
    this.#hold();
    if ((exchange.stream.id ?? 0) > LAST_STREAM_ID) this.#retire();
    if (signal !== undefined) exchange.follow(signal);
    exchange.send(body);
    return exchange.response;
  }

  #onStreamClosed(): void {
    this.streams--;
    this.#letGo();
    if (this.streams > 0) return;
    this.#owner.onIdle(this);
    if (this.#closing) setImmediate(() => this.#end());
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
    // Closed, and neither by this side nor by the server's word: Node has ended it because the server broke the rules of
    // HTTP/2, and tells nobody while calls are open that will never hear of their ends.
    else if (this.#session.closed && !this.#leaving) this.destroy(hostileServer(RULE_BREAKER));
    // A TypeError is about the request, and names the field.
    if (!(this.open || cause instanceof TypeError)) return markUnprocessed(connectionError(cause, this.#peer));
    return RpcError.from(cause, Code.Internal);
  }

  /** Goes on with the streams that are open, and closes after them. */
  #retire(): void {
    this.#leave();
    this.#session.close();
  }

  /** Has new streams opened elsewhere. */
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
