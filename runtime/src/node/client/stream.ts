/**
 * One exchange on a stream of a client's HTTP/2 session: what is sent, what comes back, and the limits of what may.
 */
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type ClientSessionRequestOptions,
  constants,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
} from "node:http2";
import { Code } from "../../call/code.ts";
import { RpcError } from "../../call/error.ts";
import { Metadata } from "../../call/metadata.ts";
import { onAbort } from "../../call/timer.ts";
import { type Body, emptyBody } from "../../http/body.ts";
import type { HttpResponse } from "../../http/exchange.ts";
import { headerListSize } from "../../protocol/header-limits.ts";
import { ReadableBody, type ReadableBodyOptions, type StreamOwner } from "../io/body.ts";
import { hostileServer } from "../io/error.ts";
import { readFields } from "../io/headers.ts";
import { pump } from "../io/pump.ts";

/** What a server may say beside the response to a call before it is taken to be hostile. */
const MAX_INTERIM_RESPONSES = 10;
/** The largest header block, or trailers, of a response; of 32 bytes and more for each field. */
const MAX_RESPONSE_HEADER_BYTES = 64 * 1024;

/** What a stream asks of its session, and tells it. */
export interface SessionOfStream extends StreamOwner {
  /** Why a stream closed before it had ended; `cause` is what Node said about it, if anything. */
  lost(stream: ClientHttp2Stream, cause: Error | undefined): RpcError;
}

/** Where a stream has its exchange. All streams share the listeners, which find it there: see {@link ReadableBody}. */
const EXCHANGE = Symbol("exchange");
type Carrier = ClientHttp2Stream & { [EXCHANGE]?: StreamExchange | undefined };

/** One exchange: its request goes out on a stream of its own, and its response comes back on it. */
export class StreamExchange implements ReadableBodyOptions, StreamOwner {
  readonly stream: ClientHttp2Stream;
  readonly response: Promise<HttpResponse>;
  readonly #owner: SessionOfStream;
  /** Gives up the request, where it comes in pieces. */
  readonly #abort: AbortController | undefined;
  readonly #body: ReadableBody;
  #resolve!: (response: HttpResponse) => void;
  #reject!: (reason: RpcError) => void;
  #unlink: (() => void) | undefined;
  #received: ReceivedResponse | undefined;
  #failure: RpcError | undefined;
  #cause: Error | undefined;
  #interim = 0;

  /** Opens a stream for a request with that body, which is yet to be sent. Throws what Node throws. */
  constructor(session: ClientHttp2Session, headers: OutgoingHttpHeaders, body: Body, owner: SessionOfStream) {
    // Node ends a stream before it resets it, and the server would take what it has for the whole request. It does not
    // when a signal resets the stream.
    this.#abort = body.whole === undefined ? new AbortController() : undefined;
    const stream: Carrier = session.request(headers, requestOptions(body, this.#abort));
    stream[EXCHANGE] = this;
    stream.on("error", onError);
    stream.on("headers", onInterim);
    stream.on("response", onResponse);
    stream.on("trailers", onTrailers);
    this.stream = stream;
    this.#owner = owner;
    this.#body = new ReadableBody(stream, this, this);
    this.response = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  /** Has the signal give up the call until the stream closes. */
  follow(signal: AbortSignal): void {
    this.#unlink = onAbort(signal, (error) => this.fail(error));
  }

  /** Sends the body of the request and ends it. */
  send(body: Body): void {
    const { stream } = this;
    if (body.whole !== undefined) {
      stream.end(body.whole);
      return;
    }
    // The end of the response is the end of the call, however much of the request is yet to come.
    stream.on("end", () => !stream.writableEnded && this.cancel());
    pump(body, stream).catch((reason) => stream.destroy(RpcError.from(reason, Code.Internal)));
  }

  /** Never from inside one of the stream's own events, where Node is still at work on it. */
  cancel(): void {
    setImmediate(() => this.#giveUp());
  }

  #giveUp(): void {
    if (this.#abort !== undefined) {
      this.#abort.abort();
      return;
    }
    this.stream.close(constants.NGHTTP2_CANCEL);
    // A stream that waits for its turn, because the server allows no more, would not close before that has come.
    this.stream.destroy();
  }

  fail(error: RpcError): void {
    this.#failure ??= error;
    this.cancel();
    this.#reject(error);
  }

  lost(): RpcError {
    return this.#failure ?? this.#owner.lost(this.stream, this.#cause);
  }

  /** A response that is complete may have closed its stream too, but not with an error. */
  cutOff(): boolean {
    return this.stream.rstCode !== constants.NGHTTP2_NO_ERROR;
  }

  onClosed(): void {
    (this.stream as Carrier)[EXCHANGE] = undefined;
    this.#unlink?.();
    if (this.#received === undefined) this.#reject(this.lost());
    this.#owner.onClosed();
  }

  onError(error: Error): void {
    if (error instanceof RpcError) this.#failure ??= error;
    else this.#cause ??= error;
  }

  onInterim(): void {
    this.#interim++;
    if (this.#interim > MAX_INTERIM_RESPONSES) this.fail(hostileServer("sends interim responses without end"));
  }

  onResponse(status: number, raw: string[]): void {
    if (headerListSize(raw) > MAX_RESPONSE_HEADER_BYTES) {
      this.fail(headersTooLarge("headers"));
      return;
    }
    this.#received = new ReceivedResponse(status, readFields(raw), this.#body);
    this.#resolve(this.#received);
  }

  onTrailers(raw: string[]): void {
    if (headerListSize(raw) > MAX_RESPONSE_HEADER_BYTES) this.#received?.refuseTrailers(headersTooLarge("trailers"));
    else this.#received?.trailers.appendRaw(raw);
  }
}

/** None where there is nothing to say: Node fills them in, and takes far longer to add to some than to make its own. */
function requestOptions(body: Body, abort: AbortController | undefined): ClientSessionRequestOptions | undefined {
  if (abort !== undefined) return { signal: abort.signal };
  return body === emptyBody ? { endStream: true } : undefined;
}

/** There to the end: without a listener, an error would end the process. */
function onError(this: Carrier, error: Error): void {
  this[EXCHANGE]?.onError(error);
}

function onInterim(this: Carrier): void {
  this[EXCHANGE]?.onInterim();
}

function onResponse(this: Carrier, headers: IncomingHttpHeaders, _flags: number, raw: string[]): void {
  this[EXCHANGE]?.onResponse(Number(headers[":status"]), raw);
}

function onTrailers(this: Carrier, _headers: IncomingHttpHeaders, _flags: number, raw: string[]): void {
  this[EXCHANGE]?.onTrailers(raw);
}

class ReceivedResponse implements HttpResponse {
  readonly status: number;
  readonly headers: Metadata;
  readonly body: Body;
  readonly #trailers = new Metadata();
  #refusal: RpcError | undefined;

  constructor(status: number, headers: Metadata, body: Body) {
    this.status = status;
    this.headers = headers;
    this.body = body;
  }

  get trailers(): Metadata {
    if (this.#refusal !== undefined) throw this.#refusal;
    return this.#trailers;
  }

  /** When trailers come, the body may have ended: it is not the one to fail. */
  refuseTrailers(reason: RpcError): void {
    this.#refusal = reason;
  }
}

function headersTooLarge(what: "headers" | "trailers"): RpcError {
  return new RpcError(
    Code.ResourceExhausted,
    `the ${what} of the response are larger than the limit of ${MAX_RESPONSE_HEADER_BYTES} bytes`,
  );
}
