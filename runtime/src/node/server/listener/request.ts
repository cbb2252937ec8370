/**
 * A request of a client, whatever the version of HTTP, and the responses that engines create without a protocol.
 */
import { concat } from "../../../call/bytes.ts";
import { Code, Status } from "../../../call/code.ts";
import { clientGone, RpcError } from "../../../call/error.ts";
import { Metadata } from "../../../call/metadata.ts";
import type { PeerConnection } from "../../../call/peer.ts";
import type { Collecting } from "../../../connection/collecting.ts";
import { IncomingBody } from "../../../connection/incoming-body.ts";
import { type MemoryShare, outOfMemory, UNCOUNTED_BYTES } from "../../../connection/memory-budget.ts";
import type { OutgoingBody } from "../../../connection/outgoing-body.ts";
import { type Body, emptyBody, onRead, WholeBody } from "../../../http/body.ts";
import type { HttpRequest, HttpResponse } from "../../../http/exchange.ts";
import type { MessageError } from "../../../http1/error.ts";
import type { Stream } from "../../../http2/stream.ts";
import { errorBody } from "../../../protocol/error.ts";
import { CALL_TYPE } from "../../../protocol/headers.ts";

/** The part of a stream, or of an exchange over HTTP/1.1, that requests of both versions use. */
type RequestStream = Pick<Stream, "ended" | "closed" | "inform" | "consumed" | "discard">;

/** The connection of a request. */
export interface ReceivedRequestOwner {
  readonly memory: MemoryShare;
  readonly peer: PeerConnection;
  readonly collecting: Collecting;
  /** The reason why running requests are aborted. `undefined`: they are not. */
  readonly aborted: RpcError | undefined;
  /** Fires when the server begins to close. */
  readonly draining: AbortSignal;
  /** Reports whether the memory budget has this number of bytes for a response. */
  fits(bytes: number): boolean;
  /** Counts the pending bytes towards the memory budget. Returns false, and does not count them, if they do not fit. */
  hold(): boolean;
}

/** A request, from its head until the end of its exchange. */
export abstract class ReceivedRequest<
  S extends RequestStream = RequestStream,
  Owner extends ReceivedRequestOwner = ReceivedRequestOwner,
> implements HttpRequest
{
  abstract readonly version: HttpRequest["version"];
  readonly method: string;
  readonly path: string;
  readonly headers: Metadata;
  readonly body: Body;
  readonly stream: S;
  /** The body, unless its end was received with the head. */
  readonly incoming: IncomingBody<S> | undefined;
  protected readonly owner: Owner;
  /** True if the response has been passed to the connection, or the exchange has failed. */
  isOver = false;
  protected outgoing: OutgoingBody | undefined;
  /** The number of bytes of a whole body, or of what it inflates to, that are taken from the memory budget. */
  #taken = 0;
  #controller: AbortController | undefined;

  /** `expects`: the client waits for 100 (Continue). */
  constructor(
    owner: Owner,
    stream: S,
    head: { readonly method: string; readonly path: string; readonly fields: readonly string[] },
    early: readonly Uint8Array[],
    expects: boolean,
  ) {
    this.owner = owner;
    this.stream = stream;
    this.method = head.method;
    this.path = head.path;
    this.headers = Metadata.fromRaw(head.fields);
    if (stream.ended) {
      this.incoming = undefined;
      this.body = early.length === 0 ? emptyBody : new WholeBody(joined(stream, early));
    } else {
      this.incoming = new IncomingBody(stream, early, owner.collecting, discardRest, owner.memory);
      this.body = expects ? onRead(this.incoming, () => stream.inform()) : this.incoming;
    }
  }

  get peer(): PeerConnection {
    return this.owner.peer;
  }

  get draining(): AbortSignal {
    return this.owner.draining;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      const { aborted } = this.owner;
      if (aborted !== undefined) this.#controller.abort(aborted);
      else if (this.isGone) this.#controller.abort(clientGone());
    }
    return this.#controller.signal;
  }

  get isAborted(): boolean {
    return this.#controller?.signal.aborted ?? (this.owner.aborted !== undefined || this.isGone);
  }

  /** True if the client has cancelled the call. */
  protected get isGone(): boolean {
    return this.stream.closed && !this.isOver;
  }

  /** Sends a response. */
  abstract answer(response: HttpResponse): void;

  /** Ends a call whose response is missing or incomplete. */
  abstract fail(): void;

  /** Answers a request that exceeds the memory budget, or whose response does; gRPC with trailers only. */
  refuse(): void {
    const type = this.headers.get("content-type") ?? "";
    const headers = Metadata.fromRaw(["content-type", type, ...GRPC_OUT_OF_MEMORY]);
    this.answer(CALL_TYPE.test(type) ? { ...OUT_OF_MEMORY, status: 200, headers, body: emptyBody } : OUT_OF_MEMORY);
  }

  /** Takes the memory of a whole body from the budget. Returns false if it does not fit. */
  takeMemory(): boolean {
    const bytes = this.body.whole?.length ?? 0;
    if (bytes <= UNCOUNTED_BYTES) return true;
    if (!this.owner.memory.take(bytes)) return false;
    this.#taken = bytes;
    return true;
  }

  inflated(bytes: number): void {
    if (this.isOver) return;
    if (!this.owner.memory.replace(this.#taken, bytes)) throw outOfMemory();
    this.#taken = bytes;
  }

  /** Releases the memory of the request. */
  protected release(): void {
    this.incoming?.release();
    if (this.#taken === 0) return;
    this.owner.memory.release(this.#taken);
    this.#taken = 0;
  }

  /** Aborts the call: fires its signal, and fails readers that wait for more of the request. */
  abort(reason: RpcError): void {
    this.abortSignal(reason);
    if (!this.isOver) this.incoming?.stop(reason);
  }

  /** Fires the signal of the call. Default reason: the client is gone, an error that most requests never create. */
  abortSignal(reason?: RpcError): void {
    if (!this.isOver) this.#controller?.abort(reason ?? clientGone());
  }

  mayWait(): boolean {
    return this.owner.hold();
  }

  onData(bytes: Uint8Array): void {
    this.incoming?.push(bytes);
  }

  onDrain(): void {
    this.outgoing?.onDrain();
  }
}

/** Drops the rest of a request whose handler has stopped reading, while the handler runs. */
const discardRest = (stream: RequestStream): void => stream.discard(Number.POSITIVE_INFINITY);

/** Joins the chunks of a body that was received with its head, and gives the client the same flow-control credit again. */
function joined(stream: RequestStream, chunks: readonly Uint8Array[]): Uint8Array {
  let length = 0;
  for (const chunk of chunks) length += chunk.length;
  stream.consumed(length);
  return concat(chunks, length);
}

/**
 * Creates the response to a request that an engine refuses before or after a protocol handles it. The body is the error body
 * of sub-protocol A. gRPC clients use the HTTP status if there is no `grpc-status`.
 */
function errorResponse(httpStatus: number, error: RpcError, fields: readonly string[] = []): HttpResponse {
  const { status = Status.ServiceError, rawMessage, code } = error;
  const body = errorBody(status, rawMessage, code);
  return {
    status: httpStatus,
    headers: Metadata.fromRaw(["content-type", "application/json", ...fields]).freeze(),
    body: new WholeBody(Buffer.from(JSON.stringify(body))),
    trailers: new Metadata().freeze(),
  };
}

const { code, rawMessage } = outOfMemory();
const GRPC_OUT_OF_MEMORY = ["grpc-status", `${code}`, "grpc-message", rawMessage];
const OUT_OF_MEMORY: HttpResponse = errorResponse(503, outOfMemory());

/** The codes of statuses that engines answer with; `unimplemented` for others. */
const CODE_OF_ANSWER: Readonly<Record<number, Code>> = {
  400: Code.InvalidArgument,
  403: Code.PermissionDenied,
  408: Code.DeadlineExceeded,
  417: Code.InvalidArgument,
  431: Code.ResourceExhausted,
  503: Code.Unavailable,
};

/** Creates the response to a request that an engine refuses because of its head. */
export function refusal({ status: httpStatus, message, fields }: MessageError): HttpResponse {
  const status = httpStatus === 408 ? Status.ServerTimeout : Status.BadRequest;
  const error = new RpcError(CODE_OF_ANSWER[httpStatus] ?? Code.Unimplemented, message, { status });
  return errorResponse(httpStatus, error, fields);
}
