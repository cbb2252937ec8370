/**
 * A target: lists and their changes, states of endpoints, and the selection of endpoints. The test controls the clock and
 * the endpoints.
 */
import { Code, RpcError } from "triple-es";
import { consistentHash, fixed, p2c, pickFirst, type Resolver, roundRobin } from "triple-es/discovery";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { RequestContext } from "../../runtime/src/call/attempt.ts";
import { streamBody } from "../../runtime/src/http/body.ts";
import type { Exchange, HttpRequest, HttpResponse } from "../../runtime/src/http/exchange.ts";
import { ExchangeFailure } from "../../runtime/src/http/transparent-retry.ts";
import { signalled } from "../support/server.ts";
import { seeded } from "./random.ts";
import { createWorld, type FakeServer, failureOf, listed, request, response, settle, type World } from "./world.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] });
});
afterEach(() => {
  vi.useRealTimers();
});

describe("the first call", () => {
  it("starts the resolver, waits for a list and an endpoint, and succeeds", async () => {
    const { exchange, lists, states } = createWorld();
    const call = exchange(request());
    await settle(5_000);
    expect(lists.runs).toBe(1);
    lists.say("a:1", "b:1");
    expect((await call).status).toBe(200);
    expect(states()).toEqual({ "a:1": "ready", "b:1": "ready" });
  });

  it("fails at once when the resolver does, with its reason, and the next list helps the next call", async () => {
    const { exchange, lists } = createWorld();
    lists.fail("SERVFAIL");
    const error = await failureOf(exchange(request()));
    expect(error).toMatchObject({ code: Code.Unavailable, rawMessage: "cannot reach greet: SERVFAIL" });
    lists.say("a:1");
    await settle(2_000);
    expect((await exchange(request())).status).toBe(200);
  });

  it("fails if the resolver ends without a list, which runs again after a delay", async () => {
    let runs = 0;
    const { exchange } = createWorld({}, async function* () {
      if (runs++ > 0) yield [{ address: "a:1" }];
    });
    const { rawMessage } = await failureOf(exchange(request()));
    expect(rawMessage).toBe("cannot reach greet: its resolver has ended without a list of endpoints");
    await settle(2_000);
    expect((await exchange(request())).status).toBe(200);
  });

  it("fails at once for an empty list and for endpoints that cannot be reached, and names these", async () => {
    const none = createWorld();
    none.lists.say();
    expect((await failureOf(none.exchange(request()))).rawMessage).toBe("cannot reach greet: it has no endpoints");
    const { exchange, lists, server } = createWorld();
    for (const address of ["a:1", "b:1", "c:1", "d:1"]) server(address).isUp = false;
    lists.say("a:1", "b:1", "c:1", "d:1");
    expect((await failureOf(exchange(request()))).rawMessage).toBe(
      "cannot reach greet: a:1 refuses; b:1 refuses; c:1 refuses and 1 more",
    );
  });

  it("waits for an endpoint with waitForReady, and fails with the reason when its deadline passes", async () => {
    const { exchange, lists, server } = createWorld();
    server("a:1").isUp = false;
    lists.say("a:1");
    const call = exchange(request({ context: { waitForReady: true } }));
    await settle(3_000);
    server("a:1").isUp = true;
    await settle(1_000);
    expect((await call).status).toBe(200);
    const caller = new AbortController();
    const second = createWorld();
    const waiting = failureOf(second.exchange(request({ context: { waitForReady: true }, signal: caller.signal })));
    caller.abort(new RpcError(Code.DeadlineExceeded, "too late"));
    expect((await waiting).code).toBe(Code.DeadlineExceeded);
  });
});

describe("a list", () => {
  it("keeps the connections of endpoints that stay, and closes those of endpoints that go", async () => {
    const { lists, server, states } = await listed(["a:1", "b:1"], { keepUnlistedMs: 0 });
    lists.say("b:1", "c:1");
    await settle();
    expect(states()).toEqual({ "b:1": "ready", "c:1": "ready" });
    expect([server("a:1").isClosed, server("b:1").isClosed]).toEqual([true, false]);
    expect(server("b:1").connects).toBe(1);
  });

  it("applies new weights without new connections", async () => {
    const { target, lists, server } = await listed([{ address: "a:1", weight: 100 }, "b:1"]);
    lists.say({ address: "a:1", weight: 10 }, "b:1");
    await settle();
    expect(target.endpoints().map(({ weight }) => weight)).toEqual([10, 100]);
    expect(server("a:1").connects).toBe(1);
  });

  it("sends calls to endpoints of weight 0 only if no other is ready", async () => {
    const { exchange, server } = await listed([{ address: "a:1", weight: 0 }, "b:1"]);
    for (let i = 0; i < 10; i++) await exchange(request());
    expect(server("a:1").calls).toBe(0);
    server("b:1").lose();
    await settle();
    for (let i = 0; i < 10; i++) await exchange(request());
    expect(server("a:1").calls).toBe(10);
  });

  it("reports an invalid endpoint once, however often it is listed, and again after it was gone", async () => {
    const { lists, events } = await listed(["a:1", "bad"]);
    for (let times = 0; times < 3; times++) lists.say("a:1", "bad");
    await settle();
    const problems = (): number => events.filter(({ type }) => type === "invalid endpoint").length;
    expect(problems()).toBe(1);
    lists.say("a:1");
    await settle();
    lists.say("a:1", "bad");
    await settle();
    expect(problems()).toBe(2);
  });

  it("reports a bounded number of ever-new invalid entries, while the list stays the same and in one list", async () => {
    let warn: (problem: string) => void = () => {};
    const world = createWorld({}, async function* (context) {
      warn = context.warn;
      yield [{ address: "a:1" }];
      await context.next(60_000);
      yield [{ address: "a:1" }, ...Array.from({ length: 2_000 }, (_, index) => ({ address: `bad ${index}` }))];
    });
    await world.exchange(request());
    const problems = (): string[] =>
      world.events.flatMap((one) => (one.type === "invalid endpoint" ? one.problem : []));
    for (let entry = 0; entry < 5_000; entry++) warn(`the entry ${entry} is skipped`);
    expect(problems()).toHaveLength(1_001);
    expect(problems().at(-1)).toBe("there are more than 1000 invalid entries: the others are not reported");
    await settle(60_000);
    // Those that were warned of belong to this list, so it has as many already.
    expect(problems()).toHaveLength(1_001);
    expect(world.states()).toEqual({ "a:1": "ready" });
  });

  it("loses invalid endpoints with an event, and has each address once", async () => {
    const { states, events } = await listed(["a:1", "a:1", "nowhere", { address: "b:1", weight: Number.NaN }]);
    expect(states()).toEqual({ "a:1": "ready" });
    expect(events.flatMap((event) => (event.type === "invalid endpoint" ? event.problem : []))).toEqual([
      'address "nowhere" must be host:port, [v6]:port or unix: and a path',
      "weight of b:1 must be between 0 and 1,000,000, not NaN",
    ]);
  });

  it("stays in use while the resolver fails, with one event for any number of failures", async () => {
    const { exchange, lists, events } = await listed(["a:1"]);
    for (let i = 0; i < 5; i++) {
      lists.fail("ECONNREFUSED");
      await settle(40_000);
    }
    expect(lists.runs).toBe(6);
    expect((await exchange(request())).status).toBe(200);
    expect(events.filter(({ type }) => type === "resolver failed")).toHaveLength(1);
  });

  it("is requested again after 1 s, then after 1.6 times as long, up to 30 s", async () => {
    const { exchange, lists } = createWorld({ random: () => 0.5 });
    const runs: number[] = [];
    for (let i = 0; i < 9; i++) lists.fail("away");
    failureOf(exchange(request())).catch(() => {});
    for (const ms of [0, 999, 1, 1_600, 2_560, 4_096, 6_554, 10_486, 16_778, 26_844, 29_000, 1_000]) {
      await settle(ms);
      runs.push(lists.runs);
    }
    expect(runs).toEqual([1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 10]);
  });

  it("is requested again after the delays of its resolver", async () => {
    let runs = 0;
    async function* fail(): ReturnType<Resolver> {
      if (runs++ < 9) throw new Error("away");
      yield [];
    }
    const resolver = Object.assign(fail, { backoff: { initialMs: 200, maxMs: 400 } });
    const { exchange } = createWorld({ random: () => 0.5 }, resolver);
    await failureOf(exchange(request()));
    const seen: number[] = [];
    for (const ms of [199, 1, 319, 1, 400, 400]) {
      await settle(ms);
      seen.push(runs);
    }
    expect(seen).toEqual([1, 2, 2, 3, 4, 5]);
  });

  it("is applied at once with 10,000 endpoints, ten connections at a time", async () => {
    const all = Array.from(
      { length: 10_000 },
      (_, index) => `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}:1`,
    );
    const { states, events } = await listed(all, { subset: 20 });
    expect(Object.keys(states())).toHaveLength(20);
    expect(events[0]).toEqual({ type: "resolved", endpoints: 10_000 });
    const { exchange, lists, server } = createWorld();
    lists.say(...all);
    const call = exchange(request());
    await settle();
    await call;
    const connected = all.filter((address) => server(address).connects > 0);
    expect(connected.length).toBeGreaterThan(0);
  });
});

describe("an endpoint", () => {
  it("takes no calls from the turn in which its connection is lost, and is connected again", async () => {
    const { exchange, server, states } = await listed(["a:1", "b:1"]);
    server("a:1").onReadiness(false);
    await Promise.resolve();
    const before = server("a:1").calls;
    await exchange(request());
    await exchange(request());
    expect(server("a:1").calls - before).toBeLessThanOrEqual(1);
    await settle();
    expect(states()["a:1"]).toBe("ready");
    expect(server("a:1").connects).toBe(2);
  });

  it("is connected to at once only once a second while its server closes each connection", async () => {
    const { server, states, exchange } = await listed(["a:1"]);
    for (let count = 0; count < 300; count++) {
      server("a:1").onReadiness(false);
      await settle(10);
    }
    expect(server("a:1").connects).toBeGreaterThan(4);
    expect(server("a:1").connects).toBeLessThan(9);
    const call = exchange(request());
    await settle(1_000);
    await call;
    expect(states()).toEqual({ "a:1": "ready" });
  });

  it("is tried again after the backoff of its connections, not earlier", async () => {
    const { server, states } = await listed(["a:1", "b:1"]);
    server("a:1").backoffMs = 1_000;
    server("a:1").lose();
    await settle(5_000);
    expect(states()["a:1"]).toBe("failing");
    expect(server("a:1").connects).toBeLessThanOrEqual(1 + 6);
    server("a:1").isUp = true;
    await settle(1_000);
    expect(states()["a:1"]).toBe("ready");
  });

  it("reaches its share gradually if its start time is known", async () => {
    const { target } = await listed([{ address: "a:1", since: Date.now() }, "b:1"]);
    expect(target.endpoints()[0]?.weight).toBe(1);
    await settle(300_000);
    expect(target.endpoints()[0]?.weight).toBeCloseTo(50, 0);
    await settle(300_000);
    expect(target.endpoints()[0]?.weight).toBe(100);
    expect(vi.getTimerCount()).toBe(1);
  });

  it("starts slowly after an outage if the option is set and its start time is unknown", async () => {
    const { target, server } = await listed(["a:1", "b:1"], { warmUpMs: 10_000 });
    await settle(10_000);
    expect(target.endpoints().map(({ weight }) => weight)).toEqual([100, 100]);
    server("a:1").onReadiness(false);
    await settle(5_000);
    expect(target.endpoints()[0]?.weight).toBeCloseTo(50, 0);
  });

  it("needs no timer while it is ready", async () => {
    await listed(["a:1", "b:1", "c:1"]);
    // The remaining timer is the one that detects idleness.
    expect(vi.getTimerCount()).toBe(1);
  });
});

describe("ejection", () => {
  const away = (): Exchange => async () => {
    throw new ExchangeFailure(new RpcError(Code.Unavailable, "reset"), "unknown");
  };
  const call = (exchange: Exchange): Promise<unknown> => exchange(request()).catch(() => {});

  it("ejects an endpoint after five consecutive failures, for 30 s, then for a minute", async () => {
    const { exchange, server, states, events } = await listed(["a:1", "b:1"]);
    server("a:1").answer = away();
    for (let i = 0; i < 12; i++) await call(exchange);
    await settle();
    expect(states()).toEqual({ "a:1": "ejected", "b:1": "ready" });
    const { calls } = server("a:1");
    for (let i = 0; i < 10; i++) await call(exchange);
    expect(server("a:1").calls).toBe(calls);
    await settle(30_001);
    expect(states()["a:1"]).toBe("ready");
    for (let i = 0; i < 12; i++) await call(exchange);
    await settle(31_000);
    expect(states()["a:1"]).toBe("ejected");
    await settle(30_000);
    expect(states()["a:1"]).toBe("ready");
    expect(events.filter((event) => event.type === "endpoint" && event.state === "ejected")).toHaveLength(2);
  });

  it("reports the end of an ejection, after which the endpoint has no error", async () => {
    const { exchange, target, server, events } = await listed(["a:1", "b:1"]);
    server("a:1").answer = away();
    for (let i = 0; i < 12; i++) await call(exchange);
    expect(target.endpoints()[0]).toMatchObject({ state: "ejected", lastError: { rawMessage: "reset" } });
    await settle(30_001);
    expect(target.endpoints()[0]).toMatchObject({ state: "ready", lastError: undefined });
    const states = events.flatMap((one) => (one.type === "endpoint" && one.address === "a:1" ? one.state : []));
    expect(states).toEqual(["ready", "ejected", "ready"]);
  });

  it.each<[string, HttpResponse]>([
    ["trailers only", response({ "grpc-status": "14" })],
    ["HTTP status 503", response({}, 503)],
  ])("counts answers that are unavailable: %s", async (_, answer) => {
    const { exchange, server, states } = await listed(["a:1", "b:1"]);
    server("a:1").answer = async () => answer;
    for (let i = 0; i < 12; i++) await call(exchange);
    expect(states()["a:1"]).toBe("ejected");
  });

  it("does not count failures of this side, and restarts the count after a success", async () => {
    const { exchange, server, states } = await listed(["a:1", "b:1"]);
    let calls = 0;
    server("a:1").answer = async () => {
      calls++;
      if (calls % 5 === 0) return response();
      throw new ExchangeFailure(new RpcError(Code.Unavailable, "reset"), "unknown");
    };
    server("b:1").answer = async () => {
      throw new RpcError(Code.Internal, "broken");
    };
    for (let i = 0; i < 60; i++) await call(exchange);
    expect(states()).toEqual({ "a:1": "ready", "b:1": "ready" });
  });

  it("leaves at least half of the endpoints in", async () => {
    const { exchange, server, states } = await listed(["a:1", "b:1", "c:1", "d:1", "e:1"]);
    for (const address of ["a:1", "b:1", "c:1"]) server(address).answer = away();
    for (let i = 0; i < 200; i++) await call(exchange);
    expect(Object.values(states()).filter((state) => state === "ejected")).toHaveLength(2);
  });

  it("is ignored if fewer than half of the endpoints would remain", async () => {
    const { exchange, server, states } = await listed(["a:1", "b:1", "c:1"]);
    server("a:1").answer = away();
    for (let i = 0; i < 20; i++) await call(exchange);
    expect(states()["a:1"]).toBe("ejected");
    server("b:1").lose();
    server("c:1").lose();
    await settle();
    server("a:1").answer = async () => response();
    expect((await exchange(request())).status).toBe(200);
  });
});

describe("a request that no server has processed", () => {
  it("goes to another endpoint, whatever the state of its connection", async () => {
    const { exchange, server } = await listed(["a:1", "b:1", "c:1"]);
    server("a:1").isUp = false;
    server("b:1").answer = async () => {
      throw new ExchangeFailure(new RpcError(Code.Unavailable, "refused stream"), "unprocessed");
    };
    for (let i = 0; i < 9; i++) expect((await exchange(request())).status).toBe(200);
    expect(server("c:1").calls).toBeGreaterThanOrEqual(9);
  });

  it("is retried on the same endpoint after a delay if there is no other", async () => {
    const { exchange, retries, server } = await listed(["a:1"]);
    let calls = 0;
    server("a:1").answer = async () => {
      if (++calls < 4) throw new ExchangeFailure(new RpcError(Code.Unavailable, "going away"), "unprocessed");
      return response();
    };
    const call = exchange(request());
    await settle(1_000);
    expect((await call).status).toBe(200);
    expect(calls).toBe(4);
    expect(retries.map(({ path, delayMs, error }) => [path, delayMs, error.rawMessage])).toEqual(
      [0, 20, 100].map((delayMs) => ["/a.B/C", delayMs, "going away"]),
    );
  });

  it("has the target that its connections have set, also if it waits for ready", async () => {
    const { exchange, server } = await listed(["a:1"]);
    server("a:1").answer = async ({ context }) => {
      if (context !== undefined) context.target = "10.0.0.1:1";
      return response({ target: `${context?.target}` });
    };
    const context: RequestContext = { waitForReady: true };
    expect((await exchange(request({ context }))).headers.get("target")).toBe("10.0.0.1:1");
    expect(context.target).toBe("10.0.0.1:1");
  });

  it("is reported without a delay if another endpoint gets it at once", async () => {
    const { exchange, retries, server } = await listed(["a:1", "b:1", "c:1"]);
    let calls = 0;
    for (const address of ["a:1", "b:1", "c:1"]) {
      server(address).answer = async () => {
        if (++calls < 3) throw new ExchangeFailure(new RpcError(Code.Unavailable, "refused stream"), "unprocessed");
        return response();
      };
    }
    expect((await exchange(request())).status).toBe(200);
    expect(retries.map(({ delayMs }) => delayMs)).toEqual([0, 0]);
  });

  it("fails in the end with the endpoints it has tried and their reasons", async () => {
    const { exchange, server } = await listed(["a:1", "b:1"]);
    for (const address of ["a:1", "b:1"]) {
      server(address).answer = async () => {
        throw new ExchangeFailure(new RpcError(Code.Unavailable, "refused stream"), "unprocessed");
      };
    }
    const failure = failureOf(exchange(request()));
    await settle(2_000);
    const { code, rawMessage } = await failure;
    expect(code).toBe(Code.Unavailable);
    expect(rawMessage).toMatch(/^no endpoint accepted the call: .:1: refused stream; .:1: refused stream$/);
  });

  it("has its stream of messages sent again from the start", async () => {
    const { exchange, server } = await listed(["a:1", "b:1"]);
    const seen: string[] = [];
    const read: Exchange = async ({ body }) => {
      for await (const chunk of body) seen.push(new TextDecoder().decode(chunk));
      return response();
    };
    let refused = 0;
    const refusing: Exchange = async ({ body }) => {
      if (refused++ > 0) return read(request({ body }));
      const chunks = body[Symbol.asyncIterator]();
      await chunks.next();
      await chunks.return?.();
      throw new ExchangeFailure(new RpcError(Code.Unavailable, "refused stream"), "unprocessed");
    };
    server("a:1").answer = refusing;
    server("b:1").answer = refusing;
    const chunks = (async function* () {
      yield new TextEncoder().encode("one");
      yield new TextEncoder().encode("two");
    })();
    expect((await exchange(request({ body: streamBody(chunks) }))).status).toBe(200);
    expect(seen).toEqual(["one", "two"]);
  });
});

describe("a further attempt of a call", () => {
  const attempt = (tried: Set<object>): HttpRequest => request({ context: { attempt: { tried, outcome: "unknown" } } });

  it.each([
    ["round robin", roundRobin({ random: () => 0 })],
    ["p2c", p2c({ random: seeded(7) })],
    ["consistent hashing", consistentHash(() => "one key")],
  ])("goes to an endpoint that the call has not tried: %s", async (_, balancer) => {
    const addresses = ["a:1", "b:1", "c:1"];
    const { exchange, server } = await listed(addresses, { balancer });
    const counts = (): number[] => addresses.map((address) => server(address).calls);
    const before = counts();
    for (let calls = 0; calls < 50; calls++) {
      const tried = new Set<object>();
      for (let attempts = 0; attempts < 3; attempts++) await exchange(attempt(tried));
      expect(tried.size).toBe(3);
    }
    expect(counts().map((count, i) => count - (before[i] ?? 0))).toEqual([50, 50, 50]);
    // If all were tried, the policy chooses among all.
    const tried = new Set<object>();
    for (let attempts = 0; attempts < 4; attempts++) expect((await exchange(attempt(tried))).status).toBe(200);
  });

  it("goes to the only endpoint with pick first", async () => {
    const { exchange, server } = await listed(["a:1", "b:1"], { balancer: pickFirst() });
    const tried = new Set<object>();
    for (let attempts = 0; attempts < 3; attempts++) await exchange(attempt(tried));
    expect([server("a:1").calls, server("b:1").calls]).toEqual([4, 0]);
  });

  it("counts the endpoints of transparent retries as tried", async () => {
    const { exchange, server } = await listed(["a:1", "b:1", "c:1"]);
    const unprocessed = async (): Promise<HttpResponse> => {
      throw new ExchangeFailure(new RpcError(Code.Unavailable, "refused"), "unprocessed");
    };
    server("b:1").answer = unprocessed;
    server("c:1").answer = unprocessed;
    const calls = (): number => server("a:1").calls + server("b:1").calls + server("c:1").calls;
    for (let i = 0; i < 6; i++) {
      const before = calls();
      const tried = new Set<object>();
      await exchange(attempt(tried));
      expect(tried.size).toBe(calls() - before);
    }
    expect(server("b:1").calls + server("c:1").calls).toBeGreaterThan(0);
  });
});

describe("a request that was sent", () => {
  it("is never sent to another endpoint", async () => {
    const { exchange, server } = await listed(["a:1", "b:1"]);
    const lost = new RpcError(Code.Unavailable, "the connection was lost");
    for (const address of ["a:1", "b:1"]) {
      server(address).answer = async () => {
        throw lost;
      };
    }
    const before = server("a:1").calls + server("b:1").calls;
    expect(await failureOf(exchange(request()))).toBe(lost);
    expect(server("a:1").calls + server("b:1").calls).toBe(before + 1);
  });
});

describe("pick first", () => {
  it("connects to one endpoint, and to the next when that is lost", async () => {
    const { exchange, server } = await listed(["a:1", "b:1", "c:1"], { balancer: pickFirst() });
    expect([server("a:1").connects, server("b:1").connects, server("c:1").connects]).toEqual([1, 0, 0]);
    server("a:1").lose();
    await settle();
    expect((await exchange(request())).status).toBe(200);
    expect([server("b:1").connects, server("c:1").connects]).toEqual([1, 0]);
  });
});

describe("attempts to connect without an answer", () => {
  /** Makes the servers silent, and returns the function that has them answer. */
  function silence(servers: readonly FakeServer[]): () => void {
    let answer = (): void => {};
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    for (const server of servers) server.answered = answered;
    return answer;
  }

  it("leave the choice to the next endpoint after 250 ms with pick first, which keeps one connection", async () => {
    const { exchange, server, lists, states } = createWorld({ balancer: pickFirst() });
    const answer = silence([server("a:1")]);
    lists.say("a:1", "b:1", "c:1");
    const call = exchange(request());
    await settle(249);
    expect(server("b:1").connects).toBe(0);
    await settle(1);
    expect((await call).status).toBe(200);
    expect(states()).toEqual({ "a:1": "connecting", "b:1": "ready", "c:1": "idle" });
    answer();
    await settle(1_000);
    expect(states()).toEqual({ "a:1": "idle", "b:1": "ready", "c:1": "idle" });
    expect([server("a:1").isClosed, server("b:1").isClosed]).toEqual([true, false]);
    const { calls } = server("b:1");
    await exchange(request());
    expect([server("b:1").calls, server("c:1").connects]).toEqual([calls + 1, 0]);
    // The endpoint whose connection was closed takes over as any other does.
    server("a:1").answered = undefined;
    server("b:1").lose();
    await settle();
    await exchange(request());
    expect(states()["c:1"]).toBe("ready");
    server("c:1").lose();
    await settle();
    expect([(await exchange(request())).status, server("a:1").connects]).toEqual([200, 2]);
  });

  it.each([
    ["one that answered after enough others", (_world: World, answer: () => void) => answer()],
    ["one that is no longer listed", ({ lists }: World) => lists.say("b:1")],
  ])("leaves streams on given-up connections of %s to the close and the destruction of the target", async (_, drop) => {
    const world = createWorld({ balancer: pickFirst() });
    const { exchange, server, lists, target } = world;
    const answer = silence([server("a:1")]);
    const streams = signalled();
    server("a:1").streams = streams.promise;
    lists.say("a:1", "b:1");
    const call = exchange(request());
    await settle(250);
    await call;
    drop(world, answer);
    await settle();
    expect(server("a:1").isClosed).toBe(true);
    let isClosed = false;
    const closed = target.close().then(() => {
      isClosed = true;
    });
    await settle();
    expect(isClosed).toBe(false);
    const reason = new RpcError(Code.Unavailable, "destroyed");
    target.destroy(reason);
    expect(server("a:1").destroyed).toBe(reason);
    streams.resolve();
    await closed;
  });

  it("delay the others by 250 ms for each ten, up to a hundred attempts", async () => {
    const addresses = Array.from({ length: 120 }, (_, index) => `s${index}:1`);
    const { exchange, server, lists } = createWorld();
    const answer = silence(addresses.filter((_, index) => index !== 25).map(server));
    lists.say(...addresses);
    const call = exchange(request());
    await settle(500);
    expect((await call).status).toBe(200);
    await settle(10_000);
    expect(addresses.filter((address) => server(address).connects > 0)).toHaveLength(101);
    answer();
    await settle(1_000);
    expect(addresses.filter((address) => server(address).connects === 1)).toHaveLength(120);
  });
});

describe("a target without calls", () => {
  it("pauses its resolver, and resumes it with the next call, which uses the last list", async () => {
    const { exchange, lists, server } = await listed(["a:1"]);
    await settle(900_000);
    await exchange(request());
    await settle(899_000);
    expect(lists.runs).toBe(1);
    await settle(902_000);
    expect(lists.runs).toBe(1);
    expect(vi.getTimerCount()).toBe(0);
    const { calls } = server("a:1");
    expect((await exchange(request())).status).toBe(200);
    expect(server("a:1").calls).toBe(calls + 1);
    expect(lists.runs).toBe(2);
  });
});

describe("the end of a target", () => {
  it("ends the resolver, the connections and the timers, and refuses calls", async () => {
    const { target, exchange, lists, server } = await listed(["a:1", "b:1"]);
    server("a:1").lose();
    await settle();
    await target.close();
    lists.say("c:1");
    await settle(60_000);
    expect(vi.getTimerCount()).toBe(0);
    expect(server("b:1").isClosed).toBe(true);
    expect((await failureOf(exchange(request()))).rawMessage).toBe("the transport is closed");
  });

  it("ends calls that wait for an endpoint", async () => {
    const { target, exchange } = createWorld();
    const call = failureOf(exchange(request({ context: { waitForReady: true } })));
    await settle();
    await target.close();
    expect((await call).rawMessage).toBe("the transport is closed");
  });
});

describe("the arguments of a resolver", () => {
  it("is to look again when the time is over, or a connection is lost, once a second at most", async () => {
    const looks: number[] = [];
    const resolver: Resolver = async function* ({ next }) {
      for (;;) {
        looks.push(performance.now());
        yield [{ address: "a:1" }];
        await next(5_000);
      }
    };
    const { exchange, server } = createWorld({}, resolver);
    const start = performance.now();
    await exchange(request());
    await settle(5_000);
    for (let i = 0; i < 10; i++) {
      server("a:1").onReadiness(false);
      await settle(100);
    }
    expect(looks.map((at) => at - start)).toEqual([0, 5_000, 6_000]);
  });
});

describe("fixed endpoints", () => {
  it("are what they are", async () => {
    const { exchange, states } = createWorld(
      { balancer: p2c({ random: seeded(9) }) },
      fixed(["a:1", { address: "b:1", weight: 50 }]),
    );
    await exchange(request());
    await settle();
    expect(Object.keys(states())).toEqual(["a:1", "b:1"]);
  });

  it("are refused if they are invalid", () => {
    expect(() => fixed([])).toThrow("fixed needs at least one endpoint");
    expect(() => fixed("localhost:1" as unknown as string[])).toThrow("fixed needs a list of endpoints");
    expect(() => fixed(["http://a:1"])).toThrow(
      'address "http://a:1" must be host:port, [v6]:port or unix: and a path',
    );
    expect(() => fixed([{ address: "a:1", weight: -1 }])).toThrow(TypeError);
    expect(() => fixed([{ address: "a:1", since: Number.NaN }])).toThrow("since of a:1 must be a time in milliseconds");
  });
});
