/**
 * A request over HTTP/2, from its header block until its stream is closed, and its response.
 */
import type { RpcError } from "../../call/error.ts";
import { Metadata } from "../../call/metadata.ts";
import type { PeerConnection } from "../../call/peer.ts";
import { type Body, concat, emptyBody, wholeBody } from "../../http/body.ts";
import { clientGone, type Exchange, type HttpRequest, type HttpResponse } from "../../http/exchange.ts";
import { ErrorCode } from "../../http2/codes.ts";
import type { HeaderBlock } from "../../http2/messages.ts";
import type { ServerConnection } from "../../http2/server.ts";
import type { StreamSink } from "../../http2/sink.ts";
import type { Stream } from "../../http2/stream.ts";
import { DISCARD_BYTES, DISCARD_MS } from "../io/discard.ts";
import { type Collecting, IncomingBody, OutgoingBody } from "../io/http2-body.ts";
import type { MemoryShare } from "../io/memory-budget.ts";
import { discard } from "../io/pump.ts";
import type { SwapList } from "../io/swap-list.ts";
import { OUT_OF_MEMORY } from "./engine.ts";
import type { WatchedRequest } from "./http2-guard.ts";

/**
 * Bodies up to this size, which take less than the objects of their requests, do not count towards the memory budget if they
 * are received with the header block.
 */
const UNCOUNTED_BYTES = 1024;
/** Responses up to this size are sent without asking for memory: the smallest amount that a connection may hold. */
const SMALL_RESPONSE_BYTES = 16 * 1024;

/** The connection of a request. */
export interface RequestOwner {
  readonly connection: ServerConnection;
  readonly exchange: Exchange;
  readonly memory: MemoryShare;
  readonly peer: PeerConnection;
  readonly collecting: Collecting;
  readonly requests: SwapList<ServedRequest>;
  /** The reason why the server aborts its requests, once it does. */
  readonly aborted: RpcError | undefined;
  /** Reports whether the memory budget has so many bytes for a response. */
  fits(bytes: number): boolean;
  /** Counts the output that waits to be sent towards the memory budget. Returns false if it does not fit. */
  holdOutput(): boolean;
}

export class ServedRequest implements HttpRequest, StreamSink, WatchedRequest {
  readonly method: string;
  readonly path: string;
  readonly version = "2";
  readonly authority: string | undefined;
  readonly headers: Metadata;
  readonly body: Body;
  index = 0;
  hasResponded = false;
  readonly stream: Stream;
  /** The body, if its end had not been received with the header block. */
  readonly incoming: IncomingBody | undefined;
  readonly #owner: RequestOwner;
  /** Bytes of a whole body that are taken from the memory budget. */
  #taken = 0;
  #controller: AbortController | undefined;
  /** True if the response has been handed over, or never will be. */
  #isOver = false;
  #outgoing: OutgoingBody | undefined;
  /** Settles when the work that goes on after the response has ended, if there is any. */
  #lingering: Promise<unknown> | undefined;
  /** While the rest of a request is discarded. */
  #discarding: NodeJS.Timeout | undefined;
  /** True if the end of the response is sent when that is over. */
  #endsLater = false;

  constructor(owner: RequestOwner, stream: Stream, block: HeaderBlock, early: readonly Uint8Array[]) {
    this.#owner = owner;
    this.stream = stream;
    this.method = block.method;
    this.path = block.path;
    this.authority = block.authority === "" ? undefined : block.authority;
    this.headers = Metadata.fromShared(block.fields);
    if (stream.ended) {
      this.incoming = undefined;
      this.body = early.length === 0 ? emptyBody : wholeBody(joined(stream, early));
    } else {
      this.incoming = new IncomingBody(stream, early, owner.collecting, ignore, owner.memory);
      this.body = this.incoming;
      if (block.fields.includes("100-continue")) this.#continue();
    }
  }

  /** RFC 9110, section 10.1.1. */
  #continue(): void {
    if (this.headers.get("expect") === "100-continue") this.stream.sendInformational(100, NO_HEADERS);
  }

  get peer(): PeerConnection {
    return this.#owner.peer;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      const { aborted } = this.#owner;
      if (aborted !== undefined) this.#controller.abort(aborted);
      else if (this.stream.closed && !this.#isOver) this.#controller.abort(clientGone());
    }
    return this.#controller.signal;
  }

  waitUntil(work: Promise<unknown>): void {
    this.#lingering = Promise.allSettled([this.#lingering, work]);
  }

  serve(): void {
    const bytes = this.body.whole?.byteLength ?? 0;
    if (bytes > UNCOUNTED_BYTES) {
      if (!this.#owner.memory.take(bytes)) {
        this.answer(OUT_OF_MEMORY);
        return;
      }
      this.#taken = bytes;
    }
    this.#owner.exchange(this).then(
      (response) => this.answer(response),
      () => this.#fail(ErrorCode.InternalError),
    );
  }

  /** Hands a response over. */
  answer(response: HttpResponse): void {
    const { stream } = this;
    const { whole } = response.body;
    if (stream.closed) {
      this.#isOver = true;
      void discard(response.body).then(() => this.#finish());
      return;
    }
    try {
      if (whole === undefined) this.#answerInChunks(response);
      else this.#answerWhole(response, whole);
    } catch {
      // Such as a field that cannot be sent.
      this.#fail(ErrorCode.InternalError);
    }
  }

  #answerWhole({ status, headers, trailers }: HttpResponse, whole: Uint8Array): void {
    const { stream } = this;
    const { byteLength } = whole;
    this.#release();
    if (byteLength > SMALL_RESPONSE_BYTES && !this.#owner.fits(byteLength)) {
      this.answer(OUT_OF_MEMORY);
      return;
    }
    if (trailers.size > 0) stream.respond(status, headers, whole, trailers, true);
    else if (stream.ended || byteLength === 0) stream.respond(status, headers, whole, undefined, true);
    else {
      // Clients such as curl 7.88 lose a response that ends before their request. They know its end by its length, and stop sending.
      stream.respond(status, withLength(headers, byteLength), whole, undefined, false);
      this.#endsLater = true;
      this.#discard();
    }
    this.#isOver = true;
    this.hasResponded = true;
    if (stream.unsent > 0 && !this.#owner.holdOutput()) stream.reset(ErrorCode.EnhanceYourCalm);
    this.#finish();
  }

  #answerInChunks({ status, headers, body, trailers }: HttpResponse): void {
    this.stream.respond(status, headers, undefined, undefined, false);
    const outgoing = new OutgoingBody(body, this.stream, () => this.#owner.holdOutput());
    this.#outgoing = outgoing;
    outgoing.send().then(
      (isOpen) => {
        this.#outgoing = undefined;
        this.#isOver = true;
        this.hasResponded = true;
        if (isOpen) this.#end(trailers);
        this.#finish();
      },
      // There is no memory for what the client does not read.
      () => this.#fail(ErrorCode.EnhanceYourCalm),
    );
  }

  /** Ends a response after its body. */
  #end(trailers: Metadata): void {
    try {
      if (trailers.size > 0) this.stream.sendTrailers(trailers);
      else this.stream.sendData(NO_BYTES, true);
    } catch {
      // Such as a field that cannot be sent.
      this.stream.reset(ErrorCode.InternalError);
    }
  }

  /** Resets the stream of a call that has no response, or not all of it. The connection goes on. */
  #fail(code: number): void {
    this.#isOver = true;
    this.stream.reset(code);
    this.#finish();
  }

  /** Lets another handler run, once all work of this one has ended. */
  #finish(): void {
    const { connection } = this.#owner;
    this.#release();
    if (this.#lingering === undefined) connection.finished();
    else void this.#lingering.then(() => connection.finished());
  }

  /** Releases the memory of the request. */
  #release(): void {
    this.incoming?.release();
    if (this.#taken === 0) return;
    this.#owner.memory.release(this.#taken);
    this.#taken = 0;
  }

  /** Aborts the call: fires its signal, and fails readers that wait for more of the request. */
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
    if (this.#discarding !== undefined) this.#onDiscarded();
  }

  onReset(): void {
    this.abortSignal(clientGone());
  }

  onDrain(): void {
    this.#outgoing?.onDrain();
  }

  onRespondedEarly(): void {
    // The rest has been discarded already where the end of the response waited for it.
    if (this.#endsLater) this.stream.reset(ErrorCode.NoError);
    else this.#discard();
  }

  /** Bounded discard of the rest of a request (RFC 9113, section 8.1). */
  #discard(): void {
    this.incoming?.discard(DISCARD_BYTES, clientGone());
    this.#discarding = setTimeout(() => this.#onDiscarded(), DISCARD_MS).unref();
  }

  /** The request has ended, or the time for it is over. */
  #onDiscarded(): void {
    clearTimeout(this.#discarding);
    this.#discarding = undefined;
    if (this.#endsLater) this.stream.sendData(NO_BYTES, true);
    else this.stream.reset(ErrorCode.NoError);
  }

  onClosed(): void {
    clearTimeout(this.#discarding);
    this.#discarding = undefined;
    this.#owner.requests.delete(this);
    this.incoming?.fail(clientGone());
    this.#outgoing?.onClosed();
  }
}

const NO_HEADERS: Metadata = new Metadata().freeze();
const NO_BYTES = new Uint8Array(0);
const ignore = (): void => {};

/** The chunks of a body that was received with its header block. The client may send as many bytes more. */
function joined(stream: Stream, chunks: readonly Uint8Array[]): Uint8Array {
  let length = 0;
  for (const { byteLength } of chunks) length += byteLength;
  stream.consumed(length);
  return concat(chunks, length);
}

function withLength(headers: Metadata, length: number): Metadata {
  const copy = new Metadata(headers);
  copy.set("content-length", String(length));
  return copy;
}
