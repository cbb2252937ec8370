/**
 * The server's role on an HTTP/1.1 connection (RFC 9112) without I/O: `receive` takes input, `take` returns output, and `tick`
 * advances time. One request is processed at a time; input after it waits for its response (section 9.3.2).
 *
 *     idle ── bytes ──> head ──> body ──> done ── the response has been sent ──> idle
 *       └── invalid input, its end, a time limit, or a response that ends the connection ──> stopped
 *
 * In the state `body` the response may have been sent already. The rest of the request is then dropped.
 */
import { viewOf } from "../wire/output.ts";
import { type ConnectionOptions, MessageConnection, type MessageHandler } from "./connection.ts";
import { MessageError, malformed } from "./error.ts";
import { type ResponseOptions, ServerExchange, type ServerExchangeOwner } from "./exchange.ts";
import { HeadReader } from "./head.ts";
import { type Http1Limits, MAX_DROPPED_BYTES } from "./limits.ts";
import { REQUEST_SYNTAX, type RequestHead, type RequestLine } from "./request.ts";

/** Receives the events of a connection. */
export interface Http1Handler extends MessageHandler {
  /**
   * Handles a request. `early` is its data in the chunk that contained the end of its head; if `exchange.ended`, it is the
   * whole body. The handler sets `exchange.sink`, which receives all later events, before it responds.
   */
  onRequest(exchange: ServerExchange, head: RequestHead, early: readonly Uint8Array[]): void;
  /** Responds to an invalid request. The connection ends after it. */
  onInvalid(exchange: ServerExchange, error: MessageError): void;
}

export interface ServerConnectionOptions extends ConnectionOptions, ResponseOptions {
  readonly limits: Http1Limits;
}

const State = { Idle: 0, Head: 1, Body: 2, Done: 3, Stopped: 4 } as const;

export class ServerConnection extends MessageConnection<ServerExchange, Http1Handler> implements ServerExchangeOwner {
  readonly options: ServerConnectionOptions;
  /** True if the current request is the last one. */
  isLeaving = false;
  /** Bytes of input that wait for the end of the current exchange. */
  waiting = 0;
  readonly #reader: HeadReader<RequestLine, RequestHead>;
  #state: number = State.Idle;
  #rest: Uint8Array[] = [];
  #isReading = false;
  /** True if the client has ended its side. */
  #hasEnded = false;
  #hasServed = false;
  #dropped = 0;
  /** Time in the state idle, or since the beginning of the request; -1 until the next tick. */
  #elapsed = -1;

  constructor(handler: Http1Handler, options: ServerConnectionOptions) {
    super(handler, options);
    this.options = options;
    this.#reader = new HeadReader(options.limits.headBytes, REQUEST_SYNTAX);
  }

  receive(chunk: Uint8Array): number {
    this.#read(chunk);
    return chunk.length;
  }

  /** Complete requests are still answered. */
  receiveEnd(): void {
    this.#hasEnded = true;
    if (this.waiting === 0) this.#endInput();
  }

  #endInput(): void {
    if (this.#state === State.Body || this.#reader.isMidway) this.#fail(malformed());
    else if (this.exchange === undefined) this.end(false);
  }

  #read(chunk: Uint8Array): void {
    let at = 0;
    this.#isReading = true;
    try {
      while (at < chunk.length && this.#state < State.Done) {
        at = this.#state === State.Body ? this.#readBody(chunk, at) : this.#readHead(chunk, at);
      }
    } catch (reason) {
      if (reason instanceof MessageError) this.#fail(reason);
      else this.lost();
    }
    this.#isReading = false;
    if (this.#state === State.Done && at < chunk.length) this.#keep(at === 0 ? chunk : viewOf(chunk, at, chunk.length));
  }

  #keep(rest: Uint8Array): void {
    this.#rest.push(rest);
    this.waiting += rest.length;
    this.pause();
  }

  #readHead(chunk: Uint8Array, start: number): number {
    const reader = this.#reader;
    const at = reader.read(chunk, start);
    const { head } = reader;
    if (head === undefined) {
      if (this.#state === State.Idle && reader.isMidway) this.#enter(State.Head);
      return at;
    }
    reader.head = undefined;
    if (this.#state === State.Idle) this.#elapsed = -1;
    this.#hasServed = true;
    return this.#begin(head, chunk, at);
  }

  #begin(head: RequestHead, chunk: Uint8Array, at: number): number {
    const early: Uint8Array[] = [];
    let unread = 0;
    this.body.start(head.length);
    const end = this.body.read(chunk, at, (bytes) => {
      early.push(bytes);
      unread += bytes.length;
    });
    const exchange = new ServerExchange(this, head, this.body.isEnded, unread);
    this.exchange = exchange;
    this.#state = exchange.ended ? State.Done : State.Body;
    this.handler.onRequest(exchange, head, early);
    this.pause();
    return end;
  }

  #readBody(chunk: Uint8Array, at: number): number {
    const end = this.body.read(chunk, at, this.#onData);
    if (this.body.isEnded && this.#state === State.Body) {
      this.#state = State.Done;
      this.exchange?.end();
      this.#next();
    }
    return end;
  }

  readonly #onData = (bytes: Uint8Array): void => {
    const exchange = this.exchange;
    if (exchange?.isSent === false) {
      exchange.receive(bytes);
      this.pause();
    } else {
      this.#dropped += bytes.length;
      if (this.#dropped > MAX_DROPPED_BYTES) this.lost();
    }
  };

  override onSent(): void {
    if (this.exchange?.closes || this.#state === State.Stopped) this.end(false);
    else this.#next();
  }

  /** Begins to read the next request, if both halves of the current exchange have ended. */
  #next(): void {
    const exchange = this.exchange;
    if (exchange?.isSent !== true || this.#state !== State.Done) {
      this.pause();
      return;
    }
    this.exchange = undefined;
    this.#dropped = 0;
    this.#enter(State.Idle);
    exchange.close();
    // Otherwise the loop that reads continues.
    if (!this.#isReading) this.#continue();
  }

  /** Continues with the input that waits. */
  #continue(): void {
    while (this.#rest.length > 0 && this.#state < State.Done) {
      const rest = this.#rest;
      const chunk = rest.shift() as Uint8Array;
      this.waiting -= chunk.length;
      this.#rest = [];
      this.#read(chunk);
      this.#rest.push(...rest);
    }
    if (this.#rest.length === 0 && this.#hasEnded) this.#endInput();
    this.pause();
  }

  #enter(state: number): void {
    this.#state = state;
    this.#elapsed = -1;
  }

  protected override get isFull(): boolean {
    const { exchange } = this;
    return this.#state !== State.Stopped && (this.waiting > 0 || (exchange?.isFull === true && !exchange.isSent));
  }

  /** Stops to read input. What is received later is ignored, because the start of a request cannot be found any more. */
  #stop(): void {
    this.#state = State.Stopped;
    this.#rest = [];
    this.waiting = 0;
    this.pause();
  }

  /** Answers invalid input, unless the response has begun, and ends the connection. */
  #fail(error: MessageError): void {
    if (this.#state === State.Stopped) return;
    this.#stop();
    const exchange = this.exchange;
    if (exchange?.hasBegun) {
      exchange.closes = true;
      if (exchange.isSent) this.end(false);
      else exchange.sink.onReset();
      return;
    }
    const answer = new ServerExchange(this, undefined, true, 0);
    this.exchange = answer;
    exchange?.close();
    this.handler.onInvalid(answer, error);
  }

  protected override onEnd(): void {
    this.#stop();
  }

  /** Advances time. Ends the connection of a client that exceeds a limit, with 408 if a request has begun. */
  tick(elapsedMs: number): void {
    if (this.#state >= State.Done) return;
    this.#elapsed = this.#elapsed < 0 ? 0 : this.#elapsed + elapsedMs;
    const { headMs, requestMs, idleMs } = this.options.limits;
    if (this.#state === State.Idle) {
      if (this.#elapsed > (this.#hasServed ? idleMs : headMs)) this.end(false);
    } else if (this.#elapsed > (this.#state === State.Head ? Math.min(headMs, requestMs) : requestMs)) {
      this.#fail(new MessageError(408, "the request did not arrive in time"));
    }
  }

  /** Lets the current exchange be the last one, and ends the connection if there is none. */
  leave(): void {
    this.isLeaving = true;
    const exchange = this.exchange;
    if (exchange?.isSent || (exchange === undefined && !this.#reader.isMidway)) this.end(false);
    else if (exchange?.hasBegun) exchange.closes = true;
  }
}
