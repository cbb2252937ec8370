/**
 * Fleets of twenty endpoints, one of which is slow or fails some calls, in virtual time: by the default policy, its callers do
 * not notice. `npm run bench:slow` measures the same over sockets.
 */
import { Code, type Interceptor, type RequestContext, RpcError } from "triple-es";
import { type Balancer, fixed, p2c, roundRobin } from "triple-es/discovery";
import { createTransport } from "triple-es/node";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { createGreetServiceClient } from "../../examples/gen/greet/v1/greet_triple.ts";
import type { HttpResponse } from "../../runtime/src/http/exchange.ts";
import { startServer } from "../support/server.ts";
import { seeded } from "./random.ts";
import { createWorld, request, response } from "./world.ts";

let time = 0;
/** The timers by the millisecond at which they are due: the fake timers of vitest search all for each step. */
let due: Map<number, () => void>[] = [];
let random = seeded(7);

beforeEach(() => {
  time = 0;
  due = [];
  random = seeded(7);
  // A spy would record each of millions of calls.
  vi.stubGlobal("performance", { now: () => time });
  vi.stubGlobal("setTimeout", (run: () => void, ms: number): (() => void) => {
    const at = time + Math.max(1, Math.round(ms));
    due[at] ??= new Map();
    due[at].set(due[at].size, run);
    const key = due[at].size - 1;
    return () => due[at]?.delete(key);
  });
  vi.stubGlobal("clearTimeout", (clear: (() => void) | undefined) => clear?.());
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

async function runUntil(end: number): Promise<void> {
  for (; time < end; time++) {
    for (const run of due[time]?.values() ?? []) run();
    delete due[time];
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const FLEET = Array.from({ length: 20 }, (_, index) => `s${index}:1`);
const BAD = "s3:1";
/** A method of few calls, which is slow in one of the tests. */
const SLOW = "/a.B/D";
const BUSY = { clients: 1, callers: 40, pauseMs: 0 };
const FEW = { clients: 1, callers: 4, pauseMs: 100 };
const MANY = { clients: 200, callers: 1, pauseMs: 200 };

interface Load {
  readonly clients: number;
  /** The callers of each client, and their mean pause between two calls in milliseconds. */
  readonly callers: number;
  readonly pauseMs: number;
  readonly weights?: readonly number[];
}

interface Call {
  readonly address: string;
  readonly path: string;
  readonly at: number;
  readonly tookMs: number;
}

/** Answers a call to an endpoint. */
type Answer = (address: string, path: string) => Promise<HttpResponse>;

/** Runs clients until a time. Returns their calls. */
async function run(answer: Answer, { clients, callers, pauseMs, weights = [100] }: Load, end: number): Promise<Call[]> {
  const calls: Call[] = [];
  for (let client = 0; client < clients; client++) {
    const { lists, server, exchange } = createWorld({ balancer: p2c({ random }), random });
    lists.say(...FLEET.map((address, index) => ({ address, weight: weights[index % weights.length] })));
    for (const address of FLEET) {
      const one = server(address);
      one.answer = async ({ path }) => {
        one.active++;
        const at = time;
        try {
          return await answer(address, path);
        } finally {
          one.active--;
          calls.push({ address, path, at, tookMs: time - at });
        }
      };
    }
    const caller = async (): Promise<void> => {
      for (;;) {
        if (pauseMs > 0) await pause(2 * random() * pauseMs);
        await exchange(request({ context: {}, path: random() < 0.02 ? SLOW : "/a.B/C" })).catch(() => {});
      }
    };
    for (let number = 0; number < callers; number++) void caller();
  }
  await runUntil(end);
  return calls;
}
/** The calls that began in an interval, in milliseconds. */
const between = (calls: readonly Call[], start: number, end: number): Call[] =>
  calls.filter(({ at }) => at >= start && at < end);

const p99 = (calls: readonly Call[]): number =>
  calls.map(({ tookMs }) => tookMs).sort((a, b) => a - b)[Math.floor(calls.length * 0.99)] as number;

/** The calls to an endpoint, relative to an even share. */
const share = (calls: readonly Call[], address = BAD): number =>
  (calls.filter((call) => call.address === address).length * FLEET.length) / calls.length;

const usualMs = (): number => 8 + random() * 4;
/** The p99 of a healthy fleet. */
const HEALTHY_MS = 12;
const slowMethodMs = (path: string): number => usualMs() * (path === SLOW ? 20 : 1);
const slow: Answer = async (address) => {
  await pause(usualMs() * (address === BAD ? 10 : 1));
  return response();
};
const failing: Answer = async (address) => {
  const isFailure = address === BAD && random() < 0.05;
  await pause(isFailure ? 1 : usualMs());
  return isFailure ? response({}, 503) : response();
};

const LOADS = [
  ["a busy client", BUSY],
  ["a client of few calls", FEW],
  ["200 clients of few calls", MANY],
] as const;

describe.each(LOADS)("%s", (_, load) => {
  it.each([
    ["slow", slow, [100]],
    ["slow and has another weight", slow, [100, 300]],
    ["failing 5 % of its calls", failing, [100]],
  ] as const)("has the usual p99 after 10 s while one endpoint of twenty is %s", async (_, answer, weights) => {
    const calls = await run(answer, { ...load, weights }, 40_000);
    expect(p99(between(calls, 10_000, 20_000))).toBeLessThanOrEqual(1.2 * HEALTHY_MS);
    expect(p99(between(calls, 20_000, 40_000))).toBeLessThanOrEqual(1.2 * HEALTHY_MS);
  });

  it.each([
    ["is healthy", usualMs],
    ["is slow as a whole after some time", () => usualMs() * (time > 10_000 ? 10 : 1)],
    ["has times that differ much", () => -Math.log(1 - random()) * 10],
    ["has a slow method too", slowMethodMs],
  ])("shares a fleet evenly that %s", async (_, tookMs) => {
    const answer: Answer = async (_, path) => {
      await pause(tookMs(path));
      return response();
    };
    const calls = await run(answer, { ...load, callers: 2 * load.callers }, 30_000);
    const chance = 4 * Math.sqrt(FLEET.length / calls.length);
    for (const address of FLEET) expect(Math.abs(share(calls, address) - 1)).toBeLessThan(chance);
  });

  it("gives an endpoint that is slow no longer its share within 30 s", async () => {
    const answer: Answer = async (address) => {
      await pause(usualMs() * (address === BAD && time < 20_000 ? 10 : 1));
      return response();
    };
    const calls = await run(answer, load, 60_000);
    expect(share(between(calls, 10_000, 20_000))).toBeLessThan(0.2);
    expect(share(between(calls, 50_000, 60_000))).toBeGreaterThan(0.7);
  });
});

it("an endpoint is not avoided after a call of a slow method", async () => {
  const answer: Answer = async (_, path) => {
    await pause(slowMethodMs(path));
    return response();
  };
  const calls = await run(answer, { ...FEW, callers: 2 }, 300_000);
  const later = calls
    .filter(({ path }) => path === SLOW)
    .map(({ address, at, tookMs }) => share(between(calls, at + tookMs, at + tookMs + 2_000), address));
  expect(later.reduce((sum, one) => sum + one, 0) / later.length).toBeGreaterThan(0.9);
});

it("an endpoint is not avoided after one slow call, such as its first one or a pause", async () => {
  let slowAt = 0;
  const answer: Answer = async (address) => {
    const isSlow = address === BAD && time >= slowAt;
    if (isSlow) slowAt = time + 20_000;
    await pause(isSlow ? 300 : usualMs());
    return response();
  };
  expect(share(await run(answer, FEW, 60_000))).toBeGreaterThan(0.85);
});

it("an endpoint that answers no call before its deadline is avoided after the second one", async () => {
  const answer: Answer = async (address) => {
    await pause(address === BAD ? 500 : usualMs());
    if (address === BAD) throw new RpcError(Code.DeadlineExceeded, "too late");
    return response();
  };
  const calls = await run(answer, MANY, 10_000);
  expect(share(calls)).toBeGreaterThan(0);
  expect(calls.filter(({ address }) => address === BAD).length).toBeLessThan(2 * MANY.clients);
});

it("latencies are measured until response headers, by the default policy alone", async () => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
  const { port } = await startServer();
  const measured = async (balancer: Balancer): Promise<unknown[]> => {
    const contexts: RequestContext[] = [];
    const note: Interceptor = (next) => async (sent) => {
      const received = await next(sent);
      contexts.push({ ...(sent.context as RequestContext) });
      return received;
    };
    const resolver = fixed([`127.0.0.1:${port}`]);
    const transport = createTransport({ resolver, balancer, interceptors: [note] });
    onTestFinished(() => transport.close({ graceMs: 0 }));
    const client = createGreetServiceClient(transport);
    await client.greet({});
    for await (const _ of client.greetEach({ names: ["Ann", "Bob"] }));
    return contexts.map(({ respondedAt }) => typeof respondedAt);
  };
  expect(await measured(p2c())).toEqual(["number", "number"]);
  expect(await measured(roundRobin())).toEqual(["undefined", "undefined"]);
});
