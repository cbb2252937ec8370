/** Balancing policies: how evenly and by weight they distribute calls, with seeded random numbers. */
import fc from "fast-check";
import { Metadata } from "triple-es";
import { type Balancer, consistentHash, p2c, pickFirst, type ReadyEndpoint, roundRobin } from "triple-es/discovery";
import { describe, expect, it } from "vitest";
import { parseAddress } from "../../runtime/src/discovery/endpoint.ts";
import { chooseSubset } from "../../runtime/src/discovery/endpoint-list.ts";
import { findPolicy } from "../../runtime/src/discovery/policy/by-name.ts";
import { emptyBody } from "../../runtime/src/http/body.ts";
import type { HttpRequest } from "../../runtime/src/http/exchange.ts";
import { seeded } from "./random.ts";

interface Load {
  readonly endpoint: { readonly address: string };
  readonly weight: number;
  active: number;
  picked: number;
}

const loads = (weights: readonly number[]): Load[] =>
  weights.map((weight, index) => ({ endpoint: { address: `host-${index}:1` }, weight, active: 0, picked: 0 }));

const request = (headers: Record<string, string> = {}): HttpRequest => ({
  method: "POST",
  path: "/a.B/C",
  version: "2",
  headers: new Metadata(headers),
  body: emptyBody,
  signal: undefined,
});

/** Makes calls, `concurrent` of which are active at a time: the oldest ends when the next one begins. */
function spread(balancer: Balancer, ready: Load[], calls: number, concurrent = 0): void {
  const pick = balancer(ready);
  const running: Load[] = [];
  for (let i = 0; i < calls; i++) {
    const chosen = pick(request()) as unknown as Load;
    chosen.picked++;
    chosen.active++;
    running.push(chosen);
    if (running.length > concurrent) (running.shift() as Load).active--;
  }
}

/** Returns the largest relative deviation from the share by weight. */
function deviation(ready: readonly Load[]): number {
  const weight = ready.reduce((sum, one) => sum + one.weight, 0);
  const picked = ready.reduce((sum, one) => sum + one.picked, 0);
  return Math.max(...ready.map((one) => Math.abs((one.picked * weight) / (one.weight * picked) - 1)));
}

const CONCURRENCY = [0, 5, 50];
const even = Array.from({ length: 10 }, () => 100);
const uneven = [100, 300, 100, 300, 100, 300];

describe("p2c", () => {
  it.each(CONCURRENCY)("spreads evenly within 15 % with %d active calls", (concurrent) => {
    const ready = loads(even);
    spread(p2c({ random: seeded(1) }), ready, 10_000, concurrent);
    expect(deviation(ready)).toBeLessThan(0.15);
  });

  it.each(CONCURRENCY)("gives the heavy half its share within 10 % with %d active calls", (concurrent) => {
    const ready = loads(uneven);
    spread(p2c({ random: seeded(2) }), ready, 20_000, concurrent);
    const heavy = ready.filter(({ weight }) => weight === 300).reduce((sum, { picked }) => sum + picked, 0);
    expect(Math.abs(heavy / (20_000 * 0.75) - 1)).toBeLessThan(0.1);
  });

  it.each(
    [
      [50, 50],
      [300, 100],
      [900, 100],
      [25, 75],
      [300, 100, 300, 100, 300, 100],
    ].flatMap((weights) => [1, 2, 8, 64].map((callers) => [weights, callers] as const)),
  )("gives the endpoints of weights %j their shares within 4 points for %d callers", (weights, callers) => {
    const ready = loads(weights);
    const calls = 50_000;
    spread(p2c({ random: seeded(4) }), ready, calls, callers - 1);
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    for (const { weight, picked } of ready) expect(Math.abs(picked / calls - weight / total)).toBeLessThan(0.04);
  });

  it("sends fewer calls to a slow endpoint, on which calls accumulate, with and without weights", () => {
    for (const weights of [
      [100, 100, 100],
      [100, 101, 102],
    ])
      expect(shareOfSlow(weights)).toBeLessThan(0.15);
  });

  function shareOfSlow(weights: readonly number[]): number {
    const ready = loads(weights);
    const pick = p2c({ random: seeded(3) })(ready);
    const slow = ready[0] as Load;
    const endings: { at: number; load: Load }[] = [];
    for (let now = 0; now < 5_000; now++) {
      for (const { load } of endings.filter(({ at }) => at === now)) load.active--;
      const chosen = pick(request()) as unknown as Load;
      chosen.picked++;
      chosen.active++;
      endings.push({ at: now + (chosen === slow ? 50 : 1), load: chosen });
    }
    return slow.picked / 5_000;
  }

  it("takes the only endpoint there is", () => {
    const ready = loads([100]);
    spread(p2c(), ready, 10);
    expect(ready[0]?.picked).toBe(10);
  });
});

describe("round robin", () => {
  it("picks the endpoints in turn", () => {
    const ready = loads(even);
    spread(roundRobin({ random: seeded(4) }), ready, 10_000);
    expect(deviation(ready)).toBe(0);
  });

  it("takes each by its weight within 2 %, without long runs of one", () => {
    const ready = loads(uneven);
    const pick = roundRobin({ random: seeded(5) })(ready);
    let run = 0;
    let longest = 0;
    let last: ReadyEndpoint | undefined;
    for (let i = 0; i < 20_000; i++) {
      const chosen = pick(request());
      (chosen as unknown as Load).picked++;
      run = chosen === last ? run + 1 : 1;
      longest = Math.max(longest, run);
      last = chosen;
    }
    expect(deviation(ready)).toBeLessThan(0.02);
    expect(longest).toBeLessThanOrEqual(2);
  });

  it("begins anywhere, so that clients do not begin with one endpoint", () => {
    const firsts = new Set(
      Array.from(
        { length: 50 },
        (_, seed) => roundRobin({ random: seeded(seed) })(loads(even))(request()).endpoint.address,
      ),
    );
    expect(firsts.size).toBeGreaterThan(5);
  });
});

describe("pick first", () => {
  it("picks the first endpoint, and needs one connection", () => {
    const ready = loads([1, 100]);
    spread(pickFirst(), ready, 10);
    expect(ready.map(({ picked }) => picked)).toEqual([10, 0]);
    expect(pickFirst().connectAtMost).toBe(1);
  });
});

describe("consistent hashing", () => {
  const keys = Array.from({ length: 10_000 }, (_, index) => `user-${index}`);
  const owners = (ready: Load[]): string[] => {
    const pick = consistentHash("X-User")(ready);
    return keys.map((key) => pick(request({ "x-user": key })).endpoint.address);
  };

  it("picks one endpoint for a key, and distributes keys by weight within 30 %", () => {
    const ready = loads([100, 100, 200, 100, 100]);
    const first = owners(ready);
    expect(owners(ready)).toEqual(first);
    for (const address of first) (ready.find(({ endpoint }) => endpoint.address === address) as Load).picked++;
    expect(deviation(ready)).toBeLessThan(0.3);
  });

  it("moves only the keys of a removed endpoint", () => {
    const ready = loads(even);
    const before = owners(ready);
    const after = owners(ready.slice(1));
    const moved = before.filter((address, index) => address !== after[index]);
    expect(new Set(moved)).toEqual(new Set(["host-0:1"]));
  });

  it("sends calls without a key anywhere", () => {
    const ready = loads(even);
    spread(consistentHash("x-user"), ready, 10_000);
    expect(ready.every(({ picked }) => picked > 0)).toBe(true);
  });

  it("needs one way to find the key", () => {
    expect(() => consistentHash("")).toThrow('consistentHash needs the name of a header, or a function, not ""');
    expect(() => consistentHash({ header: "a" } as never)).toThrow(TypeError);
  });
});

describe("a service config", () => {
  it("names the policy: the first that is known", () => {
    expect(
      findPolicy([
        { name: "xds", config: {} },
        { name: "round_robin", config: {} },
      ])?.balancer.policy,
    ).toBe("round_robin");
    expect(findPolicy([{ name: "ring_hash", config: { requestHashHeader: "x-user" } }])?.balancer.policy).toBe(
      "ring_hash",
    );
    expect(findPolicy([])).toBeUndefined();
  });

  it("is refused if it names no known policy", () => {
    expect(() =>
      findPolicy([
        { name: "xds", config: {} },
        { name: "constructor", config: {} },
      ]),
    ).toThrow("loadBalancingConfig: none of xds, constructor is known; known are pick_first, ");
  });
});

describe("a subset", () => {
  const all = Array.from({ length: 1_000 }, (_, index) => ({ address: `10.0.${index >> 8}.${index & 255}:50051` }));

  it("is the same for one client, and another for the next", () => {
    const one = chooseSubset(all, 20, 7);
    expect(one).toHaveLength(20);
    expect(chooseSubset(all, 20, 7)).toEqual(one);
    expect(chooseSubset(all, 20, 8)).not.toEqual(one);
  });

  it("changes little with the list, and spreads clients over all endpoints", () => {
    const one = chooseSubset(all, 20, 7);
    const gone = one[3];
    const after = chooseSubset(
      all.filter((endpoint) => endpoint !== gone),
      20,
      7,
    );
    expect(one.filter((endpoint) => !after.includes(endpoint))).toEqual([gone]);
    const used = new Map<string, number>();
    for (let client = 0; client < 1_000; client++) {
      for (const { address } of chooseSubset(all, 20, client)) used.set(address, (used.get(address) ?? 0) + 1);
    }
    expect(used.size).toBe(1_000);
    expect(Math.max(...used.values())).toBeLessThan(45);
  });

  it("is the whole list if that is shorter", () => {
    expect(chooseSubset(all.slice(0, 5), 20, 7)).toEqual(all.slice(0, 5));
  });
});

describe("an address", () => {
  it.each([
    ["localhost:50051", { host: "localhost", port: 50_051 }],
    ["[::1]:1", { host: "::1", port: 1 }],
    ["10.0.0.1:65535", { host: "10.0.0.1", port: 65_535 }],
    ["unix:/tmp/a.sock", { path: "/tmp/a.sock" }],
    ["unix:///tmp/a.sock", { path: "/tmp/a.sock" }],
  ])("%s is read", (address, parts) => {
    expect(parseAddress(address)).toEqual(parts);
  });

  it.each([
    "",
    "localhost",
    ":1",
    "a:0",
    "a:65536",
    "::1:1",
    "[::1]",
    "http://a:1",
    "a b:1",
    "a:1/b",
    "unix:",
    "u@a:1",
  ])("%j is invalid", (address) => {
    expect(parseAddress(address)).toBeUndefined();
  });

  it("is either invalid or forms a URL with its port, for any text", () => {
    const text = fc.oneof(
      fc.string(),
      fc.tuple(fc.domain(), fc.nat(70_000)).map(([host, port]) => `${host}:${port}`),
    );
    fc.assert(
      fc.property(text, (address) => {
        const parsed = parseAddress(address);
        if (parsed === undefined || "path" in parsed) return;
        expect(parsed.port).toBe(Number(address.slice(address.lastIndexOf(":") + 1)));
      }),
    );
    fc.assert(
      fc.property(fc.ipV6(), fc.integer({ min: 1, max: 65_535 }), (host, port) => {
        expect(parseAddress(`[${host}]:${port}`)).toEqual({ host, port });
      }),
    );
  });
});
