/** Load reports of servers (gRFC A51): in trailers, out of band, and what clients with weighted round robin make of them. */
import { fromBinary } from "@bufbuild/protobuf";
import { Code, createContextKey, createInMemoryTransport, createRouter, type Metadata, RpcError } from "triple-es";
import { fixed, weightedRoundRobin } from "triple-es/discovery";
import { addLoadReports, type LoadReport } from "triple-es/health";
import { createServer, createTransport } from "triple-es/node";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { createGreetServiceClient, GreetServiceDef } from "../../examples/gen/greet/v1/greet_triple.ts";
import {
  type OrcaLoadReport,
  OrcaLoadReportSchema,
} from "../../runtime/src/gen/xds/data/orca/v3/orca_load_report_pb.ts";
import { createOpenRcaServiceClient } from "../../runtime/src/gen/xds/service/orca/v3/orca_triple.ts";
import { failureOf, greeter, greetings } from "../support/server.ts";

const TRAILER = "endpoint-load-metrics-bin";
const rows = createContextKey(0);

afterEach(() => {
  vi.useRealTimers();
});

/** A router in memory whose calls cost as many rows as their names are long. */
function serve(report?: Parameters<typeof addLoadReports>[1] & object) {
  const router = createRouter();
  const reportLoad = addLoadReports(router, report);
  router.add(
    GreetServiceDef,
    {
      ...greeter,
      greet({ name }, { values }) {
        values.set(rows, name.length);
        if (name === "") throw new RpcError(Code.InvalidArgument, "a name is needed");
        return { greeting: `Hello, ${name}!` };
      },
      async *greetEach({ names }, { values }) {
        for (const name of names) {
          values.set(rows, values.get(rows) + name.length);
          yield { greeting: name };
        }
        if (names.length > 1) throw new RpcError(Code.InvalidArgument, "one is enough");
      },
    },
    { interceptors: [reportLoad] },
  );
  const transport = createInMemoryTransport(router, { protocol: "grpc" });
  return { router, client: createGreetServiceClient(transport), orca: createOpenRcaServiceClient(transport) };
}

const reportIn = (trailers: Metadata): OrcaLoadReport | undefined => {
  const bytes = trailers.getBinary(TRAILER);
  return bytes && fromBinary(OrcaLoadReportSchema, bytes);
};

describe("the report of a call", () => {
  const cost: LoadReport = {
    applicationUtilization: 0.5,
    memUtilization: 0.25,
    utilization: { disk: 0.75 },
    namedMetrics: { sessions: 7 },
  };
  const { client, router } = serve({
    report: (request) => ({
      ...cost,
      ...(request && { requestCost: { rows: request.context.values.get(rows) } }),
    }),
  });

  it("is in the trailers, with what the handler has set", async () => {
    let trailers: Metadata | undefined;
    await client.greet({ name: "Ada" }, { onTrailers: (received) => (trailers = received) });
    expect(reportIn(trailers as Metadata)).toMatchObject({ ...cost, requestCost: { rows: 3 } });
  });

  it("is in the trailers of an error", async () => {
    const { trailers } = await failureOf(client.greet({}));
    expect(reportIn(trailers)).toMatchObject({ ...cost, requestCost: { rows: 0 } });
  });

  it("is that of the end of a stream", async () => {
    let trailers: Metadata | undefined;
    await greetings(client.greetEach({ names: ["Ada"] }, { onTrailers: (received) => (trailers = received) }));
    expect(reportIn(trailers as Metadata)).toMatchObject({ ...cost, requestCost: { rows: 3 } });
    const failed = await failureOf(client.greetEach({ names: ["Ada", "Bob"] }));
    expect(reportIn(failed.trailers)).toMatchObject({ ...cost, requestCost: { rows: 6 } });
  });

  it("is not sent over HTTP RPC", async () => {
    let trailers: Metadata | undefined;
    const transport = createInMemoryTransport(router, { protocol: "http-rpc" });
    await createGreetServiceClient(transport).greet(
      { name: "Ada" },
      { onTrailers: (received) => (trailers = received) },
    );
    expect(trailers?.has(TRAILER)).toBe(false);
  });

  it("is missing, and the call succeeds, if the function of the program fails", async () => {
    const printed = vi.spyOn(console, "error").mockReturnValue();
    const { client } = serve({
      report: () => {
        throw new Error("no sensor");
      },
    });
    let trailers: Metadata | undefined;
    await client.greet({ name: "Ada" }, { onTrailers: (received) => (trailers = received) });
    expect(trailers?.has(TRAILER)).toBe(false);
    expect(printed).toHaveBeenCalledOnce();
    printed.mockRestore();
  });

  it("has the measured load of the last period, unless the program reports another one", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    const cpu = vi.spyOn(process, "cpuUsage").mockReturnValue({ user: 0, system: 0 });
    const { client } = serve({ report: () => ({ eps: 9 }) });
    const load = async () => {
      let trailers: Metadata | undefined;
      await client.greet({ name: "Ada" }, { onTrailers: (received) => (trailers = received) });
      return reportIn(trailers as Metadata);
    };
    expect(await load()).toMatchObject({ cpuUtilization: 0, rpsFractional: 0, eps: 9 });
    for (let call = 0; call < 8; call++) await failureOf(client.greet({}));
    cpu.mockReturnValue({ user: 800_000, system: 200_000 });
    vi.advanceTimersByTime(2_000);
    expect(await load()).toMatchObject({ cpuUtilization: 0.5, rpsFractional: 5, eps: 9 });
    vi.advanceTimersByTime(900);
    expect(await load()).toMatchObject({ cpuUtilization: 0.5, rpsFractional: 5, eps: 9 });
    cpu.mockRestore();
  });

  it("has the failed calls of the last period", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    const { client } = serve();
    for (let call = 0; call < 8; call++) await failureOf(client.greet({}));
    vi.advanceTimersByTime(4_000);
    const { trailers } = await failureOf(client.greet({}));
    expect(reportIn(trailers)).toMatchObject({ rpsFractional: 2.25, eps: 2.25 });
  });
});

describe("reports out of band", () => {
  const seconds = (count: number) => ({ seconds: BigInt(count), nanos: 0 });

  /** Counts the reports that a client gets. */
  function count(wantedSeconds: number | undefined, options: Parameters<typeof addLoadReports>[1] & object = {}) {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    const { orca } = serve({ report: () => ({ applicationUtilization: 0.5 }), ...options });
    const reports: OrcaLoadReport[] = [];
    const abort = new AbortController();
    const request = wantedSeconds === undefined ? {} : { reportInterval: seconds(wantedSeconds) };
    const end = failureOf(
      (async function* () {
        for await (const report of orca.streamCoreMetrics(request, { signal: abort.signal })) {
          reports.push(report);
          yield report;
        }
      })(),
    );
    return { reports, abort, end };
  }

  it.each([
    [undefined, undefined, 30],
    [1, undefined, 30],
    [45, undefined, 45],
    [1, 2_000, 2],
  ])(
    "are sent at once and at the interval: %s s wanted, at least %s ms allowed, %s s",
    async (wanted, min, interval) => {
      const { reports, abort, end } = count(wanted, min === undefined ? {} : { minIntervalMs: min });
      await vi.advanceTimersByTimeAsync(10);
      expect(reports).toMatchObject([{ applicationUtilization: 0.5 }]);
      await vi.advanceTimersByTimeAsync(interval * 3_000);
      expect(reports.length).toBe(4);
      abort.abort();
      expect((await end).code).toBe(Code.Canceled);
      expect(vi.getTimerCount()).toBe(0);
    },
  );

  it("end when the server closes", async () => {
    const server = createServer();
    addLoadReports(server);
    await server.listen({ port: 0, host: "127.0.0.1" });
    const transport = createTransport({ baseUrl: `http://127.0.0.1:${server.address.port}` });
    onTestFinished(() => transport.close());
    const stream = createOpenRcaServiceClient(transport).streamCoreMetrics({})[Symbol.asyncIterator]();
    await stream.next();
    const closed = server.close();
    await expect(stream.next()).rejects.toMatchObject({ code: Code.Unavailable });
    await closed;
  });

  it("need valid options", () => {
    expect(() => addLoadReports(createRouter(), { minIntervalMs: 0 })).toThrow(
      "minIntervalMs must be more than 0, not 0",
    );
    expect(() => addLoadReports(createRouter(), { report: {} as never })).toThrow("report must be a function, not {}");
  });
});

it.each([
  ["of calls", {}],
  ["out of band", { oobReportingPeriodMs: 20 }],
])("a client weighs servers by their reports %s", async (_, options) => {
  const loads: LoadReport[] = [
    { applicationUtilization: 0.25, rpsFractional: 100, eps: 0 },
    { applicationUtilization: 0.5, rpsFractional: 50, eps: 25 },
  ];
  const addresses: string[] = [];
  for (const load of loads) {
    const server = createServer();
    const reportLoad = addLoadReports(server, { report: () => load, minIntervalMs: 20 });
    server.add(GreetServiceDef, greeter, { interceptors: [reportLoad] });
    await server.listen({ port: 0, host: "127.0.0.1" });
    onTestFinished(() => server.close({ graceMs: 0 }));
    addresses.push(`127.0.0.1:${server.address.port}`);
  }
  const transport = createTransport({
    resolver: fixed(addresses),
    balancer: weightedRoundRobin({ blackoutPeriodMs: 0, weightUpdatePeriodMs: 100, ...options }),
  });
  onTestFinished(() => transport.close());
  const client = createGreetServiceClient(transport);
  await expect
    .poll(
      async () => {
        await Promise.all(addresses.map(() => client.greet({ name: "Ada" })));
        return transport.endpoints().map(({ weight }) => Math.round(weight));
      },
      { timeout: 10_000, interval: 20 },
    )
    .toEqual([400, 50]);
});

it("a client takes calls without weights from a server that has no reports out of band", async () => {
  const problems: string[] = [];
  const server = createServer().add(GreetServiceDef, greeter);
  await server.listen({ port: 0, host: "127.0.0.1" });
  onTestFinished(() => server.close({ graceMs: 0 }));
  const address = `127.0.0.1:${server.address.port}`;
  const serviceConfig = { loadBalancingConfig: [{ weighted_round_robin: { enableOobLoadReport: true } }] };
  const transport = createTransport({
    resolver: fixed([address]),
    serviceConfig,
    onEndpoint: (event) => void (event.type === "invalid endpoint" && problems.push(event.problem)),
  });
  onTestFinished(() => transport.close());
  expect((await createGreetServiceClient(transport).greet({ name: "Ada" })).greeting).toBe("Hello, Ada!");
  await expect
    .poll(() => problems, { timeout: 10_000 })
    .toEqual([`${address} has no ORCA service: it sends no load reports`]);
});
