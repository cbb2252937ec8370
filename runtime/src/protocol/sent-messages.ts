/**
 * The body of a stream of messages that is sent: each message is a chunk. The iterator is hand-written: it needs no promise and
 * no function for each message.
 */
import { Code } from "../call/code.ts";
import { RpcError } from "../call/error.ts";
import { DONE, type SentStream } from "../call/message-stream.ts";
import { type ChunkSource, nextChunk, type OnError, type OnStep, type Step } from "../http/body.ts";

export class SentMessages implements AsyncIterable<Uint8Array>, ChunkSource {
  readonly #source: SentStream;
  readonly #encode: (message: object) => Uint8Array | Promise<Uint8Array>;
  #messages: AsyncIterator<object> | undefined;
  /** The message that has been requested of the source. */
  #pending: Promise<IteratorResult<object>> | undefined;
  #interruption: RpcError | undefined;
  /** The functions of the last {@link request}. */
  #onStep!: OnStep;
  #onError!: OnError;

  constructor(source: SentStream, encode: (message: object) => Uint8Array | Promise<Uint8Array>) {
    this.#source = source;
    this.#encode = encode;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  request(onStep: OnStep, onError: OnError): Step | undefined {
    this.#onStep = onStep;
    this.#onError = onError;
    try {
      if (this.#interruption !== undefined) throw this.#interruption;
      const messages = this.#messages ?? this.begin();
      const { readyMessages } = this.#source;
      if (readyMessages !== undefined) return this.#answer(readyMessages.next());
      this.#pending = Promise.resolve(messages.next());
      this.#pending.then(this.#onMessage, this.#onFailure);
    } catch (reason) {
      this.#fail(reason);
    }
    return undefined;
  }

  next(): Promise<Step> {
    return nextChunk((onStep, onError) => this.request(onStep, onError));
  }

  async return(): Promise<Step> {
    await this.leave();
    return DONE;
  }

  /** Handles the end of the messages, and returns the last step. It may throw. */
  protected ended(): Step {
    return DONE;
  }

  /** Handles an error of the source, or one of encoding. Returns the last step, or rejects with the error of the body. */
  protected async failed(reason: unknown, isOfSource: boolean): Promise<Step> {
    if (!isOfSource) await this.leave()?.catch(() => {});
    throw RpcError.from(reason, Code.Internal);
  }

  /** Begins to read the source, unless it has begun. */
  protected begin(): AsyncIterator<object> {
    this.#messages ??= this.#source[Symbol.asyncIterator]();
    return this.#messages;
  }

  /** Ends the source early, if it has begun. */
  protected leave(): Promise<unknown> | undefined {
    return this.#messages?.return?.();
  }

  /** Fails the next step: now if it waits for the source, whose message is then waited for. Otherwise the source ends at once. */
  protected async interrupt(reason: RpcError): Promise<unknown> {
    const pending = this.#pending;
    this.#interruption = reason;
    if (pending === undefined) return this.leave();
    this.#fail(reason);
    return pending;
  }

  readonly #onMessage = (message: IteratorResult<object>): void => {
    if (this.#pending === undefined) return;
    this.#pending = undefined;
    const step = this.#answer(message);
    if (step !== undefined) this.#onStep(step);
  };

  readonly #onFailure = (reason: unknown): void => {
    if (this.#pending !== undefined) this.#fail(reason);
  };

  #fail(reason: unknown): void {
    this.#pending = undefined;
    this.failed(reason, true).then(this.#onStep, this.#onError);
  }

  /** Converts a message. Returns the step, unless the functions of the request are called later. Does not throw. */
  #answer(message: IteratorResult<object>): Step | undefined {
    const step = this.#convert(message);
    if (!(step instanceof Promise)) return step;
    step.then(this.#onStep, this.#onError);
    return undefined;
  }

  /** Does not throw. */
  #convert(message: IteratorResult<object>): Step | Promise<Step> {
    try {
      if (message.done) return this.ended();
      const chunk = this.#encode(message.value);
      if (!(chunk instanceof Promise)) return { done: false, value: chunk };
      return chunk.then(
        (bytes) => ({ done: false, value: bytes }),
        (reason) => this.failed(reason, false),
      );
    } catch (reason) {
      return this.failed(reason, false);
    }
  }
}
