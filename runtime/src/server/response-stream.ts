/** The body of a streaming response: it ends when its call ends, and reports how the call was answered. */
import type { CallResponse, StreamResponse } from "../call/call.ts";
import { Code } from "../call/code.ts";
import { maskUnknownError, RpcError } from "../call/error.ts";
import { endMessages } from "../call/message-stream.ts";
import type { Step } from "../http/body.ts";
import type { HttpResponse } from "../http/exchange.ts";
import { wrongResponseKind } from "../protocol/error.ts";
import { SentMessages } from "../protocol/sent-messages.ts";
import type { ResolvedRouterOptions } from "./options.ts";
import { asRpcError, type ServerCall } from "./receive.ts";

/** Answers the call of a stream. If that fails, or the call ends, the messages end too, also those that are returned later. */
export async function answerStream(
  { context, handler }: ServerCall,
  call: () => Promise<CallResponse>,
  respond: (response: StreamResponse) => HttpResponse,
): Promise<HttpResponse> {
  let calling: Promise<CallResponse> | undefined;
  try {
    const response = await context.race(() => (calling = call()));
    if (!response?.stream) throw wrongResponseKind(handler.method);
    return respond(response);
  } catch (reason) {
    context.waitUntil(calling?.then(endMessages));
    throw reason;
  }
}

export abstract class ResponseStream<Call extends ServerCall> extends SentMessages {
  protected readonly call: Call;
  protected readonly options: ResolvedRouterOptions;
  #left: Promise<unknown> | undefined;

  constructor(
    call: Call,
    messages: StreamResponse["messages"],
    encode: (message: object) => Uint8Array | Promise<Uint8Array>,
    options: ResolvedRouterOptions,
  ) {
    super(messages, encode);
    const { context } = call;
    if (context.limited) context.onEnd = (error) => context.waitUntil(this.interrupt(error));
    this.call = call;
    this.options = options;
  }

  /** Reports success, and returns the last step. It may throw. */
  protected abstract succeed(): Step;

  /** Reports an error, and returns the last step. It may throw. */
  protected abstract fail(error: RpcError): Step;

  override return(): Promise<Step> {
    this.call.context.answered(new RpcError(Code.Canceled, "the stream was closed before its end"));
    return super.return();
  }

  protected override ended(): Step {
    const { context } = this.call;
    const step = this.succeed();
    context.answered();
    context.close();
    return step;
  }

  protected override async failed(reason: unknown, isOfSource: boolean): Promise<Step> {
    const { request, context, handler } = this.call;
    const { onError } = this.options;
    const masked = isOfSource ? maskUnknownError(reason, { method: handler.method, context }, onError) : reason;
    const error = asRpcError(masked, request.path, onError);
    context.answered(error);
    await this.leave()?.catch(() => {});
    return this.fail(error);
  }

  protected override leave(): Promise<unknown> | undefined {
    const { context } = this.call;
    context.close();
    // A source that never settles would delay the response past the deadline.
    this.#left ??= this.begin().return?.();
    if (context.limited) context.waitUntil(this.#left);
    return context.limited ? undefined : this.#left;
  }
}
