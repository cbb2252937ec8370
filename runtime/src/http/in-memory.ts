/**
 * What stands for a network in memory: each end has headers and a signal of its own.
 */
import { Status } from "../call/code.ts";
import { RpcError } from "../call/error.ts";
import { Metadata } from "../call/metadata.ts";
import { onAbort } from "../call/timer.ts";
import type { Body } from "./body.ts";
import { clientGone, type Exchange, type HttpRequest } from "./exchange.ts";

/** Hands requests over to the exchange of a server as if they had come over a connection. */
export function connectInMemory(exchange: Exchange): Exchange {
  return async (request) => {
    const received = new ReceivedRequest(request);
    const response = await exchange(received);
    // The signal of a stream must still tell that its reader has gone.
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

  /** Not the sender's own, whose reason may be anything: over a network nothing of it arrives. */
  get signal(): AbortSignal | undefined {
    const { signal } = this.#sent;
    if (signal === undefined || this.#signal !== undefined) return this.#signal;
    const controller = new AbortController();
    this.#signal = controller.signal;
    if (!this.#closed) this.#unlink = onAbort(signal, (error) => controller.abort(asReceived(error)));
    return this.#signal;
  }

  /** There is a response: the signal will not fire any more. */
  close(): void {
    this.#closed = true;
    this.#unlink();
  }
}

/** Both ends have the same deadline, and whichever notices first, it has passed for both. */
function asReceived({ status, code, rawMessage }: RpcError): RpcError {
  return status === Status.ClientTimeout
    ? new RpcError(code, rawMessage, { status: Status.ServerTimeout })
    : clientGone();
}
