/**
 * Endpoints that a list leaves out while they are connected: a registry that cannot see them may be the only one that
 * cannot. The test controls the clock and the endpoints.
 */
import { consistentHash, pickFirst } from "triple-es/discovery";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createWorld, failureOf, listed, request, response, settle, type World } from "./world.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Makes calls at an interval for a time. Returns the number of those that failed. */
async function callFor({ exchange }: World, ms: number, intervalMs = 10): Promise<number> {
  let lost = 0;
  for (let passed = 0; passed < ms; passed += intervalMs) {
    await exchange(request()).catch(() => lost++);
    await settle(intervalMs);
  }
  return lost;
}

const calls = ({ server }: World, ...addresses: string[]): number[] =>
  addresses.map((address) => server(address).calls);

describe("providers that the registry cannot reach", () => {
  it("lose no call while the list is empty, and take calls as before when they are listed again", async () => {
    const world = await listed(["a:1", "b:1", "c:1"]);
    world.lists.say();
    expect(await callFor(world, 20_000)).toBe(0);
    expect(world.target.endpoints().map(({ state, listed }) => [state, listed])).toEqual([
      ["ready", false],
      ["ready", false],
      ["ready", false],
    ]);
    world.lists.say("a:1", "b:1", "c:1");
    expect(await callFor(world, 1_000)).toBe(0);
    expect(world.target.endpoints().every(({ listed }) => listed)).toBe(true);
    expect(["a:1", "b:1", "c:1"].map((address) => world.server(address).connects)).toEqual([1, 1, 1]);
    // The time in which they were not listed is forgotten.
    expect(await callFor(world, 400_000, 1_000)).toBe(0);
    expect(world.events.filter(({ type }) => type === "removed")).toEqual([]);
  });

  it("are all closed if the hook for the first one closes the target", async () => {
    let closed: Promise<void> | undefined;
    const world = await listed(["a:1", "b:1"], {
      onEvent({ type }) {
        if (type === "unlisted") closed ??= world.target.close();
      },
    });
    world.lists.say();
    await settle();
    await closed;
    expect(["a:1", "b:1"].map((address) => world.server(address).isClosed)).toEqual([true, true]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("take over when the one that it still lists is lost", async () => {
    const world = await listed(["a:1", "b:1", "c:1"]);
    world.lists.say("c:1");
    await settle();
    const before = calls(world, "a:1", "b:1");
    expect(await callFor(world, 5_000)).toBe(0);
    expect(calls(world, "a:1", "b:1")).toEqual(before);
    world.server("c:1").lose();
    expect(await callFor(world, 15_000)).toBe(0);
    expect(world.states()).toEqual({ "c:1": "failing", "a:1": "ready", "b:1": "ready" });
    world.lists.say();
    expect(await callFor(world, 15_000)).toBe(0);
    expect(world.states()).toEqual({ "a:1": "ready", "b:1": "ready" });
  });

  it("take calls until a new endpoint is ready, and then none", async () => {
    const world = await listed(["a:1"]);
    let answer = (): void => {};
    world.server("b:1").answered = new Promise((resolve) => {
      answer = resolve;
    });
    world.lists.say("b:1");
    expect(await callFor(world, 5_000)).toBe(0);
    answer();
    await settle();
    const before = calls(world, "a:1");
    expect(await callFor(world, 1_000)).toBe(0);
    expect(calls(world, "a:1")).toEqual(before);
  });

  it("are preferred to a listed one that is ejected", async () => {
    const world = await listed(["a:1", "b:1", "c:1"]);
    world.lists.say("c:1");
    await settle();
    world.server("c:1").answer = async () => response({}, 503);
    await callFor(world, 100);
    const before = calls(world, "c:1");
    await callFor(world, 1_000);
    expect(calls(world, "c:1")).toEqual(before);
  });

  it("are preferred to none, but not to a listed one of weight 0", async () => {
    const world = await listed(["a:1", "b:1"]);
    world.lists.say({ address: "b:1", weight: 0 });
    await settle();
    const before = calls(world, "a:1");
    await callFor(world, 1_000);
    expect(calls(world, "a:1")).toEqual(before);
  });
});

it("a name that has no addresses in the DNS for six seconds costs no call and no connection", async () => {
  let hasAddresses = true;
  const world = createWorld({}, async function* ({ next }) {
    for (;;) {
      yield hasAddresses ? [{ address: "a:1" }, { address: "b:1" }] : [];
      await next(5_000);
    }
  });
  await world.exchange(request());
  await settle(4_800);
  hasAddresses = false;
  expect(await callFor(world, 6_000)).toBe(0);
  expect(world.target.endpoints().map(({ listed }) => listed)).toEqual([false, false]);
  hasAddresses = true;
  expect(await callFor(world, 20_000)).toBe(0);
  expect([world.server("a:1").connects, world.server("b:1").connects]).toEqual([1, 1]);
  expect(world.target.endpoints().map(({ listed }) => listed)).toEqual([true, true]);
});

describe("an unlisted endpoint", () => {
  it("is removed in the turn in which its last connection sends GOAWAY or is lost", async () => {
    const world = await listed(["a:1", "b:1"]);
    world.lists.say("b:1");
    await settle();
    expect(world.events.at(-2)).toEqual({ type: "unlisted", address: "a:1" });
    world.server("a:1").onReadiness(false);
    expect(world.states()).toEqual({ "b:1": "ready" });
    expect(world.events.at(-1)).toEqual({ type: "removed", address: "a:1" });
    expect(world.server("a:1")).toMatchObject({ isClosed: true, connects: 1 });
  });

  it("is removed when it does not answer a check, of which the first is made at once", async () => {
    const world = await listed(["a:1", "b:1"]);
    world.server("a:1").answersChecks = false;
    world.lists.say();
    await settle();
    expect(world.states()).toEqual({ "b:1": "ready" });
    world.server("b:1").answersChecks = false;
    await settle(120_000);
    expect(world.states()).toEqual({});
    expect((await failureOf(world.exchange(request()))).rawMessage).toBe("cannot reach greet: it has no endpoints");
  });

  it("is removed after keepUnlistedMs, with two checks in between that gRPC servers tolerate", async () => {
    const world = await listed(["a:1"]);
    world.lists.say();
    await settle(299_999);
    expect(world.states()).toEqual({ "a:1": "ready" });
    expect(world.server("a:1").checks).toBe(3);
    await settle(1);
    expect(world.states()).toEqual({});
    expect(vi.getTimerCount()).toBe(1);
  });

  it("is removed at once if it is not connected, or if keepUnlistedMs is 0", async () => {
    const world = await listed(["a:1", "b:1"]);
    world.server("b:1").lose();
    await settle();
    world.lists.say("a:1");
    await settle();
    expect(world.states()).toEqual({ "a:1": "ready" });
    const strict = await listed(["a:1"], { keepUnlistedMs: 0 });
    strict.lists.say();
    await settle();
    expect(strict.states()).toEqual({});
  });

  it("is checked no more when it is listed again, or its target is closed", async () => {
    const world = await listed(["a:1"]);
    world.lists.say();
    await settle();
    world.lists.say("a:1");
    await settle(400_000);
    expect(world.server("a:1").checks).toBe(1);
    world.lists.say();
    await settle();
    await world.target.close();
    expect(vi.getTimerCount()).toBe(0);
  });
});

it("pick first connects to a listed endpoint while an unlisted one takes the calls", async () => {
  const world = await listed(["a:1", "b:1"], { balancer: pickFirst() });
  expect(calls(world, "a:1", "b:1")).toEqual([1, 0]);
  world.lists.say("b:1");
  expect(await callFor(world, 1_000)).toBe(0);
  expect(world.states()).toEqual({ "b:1": "ready", "a:1": "ready" });
  expect(calls(world, "a:1")).toEqual([2]);
});

it("consistent hashing sends a key to the same endpoint while all are unlisted", async () => {
  const balancer = consistentHash(() => "one key");
  const world = await listed(["a:1", "b:1", "c:1"], { balancer });
  await callFor(world, 100);
  const before = calls(world, "a:1", "b:1", "c:1");
  world.lists.say();
  await callFor(world, 100);
  expect(calls(world, "a:1", "b:1", "c:1")).toEqual(before.map((count) => (count > 1 ? count + 10 : count)));
});

describe("a subset", () => {
  const all = Array.from({ length: 12 }, (_, index) => `10.0.0.${index}:1`);

  it("keeps unlisted endpoints beside its own, as many as it has", async () => {
    const world = await listed(all, { subset: 3 });
    const first = Object.keys(world.states());
    world.lists.say(...all.filter((address) => !first.includes(address)));
    await settle();
    expect(Object.keys(world.states())).toHaveLength(6);
    const second = Object.keys(world.states()).slice(0, 3);
    world.lists.say(...all.filter((address) => !first.includes(address) && !second.includes(address)));
    await settle();
    expect(Object.keys(world.states()).slice(3)).toEqual(second);
  });

  it("closes an endpoint that is listed and no longer chosen", async () => {
    const world = await listed(all.slice(0, 6), { subset: 3 });
    const first = Object.keys(world.states());
    world.lists.say(...all);
    await settle();
    expect(Object.keys(world.states())).toHaveLength(3);
    expect(Object.keys(world.states())).not.toEqual(first);
  });
});
