/**
 * Attempts of calls for OpenTelemetry: a span for each (gRFC A72), span events of further ones, and gRPC's metrics of retries
 * (gRFC A96).
 */

import {
  type Attributes,
  type Context,
  type Histogram,
  type Meter,
  type Span,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import {
  attemptInterceptors,
  PREVIOUS_ATTEMPTS,
  type RequestContext,
  type RetryEvent,
  type TransparentRetryEvent,
} from "../call/attempt.ts";
import type { CallRequest, ContextValues, Interceptor } from "../call/call.ts";
import { Code, codeName } from "../call/code.ts";
import type { RpcError } from "../call/error.ts";
import type { Metadata } from "../call/metadata.ts";
import { wallClock } from "../call/platform.ts";
import { observe } from "./observer.ts";

type Kind = "retry" | "hedge" | "transparent retry";

/** A further attempt of a call. */
interface NotedRetry {
  readonly kind: Kind;
  /** The number of the attempt. `undefined` for a transparent retry, which is not counted. */
  readonly attempt: number | undefined;
  readonly delayMs: number;
  readonly error: RpcError | undefined;
  readonly target: string;
  /** The time at which it was decided on, in milliseconds since 1970. */
  readonly time: number;
}

/** The further attempts of running calls, by the values that all contexts of a call share. */
const retriesOf = new WeakMap<ContextValues, NotedRetry[]>();
/** True after the first further attempt. Most processes have none, and their calls need no look-up. */
let isUsed = false;

/** Boundaries that gRFC A96 recommends for numbers of attempts. */
const COUNTS = [1, 2, 3, 4, 5];
/** Boundaries of durations in seconds (gRFC A66). */
export const LATENCIES: number[] = [
  ...[0, 0.00001, 0.00005, 0.0001, 0.0003, 0.0006, 0.0008, 0.001, 0.002, 0.003, 0.004, 0.005, 0.006, 0.008, 0.01],
  ...[0.013, 0.016, 0.02, 0.025, 0.03, 0.04, 0.05, 0.065, 0.08, 0.1, 0.13, 0.16, 0.2, 0.25, 0.3, 0.4, 0.5, 0.65, 0.8],
  ...[1, 2, 5, 10, 20, 50, 100],
];

/** Notes a further attempt until its call has ended. */
export function noteRetry({ context, attempt, delayMs, error, isHedge }: RetryEvent, target: string): void {
  note(context.values, { kind: isHedge ? "hedge" : "retry", attempt, delayMs, error, target });
}

/** Notes a transparent retry until its call has ended. */
export function noteTransparentRetry({ context, delayMs, error }: TransparentRetryEvent, target: string): void {
  if (context?.values === undefined) return;
  note(context.values, { kind: "transparent retry", attempt: undefined, delayMs, error, target });
}

function note(values: ContextValues, retry: Omit<NotedRetry, "time">): void {
  isUsed = true;
  const all = retriesOf.get(values) ?? [];
  all.push({ ...retry, time: wallClock() });
  retriesOf.set(values, all);
}

/** Returns the canonical URI of a target (gRFC A66). A name without a scheme stays as it is. */
export function canonicalTarget(target: string): string {
  if (!target.startsWith("http://") && !target.startsWith("https://")) return target;
  const { hostname, port, protocol } = new URL(target);
  return `dns:///${hostname}:${port || (protocol === "https:" ? 443 : 80)}`;
}

/** Creates the function that records the further attempts of a call that has ended, with the attributes of its other metrics. */
export function createRetryMetrics(
  meter: Meter,
  labelsOf: (request: CallRequest) => Attributes,
): (request: CallRequest, span: Span) => void {
  const histogram = (name: string, unit: string, description: string, explicitBucketBoundaries: number[]): Histogram =>
    meter.createHistogram(`grpc.client.call.${name}`, { unit, description, advice: { explicitBucketBoundaries } });
  const count = (name: string, unit: string, attempts: string, boundaries = COUNTS): Histogram =>
    histogram(name, unit, `${attempts} of a call, if there were any`, boundaries);
  const counts: Readonly<Record<Kind, Histogram>> = {
    retry: count("retries", "{retry}", "Retries"),
    hedge: count("hedges", "{hedge}", "Hedged attempts"),
    "transparent retry": count("transparent_retries", "{transparent_retry}", "Transparent retries", [...COUNTS, 10]),
  };
  const delay = histogram("retry_delay", "s", "Delays before the retries of a call", LATENCIES);
  return (request, span) => {
    if (!isUsed) return;
    const noted = retriesOf.get(request.context.values);
    if (noted === undefined) return;
    retriesOf.delete(request.context.values);
    const common: Attributes = { "grpc.target": noted[0]?.target ?? "", ...labelsOf(request) };
    for (const { kind, attempt, delayMs, error, time } of noted) {
      const attributes = {
        ...(attempt !== undefined && { "rpc.attempt": attempt }),
        ...(kind !== "hedge" && { "rpc.attempt.delay_ms": delayMs }),
        ...(error !== undefined && { "rpc.status_code": statusOf(error) }),
      };
      span.addEvent(kind, attributes, time);
    }
    for (const [kind, histogram] of Object.entries(counts)) {
      const count = noted.filter((one) => one.kind === kind).length;
      if (count > 0) histogram.record(count, common);
    }
    const delayed = noted.filter(({ kind }) => kind !== "hedge");
    if (delayed.length > 0) delay.record(delayed.reduce((sum, { delayMs }) => sum + delayMs, 0) / 1_000, common);
  };
}

/** Returns the name of a status in gRPC, such as `NOT_FOUND`. */
export function statusOf(error: RpcError | undefined): string {
  if (error === undefined) return "OK";
  return error.code === Code.Canceled ? "CANCELLED" : codeName(error.code).toUpperCase();
}

/**
 * Begins the telemetry of an attempt, which sends `headers`, and returns the function that ends it. A transparent retry is an
 * attempt too.
 */
export type BeginAttempt = (
  request: CallRequest,
  headers: Metadata,
  isTransparent: boolean,
) => (error: RpcError | undefined) => void;

/** Lets transports observe the attempts of the calls of an interceptor. */
export function observeAttempts(interceptor: Interceptor, begins: readonly BeginAttempt[]): void {
  if (begins.length === 0) return;
  attemptInterceptors.set(interceptor, (next) => (request) => {
    const begin = (headers: Metadata, isTransparent: boolean) =>
      begins.map((one) => one(request, headers, isTransparent));
    let ends = begin(request.headers, false);
    const ended = (error: RpcError | undefined): void => {
      for (const end of ends) end(error);
    };
    (request.context as RequestContext).onResend = (error, headers) => {
      ended(error);
      ends = begin(headers, true);
    };
    return observe(next, request, { ended });
  });
}

/** The spans of running calls, in their contexts, by the values that all attempts of a call share. */
export type CallSpans = WeakMap<ContextValues, Context>;

/** Starts the span of each attempt, as a child of its call's. `inject` writes its context into the headers. */
export function traceAttempts(
  tracer: Tracer,
  spans: CallSpans,
  inject: (active: Context, headers: Metadata) => void,
  end: (span: Span, error: RpcError | undefined, request: CallRequest) => void,
): BeginAttempt {
  return (request, headers, isTransparent) => {
    const parent = spans.get(request.context.values);
    const attributes = {
      "previous-rpc-attempts": Number(request.headers.get(PREVIOUS_ATTEMPTS) ?? 0),
      "transparent-retry": isTransparent,
    };
    const name = `Attempt.${request.method.service}.${request.method.name}`;
    const span = tracer.startSpan(name, { attributes }, parent);
    if (parent !== undefined) inject(trace.setSpan(parent, span), headers);
    return (error) => end(span, error, request);
  };
}
