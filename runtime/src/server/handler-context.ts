/** The context of a call that its handler receives, and the answer of methods without a handler. */
import type { CallContext, CallRequest, ContextValues, Method } from "../call/call.ts";
import { Code, Status } from "../call/code.ts";
import { type ErrorHook, maskUnknownError, RpcError } from "../call/error.ts";
import { Metadata } from "../call/metadata.ts";
import type { Peer } from "../call/peer.ts";
import { asOwn } from "./interceptors.ts";

/** The context of a call that its handler receives, with the metadata of the response. */
export interface HandlerContext extends CallContext {
  /** The method of the call: its path, kind and descriptors. */
  readonly method: Method;
  /**
   * Fires when the client cancels or the connection is lost, the deadline passes or the server shuts down. It never
   * fires after success.
   */
  readonly signal: AbortSignal;
  /**
   * Fires when the server begins to close, while calls may still run for the grace period. Streams without an end should
   * end then. A handler that throws the resulting `AbortError` answers `unavailable`, so that the client calls another
   * server.
   */
  readonly draining: AbortSignal;
  /** Headers of the request: the caller's metadata and the headers of the protocol. */
  readonly requestHeaders: Metadata;
  /**
   * Leading metadata of the response. Changes have no effect after {@link sendHeaders} has been called or the first
   * message has been sent.
   */
  readonly responseHeaders: Metadata;
  /** Trailing metadata of the response. */
  readonly responseTrailers: Metadata;
  /** The client of the call: its address, and the identity that TLS verified. */
  readonly peer: Peer;
  /** Sends the leading metadata now, before the first message. It has an effect on streaming calls only. */
  readonly sendHeaders: () => void;
}

/** The peer of contexts that were not created by a server, such as one of an interceptor. */
const UNKNOWN_PEER: Peer = {
  address: undefined,
  port: undefined,
  protocol: "h2",
  authority: undefined,
  tls: undefined,
};

export class OpenHandlerContext implements HandlerContext {
  readonly #request: CallRequest;
  readonly responseHeaders: Metadata = new Metadata();
  readonly responseTrailers: Metadata = new Metadata();
  #begin: (() => void) | undefined;
  #hasSentHeaders = false;

  constructor(request: CallRequest) {
    this.#request = request;
  }
  get method(): Method {
    return this.#request.method;
  }
  get signal(): AbortSignal {
    return this.#request.context.signal ?? new AbortController().signal;
  }
  get draining(): AbortSignal {
    return this.#request.context.draining ?? new AbortController().signal;
  }
  get timeoutMs(): () => number | undefined {
    const { context } = this.#request;
    return () => context.timeoutMs();
  }
  get values(): ContextValues {
    return this.#request.context.values;
  }
  get peer(): Peer {
    return this.#request.context.peer ?? UNKNOWN_PEER;
  }
  get requestHeaders(): Metadata {
    return this.#request.headers;
  }
  get sendHeaders(): () => void {
    return () => this.#onHeaders();
  }

  /** Waits for the first message, or until the handler calls `sendHeaders`. Rejects if there is an error instead. */
  begun(first: unknown): Promise<void> {
    if (this.#hasSentHeaders) {
      // A reader handles its error.
      Promise.resolve(first).catch(() => {});
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      this.#begin = resolve;
      Promise.resolve(first).then(() => this.#onHeaders(), reject);
    });
  }

  #onHeaders(): void {
    this.#hasSentHeaders = true;
    this.#begin?.();
    // The callbacks of a promise would stay in memory with the stream.
    this.#begin = undefined;
  }

  /**
   * Converts an error of the handler to one that the peer may see, and adds the metadata that the handler has set. If
   * the error came from a call that the handler made, its headers and status are removed.
   */
  failure(reason: unknown, onError: ErrorHook): RpcError {
    const error = asOwn(maskUnknownError(reason, this.#request, onError));
    if (this.responseHeaders.size + this.responseTrailers.size === 0) return error;
    const { code, rawMessage, details, headers, trailers } = error;
    return new RpcError(code, rawMessage, {
      details,
      headers: new Metadata(headers).appendAll(this.responseHeaders),
      trailers: new Metadata(trailers).appendAll(this.responseTrailers),
      cause: error,
    });
  }
}

/** Throws `unimplemented`, as methods without an implementation do. Generated base classes call it in every method. */
export function unimplemented({ method }: Pick<HandlerContext, "method">): never {
  throw new RpcError(Code.Unimplemented, `${method.path} is not implemented`, { status: Status.ServiceNotFound });
}
