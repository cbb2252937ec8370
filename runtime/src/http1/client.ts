/**
 * The client's role on an HTTP/1.1 connection (RFC 9112) without I/O. A request is sent when the exchange before it is over: requests
 * are not pipelined.
 *
 *     idle ── request ──> head ── status 2xx to 5xx ──> body ── its end ──> idle
 *       └── input without a request, invalid input, its end, or a response that ends the connection ──> over
 *
 * A response may end before its request has been sent (RFC 9112, section 9.5). The connection is over then, too.
 */
import type { SentHead } from "../wire/fields.ts";
import { type ConnectionOptions, MessageConnection, type MessageHandler } from "./connection.ts";
import { MessageError, malformed } from "./error.ts";
import { ClientExchange, type ResponseSink } from "./exchange.ts";
import { UNTIL_CLOSE } from "./framing.ts";
import { HeadReader } from "./head.ts";
import { MAX_INTERIM_HEADS } from "./limits.ts";
import { RESPONSE_SYNTAX, type ResponseHead, type StatusLine } from "./response.ts";

export interface ClientConnectionOptions extends ConnectionOptions {
  /** The value of the field host. */
  readonly host: string;
  /** Limit of the status line and the fields of a response together, in bytes. */
  readonly maxHeadBytes: number;
}

export class ClientConnection extends MessageConnection<ClientExchange, MessageHandler> {
  /** The last response. */
  head: ResponseHead | undefined;
  readonly #host: string;
  readonly #reader: HeadReader<StatusLine, ResponseHead>;
  /** The framing of the body of the response; `undefined` before its head. */
  #length: number | undefined;
  /** Interim responses to the current request. */
  #interim = 0;
  #requests = 0;

  constructor(handler: MessageHandler, options: ClientConnectionOptions) {
    super(handler, options);
    this.#host = options.host;
    this.#reader = new HeadReader(options.maxHeadBytes, RESPONSE_SYNTAX);
  }

  /**
   * Sends a request: its head, and the whole body if it is given. Otherwise data follows by `sendData`. The connection must have no
   * exchange. Throws a `TypeError` for a request that cannot be sent; nothing has been sent then.
   */
  request(head: SentHead, sink: ResponseSink, body: Uint8Array | undefined): ClientExchange {
    this.exchange = new ClientExchange(this, ++this.#requests, sink, this.#host, head, body);
    return this.exchange;
  }

  receive(chunk: Uint8Array): number {
    let at = 0;
    try {
      while (at < chunk.length && !this.isOver) {
        const { exchange } = this;
        // Bytes without a request could be taken for the next response (RFC 9112, sections 6.3 and 11.1).
        if (exchange === undefined) this.lost();
        else if (this.#length === undefined) at = this.#readHead(exchange, chunk, at);
        else at = this.body.read(chunk, at, this.#onData);
        if (this.#length !== undefined && this.body.isEnded) this.#endResponse();
      }
    } catch (reason) {
      this.end(true, reason instanceof MessageError ? reason : undefined);
    }
    return chunk.length;
  }

  #readHead(exchange: ClientExchange, chunk: Uint8Array, start: number): number {
    const reader = this.#reader;
    const at = reader.read(chunk, start);
    const { head } = reader;
    if (head === undefined) return at;
    reader.head = undefined;
    if (head.status < 200) {
      // No request offers another protocol.
      if (head.status === 101) throw malformed("it switches protocols without a request to do so");
      if (++this.#interim > MAX_INTERIM_HEADS) throw malformed("it has too many interim responses");
      return at;
    }
    this.head = head;
    this.#length = exchange.isHead ? 0 : head.length;
    exchange.closes = head.closes || this.#length === UNTIL_CLOSE;
    this.body.start(this.#length);
    exchange.sink.onResponse(head);
    return at;
  }

  readonly #onData = (bytes: Uint8Array): void => {
    this.exchange?.receive(bytes);
    this.pause();
  };

  /** Handles the end of a response. The connection can be used again if nothing of the request is left to send. */
  #endResponse(): void {
    const { exchange } = this;
    this.#length = undefined;
    this.#interim = 0;
    exchange?.end();
    if (exchange === undefined || !exchange.isSent || exchange.closes) this.end(true);
    else if (!this.isOver) {
      this.exchange = undefined;
      this.pause();
      exchange.close();
    }
  }

  receiveEnd(): void {
    if (this.#length === UNTIL_CLOSE) this.#endResponse();
    else this.lost();
  }
}
