/**
 * The CPU time that telemetry and recording add to a unary gRPC call in memory, in alternating windows of one process: without an
 * SDK of OpenTelemetry, and with one, beside an interceptor that makes the same calls of the SDK by hand. The control is a
 * second stack without interceptors.
 *
 *     npm run bench:telemetry
 *     npm run bench:telemetry -- --rounds 1000
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import {
  context,
  metrics,
  propagation,
  SpanKind,
  type TextMapGetter,
  type TextMapSetter,
  trace,
} from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import { MeterProvider, MetricReader } from "@opentelemetry/sdk-metrics";
import { BasicTracerProvider } from "@opentelemetry/sdk-trace-base";
import { createInMemoryTransport, createRouter, type Interceptor, type Metadata, TripleHeader } from "triple-es";
import { recordCalls } from "triple-es/node";
import { createClientTelemetry, createServerTelemetry } from "triple-es/opentelemetry";
import { echoRequest } from "../messages/echo.ts";
import { echoService } from "../messages/echo-service.ts";
import { createEchoServiceClient, type EchoServiceClient, EchoServiceDef } from "../messages/gen/echo_triple.ts";

const { values } = parseArgs({ options: { rounds: { type: "string", default: "300" } } });
const ROUNDS = Number(values.rounds);
/** The rounds that compile the code. */
const WARM_UP = 60;
/** The calls of a window, and at a time. */
const WINDOW = 512;
const AT_A_TIME = 8;

const SIDES = ["server", "client"] as const;
type Side = (typeof SIDES)[number];

function stackOf(side: Side, interceptor?: Interceptor): EchoServiceClient {
  const interceptors = interceptor === undefined ? [] : [interceptor];
  const router = createRouter({ interceptors: side === "server" ? interceptors : [] }).add(EchoServiceDef, echoService);
  const own = side === "client" ? interceptors : [];
  return createEchoServiceClient(createInMemoryTransport(router, { protocol: "grpc", interceptors: own }));
}

const getter: TextMapGetter<Metadata> = {
  get: (headers, name) => headers.get(name),
  keys: (headers) => [...headers].map(([name]) => name),
};
const setter: TextMapSetter<Metadata> = { set: (headers, name, value) => void headers.set(name, value) };

/** Creates an interceptor that makes the calls of the SDK which {@link createServerTelemetry} and that of clients make. */
function byHand(side: Side): Interceptor {
  const tracer = trace.getTracer("by hand");
  const boundaries = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
  const advice = { explicitBucketBoundaries: boundaries };
  const durations = metrics.getMeter("by hand").createHistogram(`rpc.${side}.call.duration`, { unit: "s", advice });
  const name = "bench.v1.EchoService/Echo";
  const attributes = { "rpc.system.name": "dubbo", "rpc.method": name };
  const options = { kind: side === "client" ? SpanKind.CLIENT : SpanKind.SERVER, attributes };
  const outcome = { "rpc.status_code": "OK" };
  const labels = { ...attributes, ...outcome };
  return (next) => async (request) => {
    const { headers } = request;
    const current = context.active();
    const outer = side === "server" ? propagation.extract(current, headers, getter) : current;
    const span = tracer.startSpan(name, options, outer);
    const active = trace.setSpan(outer, span);
    const start = performance.now();
    if (side === "client") {
      const { traceId, spanId } = span.spanContext();
      headers.set(TripleHeader.TraceId, traceId);
      headers.set(TripleHeader.SpanId, spanId);
      propagation.inject(active, headers, setter);
    } else {
      const { address, port } = request.context.peer ?? {};
      if (span.isRecording() && address !== undefined)
        span.setAttributes({ "network.peer.address": address, "network.peer.port": port });
    }
    const response = await context.with(active, () => next(request));
    span.setAttributes(outcome);
    span.end();
    durations.record((performance.now() - start) / 1_000, labels, active);
    return response;
  };
}

const middle = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

/** Returns the CPU time of a call, in microseconds. */
async function windowOf(client: EchoServiceClient): Promise<number> {
  const before = process.cpuUsage();
  const call = async (): Promise<void> => {
    for (let left = WINDOW / AT_A_TIME; left > 0; left--) await client.echo(echoRequest);
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, call));
  const { user, system } = process.cpuUsage(before);
  return (user + system) / WINDOW;
}

/** Shows the medians of what stacks add to a call of the first one, in pairs. */
async function show(title: string, stacks: Readonly<Record<string, EchoServiceClient>>): Promise<void> {
  const names = Object.keys(stacks);
  const rounds: Record<string, number>[] = [];
  for (let round = -WARM_UP; round < ROUNDS; round++) {
    const times: Record<string, number> = {};
    for (const name of names.toSorted(() => Math.random() - 0.5))
      times[name] = await windowOf(stacks[name] as EchoServiceClient);
    if (round >= 0) rounds.push(times);
  }
  const [plain = ""] = names;
  const beyond = (name: string, other: string): number =>
    middle(rounds.map((times) => (times[name] as number) - (times[other] as number)));
  const whole = middle(rounds.map((times) => times[plain] as number));
  const cells = names.slice(1).map((name) => {
    const added = beyond(name, plain);
    return `${name} ${added.toFixed(3)} (${((added / whole) * 100).toFixed(1)} %)`;
  });
  if ("by hand" in stacks) cells.push(`beyond by hand ${beyond("telemetry", "by hand").toFixed(3)}`);
  console.log(`| ${[title, whole.toFixed(2), ...cells].join(" | ")} |`);
}

const telemetryOf = (side: Side): Interceptor =>
  side === "client" ? createClientTelemetry() : createServerTelemetry();

const folder = mkdtempSync(join(tmpdir(), "telemetry-"));
console.log("medians in µs of CPU time a call");
for (const side of SIDES) {
  // Calls that are not recorded, as most are: those of the time of all stacks would fall into the windows of one.
  const recording = recordCalls({ file: join(folder, `${side}.jsonl`), maxPerSecond: 0.01 });
  await show(`${side}, no SDK`, {
    plain: stackOf(side),
    control: stackOf(side),
    nothing: stackOf(side, (next) => next),
    telemetry: stackOf(side, telemetryOf(side)),
    recording: stackOf(side, recording),
  });
  await recording.close();
}
rmSync(folder, { recursive: true });

class Reader extends MetricReader {
  protected override async onForceFlush(): Promise<void> {}
  protected override async onShutdown(): Promise<void> {}
}
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
propagation.setGlobalPropagator(new W3CTraceContextPropagator());
metrics.setGlobalMeterProvider(new MeterProvider({ readers: [new Reader()] }));
const processor = { onStart() {}, onEnd() {}, async forceFlush() {}, async shutdown() {} };
trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [processor] }));
for (const side of SIDES) {
  await show(`${side}, SDK`, {
    plain: stackOf(side),
    control: stackOf(side),
    "by hand": stackOf(side, byHand(side)),
    telemetry: stackOf(side, telemetryOf(side)),
  });
}
