/**
 * gRPC's metrics of calls and attempts for OpenTelemetry (gRFC A66): their number, durations and sizes.
 */
import type { Attributes, Context, Meter } from "@opentelemetry/api";
import type { RequestContext } from "../call/attempt.ts";
import type { RpcError } from "../call/error.ts";
import { now } from "../call/platform.ts";
import { LATENCIES } from "./attempt-telemetry.ts";

/** Boundaries of durations in seconds, as the semantic conventions recommend. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
/** Boundaries of sizes in bytes. */
const SIZES = [0, 1024, 2048, 4096, ...[14, 16, 18, 20, 22, 24, 26, 28, 30, 32].map((power) => 2 ** power)];

/** The attributes of the metrics of a method. */
export interface Labels {
  readonly common: Attributes;
  /** Returns all attributes of a call or attempt that has ended. */
  readonly ended: (error: RpcError | undefined) => Attributes;
}

/** Creates labels, whose attributes are made once. `outcomeOf` depends on the code of the error only. */
export function createLabels(common: Attributes, outcomeOf: (error: RpcError | undefined) => Attributes): Labels {
  const byCode: Attributes[] = [];
  const ended = (error: RpcError | undefined): Attributes => {
    const code = error?.code ?? 0;
    byCode[code] ??= { ...common, ...outcomeOf(error) };
    return byCode[code];
  };
  return { common, ended };
}

/** The running calls of all interceptors with the same meter, because a meter keeps one of several observations. */
const runningCalls = new WeakMap<Meter, { client: number; server: number }>();

/** Returns the counts of running calls, which the meter observes. */
export function observeRunning(meter: Meter): { client: number; server: number } {
  const known = runningCalls.get(meter);
  if (known !== undefined) return known;
  const running = { client: 0, server: 0 };
  runningCalls.set(meter, running);
  for (const side of ["client", "server"] as const) {
    const gauge = meter.createObservableUpDownCounter(`triple.${side}.active_calls`, { unit: "{call}" });
    gauge.addCallback((result) => result.observe(running[side]));
  }
  return running;
}

/** Begins the metrics of a call or attempt. The function that it returns records the end, in the context of the call's span. */
type Measure = (context: RequestContext, labels: Labels) => (error: RpcError | undefined, active?: Context) => unknown;

const DESCRIPTIONS = {
  "grpc.client.attempt": {
    unit: "{attempt}",
    started: "Number of client call attempts started.",
    duration: "End-to-end time taken to complete a client call attempt.",
    sent: "Compressed message bytes sent per client call attempt.",
    received: "Compressed message bytes received per call attempt.",
  },
  "grpc.server.call": {
    unit: "{call}",
    started: "Number of server calls started.",
    duration: "End-to-end time taken to complete a call from server transport's perspective.",
    sent: "Compressed message bytes sent per server call.",
    received: "Compressed message bytes received per server call.",
  },
};

/** Creates the four metrics that attempts of a client and calls of a server have. */
export function createMeasure(meter: Meter, prefix: keyof typeof DESCRIPTIONS): Measure {
  const { unit, ...descriptions } = DESCRIPTIONS[prefix];
  const advice = { explicitBucketBoundaries: SIZES };
  const size = (direction: string, description: string) =>
    meter.createHistogram(`${prefix}.${direction}_total_compressed_message_size`, { unit: "By", description, advice });
  const started = meter.createCounter(`${prefix}.started`, { unit, description: descriptions.started });
  const ended = createDuration(meter, prefix, descriptions.duration);
  const sent = size("sent", descriptions.sent);
  const received = size("rcvd", descriptions.received);
  return (context, labels) => {
    started.add(1, labels.common);
    const record = ended(context, labels);
    return (error) => {
      const outcome = record(error);
      if (context.sentBytes === undefined) return;
      sent.record(context.sentBytes, outcome);
      received.record(context.receivedBytes ?? 0, outcome);
    };
  };
}

/** Creates the metrics of calls: gRPC's, or the histogram of the semantic conventions. */
export function createCallMetrics(meter: Meter, side: "client" | "server", isGrpc: boolean): Measure {
  const direction = side === "client" ? "outbound" : "inbound";
  if (!isGrpc) return createDuration(meter, `rpc.${side}.call`, `Duration of ${direction} calls`, BUCKETS);
  if (side === "server") return createMeasure(meter, "grpc.server.call");
  return createDuration(
    meter,
    "grpc.client.call",
    "Time taken by gRPC to complete an RPC from application's perspective.",
  );
}

function createDuration(meter: Meter, prefix: string, description: string, explicitBucketBoundaries = LATENCIES) {
  const histogram = meter.createHistogram(`${prefix}.duration`, {
    unit: "s",
    description,
    advice: { explicitBucketBoundaries },
  });
  return (_: RequestContext, labels: Labels) => {
    const start = now();
    return (error: RpcError | undefined, active?: Context): Attributes => {
      const outcome = labels.ended(error);
      histogram.record((now() - start) / 1000, outcome, active);
      return outcome;
    };
  };
}
