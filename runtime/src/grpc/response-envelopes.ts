/**
 * The body of a streaming response of sub-protocol B: each message of the handler in its envelope. The iterator is
 * hand-written: it needs no promise and no function for each message.
 */
import type { StreamResponse } from "../call/call.ts";
import { Code } from "../call/code.ts";
import { eachWithin } from "../call/context.ts";
import { maskUnknownError, RpcError } from "../call/error.ts";
import { DONE } from "../call/message-stream.ts";
import type { Metadata } from "../call/metadata.ts";
import type { ChunkSource } from "../http/body.ts";
import type { ServerProtocolOptions } from "../protocol/options.ts";
import { asRpcError } from "../server/receive.ts";
import type { GrpcCall } from "./content-type.ts";
import { compressEnvelope } from "./envelope.ts";
import { okTrailers, userMetadata, writeError } from "./status.ts";

type Step = IteratorResult<Uint8Array, undefined>;
type OnStep = (step: Step) => void;
type OnError = (reason: unknown) => void;

export class ResponseEnvelopes implements AsyncIterable<Uint8Array>, ChunkSource {
  readonly #call: GrpcCall;
  readonly #response: StreamResponse;
  readonly #messages: AsyncIterator<object>;
  readonly #trailers: Metadata;
  readonly #options: ServerProtocolOptions;
  /** The functions of the last {@link request}. */
  #onStep!: OnStep;
  #onError!: OnError;

  /** At the end of the messages, `trailers` report success or the error. */
  constructor(call: GrpcCall, response: StreamResponse, trailers: Metadata, options: ServerProtocolOptions) {
    this.#call = call;
    this.#response = response;
    this.#messages = eachWithin(call.context, response.messages)[Symbol.asyncIterator]();
    this.#trailers = trailers;
    this.#options = options;
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
    const failed = (reason: unknown): Promise<Step> => this.#fail(this.#masked(reason));
    try {
      return Promise.resolve(this.#messages.next()).then((step) => this.#convert(step), failed);
    } catch (reason) {
      return failed(reason);
    }
  }

  async return(): Promise<Step> {
    this.#call.context.answered(new RpcError(Code.Canceled, "the stream was closed before its end"));
    await this.#leave();
    return DONE;
  }

  readonly #onMessage = (message: IteratorResult<object>): void => {
    const step = this.#convert(message);
    if (step instanceof Promise) step.then(this.#onStep, this.#onError);
    else this.#onStep(step);
  };

  readonly #onFailure = (reason: unknown): void => {
    this.#fail(this.#masked(reason)).then(this.#onStep, this.#onError);
  };

  /** Does not throw. */
  #convert({ done, value }: IteratorResult<object>): Step | Promise<Step> {
    try {
      if (done) {
        this.#end();
        return DONE;
      }
      const envelope = this.#encode(value);
      if (!(envelope instanceof Promise)) return { done: false, value: envelope };
      return envelope.then(
        (bytes) => ({ done: false, value: bytes }),
        (reason) => this.#fail(reason),
      );
    } catch (reason) {
      return this.#fail(reason);
    }
  }

  #encode(message: object): Uint8Array | Promise<Uint8Array> {
    const { headers, handler, format, payload } = this.#call;
    const envelope = format.encode(message, handler.method, payload);
    return compressEnvelope(envelope, headers.responseCompression, handler.limits) ?? envelope;
  }

  #end(): void {
    const { context } = this.#call;
    this.#trailers.appendAll(okTrailers(this.#response.trailers, this.#options.headerLimits.response));
    context.answered();
    context.close();
  }

  async #fail(reason: unknown): Promise<Step> {
    const { request, context } = this.#call;
    const error = asRpcError(reason, request.path, this.#options.onError);
    context.answered(error);
    writeError(this.#trailers, error, this.#options.headerLimits.response);
    this.#trailers.appendAll(userMetadata(this.#response.trailers));
    await this.#leave()?.catch(() => {});
    return DONE;
  }

  /** Masks an error of the handler's messages. */
  #masked(reason: unknown): RpcError {
    const { context, handler } = this.#call;
    return maskUnknownError(reason, { method: handler.method, context }, this.#options.onError);
  }

  #leave(): Promise<unknown> | undefined {
    this.#call.context.close();
    return this.#messages.return?.();
  }
}
