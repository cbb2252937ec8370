/**
 * A request over HTTP/1.1, from its head until the end of its exchange, and its response.
 */
import { concat, NO_BYTES } from "../../../call/bytes.ts";
import type { RpcError } from "../../../call/error.ts";
import { Metadata } from "../../../call/metadata.ts";
import type { PeerConnection } from "../../../call/peer.ts";
import { type Body, emptyBody, onRead, wholeBody } from "../../../http/body.ts";
import { clientGone, type HttpRequest, type HttpResponse } from "../../../http/exchange.ts";
import type { ExchangeSink, ServerExchange } from "../../../http1/exchange.ts";
import type { RequestHead } from "../../../http1/request.ts";
import type { Collecting } from "../../io/http2-collecting.ts";
import { IncomingBody } from "../../io/http2-incoming.ts";
import { type BodySender, OutgoingBody } from "../../io/http2-outgoing.ts";
import { type MemoryShare, SMALL_SHARE_BYTES, UNCOUNTED_BYTES } from "../../io/memory-budget.ts";
import { discard } from "../../io/pump.ts";
import { OUT_OF_MEMORY } from "../listener/engine.ts";

/** The connection of a request. */
export interface Http1RequestOwner {
  readonly memory: MemoryShare;
  readonly peer: PeerConnection;
  readonly collecting: Collecting;
  /** The reason why the server aborts its requests; `undefined` before that. */
  readonly aborted: RpcError | undefined;
  /** Fires when the server begins to close. */
  readonly draining: AbortSignal;
  /** True if the client has ended its side of the connection. */
  readonly hasEnded: boolean;
  /** Called when nothing more is sent or received. */
  onRequestClosed(request: ServedHttp1Request): void;
  /** Called before a response begins. */
  beginResponse(): void;
  /** Reports whether the memory budget has this number of bytes for a response. */
  fits(bytes: number): boolean;
  /** Counts the pending output towards the memory budget. Returns false if it does not fit. */
  hold(): boolean;
}

export class ServedHttp1Request implements HttpRequest, ExchangeSink, BodySender {
  readonly method: string;
  readonly path: string;
  readonly version = "1.1";
  readonly headers: Metadata;
  readonly body: Body;
  readonly stream: ServerExchange;
  /** The body, unless its end was received with the head. */
  readonly incoming: IncomingBody<ServerExchange> | undefined;
  readonly #owner: Http1RequestOwner;
  /** The number of bytes of a whole body that are taken from the memory budget. */
  #taken = 0;
  #controller: AbortController | undefined;
  /** True if the response has been passed to the connection, or has failed. */
  #isOver = false;
  #outgoing: OutgoingBody | undefined;

  constructor(owner: Http1RequestOwner, exchange: ServerExchange, head: RequestHead, early: readonly Uint8Array[]) {
    this.#owner = owner;
    this.stream = exchange;
    this.method = head.method;
    this.path = head.path;
    this.headers = Metadata.fromShared(head.fields);
    if (exchange.ended) {
      this.incoming = undefined;
      this.body = early.length === 0 ? emptyBody : wholeBody(concat(early, exchange.unread));
    } else {
      this.incoming = new IncomingBody(exchange, early, owner.collecting, discardRest, owner.memory);
      this.body = head.expects ? onRead(this.incoming, () => exchange.inform()) : this.incoming;
    }
  }

  get peer(): PeerConnection {
    return this.#owner.peer;
  }

  get draining(): AbortSignal {
    return this.#owner.draining;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      const { aborted, hasEnded } = this.#owner;
      if (aborted !== undefined) this.#controller.abort(aborted);
      else if (hasEnded || (this.stream.closed && !this.#isOver)) this.#controller.abort(clientGone());
    }
    return this.#controller.signal;
  }

  /** Takes the memory of a whole body from the budget. Returns false if it does not fit. */
  takeMemory(): boolean {
    const bytes = this.body.whole?.byteLength ?? 0;
    if (bytes <= UNCOUNTED_BYTES) return true;
    if (!this.#owner.memory.take(bytes)) return false;
    this.#taken = bytes;
    return true;
  }

  /** Sends a response. */
  answer(response: HttpResponse): void {
    const exchange = this.stream;
    const { status, headers, body } = response;
    const { whole } = body;
    this.#release();
    if (exchange.closed) {
      this.#isOver = true;
      void discard(body);
    } else if (whole !== undefined && whole.byteLength > SMALL_SHARE_BYTES && !this.#owner.fits(whole.byteLength)) {
      this.answer(OUT_OF_MEMORY);
    } else {
      try {
        this.#owner.beginResponse();
        this.#isOver = whole !== undefined;
        exchange.respond(status, headers, whole);
        if (whole === undefined) this.#send(body);
        else if (whole.byteLength <= SMALL_SHARE_BYTES || this.#owner.hold()) this.#finish();
        else this.fail();
      } catch {
        // For example, a field cannot be sent. The handler that produces the body must end too.
        this.#isOver = false;
        this.abortSignal(clientGone());
        exchange.abort();
        void discard(body);
      }
    }
  }

  #send(body: Body): void {
    this.#outgoing = new OutgoingBody(body, this);
    this.#outgoing.send();
  }

  mayWait(): boolean {
    return this.#owner.hold();
  }

  onSent(isOpen: boolean): void {
    this.#outgoing = undefined;
    this.#isOver = true;
    if (isOpen) this.stream.sendData(NO_BYTES, true);
    this.#finish();
  }

  onSendError(): void {
    this.fail();
  }

  /** Ends the connection of a call whose response is missing or incomplete. */
  fail(): void {
    this.#isOver = true;
    this.#release();
    this.stream.abort();
  }

  /** Stops reading the rest of a request that has been answered. */
  #finish(): void {
    if (!this.stream.ended) this.incoming?.stop(clientGone());
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
    if (!this.#isOver) this.incoming?.stop(reason);
  }

  abortSignal(reason: RpcError): void {
    if (!this.#isOver) this.#controller?.abort(reason);
  }

  onData(bytes: Uint8Array): void {
    this.incoming?.push(bytes);
  }

  onEnd(): void {
    this.incoming?.end();
  }

  onReset(): void {
    this.incoming?.fail(clientGone());
  }

  onDrain(): void {
    this.#outgoing?.onDrain();
  }

  onClosed(): void {
    this.abortSignal(clientGone());
    this.#outgoing?.onClosed();
    this.#owner.onRequestClosed(this);
  }
}

/** Drops the rest of a request whose handler has stopped reading, while the handler runs. */
function discardRest(exchange: ServerExchange): void {
  exchange.discard();
}
