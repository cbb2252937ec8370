/**
 * The engine of in-memory transports: connects a client to the exchange of a server in the same process. Each end has headers and a
 * signal of its own.
 */
import { Status } from "../call/code.ts";
import { RpcError } from "../call/error.ts";
import { Metadata } from "../call/metadata.ts";
import { onAbort } from "../call/timer.ts";
import type { Body } from "./body.ts";
import { clientGone, type Exchange, type HttpRequest } from "./exchange.ts";

/** Passes requests to the exchange of a server as if they had arrived over a connection. */
export function connectInMemory(exchange: Exchange): Exchange {
  return async (request) => {
    const received = new ReceivedRequest(request);
    const response = await exchange(received);
    // For a streamed body the signal must still report that its reader has left.
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
    this.body = sent.body;
    this.#sent = sent;
  }

  /** A signal of its own, because the reason of the sender's is private: a network would not carry it. */
  get signal(): AbortSignal | undefined {
    const { signal } = this.#sent;
    if (signal === undefined || this.#signal !== undefined) return this.#signal;
    const controller = new AbortController();
    this.#signal = controller.signal;
    if (!this.#closed) this.#unlink = onAbort(signal, (error) => controller.abort(asReceived(error)));
    return this.#signal;
  }

  /** Called with the response. The signal does not fire afterwards. */
  close(): void {
    this.#closed = true;
    this.#unlink();
  }
}

/** Both ends have the same deadline: if it passes for the sender, it has passed for the receiver. */
function asReceived({ status, code, rawMessage }: RpcError): RpcError {
  return status === Status.ClientTimeout
    ? new RpcError(code, rawMessage, { status: Status.ServerTimeout })
    : clientGone();
}
