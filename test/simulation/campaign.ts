/**
 * Runs many seeds, and fails if an invariant breaks or if something that should happen now and then has never happened: a
 * campaign that sees nothing proves nothing.
 */
import type { Bundle } from "./bundle.ts";
import { drawPlan, KINDS, kindOf, type PlanKind } from "./draw-plan.ts";
import { type Result, run } from "./run.ts";

/** Events that every long campaign must contain. */
const MUST_SEE = [
  "outcome 0",
  "outcome 1",
  "outcome 4",
  "outcome 14",
  "fault: cut",
  "fault: crash",
  "fault: restart",
  "fault: partition",
  "fault: dial",
  "fault: list",
  "fault: lose data",
  "fault: expire",
  "fault: compact",
  "fault: malform",
  "fault: update",
  "fault: block",
  "fault: jump",
  "fault: close client",
  "transparent retry",
  "transparent retry with a delay",
  "retry by policy",
  "executed again by a policy",
  "stream limit reached",
  "window of a connection used up",
  "window of a stream used up",
  "GOAWAY of a server, code 0",
  "GOAWAY of a client, code 0",
  "RST_STREAM 0",
  "RST_STREAM 7",
  "RST_STREAM 8",
  "endpoint event: resolver failed",
  "endpoint event: removed",
  "endpoint event: unlisted",
  "endpoint event: ejected",
  "registration: registered",
  "registration: failed",
  "HTTP/1.1: connection used again",
  "HTTP/1.1: response that ends its connection",
  "registry: etcd",
  "registry: nacos",
  "registry: zookeeper",
  "DNS: A",
  "DNS: SRV",
  "DNS: ESERVFAIL",
  "DNS: ETIMEOUT",
  "Kubernetes: list",
  "Kubernetes: watch",
  "Kubernetes: version is gone",
  "list of a registry",
  "empty list of a registry",
];
/** Events that few plans have. */
const RARELY_SEEN = [
  "HTTP/1.1: response before the end of its request",
  "fault: health",
  "endpoint that does not serve",
  "load report of a call",
  "load report out of band",
  "zone that takes all calls",
  "refused by maxPendingRequests",
  "refused by shedLoad",
  "event stream",
  "unread streams",
];
/** Seeds after which all of {@link MUST_SEE}, and all of {@link RARELY_SEEN}, are expected. */
const LONG = 200;
const LONG_FOR_RARE = 1_000;

export interface CampaignOptions {
  readonly first: number;
  readonly seeds: number;
  /** The calls after which there are no more seeds of a kind of plans. Default: there are. */
  readonly calls?: number | undefined;
  readonly excluded: readonly string[];
  readonly onBroken: (result: Result) => Promise<void>;
}

export interface CampaignResult {
  /** The calls of each kind of plans. */
  readonly calls: ReadonlyMap<PlanKind, number>;
  readonly events: number;
  readonly broken: number;
  /** The expectation that was not met. */
  readonly missing: readonly string[];
  readonly seen: ReadonlyMap<string, number>;
}

export async function runCampaign(
  bundle: Bundle,
  { first, seeds, calls: enough = Number.POSITIVE_INFINITY, excluded, onBroken }: CampaignOptions,
): Promise<CampaignResult> {
  const seen = new Map<string, number>();
  const calls = new Map(KINDS.map((kind) => [kind, 0]));
  let runs = 0;
  let events = 0;
  let broken = 0;
  for (let seed = first; seed < first + seeds && Math.min(...calls.values()) < enough; seed++) {
    const kind = kindOf(seed);
    const before = calls.get(kind) ?? 0;
    if (before >= enough) continue;
    const result = await run(drawPlan(seed), bundle, { excluded });
    runs++;
    calls.set(kind, before + result.calls);
    events += result.events;
    for (const [what, times] of result.seen) seen.set(what, (seen.get(what) ?? 0) + times);
    if (result.violation === undefined) continue;
    broken++;
    await onBroken(result);
  }
  const expected = [...(runs < LONG ? [] : MUST_SEE), ...(runs < LONG_FOR_RARE ? [] : RARELY_SEEN)];
  const missing = expected.filter((what) => !seen.has(what));
  return { calls, events, broken, missing, seen };
}
