/**
 * Weighted round robin by load reports of the endpoints (gRFC A58): the turns of round robin, by weights that follow from the
 * last reports, which arrive with responses or out of band (gRFC A51):
 *
 *     weight = qps / (utilization + eps / qps * errorUtilizationPenalty)
 *
 * The utilization is that of the application, otherwise that of the CPU. An endpoint without a usable weight has the mean of the
 * others. With fewer than two usable weights, those of the list stay in use. Warm-up and zones reduce both kinds of weights.
 */

import { CALL_LOAD_REPORT } from "../../call/metadata.ts";
import { assertAmount } from "../../call/option.ts";
import { MAX_TIMER_MS } from "../../call/platform.ts";
import { readTag, skipField } from "../../codec/binary/reader.ts";
import { MessageReader, readDouble } from "../../codec/binary/scalar-reader.ts";
import type { HttpResponse } from "../../http/exchange.ts";
import type { Balancer, LoadSettings } from "../balancer.ts";
import { DEFAULT_WEIGHT, type Endpoint } from "../endpoint.ts";
import { roundRobin } from "./round-robin.ts";

/** The lower bound of `weightUpdatePeriodMs`. */
const MIN_UPDATE_MS = 100;

/**
 * Makes the policy. Its options are the parameters of A58, which {@link Balancer} describes. It equals {@link roundRobin} until two
 * endpoints have reported for `blackoutPeriodMs`. Throws a `TypeError` for an invalid option.
 */
export function weightedRoundRobin(
  options: Partial<NonNullable<Balancer["loads"]>> & { readonly random?: (() => number) | undefined } = {},
): Balancer {
  const { oobReportingPeriodMs, blackoutPeriodMs = 10_000, weightExpirationPeriodMs = 180_000 } = options;
  const { weightUpdatePeriodMs = 1_000, errorUtilizationPenalty = 1, random } = options;
  const loads: LoadSettings = {
    oobReportingPeriodMs:
      oobReportingPeriodMs === undefined
        ? undefined
        : Math.min(assertAmount("oobReportingPeriodMs", oobReportingPeriodMs, true), MAX_TIMER_MS),
    blackoutPeriodMs: assertAmount("blackoutPeriodMs", blackoutPeriodMs),
    weightExpirationPeriodMs: assertAmount("weightExpirationPeriodMs", weightExpirationPeriodMs),
    weightUpdatePeriodMs: Math.max(MIN_UPDATE_MS, assertAmount("weightUpdatePeriodMs", weightUpdatePeriodMs)),
    errorUtilizationPenalty: assertAmount("errorUtilizationPenalty", errorUtilizationPenalty),
  };
  return Object.assign(roundRobin({ random }), { policy: "weighted_round_robin", loads });
}

/** The weight of an endpoint by its last report, and the times of its first and last reports since it became ready or expired. */
export interface LoadWeight {
  readonly weight: number;
  readonly firstAt: number;
  readonly lastAt: number;
}

/** An endpoint whose weight {@link weighByLoad} computes. */
interface Loaded {
  readonly endpoint: Endpoint;
  load: LoadWeight | undefined;
  weight: number;
}

/** Takes the report of a call, which is in the headers if the response has no other fields (trailers-only). */
export function takeCallReport(
  one: Loaded,
  { headers, trailers }: HttpResponse,
  settings: LoadSettings,
  now: number,
): void {
  if (settings.oobReportingPeriodMs !== undefined) return;
  const fields = trailers.has(CALL_LOAD_REPORT) ? trailers : headers;
  if (fields.has(CALL_LOAD_REPORT)) takeReport(one, () => fields.getBinary(CALL_LOAD_REPORT), settings, now);
}

/** Takes a report. One that is malformed or has no load is ignored. */
export function takeReport(
  one: Loaded,
  read: () => Uint8Array | undefined,
  { errorUtilizationPenalty }: LoadSettings,
  now: number,
): void {
  const doubles: (number | undefined)[] = [];
  try {
    const reader = new MessageReader(read() as Uint8Array);
    while (reader.pos < reader.length) {
      const tag = readTag(reader);
      if ((tag & 7) === 1 && tag < 128) doubles[tag >>> 3] = readDouble(reader);
      else skipField(reader, tag);
    }
  } catch {
    return;
  }
  // The fields of `OrcaLoadReport`, by number.
  const { 1: cpu = 0, 6: qps = 0, 7: eps = 0, 9: application = 0 } = doubles;
  const utilization = application > 0 ? application : cpu;
  const weight = qps / (utilization + (eps / qps) * errorUtilizationPenalty);
  // Sums of larger weights may be infinite.
  if (!(utilization > 0 && weight > 0 && weight <= Number.MAX_SAFE_INTEGER)) return;
  one.load = { weight, firstAt: one.load?.firstAt ?? now, lastAt: now };
}

/** Replaces the weights of the list by those of the reports. */
export function weighByLoad(ready: readonly Loaded[], settings: LoadSettings, now: number): void {
  const { blackoutPeriodMs, weightExpirationPeriodMs } = settings;
  const weights = ready.map((one) => {
    if (one.load !== undefined && now - one.load.lastAt >= weightExpirationPeriodMs) one.load = undefined;
    return one.load === undefined || now - one.load.firstAt < blackoutPeriodMs ? 0 : one.load.weight;
  });
  const usable = weights.filter((weight) => weight > 0);
  if (usable.length < 2) return;
  const mean = usable.reduce((sum, weight) => sum + weight, 0) / usable.length;
  for (const [index, one] of ready.entries()) {
    one.weight = (weights[index] || mean) * (one.weight / (one.endpoint.weight || DEFAULT_WEIGHT));
  }
}
