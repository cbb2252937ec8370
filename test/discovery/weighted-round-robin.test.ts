/**
 * Weighted round robin by load reports (gRFC A58), on a virtual clock: which weights follow from which reports, when they are
 * used, and how calls are distributed.
 */
import { Code, Metadata } from "triple-es";
import { roundRobin, weightedRoundRobin } from "triple-es/discovery";
import { rules } from "triple-es-dubbo/rules";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { parseServiceConfig } from "../../runtime/src/client/service-config.ts";
import { resolveEjection } from "../../runtime/src/discovery/ejection-options.ts";
import { findPolicy } from "../../runtime/src/discovery/policy/by-name.ts";
import type { LoadOwner, Watches } from "../../runtime/src/discovery/target-options.ts";
import { LocalZone } from "../../runtime/src/discovery/zone.ts";
import { createWorld, listed, request, response, settle, type World } from "./world.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] });
});
afterEach(() => {
  vi.useRealTimers();
});

interface Load {
  readonly cpu?: number;
  readonly qps?: number;
  readonly eps?: number;
  readonly application?: number;
}

/** Encodes an `OrcaLoadReport`, with fields that the policy does not need. */
function reportOf({ cpu = 0, qps = 0, eps = 0, application = 0 }: Load): Uint8Array {
  const fields = [
    [1, cpu],
    [2, 0.5],
    [6, qps],
    [7, eps],
    [9, application],
  ] as const;
  return Uint8Array.from([
    ...[26, 2, 8, 1],
    ...fields.flatMap(([no, value]) => [no * 8 + 1, ...new Uint8Array(Float64Array.of(value).buffer)]),
  ]);
}

const answering = (report: string | Uint8Array) => ({
  ...response(),
  trailers: new Metadata({ "endpoint-load-metrics-bin": report }),
});

/** Lets an endpoint report the load with each response. `undefined`: none. */
function report(world: World, address: string, load: Load | undefined): void {
  world.server(address).answer = async () => (load === undefined ? response() : answering(reportOf(load)));
}

/** Makes ten calls a second. Returns the share of each endpoint in them. */
async function callFor(world: World, seconds: number, perSecond = 10): Promise<Record<string, number>> {
  const before = new Map(world.target.endpoints().map(({ address }) => [address, world.server(address).calls]));
  for (let call = 0; call < seconds * perSecond; call++) {
    void world.exchange(request());
    await settle(1_000 / perSecond);
  }
  return Object.fromEntries(
    [...before].map(([address, calls]) => [
      address,
      Math.round(((world.server(address).calls - calls) / (seconds * perSecond)) * 100) / 100,
    ]),
  );
}

const weightsOf = ({ target }: World): Record<string, number> =>
  Object.fromEntries(target.endpoints().map(({ address, weight }) => [address, Math.round(weight)]));

const balanced = (options: Parameters<typeof weightedRoundRobin>[0] = {}) => ({
  balancer: weightedRoundRobin({ random: () => 0, ...options }),
});

describe("weights by the reports of calls", () => {
  it("are those of the list until the blackout period ends, and then those of the reports", async () => {
    const world = await listed(["a:1", "b:1"], balanced());
    report(world, "a:1", { cpu: 0.2, qps: 100 });
    report(world, "b:1", { cpu: 0.8, qps: 100 });
    expect(await callFor(world, 9)).toEqual({ "a:1": 0.5, "b:1": 0.5 });
    expect(weightsOf(world)).toEqual({ "a:1": 100, "b:1": 100 });
    await callFor(world, 3);
    expect(weightsOf(world)).toEqual({ "a:1": 500, "b:1": 125 });
    expect(await callFor(world, 100)).toEqual({ "a:1": 0.8, "b:1": 0.2 });
  });

  it.each<[string, Load, number]>([
    ["the utilization of the application in place of that of the CPU", { cpu: 0.9, application: 0.5, qps: 10 }, 20],
    ["a utilization above 1", { application: 2, qps: 10 }, 5],
    ["the penalty for errors", { cpu: 0.5, qps: 10, eps: 5 }, 10],
  ])("use %s", async (_, load, weight) => {
    const world = await listed(["a:1", "b:1"], balanced({ blackoutPeriodMs: 0 }));
    report(world, "a:1", load);
    report(world, "b:1", { cpu: 1, qps: 40 });
    await callFor(world, 2);
    expect(weightsOf(world)).toEqual({ "a:1": weight, "b:1": 40 });
  });

  it("have the penalty of the option", async () => {
    const world = await listed(["a:1", "b:1"], balanced({ blackoutPeriodMs: 0, errorUtilizationPenalty: 3 }));
    for (const address of ["a:1", "b:1"]) report(world, address, { cpu: 0.5, qps: 10, eps: 5 });
    await callFor(world, 2);
    expect(weightsOf(world)).toEqual({ "a:1": 5, "b:1": 5 });
  });

  it("are the mean of the others for an endpoint without reports", async () => {
    const world = await listed(["a:1", "b:1", "c:1"], balanced({ blackoutPeriodMs: 0 }));
    report(world, "a:1", { cpu: 0.1, qps: 30 });
    report(world, "b:1", { cpu: 0.1, qps: 10 });
    await callFor(world, 3);
    expect(weightsOf(world)).toEqual({ "a:1": 300, "b:1": 100, "c:1": 200 });
  });

  it("replace the smallest weight of a list", async () => {
    const world = await listed([{ address: "a:1", weight: 1e-320 }, "b:1"], balanced({ blackoutPeriodMs: 0 }));
    for (const address of ["a:1", "b:1"]) report(world, address, { cpu: 0.5, qps: 10 });
    await callFor(world, 200);
    expect(weightsOf(world)).toEqual({ "a:1": 20, "b:1": 20 });
  });

  it("stay those of the list while only one endpoint reports", async () => {
    const world = await listed([{ address: "a:1", weight: 300 }, "b:1"], balanced({ blackoutPeriodMs: 0 }));
    report(world, "a:1", { cpu: 0.1, qps: 1 });
    await callFor(world, 3);
    expect(weightsOf(world)).toEqual({ "a:1": 300, "b:1": 100 });
  });

  it("expire, after which another blackout period begins", async () => {
    const world = await listed(["a:1", "b:1", "c:1"], balanced({ weightExpirationPeriodMs: 30_000 }));
    for (const [index, address] of ["a:1", "b:1", "c:1"].entries())
      report(world, address, { cpu: 1, qps: 10 + 20 * index });
    await callFor(world, 12);
    expect(weightsOf(world)).toEqual({ "a:1": 10, "b:1": 30, "c:1": 50 });
    report(world, "c:1", undefined);
    await callFor(world, 29);
    expect(weightsOf(world)).toEqual({ "a:1": 10, "b:1": 30, "c:1": 50 });
    await callFor(world, 2);
    expect(weightsOf(world)).toEqual({ "a:1": 10, "b:1": 30, "c:1": 20 });
    report(world, "c:1", { cpu: 1, qps: 50 });
    await callFor(world, 9);
    expect(weightsOf(world)["c:1"]).toBe(20);
    await callFor(world, 3);
    expect(weightsOf(world)["c:1"]).toBe(50);
  });

  it("begin anew when an endpoint is connected to again", async () => {
    const world = await listed(["a:1", "b:1", "c:1"], balanced());
    for (const [index, address] of ["a:1", "b:1", "c:1"].entries())
      report(world, address, { cpu: 1, qps: 10 + 20 * index });
    await callFor(world, 12);
    world.server("c:1").onReadiness(false);
    await callFor(world, 2);
    expect(weightsOf(world)).toEqual({ "a:1": 10, "b:1": 30, "c:1": 20 });
  });

  it("begin anew when the ejection of an endpoint ends, also if calls that ran meanwhile have reported", async () => {
    const ejection = resolveEjection({ failures: 1, baseEjectionTimeMs: 30_000 });
    const world = await listed(["a:1", "b:1", "c:1"], { ...balanced(), ejection });
    for (const [index, address] of ["a:1", "b:1", "c:1"].entries())
      report(world, address, { cpu: 1, qps: 10 + 20 * index });
    await callFor(world, 12);
    expect(weightsOf(world)).toEqual({ "a:1": 10, "b:1": 30, "c:1": 50 });
    let end = (): void => {};
    const late = new Promise<void>((resolve) => {
      end = resolve;
    });
    world.server("c:1").answer = () => late.then(() => answering(reportOf({ cpu: 1, qps: 50 })));
    await callFor(world, 2);
    world.server("c:1").answer = async () => response({ "grpc-status": `${Code.Internal}` });
    await callFor(world, 2);
    expect(world.states()["c:1"]).toBe("ejected");
    end();
    report(world, "c:1", { cpu: 1, qps: 50 });
    await callFor(world, 30);
    expect(world.states()["c:1"]).toBe("ready");
    await callFor(world, 7);
    expect(weightsOf(world)).toEqual({ "a:1": 10, "b:1": 30, "c:1": 20 });
    await callFor(world, 6);
    expect(weightsOf(world)["c:1"]).toBe(50);
  });

  it.each([
    ["not base64", "?"],
    ["cut off", reportOf({ cpu: 1, qps: 1 }).subarray(0, 20)],
    ["an invalid tag", Uint8Array.of(0, 0)],
    ["without a utilization", reportOf({ qps: 1 })],
    ["without queries", reportOf({ cpu: 1 })],
    ["not a number", reportOf({ cpu: 1, qps: Number.NaN })],
    ["infinite", reportOf({ cpu: 1, qps: Number.POSITIVE_INFINITY })],
    ["so large that sums are infinite", reportOf({ cpu: 1, qps: 1.7e308 })],
    ["negative", reportOf({ cpu: 1, qps: -1 })],
    ["with negative errors", reportOf({ cpu: 1, qps: 1, eps: -2 })],
  ])("ignore a report that is %s", async (_, bytes) => {
    const world = await listed(["a:1", "b:1", "c:1"], balanced({ blackoutPeriodMs: 0 }));
    for (const address of ["a:1", "b:1"]) report(world, address, { cpu: 1, qps: 10 });
    const answer = response();
    answer.trailers.appendRaw([
      "endpoint-load-metrics-bin",
      typeof bytes === "string" ? bytes : Buffer.from(bytes).toString("base64"),
    ]);
    world.server("c:1").answer = async () => answer;
    await callFor(world, 3);
    expect(weightsOf(world)).toEqual({ "a:1": 10, "b:1": 10, "c:1": 10 });
  });

  it("follow from reports in a response of headers only too", async () => {
    const world = await listed(["a:1", "b:1"], balanced({ blackoutPeriodMs: 0 }));
    for (const address of ["a:1", "b:1"]) {
      const { trailers } = answering(reportOf({ cpu: 1, qps: 10 }));
      world.server(address).answer = async () => ({ ...response(), headers: trailers });
    }
    await callFor(world, 2);
    expect(weightsOf(world)).toEqual({ "a:1": 10, "b:1": 10 });
  });

  it("are computed at the interval of the option, of at least 100 ms", async () => {
    const world = await listed(["a:1", "b:1"], balanced({ blackoutPeriodMs: 0, weightUpdatePeriodMs: 0 }));
    for (const address of ["a:1", "b:1"]) report(world, address, { cpu: 1, qps: 10 });
    await world.exchange(request());
    await world.exchange(request());
    await settle(99);
    expect(weightsOf(world)["a:1"]).toBe(100);
    await settle(2);
    expect(weightsOf(world)["a:1"]).toBe(10);
  });

  it("keep the share of an endpoint that warms up", async () => {
    const world = await listed(["a:1", "b:1"], { ...balanced({ blackoutPeriodMs: 0 }), warmUpMs: 10_000 });
    for (const address of ["a:1", "b:1"]) report(world, address, { cpu: 0.1, qps: 10 });
    await callFor(world, 5);
    expect(weightsOf(world)).toEqual({ "a:1": 50, "b:1": 50 });
  });

  it("keep the share of another zone, which gets the overflow only", async () => {
    const zone = new LocalZone("here");
    const { balancer } = balanced({ blackoutPeriodMs: 0 });
    const here = ["a:1", "b:1", "c:1"].map((address) => ({ address, zone: "here" }));
    const world = createWorld({ balancer: zone.prefer(balancer), zone });
    world.server("c:1").isUp = false;
    world.lists.say(...here, ...["d:1", "e:1", "f:1"].map((address) => ({ address, zone: "there" })));
    await world.exchange(request());
    for (const address of ["a:1", "b:1", "d:1", "e:1", "f:1"]) report(world, address, { cpu: 1, qps: 30 });
    await callFor(world, 3);
    // The share of the zone is a half of the five that are left: its own two, and a sixth of each of the three others.
    expect(weightsOf(world)).toMatchObject({ "a:1": 30, "b:1": 30, "d:1": 5, "e:1": 5, "f:1": 5 });
  });

  it("pass through traffic rules", async () => {
    const own = rules({ application: "web", texts: {} });
    const service = own.of({ service: "greet.v1.GreetService" }, "10.0.0.1");
    const world = await listed(["a:1", "b:1"], {
      balancer: service.route(balanced({ blackoutPeriodMs: 0 }).balancer),
    });
    report(world, "a:1", { cpu: 0.2, qps: 100 });
    report(world, "b:1", { cpu: 0.8, qps: 100 });
    await callFor(world, 3);
    expect(await callFor(world, 100)).toEqual({ "a:1": 0.8, "b:1": 0.2 });
  });

  it("do not exist with other policies", async () => {
    const world = await listed(["a:1", "b:1"], { balancer: roundRobin({ random: () => 0 }) });
    for (const [index, address] of ["a:1", "b:1"].entries()) report(world, address, { cpu: 1, qps: 10 + index });
    await callFor(world, 15);
    expect(weightsOf(world)).toEqual({ "a:1": 100, "b:1": 100 });
  });

  it("do not interrupt the turns when they are computed again", async () => {
    const world = await listed(["a:1", "b:1", "c:1"], balanced());
    expect(await callFor(world, 30, 1)).toEqual({ "a:1": 0.33, "b:1": 0.33, "c:1": 0.33 });
  });
});

describe("weights by reports out of band", () => {
  async function watched(options: Parameters<typeof weightedRoundRobin>[0] = {}) {
    const watches: { readonly reportMs: number; readonly owner: LoadOwner; hasEnded: boolean }[] = [];
    const watchLoad: Watches["load"] = (_, reportMs, owner) => {
      const watch = { reportMs, owner, hasEnded: false };
      watches.push(watch);
      return () => {
        watch.hasEnded = true;
      };
    };
    const world = createWorld({
      watches: { health: () => () => {}, load: watchLoad },
      ...balanced({ oobReportingPeriodMs: 10_000, blackoutPeriodMs: 0, ...options }),
    });
    world.lists.say("a:1", "b:1");
    world.target.wake();
    await settle();
    const configure = (config: Parameters<typeof weightedRoundRobin>[0]): void =>
      world.target.balanceBy({ balancer: weightedRoundRobin(config), ejection: resolveEjection(undefined) });
    return { ...world, watches, configure };
  }

  it("follow from them, and not from those of calls", async () => {
    const world = await watched();
    for (const address of ["a:1", "b:1"]) report(world, address, { cpu: 1, qps: 7 });
    expect(world.watches.map(({ reportMs }) => reportMs)).toEqual([10_000, 10_000]);
    for (const [index, { owner }] of world.watches.entries()) owner.onReport(reportOf({ cpu: 1, qps: 10 + index }));
    await callFor(world, 2);
    expect(weightsOf(world)).toEqual({ "a:1": 10, "b:1": 11 });
  });

  it("are watched anew on another connection", async () => {
    const { server, watches } = await watched();
    server("a:1").onReadiness(false);
    await settle();
    expect(watches.map(({ hasEnded }) => hasEnded)).toEqual([true, false, false]);
  });

  it("are watched anew when a ready endpoint whose connection was idle has one again", async () => {
    const { server, watches } = await watched();
    watches[0]?.owner.onUnconnected();
    server("a:1").onReadiness(true);
    server("a:1").onReadiness(true);
    expect(watches.length).toBe(3);
  });

  it("are watched anew at another interval, and not at all for another policy", async () => {
    const { watches, configure } = await watched();
    configure({ oobReportingPeriodMs: 10_000, errorUtilizationPenalty: 2 });
    expect(watches.length).toBe(2);
    configure({ oobReportingPeriodMs: 30_000 });
    expect(watches.map(({ reportMs, hasEnded }) => [reportMs, hasEnded])).toEqual([
      [10_000, true],
      [10_000, true],
      [30_000, false],
      [30_000, false],
    ]);
    configure({});
    expect(watches.length).toBe(4);
    expect(watches.every(({ hasEnded }) => hasEnded)).toBe(true);
  });

  it("are missing if the endpoint does not have the service, which is reported once", async () => {
    const { watches, events } = await watched();
    for (const { owner } of watches) owner.onUnimplemented();
    expect(events.flatMap((event) => (event.type === "invalid endpoint" ? event.problem : []))).toEqual([
      "a:1 has no ORCA service: it sends no load reports",
      "b:1 has no ORCA service: it sends no load reports",
    ]);
  });

  it("are not watched after the target was closed", async () => {
    const { target, watches } = await watched();
    await target.close();
    expect(watches.every(({ hasEnded }) => hasEnded)).toBe(true);
  });
});

describe("the policy in a service config", () => {
  const policyOf = (config: object) =>
    findPolicy(parseServiceConfig({ loadBalancingConfig: [{ weighted_round_robin: config }] }).loadBalancing);

  it("has the parameters of A58, and its defaults", () => {
    expect(policyOf({ blackoutPeriodMs: 5 })?.balancer.loads).toEqual(weightedRoundRobin().loads);
    expect(
      policyOf({
        enableOobLoadReport: true,
        oobReportingPeriod: "20s",
        blackoutPeriod: "0s",
        weightExpirationPeriod: "60s",
        weightUpdatePeriod: "0.01s",
        errorUtilizationPenalty: 0,
        other: 1,
        random: 1,
      })?.balancer.loads,
    ).toEqual({
      oobReportingPeriodMs: 20_000,
      blackoutPeriodMs: 0,
      weightExpirationPeriodMs: 60_000,
      weightUpdatePeriodMs: 100,
      errorUtilizationPenalty: 0,
    });
  });

  it.each([
    [{ blackoutPeriod: 5 }, "loadBalancingConfig[0].weighted_round_robin.blackoutPeriod must be a duration"],
    [{ errorUtilizationPenalty: -1 }, "errorUtilizationPenalty must be 0 or more, not -1"],
    [{ enableOobLoadReport: "yes" }, 'enableOobLoadReport must be in [true,false], not "yes"'],
    [{ enableOobLoadReport: true, oobReportingPeriod: "0s" }, "oobReportingPeriodMs must be more than 0, not 0"],
  ])("is refused with %j", (config, message) => {
    expect(() => policyOf(config)).toThrow(message);
  });

  it("asks for reports in the longest interval of a timer, however long the period is", () => {
    const { loads } = weightedRoundRobin({ oobReportingPeriodMs: Number.POSITIVE_INFINITY });
    expect(loads?.oobReportingPeriodMs).toBe(2 ** 31 - 1);
  });
});
