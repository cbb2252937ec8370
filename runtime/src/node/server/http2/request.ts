/**
 * A request over HTTP/2, from its header block until its stream is closed, and its response.
 */

import { NO_BYTES } from "../../../call/bytes.ts";
import { reportConnection } from "../../../call/diagnostics.ts";
import { clientGone, RpcError } from "../../../call/error.ts";
import { Metadata } from "../../../call/metadata.ts";
import { startBackgroundTimer } from "../../../call/platform.ts";
import { SMALL_SHARE_BYTES } from "../../../connection/memory-budget.ts";
import { type BodySender, OutgoingBody } from "../../../connection/outgoing-body.ts";
import type { SwapList } from "../../../connection/swap-list.ts";
import type { HttpResponse } from "../../../http/exchange.ts";
import { ErrorCode } from "../../../http2/codes.ts";
import type { HeaderBlock } from "../../../http2/messages.ts";
import type { ServerRole } from "../../../http2/server.ts";
import type { ResetBy, Stream, StreamSink } from "../../../http2/stream.ts";
import { withoutBody } from "../../../server/resource.ts";
import { DISCARD_BYTES, DISCARD_MS, discard } from "../../io/body.ts";
import type { ServedConnection } from "../listener/engine.ts";
import { ReceivedRequest, type ReceivedRequestOwner } from "../listener/request.ts";
import type { WatchedRequest } from "./guard.ts";

/** Time limit, in milliseconds, for reading an early response: a client not scheduled that long reads its end too. */
const RECEIPT_MS = 2_000;

const NO_HEADERS: Metadata = new Metadata().freeze();
const CONTINUE = "100-continue";

/** The connection of a request. */
export interface RequestOwner extends ReceivedRequestOwner {
  readonly role: ServerRole;
  readonly requests: SwapList<ServedRequest>;
}

export class ServedRequest
  extends ReceivedRequest<Stream, RequestOwner>
  implements StreamSink, WatchedRequest, BodySender
{
  readonly version = "2";
  readonly memo: HeaderBlock;
  readonly authority: string | undefined;
  index = 0;
  /** The connection in the WebSocket that the request has opened. */
  inner: ServedConnection | undefined;
  /** The trailers of a response in chunks. */
  #trailers: Metadata = NO_HEADERS;
  /** Settles when the work that continues after the response has ended; `undefined` if there is none. */
  #lingering: Promise<unknown> | undefined;
  /** The timer that runs while the rest of a request is discarded. */
  #stopTimer: (() => void) | undefined;
  /** True if the end of the response is sent after the rest of the request has been discarded. */
  #endsLater = false;
  /** The number of PINGs whose acknowledgements confirm that the client has received the response. */
  #pings = 0;

  constructor(owner: RequestOwner, stream: Stream, block: HeaderBlock, early: readonly Uint8Array[]) {
    const { fields } = block;
    const mayExpect = fields.includes(CONTINUE);
    super(owner, stream, block, early, mayExpect && Metadata.fromRaw(fields).get("expect") === CONTINUE);
    this.memo = block;
    this.authority = block.authority === "" ? undefined : block.authority;
  }

  waitUntil(work: Promise<unknown>): void {
    this.#lingering = Promise.allSettled([this.#lingering, work]);
  }

  answer(given: HttpResponse): void {
    const { stream } = this;
    const isHead = this.method === "HEAD";
    if (isHead) void discard(given.body);
    const response = isHead ? withoutBody(given) : given;
    const { whole } = response.body;
    if (stream.closed) {
      this.isOver = true;
      void discard(response.body).then(() => this.#finish());
      return;
    }
    try {
      if (whole === undefined) this.#answerInChunks(response);
      else this.#answerWhole(response, whole);
    } catch {
      // For example, a field cannot be sent. The handler that produces the body must end too.
      this.abortSignal();
      stream.reset(ErrorCode.InternalError);
      void discard(response.body).then(() => this.#finish());
    }
  }

  #answerWhole({ status, headers, trailers }: HttpResponse, whole: Uint8Array): void {
    const { stream } = this;
    const { length } = whole;
    this.release();
    if (length > SMALL_SHARE_BYTES && !this.owner.fits(length)) {
      this.refuse();
      return;
    }
    if (trailers.size > 0) stream.respond(status, headers, whole, trailers, true);
    else if (stream.ended || length === 0) stream.respond(status, headers, whole, undefined, true);
    else {
      // Clients such as curl 7.88 lose a response that ends before their request. With a content-length they recognise its
      // end, and stop sending.
      const withLength = new Metadata(headers).set("content-length", String(length));
      stream.respond(status, withLength, whole, undefined, false);
      this.#endsLater = true;
      this.#discard();
    }
    this.isOver = true;
    if (stream.unsent > 0 && !this.owner.hold()) stream.reset(ErrorCode.EnhanceYourCalm);
    this.#finish();
  }

  #answerInChunks({ status, headers, body, trailers }: HttpResponse): void {
    this.stream.respond(status, headers, undefined, undefined, false);
    this.#trailers = trailers;
    this.outgoing = new OutgoingBody(body, this);
    this.outgoing.send();
  }

  onSent(isOpen: boolean): void {
    this.outgoing = undefined;
    this.isOver = true;
    try {
      if (isOpen && this.#trailers.size > 0) this.stream.sendTrailers(this.#trailers);
      else if (isOpen) this.stream.sendData(NO_BYTES, true);
    } catch {
      // For example, a field cannot be sent.
      this.stream.reset(ErrorCode.InternalError);
    }
    this.#finish();
  }

  onSendError(reason: unknown): void {
    this.fail(reason instanceof RpcError ? ErrorCode.EnhanceYourCalm : ErrorCode.InternalError);
  }

  /** Resets the stream of a call whose response is missing or incomplete. The connection stays open. */
  fail(code: number = ErrorCode.InternalError): void {
    this.isOver = true;
    this.stream.reset(code);
    this.#finish();
  }

  /** Allows another handler to run after all work of this one has ended. */
  #finish(): void {
    const { role } = this.owner;
    this.release();
    if (this.#lingering === undefined) role.finished();
    else void this.#lingering.then(() => role.finished());
  }

  onEnd(): void {
    this.incoming?.end();
    if (this.#stopTimer === undefined) return;
    // Without a delayed end, the stream is complete now.
    if (this.#endsLater) this.#endDiscarded();
    else this.#stopDiscarding();
  }

  onReset(code: number, by: ResetBy): void {
    if (by !== "connection") {
      const text = (): string => `call of ${this.path} was reset with HTTP/2 code ${code} by ${by}`;
      reportConnection("server", "reset", this.path, text);
    }
    this.abortSignal();
  }

  onRespondedEarly(): void {
    // If the end of the response was delayed, the rest of the request has already been discarded.
    if (this.#endsLater) this.stream.reset(ErrorCode.NoError);
    else this.#discard();
  }

  /** Discards the rest of a request, within limits of size and time (RFC 9113, section 8.1). */
  #discard(): void {
    this.incoming?.stop(clientGone());
    this.stream.discard(DISCARD_BYTES);
    this.#stopTimer = startBackgroundTimer(DISCARD_MS, () => this.#onDiscarded());
  }

  /**
   * Resets the stream after the time limit for discarding. If the end of the response was delayed, it is sent when the client
   * has received the response: no fixed time is enough for a process that the operating system does not schedule. A PING is
   * acknowledged after the frames before it have been processed (RFC 9113, section 6.7).
   */
  #onDiscarded(): void {
    if (!this.#endsLater) {
      this.#endDiscarded();
      return;
    }
    // A PING that waits for its acknowledgement may have been sent before the response.
    this.#pings = this.owner.role.connection.ping("receipt") ? 1 : 2;
    this.#stopTimer = startBackgroundTimer(RECEIPT_MS, () => this.#endDiscarded());
  }

  /** Handles the acknowledgement of a PING of {@link #onDiscarded}. */
  onPong(): void {
    if (this.#pings === 0) return;
    this.#pings--;
    if (this.#pings === 0) this.#endDiscarded();
    else this.owner.role.connection.ping("receipt");
  }

  #endDiscarded(): void {
    this.#stopDiscarding();
    if (this.#endsLater) this.stream.sendData(NO_BYTES, true);
    else this.stream.reset(ErrorCode.NoError);
  }

  #stopDiscarding(): void {
    this.#stopTimer?.();
    this.#stopTimer = undefined;
    this.#pings = 0;
  }

  onClosed(): void {
    if (this.#stopTimer !== undefined) this.#stopDiscarding();
    this.owner.requests.delete(this);
    if (!this.stream.ended) this.incoming?.fail(clientGone());
    this.outgoing?.onClosed();
  }
}
