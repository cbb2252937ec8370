/**
 * Service configs in gRPC's JSON format (grpc.service_config.ServiceConfig; gRFC A2, A6). They set the timeout, wait
 * for ready and the retry or hedging policy of each method, and the retry throttling, load balancing policy and health
 * check of the target.
 */
import type { Method } from "../call/call.ts";
import { type Code, codeFromName, codeFromNumber } from "../call/code.ts";
import { assertAmount, assertOneOf } from "../call/option.ts";
import { type AttemptPolicy, attemptsOf, MAX_ATTEMPTS } from "./attempt-policy.ts";
import { type RetryThrottling, RetryTokens } from "./retry-budget.ts";

/** The service config of one method. */
export interface MethodConfig {
  /** Timeout of a call, in milliseconds. The call's own timeout applies if it is shorter. `undefined`: none. */
  readonly timeoutMs: number | undefined;
  /**
   * True if calls wait for a server unless they set the option themselves. `undefined`: the transport's option applies.
   */
  readonly waitForReady: boolean | undefined;
  readonly policy: AttemptPolicy | undefined;
}

/** A load balancing policy, and its own configuration. Its durations are also there in milliseconds, with `Ms` in the name. */
export interface BalancingConfig {
  readonly name: string;
  readonly config: Fields;
  /** The options of outlier detection (gRFC A50), if the policy is a child of it. Their values are not validated. */
  readonly outlierDetection?: Fields | undefined;
}

/** A validated service config. */
export interface ServiceConfig {
  /** Returns the config of a method: that of its name, of its service, or of all methods, in this order. */
  readonly methodConfigOf: (method: Method) => MethodConfig | undefined;
  /** The throttling of retries, which replaces the default budget. `undefined`: the default budget applies. */
  readonly retryThrottling: RetryThrottling | undefined;
  /** Policies in order of preference: the first known one is used. */
  readonly loadBalancing: readonly BalancingConfig[];
  /** The service whose health the client watches (gRFC A17); `""` is the whole server. `undefined`: none. */
  readonly healthCheckService?: string | undefined;
}

type Fields = Readonly<Record<string, unknown>>;

/**
 * Parses a service config: JSON text, or the result of `JSON.parse`. Unknown members are ignored, as gRPC demands;
 * invalid ones throw a `TypeError` with their position.
 */
export function parseServiceConfig(given: unknown): ServiceConfig {
  const config = fieldsOf(typeof given === "string" ? parseText(given) : given, "the service config");
  const byName = new Map<string, MethodConfig>();
  for (const [index, entry] of listOf(config["methodConfig"], "methodConfig").entries()) {
    const at = `methodConfig[${index}]`;
    const fields = fieldsOf(entry, at);
    const parsed = methodConfigOf(fields, at);
    for (const name of listOf(fields["name"], `${at}.name`)) {
      const key = keyOf(fieldsOf(name, `${at}.name`), at);
      if (byName.has(key)) throw new TypeError(`${at}.name: ${key || "the default"} has a config already`);
      byName.set(key, parsed);
    }
  }
  return {
    methodConfigOf: ({ service, name }) => byName.get(`${service}/${name}`) ?? byName.get(service) ?? byName.get(""),
    retryThrottling: throttlingOf(config["retryThrottling"]),
    loadBalancing: balancingOf(config),
    healthCheckService: healthCheckServiceOf(config["healthCheckConfig"]),
  };
}

function healthCheckServiceOf(given: unknown = {}): string | undefined {
  const { serviceName } = fieldsOf(given, "healthCheckConfig");
  if (serviceName === undefined || typeof serviceName === "string") return serviceName;
  throw new TypeError(`healthCheckConfig.serviceName must be a text, not ${JSON.stringify(serviceName)}`);
}

function parseText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new TypeError(`the service config is not JSON: ${(cause as Error).message}`, { cause });
  }
}

/** Returns the key of a name: `service/method`, `service`, or the empty string for the default of all methods. */
function keyOf({ service = "", method = "" }: Fields, at: string): string {
  if (typeof service !== "string" || typeof method !== "string") {
    throw new TypeError(`${at}.name must have texts for service and method`);
  }
  if (service === "" && method !== "") throw new TypeError(`${at}.name: method "${method}" needs a service`);
  return method === "" ? service : `${service}/${method}`;
}

function methodConfigOf(fields: Fields, at: string): MethodConfig {
  const { timeout, waitForReady, retryPolicy, hedgingPolicy } = fields;
  if (waitForReady !== undefined) assertOneOf(`${at}.waitForReady`, waitForReady as boolean, [true, false]);
  if (retryPolicy !== undefined && hedgingPolicy !== undefined) {
    throw new TypeError(`${at} must not have both retryPolicy and hedgingPolicy`);
  }
  return {
    timeoutMs: timeout === undefined ? undefined : durationOf(timeout, `${at}.timeout`),
    waitForReady: waitForReady as boolean | undefined,
    policy:
      retryPolicy !== undefined
        ? retryPolicyOf(fieldsOf(retryPolicy, `${at}.retryPolicy`), `${at}.retryPolicy`)
        : hedgingPolicy === undefined
          ? undefined
          : hedgingPolicyOf(fieldsOf(hedgingPolicy, `${at}.hedgingPolicy`), `${at}.hedgingPolicy`),
  };
}

function retryPolicyOf(fields: Fields, at: string): AttemptPolicy {
  const { initialBackoff, maxBackoff, backoffMultiplier, retryableStatusCodes } = fields;
  const codes = codesOf(retryableStatusCodes, `${at}.retryableStatusCodes`);
  if (codes.size === 0) throw new TypeError(`${at}.retryableStatusCodes must name a code`);
  return {
    maxAttempts: maxAttemptsOf(fields, at),
    codes,
    initialBackoffMs: assertAmount(`${at}.initialBackoff`, durationOf(initialBackoff, `${at}.initialBackoff`), true),
    maxBackoffMs: assertAmount(`${at}.maxBackoff`, durationOf(maxBackoff, `${at}.maxBackoff`), true),
    backoffMultiplier: assertAmount(`${at}.backoffMultiplier`, backoffMultiplier, true),
  };
}

function hedgingPolicyOf(fields: Fields, at: string): AttemptPolicy {
  const { hedgingDelay = "0s", nonFatalStatusCodes } = fields;
  return {
    maxAttempts: maxAttemptsOf(fields, at),
    codes: codesOf(nonFatalStatusCodes, `${at}.nonFatalStatusCodes`),
    hedgingDelayMs: durationOf(hedgingDelay, `${at}.hedgingDelay`),
  };
}

/** Reads the number of attempts. A larger one than the limit is valid in a service config, and means the limit (gRFC A6). */
function maxAttemptsOf({ maxAttempts }: Fields, at: string): number {
  try {
    return attemptsOf(
      Number.isInteger(maxAttempts) ? Math.min(maxAttempts as number, MAX_ATTEMPTS) : (maxAttempts as number),
    );
  } catch (cause) {
    throw new TypeError(`${at}: ${(cause as Error).message}`, { cause });
  }
}

function codesOf(given: unknown, at: string): ReadonlySet<Code> {
  const codes = listOf(given, at).map((one) => {
    const code =
      typeof one === "string" ? codeFromName(one) : typeof one === "number" ? codeFromNumber(one) : undefined;
    if (code === undefined) throw new TypeError(`${at}: ${JSON.stringify(one)} is not a code of a failure`);
    return code;
  });
  return new Set(codes);
}

function throttlingOf(given: unknown): RetryThrottling | undefined {
  if (given === undefined) return undefined;
  const { maxTokens, tokenRatio } = fieldsOf(given, "retryThrottling");
  const throttling = { maxTokens: maxTokens as number, tokenRatio: tokenRatio as number };
  try {
    void new RetryTokens(throttling);
  } catch (cause) {
    throw new TypeError(`retryThrottling: ${(cause as Error).message}`, { cause });
  }
  return throttling;
}

/** Reads `loadBalancingConfig`, or the older `loadBalancingPolicy` if the former is absent. */
function balancingOf({ loadBalancingConfig, loadBalancingPolicy }: Fields): BalancingConfig[] {
  if (loadBalancingConfig === undefined && typeof loadBalancingPolicy === "string") {
    return [{ name: loadBalancingPolicy.toLowerCase(), config: {} }];
  }
  return policiesOf(loadBalancingConfig, "loadBalancingConfig");
}

function policiesOf(list: unknown, path: string): BalancingConfig[] {
  return listOf(list, path).flatMap((entry, index) => {
    const at = `${path}[${index}]`;
    const policies = Object.entries(fieldsOf(entry, at));
    const [policy] = policies;
    if (policy === undefined || policies.length > 1) throw new TypeError(`${at} must have one member, a policy's name`);
    const [name, given] = policy;
    const config = withDurations(name, fieldsOf(given, `${at}.${name}`), `${at}.${name}`);
    if (name !== "outlier_detection") return [{ name, config }];
    const outlierDetection = outlierDetectionOf(config, `${at}.${name}`);
    return policiesOf(config["childPolicy"], `${at}.${name}.childPolicy`).map((child) => ({
      ...child,
      outlierDetection,
    }));
  });
}

/** The durations in the configs of policies. */
const POLICY_DURATIONS: Readonly<Record<string, readonly string[]>> = {
  outlier_detection: ["interval", "baseEjectionTime", "maxEjectionTime"],
  weighted_round_robin: ["oobReportingPeriod", "blackoutPeriod", "weightExpirationPeriod", "weightUpdatePeriod"],
};

/** Adds the durations of a policy's config in milliseconds. */
function withDurations(name: string, config: Fields, at: string): Fields {
  const names = Object.hasOwn(POLICY_DURATIONS, name) ? (POLICY_DURATIONS[name] as readonly string[]) : [];
  const durations = names.map((one) => {
    const value = config[one];
    return [`${one}Ms`, value === undefined ? undefined : durationOf(value, `${at}.${one}`)] as const;
  });
  return { ...config, ...Object.fromEntries(durations) };
}

/**
 * Reads the config of outlier detection (gRFC A50) as the option `ejection`, with A50's defaults: a rule without a config
 * ejects no endpoint.
 */
function outlierDetectionOf(config: Fields, at: string): Fields {
  const { maxEjectionPercent = 10, successRateEjection, failurePercentageEjection } = config;
  const { intervalMs, baseEjectionTimeMs, maxEjectionTimeMs } = config;
  return {
    intervalMs,
    baseEjectionTimeMs,
    maxEjectionTimeMs,
    maxEjectionPercent,
    successRateEjection: ruleOf(successRateEjection, `${at}.successRateEjection`),
    failurePercentageEjection: ruleOf(failurePercentageEjection, `${at}.failurePercentageEjection`),
  };
}

function ruleOf(given: unknown, at: string): Fields {
  return given === undefined ? { enforcementPercentage: 0 } : { minimumHosts: 5, ...fieldsOf(given, at) };
}

/**
 * Parses a duration in protobuf's JSON format (seconds with up to nine digits after the point, and an `s`) to milliseconds.
 *
 *     Duration → 1*DIGIT [ "." 1*9DIGIT ] "s"
 */
function durationOf(given: unknown, at: string): number {
  const seconds = typeof given === "string" ? /^([0-9]{1,12}(?:\.[0-9]{1,9})?)s$/.exec(given)?.[1] : undefined;
  if (seconds === undefined)
    throw new TypeError(`${at} must be a duration such as "1.5s", not ${JSON.stringify(given)}`);
  return Number(seconds) * 1000;
}

function fieldsOf(given: unknown, at: string): Fields {
  if (typeof given === "object" && given !== null && !Array.isArray(given)) return given as Fields;
  throw new TypeError(`${at} must be an object`);
}

function listOf(given: unknown = [], at: string): readonly unknown[] {
  if (Array.isArray(given)) return given;
  throw new TypeError(`${at} must be an array`);
}
