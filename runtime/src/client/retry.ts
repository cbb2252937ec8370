/**
 * Retries and hedging of calls by policy (gRFC A6), between the interceptors and the protocol: loggers see one call
 * with any number of attempts. Transparent retry, of requests that no server has processed, is part of the connection
 * pool and is not counted here.
 */
import { mayResend } from "../call/attempt.ts";
import { Backoff } from "../call/backoff.ts";
import type { Call, CallRequest, CallResponse, Interceptor, Method } from "../call/call.ts";
import { RpcError } from "../call/error.ts";
import { watchEnd } from "../call/message-stream.ts";
import { delay } from "../call/timer.ts";
import {
  AttemptContext,
  attemptRequest,
  notRetried,
  type RepeatableRequest,
  repeatable,
  reportRetry,
  withAttempts,
} from "./attempt.ts";
import {
  type AttemptPolicy,
  isIdempotent,
  isRepeatable,
  type RetryOptions,
  type RetryPolicy,
  readPushback,
  resolvePolicy,
} from "./attempt-policy.ts";
import { hedge } from "./hedging.ts";
import { RecentRetries, type RetryThrottle } from "./retry-budget.ts";
import type { MethodConfig, ServiceConfig } from "./service-config.ts";

/** Settings for the attempts of a target's calls. */
export interface AttemptOptions {
  /** Returns the limit on the retries of the target. */
  readonly throttle: () => RetryThrottle;
  readonly onRetry?: RetryOptions["onRetry"];
  /** Fires when the transport ends its calls. */
  readonly ended?: AbortSignal | undefined;
}

/**
 * Makes an interceptor that retries failed calls (gRFC A6): after an error with one of the policy's codes, if no
 * response headers have arrived, within the deadline of the call and a budget that all calls share. Put it last, and
 * use one for each server. Transports of `triple-es/node` have the option `retry` instead. Throws a `TypeError` for an
 * invalid option.
 *
 *     createTransport({ baseUrl, interceptors: [createRetry({ maxAttempts: 4 })] });
 */
export function createRetry(options: RetryOptions = {}): Interceptor {
  const { methodConfigOf } = retryConfig(options);
  const budget = new RecentRetries(options.budget);
  return (next) => {
    const call = attemptCalls(next, { throttle: () => budget, onRetry: options.onRetry });
    return (request) => call(request, methodConfigOf(request.method)?.policy);
  };
}

/** Returns the service config of a policy for the methods that it selects. Throws a `TypeError` for an invalid option. */
export function retryConfig(options: RetryOptions): ServiceConfig {
  const config: MethodConfig = { timeoutMs: undefined, waitForReady: undefined, policy: resolvePolicy(options) };
  const { applies = isIdempotent } = options;
  const methodConfigOf = (method: Method) => (applies(method) ? config : undefined);
  return { methodConfigOf, retryThrottling: undefined, loadBalancing: [] };
}

/** Returns a call that makes further attempts by the policy of its request, if it has one and can be sent again. */
export function attemptCalls(
  next: Call,
  options: AttemptOptions,
): (request: CallRequest, policy: AttemptPolicy | undefined) => Promise<CallResponse> {
  return (request, policy) =>
    policy !== undefined && isRepeatable(request.method, policy)
      ? attempt(next, request, policy, options)
      : next(request);
}

async function attempt(
  next: Call,
  original: CallRequest,
  policy: AttemptPolicy,
  options: AttemptOptions,
): Promise<CallResponse> {
  const request = await repeatable(original);
  const throttle = options.throttle();
  const response =
    policy.hedgingDelayMs === undefined
      ? await retry(next, request, policy, options, throttle)
      : await hedge(next, request, policy, throttle, options);
  if (response.stream) return { ...response, messages: countOutcome(response.messages, policy, throttle) };
  throttle.succeeded();
  return response;
}

async function retry(
  next: Call,
  request: RepeatableRequest,
  policy: RetryPolicy,
  { onRetry, ended }: AttemptOptions,
  throttle: RetryThrottle,
): Promise<CallResponse> {
  const { method, context } = request;
  const { initialBackoffMs: initialMs, maxBackoffMs: maxMs, backoffMultiplier: multiplier } = policy;
  const backoff = new Backoff({ initialMs, maxMs, multiplier });
  const tried = new Set<object>();
  for (let number = 1; ; number++) {
    const current = new AttemptContext(context, tried);
    try {
      return withAttempts(await next(attemptRequest(request, number, current)), number);
    } catch (reason) {
      const error = RpcError.from(reason);
      const pushback = readPushback(error);
      const isRetryable = policy.codes.has(error.code);
      if (isRetryable || pushback === "stop") throttle.failed();
      const isOver = number >= policy.maxAttempts || context.signal?.aborted || ended?.aborted;
      if (!isRetryable || pushback === "stop" || isOver || !mayResend(current.attempt.outcome, "policy")) throw reason;
      const refusal = throttle.refusal();
      if (refusal !== undefined) throw notRetried(method, error, refusal);
      // A server's pushback replaces a delay of the policy, and restarts their sequence.
      if (pushback !== undefined) backoff.reset();
      const delayMs = pushback ?? backoff.next();
      if (delayMs >= (context.timeoutMs() ?? Number.POSITIVE_INFINITY)) throw reason;
      throttle.retried();
      reportRetry({ method, context, attempt: number + 1, delayMs, error, isHedge: false }, onRetry);
      await delay(delayMs, context.signal, ended);
    }
  }
}

/** Counts the outcome of a stream whose headers have arrived: a success, or a failure that can no longer be retried. */
function countOutcome(
  messages: AsyncIterable<object>,
  { codes }: AttemptPolicy,
  throttle: RetryThrottle,
): AsyncIterable<object> {
  return watchEnd(messages, (how, reason) => {
    if (how === "read") throttle.succeeded();
    else if (how === "failed" && codes.has(RpcError.from(reason).code)) throttle.failed();
  });
}
