/**
 * gRPC's metrics and spans of 130 calls, compared with those of grpc-go's plug-in for OpenTelemetry: names, units, descriptions,
 * labels, boundaries, counts and sizes; names, kinds, parents, status and attributes.
 */
import { copyFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { propagation, SpanKind, SpanStatusCode } from "@opentelemetry/api";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import {
  AggregationTemporality,
  type Histogram,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { createServer, createTransport } from "triple-es/node";
import { createClientTelemetry, createServerTelemetry } from "triple-es/opentelemetry";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { goVersion } from "../support/go.ts";
import { freePort } from "../support/port.ts";
import { failureOf } from "../support/server.ts";
import { buildOnce, fetchStep, filesIn, step } from "./dubbo/build.ts";
import {
  createTestServiceClient,
  TestServiceDef,
  type TestServiceHandler,
} from "./grpc/gen/grpc/testing/test_triple.ts";
import { createTestService } from "./grpc/service.ts";
import { startConversation } from "./program.ts";

interface Instrument {
  readonly name: string;
  readonly unit: string;
  readonly description: string;
  readonly bounds?: readonly number[];
  readonly points: readonly Point[];
}
interface Point {
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly count: number;
  readonly sum: number;
  readonly buckets?: readonly number[];
}
interface Span {
  readonly name: string;
  readonly kind: string;
  readonly status: string;
  /** The name of the parent; `remote` if it is in another process. */
  readonly parent: string;
  readonly attributes: Readonly<Record<string, unknown>>;
}
interface Exported {
  readonly metrics: Instrument[];
  readonly spans: Span[];
}

const retryPolicy = {
  maxAttempts: 3,
  initialBackoff: "0.001s",
  maxBackoff: "0.001s",
  backoffMultiplier: 1,
  retryableStatusCodes: ["UNAVAILABLE"],
} as const;
const serviceConfig = { methodConfig: [{ name: [{ service: "grpc.testing.TestService" }], retryPolicy }] };

let program: string;

function build(): string {
  const sources = filesIn(fileURLToPath(new URL("telemetry", import.meta.url)));
  const folder = buildOnce("grpc-go-telemetry", sources, (building) => {
    for (const source of sources) copyFileSync(source, join(building, basename(source)));
    fetchStep(building, "go", ["mod", "download"]);
    step(building, "go", ["build", "-o", "telemetry", "."]);
  });
  return join(folder, "telemetry");
}

/** Starts grpc-go's half. The returned function makes the calls, if it is a client, and returns metrics and spans. */
async function startGo(role: "server" | "client", port: number): Promise<() => Promise<Exported>> {
  const running = await startConversation([program, role, String(port)]);
  onTestFinished(() => running.stop());
  return async () => JSON.parse((await running.ask("go")).join(""));
}

/** Creates a meter, and a function that returns its metrics in the form of the program. */
function measure() {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const provider = new MeterProvider({ readers: [new PeriodicExportingMetricReader({ exporter })] });
  const read = async (): Promise<Instrument[]> => {
    await provider.forceFlush();
    const metrics =
      exporter
        .getMetrics()
        .at(-1)
        ?.scopeMetrics.flatMap((scope) =>
          scope.metrics.filter(({ descriptor }) => descriptor.name.startsWith("grpc.")),
        ) ?? [];
    return metrics.map(({ descriptor: { name, unit, description }, dataPoints }) => {
      const points = dataPoints.map(({ attributes, value }): Point => {
        if (typeof value === "number") return { attributes, count: value, sum: 0 };
        const { count, sum = 0, buckets } = value as Histogram;
        return { attributes, count, sum, buckets: buckets.counts };
      });
      const bounds = (dataPoints[0]?.value as Histogram | undefined)?.buckets?.boundaries;
      return { name, unit, description, points, ...(bounds && { bounds }) };
    });
  };
  return { meter: provider.getMeter("test"), read };
}

/** Creates a tracer, and a function that returns its spans in the form of the program. */
function traceSpans() {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  const read = (): Span[] => {
    const found = exporter.getFinishedSpans();
    const names = new Map(found.map((span) => [span.spanContext().spanId, span.name]));
    return found.map(({ name, kind, status, parentSpanContext: parent, attributes }: ReadableSpan) => ({
      name,
      kind: (SpanKind[kind] as string).toLowerCase(),
      status: SpanStatusCode[status.code] as string,
      parent: parent === undefined ? "" : parent.isRemote ? "remote" : (names.get(parent.spanId) ?? ""),
      attributes,
    }));
  };
  return { tracer: provider.getTracer("test"), read };
}

/** Sorts spans, and removes the attributes that gRPC does not define. */
function comparableSpans(spans: readonly Span[]): string[] {
  return spans
    .map(({ name, kind, status, parent, attributes }) => {
      const { "previous-rpc-attempts": previous, "transparent-retry": isTransparent } = attributes;
      return [name, kind, status.toUpperCase(), parent, previous, isTransparent].join(" ");
    })
    .sort();
}

/** Sorts metrics, and removes the measured times. */
function comparable(instruments: readonly Instrument[]): unknown {
  const key = ({ attributes }: Point) => JSON.stringify(Object.entries(attributes).sort());
  const shown = instruments.map(({ points, ...rest }) => ({
    ...rest,
    points: points
      .map((point) => (rest.unit === "s" ? { attributes: point.attributes, count: point.count } : point))
      .sort((one, other) => (key(one as Point) < key(other as Point) ? -1 : 1)),
  }));
  return shown.sort((one, other) => (one.name < other.name ? -1 : 1));
}

async function drain(messages: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of messages);
}

async function* each<T>(...values: T[]): AsyncGenerator<T, void> {
  yield* values;
}

/** A request stream that does not end. */
async function* endless(): AsyncGenerator<object, void> {
  await new Promise(() => {});
}

/** Makes the calls that the program makes too. */
async function makeCalls(client: ReturnType<typeof createTestServiceClient>): Promise<void> {
  const payload = (size: number) => ({ body: new Uint8Array(size) });
  for (let i = 0; i < 20; i++) {
    await client.emptyCall({});
    await client.unaryCall({ payload: payload(i * 700), responseSize: i * 300 });
    await failureOf(client.unaryCall({ responseStatus: { code: (i % 16) + 1, message: "no" } }));
  }
  for (let i = 0; i < 10; i++) {
    await drain(client.streamingOutputCall({ responseParameters: [i * 1000, 1, 2].map((size) => ({ size })) }));
    const request = { payload: payload(i * 1000) };
    await client.streamingInputCall(each(request, request, request));
    await drain(client.fullDuplexCall(each(...[0, 1].map((size) => ({ responseParameters: [{ size }] })))));
  }
  for (let i = 0; i < 5; i++) {
    await failureOf(client.unimplementedCall({}));
    await failureOf(client.fullDuplexCall(endless(), { timeoutMs: 20 }));
  }
}

/** Removes the calls that a server may see in several ways: without a handler, and ended by a deadline. */
function certain(instruments: readonly Instrument[]): Instrument[] {
  const isCertain = ({ attributes }: Point): boolean =>
    attributes["grpc.method"] !== "grpc.testing.TestService/UnimplementedCall" &&
    (attributes["grpc.method"] !== "grpc.testing.TestService/FullDuplexCall" || attributes["grpc.status"] === "OK");
  return instruments.map((one) => ({ ...one, points: one.points.filter(isCertain) }));
}

describe.skipIf(goVersion() === undefined)("gRPC's metrics and spans are those of grpc-go (needs Go)", () => {
  beforeAll(() => {
    program = build();
    propagation.setGlobalPropagator(new W3CTraceContextPropagator());
    return () => propagation.disable();
  }, 120_000);

  it("on a client", async () => {
    const port = await freePort();
    await startGo("server", port);
    const theirs = await (await startGo("client", port))();
    const { meter, read } = measure();
    const { tracer, read: readSpans } = traceSpans();
    const baseUrl = `http://127.0.0.1:${port}`;
    const interceptors = [createClientTelemetry({ meter, tracer, baseUrl, metrics: "grpc", traces: "grpc" })];
    const transport = createTransport({ baseUrl, interceptors, serviceConfig });
    onTestFinished(() => transport.close({ graceMs: 0 }));
    await makeCalls(createTestServiceClient(transport));
    expect(theirs.metrics.length).toBe(5);
    // A call that its deadline ends is recorded after its caller has the error.
    await expect.poll(async () => comparable(await read())).toEqual(comparable(theirs.metrics));
    await expect.poll(() => comparableSpans(readSpans())).toEqual(comparableSpans(theirs.spans));
  });

  it("on a server", async () => {
    const port = await freePort();
    const readTheirs = await startGo("server", port);
    await (await startGo("client", port))();
    const { meter, read } = measure();
    const { tracer, read: readSpans } = traceSpans();
    const telemetry = createServerTelemetry({ meter, tracer, metrics: "grpc", traces: "grpc" });
    const server = createServer({ interceptors: [telemetry] });
    server.add(TestServiceDef, createTestService() as TestServiceHandler);
    await server.listen({ port: 0, host: "127.0.0.1" });
    onTestFinished(() => server.close({ graceMs: 0 }));
    await (await startGo("client", server.address.port))();
    const theirs = await readTheirs();
    expect(theirs.metrics.length).toBe(4);
    await expect.poll(async () => comparable(certain(await read()))).toEqual(comparable(certain(theirs.metrics)));
    const isCertain = ({ name }: Span): boolean => !name.endsWith("UnimplementedCall") && !name.endsWith("DuplexCall");
    const spans = comparableSpans(theirs.spans.filter(isCertain));
    await expect.poll(() => comparableSpans(readSpans().filter(isCertain))).toEqual(spans);
  });
});
