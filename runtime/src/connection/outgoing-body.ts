/**
 * Bodies over HTTP/2 and HTTP/1.1, sent on a stream that tells when it accepts no more.
 */
import { defer, dropsCallbacks } from "../call/platform.ts";
import { type Body, type ChunkSource, requestChunk, type Step } from "../http/body.ts";
import type { Stream } from "../http2/stream.ts";
import { outOfMemory } from "./memory-budget.ts";

/** True if later turns are timely: pages slow them down while they are hidden, and Workers drop their callbacks. */
const hasTurns = !dropsCallbacks && globalThis.process !== undefined;

/** The exchange whose body is sent. One of `onSent` and `onSendError` is called, once. */
export interface BodySender {
  readonly stream: Pick<Stream, "closed" | "sendData">;
  /** The stream accepts no more data. Returns whether there is memory for the queued data. Default: there is. */
  mayWait?(): boolean;
  /** The body has been sent except its end. `isOpen`: the stream is still open. */
  onSent(isOpen: boolean): void;
  /** The body has failed, or there is no memory for data that the peer does not read: an `RpcError`. */
  onSendError(reason: unknown): void;
}

/** Sends a body in chunks, with backpressure. */
export class OutgoingBody {
  readonly #sender: BodySender;
  readonly #chunks: ChunkSource;
  /** Continues in the asynchronous context of the call. `undefined` while the stream accepts data. */
  #resume: (() => void) | undefined;

  constructor(body: Body, sender: BodySender) {
    this.#sender = sender;
    this.#chunks = body[Symbol.asyncIterator]() as ChunkSource;
  }

  /** Continues sending after the stream accepts more data or has closed. */
  onDrain(): void {
    const resume = this.#resume;
    if (resume === undefined) return;
    this.#resume = undefined;
    // After the connection has taken its output, and after other callbacks, which a socket that takes all at once would starve.
    (hasTurns ? defer : queueMicrotask)(resume);
  }

  /** Cancels the body, because the stream is closed. */
  onClosed(): void {
    this.onDrain();
    void this.#cancel();
  }

  /** Sends the body except its end: chunks until one has to be waited for, or the stream accepts no more. */
  send(): void {
    try {
      while (!this.#sender.stream.closed) {
        const step = requestChunk(this.#chunks, this.#onChunk, this.#onError);
        if (step === undefined || !this.#accepts(step)) return;
      }
    } catch (reason) {
      this.#sender.onSendError(reason);
      return;
    }
    // Waits for the cleanup of the body, which may be asynchronous.
    const over = (): void => this.#sender.onSent(false);
    this.#cancel().then(over, over);
  }

  readonly #onError = (reason: unknown): void => this.#sender.onSendError(reason);

  readonly #onChunk = (step: Step): void => {
    if (this.#accepts(step)) this.send();
  };

  /** Sends a chunk. Returns whether the stream accepts more. */
  #accepts({ done, value }: Step): boolean {
    const { stream } = this.#sender;
    if (done) this.#sender.onSent(!stream.closed);
    else if (stream.sendData(value, false)) return true;
    else if (this.#sender.mayWait?.() !== false) {
      // The flush that drains the stream may belong to another call.
      void new Promise<void>((resolve) => (this.#resume = resolve)).then(() => this.send());
    } else {
      void this.#cancel();
      this.#sender.onSendError(outOfMemory());
    }
    return false;
  }

  async #cancel(): Promise<void> {
    await this.#chunks.return?.()?.catch(() => {});
  }
}
