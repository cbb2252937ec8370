/**
 * A request over HTTP/1.1, from its head until the end of its exchange, and its response.
 */
import { NO_BYTES } from "../../../call/bytes.ts";
import { clientGone } from "../../../call/error.ts";
import { SMALL_SHARE_BYTES } from "../../../connection/memory-budget.ts";
import { type BodySender, OutgoingBody } from "../../../connection/outgoing-body.ts";
import type { Body } from "../../../http/body.ts";
import type { HttpResponse } from "../../../http/exchange.ts";
import type { ExchangeSink, ServerExchange } from "../../../http1/exchange.ts";
import type { RequestHead } from "../../../http1/request.ts";
import { discard } from "../../io/body.ts";
import { ReceivedRequest, type ReceivedRequestOwner } from "../listener/request.ts";

/** The connection of a request. */
export interface Http1RequestOwner extends ReceivedRequestOwner {
  /** True if the client has ended its side of the connection. */
  readonly hasEnded: boolean;
  /** Called when nothing more is sent or received. */
  onRequestClosed(): void;
  /** Called before a response begins. */
  beginResponse(): void;
}

export class ServedHttp1Request
  extends ReceivedRequest<ServerExchange, Http1RequestOwner>
  implements ExchangeSink, BodySender
{
  readonly version = "1.1";
  readonly memo: RequestHead;

  constructor(owner: Http1RequestOwner, exchange: ServerExchange, head: RequestHead, early: readonly Uint8Array[]) {
    super(owner, exchange, head, early, head.expects);
    this.memo = head;
  }

  protected override get isGone(): boolean {
    return this.owner.hasEnded || super.isGone;
  }

  answer(response: HttpResponse): void {
    const exchange = this.stream;
    const { status, headers, body } = response;
    const { whole } = body;
    this.release();
    if (exchange.closed) {
      this.isOver = true;
      void discard(body);
    } else if (whole !== undefined && whole.byteLength > SMALL_SHARE_BYTES && !this.owner.fits(whole.byteLength)) {
      this.refuse();
    } else {
      try {
        this.owner.beginResponse();
        this.isOver = whole !== undefined;
        exchange.respond(status, headers, whole);
        if (whole === undefined) this.#send(body);
        else if (whole.byteLength <= SMALL_SHARE_BYTES || this.owner.hold()) this.#finish();
        else this.fail();
      } catch {
        // For example, a field cannot be sent. The handler that produces the body must end too.
        this.isOver = false;
        this.abortSignal();
        exchange.abort();
        void discard(body);
      }
    }
  }

  #send(body: Body): void {
    this.outgoing = new OutgoingBody(body, this);
    this.outgoing.send();
  }

  onSent(isOpen: boolean): void {
    this.outgoing = undefined;
    this.isOver = true;
    if (isOpen) this.stream.sendData(NO_BYTES, true);
    this.#finish();
  }

  onSendError(): void {
    this.fail();
  }

  /** Ends the connection of a call whose response is missing or incomplete. */
  fail(): void {
    this.isOver = true;
    this.release();
    this.stream.abort();
  }

  /** Stops reading the rest of a request that has been answered. */
  #finish(): void {
    this.release();
    if (!this.stream.ended) this.incoming?.stop(clientGone());
  }

  onEnd(): void {
    this.incoming?.end();
  }

  onReset(): void {
    this.incoming?.fail(clientGone());
  }

  onClosed(): void {
    this.abortSignal();
    this.outgoing?.onClosed();
    this.owner.onRequestClosed();
  }
}
