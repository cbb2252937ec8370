/**
 * The engine of in-memory transports: connects a client to the exchange of a server in the same process. Client and server
 * have separate headers and signals.
 */
import { Status } from "../call/code.ts";
import { clientGone, RpcError } from "../call/error.ts";
import { inContext, iteration } from "../call/message-stream.ts";
import { Metadata } from "../call/metadata.ts";
import { onAbort, unlessAborted } from "../call/timer.ts";
import { type Body, streamBody } from "./body.ts";
import type { Exchange, HttpRequest } from "./exchange.ts";

/** Creates an exchange that passes requests to the exchange of a server as if they had arrived over a connection. */
export function connectInMemory(exchange: Exchange): Exchange {
  return async (request) => {
    const received = new ReceivedRequest(request);
    const response = await exchange(received);
    // A streamed body is not closed here: the signal must still report that the reader has cancelled it.
    if (response.body.whole !== undefined) received.close();
    return response;
  };
}

class ReceivedRequest implements HttpRequest {
  readonly method: string;
  readonly path: string;
  readonly version: HttpRequest["version"];
  readonly headers: Metadata;
  readonly body: Body;
  readonly #sent: HttpRequest;
  #signal: AbortSignal | undefined;
  #unlink = (): void => {};
  #closed = false;

  constructor(sent: HttpRequest) {
    this.method = sent.method;
    this.path = sent.path;
    this.version = sent.version;
    this.headers = new Metadata(sent.headers);
    const { body } = sent;
    // Generators of requests run in the asynchronous context of their caller, not of the handler.
    this.body = body.whole === undefined ? this.#receive(inContext(body[Symbol.asyncIterator]())) : body;
    this.#sent = sent;
  }

  /** A separate signal, created on first use. The reason of the sender's signal is private: a network would not carry it. */
  get signal(): AbortSignal | undefined {
    const { signal } = this.#sent;
    if (signal === undefined || this.#signal !== undefined) return this.#signal;
    const controller = new AbortController();
    this.#signal = controller.signal;
    if (!this.#closed) this.#unlink = onAbort(signal, (error) => controller.abort(asReceived(error)));
    return this.#signal;
  }

  /** Reads a stream until the call ends, as over a connection, also while the sender waits for its next message. */
  #receive(sent: AsyncIterableIterator<Uint8Array, undefined>): Body {
    // A generator that waits cannot return, so its end is not awaited.
    const leave = (): void => void sent.return?.().catch(() => {});
    return streamBody(iteration(() => unlessAborted(sent.next(), this.signal), leave));
  }

  /** Ends the exchange after its response. The signal does not fire afterwards. */
  close(): void {
    this.#closed = true;
    this.#unlink();
  }
}

/** Converts the reason of the sender's signal. A deadline that has passed on the client has passed on the server. */
function asReceived({ status, code, rawMessage }: RpcError): RpcError {
  return status === Status.ClientTimeout
    ? new RpcError(code, rawMessage, { status: Status.ServerTimeout })
    : clientGone();
}
