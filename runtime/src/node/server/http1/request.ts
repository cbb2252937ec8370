/**
 * A request of `node:http` as a request of an exchange.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { Metadata } from "../../../call/metadata.ts";
import type { PeerConnection } from "../../../call/peer.ts";
import { type Body, onRead } from "../../../http/body.ts";
import { clientGone, type HttpRequest } from "../../../http/exchange.ts";
import { ReadableBody, type ReadableBodyOptions } from "../../io/body.ts";
import { lowerNames } from "../../io/http1-fields.ts";
import type { MemoryShare } from "../../io/memory-budget.ts";
import { peerOf } from "../peer.ts";
import type { ExchangeSignals } from "../signals.ts";

/** Options for reading a request body. The part that is not read is discarded. */
const HTTP1_BODY_OPTIONS: ReadableBodyOptions = { lost: clientGone, cancel: () => {}, cutOff: () => false };

/** A request of `node:http`. */
export class Http1Request implements HttpRequest {
  readonly method: string;
  readonly path: string;
  readonly version = "1.1";
  readonly headers: Metadata;
  readonly body: Body;
  /** The body as it is received. */
  readonly received: ReadableBody;
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
  readonly #signals: ExchangeSignals;
  #signal: AbortSignal | undefined;

  constructor(
    incoming: IncomingMessage,
    outgoing: ServerResponse,
    signals: ExchangeSignals,
    path: string,
    memory?: MemoryShare,
    begin?: () => void,
  ) {
    this.method = incoming.method ?? "";
    this.path = path;
    this.headers = Metadata.fromRaw(lowerNames(incoming.rawHeaders));
    this.received = new ReadableBody(incoming, HTTP1_BODY_OPTIONS, memory);
    this.body = begin === undefined ? this.received : onRead(this.received, begin);
    this.incoming = incoming;
    this.outgoing = outgoing;
    this.#signals = signals;
  }

  get peer(): PeerConnection {
    return peerOf(this.incoming.socket, "h1");
  }

  get draining(): AbortSignal | undefined {
    return this.#signals.draining;
  }

  get signal(): AbortSignal {
    this.#signal ??= this.#signals.create(this.outgoing, this.incoming.socket);
    return this.#signal;
  }
}
