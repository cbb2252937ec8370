/**
 * The body of a streaming response of sub-protocol B: each message of the handler in its envelope. The iterator is
 * hand-written: it needs no promise and no function for each message.
 */
import type { StreamResponse } from "../call/call.ts";
import { Code } from "../call/code.ts";
import { RpcError } from "../call/error.ts";
import { DONE } from "../call/message-stream.ts";
import type { ChunkSource } from "../http/body.ts";

/** The call whose response is sent. */
export interface ResponseWriter {
  /** Encodes a message as an envelope. A promise if it is compressed. */
  encode(message: object): Uint8Array | Promise<Uint8Array>;
  /** Handles the end of the messages: sets the trailers. It may throw. */
  end(): void;
  /** Handles an error that ended the messages: sets the trailers. */
  fail(reason: unknown): void;
  /** Converts an error of the handler's messages to one that `fail` takes. */
  masked(reason: unknown): unknown;
  /** Handles a reader that leaves before the end. */
  cancelled(error: RpcError): void;
  /** Closes the context of the call. */
  close(): void;
}

type Step = IteratorResult<Uint8Array, undefined>;
type OnStep = (step: Step) => void;
type OnError = (reason: unknown) => void;

export class ResponseEnvelopes implements AsyncIterable<Uint8Array>, ChunkSource {
  readonly #writer: ResponseWriter;
  readonly #messages: AsyncIterator<object>;
  /** The functions of the last {@link request}. */
  #onStep!: OnStep;
  #onError!: OnError;

  constructor(writer: ResponseWriter, messages: StreamResponse["messages"]) {
    this.#writer = writer;
    this.#messages = messages[Symbol.asyncIterator]();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  request(onStep: OnStep, onError: OnError): void {
    this.#onStep = onStep;
    this.#onError = onError;
    try {
      Promise.resolve(this.#messages.next()).then(this.#onMessage, this.#onFailure);
    } catch (reason) {
      this.#onFailure(reason);
    }
  }

  next(): Promise<Step> {
    const failed = (reason: unknown): Promise<Step> => this.#fail(this.#writer.masked(reason));
    try {
      return Promise.resolve(this.#messages.next()).then((step) => this.#convert(step), failed);
    } catch (reason) {
      return failed(reason);
    }
  }

  async return(): Promise<Step> {
    this.#writer.cancelled(new RpcError(Code.Canceled, "the stream was closed before its end"));
    await this.#leave();
    return DONE;
  }

  readonly #onMessage = (message: IteratorResult<object>): void => {
    const step = this.#convert(message);
    if (step instanceof Promise) step.then(this.#onStep, this.#onError);
    else this.#onStep(step);
  };

  readonly #onFailure = (reason: unknown): void => {
    this.#fail(this.#writer.masked(reason)).then(this.#onStep, this.#onError);
  };

  /** Does not throw. */
  #convert({ done, value }: IteratorResult<object>): Step | Promise<Step> {
    try {
      if (done) {
        this.#writer.end();
        return DONE;
      }
      const envelope = this.#writer.encode(value);
      if (!(envelope instanceof Promise)) return { done: false, value: envelope };
      return envelope.then(
        (bytes) => ({ done: false, value: bytes }),
        (reason) => this.#fail(reason),
      );
    } catch (reason) {
      return this.#fail(reason);
    }
  }

  async #fail(reason: unknown): Promise<Step> {
    this.#writer.fail(reason);
    await this.#leave()?.catch(() => {});
    return DONE;
  }

  #leave(): Promise<unknown> | undefined {
    this.#writer.close();
    return this.#messages.return?.();
  }
}
