/** The body of a streaming response of sub-protocol B, with the status in its trailers. */
import type { StreamResponse } from "../call/call.ts";
import type { RpcError } from "../call/error.ts";
import { DONE } from "../call/message-stream.ts";
import type { Metadata } from "../call/metadata.ts";
import type { Step } from "../http/body.ts";
import type { ServerProtocolOptions } from "../protocol/options.ts";
import { ResponseStream } from "../server/response-stream.ts";
import type { GrpcCall } from "./content-type.ts";
import { compressEnvelope } from "./envelope.ts";
import { okTrailers, userMetadata, writeError } from "./status.ts";

export class ResponseEnvelopes extends ResponseStream {
  readonly #call: GrpcCall;
  readonly #response: StreamResponse;
  readonly #trailers: Metadata;
  readonly #options: ServerProtocolOptions;

  /** At the end of the messages, `trailers` report success or the error. */
  constructor(call: GrpcCall, response: StreamResponse, trailers: Metadata, options: ServerProtocolOptions) {
    super(call, response.messages, (message) => this.#encode(message), options.onError);
    this.#call = call;
    this.#response = response;
    this.#trailers = trailers;
    this.#options = options;
  }

  #encode(message: object): Uint8Array | Promise<Uint8Array> {
    const { headers, handler, format, payload, context } = this.#call;
    const envelope = format.encode(message, handler.method, payload);
    return compressEnvelope(envelope, headers.responseCompression, handler.limits, context) ?? envelope;
  }

  protected override succeed(): Step {
    this.#trailers.appendAll(okTrailers(this.#response.trailers, this.#options.headerLimits.response));
    return DONE;
  }

  protected override fail(error: RpcError): Step {
    writeError(this.#trailers, error, this.#options.headerLimits.response);
    this.#trailers.appendAll(userMetadata(this.#response.trailers));
    return DONE;
  }
}
