/** Metrics and span events of discovery and retries, tested with OpenTelemetry's SDK. */
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { Code, createInMemoryTransport, createRetry, createRouter, RpcError } from "triple-es";
import { type Endpoint, fixed, type ResolverContext, roundRobin } from "triple-es/discovery";
import { createServer, createTransport, type Server } from "triple-es/node";
import { createClientTelemetry, createDiscoveryTelemetry } from "triple-es/opentelemetry";
import { afterAll, beforeEach, expect, it, onTestFinished } from "vitest";
import { createGreetServiceClient, GreetServiceDef } from "../../examples/gen/greet/v1/greet_triple.ts";
import { failureOf, greeter, startServer } from "../support/server.ts";

const exporter = new InMemoryMetricExporter(AggregationTemporality.DELTA);
const meters = new MeterProvider({ readers: [new PeriodicExportingMetricReader({ exporter })] });
const meter = meters.getMeter("test");
const spans = new InMemorySpanExporter();
const tracers = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] });

beforeEach(async () => {
  await meters.forceFlush();
  exporter.reset();
});
afterAll(() => Promise.all([meters.shutdown(), tracers.shutdown()]));

/** Values of all data points by name of their metric and by one attribute. The value of a histogram is its sum. */
async function recorded(): Promise<Record<string, number>> {
  exporter.reset();
  await meters.forceFlush();
  const all = exporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((scope) => scope.metrics));
  return Object.fromEntries(
    all.flatMap(({ descriptor, dataPoints }) =>
      dataPoints.map(({ value, attributes }) => {
        const { result, state } = attributes;
        const name = [descriptor.name, result ?? state].filter((part) => part !== undefined).join(" ");
        return [name, typeof value === "number" ? value : (value.sum ?? Number.NaN)];
      }),
    ),
  );
}

it("counts lists, connections, disconnections and endpoints by state", async () => {
  const start = async (): Promise<Server> => {
    const server = await createServer().add(GreetServiceDef, greeter).listen({ port: 0, host: "127.0.0.1" });
    onTestFinished(() => server.close({ graceMs: 0 }));
    return server;
  };
  const [lost, removed] = [await start(), await start()];
  const addressOf = ({ address }: Server): Endpoint => ({ address: `127.0.0.1:${address.port}` });
  let yieldNext: (list: readonly Endpoint[]) => void = () => {};
  async function* resolver({ signal }: ResolverContext) {
    yield [lost, removed].map(addressOf);
    while (!signal.aborted) {
      yield await new Promise<readonly Endpoint[]>((resolve) => {
        yieldNext = resolve;
      });
    }
  }
  const telemetry = createDiscoveryTelemetry({ target: "shop", meter });
  const transport = createTransport({ resolver, keepUnlistedMs: 0, onEndpoint: telemetry.onEndpoint });
  onTestFinished(() => transport.close({ graceMs: 0 }));
  const stop = telemetry.observe(transport);
  await createGreetServiceClient(transport).greet({});
  await expect.poll(() => transport.endpoints().every(({ state }) => state === "ready")).toBe(true);
  expect(await recorded()).toMatchObject({
    "triple.client.resolutions success": 1,
    "grpc.subchannel.connection_attempts_succeeded": 2,
    "triple.client.endpoints ready": 2,
    "triple.client.endpoints failing": 0,
    "grpc.subchannel.open_connections": 2,
  });

  // The second is removed from the list, which is no disconnection; the first is lost.
  yieldNext([addressOf(lost)]);
  await expect.poll(() => transport.endpoints().length).toBe(1);
  await lost.close();
  await expect.poll(() => transport.endpoints()[0]?.state).not.toBe("ready");
  const after = await recorded();
  expect(after["grpc.subchannel.disconnections"]).toBe(1);
  expect(after["triple.client.endpoints ready"]).toBe(0);

  // The endpoints of a transport that is closed take no calls.
  const other = await start();
  yieldNext([addressOf(other)]);
  await expect.poll(() => transport.endpoints()[0]?.state).toBe("ready");
  await transport.close();
  expect(await recorded()).toMatchObject({ "triple.client.endpoints ready": 0, "triple.client.endpoints idle": 1 });
  stop();
  expect(Object.keys(await recorded()).filter((name) => name.startsWith("triple.client.endpoints"))).toEqual([]);
});

it("counts the connections of a server, and of a transport to one server", async () => {
  const { server, baseUrl } = await startServer();
  const transport = createTransport({ baseUrl });
  onTestFinished(() => transport.close({ graceMs: 0 }));
  const telemetry = createDiscoveryTelemetry({ target: "shop", meter });
  const stops = [telemetry.observe(server), telemetry.observe(transport)];
  onTestFinished(() => stops.forEach((stop) => void stop()));
  const open = { "triple.server.open_connections": 1, "grpc.subchannel.open_connections": 1 };
  expect(await recorded()).toMatchObject(Object.fromEntries(Object.keys(open).map((name) => [name, 0])));
  await createGreetServiceClient(transport).greet({});
  expect(await recorded()).toMatchObject({ ...open, "triple.client.endpoints ready": 1 });
  expect(() => telemetry.observe({ close: async () => {} })).toThrow(TypeError);
});

it("counts the connections of several servers, and of several transports of one target, together", async () => {
  const telemetry = createDiscoveryTelemetry({ target: "shops", meter });
  const start = async () => {
    const { server, baseUrl } = await startServer();
    const transport = createTransport({ baseUrl });
    onTestFinished(() => transport.close({ graceMs: 0 }));
    await createGreetServiceClient(transport).greet({});
    return [telemetry.observe(server), telemetry.observe(transport)];
  };
  /** Changes of the numbers of connections, which are recorded, and the number of ready endpoints. */
  const open = (change: number, ready: number) => ({
    "triple.server.open_connections": change,
    "grpc.subchannel.open_connections": change,
    "triple.client.endpoints ready": ready,
  });
  const [first, second] = [await start(), await start()];
  expect(await recorded()).toMatchObject(open(2, 2));
  for (const stop of first) stop();
  expect(await recorded()).toMatchObject(open(-1, 1));
  for (const stop of second) stop();
  expect(Object.keys(await recorded()).filter((name) => name.includes("open_connections"))).toEqual([]);
});

it("counts a resolver that fails, invalid endpoints, ejections and registrations", async () => {
  const telemetry = createDiscoveryTelemetry({ target: "shop", meter });
  // biome-ignore lint/correctness/useYield: it fails before its first list.
  async function* failing(): AsyncGenerator<readonly Endpoint[]> {
    throw new Error("no registry");
  }
  const transport = createTransport({ resolver: failing, onEndpoint: telemetry.onEndpoint });
  onTestFinished(() => transport.close({ graceMs: 0 }));
  await failureOf(createGreetServiceClient(transport).greet({}));

  const refuse = (): never => {
    throw new RpcError(Code.Unavailable, "busy");
  };
  const servers = [await startServer({ greet: refuse }), await startServer({ greet: refuse }), await startServer()];
  const busy = createTransport({
    resolver: fixed(servers.map(({ port }) => `127.0.0.1:${port}`)),
    balancer: roundRobin(),
    ejection: { failures: 2 },
    onEndpoint: telemetry.onEndpoint,
  });
  onTestFinished(() => busy.close({ graceMs: 0 }));
  const greeter = createGreetServiceClient(busy);
  await greeter.greet({}).catch(() => {});
  await expect.poll(() => busy.endpoints().filter(({ state }) => state === "ready").length).toBe(3);
  for (let calls = 0; calls < 12; calls++) await greeter.greet({}).catch(() => {});
  // At most half of the endpoints are ejected.
  await expect.poll(() => busy.endpoints().filter(({ state }) => state === "ejected").length).toBe(1);

  const unreachable = createTransport({ resolver: fixed(["127.0.0.1:1"]), onEndpoint: telemetry.onEndpoint });
  onTestFinished(() => unreachable.close({ graceMs: 0 }));
  await failureOf(createGreetServiceClient(unreachable).greet({}));

  telemetry.onEndpoint({ type: "invalid endpoint" });
  telemetry.onRegistration({ type: "failed" });
  telemetry.onRegistration({ type: "registered" });
  const found = await recorded();
  expect(found).toMatchObject({
    "triple.client.resolutions failure": 1,
    "grpc.lb.outlier_detection.ejections_enforced": 1,
    "grpc.lb.outlier_detection.ejections_unenforced": 1,
    "grpc.subchannel.connection_attempts_failed": 1,
    "grpc.subchannel.connection_attempts_succeeded": 3,
    "triple.client.invalid_entries": 1,
    "triple.server.registrations failure": 1,
    "triple.server.registrations success": 1,
  });
});

it("counts an endpoint whose ejection is over, or whose health has returned, as connected once", async () => {
  const telemetry = createDiscoveryTelemetry({ target: "shop", meter });
  for (const state of ["ready", "ejected", "ready", "failing", "ready", "failing", "idle", "failing", "ready"]) {
    telemetry.onEndpoint({ type: "endpoint", address: "a:1", state });
  }
  expect(await recorded()).toMatchObject({
    "grpc.subchannel.connection_attempts_succeeded": 2,
    "grpc.subchannel.disconnections": 1,
  });
});

it("records the retries of a call as events of its span and in gRPC's histograms", async () => {
  let calls = 0;
  const router = createRouter({ onError: () => {} });
  router.add(GreetServiceDef, {
    ...greeter,
    greet: () => {
      if (++calls < 3) throw new RpcError(Code.Unavailable, "not yet");
      return { greeting: "at last" };
    },
  });
  const telemetry = createDiscoveryTelemetry({ target: "shop", meter });
  const retry = createRetry({ initialBackoffMs: 1, applies: () => true, onRetry: telemetry.onRetry });
  const client = createClientTelemetry({ meter, tracer: tracers.getTracer("test") });
  const transport = createInMemoryTransport(router, { interceptors: [client, retry] });
  await createGreetServiceClient(transport).greet({});
  await createGreetServiceClient(transport).greet({});
  const found = await recorded();
  expect(found["grpc.client.call.retries"]).toBe(2);
  expect(found["grpc.client.call.retry_delay"]).toBeGreaterThan(0);
  expect(found).not.toHaveProperty("grpc.client.call.hedges");
  const [first, second] = spans.getFinishedSpans();
  expect(first?.events.map(({ name, attributes }) => [name, attributes?.["rpc.attempt"]])).toEqual([
    ["retry", 2],
    ["retry", 3],
  ]);
  expect(first?.events[0]?.attributes).toMatchObject({ "rpc.status_code": "UNAVAILABLE" });
  expect(second?.events).toEqual([]);
});

it("records transparent retries, and the retries of a service config that limits the time of calls", async () => {
  let calls = 0;
  const server = await startServer({
    greet: () => {
      if (++calls < 2) throw new RpcError(Code.Unavailable, "not yet");
      return { greeting: "at last" };
    },
  });
  const telemetry = createDiscoveryTelemetry({ target: "shop", meter });
  const retryPolicy = {
    maxAttempts: 3,
    initialBackoff: "0.001s",
    maxBackoff: "1s",
    backoffMultiplier: 1,
    retryableStatusCodes: ["UNAVAILABLE"],
  };
  const transport = createTransport({
    resolver: fixed([`127.0.0.1:${server.port}`]),
    interceptors: [
      createClientTelemetry({ meter, tracer: tracers.getTracer("test") }),
      // A transport reports a transparent retry with the context that the call has there.
      (next) => (request) => {
        const { values } = request.context;
        const error = new RpcError(Code.Unavailable, "refused");
        telemetry.onTransparentRetry({ path: request.method.path, context: { values }, delayMs: 20, error });
        return next(request);
      },
    ],
    serviceConfig: { methodConfig: [{ name: [{}], timeout: "20s", retryPolicy }] },
    onRetry: telemetry.onRetry,
  });
  onTestFinished(() => transport.close({ graceMs: 0 }));
  await createGreetServiceClient(transport).greet({});
  const found = await recorded();
  expect(found).toMatchObject({ "grpc.client.call.retries": 1, "grpc.client.call.transparent_retries": 1 });
  expect(found["grpc.client.call.retry_delay"]).toBeGreaterThan(0.02);
  const histograms = exporter
    .getMetrics()
    .flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(({ metrics }) => metrics));
  const retries = histograms.find(({ descriptor }) => descriptor.name === "grpc.client.call.retries");
  expect(retries?.dataPoints.map(({ attributes }) => attributes)).toEqual([
    { "grpc.method": "greet.v1.GreetService/Greet", "grpc.target": "shop" },
  ]);
});

it("has the same target as the metrics of calls", async () => {
  let calls = 0;
  const server = await startServer({
    greet: () => {
      if (++calls < 2) throw new RpcError(Code.Unavailable, "not yet");
      return { greeting: "at last" };
    },
  });
  const url = "https://shop.example";
  const telemetry = createDiscoveryTelemetry({ target: url, meter });
  const transport = createTransport({
    resolver: fixed([`127.0.0.1:${server.port}`]),
    interceptors: [createClientTelemetry({ meter, metrics: "grpc", baseUrl: url })],
    retry: { maxAttempts: 2, initialBackoffMs: 1, applies: () => true },
    onEndpoint: telemetry.onEndpoint,
    onRetry: telemetry.onRetry,
  });
  onTestFinished(() => transport.close({ graceMs: 0 }));
  await createGreetServiceClient(transport).greet({});
  await recorded();
  const found = exporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(({ metrics }) => metrics));
  const targets = ["call.retries", "call.duration", "attempt.duration"].map((name) => {
    const metric = found.find(({ descriptor }) => descriptor.name === `grpc.client.${name}`);
    return metric?.dataPoints.map(({ attributes }) => attributes["grpc.target"]);
  });
  expect(targets).toEqual(Array(3).fill(expect.arrayContaining(["dns:///shop.example:443"])));
  const resolutions = found.find(({ descriptor }) => descriptor.name === "triple.client.resolutions");
  expect(resolutions?.dataPoints.map(({ attributes }) => attributes["grpc.target"])).toContain(
    "dns:///shop.example:443",
  );
});

it("refuses a target without a name", () => {
  expect(() => createDiscoveryTelemetry({ target: "" })).toThrow(new TypeError('target must be a name, not ""'));
});
