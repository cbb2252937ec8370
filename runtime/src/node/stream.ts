/**
 * One exchange on a stream of a client's HTTP/2 session: what is sent, what comes back, and the limits of what may.
 */
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  constants,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
} from "node:http2";
import type { Readable } from "node:stream";
import { Code } from "../code.ts";
import { onAbort } from "../deadline.ts";
import { RpcError } from "../error.ts";
import { type Body, emptyBody, type HttpResponse } from "../exchange.ts";
import { Metadata } from "../metadata.ts";
import { sizeOf } from "../protocol.ts";
import { ReadableBody, type StreamOwner } from "./body.ts";
import { hostileServer } from "./error.ts";
import { readFields } from "./headers.ts";
import { pump } from "./pump.ts";

/** What a server may say beside the response to a call before it is taken to be hostile. */
const MAX_INTERIM_RESPONSES = 10;
/** The largest header block, or trailers, of a response; of 32 bytes and more for each field. */
const MAX_HEADER_BYTES = 64 * 1024;

/** What a stream asks of its session, and tells it. */
export interface SessionOfStream extends StreamOwner {
  /** Why a stream closed before it had ended; `cause` is what Node said about it, if anything. */
  lost(stream: ClientHttp2Stream, cause: Error | undefined): RpcError;
}

/** A stream with the way to give it up. */
export interface OpenStream {
  readonly stream: ClientHttp2Stream;
  readonly cancel: () => unknown;
}

/** Opens a stream for a request with that body. Throws what Node throws. */
export function openStream(session: ClientHttp2Session, headers: OutgoingHttpHeaders, body: Body): OpenStream {
  // Node ends a stream before it resets it, and the server would take what it has for the whole request. It does not
  // when a signal resets the stream.
  const abort = body.whole === undefined ? new AbortController() : undefined;
  // None where there is nothing to say: Node fills them in, and takes far longer to add to some than to make its own.
  const options = abort !== undefined ? { signal: abort.signal } : body === emptyBody ? { endStream: true } : undefined;
  const stream = session.request(headers, options);
  const giveUp = (): void => {
    abort?.abort();
    if (abort !== undefined) return;
    stream.close(constants.NGHTTP2_CANCEL);
    // A stream that waits for its turn, because the server allows no more, would not close before that has come.
    stream.destroy();
  };
  return {
    stream,
    // Never from inside one of the stream's own events, where Node is still at work on it.
    cancel: () => setImmediate(giveUp),
  };
}

/** The response that comes on a stream. The signal gives up the call until the stream closes. */
export function receiveResponse(
  { stream, cancel }: OpenStream,
  signal: AbortSignal | undefined,
  owner: SessionOfStream,
): Promise<HttpResponse> {
  return new Promise((resolve, reject) => {
    let failure: RpcError | undefined;
    let cause: Error | undefined;
    let response: ReceivedResponse | undefined;
    let interim = 0;
    const lost = (): RpcError => failure ?? owner.lost(stream, cause);
    const fail = (error: RpcError): void => {
      failure ??= error;
      cancel();
      reject(error);
    };
    const unlink = signal && onAbort(signal, fail);
    const body = new ReadableBody(stream, { lost, cancel, cutOff }, { onClosed });
    function onClosed(): void {
      unlink?.();
      if (response === undefined) reject(lost());
      owner.onClosed();
      forget(stream);
    }
    stream.on("error", (error) => {
      if (error instanceof RpcError) failure ??= error;
      else cause ??= error;
    });
    stream.on("headers", () => {
      interim++;
      if (interim > MAX_INTERIM_RESPONSES) fail(hostileServer("sends interim responses without end"));
    });
    stream.on("trailers", (_headers: IncomingHttpHeaders, _flags: number, raw: string[]) => {
      if (sizeOf(raw) > MAX_HEADER_BYTES) response?.refuseTrailers(headersTooLarge("trailers"));
      else response?.trailers.appendRaw(raw);
    });
    stream.on("response", (headers: IncomingHttpHeaders, _flags: number, raw: string[]) => {
      if (sizeOf(raw) > MAX_HEADER_BYTES) return fail(headersTooLarge("headers"));
      response = new ReceivedResponse(Number(headers[":status"]), readFields(raw), body);
      resolve(response);
    });
  });
}

class ReceivedResponse implements HttpResponse {
  readonly status: number;
  readonly headers: Metadata;
  readonly body: Body;
  readonly #trailers = new Metadata();
  #refusal: RpcError | undefined;

  constructor(status: number, headers: Metadata, body: Body) {
    this.status = status;
    this.headers = headers;
    this.body = body;
  }

  get trailers(): Metadata {
    if (this.#refusal !== undefined) throw this.#refusal;
    return this.#trailers;
  }

  /** When trailers come, the body may have ended: it is not the one to fail. */
  refuseTrailers(reason: RpcError): void {
    this.#refusal = reason;
  }
}

/**
 * Lets go of what the listeners of a closed stream hold. Node 20 keeps the stream itself until memory is collected in
 * full, and each time it is collected in part, all that the stream leads to would be copied.
 */
function forget(stream: ClientHttp2Stream): void {
  stream.removeAllListeners().on("error", ignore);
}

/** For errors that another event has told of; without a listener they would end the process. */
const ignore = (): void => {};

/** A response that is complete may have closed its stream too, but not with an error. */
function cutOff(stream: Readable): boolean {
  return (stream as ClientHttp2Stream).rstCode !== constants.NGHTTP2_NO_ERROR;
}

/** Sends the body of a request and ends it. */
export function sendBody(body: Body, { stream, cancel }: OpenStream): void {
  if (body.whole !== undefined) {
    stream.end(body.whole);
    return;
  }
  // The end of the response is the end of the call, however much of the request is yet to come.
  stream.on("end", () => !stream.writableEnded && cancel());
  pump(body, stream).catch((reason) => stream.destroy(RpcError.from(reason, Code.Internal)));
}

function headersTooLarge(what: "headers" | "trailers"): RpcError {
  return new RpcError(
    Code.ResourceExhausted,
    `the ${what} of the response are larger than the limit of ${MAX_HEADER_BYTES} bytes`,
  );
}
