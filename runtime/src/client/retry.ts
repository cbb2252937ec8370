/**
 * Retries and hedging of calls by policy (gRFC A6), between the interceptors and the protocol: loggers see one call
 * with any number of attempts. Transparent retry, of requests that no server has processed, is part of the connection
 * pool and is not counted here.
 */
import { mayResend } from "../call/attempt.ts";
import type { Call, CallRequest, CallResponse, Interceptor } from "../call/call.ts";
import { diagnostics } from "../call/diagnostics.ts";
import { callHook, RpcError } from "../call/error.ts";
import { watchEnd } from "../call/message-stream.ts";
import { assertObject } from "../call/option.ts";
import { delay } from "../call/timer.ts";
import { AttemptContext, attemptRequest, type RepeatableRequest, repeatable, withAttempts } from "./attempt.ts";
import {
  type AttemptPolicy,
  isIdempotent,
  isRepeatable,
  RetryBackoff,
  type RetryOptions,
  type RetryPolicy,
  readPushback,
  resolvePolicy,
} from "./attempt-policy.ts";
import { hedge } from "./hedging.ts";
import { RetryTokens } from "./retry-budget.ts";

/** Settings for the attempts of a target's calls. */
export interface AttemptOptions {
  /** Returns the retry tokens of the target. `undefined`: retries are not throttled. */
  readonly tokens: () => RetryTokens | undefined;
  readonly onRetry?: RetryOptions["onRetry"];
}

const DEFAULT_BUDGET = { maxTokens: 10, tokenRatio: 0.1 };

/**
 * Makes an interceptor that retries failed calls (gRFC A6): after an error with one of the policy's codes, if no
 * response headers have arrived, within the deadline of the call and a budget that all calls share. Put it last, and
 * use one for each server. Transports of `triple-es/node` have the option `retry` instead. Throws a `TypeError` for an
 * invalid option.
 *
 *     createTransport({ baseUrl, interceptors: [createRetry({ maxAttempts: 4 })] });
 */
export function createRetry(options: RetryOptions = {}): Interceptor {
  assertObject("the options of createRetry", options, "{ maxAttempts: 4 }");
  assertObject("budget", options.budget, "{ maxTokens: 10, tokenRatio: 0.1 }");
  const policy = resolvePolicy(options);
  const { applies = isIdempotent, onRetry } = options;
  const tokens = new RetryTokens(options.budget ?? DEFAULT_BUDGET);
  const policyOf = ({ method }: CallRequest): AttemptPolicy | undefined => {
    if (policy.hedgingDelayMs !== undefined && !isIdempotent(method)) return undefined;
    return applies(method) ? policy : undefined;
  };
  return (next) => {
    const call = attemptCalls(next, { tokens: () => tokens, onRetry });
    return (request) => call(request, policyOf(request));
  };
}

/**
 * Returns a call that makes further attempts by the policy of its request, if there is one and the request can be sent
 * again.
 */
export function attemptCalls(
  next: Call,
  options: AttemptOptions,
): (request: CallRequest, policy: AttemptPolicy | undefined) => Promise<CallResponse> {
  return (request, policy) =>
    policy !== undefined && isRepeatable(request.method) ? attempt(next, request, policy, options) : next(request);
}

async function attempt(
  next: Call,
  original: CallRequest,
  policy: AttemptPolicy,
  options: AttemptOptions,
): Promise<CallResponse> {
  const request = await repeatable(original);
  const tokens = options.tokens();
  const response =
    policy.hedgingDelayMs === undefined
      ? await retry(next, request, policy, options, tokens)
      : await hedge(next, request, policy, tokens, options.onRetry);
  if (tokens === undefined) return response;
  if (response.stream) return { ...response, messages: countOutcome(response.messages, policy, tokens) };
  tokens.succeeded();
  return response;
}

async function retry(
  next: Call,
  request: RepeatableRequest,
  policy: RetryPolicy,
  { onRetry }: AttemptOptions,
  tokens: RetryTokens | undefined,
): Promise<CallResponse> {
  const { method, context } = request;
  const backoff = new RetryBackoff(policy);
  const tried = new Set<object>();
  for (let number = 1; ; number++) {
    const current = new AttemptContext(context, tried);
    try {
      return withAttempts(await next(attemptRequest(request, number, current)), number);
    } catch (reason) {
      const mayRetry = mayResend(current.attempt.outcome, "policy") && number < policy.maxAttempts;
      const delayMs = delayAfter(reason, mayRetry, policy, backoff, tokens);
      if (delayMs === undefined || delayMs >= (context.timeoutMs() ?? Number.POSITIVE_INFINITY)) throw reason;
      if (context.signal?.aborted) throw reason;
      const error = RpcError.from(reason);
      diagnostics.write?.(`retry ${number} of ${method.path} in ${Math.round(delayMs)} ms: ${error.message}`);
      if (onRetry !== undefined) {
        callHook("the hook onRetry", () =>
          onRetry({ method, context, attempt: number + 1, delayMs, error, isHedge: false }),
        );
      }
      await delay(delayMs, context.signal);
    }
  }
}

/** The delay before the next attempt, in milliseconds; `undefined` if the call is not retried. */
function delayAfter(
  reason: unknown,
  mayRetry: boolean,
  policy: RetryPolicy,
  backoff: RetryBackoff,
  tokens: RetryTokens | undefined,
): number | undefined {
  const error = RpcError.from(reason);
  const pushback = readPushback(error);
  const isRetryable = policy.codes.has(error.code);
  if (isRetryable || pushback === "stop") tokens?.failed();
  if (!isRetryable || pushback === "stop" || !mayRetry) return undefined;
  return tokens?.allowsRetry === false ? undefined : backoff.next(pushback);
}

/** Counts the outcome of a stream whose headers have arrived: a success, or a failure that can no longer be retried. */
function countOutcome(
  messages: AsyncIterable<object>,
  { codes }: AttemptPolicy,
  tokens: RetryTokens,
): AsyncIterable<object> {
  return watchEnd(messages, (how, reason) => {
    if (how === "read") tokens.succeeded();
    else if (how === "failed" && codes.has(RpcError.from(reason).code)) tokens.failed();
  });
}
