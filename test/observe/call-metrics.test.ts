/** gRPC's metrics of calls and attempts (gRFC A66), recorded by OpenTelemetry's SDK. */
import { once } from "node:events";
import { constants, createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import { Code, createInMemoryTransport, createRetry, createRouter, RpcError } from "triple-es";
import { type ClientTelemetryOptions, createClientTelemetry, createServerTelemetry } from "triple-es/opentelemetry";
import { expect, it, onTestFinished } from "vitest";
import {
  createGreetServiceClient,
  GreetServiceDef,
  type GreetServiceHandler,
} from "../../examples/gen/greet/v1/greet_triple.ts";
import { createStub } from "../../runtime/src/client/client.ts";
import { idempotent } from "../client/retry-calls.ts";
import {
  aborted,
  arriving,
  connectGreeter,
  greeter,
  greetings,
  openTransport,
  signalled,
  startServer,
} from "../support/server.ts";

const NO = new RpcError(Code.Unavailable, "no");

/** Creates a meter, and a function that returns the values of its metrics: counts, and the sums of sizes. */
function measure() {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const provider = new MeterProvider({ readers: [new PeriodicExportingMetricReader({ exporter })] });
  const read = async (): Promise<Record<string, unknown>> => {
    await provider.forceFlush();
    const scopes = exporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics);
    const points = scopes.flatMap(({ metrics }) =>
      metrics.flatMap(({ descriptor, dataPoints }) =>
        dataPoints.map(({ attributes, value }) => {
          const { "grpc.method": method, ...rest } = attributes;
          const labels = [String(method).split("/")[1], ...Object.values(rest)].join(" ");
          const { count, sum } = value as { count: number; sum: number };
          const shown = typeof value === "number" ? value : descriptor.unit === "By" ? [count, sum] : count;
          return [`${descriptor.name.replace("_total_compressed_message_size", "")} ${labels}`, shown];
        }),
      ),
    );
    return Object.fromEntries(points);
  };
  return { meter: provider.getMeter("test"), read };
}

const running = (count: number) => ({ "triple.client.active_calls ": count, "triple.server.active_calls ": count });

function connect(
  handler: Partial<GreetServiceHandler>,
  options: ClientTelemetryOptions,
  retries = 0,
  protocol: "grpc" | "http-rpc" = "grpc",
) {
  const given = { ...options, metrics: "grpc" } as const;
  const router = createRouter({ interceptors: [createServerTelemetry(given)], onError: () => {} });
  router.add(GreetServiceDef, { ...greeter, ...handler });
  const retry =
    retries > 0 ? [createRetry({ maxAttempts: retries + 1, initialBackoffMs: 1, applies: () => true })] : [];
  const interceptors = [createClientTelemetry(given), ...retry];
  return createGreetServiceClient(createInMemoryTransport(router, { interceptors, protocol }));
}

it("counts attempts with their status, and the calls of both sides", async () => {
  const { meter, read } = measure();
  let calls = 0;
  const greet = () => {
    calls += 1;
    if (calls < 3) throw NO;
    return { greeting: "Hello" };
  };
  await connect({ greet }, { meter, baseUrl: "http://[::1]/path" }, 2).greet({ name: "Ada" });
  const target = "dns:///[::1]:80";
  expect(await read()).toEqual({
    [`grpc.client.attempt.started Greet ${target}`]: 3,
    [`grpc.client.attempt.duration Greet ${target} UNAVAILABLE`]: 2,
    [`grpc.client.attempt.duration Greet ${target} OK`]: 1,
    [`grpc.client.attempt.sent Greet ${target} UNAVAILABLE`]: [2, 10],
    [`grpc.client.attempt.sent Greet ${target} OK`]: [1, 5],
    [`grpc.client.attempt.rcvd Greet ${target} UNAVAILABLE`]: [2, 0],
    [`grpc.client.attempt.rcvd Greet ${target} OK`]: [1, 7],
    [`grpc.client.call.duration Greet ${target} OK`]: 1,
    "grpc.server.call.started Greet": 3,
    "grpc.server.call.duration Greet UNAVAILABLE": 2,
    "grpc.server.call.duration Greet OK": 1,
    "grpc.server.call.sent Greet UNAVAILABLE": [2, 0],
    "grpc.server.call.sent Greet OK": [1, 7],
    "grpc.server.call.rcvd Greet UNAVAILABLE": [2, 10],
    "grpc.server.call.rcvd Greet OK": [1, 5],
    ...running(0),
  });
});

it("adds up the sizes of all messages of a stream, in both directions", async () => {
  const { meter, read } = measure();
  await greetings(connect({}, { meter }).greetOnArrival(arriving("Ada", "Bo")));
  expect(await read()).toMatchObject({
    "grpc.client.attempt.sent GreetOnArrival OK": [1, 5 + 4],
    "grpc.client.attempt.rcvd GreetOnArrival OK": [1, 13 + 12],
    "grpc.server.call.sent GreetOnArrival OK": [1, 13 + 12],
    "grpc.server.call.rcvd GreetOnArrival OK": [1, 5 + 4],
  });
});

it("records no sizes over HTTP RPC", async () => {
  const { meter, read } = measure();
  await connect({}, { meter }, 0, "http-rpc").greet({ name: "Ada" });
  expect(await read()).toEqual({
    "grpc.client.attempt.started Greet": 1,
    "grpc.client.attempt.duration Greet OK": 1,
    "grpc.client.call.duration Greet OK": 1,
    "grpc.server.call.started Greet": 1,
    "grpc.server.call.duration Greet OK": 1,
    ...running(0),
  });
});

it("measures compressed messages", async () => {
  const { meter, read } = measure();
  const { baseUrl } = await startServer({}, { interceptors: [createServerTelemetry({ meter, metrics: "grpc" })] });
  const interceptors = [createClientTelemetry({ meter, metrics: "grpc" })];
  await connectGreeter(baseUrl, { interceptors, compression: "gzip" }).greet({ name: "a".repeat(10_000) });
  const found = await read();
  const sizes = ["client.attempt.sent", "server.call.rcvd", "client.attempt.rcvd", "server.call.sent"].map(
    (name) => (found[`grpc.${name} Greet OK`] as number[])[1] as number,
  );
  expect(sizes[0]).toBeLessThan(200);
  expect(sizes[2]).toBeLessThan(200);
  expect([sizes[1], sizes[3]]).toEqual([sizes[0], sizes[2]]);
});

it("counts the hedged attempts that were cancelled", async () => {
  const { meter, read } = measure();
  let calls = 0;
  const greet: GreetServiceHandler["greet"] = async (_, { signal }) => {
    calls += 1;
    if (calls < 3) await aborted(signal as AbortSignal);
    return {};
  };
  const { baseUrl } = await startServer({ greet });
  const retry = { maxAttempts: 3, hedgingDelayMs: 0 };
  const transport = openTransport(baseUrl, {
    interceptors: [createClientTelemetry({ meter, metrics: "grpc" })],
    retry,
  });
  await createStub<(request: object) => Promise<object>>(idempotent, transport)({});
  // The losers end after the call.
  await expect.poll(read).toMatchObject({
    "grpc.client.attempt.started Greet": 3,
    "grpc.client.attempt.duration Greet CANCELLED": 2,
    "grpc.client.attempt.duration Greet OK": 1,
    "grpc.client.call.duration Greet OK": 1,
  });
});

it("counts an attempt that a transparent retry repeats", async () => {
  const { meter, read } = measure();
  let streams = 0;
  const server = createServer().on("stream", (stream) => {
    streams += 1;
    stream.on("error", () => {});
    if (streams === 1) return stream.close(constants.NGHTTP2_REFUSED_STREAM);
    stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
    return stream.end(Buffer.alloc(5));
  });
  onTestFinished(() => void server.close());
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const interceptors = [createClientTelemetry({ meter, metrics: "grpc" })];
  await connectGreeter(`http://127.0.0.1:${port}`, { interceptors }).greet({});
  expect(await read()).toMatchObject({
    "grpc.client.attempt.started Greet": 2,
    "grpc.client.attempt.duration Greet UNAVAILABLE": 1,
    "grpc.client.attempt.duration Greet OK": 1,
    "grpc.client.call.duration Greet OK": 1,
  });
});

it.each(["rpc", "grpc"] as const)("counts the running calls of both sides with metrics %s", async (metrics) => {
  const { meter, read } = measure();
  const interceptors = [createServerTelemetry({ meter, metrics })];
  const goOn = signalled();
  const router = createRouter({ interceptors }).add(GreetServiceDef, {
    ...greeter,
    greet: () => goOn.promise.then(() => ({})),
  });
  const client = () =>
    createGreetServiceClient(
      createInMemoryTransport(router, { interceptors: [createClientTelemetry({ meter, metrics })] }),
    );
  const calls = [client().greet({}), client().greet({})];
  await expect.poll(read).toMatchObject(running(2));
  goOn.resolve();
  await Promise.all(calls);
  expect(await read()).toMatchObject(running(0));
});

it("refuses other metrics", () => {
  expect(() => createServerTelemetry({ metrics: "all" as "rpc" })).toThrow(
    new TypeError('metrics must be in ["rpc","grpc"], not "all"'),
  );
});
