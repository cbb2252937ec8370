/**
 * Outlier detection (gRFC A50): which endpoints of a target are ejected, when, and for how long. The clock and the random numbers
 * are those of the test.
 */
import { Code } from "triple-es";
import { p2c, roundRobin } from "triple-es/discovery";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { parseServiceConfig } from "../../runtime/src/client/service-config.ts";
import { type EjectionOptions, resolveEjection } from "../../runtime/src/discovery/ejection-options.ts";
import type { Exchange } from "../../runtime/src/http/exchange.ts";
import { pause } from "../support/pause.ts";
import { seeded } from "./random.ts";
import { createWorld, listed, request, response, settle, type World } from "./world.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] });
});
afterEach(() => {
  vi.useRealTimers();
});

const answer = (code: Code | 0) => response(code === 0 ? {} : { "grpc-status": String(code) });
const addressesOf = (count: number): string[] => Array.from({ length: count }, (_, index) => `s${index}:1`);

/** Answers after some time, and fails a share of the calls. */
function serve(
  world: World,
  address: string,
  { ms = 0, failing = 0, code = Code.Internal as Code, random = seeded(9) } = {},
) {
  const server = world.server(address);
  server.answer = async () => {
    server.active++;
    if (ms > 0) await pause(ms);
    server.active--;
    return answer(random() < failing ? code : 0);
  };
}

/** Makes calls at even intervals. Returns their number by code. */
async function load(world: World, perSecond: number, seconds: number): Promise<Record<string, number>> {
  const codes: Record<string, number> = {};
  for (let call = 0; call < perSecond * seconds; call++) {
    void world.exchange(request()).then(({ headers }) => {
      const code = headers.get("grpc-status") ?? "0";
      codes[code] = (codes[code] ?? 0) + 1;
    });
    await settle(1_000 / perSecond);
  }
  await settle(1_000);
  return codes;
}

const ejectedOf = ({ events }: World): string[] =>
  events.flatMap((one) => (one.type === "endpoint" && one.state === "ejected" ? `${one.address} ${one.method}` : []));

describe("an endpoint that fails a part of its calls", () => {
  it.each([2, 3, 4, 10])("every fifth, among %d, is ejected within two intervals, and no other is", async (count) => {
    const world = await listed(addressesOf(count), { balancer: p2c({ random: seeded(2) }) });
    for (const address of addressesOf(count)) serve(world, address, { ms: 5 });
    let calls = 0;
    // Never two in a row.
    serve(world, "s0:1", { ms: 5, failing: 0.2, random: () => (calls++ % 5) / 5 });
    await load(world, 30 * count, 20);
    expect(ejectedOf(world)).toEqual(["s0:1 success_rate"]);
    const server = world.server("s0:1");
    const before = server.calls;
    expect(before).toBeLessThan(20 * 30);
    await load(world, 30, 5);
    expect(server.calls).toBe(before);
  });

  it.each([0.01, 0.2, 0.5, 1])("%d as all others do, as in an overload, is not ejected", async (failing) => {
    const world = await listed(addressesOf(5), { balancer: roundRobin({ random: () => 0 }) });
    const random = seeded(3);
    for (const address of addressesOf(5)) serve(world, address, { failing, code: Code.ResourceExhausted, random });
    await load(world, 150, 60);
    expect(ejectedOf(world)).toEqual([]);
  });

  it("returns, takes calls, and is ejected again for longer each time, up to the limit", async () => {
    const ejection = resolveEjection({ maxEjectionTimeMs: 70_000 });
    const world = await listed(addressesOf(4), { ejection });
    serve(world, "s0:1", { failing: 1 });
    const durations: number[] = [];
    for (let times = 0; times < 4; times++) {
      while (world.states()["s0:1"] === "ready") await load(world, 100, 0.1);
      const start = performance.now();
      while (world.states()["s0:1"] === "ejected") await settle(1_000);
      durations.push(Math.round((performance.now() - start) / 10_000) * 10_000);
    }
    expect(durations).toEqual([30_000, 60_000, 70_000, 70_000]);
    // The multiplier decreases for each interval without an ejection.
    serve(world, "s0:1");
    await settle(30_000);
    serve(world, "s0:1", { failing: 1 });
    await load(world, 100, 1);
    await settle(28_000);
    expect(world.states()["s0:1"]).toBe("ejected");
    await settle(32_000);
    expect(world.states()["s0:1"]).toBe("ready");
  });
});

describe("an endpoint that fails at once", () => {
  it("does not attract calls: one of three, beside two that take 50 ms", async () => {
    const world = await listed(addressesOf(3), { balancer: p2c({ random: seeded(4) }) });
    for (const address of addressesOf(3)) serve(world, address, { ms: 50 });
    serve(world, "s0:1", { failing: 1, code: Code.ResourceExhausted });
    const codes = await load(world, 200, 20);
    expect(codes[Code.ResourceExhausted]).toBe(5);
    expect(codes["0"]).toBe(3_995);
  });

  it("is ejected if others have the method that it has not", async () => {
    const world = await listed(addressesOf(4), { balancer: p2c({ random: seeded(5) }) });
    serve(world, "s0:1", { failing: 1, code: Code.Unimplemented });
    await load(world, 100, 10);
    expect(ejectedOf(world)).toEqual(["s0:1 consecutive_failures"]);
    expect(world.server("s0:1").calls).toBeLessThan(10);
  });

  it("is not ejected for a method that none has", async () => {
    const world = await listed(addressesOf(4), { balancer: p2c({ random: seeded(6) }) });
    const missing: Exchange = async ({ path }) => answer(path === "/a.B/Missing" ? Code.Unimplemented : 0);
    for (const address of addressesOf(4)) world.server(address).answer = missing;
    const random = seeded(7);
    for (let call = 0; call < 5_000; call++) {
      await world.exchange(request({ path: random() < 0.5 ? "/a.B/Missing" : "/a.B/C" }));
      await settle(10);
    }
    for (let call = 0; call < 1_000; call++) await world.exchange(request({ path: "/a.B/Missing" }));
    expect(ejectedOf(world)).toEqual([]);
  });
});

describe("an answer", () => {
  const FAULTS: readonly Code[] = [2, 4, 8, 12, 13, 14, 15];
  it.each(Object.entries(Code))("%s counts if the endpoint may have caused it", async (_, code) => {
    const world = await listed(["a:1", "b:1"]);
    serve(world, "a:1", { failing: 1, code });
    await load(world, 100, 1);
    expect(world.states()["a:1"]).toBe(FAULTS.includes(code) ? "ejected" : "ready");
  });

  it.each([
    [400, "ready"],
    [404, "ready"],
    [429, "ejected"],
    [500, "ejected"],
    [503, "ejected"],
  ])("of the HTTP status %d leaves the endpoint %s", async (status, state) => {
    const world = await listed(["a:1", "b:1"]);
    world.server("a:1").answer = async () => response({}, status);
    await load(world, 100, 1);
    expect(world.states()["a:1"]).toBe(state);
  });
});

describe("the options of gRFC A50", () => {
  const OFF = { enforcementPercentage: 0 };

  /** Makes 500 calls in 10.5 s to five endpoints, whose failures have a pattern, and returns those that are ejected. */
  async function ejected(ejection: EjectionOptions, ...failing: readonly number[]): Promise<string[]> {
    const world = await listed(addressesOf(5), { ejection: resolveEjection({ failures: 0, ...ejection }) });
    for (const [index, percent] of failing.entries()) {
      let calls = 0;
      world.server(`s${index}:1`).answer = async () => answer((++calls * percent) % 100 < percent ? Code.Internal : 0);
    }
    await world.exchange(request());
    await load(world, 50, 11);
    return ejectedOf(world);
  }

  it.each<[string, EjectionOptions, readonly number[], readonly string[]]>([
    ["a success rate far below the mean", {}, [40, 0, 0, 0, 0], ["s0:1 success_rate"]],
    ["stdevFactor", { successRateEjection: { stdevFactor: 2_100, requestVolume: 50 } }, [40, 0, 0, 0, 0], []],
    ["requestVolume", { successRateEjection: { requestVolume: 500 } }, [40, 0, 0, 0, 0], []],
    ["minimumHosts", { successRateEjection: { minimumHosts: 6 } }, [40, 0, 0, 0, 0], []],
    ["enforcementPercentage", { successRateEjection: OFF }, [40, 0, 0, 0, 0], []],
    ["a failure percentage above 85", { successRateEjection: OFF }, [90, 0, 0, 0, 0], ["s0:1 failure_percentage"]],
    ["a failure percentage below", { successRateEjection: OFF }, [80, 0, 0, 0, 0], []],
    [
      "threshold",
      { successRateEjection: OFF, failurePercentageEjection: { threshold: 70 } },
      [80, 0, 0, 0, 0],
      ["s0:1 failure_percentage"],
    ],
    [
      "maxEjectionPercent, of which one is always",
      { successRateEjection: OFF, maxEjectionPercent: 10 },
      [90, 90, 0, 0, 0],
      ["s0:1 failure_percentage"],
    ],
    [
      "maxEjectionPercent of 40",
      { successRateEjection: OFF, maxEjectionPercent: 40 },
      [90, 90, 0, 0, 0],
      ["s0:1 failure_percentage", "s1:1 failure_percentage"],
    ],
  ])("decide about ejections: %s", async (_, ejection, failing, expected) => {
    expect(await ejected({ successRateEjection: { requestVolume: 50 }, ...ejection }, ...failing)).toEqual(expected);
  });

  it("come from a service config, where a rule that is absent is off and absent members have gRPC's defaults", () => {
    const parsed = parseServiceConfig({
      loadBalancingConfig: [
        {
          outlier_detection: {
            interval: "5s",
            maxEjectionTime: "60s",
            successRateEjection: { stdevFactor: 2_000 },
            childPolicy: [{ unknown: {} }, { round_robin: {} }],
          },
        },
      ],
    });
    expect(parsed.loadBalancing.map(({ name }) => name)).toEqual(["unknown", "round_robin"]);
    expect(resolveEjection(parsed.loadBalancing[1]?.outlierDetection)).toEqual({
      failures: 5,
      intervalMs: 5_000,
      baseEjectionTimeMs: 30_000,
      maxEjectionTimeMs: 60_000,
      maxEjectionPercent: 10,
      successRateEjection: { stdevFactor: 2_000, enforcementPercentage: 100, minimumHosts: 5, requestVolume: 100 },
      failurePercentageEjection: { threshold: 85, enforcementPercentage: 0, minimumHosts: 5, requestVolume: 50 },
    });
  });

  it("apply when a service config replaces them", async () => {
    const world = createWorld();
    world.lists.say("a:1", "b:1");
    world.target.balanceBy({ balancer: roundRobin(), ejection: resolveEjection({ failures: 2 }) });
    serve(world, "a:1", { failing: 1 });
    await load(world, 100, 1);
    expect(world.server("a:1").calls).toBe(2);
  });

  it("eject for an interval if the time is 0, as A50 does, which ends ejections at its sweeps", async () => {
    const world = createWorld();
    world.lists.say("a:1", "b:1");
    const ejection = resolveEjection({ failures: 2, baseEjectionTimeMs: 0, intervalMs: 5_000 });
    world.target.balanceBy({ balancer: roundRobin(), ejection });
    serve(world, "a:1", { failing: 1 });
    await load(world, 100, 4);
    expect(world.server("a:1").calls).toBe(2);
    await load(world, 100, 4);
    expect(world.server("a:1").calls).toBe(4);
  });

  it.each<[EjectionOptions, string]>([
    [{ failures: -1 }, "ejection.failures must be 0 or more, not -1"],
    [{ intervalMs: 0 }, "ejection.intervalMs must be more than 0"],
    [{ maxEjectionPercent: 101 }, "ejection.maxEjectionPercent must be at most 100, not 101"],
    [{ successRateEjection: 1 as never }, "ejection.successRateEjection must be an object"],
    [
      { failurePercentageEjection: { threshold: 200 } },
      "ejection.failurePercentageEjection.threshold must be at most 100, not 200",
    ],
    [{ ejectionMs: 1 } as EjectionOptions, 'ejection: "ejectionMs" is not among: failures, intervalMs'],
  ])("are refused if they are invalid: %o", (given, message) => {
    expect(() => resolveEjection(given)).toThrow(message);
  });
});

it("an outlier of a sweep that is not ejected because others are is reported at each sweep", async () => {
  const ejection = resolveEjection({ failures: 0, maxEjectionPercent: 0 });
  const world = await listed(addressesOf(6), { ejection, balancer: roundRobin({ random: () => 0 }) });
  for (const address of ["s0:1", "s1:1"]) serve(world, address, { failing: 1 });
  await load(world, 60, 25);
  expect(ejectedOf(world)).toHaveLength(1);
  const skipped = world.events.filter(({ type }) => type === "ejection skipped");
  expect(skipped).not.toEqual([]);
});
