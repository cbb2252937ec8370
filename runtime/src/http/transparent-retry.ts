/**
 * Transparent retries: requests that are sent again because no server has processed them (gRFC A6).
 */
import { mayResend, type Outcome, type Resend, type TransparentRetryEvent } from "../call/attempt.ts";
import { subscribed } from "../call/diagnostics.ts";
import { callHook, type RpcError } from "../call/error.ts";
import type { ExchangeObserver, HttpRequest } from "./exchange.ts";
import { ReplayBody } from "./replay.ts";

/** The delays before each transparent retry of a request, in milliseconds. */
export const TRANSPARENT_RETRY_DELAYS_MS: readonly number[] = [0, 20, 100, 500];

/**
 * The rejection of an exchange whose outcome is known: a new object for each exchange, beside the error, which exchanges may
 * share. It stays between engines, pools and balancers: callers of a transport get the error.
 */
export class ExchangeFailure {
  readonly error: RpcError;
  readonly outcome: Outcome;

  constructor(error: RpcError, outcome: Outcome) {
    this.error = error;
    this.outcome = outcome;
  }
}

/** The outcome of an exchange that was rejected with this reason. */
export function outcomeOf(reason: unknown): Outcome {
  return reason instanceof ExchangeFailure ? reason.outcome : "unknown";
}

/** The error of an exchange that was rejected with this reason. */
export function errorOf(reason: unknown): unknown {
  return reason instanceof ExchangeFailure ? reason.error : reason;
}

/** The observer of exchanges whose callers get the reason of a failure as it is. */
export const UNOBSERVED: ExchangeObserver = { onFailure: (_, reason) => Promise.reject(reason) };

/** The observer of exchanges that cannot be sent to another server: their callers get the error. */
export const WITHOUT_OTHERS: ExchangeObserver = { onFailure: (_, reason) => Promise.reject(errorOf(reason)) };

/** Reports whether a request whose exchange was rejected with this reason may be sent again, its body included. */
export function mayRetry({ body, signal }: HttpRequest, reason: unknown, how: Resend): boolean {
  if (signal?.aborted || !mayResend(outcomeOf(reason), how)) return false;
  return !(body instanceof ReplayBody) || body.replayable;
}

export type TransparentRetryHook = (event: TransparentRetryEvent) => void;

/** Reports a retry to the diagnostics and to the user's hook, if there is one. */
export function reportTransparentRetry(
  { path, headers, context }: HttpRequest,
  delayMs: number,
  reason: unknown,
  hook: TransparentRetryHook | undefined,
): void {
  const error = errorOf(reason) as RpcError;
  subscribed("retry")?.publish({
    type: "transparent retry",
    path,
    delayMs,
    error,
    text: `transparent retry of ${path} in ${delayMs} ms: ${error.message}`,
  });
  context?.onResend?.(error, headers);
  if (hook !== undefined) callHook("the hook onTransparentRetry", () => hook({ path, context, delayMs, error }));
}
