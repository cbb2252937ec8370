/**
 * One attempt of a call that may be made several times: its request, the number of earlier attempts in its response headers,
 * and its error if the budget allows no further attempt.
 */
import { PREVIOUS_ATTEMPTS, type RetryEvent } from "../call/attempt.ts";
import type {
  CallContext,
  CallRequest,
  CallResponse,
  ContextValues,
  Method,
  StreamRequest,
  UnaryRequest,
} from "../call/call.ts";
import { subscribed } from "../call/diagnostics.ts";
import { callHook, RpcError } from "../call/error.ts";
import { eachOf } from "../call/message-stream.ts";
import { Metadata } from "../call/metadata.ts";
import type { RetryOptions } from "./attempt-policy.ts";

/** A request that can be sent any number of times. The message is kept as an object and encoded again for each attempt. */
export type RepeatableRequest = UnaryRequest | (Omit<StreamRequest, "messages"> & { readonly sent: readonly object[] });

/** Reads the messages of a request to their end. A unary or server streaming call has exactly one. */
export async function repeatable(request: CallRequest): Promise<RepeatableRequest> {
  if (!request.stream) return request;
  const sent: object[] = [];
  for await (const message of request.messages) sent.push(message);
  const { method, headers, selector, context } = request;
  return { stream: true, method, headers, selector, context, sent };
}

/** The context of an attempt: that of the call, with the outcome of the attempt and the endpoints of all attempts. */
export class AttemptContext implements CallContext {
  readonly attempt: NonNullable<CallContext["attempt"]>;
  sentAt: number | undefined;
  respondedAt: number | undefined;
  protected readonly call: CallContext;

  constructor(call: CallContext, tried: Set<object>) {
    this.call = call;
    this.attempt = { tried, outcome: "unknown" };
  }

  get signal(): AbortSignal | undefined {
    return this.call.signal;
  }

  get timeoutMs(): () => number | undefined {
    return this.call.timeoutMs;
  }

  get waitForReady(): boolean | undefined {
    return this.call.waitForReady;
  }

  get values(): ContextValues {
    return this.call.values;
  }

  get target(): string | undefined {
    return this.call.target;
  }

  set target(target: string | undefined) {
    this.call.target = target;
  }
}

/** Makes the request of the attempt with that number, from 1 on. */
export function attemptRequest(request: RepeatableRequest, number: number, context: CallContext): CallRequest {
  const { method, selector } = request;
  // Each attempt needs its own headers, because the protocol appends to them.
  const headers = new Metadata(request.headers);
  if (number > 1) headers.set(PREVIOUS_ATTEMPTS, String(number - 1));
  const common = { method, selector, headers, context };
  if (!request.stream) return { stream: false, message: request.message, ...common };
  return { stream: true, messages: eachOf(request.sent), ...common };
}

/** Returns the response with the number of earlier attempts in its headers (gRFC A6, "Exposed Retry Metadata"). */
export function withAttempts<Response extends CallResponse>(response: Response, number: number): Response {
  if (number === 1) return response;
  return { ...response, headers: new Metadata(response.headers).set(PREVIOUS_ATTEMPTS, String(number - 1)) };
}

/** Reports a further attempt to the diagnostics, and to the user's hook, if there is one. */
export function reportRetry(event: RetryEvent, onRetry: RetryOptions["onRetry"]): void {
  const { method, attempt, delayMs, error, isHedge } = event;
  const { path } = method;
  const type = isHedge ? "hedge" : "retry";
  subscribed("retry")?.publish({
    type,
    path,
    delayMs,
    error,
    text: `${type} ${attempt - 1} of ${path} in ${Math.round(delayMs)} ms${error === undefined ? "" : `: ${error.message}`}`,
  });
  if (onRetry !== undefined) callHook("the hook onRetry", () => onRetry(event));
}

/** Returns the error of a call that the budget does not allow to attempt again, with the reason, and writes it to the diagnostics. */
export function notRetried({ path }: Method, error: RpcError, refusal: string): RpcError {
  subscribed("retry")?.publish({
    type: "refused",
    path,
    delayMs: 0,
    error,
    text: `not retried: ${path}, because ${refusal}: ${error.message}`,
  });
  // The error may be shared with other calls.
  return new RpcError(error.code, `${error.rawMessage} (not retried: ${refusal})`, { ...error, cause: error });
}
