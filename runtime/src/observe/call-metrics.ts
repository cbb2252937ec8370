/**
 * gRPC's metrics of calls and attempts for OpenTelemetry (gRFC A66): their number, durations and sizes.
 */
import type { Attributes, Meter } from "@opentelemetry/api";
import type { RequestContext } from "../call/attempt.ts";
import type { RpcError } from "../call/error.ts";
import { now } from "../call/platform.ts";
import { LATENCIES, statusOf } from "./attempt-telemetry.ts";

/** Boundaries of sizes in bytes. */
const SIZES = [0, 1024, 2048, 4096, ...[14, 16, 18, 20, 22, 24, 26, 28, 30, 32].map((power) => 2 ** power)];

/** Counts the start of a call or attempt with these attributes. Returns the function that records its end. */
export type Measure = (context: RequestContext, labels: Attributes) => (error: RpcError | undefined) => void;

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
    started.add(1, labels);
    const record = ended(context, labels);
    return (error) => {
      const outcome = record(error);
      if (context.sentBytes === undefined) return;
      sent.record(context.sentBytes, outcome);
      received.record(context.receivedBytes ?? 0, outcome);
    };
  };
}

/** Creates the metric of durations. The function that records the end returns the attributes with the status. */
export function createDuration(meter: Meter, prefix: string, description: string) {
  const advice = { explicitBucketBoundaries: LATENCIES };
  const histogram = meter.createHistogram(`${prefix}.duration`, { unit: "s", description, advice });
  return (_: RequestContext, labels: Attributes) => {
    const start = now();
    return (error: RpcError | undefined): Attributes => {
      const outcome = { ...labels, "grpc.status": statusOf(error) };
      histogram.record((now() - start) / 1000, outcome);
      return outcome;
    };
  };
}
