/**
 * Calls under a service config: time limits, wait for ready, retries and hedging by method, and what a registry overrides in
 * it. The config may change while calls run; each call keeps the config it began with.
 */
import type { Call, CallRequest, CallResponse } from "../call/call.ts";
import { Status } from "../call/code.ts";
import { type ContextOptions, eachWithin, OpenContext, StreamContext } from "../call/context.ts";
import { isIdempotent, MAX_ATTEMPTS, type RetryOptions, resolvePolicy } from "./attempt-policy.ts";
import { type AttemptOptions, attemptCalls } from "./retry.ts";
import { RecentRetries, type RetryThrottle, RetryTokens } from "./retry-budget.ts";
import type { MethodConfig, ServiceConfig } from "./service-config.ts";

type CallSettings = Readonly<{ timeoutMs?: number | undefined; retries?: number | undefined }>;
/** Settings of a registry for a call, in place of the config, and `defaults` where the config sets nothing. */
export type CallOverrides = (CallSettings & { readonly defaults?: CallSettings }) | undefined;

export interface ConfiguredOptions extends Pick<RetryOptions, "onRetry" | "budget">, Pick<AttemptOptions, "ended"> {
  /** Returns what is overridden in a call, at once if it is known. Default: nothing. */
  readonly overridesOf?: ((request: CallRequest) => CallOverrides | Promise<CallOverrides>) | undefined;
}

/** Applies the service config that is current when a call begins. `onRetry` is called for each further attempt. */
export function configureCalls(
  next: Call,
  current: () => ServiceConfig | undefined,
  { onRetry, budget, ended, overridesOf }: ConfiguredOptions = {},
): Call {
  const attempted = attemptCalls(next, {
    throttle: createThrottle(current, new RecentRetries(budget)),
    onRetry,
    ended,
  });
  const begin = (request: CallRequest, overrides: CallOverrides): Promise<CallResponse> => {
    const config = configOf(current(), request, overrides);
    if (config === undefined) return next(request);
    const call: Call = (configured) => attempted(configured, config.policy);
    return changesContext(config, request) ? callWithin(call, request, config) : call(request);
  };
  return (request) => {
    const overrides = overridesOf?.(request);
    return overrides instanceof Promise ? overrides.then((known) => begin(request, known)) : begin(request, overrides);
  };
}

const DEFAULT_POLICY = resolvePolicy({});

/** Returns the config of a call, with what is overridden in it. */
function configOf(
  service: ServiceConfig | undefined,
  { method, context }: CallRequest,
  overrides: CallOverrides,
): MethodConfig | undefined {
  const given = service?.methodConfigOf(method);
  if (overrides === undefined) return given;
  const config = given ?? { timeoutMs: undefined, waitForReady: undefined, policy: undefined };
  const { defaults = {}, retries = service === undefined ? defaults.retries : undefined } = overrides;
  const timeoutMs = overrides.timeoutMs ?? config.timeoutMs ?? defaults.timeoutMs;
  const own = context.timeoutMs() === undefined ? { ...config, timeoutMs } : config;
  if (retries === undefined) return own;
  // Methods that the program does not retry stay so. Without any config, idempotent methods have the default policy.
  const policy = service === undefined && isIdempotent(method) ? DEFAULT_POLICY : config.policy;
  const maxAttempts = Math.min(retries + 1, MAX_ATTEMPTS);
  return { ...own, policy: policy && maxAttempts > 1 ? { ...policy, maxAttempts } : undefined };
}

/** Returns the limit on retries: the config's throttling, which keeps its share of tokens if it changes, or the budget. */
function createThrottle(current: () => ServiceConfig | undefined, budget: RetryThrottle): () => RetryThrottle {
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
