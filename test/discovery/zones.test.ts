/**
 * Zones: clients of three zones with thirty endpoints each, whose clock and endpoints the test controls. Endpoints answer after
 * 10 ms, refuse connections, or answer with errors.
 */
import { Code, RpcError } from "triple-es";
import { consistentHash, type Endpoint, p2c, pickFirst, type RoutedBalancer, roundRobin } from "triple-es/discovery";
import { rules } from "triple-es-dubbo/rules";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { LocalZone } from "../../runtime/src/discovery/zone.ts";
import type { HttpResponse } from "../../runtime/src/http/exchange.ts";
import { ExchangeFailure } from "../../runtime/src/http/transparent-retry.ts";
import { resolveDiscovery } from "../../runtime/src/node/client/target-connector.ts";
import { seeded } from "./random.ts";
import { createWorld, request, response, settle, type World } from "./world.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] });
});
afterEach(() => {
  vi.useRealTimers();
});

const ZONES = ["a", "b", "c"];
const SIZE = 30;

const addresses = (zone: string, count = SIZE): string[] => Array.from({ length: count }, (_, i) => `${zone}${i}:1`);
const fleet: readonly Endpoint[] = ZONES.flatMap((zone) => addresses(zone).map((address) => ({ address, zone })));

const policies = () =>
  [
    ["p2c", p2c({ random: seeded(1) })],
    ["round robin", roundRobin({ random: seeded(2) })],
    ["consistent hash", consistentHash("key")],
  ] as const;

/** A client in a zone. */
interface Client extends World {
  /** Begins calls, three in a millisecond, so that 30 of them are in flight. */
  readonly begin: (count: number) => Promise<void>;
  /** Waits for the calls to end. Returns the errors of those that have failed since the last time. */
  readonly end: () => Promise<RpcError[]>;
  /** Makes calls. Returns the errors of those that fail. */
  readonly call: (count: number) => Promise<RpcError[]>;
  /** The calls that the endpoints have received since the last time, by address. */
  readonly take: () => ReadonlyMap<string, number>;
  readonly lose: (addresses: readonly string[]) => void;
}

async function clientOf(
  name: string | undefined,
  policy: Parameters<LocalZone["prefer"]>[0],
  endpoints: readonly Endpoint[] = fleet,
  {
    route = (one) => one,
    ...options
  }: { readonly route?: (one: typeof policy) => RoutedBalancer; subset?: number } = {},
): Promise<Client> {
  const zone = name === undefined ? undefined : new LocalZone(name);
  const world = createWorld({ balancer: route(zone?.prefer(policy) ?? policy), zone, ...options });
  const open = new Set<{ readonly address: string; readonly reject: (reason: unknown) => void }>();
  for (const { address } of endpoints) {
    const server = world.server(address);
    server.backoffMs = 2_000;
    server.answer = () => {
      server.active++;
      const answered = new Promise<HttpResponse>((resolve, reject) => {
        open.add({ address, reject });
        setTimeout(() => resolve(response()), 10);
      });
      return answered.finally(() => server.active--);
    };
  }
  world.lists.say(...endpoints);
  const first = world.exchange(request());
  await settle(3_000);
  await first;
  let calls = 0;
  const before = new Map<string, number>();
  const take = (): ReadonlyMap<string, number> =>
    new Map(
      endpoints.map(({ address }) => {
        const total = world.server(address).calls;
        const since = total - (before.get(address) ?? 0);
        before.set(address, total);
        return [address, since];
      }),
    );
  take();
  const running: Promise<void>[] = [];
  const errors: RpcError[] = [];
  const begin = async (count: number): Promise<void> => {
    for (let i = 0; i < count; i++) {
      const one = request();
      one.headers.set("key", `key-${calls++}`);
      running.push(
        world.exchange(one).then(
          () => {},
          (error: RpcError) => void errors.push(error),
        ),
      );
      if (i % 3 === 2) await settle(1);
    }
  };
  const end = async (): Promise<RpcError[]> => {
    await settle(1_000);
    await Promise.all(running.splice(0));
    return errors.splice(0);
  };
  return {
    ...world,
    take,
    begin,
    end,
    async call(count) {
      await begin(count);
      return end();
    },
    lose(lost) {
      for (const address of lost) {
        world.server(address).lose();
        const error = new RpcError(Code.Unavailable, `${address} is lost`);
        for (const one of open) if (one.address === address) one.reject(new ExchangeFailure(error, "unknown"));
      }
    },
  };
}

/** The shares of the zones in calls. */
function shares(calls: ReadonlyMap<string, number>): Record<string, number> {
  const total = [...calls.values()].reduce((sum, count) => sum + count, 0);
  return Object.fromEntries(
    ZONES.map((zone) => {
      const own = [...calls].filter(([address]) => address.startsWith(zone));
      return [zone, own.reduce((sum, [, count]) => sum + count, 0) / total];
    }),
  );
}

describe.each(["p2c", "round robin", "consistent hash"] as const)("with %s", (name) => {
  const policy = () => policies().find(([one]) => one === name)?.[1] as ReturnType<typeof p2c>;

  it("the local zone takes all calls of a healthy fleet, each of its endpoints about as many", async () => {
    const client = await clientOf("a", policy());
    expect(await client.call(3_000)).toEqual([]);
    const calls = client.take();
    expect(shares(calls)).toEqual({ a: 1, b: 0, c: 0 });
    // Consistent hashing distributes within 30 %, with some chance on top.
    for (const address of addresses("a")) {
      expect(calls.get(address)).toBeGreaterThan(50);
      expect(calls.get(address)).toBeLessThan(160);
    }
  });

  it("the loss of the local zone costs what was in flight, and its return brings the calls back", async () => {
    const client = await clientOf("a", policy());
    await client.begin(900);
    const inFlight = addresses("a").reduce((sum, address) => sum + client.server(address).active, 0);
    expect(inFlight).toBeGreaterThan(20);
    client.take();
    client.lose(addresses("a"));
    await client.begin(900);
    expect(await client.end()).toHaveLength(inFlight);
    const after = client.take();
    expect(shares(after)["a"]).toBe(0);
    expect(shares(after)["b"]).toBeGreaterThan(0.4);
    expect(shares(after)["c"]).toBeGreaterThan(0.4);
    for (const address of addresses("a")) client.server(address).isUp = true;
    await settle(5_000);
    expect(await client.call(1_000)).toEqual([]);
    expect(shares(client.take())["a"]).toBeGreaterThanOrEqual(0.95);
  });

  it("every endpoint has the same load while half of a zone is lost and clients are in all zones", async () => {
    const clients = await Promise.all(ZONES.map((zone) => clientOf(zone, policy())));
    const half = addresses("a", SIZE / 2);
    for (const client of clients) client.lose(half);
    await settle();
    const loads = new Map<string, number>();
    for (const [index, client] of clients.entries()) {
      await client.call(5_000);
      const calls = client.take();
      for (const [address, count] of calls) loads.set(address, (loads.get(address) ?? 0) + count);
      const { a, b, c } = shares(calls);
      if (index > 0) continue;
      expect(Math.abs((a as number) - 0.6)).toBeLessThan(0.04);
      expect(Math.abs((b as number) - 0.2)).toBeLessThan(0.04);
      expect(Math.abs((c as number) - 0.2)).toBeLessThan(0.04);
    }
    expect(shares(loads)["a"]).toBeGreaterThan(0.19);
    expect(shares(loads)["a"]).toBeLessThan(0.21);
    for (const address of half) expect(loads.get(address)).toBe(0);
  });
});

it("pick first connects to the local zone first", async () => {
  const client = await clientOf("c", pickFirst());
  expect(client.states()["c0:1"]).toBe("ready");
  client.take();
  await client.call(100);
  expect(shares(client.take())).toEqual({ a: 0, b: 0, c: 1 });
});

it("one lost endpoint of thirty leaves the calls in the zone, three do not", async () => {
  const client = await clientOf("a", roundRobin({ random: seeded(1) }));
  client.lose(addresses("a", 1));
  await client.call(900);
  expect(shares(client.take())["a"]).toBe(1);
  client.lose(addresses("a", 3));
  await client.call(900);
  expect(shares(client.take())["a"]).toBeLessThan(0.95);
});

describe("ejected endpoints", () => {
  const fail = (client: Client, which: readonly string[]): void => {
    for (const address of which) client.server(address).answer = async () => response({ "grpc-status": "14" });
  };

  it("count as lost, until their ejection is over", async () => {
    const client = await clientOf("a", roundRobin({ random: seeded(1) }));
    fail(client, addresses("a", SIZE / 2));
    await client.call(3_000);
    expect(Object.values(client.states()).filter((state) => state === "ejected")).toHaveLength(SIZE / 2);
    client.take();
    await client.call(3_000);
    expect(Math.abs((shares(client.take())["a"] as number) - 0.6)).toBeLessThan(0.04);
    for (const address of addresses("a", SIZE / 2)) client.server(address).answer = async () => response();
    await settle(40_000);
    await client.call(900);
    expect(shares(client.take())["a"]).toBe(1);
  });

  it("are all of a zone whose calls fail, although they fail alike", async () => {
    const client = await clientOf("a", p2c({ random: seeded(1) }));
    fail(client, addresses("a"));
    await client.call(1_500);
    client.take();
    await client.call(900);
    expect(shares(client.take())["a"]).toBe(0);
  });

  it("take calls again, with all others, when they are more than half of those that are left", async () => {
    const client = await clientOf("a", roundRobin({ random: seeded(1) }));
    fail(client, addresses("a"));
    await client.call(1_500);
    client.lose([...addresses("b", 18), ...addresses("c", 17)]);
    await settle();
    client.take();
    await client.call(55);
    expect([...client.take().values()].filter((calls) => calls === 1)).toHaveLength(55);
  });

  it("are at most half: if every call fails, every endpoint is tried, and the calls return with the recovery", async () => {
    const client = await clientOf("a", roundRobin({ random: seeded(1) }));
    const all = fleet.map(({ address }) => address);
    fail(client, all);
    await client.call(6_000);
    const tried = client.take();
    for (const address of all) expect(tried.get(address), address).toBeGreaterThan(0);
    for (const address of all) client.server(address).answer = async () => response();
    await settle(60_000);
    await client.call(900);
    expect(shares(client.take())["a"]).toBe(1);
  });
});

it("zones do not matter while fewer than half of all endpoints take calls", async () => {
  const client = await clientOf("a", roundRobin({ random: seeded(1) }));
  client.lose([...addresses("a", 10), ...addresses("b", 25), ...addresses("c", 25)]);
  await settle();
  client.take();
  await client.call(900);
  const { a, b, c } = shares(client.take());
  expect([a, b, c].map((share) => Math.round((share as number) * 30))).toEqual([20, 5, 5]);
});

it("an unreachable fleet fails calls, and recovers", async () => {
  const client = await clientOf("a", p2c({ random: seeded(1) }));
  client.lose(fleet.map(({ address }) => address));
  await settle(1_000);
  expect((await client.call(3))[0]?.rawMessage).toContain("cannot reach greet");
  for (const { address } of fleet) client.server(address).isUp = true;
  await settle(5_000);
  expect(await client.call(900)).toEqual([]);
  client.take();
  await client.call(900);
  expect(shares(client.take())["a"]).toBeGreaterThanOrEqual(0.95);
});

describe("the share of a zone", () => {
  it("is that of its weights: endpoints of weight 0 are not missing, and heavy ones are", async () => {
    const endpoints = fleet.map((one) => (one.zone === "a" ? { ...one, weight: one.address < "a2" ? 0 : 100 } : one));
    const client = await clientOf("a", roundRobin({ random: seeded(1) }), endpoints);
    await client.call(900);
    expect(shares(client.take())["a"]).toBe(1);
    const heavy = fleet.map((one) => ({ ...one, weight: one.address === "a0:1" ? 3_000 : 100 }));
    const other = await clientOf("a", roundRobin({ random: seeded(1) }), heavy);
    other.lose(["a0:1"]);
    await settle();
    other.take();
    await other.call(3_000);
    // 59 of 119 parts are meant for the zone, and 29 of 89 are left.
    const expected = 29 / 89 / (59 / 119);
    expect(Math.abs((shares(other.take())["a"] as number) - expected)).toBeLessThan(0.03);
  });

  it("grows with the warm-up of new endpoints, and zones that are equally new keep their calls", async () => {
    const since = Date.now() - 60_000;
    const cold = await clientOf(
      "a",
      roundRobin({ random: seeded(1) }),
      fleet.map((one) => (one.zone === "a" ? { ...one, since } : one)),
    );
    await cold.call(3_000);
    expect(shares(cold.take())["a"]).toBeLessThan(0.2);
    await settle(600_000);
    await cold.call(900);
    expect(shares(cold.take())["a"]).toBe(1);
    const all = await clientOf(
      "a",
      roundRobin({ random: seeded(1) }),
      fleet.map((one) => ({ ...one, since: Date.now() - 60_000 })),
    );
    await all.call(900);
    expect(shares(all.take())["a"]).toBe(1);
  });

  it("is that of the list: a zone that has become smaller has enough", async () => {
    const client = await clientOf("a", roundRobin({ random: seeded(1) }));
    client.lists.say(...fleet.filter(({ address }) => !addresses("a", 15).includes(address)));
    await settle();
    client.take();
    await client.call(900);
    expect(shares(client.take())["a"]).toBe(1);
    // A list that has lost all its entries changes nothing.
    client.lists.say();
    await settle();
    await client.call(900);
    expect(shares(client.take())["a"]).toBe(1);
    expect(new Set(client.target.endpoints().map(({ weight }) => weight))).toEqual(new Set([100]));
  });
});

it("without endpoints in its zone, or without a zone, calls go to all", async () => {
  for (const zone of ["d", undefined]) {
    const client = await clientOf(zone, roundRobin({ random: seeded(1) }));
    await client.call(900);
    expect(new Set(client.take().values())).toEqual(new Set([10]));
  }
});

it("rules come first: the zone is preferred among the endpoints that they leave", async () => {
  const tagged = fleet.map((one) => {
    const isGray = ["a1:1", "b1:1", "c1:1", "c2:1"].includes(one.address);
    return isGray ? { ...one, attributes: { "dubbo.tag": "gray" } } : one;
  });
  const service = rules({ application: "web" }).of({ service: "a.B" }, "10.0.0.1");
  service.provide("shop");
  const options = { route: (policy: ReturnType<typeof p2c>) => service.route(policy) };
  const client = await clientOf("a", p2c({ random: seeded(1) }), tagged, options);
  const send = async (tag: string, count: number): Promise<string[]> => {
    client.take();
    for (let i = 0; i < count; i++) {
      const one = request();
      if (tag !== "") one.headers.set("dubbo.tag", tag);
      const sent = client.exchange(one);
      await settle(10);
      await sent;
    }
    return [...client.take()].flatMap(([address, calls]) => (calls > 0 ? [address] : []));
  };
  expect(await send("gray", 20)).toEqual(["a1:1"]);
  const plain = await send("", 200);
  expect(plain.length).toBeGreaterThan(20);
  expect(plain.every((address) => address.startsWith("a") && address !== "a1:1")).toBe(true);
  client.lose(["a1:1"]);
  expect((await send("gray", 50)).sort()).toEqual(["b1:1", "c1:1", "c2:1"]);
});

it("a further attempt of a call may leave the zone", async () => {
  const endpoints = [...addresses("a", 1), ...addresses("b", 1)].map((address) => ({ address, zone: address[0] }));
  const client = await clientOf("a", p2c({ random: seeded(1) }), endpoints as Endpoint[]);
  client.server("a0:1").answer = () =>
    Promise.reject(new ExchangeFailure(new RpcError(Code.Unavailable, "refused"), "unprocessed"));
  const sent = client.exchange(request());
  await settle(100);
  await sent;
  expect(client.take().get("b0:1")).toBe(1);
});

describe("a subset", () => {
  it("has half of its endpoints in the zone, or more if the others are fewer", () => {
    const zone = new LocalZone("c");
    const zones = (endpoints: readonly Endpoint[]): string => endpoints.map(({ zone: one }) => one).join("");
    expect(zones(zone.choose(fleet, 20, 7))).toMatch(/^c{10}[ab]{10}$/);
    expect(zones(zone.choose(fleet, 1, 7))).toBe("c");
    expect(zones(zone.choose(fleet, 90, 7))).toBe(`${"c".repeat(30)}${"a".repeat(30)}${"b".repeat(30)}`);
    expect(zones(zone.choose(fleet.slice(58), 20, 7))).toBe(`${"c".repeat(18)}bb`);
    expect(zones(new LocalZone("d").choose(fleet, 20, 7))).toHaveLength(20);
    expect(zone.choose(fleet, 20, 7)).toEqual(zone.choose(fleet, 20, 7));
  });

  it("keeps the calls in the zone", async () => {
    const client = await clientOf("b", p2c({ random: seeded(1) }), fleet, { subset: 20 });
    await client.call(900);
    const calls = client.take();
    expect(shares(calls)["b"]).toBe(1);
    expect([...calls.values()].filter((count) => count > 0)).toHaveLength(10);
  });
});

it.each(["", 5, null])("the name %j is refused", (zone) => {
  expect(() => resolveDiscovery({ zone: zone as string, httpVersion: "2", maxHeaderBytes: 1 } as never)).toThrow(
    `zone must be a name, such as "eu-west-1a", not ${JSON.stringify(zone)}`,
  );
});
