/**
 * The body of a streaming response of sub-protocol B, with the status in its trailers.
 */
import type { StreamResponse } from "../call/call.ts";
import { Code } from "../call/code.ts";
import { maskUnknownError, RpcError } from "../call/error.ts";
import { DONE } from "../call/message-stream.ts";
import type { Metadata } from "../call/metadata.ts";
import type { Step } from "../http/body.ts";
import type { ServerProtocolOptions } from "../protocol/options.ts";
import { asRpcError } from "../server/receive.ts";
import type { GrpcCall } from "./content-type.ts";
import { compressEnvelope } from "./envelope.ts";
import { SentMessages } from "./sent-messages.ts";
import { okTrailers, userMetadata, writeError } from "./status.ts";

export class ResponseEnvelopes extends SentMessages {
  readonly #call: GrpcCall;
  readonly #response: StreamResponse;
  readonly #trailers: Metadata;
  readonly #options: ServerProtocolOptions;

  /** At the end of the messages, `trailers` report success or the error. */
  constructor(call: GrpcCall, response: StreamResponse, trailers: Metadata, options: ServerProtocolOptions) {
    super(response.messages, (message) => this.#encode(message));
    const { context } = call;
    if (context.limited) context.onEnd = (error) => context.waitUntil(this.interrupt(error));
    this.#call = call;
    this.#response = response;
    this.#trailers = trailers;
    this.#options = options;
  }

  override return(): Promise<Step> {
    this.#call.context.answered(new RpcError(Code.Canceled, "the stream was closed before its end"));
    return super.return();
  }

  #encode(message: object): Uint8Array | Promise<Uint8Array> {
    const { headers, handler, format, payload } = this.#call;
    const envelope = format.encode(message, handler.method, payload);
    return compressEnvelope(envelope, headers.responseCompression, handler.limits) ?? envelope;
  }

  protected override ended(): void {
    const { context } = this.#call;
    this.#trailers.appendAll(okTrailers(this.#response.trailers, this.#options.headerLimits.response));
    context.answered();
    context.close();
  }

  protected override async failed(reason: unknown, isOfSource: boolean): Promise<Step> {
    const { request, context, handler } = this.#call;
    const { onError, headerLimits } = this.#options;
    const masked = isOfSource ? maskUnknownError(reason, { method: handler.method, context }, onError) : reason;
    const error = asRpcError(masked, request.path, onError);
    context.answered(error);
    writeError(this.#trailers, error, headerLimits.response);
    this.#trailers.appendAll(userMetadata(this.#response.trailers));
    await this.leave()?.catch(() => {});
    return DONE;
  }

  protected override leave(): Promise<unknown> | undefined {
    const { context } = this.#call;
    context.close();
    // A source that never settles would delay the response past the deadline.
    const left = this.begin().return?.();
    if (context.limited) context.waitUntil(left);
    return context.limited ? undefined : left;
  }
}
