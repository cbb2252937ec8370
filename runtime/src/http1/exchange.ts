/**
 * One exchange of a server's connection, as its user sees it: the state of the request's body, and the response. Its methods may be
 * called at any time: on a closed exchange they do nothing.
 */
import type { FieldList } from "../wire/fields.ts";
import type { Output } from "../wire/output.ts";
import { CHUNKED, UNTIL_CLOSE } from "./framing.ts";
import { MAX_UNREAD_BODY_BYTES, MAX_UNSENT_BODY_BYTES } from "./limits.ts";
import type { RequestHead } from "./request.ts";
import { encodeFields, writeChunk, writeStatusLine, writeText } from "./writer.ts";

/** Receives the events of an exchange. */
export interface ExchangeSink {
  /** Data has been received: a view of the current chunk. The bytes are unread until `consumed` is called. */
  onData(bytes: Uint8Array): void;
  /** The request has ended. */
  onEnd(): void;
  /** The rest of the request does not follow. */
  onReset(): void;
  /** After `sendData` has returned false: the data has been taken. */
  onDrain(): void;
  /** The last callback, which is always called: nothing more is sent or received. */
  onClosed(): void;
}

/** The connection of an exchange. */
export interface ServerExchangeOwner {
  readonly output: Output;
  /** True if the connection ends after the current exchange. */
  readonly isLeaving: boolean;
  /** Returns the line of the field date, with its end. */
  readonly dateLine: () => string;
  /** The exchange holds fewer unread bytes. */
  onConsumed(): void;
  /** Sends a large body step by step, and then calls `sent`. */
  send(body: Uint8Array): void;
  /** The response has been written. */
  onSent(): void;
  /** Ends the connection at once. */
  lost(): void;
}

const IGNORED: ExchangeSink = { onData() {}, onEnd() {}, onReset() {}, onDrain() {}, onClosed() {} };

export class ServerExchange {
  sink: ExchangeSink = IGNORED;
  /** True if the whole request has been received. */
  ended: boolean;
  /** True if nothing more is sent or received. */
  closed = false;
  /** True if the head of the response has been written, and if all of it has. */
  hasBegun = false;
  isSent = false;
  /** True if the connection ends after the response. */
  closes: boolean;
  /** Bytes that have been received and not consumed. */
  unread = 0;
  readonly #owner: ServerExchangeOwner;
  /** The head of the request; `undefined` if it is invalid. */
  readonly #head: RequestHead | undefined;
  /** True if the client waits for 100 (Continue): it has sent no part of the body. */
  #isWaiting: boolean;
  #isDiscarded = false;
  #isBlocked = false;
  /** The framing of the response: bytes that are left to send, `CHUNKED` or `UNTIL_CLOSE`. */
  #left = 0;
  #hasBody = true;

  constructor(owner: ServerExchangeOwner, head: RequestHead | undefined, ended: boolean, early: number) {
    this.#owner = owner;
    this.#head = head;
    this.ended = ended;
    this.unread = early;
    this.closes = head?.closes ?? true;
    this.#isWaiting = head?.expects === true && !ended && early === 0;
  }

  /** Bytes that wait to be taken. */
  get unsent(): number {
    return this.#owner.output.bytes;
  }

  /** True if so much is unread that the connection should not be read. */
  get isFull(): boolean {
    return this.unread > MAX_UNREAD_BODY_BYTES && !this.#isDiscarded && !this.isSent;
  }

  /** Takes data of the request from the connection. */
  receive(bytes: Uint8Array): void {
    this.#isWaiting = false;
    if (this.#isDiscarded) return;
    this.unread += bytes.length;
    this.sink.onData(bytes);
  }

  /** Reports that the reader has consumed this many bytes. */
  consumed(bytes: number): void {
    this.unread = Math.max(0, this.unread - bytes);
    this.#owner.onConsumed();
  }

  /** Drops the rest of the request. */
  discard(): void {
    this.#isDiscarded = true;
    this.#owner.onConsumed();
  }

  /** Sends 100 (Continue) if the client waits for it (RFC 9110, section 10.1.1). */
  inform(): void {
    if (!this.#isWaiting || this.hasBegun || this.closed) return;
    this.#isWaiting = false;
    writeText(this.#owner.output, "HTTP/1.1 100 Continue\r\n\r\n");
  }

  /**
   * Sends the response: its head, and the whole body if it is given. Otherwise data follows by {@link sendData}. Throws a
   * `TypeError` for fields that cannot be sent; nothing has been sent then.
   */
  respond(status: number, fields: FieldList, body: Uint8Array | undefined): void {
    if (this.closed || this.hasBegun) return;
    const { output, isLeaving, dateLine } = this.#owner;
    const { bytes, length, isDated } = encodeFields(fields);
    // RFC 9112, section 6.3: such responses have no body.
    this.#hasBody = this.#head?.method !== "HEAD" && status !== 204 && status !== 304;
    if (this.#hasBody && body !== undefined && length !== undefined && length !== body.length) {
      throw new TypeError(`content-length is ${length} for a body of ${body.length} bytes`);
    }
    // A body that the client has announced and not begun may follow or not: the next request could not be found.
    if (isLeaving || this.#isWaiting) this.closes = true;
    this.#left = length ?? body?.length ?? (this.#head?.minor === 1 ? CHUNKED : UNTIL_CLOSE);
    if (this.#left === UNTIL_CLOSE && this.#hasBody) this.closes = true;
    this.hasBegun = true;
    writeStatusLine(output, status);
    output.payload(bytes);
    const date = isDated ? "" : dateLine();
    writeText(output, date + this.#framing(status, length) + (this.closes ? "connection: close\r\n\r\n" : "\r\n"));
    if (body === undefined) return;
    if (!this.#hasBody || body.length === 0) this.#onSent();
    else if (body.length > MAX_UNSENT_BODY_BYTES) this.#owner.send(body);
    else {
      output.payload(body);
      this.#onSent();
    }
  }

  /** Returns the field that frames the response, unless its fields do. A 204 has none (RFC 9110, section 8.6). */
  #framing(status: number, length: number | undefined): string {
    if (length !== undefined || status === 204 || this.#left === UNTIL_CLOSE) return "";
    if (this.#left !== CHUNKED) return `content-length: ${this.#left}\r\n`;
    return this.#hasBody ? "transfer-encoding: chunked\r\n" : "";
  }

  /** Sends data. Returns false if enough waits to be taken; `onDrain` is called when more is accepted. */
  sendData(bytes: Uint8Array, isEnd: boolean): boolean {
    if (this.closed || !this.hasBegun || this.isSent) return true;
    const { output } = this.#owner;
    if (this.#hasBody) {
      if (this.#left === CHUNKED) {
        if (bytes.length > 0) writeChunk(output, bytes);
        if (isEnd) writeText(output, "0\r\n\r\n");
      } else {
        if (this.#left >= 0) {
          // The client would take other bytes for the rest of this response, or the rest for the next one.
          if (bytes.length > this.#left || (isEnd && bytes.length < this.#left)) {
            this.#owner.lost();
            return true;
          }
          this.#left -= bytes.length;
        }
        if (bytes.length > 0) output.payload(bytes);
      }
    }
    if (isEnd) {
      this.#onSent();
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

  /** Called when a large body has been sent. */
  sent(): void {
    this.#onSent();
  }

  #onSent(): void {
    this.isSent = true;
    this.#owner.onSent();
  }

  /** Ends the connection of a response that is incomplete. */
  abort(): void {
    if (!this.closed) this.#owner.lost();
  }

  /** Called when the whole request has been received. */
  end(): void {
    this.ended = true;
    this.#isWaiting = false;
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
