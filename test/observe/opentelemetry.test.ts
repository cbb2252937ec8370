/** The interceptors for OpenTelemetry, tested with its SDK: spans, their parents, and durations. */
import { once } from "node:events";
import { constants, createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import {
  context,
  createContextKey,
  INVALID_SPAN_CONTEXT,
  metrics,
  propagation,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import {
  AggregationTemporality,
  type HistogramMetricData,
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
import {
  type CallRequest,
  type CallResponse,
  Code,
  createInMemoryTransport,
  createRetry,
  createRouter,
  type Interceptor,
  Metadata,
  RpcError,
  TripleHeader,
} from "triple-es";
import { createTransport } from "triple-es/fetch";
import { type ClientTelemetryOptions, createClientTelemetry, createServerTelemetry } from "triple-es/opentelemetry";
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import {
  createGreetServiceClient,
  type GreetServiceClient,
  GreetServiceDef,
  type GreetServiceHandler,
} from "../../examples/gen/greet/v1/greet_triple.ts";
import { arriving, connectGreeter, failureOf, greeter, greetings, startServer } from "../support/server.ts";

const spans = new InMemorySpanExporter();
const tracers = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] });
const durations = new InMemoryMetricExporter(AggregationTemporality.DELTA);
const meters = new MeterProvider({ readers: [new PeriodicExportingMetricReader({ exporter: durations })] });

beforeAll(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  trace.setGlobalTracerProvider(tracers);
  metrics.setGlobalMeterProvider(meters);
});
afterAll(async () => {
  for (const api of [context, propagation, trace, metrics]) api.disable();
  await Promise.all([tracers.shutdown(), meters.shutdown()]);
});
beforeEach(() => spans.reset());

/** A greeter in memory with telemetry on both sides. */
function connect(
  handler: Partial<GreetServiceHandler> = {},
  options?: ClientTelemetryOptions,
  protocol: "grpc" | "http-rpc" = "grpc",
): GreetServiceClient {
  const router = createRouter({ interceptors: [createServerTelemetry()], onError: () => {} });
  router.add(GreetServiceDef, { ...greeter, ...handler });
  const interceptors = [createClientTelemetry(options)];
  return createGreetServiceClient(createInMemoryTransport(router, { interceptors, protocol }));
}

/** Returns the spans of one call after both have ended. */
async function bothSpans(): Promise<{ client: ReadableSpan; server: ReadableSpan }> {
  await expect.poll(() => spans.getFinishedSpans().length).toBe(2);
  const find = (kind: SpanKind) => spans.getFinishedSpans().find((span) => span.kind === kind) as ReadableSpan;
  return { client: find(SpanKind.CLIENT), server: find(SpanKind.SERVER) };
}

const activeSpanId = () => trace.getActiveSpan()?.spanContext().spanId ?? "none";

describe("a call", () => {
  it("has the client's address in the span of a server that listens", async () => {
    const { baseUrl } = await startServer({}, { interceptors: [createServerTelemetry()] });
    await connectGreeter(baseUrl).greet({ name: "Ada" });
    await expect.poll(() => spans.getFinishedSpans().length).toBe(1);
    expect(spans.getFinishedSpans()[0]?.attributes).toMatchObject({
      "network.peer.address": "127.0.0.1",
      "network.peer.port": expect.any(Number),
    });
  });

  it("has the address of the last endpoint in the span of a client", async () => {
    const { baseUrl } = await startServer();
    const telemetry = createClientTelemetry({ baseUrl: "zookeeper://127.0.0.1:2181/greet.v1.GreetService" });
    await connectGreeter(baseUrl, { interceptors: [telemetry] }).greet({ name: "Ada" });
    await expect.poll(() => spans.getFinishedSpans().length).toBe(1);
    const { attributes } = spans.getFinishedSpans()[0] as ReadableSpan;
    expect(attributes).toEqual({
      "rpc.system.name": "dubbo",
      "rpc.method": "greet.v1.GreetService/Greet",
      "server.address": "zookeeper://127.0.0.1:2181/greet.v1.GreetService",
      "network.peer.address": "127.0.0.1",
      "network.peer.port": Number(new URL(baseUrl).port),
      "rpc.status_code": "OK",
    });
  });

  it.each(["grpc", "http-rpc"] as const)("has a span at each end, in one trace: %s", async (protocol) => {
    const client = connect({}, { baseUrl: "http://[::1]:50051/path" }, protocol);
    await client.greet({ name: "Ada" });
    const found = await bothSpans();
    for (const { name, status } of Object.values(found)) {
      expect([name, status.code]).toEqual(["greet.v1.GreetService/Greet", SpanStatusCode.UNSET]);
    }
    const common = { "rpc.system.name": "dubbo", "rpc.method": "greet.v1.GreetService/Greet" };
    const outcome = { "rpc.status_code": "OK" };
    const server = { "server.address": "::1", "server.port": 50051 };
    expect(found.client.attributes).toEqual({ ...common, ...server, ...outcome });
    expect(found.server.attributes).toEqual({ ...common, ...outcome });
    expect(found.server.parentSpanContext?.spanId).toBe(found.client.spanContext().spanId);
    expect(found.server.spanContext().traceId).toBe(found.client.spanContext().traceId);
  });

  it("is a child of the active span, and sends its ids", async () => {
    let seen = new Metadata();
    const client = connect({
      greet: (_, { requestHeaders }) => {
        seen = requestHeaders;
        return {};
      },
    });
    const [traceId, spanId] = await tracers.getTracer("test").startActiveSpan("outer", async (outer) => {
      await client.greet({});
      outer.end();
      return [outer.spanContext().traceId, outer.spanContext().spanId];
    });
    const span = spans.getFinishedSpans().find(({ kind }) => kind === SpanKind.CLIENT);
    const own = span?.spanContext().spanId;
    expect([span?.parentSpanContext?.spanId, span?.spanContext().traceId]).toEqual([spanId, traceId]);
    expect(seen.get("traceparent")).toBe(`00-${traceId}-${own}-01`);
    expect([seen.get(TripleHeader.TraceId), seen.get(TripleHeader.SpanId)]).toEqual([traceId, own]);
  });

  it("leaves the active span in place if its own has no ids", async () => {
    let seen: string | undefined;
    const greet: GreetServiceHandler["greet"] = (_, { requestHeaders }) => {
      seen = requestHeaders.get("traceparent");
      return {};
    };
    const tracer = { startSpan: () => trace.wrapSpanContext(INVALID_SPAN_CONTEXT) } as unknown as Tracer;
    const client = connect({ greet }, { tracer });
    const { traceId, spanId } = await tracers.getTracer("test").startActiveSpan("outer", async (outer) => {
      await client.greet({});
      outer.end();
      return outer.spanContext();
    });
    expect(seen).toBe(`00-${traceId}-${spanId}-01`);
  });

  it("keeps the ids that a caller gave it", async () => {
    let seen: string | undefined;
    const client = connect({
      greet: (_, { requestHeaders }) => {
        seen = requestHeaders.get(TripleHeader.TraceId);
        return {};
      },
    });
    await client.greet({}, { headers: { [TripleHeader.TraceId]: "mine" } });
    expect(seen).toBe("mine");
  });

  it("runs its handler within its span, every step of a stream", async () => {
    const active: string[] = [];
    const client = connect({
      greet: async () => {
        await new Promise((resolve) => setImmediate(resolve));
        active.push(activeSpanId());
        return {};
      },
      async *greetEach() {
        for (let i = 0; i < 3; i++) {
          active.push(activeSpanId());
          yield {};
        }
      },
    });
    await client.greet({});
    const unary = (await bothSpans()).server.spanContext().spanId;
    spans.reset();
    await greetings(client.greetEach({}));
    const stream = (await bothSpans()).server.spanContext().spanId;
    expect(active).toEqual([unary, stream, stream, stream]);
  });
});

it("runs every step of a stream within the context of an outer interceptor, without a span of its own", async () => {
  trace.disable();
  onTestFinished(() => void trace.setGlobalTracerProvider(tracers));
  const key = createContextKey("tenant");
  const outer: Interceptor = (next) => (request) =>
    context.with(context.active().setValue(key, "a"), () => next(request));
  const router = createRouter({ interceptors: [outer, createServerTelemetry()] });
  const seen: unknown[] = [];
  router.add(GreetServiceDef, {
    ...greeter,
    async *greetEach() {
      for (let i = 0; i < 3; i++) {
        seen.push(context.active().getValue(key));
        yield {};
      }
    },
  });
  await greetings(createGreetServiceClient(createInMemoryTransport(router)).greetEach({}));
  expect(seen).toEqual(["a", "a", "a"]);
});

describe("gRPC's spans", () => {
  /** Returns the finished spans as `name status attributes < name of the parent`. */
  const shown = () => {
    const finished = spans.getFinishedSpans();
    const names = new Map(finished.map((span) => [span.spanContext().spanId, span.name]));
    return finished.map(({ name, status, attributes, parentSpanContext }) => {
      const { "previous-rpc-attempts": previous, "transparent-retry": isTransparent } = attributes;
      const parent = names.get(parentSpanContext?.spanId ?? "");
      return [name, SpanStatusCode[status.code], previous, isTransparent, "<", parent]
        .filter((x) => x !== undefined)
        .join(" ");
    });
  };
  const method = "greet.v1.GreetService.Greet";

  it("are one for each attempt, the parent of the server's", async () => {
    let calls = 0;
    const greet = () => {
      calls += 1;
      if (calls < 3) throw new RpcError(Code.Unavailable, "no");
      return {};
    };
    const router = createRouter({ interceptors: [createServerTelemetry({ traces: "grpc" })], onError: () => {} });
    router.add(GreetServiceDef, { ...greeter, greet });
    const retry = createRetry({ maxAttempts: 3, initialBackoffMs: 1, applies: () => true });
    const interceptors = [createClientTelemetry({ traces: "grpc" }), retry];
    await createGreetServiceClient(createInMemoryTransport(router, { interceptors })).greet({});
    const recv = `Recv.${method}`;
    const attempt = `Attempt.${method}`;
    expect(shown().sort()).toEqual([
      `${attempt} ERROR 0 false < Sent.${method}`,
      `${attempt} ERROR 1 false < Sent.${method}`,
      `${attempt} OK 2 false < Sent.${method}`,
      `${recv} ERROR < ${attempt}`,
      `${recv} ERROR < ${attempt}`,
      `${recv} OK < ${attempt}`,
      `Sent.${method} OK <`,
    ]);
    const parents = spans
      .getFinishedSpans()
      .flatMap(({ name, parentSpanContext }) => (name === recv ? [parentSpanContext?.spanId] : []));
    expect(new Set(parents).size).toBe(3);
  });

  it("have another parent on the server after a transparent retry", async () => {
    const parents: (string | undefined)[] = [];
    const server = createServer().on("stream", (stream, headers) => {
      parents.push(String(headers["traceparent"]).split("-")[2]);
      stream.on("error", () => {});
      if (parents.length === 1) return stream.close(constants.NGHTTP2_REFUSED_STREAM);
      stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
      return stream.end(Buffer.alloc(5));
    });
    onTestFinished(() => void server.close());
    await once(server.listen(0, "127.0.0.1"), "listening");
    const { port } = server.address() as AddressInfo;
    const interceptors = [createClientTelemetry({ traces: "grpc" })];
    await connectGreeter(`http://127.0.0.1:${port}`, { interceptors }).greet({});
    expect(shown()).toEqual([
      `Attempt.${method} ERROR 0 false < Sent.${method}`,
      `Attempt.${method} OK 0 true < Sent.${method}`,
      `Sent.${method} OK <`,
    ]);
    const attempts = spans.getFinishedSpans().filter(({ name }) => name.startsWith("Attempt"));
    expect(parents).toEqual(attempts.map((span) => span.spanContext().spanId));
  });

  it("send the context of the call on transports without attempts", async () => {
    let sent: string | undefined;
    const fetch = async (_: unknown, init?: RequestInit) => {
      sent = new Headers(init?.headers).get("traceparent")?.split("-")[2];
      return Response.json({});
    };
    const interceptors = [createClientTelemetry({ traces: "grpc" })];
    await createGreetServiceClient(
      createTransport({ baseUrl: "http://localhost", protocol: "http-rpc", fetch, interceptors }),
    ).greet({});
    expect(spans.getFinishedSpans().map((span) => span.spanContext().spanId)).toEqual([sent]);
  });
});

describe("a stream", () => {
  it("has a span that ends with it", async () => {
    const client = connect();
    const responses = client.greetOnArrival(arriving("Ada", "Bob"))[Symbol.asyncIterator]();
    await responses.next();
    expect(spans.getFinishedSpans()).toEqual([]);
    await responses.next();
    await responses.next();
    const found = await bothSpans();
    expect(found.client.attributes["rpc.status_code"]).toBe("OK");
  });

  it("has a span that ends when its reader leaves", async () => {
    for await (const _ of connect().greetEach({ names: ["Ada", "Bob"] })) break;
    const { client, server } = await bothSpans();
    expect(client.status.code).toBe(SpanStatusCode.ERROR);
    expect(client.attributes["error.type"]).toBe("CANCELLED");
    // A cancellation by the client is not an error of the server.
    expect(server.status.code).toBe(SpanStatusCode.UNSET);
    expect(server.attributes["rpc.status_code"]).toBe("CANCELLED");
  });
});

describe("a call that fails", () => {
  it.each([
    [Code.NotFound, "NOT_FOUND", false],
    [Code.InvalidArgument, "INVALID_ARGUMENT", false],
    [Code.Unavailable, "UNAVAILABLE", true],
    [Code.DataLoss, "DATA_LOSS", true],
  ])("is an error of the client, with code %i, and of the server if it is to blame", async (code, name, blamed) => {
    const client = connect({
      greet: () => {
        throw new RpcError(code, "no");
      },
    });
    await failureOf(client.greet({}));
    const found = await bothSpans();
    expect(found.client.status).toEqual({ code: SpanStatusCode.ERROR, message: "no" });
    expect(found.client.attributes).toMatchObject({ "rpc.status_code": name, "error.type": name });
    expect(found.server.status.code).toBe(blamed ? SpanStatusCode.ERROR : SpanStatusCode.UNSET);
    expect(found.server.attributes["error.type"]).toBe(blamed ? name : undefined);
  });

  const unspeakable = {
    get greeting(): string {
      throw new Error("not today");
    },
  };

  it.each<[string, "greet" | "greetEach", Partial<GreetServiceHandler>]>([
    ["an answer", "greet", { greet: () => unspeakable }],
    [
      "a message of a stream",
      "greetEach",
      {
        async *greetEach() {
          yield unspeakable;
        },
      },
    ],
  ])("has the code of its caller on both sides if %s cannot be encoded", async (_, method, handler) => {
    await failureOf(connect(handler)[method]({}));
    for (const { attributes, status } of Object.values(await bothSpans())) {
      expect([attributes["rpc.status_code"], status.code]).toEqual(["INTERNAL", SpanStatusCode.ERROR]);
    }
  });

  it("records a hidden error on the server's span only", async () => {
    const client = connect({
      // biome-ignore lint/correctness/useYield: it fails before it yields
      async *greetEach() {
        throw new Error("the disk is full");
      },
    });
    await failureOf(client.greetEach({}));
    const { client: seen, server } = await bothSpans();
    const exceptions = (span: ReadableSpan) => span.events.map(({ attributes }) => attributes?.["exception.message"]);
    expect(exceptions(server)).toEqual(["the disk is full"]);
    expect(exceptions(seen)).toEqual(["[unknown] the service failed to handle the call"]);
  });
});

it("records durations in seconds", async () => {
  await meters.forceFlush();
  durations.reset();
  const start = performance.now();
  await connect().greet({ name: "Ada" });
  await bothSpans();
  const elapsed = (performance.now() - start) / 1_000;
  await meters.forceFlush();
  const recorded = durations.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((scope) => scope.metrics));
  const found = recorded.filter(({ descriptor }) => descriptor.name.startsWith("rpc.")) as HistogramMetricData[];
  expect(found.map(({ descriptor }) => `${descriptor.name} ${descriptor.unit}`).sort()).toEqual([
    "rpc.client.call.duration s",
    "rpc.server.call.duration s",
  ]);
  for (const { dataPoints } of found) {
    expect(dataPoints.map(({ value }) => value.count)).toEqual([1]);
    expect(dataPoints[0]?.value.sum).toBeGreaterThan(0);
    expect(dataPoints[0]?.value.sum).toBeLessThan(elapsed);
    expect(dataPoints[0]?.value.buckets.boundaries[0]).toBe(0.005);
    expect(dataPoints[0]?.attributes).toEqual({
      "rpc.system.name": "dubbo",
      "rpc.method": "greet.v1.GreetService/Greet",
      "rpc.status_code": "OK",
    });
  }
});

it("does not affect calls if there is no SDK", async () => {
  for (const api of [context, propagation, trace, metrics]) api.disable();
  let seen = new Metadata();
  const client = connect({
    greet: (_, { requestHeaders }) => {
      seen = requestHeaders;
      return {};
    },
  });
  await client.greet({});
  expect([...seen].map(([name]) => name).filter((name) => /trac/.test(name))).toEqual([]);
});

it("adds nothing to a call if there is no SDK, and traces it if there is one later", async () => {
  for (const api of [context, propagation, trace, metrics]) api.disable();
  const interceptors = [createServerTelemetry(), createClientTelemetry()];
  const answer = new Promise<CallResponse>(() => {});
  const { greet: method } = GreetServiceDef.methods;
  const request = { method, headers: new Metadata(), context: {} } as unknown as CallRequest;
  for (const interceptor of interceptors) expect(interceptor(() => answer)(request)).toBe(answer);
  trace.setGlobalTracerProvider(tracers);
  for (const interceptor of interceptors) interceptor(() => Promise.reject(new Error("no")))(request).catch(() => {});
  await bothSpans();
});

it("sends no field that metadata cannot carry", async () => {
  propagation.disable();
  propagation.setGlobalPropagator({
    inject: (_, carrier, setter) => {
      setter.set(carrier, "tracestate", "");
      setter.set(carrier, "x-trace", "1");
    },
    extract: (given, carrier, getter) => {
      expect(getter.keys(carrier)).toContain("x-trace");
      return given;
    },
    fields: () => [],
  });
  let seen = new Metadata();
  const client = connect({
    greet: (_, { requestHeaders }) => {
      seen = requestHeaders;
      return {};
    },
  });
  await client.greet({});
  expect([seen.get("x-trace"), seen.has("tracestate")]).toEqual(["1", false]);
});
