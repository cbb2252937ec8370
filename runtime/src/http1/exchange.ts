/**
 * One exchange of a connection, as its user sees it: a message that is received, and the body of one that is sent. Its methods may be
 * called at any time: on a closed exchange they do nothing.
 */
import type { FieldList, SentHead } from "../wire/fields.ts";
import type { Output } from "../wire/output.ts";
import { CHUNKED, UNTIL_CLOSE } from "./framing.ts";
import { MAX_UNREAD_BODY_BYTES, MAX_UNSENT_BODY_BYTES } from "./limits.ts";
import type { RequestHead } from "./request.ts";
import type { ResponseHead } from "./response.ts";
import { Bit, consistsOf } from "./syntax.ts";
import { encodeFields, type Reasons, writeChunk, writeStatusLine, writeText } from "./writer.ts";

/** Receives the events of an exchange. */
export interface ExchangeSink {
  /** Data has been received: a view of the current chunk. The bytes are unread until `consumed` is called. */
  onData(bytes: Uint8Array): void;
  /** The received message has ended. */
  onEnd(): void;
  /** The rest of the message does not follow. */
  onReset(): void;
  /** After `sendData` has returned false: the data has been taken. */
  onDrain(): void;
  /** The last callback, which is always called: nothing more is sent or received. */
  onClosed(): void;
}

/** The connection of an exchange. */
export interface MessageOwner {
  readonly output: Output;
  /** The exchange holds fewer unread bytes. */
  onConsumed(): void;
  /** Sends a large body step by step, and then calls `sent`. */
  send(body: Uint8Array): void;
  /** The message has been written. */
  onSent(): void;
  /** Ends the connection at once. */
  lost(): void;
}

export abstract class MessageExchange<
  Sink extends ExchangeSink = ExchangeSink,
  Owner extends MessageOwner = MessageOwner,
> {
  abstract sink: Sink;
  /** True if the whole message has been received. */
  ended = false;
  /** True if nothing more is sent or received. */
  closed = false;
  /** True if the head of the sent message has been written, and if all of it has. */
  hasBegun = false;
  isSent = false;
  /** True if the connection ends after the exchange. */
  closes = false;
  /** Bytes that have been received and not consumed. */
  unread = 0;
  /** The framing of the sent message: bytes that are left to send, `CHUNKED` or `UNTIL_CLOSE`. */
  protected left = 0;
  /** True if the sent message may have a body. */
  protected hasBody = true;
  protected readonly owner: Owner;
  #isDiscarded = false;
  #isBlocked = false;

  constructor(owner: Owner) {
    this.owner = owner;
  }

  /** True if so much is unread that the connection should not be read. */
  get isFull(): boolean {
    return this.unread > MAX_UNREAD_BODY_BYTES && !this.#isDiscarded;
  }

  /** Takes data from the connection. */
  receive(bytes: Uint8Array): void {
    if (this.#isDiscarded) return;
    this.unread += bytes.length;
    this.sink.onData(bytes);
  }

  /** Reports that the reader has consumed this many bytes. */
  consumed(bytes: number): void {
    this.unread = Math.max(0, this.unread - bytes);
    this.owner.onConsumed();
  }

  /** Drops the rest of the received message. */
  discard(): void {
    this.#isDiscarded = true;
    this.owner.onConsumed();
  }

  /** Returns the field that frames the sent message, with its end. */
  protected framingField(): string {
    if (this.left >= 0) return `content-length: ${this.left}\r\n`;
    return this.left === CHUNKED && this.hasBody ? "transfer-encoding: chunked\r\n" : "";
  }

  /** Sends the body after the head, if it is known. Otherwise it follows by {@link sendData}. */
  protected sendBody(body: Uint8Array | undefined): void {
    if (body === undefined) return;
    if (!this.hasBody || body.length === 0) this.sent();
    else if (body.length > MAX_UNSENT_BODY_BYTES) this.owner.send(body);
    else {
      this.owner.output.payload(body);
      this.sent();
    }
  }

  /** Sends data. Returns false if enough waits to be taken; `onDrain` is called when more is accepted. */
  sendData(bytes: Uint8Array, isEnd: boolean): boolean {
    if (this.closed || !this.hasBegun || this.isSent) return true;
    const { output } = this.owner;
    if (this.hasBody) {
      if (this.left === CHUNKED) {
        if (bytes.length > 0) writeChunk(output, bytes);
        if (isEnd) writeText(output, "0\r\n\r\n");
      } else {
        if (this.left >= 0) {
          // The peer would take other bytes for the rest of this message, or the rest for the next one.
          if (bytes.length > this.left || (isEnd && bytes.length < this.left)) {
            this.owner.lost();
            return true;
          }
          this.left -= bytes.length;
        }
        if (bytes.length > 0) output.payload(bytes);
      }
    }
    if (isEnd) {
      this.sent();
      return true;
    }
    this.#isBlocked = output.bytes > MAX_UNSENT_BODY_BYTES;
    return !this.#isBlocked;
  }

  /** Called when output has been taken. */
  drain(): void {
    if (!this.#isBlocked) return;
    this.#isBlocked = false;
    this.sink.onDrain();
  }

  /** Called when the whole message has been written. */
  sent(): void {
    this.isSent = true;
    this.owner.onSent();
  }

  /** Called when the whole message has been received. */
  end(): void {
    this.ended = true;
    this.sink.onEnd();
  }

  /** Called once, when the connection is done with the exchange. */
  close(): void {
    if (this.closed) return;
    this.closed = true;
    if (!this.ended) this.sink.onReset();
    this.sink.onClosed();
  }
}

const IGNORED: ExchangeSink = { onData() {}, onEnd() {}, onReset() {}, onDrain() {}, onClosed() {} };

/** Values of responses. */
export interface ResponseOptions {
  /** Returns the line of the field date (RFC 9110, section 6.6.1), with its end. */
  readonly dateLine: () => string;
  readonly reasons: Reasons;
}

/** The connection of a server's exchange. */
export interface ServerExchangeOwner extends MessageOwner {
  /** True if the connection ends after the current exchange. */
  readonly isLeaving: boolean;
  readonly options: ResponseOptions;
}

/** A request that is received, and its response. */
export class ServerExchange extends MessageExchange<ExchangeSink, ServerExchangeOwner> {
  sink: ExchangeSink = IGNORED;
  /** The head of the request; `undefined` if it is invalid. */
  readonly #head: RequestHead | undefined;
  /** True if the client waits for 100 (Continue): it has sent no part of the body. */
  #isWaiting: boolean;

  constructor(owner: ServerExchangeOwner, head: RequestHead | undefined, ended: boolean, early: number) {
    super(owner);
    this.#head = head;
    this.ended = ended;
    this.unread = early;
    this.closes = head?.closes ?? true;
    this.#isWaiting = head?.expects === true && !ended && early === 0;
  }

  override receive(bytes: Uint8Array): void {
    this.#isWaiting = false;
    super.receive(bytes);
  }

  override end(): void {
    this.#isWaiting = false;
    super.end();
  }

  /** Sends 100 (Continue) if the client waits for it (RFC 9110, section 10.1.1). */
  inform(): void {
    if (!this.#isWaiting || this.hasBegun || this.closed) return;
    this.#isWaiting = false;
    writeText(this.owner.output, "HTTP/1.1 100 Continue\r\n\r\n");
  }

  /**
   * Sends the response: its head, and the whole body if it is given. Otherwise data follows by {@link sendData}. Throws a
   * `TypeError` for fields that cannot be sent; nothing has been sent then.
   */
  respond(status: number, fields: FieldList, body: Uint8Array | undefined): void {
    if (this.closed || this.hasBegun) return;
    const { output, isLeaving, options } = this.owner;
    const { bytes, length, isDated } = encodeFields(fields);
    // RFC 9112, section 6.3: such responses have no body.
    this.hasBody = this.#head?.method !== "HEAD" && status !== 204 && status !== 304;
    if (this.hasBody) checkLength(length, body);
    this.left = length ?? body?.length ?? (this.#head?.minor === 1 ? CHUNKED : UNTIL_CLOSE);
    // A body that the client has announced and not begun may follow or not: the next request could not be found.
    if (isLeaving || this.#isWaiting || (this.left === UNTIL_CLOSE && this.hasBody)) this.closes = true;
    this.hasBegun = true;
    writeStatusLine(output, status, options.reasons);
    output.payload(bytes);
    // A 204 has no field that frames it (RFC 9110, section 8.6).
    const framing = length !== undefined || status === 204 ? "" : this.framingField();
    const upgrade = status === 426 ? "connection: upgrade\r\n" : "";
    const end = this.closes ? "connection: close\r\n\r\n" : "\r\n";
    writeText(output, (isDated ? "" : options.dateLine()) + framing + upgrade + end);
    this.sendBody(body);
  }

  /** Ends the connection of a response that is incomplete. */
  abort(): void {
    if (!this.closed) this.owner.lost();
  }
}

/** Receives the events of a client's exchange. */
export interface ResponseSink extends ExchangeSink {
  /** The head of the final response has been received. */
  onResponse(head: ResponseHead): void;
}

/** A request that is sent, and its response. */
export class ClientExchange extends MessageExchange<ResponseSink> {
  readonly sink: ResponseSink;
  /** The number of the exchange on its connection. */
  readonly id: number;
  /** True for the method HEAD, whose response has no body. */
  readonly isHead: boolean;

  /** Sends a request, as {@link ServerExchange.respond} a response. Throws a `TypeError` if it cannot be sent. */
  constructor(owner: MessageOwner, id: number, sink: ResponseSink, host: string, head: SentHead, body?: Uint8Array) {
    super(owner);
    const { method, path, headers } = head;
    this.id = id;
    this.sink = sink;
    this.isHead = method === "HEAD";
    if (!consistsOf(method, Bit.Token)) throw new TypeError(`${JSON.stringify(method)} is not a method`);
    if (!consistsOf(path, Bit.Target)) throw new TypeError(`${JSON.stringify(path)} is not a path`);
    const { bytes, length } = encodeFields(headers);
    checkLength(length, body);
    this.left = length ?? body?.length ?? CHUNKED;
    this.hasBegun = true;
    writeText(owner.output, `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\n`);
    owner.output.payload(bytes);
    writeText(owner.output, `${length === undefined ? this.framingField() : ""}\r\n`);
    this.sendBody(body);
  }

  /** Bytes of the body that have not been written. */
  get unsent(): number {
    return this.isSent ? 0 : this.owner.output.bytes;
  }

  /** Ends the exchange, and its connection with it, without `onReset`. */
  reset(): void {
    if (this.closed) return;
    this.ended = true;
    this.owner.lost();
  }
}

/** Throws a `TypeError` for a field content-length that differs from the body. */
function checkLength(length: number | undefined, body: Uint8Array | undefined): void {
  if (body === undefined || length === undefined || length === body.length) return;
  throw new TypeError(`content-length is ${length} for a body of ${body.length} bytes`);
}
