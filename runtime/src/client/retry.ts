/**
 * Retries and hedging of calls by policy (gRFC A6), between the interceptors and the protocol: loggers see one call
 * with any number of attempts. Transparent retry, of requests that no server has processed, is part of the connection
 * pool and is not counted here.
 */
import { isCommitted } from "../call/attempt.ts";
import type { Call, CallRequest, CallResponse, Interceptor } from "../call/call.ts";
import { callHook, RpcError } from "../call/error.ts";
import { iteration } from "../call/message-stream.ts";
import { delay } from "../call/timer.ts";
import { attemptRequest, type RepeatableRequest, repeatable, withAttempts } from "./attempt.ts";
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

/** Settings for the attempts of a transport's calls. */
export interface Attempting {
  /** Returns the policy of the request's method, if it has one. */
  readonly policyOf: (request: CallRequest) => AttemptPolicy | undefined;
  /** Returns the retry tokens of the target. `undefined`: retries are not throttled. */
  readonly tokens: () => RetryTokens | undefined;
  readonly onRetry?: RetryOptions["onRetry"];
  /** A source of random numbers from 0 to 1. Default: `Math.random`. */
  readonly random?: () => number;
}

const DEFAULT_BUDGET = { maxTokens: 10, tokenRatio: 0.1 };

/**
 * Makes an interceptor that retries failed calls (gRFC A6): after an error with one of the policy's codes, if no response headers
 * have arrived, within the deadline of the call and a budget that all calls share. Put it last, and use one for each server.
 * Transports of `triple-es/node` have the option `retry` instead. Throws a `TypeError` for an invalid option.
 *
 *     createTransport({ baseUrl, interceptors: [createRetry({ maxAttempts: 4 })] });
 */
export function createRetry(options: RetryOptions = {}): Interceptor {
  const policy = resolvePolicy(options);
  const { applies = isIdempotent, onRetry } = options;
  const tokens = new RetryTokens(options.budget ?? DEFAULT_BUDGET);
  const policyOf = ({ method }: CallRequest): AttemptPolicy | undefined => {
    if (policy.hedgingDelayMs !== undefined && !isIdempotent(method)) return undefined;
    return applies(method) ? policy : undefined;
  };
  return (next) => attemptCalls(next, { policyOf, tokens: () => tokens, onRetry });
}

/** Retries the calls whose method has a policy. */
export function attemptCalls(next: Call, attempting: Attempting): Call {
  return (request) => {
    const policy = isRepeatable(request.method) ? attempting.policyOf(request) : undefined;
    return policy === undefined ? next(request) : attempt(next, request, policy, attempting);
  };
}

async function attempt(
  next: Call,
  original: CallRequest,
  policy: AttemptPolicy,
  attempting: Attempting,
): Promise<CallResponse> {
  const request = await repeatable(original);
  const tokens = attempting.tokens();
  const response =
    policy.hedgingDelayMs === undefined
      ? await retry(next, request, policy, attempting, tokens)
      : await hedge(next, request, policy, tokens, attempting.onRetry);
  if (tokens === undefined) return response;
  if (response.stream) return { ...response, messages: countOutcome(response.messages, policy, tokens) };
  tokens.succeeded();
  return response;
}

async function retry(
  next: Call,
  request: RepeatableRequest,
  policy: RetryPolicy,
  { onRetry, random = Math.random }: Attempting,
  tokens: RetryTokens | undefined,
): Promise<CallResponse> {
  const { method, context } = request;
  const backoff = new RetryBackoff(policy, random);
  for (let number = 1; ; number++) {
    try {
      return withAttempts(await next(attemptRequest(request, number)), number);
    } catch (reason) {
      const delayMs = delayAfter(reason, number, policy, backoff, tokens);
      if (delayMs === undefined || delayMs >= (context.timeoutMs() ?? Number.POSITIVE_INFINITY)) throw reason;
      if (context.signal?.aborted) throw reason;
      const error = RpcError.from(reason);
      if (onRetry !== undefined) {
        callHook("the hook onRetry", () => onRetry({ method, attempt: number + 1, delayMs, error }));
      }
      await delay(delayMs, context.signal);
    }
  }
}

/** The delay before the next attempt, in milliseconds; `undefined` if the call is not retried. */
function delayAfter(
  reason: unknown,
  number: number,
  policy: RetryPolicy,
  backoff: RetryBackoff,
  tokens: RetryTokens | undefined,
): number | undefined {
  const error = RpcError.from(reason);
  const pushback = readPushback(error);
  const isRetryable = policy.codes.has(error.code);
  if (isRetryable || pushback === "stop") tokens?.failed();
  if (!isRetryable || pushback === "stop" || isCommitted(error) || number >= policy.maxAttempts) return undefined;
  return tokens?.allowsRetry === false ? undefined : backoff.next(pushback);
}

/** Counts the outcome of a stream whose headers have arrived: a success, or a failure that can no longer be retried. */
function countOutcome(
  messages: AsyncIterable<object>,
  { codes }: AttemptPolicy,
  tokens: RetryTokens,
): AsyncIterable<object> {
  return {
    [Symbol.asyncIterator]() {
      const iterator = messages[Symbol.asyncIterator]();
      const next = async (): Promise<IteratorResult<object, undefined>> => {
        try {
          const result = await iterator.next();
          if (result.done) tokens.succeeded();
          return result;
        } catch (reason) {
          if (codes.has(RpcError.from(reason).code)) tokens.failed();
          throw reason;
        }
      };
      return iteration(next, () => iterator.return?.());
    },
  };
}
