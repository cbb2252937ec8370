/**
 * Abort signals of the running exchanges of a server: created on demand, and fired when the client is lost or the server
 * closes.
 */
import type { ServerHttp2Stream } from "node:http2";
import type { Readable, Writable } from "node:stream";
import type { RpcError } from "../../call/error.ts";
import { clientGone } from "../../http/exchange.ts";
import { type Indexed, SwapList } from "../io/swap-list.ts";

/** An exchange whose signal has been created. */
interface Running extends Indexed {
  readonly controller: AbortController;
}

export class ExchangeSignals {
  readonly #running = new SwapList<Running>();
  #aborted: RpcError | undefined;
  /** Fires when the server begins to close. */
  readonly draining: AbortSignal | undefined;

  constructor(draining?: AbortSignal) {
    this.draining = draining;
  }

  /**
   * Creates a signal that fires if the stream of a response closes before the complete response was written, or if the
   * client's side of the connection ends: over HTTP/1.1 that is all that most clients do when they cancel.
   */
  create(response: Writable & Partial<Pick<ServerHttp2Stream, "aborted">>, connection?: Readable): AbortSignal {
    const controller = new AbortController();
    if (this.#aborted !== undefined) controller.abort(this.#aborted);
    const running: Running = { controller, index: 0 };
    this.#running.add(running);
    const onEnd = (): void => controller.abort(clientGone());
    const onClose = (): void => {
      this.#running.delete(running);
      connection?.off("end", onEnd);
      // Node ends HTTP/2 streams that were reset, and sets `aborted` on them.
      if (!response.writableEnded || response.aborted) controller.abort(clientGone());
    };
    if (response.destroyed) onClose();
    else response.once("close", onClose);
    if (connection?.readableEnded) onEnd();
    else connection?.once("end", onEnd);
    return controller.signal;
  }

  /** Fires all signals, including those that are created later. */
  abort(reason: RpcError): void {
    this.#aborted = reason;
    for (const { controller } of this.#running) controller.abort(reason);
  }
}
