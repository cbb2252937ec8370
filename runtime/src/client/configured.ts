/**
 * Calls under a service config: time limits, wait for ready, retries and hedging by method. The config may change while
 * calls run; each call keeps the config it began with.
 */
import type { Call, CallRequest, CallResponse } from "../call/call.ts";
import { Status } from "../call/code.ts";
import { type ContextOptions, eachWithin, OpenContext, StreamContext } from "../call/context.ts";
import type { RetryOptions } from "./attempt-policy.ts";
import { attemptCalls } from "./retry.ts";
import { RecentRetries, type RetryThrottle, RetryTokens } from "./retry-budget.ts";
import { allowedPolicy, type MethodConfig, type ServiceConfig } from "./service-config.ts";

/** Applies the service config that is current when a call begins. `onRetry` is called for each further attempt. */
export function configureCalls(
  next: Call,
  current: () => ServiceConfig | undefined,
  onRetry?: RetryOptions["onRetry"],
): Call {
  const attempted = attemptCalls(next, { throttle: createThrottle(current), onRetry });
  return (request) => {
    const config = current()?.methodConfigOf(request.method);
    if (config === undefined) return next(request);
    const policy = allowedPolicy(config, request.method);
    const call: Call = (configured) => attempted(configured, policy);
    return changesContext(config, request) ? callWithin(call, request, config) : call(request);
  };
}

/**
 * Returns the limit on the retries of the target: the throttling of the config, or else the default budget. If the throttling
 * changes, the fraction of remaining tokens is kept.
 */
function createThrottle(current: () => ServiceConfig | undefined): () => RetryThrottle {
  const budget = new RecentRetries();
  let config: ServiceConfig | undefined;
  let tokens: RetryTokens | undefined;
  return () => {
    const now = current();
    if (now !== config) {
      config = now;
      const throttling = now?.retryThrottling;
      tokens = throttling && new RetryTokens(throttling, tokens?.filled);
    }
    return tokens ?? budget;
  };
}

function changesContext({ timeoutMs, waitForReady }: MethodConfig, { context }: CallRequest): boolean {
  if (timeoutMs !== undefined && timeoutMs < (context.timeoutMs() ?? Number.POSITIVE_INFINITY)) return true;
  return waitForReady !== undefined && context.waitForReady === undefined;
}

async function callWithin(next: Call, request: CallRequest, config: MethodConfig): Promise<CallResponse> {
  const options = configuredOptions(request, config);
  const context = request.stream ? new StreamContext(options) : new OpenContext(options);
  let response: CallResponse | undefined;
  try {
    response = await context.race(() => next({ ...request, context }));
    // The context of a stream ends with its messages.
    return response.stream ? { ...response, messages: eachWithin(context, response.messages) } : response;
  } finally {
    request.context.target = context.target;
    if (!response?.stream) context.close();
  }
}

function configuredOptions({ context }: CallRequest, config: MethodConfig): ContextOptions {
  const left = context.timeoutMs();
  const { timeoutMs = left, waitForReady } = config;
  return {
    timeoutMs: left === undefined ? timeoutMs : Math.min(left, timeoutMs ?? left),
    timeoutStatus: Status.ClientTimeout,
    signal: context.signal,
    values: context.values,
    waitForReady: context.waitForReady ?? waitForReady,
  };
}
