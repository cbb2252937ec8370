/**
 * Further attempts of calls for OpenTelemetry: span events, and gRPC's metrics of retries (gRFC A96).
 */
import type { Attributes, Histogram, Meter, Span } from "@opentelemetry/api";
import type { CallContext } from "../call/call.ts";
import { codeName } from "../call/code.ts";
import type { RpcError } from "../call/error.ts";

/** The parts of a retry policy's event that are recorded. */
export interface ObservedRetry {
  readonly context: CallContext;
  readonly attempt: number;
  readonly delayMs: number;
  readonly error: RpcError | undefined;
  readonly isHedge: boolean;
}

export interface RetryInstruments {
  readonly retries: Histogram;
  readonly hedges: Histogram;
  readonly delay: Histogram;
}

/** A further attempt, and the time at which it was decided on, in milliseconds since 1970. */
type NotedRetry = ObservedRetry & { readonly time: number };

/** The further attempts of running calls. */
const retriesOf = new WeakMap<CallContext, NotedRetry[]>();

/** Boundaries for numbers of attempts, of which a call makes five at most. */
const COUNTS = [0, 1, 2, 3, 4, 5];

export function createRetryInstruments(meter: Meter): RetryInstruments {
  const counter = (name: string, unit: string, description: string): Histogram =>
    meter.createHistogram(name, { unit, description, advice: { explicitBucketBoundaries: COUNTS } });
  return {
    retries: counter("grpc.client.call.retries", "{retry}", "Retries of a call, if there were any"),
    hedges: counter("grpc.client.call.hedges", "{hedge}", "Hedged attempts of a call, if there were any"),
    delay: meter.createHistogram("grpc.client.call.retry_delay", {
      unit: "s",
      description: "Delays before the retries of a call",
    }),
  };
}

/** Notes a further attempt until its call has ended. */
export function noteRetry(event: ObservedRetry): void {
  const noted = { ...event, time: Date.now() };
  const all = retriesOf.get(event.context);
  if (all === undefined) retriesOf.set(event.context, [noted]);
  else all.push(noted);
}

/** Records the further attempts of a call that has ended. */
export function recordRetries(
  context: CallContext,
  span: Span,
  instruments: RetryInstruments,
  known: Attributes,
): void {
  const noted = retriesOf.get(context);
  if (noted === undefined) return;
  retriesOf.delete(context);
  for (const { attempt, delayMs, error, isHedge, time } of noted) {
    const attributes = {
      "rpc.attempt": attempt,
      ...(!isHedge && { "rpc.attempt.delay_ms": delayMs }),
      ...(error !== undefined && { "rpc.response.status_code": codeName(error.code).toUpperCase() }),
    };
    span.addEvent(isHedge ? "hedge" : "retry", attributes, time);
  }
  const retries = noted.filter(({ isHedge }) => !isHedge);
  if (retries.length < noted.length) instruments.hedges.record(noted.length - retries.length, known);
  if (retries.length === 0) return;
  instruments.retries.record(retries.length, known);
  instruments.delay.record(retries.reduce((sum, { delayMs }) => sum + delayMs, 0) / 1_000, known);
}
