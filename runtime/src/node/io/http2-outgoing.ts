/**
 * Bodies over HTTP/2, sent on a stream with flow control (RFC 9113, section 5.2).
 */
import type { Body } from "../../http/body.ts";
import type { Stream } from "../../http2/stream.ts";
import { outOfMemory } from "./memory-budget.ts";

/** Sends a body in chunks, with backpressure. */
export class OutgoingBody {
  readonly #stream: Stream;
  readonly #iterator: AsyncIterator<Uint8Array>;
  readonly #mayWait: () => boolean;
  #resolve!: (isOpen: boolean) => void;
  #reject!: (reason: unknown) => void;
  /** True if the stream accepts no more data. */
  #isBlocked = false;

  /** `mayWait` is called when the stream accepts no more data, and returns whether there is memory for the queued data. Default: true. */
  constructor(body: Body, stream: Stream, mayWait: () => boolean = yes) {
    this.#stream = stream;
    this.#iterator = body[Symbol.asyncIterator]();
    this.#mayWait = mayWait;
  }

  /** Continues sending after the stream accepts more data or has closed. */
  onDrain(): void {
    if (!this.#isBlocked) return;
    this.#isBlocked = false;
    this.#request();
  }

  /** Cancels the body, because the stream is closed. */
  onClosed(): void {
    this.onDrain();
    void this.#cancel();
  }

  /**
   * Sends the body except its end. Returns whether the stream is still open. Rejects with the body's error, or with an
   * `RpcError` if there is no memory for data that the peer does not read.
   */
  send(): Promise<boolean> {
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      this.#request();
    });
  }

  /** Requests the next chunk. */
  #request(): void {
    if (this.#stream.closed) {
      // Waits for the cleanup of the body, which may be asynchronous.
      const over = (): void => this.#resolve(false);
      this.#cancel().then(over, over);
      return;
    }
    try {
      this.#iterator.next().then(this.#onChunk, this.#reject);
    } catch (reason) {
      this.#reject(reason);
    }
  }

  readonly #onChunk = ({ done, value }: IteratorResult<Uint8Array>): void => {
    if (done) this.#resolve(!this.#stream.closed);
    else if (this.#stream.sendData(value, false)) this.#request();
    else if (this.#mayWait()) this.#isBlocked = true;
    else {
      void this.#cancel();
      this.#reject(outOfMemory());
    }
  };

  async #cancel(): Promise<void> {
    await this.#iterator.return?.()?.catch(() => {});
  }
}

const yes = (): boolean => true;
