/**
 * One exchange of a client: on a stream of an HTTP/2 connection, or on an HTTP/1.1 connection.
 */
import { NO_BYTES } from "../call/bytes.ts";
import { Code } from "../call/code.ts";
import { reportConnection } from "../call/diagnostics.ts";
import { RpcError } from "../call/error.ts";
import { Metadata } from "../call/metadata.ts";
import { now } from "../call/platform.ts";
import { onAbort } from "../call/timer.ts";
import type { Body } from "../http/body.ts";
import type { ExchangeObserver, HttpRequest, HttpResponse, OnResponseEnd, ResponseEnd } from "../http/exchange.ts";
import { ExchangeFailure } from "../http/transparent-retry.ts";
import { ErrorCode } from "../http2/codes.ts";
import { MAX_HEADER_BYTES } from "../http2/limits.ts";
import type { ResetBy, Stream, StreamSink } from "../http2/stream.ts";
import type { Collecting } from "./collecting.ts";
import { hostileServer, resetError } from "./error.ts";
import { IncomingBody } from "./incoming-body.ts";
import { type BodySender, OutgoingBody } from "./outgoing-body.ts";

/** The connection of an exchange. */
export interface ExchangeOwner {
  readonly collecting: Collecting;
  /** The server, for messages. */
  readonly peer: string;
  /** False if the end of an exchange may be that of the connection, which tells nothing about the response. */
  readonly open: boolean;
  /** True if this side has destroyed the connection. */
  readonly isDestroyed: boolean;
  /** Returns the error for exchanges that were open when the connection ended. */
  lost(): RpcError;
  /** Returns fields that were received as frozen metadata: the same object for the same list. */
  metadataOf(fields: readonly string[]): Metadata;
  onExchangeClosed(exchange?: ConnectionExchange): void;
}

/** The stream of an exchange. Over HTTP/1.1, its id is the number of the exchange on the connection. */
type ExchangeStream = Pick<Stream, "id" | "closed" | "unsent" | "sendData" | "consumed" | "reset">;

export class ConnectionExchange implements StreamSink, BodySender {
  readonly response: Promise<HttpResponse>;
  stream!: ExchangeStream;
  readonly #owner: ExchangeOwner;
  #resolve!: (response: HttpResponse | Promise<HttpResponse>) => void;
  #rejectResponse!: (reason: RpcError | ExchangeFailure) => void;
  /** The request, for the observer. `undefined` after the outcome. */
  #request: HttpRequest | undefined;
  readonly #observer: ExchangeObserver | undefined;
  readonly #onEnd: OnResponseEnd | undefined;
  /** The request, for the receiver of the response's end. `undefined` if there is none. */
  readonly #sent: HttpRequest | undefined;
  #unlink: (() => void) | undefined;
  #received: ReceivedResponse | undefined;
  #body: IncomingBody<ExchangeStream> | undefined;
  #outgoing: OutgoingBody | undefined;
  #end: ResponseEnd = "unknown";

  constructor(
    owner: ExchangeOwner,
    request: HttpRequest,
    observer: ExchangeObserver | undefined,
    onEnd?: OnResponseEnd,
  ) {
    this.#owner = owner;
    this.#request = request;
    this.#observer = observer;
    this.#onEnd = onEnd;
    if (onEnd !== undefined) this.#sent = request;
    this.response = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#rejectResponse = reject;
    });
  }

  /** Fails an exchange for which no stream could be opened. Returns its outcome. */
  refuse(reason: RpcError | ExchangeFailure): Promise<HttpResponse> {
    this.#reject(reason);
    return this.response;
  }

  /** Ends the exchange without a response. No effect if it has one already, or has failed. */
  #reject(reason: RpcError | ExchangeFailure): void {
    const request = this.#request;
    if (request === undefined) return;
    this.#request = undefined;
    const observer = this.#observer;
    if (observer === undefined) this.#rejectResponse(reason);
    // In a microtask of its own, because the engine is in the middle of its work and the observer may call hooks of the user.
    else this.#resolve(Promise.resolve().then(() => observer.onFailure(request, reason)));
  }

  /** Cancels the exchange when the signal fires, until the stream closes. */
  follow(signal: AbortSignal): void {
    this.#unlink = onAbort(signal, (error) => this.fail(error));
  }

  /** Sends a body in chunks, and ends the request. */
  send(body: Body): void {
    this.#outgoing = new OutgoingBody(body, this);
    this.#outgoing.send();
  }

  onSent(isOpen: boolean): void {
    this.#outgoing = undefined;
    if (isOpen) this.stream.sendData(NO_BYTES, true);
  }

  onSendError(reason: unknown): void {
    this.#outgoing = undefined;
    this.fail(RpcError.from(reason, Code.Internal));
  }

  /** Fails the exchange and resets the stream with CANCEL. */
  fail(reason: RpcError): void {
    const { peer } = this.#owner;
    reportConnection("client", "reset", peer, () => `reset stream ${this.stream.id} to ${peer}: ${reason.message}`);
    this.#reject(reason);
    this.#body?.fail(reason);
    this.stream.reset(ErrorCode.Cancel);
  }

  onResponse(block: { readonly status: number; readonly fields: readonly string[] }): void {
    const { status, fields } = block;
    const body = new IncomingBody(this.stream, [], this.#owner.collecting, cancelStream);
    this.#body = body;
    this.#received = { status, headers: this.#owner.metadataOf(fields), body, trailers: NO_METADATA };
    const { context } = this.#request as HttpRequest;
    if (context?.sentAt !== undefined) context.respondedAt = now();
    this.#request = undefined;
    this.#resolve(this.#received);
  }

  onData(bytes: Uint8Array): void {
    this.#body?.push(bytes);
  }

  onEnd(trailers?: readonly string[]): void {
    this.#end = "complete";
    if (trailers !== undefined && this.#received !== undefined) {
      this.#received.trailers = this.#owner.metadataOf(trailers);
    }
    this.#body?.end();
    // The end of the response ends the exchange, even if the request has not been sent completely.
    if (this.#outgoing !== undefined || this.stream.unsent > 0) this.stream.reset(ErrorCode.Cancel);
  }

  /** Without arguments, the connection has ended. */
  onReset(code = 0, by: ResetBy = "connection", isUnprocessed = false): void {
    const error = this.#errorOf(code, by);
    this.#end = error;
    if (by !== "connection") {
      const { peer } = this.#owner;
      const text = (): string => `stream ${this.stream.id} to ${peer} was reset with HTTP/2 code ${code} by ${by}`;
      reportConnection("client", "reset", peer, text);
    }
    const unprocessed = by === "peer" ? "refused" : this.stream.id === 0 ? "queued" : "unprocessed";
    this.#reject(new ExchangeFailure(error, isUnprocessed ? unprocessed : "unknown"));
    this.#body?.fail(error);
    if (this.#owner.isDestroyed) this.#body?.drop();
  }

  #errorOf(code: number, by: ResetBy): RpcError {
    if (by === "connection") return this.#owner.lost();
    if (by === "peer") return resetError(code);
    const what = this.#received === undefined ? "headers" : "trailers";
    if (code === ErrorCode.EnhanceYourCalm) {
      return new RpcError(
        Code.ResourceExhausted,
        `the ${what} of the response are larger than the limit of ${MAX_HEADER_BYTES} bytes`,
      );
    }
    if (code !== ErrorCode.ProtocolError) return hostileServer("broke the rules of HTTP/2");
    return new RpcError(Code.Internal, "the response is malformed (RFC 9113, section 8.1.1)");
  }

  onDrain(): void {
    this.#outgoing?.onDrain();
  }

  onClosed(): void {
    this.#unlink?.();
    this.#outgoing?.onClosed();
    if (this.#received !== undefined)
      this.#onEnd?.(this.#sent as HttpRequest, this.#received, this.#owner.open ? this.#end : "closing");
    this.#owner.onExchangeClosed(this);
  }
}

const cancelStream = (stream: ExchangeStream): void => stream.reset(ErrorCode.Cancel);
export const NO_METADATA: Metadata = new Metadata().freeze();

/** A response whose trailers follow. */
interface ReceivedResponse extends HttpResponse {
  trailers: Metadata;
}
