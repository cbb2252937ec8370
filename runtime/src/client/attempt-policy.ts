/**
 * Policies for further attempts of a failed call: retries, one after another, or hedging, several concurrently (gRFC
 * A6).
 */
import { RETRY_PUSHBACK, type RetryEvent } from "../call/attempt.ts";
import type { Method } from "../call/call.ts";
import { Code } from "../call/code.ts";
import type { RpcError } from "../call/error.ts";
import { assertAmount, assertArrays, assertFunctions, assertMembers, type MemberNames } from "../call/option.ts";
import type { RetryBudget } from "./retry-budget.ts";

/** Sequential attempts, each after the failure of the last one and a delay. */
export interface RetryPolicy {
  readonly maxAttempts: number;
  /** Codes after which the next attempt is made. */
  readonly codes: ReadonlySet<Code>;
  readonly initialBackoffMs: number;
  readonly maxBackoffMs: number;
  readonly backoffMultiplier: number;
  readonly hedgingDelayMs?: undefined;
}

/** Concurrent attempts. The first success is used. */
export interface HedgingPolicy {
  readonly maxAttempts: number;
  /** Codes that are not fatal: other attempts go on, and the next one is made at once. */
  readonly codes: ReadonlySet<Code>;
  /** Delay between the starts of two attempts, in milliseconds. */
  readonly hedgingDelayMs: number;
}

export type AttemptPolicy = RetryPolicy | HedgingPolicy;

/** Options for retries and hedging of calls (gRFC A6). */
export interface RetryOptions {
  /** Attempts of one call, the first included: an integer from 2 to 5, the limit of gRFC A6. Default: 3. */
  readonly maxAttempts?: number | undefined;
  /** Codes after which another attempt is made. Default: `unavailable` alone. */
  readonly codes?: readonly Code[] | undefined;
  /** Delay before the second attempt, in milliseconds, with 20 % jitter. Default: 100. */
  readonly initialBackoffMs?: number | undefined;
  /** Upper bound of the delays without jitter, in milliseconds. Default: 5,000. */
  readonly maxBackoffMs?: number | undefined;
  /** Factor between consecutive delays. Default: 2. */
  readonly backoffMultiplier?: number | undefined;
  /** The limit on the retries of all calls of the transport together. Default: `{ ratio: 0.2, minPerSecond: 10 }`. */
  readonly budget?: RetryBudget | undefined;
  /**
   * Hedging: the delay in milliseconds after which a further attempt is made while others have not been answered; 0
   * makes all of them at once. Only methods with an `idempotency_level` are hedged, independent of `applies`. Default:
   * no hedging.
   */
  readonly hedgingDelayMs?: number | undefined;
  /**
   * Selects methods. Calls whose requests are streams are never repeated, whatever it returns. Default: methods whose
   * `idempotency_level` in the proto file is `NO_SIDE_EFFECTS` or `IDEMPOTENT`.
   */
  readonly applies?: ((method: Method) => boolean) | undefined;
  /** Called for each further attempt before its delay. Errors that it throws are printed. Default: none. */
  readonly onRetry?: ((event: RetryEvent) => void) | undefined;
}

/** Upper bound of attempts (gRFC A6, "Validation of retryPolicy"). */
export const MAX_ATTEMPTS = 5;

const RETRY_OPTIONS: MemberNames<RetryOptions> = {
  maxAttempts: true,
  codes: true,
  initialBackoffMs: true,
  maxBackoffMs: true,
  backoffMultiplier: true,
  budget: true,
  hedgingDelayMs: true,
  applies: true,
  onRetry: true,
};

/** Validates a policy and fills in its defaults. Throws a `TypeError` that names the option. */
export function resolvePolicy(options: RetryOptions): AttemptPolicy {
  assertMembers("retry", options, Object.keys(RETRY_OPTIONS));
  const { codes = [Code.Unavailable], hedgingDelayMs } = options;
  assertArrays({ codes });
  assertFunctions({ applies: options.applies, onRetry: options.onRetry });
  const { initialBackoffMs = 100, maxBackoffMs = 5_000, backoffMultiplier = 2 } = options;
  const common = { maxAttempts: attemptsOf(options.maxAttempts ?? 3), codes: new Set(codes.map(knownCode)) };
  for (const [name, value] of Object.entries({ initialBackoffMs, maxBackoffMs, backoffMultiplier })) {
    assertAmount(name, value, true);
  }
  if (hedgingDelayMs === undefined) return { ...common, initialBackoffMs, maxBackoffMs, backoffMultiplier };
  return { ...common, hedgingDelayMs: assertAmount("hedgingDelayMs", hedgingDelayMs) };
}

/** Validates a number of attempts. Throws a `TypeError` for anything but an integer from 2 to {@link MAX_ATTEMPTS}. */
export function attemptsOf(maxAttempts: number): number {
  if (Number.isInteger(maxAttempts) && maxAttempts >= 2 && maxAttempts <= MAX_ATTEMPTS) return maxAttempts;
  throw new TypeError(`maxAttempts must be an integer from 2 to ${MAX_ATTEMPTS}, not ${maxAttempts}`);
}

function knownCode(code: Code): Code {
  if (Object.values(Code).includes(code)) return code;
  throw new TypeError(`codes must be values of Code, not ${code}`);
}

/** Reports whether the author of the service has declared repeated calls safe. */
export function isIdempotent({ idempotency }: Method): boolean {
  return idempotency !== undefined;
}

/** Reports whether a policy may repeat calls of a method: the request is a single message, and hedged methods are idempotent. */
export function isRepeatable(method: Method, { hedgingDelayMs }: AttemptPolicy): boolean {
  const { kind } = method;
  return (kind === "unary" || kind === "server_streaming") && (hedgingDelayMs === undefined || isIdempotent(method));
}

/**
 * The server's pushback on a failed attempt: milliseconds to wait, or `stop`. By gRFC A6, text that is not a number of
 * 0 or more also means `stop`. gRPC sends it in the trailers; servers of sub-protocol A may send it as a header.
 */
export function readPushback({ trailers, headers }: RpcError): number | "stop" | undefined {
  const text = trailers.get(RETRY_PUSHBACK) ?? headers.get(RETRY_PUSHBACK);
  if (text === undefined) return undefined;
  return /^[0-9]{1,10}$/.test(text) ? Number(text) : "stop";
}
