/** Load shedding, in a simulated event loop: time is a number that handlers advance. */
import { Code, createInMemoryTransport, createRouter, RpcError } from "triple-es";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createGreetServiceClient, GreetServiceDef } from "../../examples/gen/greet/v1/greet_triple.ts";
import type { Authorize, Method } from "../../runtime/src/call/call.ts";
import type { AnsweredContext } from "../../runtime/src/call/outcome.ts";
import * as platform from "../../runtime/src/call/platform.ts";
import { streamBody } from "../../runtime/src/http/body.ts";
import type { Exchange } from "../../runtime/src/http/exchange.ts";
import { createLoadShedding } from "../../runtime/src/server/load-shedding.ts";
import { greeter } from "../support/server.ts";

const loop = {
  now: 0,
  deferred: [] as (() => void)[],
  /** The next one is the last one: most timers are due soon, and beside them are thousands of calls that are sent later. */
  timers: [] as { readonly at: number; readonly run: () => void }[],
};
beforeEach(() => {
  Object.assign(loop, { now: 0, deferred: [], timers: [] });
  vi.spyOn(performance, "now").mockImplementation(() => loop.now);
  vi.spyOn(platform, "defer").mockImplementation((callback) => void loop.deferred.push(callback));
});
afterEach(() => {
  // The turns of decoded messages are those of the module that other tests use too.
  while (loop.deferred.length > 0) for (const callback of loop.deferred.splice(0)) callback();
  vi.restoreAllMocks();
});

/** Creates one hook for all methods. */
function shedding(...options: Parameters<typeof createLoadShedding>): Authorize {
  const create = createLoadShedding(...options);
  const methods = new Map<Method, ReturnType<typeof create>>();
  return (call) => {
    if (!methods.has(call.method)) methods.set(call.method, create(call.method));
    const method = methods.get(call.method);
    return method?.passes() ? undefined : method?.authorize(call);
  };
}

/** The time that a call costs, whether it is refused or not. */
const COST_MS = 0.02;
const TIMEOUT_MS = 200;
const { greet, greetEach } = GreetServiceDef.methods;

/** Adds a timer, after those that are due at the same time. */
function at(time: number, run: () => void): void {
  let [start, end] = [0, loop.timers.length];
  while (start < end) {
    const middle = (start + end) >> 1;
    if ((loop.timers[middle]?.at ?? 0) > time) start = middle + 1;
    else end = middle;
  }
  loop.timers.splice(start, 0, { at: time, run });
}

async function microtasks(): Promise<void> {
  for (let i = 0; i < 8; i++) await undefined;
}

/** Runs turns of the event loop until there is nothing to do: first the input and timers that are due, then what was deferred. */
async function run(): Promise<void> {
  while (loop.timers.length + loop.deferred.length > 0) {
    if (loop.deferred.length === 0) loop.now = Math.max(loop.now, loop.timers.at(-1)?.at ?? 0);
    const turn = loop.now;
    while ((loop.timers.at(-1)?.at ?? Number.POSITIVE_INFINITY) <= turn) {
      loop.timers.pop()?.run();
      await microtasks();
    }
    for (const callback of loop.deferred.splice(0)) {
      callback();
      await microtasks();
    }
  }
}

/** A handler: it calls back when it is done. */
type Handle = (done: (error?: RpcError) => void) => void;

/** Computes for a time. */
const computing = (ms: number): Handle => {
  return (done) => {
    loop.now += ms;
    done();
  };
};

/** Waits for one of a number of slots, and then for a time. */
function waitingFor(slots: number, ms: number): Handle {
  let free = slots;
  const queue: (() => void)[] = [];
  return (done) => {
    const begin = (): void =>
      at(loop.now + ms, () => {
        const next = queue.shift();
        if (next === undefined) free++;
        else next();
        done();
      });
    if (free === 0) queue.push(begin);
    else {
      free--;
      begin();
    }
  };
}

class Tally {
  /** The calls that were answered within their deadlines, and later. */
  good = 0;
  late = 0;
  readonly refused: RpcError[] = [];
}

interface Load {
  readonly handle: Handle;
  /** Calls a second, and the seconds for which they are sent. */
  readonly rate: number;
  readonly seconds: number;
  /** The number of calls after which all others are sent at once. */
  readonly burstAfter?: number;
  readonly method?: Method;
  readonly timeoutMs?: number | undefined;
  /** True if the bodies of the calls arrive after their heads. */
  readonly isArriving?: boolean;
}

/** Sends calls at a constant rate, and answers those that begin. */
async function send(authorize: Authorize, { handle, rate, seconds, method = greet, ...load }: Load): Promise<Tally> {
  const timeoutMs = "timeoutMs" in load ? load.timeoutMs : TIMEOUT_MS;
  const tally = new Tally();
  const call = async (sentAt: number): Promise<void> => {
    loop.now += COST_MS;
    const answered: ((error?: RpcError) => void)[] = [];
    const onAnswered = (callback: (error?: RpcError) => void): void => void answered.push(callback);
    const context = {
      timeoutMs: () => timeoutMs,
      onAnswered,
      isArriving: load.isArriving,
    } as unknown as AnsweredContext;
    try {
      await authorize({ method, context } as never);
      await context.onArrived?.();
    } catch (reason) {
      tally.refused.push(reason as RpcError);
      return;
    }
    handle((error) => {
      for (const callback of answered) callback(error);
      if (error !== undefined) return;
      if (loop.now - sentAt <= (timeoutMs ?? Number.POSITIVE_INFINITY)) tally.good++;
      else tally.late++;
    });
  };
  const start = loop.now;
  for (let i = 0; i < rate * seconds; i++) {
    const due = start + (Math.min(i, load.burstAfter ?? i) * 1_000) / rate;
    at(due, () => void call(due));
  }
  await run();
  return tally;
}

const handlers: readonly [string, number, () => Handle][] = [
  ["5 ms of computing", 200, () => computing(5)],
  ["1 ms of computing", 1_000, () => computing(1)],
  ["20 ms in one of ten slots", 500, () => waitingFor(10, 20)],
];

describe.each(handlers)("a server whose handlers take %s", (_, peak, make) => {
  it.each([2, 5, 10])("answers nearly as many calls in time at %i times the load as at its peak", async (times) => {
    const authorize = shedding();
    const handle = make();
    // The time in which it notices is a part of the load.
    await send(authorize, { handle, rate: peak * times, seconds: 1 });
    const { good, late, refused } = await send(authorize, { handle, rate: peak * times, seconds: 2 });
    // Refusals cost CPU time, which is not there for answers.
    const left = 1 - peak * times * (COST_MS / 1_000);
    expect(good).toBeGreaterThan(0.85 * peak * 2 * left);
    expect(late).toBeLessThan(0.01 * good);
    expect(good + late + refused.length).toBe(peak * times * 2);
    for (const error of refused.slice(0, 10)) {
      expect(error).toBeInstanceOf(RpcError);
      expect([error.code, error.trailers.get("grpc-retry-pushback-ms")]).toEqual([Code.Unavailable, "100"]);
    }
    // It recovers at once.
    const after = await send(authorize, { handle, rate: peak * 0.5, seconds: 1 });
    expect(after.refused.length + after.late).toBeLessThan(0.02 * peak);
  });

  it("also counts calls whose bodies arrive after their heads, from then on", async () => {
    const authorize = shedding();
    const load = { handle: make(), rate: peak * 5, isArriving: true };
    await send(authorize, { ...load, seconds: 1 });
    const { good, late } = await send(authorize, { ...load, seconds: 2 });
    expect(good).toBeGreaterThan(0.85 * peak * 2 * (1 - peak * 5 * (COST_MS / 1_000)));
    expect(late).toBeLessThan(0.01 * good);
  });

  it("refuses nothing at half of its peak", async () => {
    const { good } = await send(shedding(), { handle: make(), rate: peak / 2, seconds: 2 });
    expect(good).toBe(peak);
  });

  it("is lost without it", async () => {
    const { good } = await send(() => {}, { handle: make(), rate: peak * 5, seconds: 2 });
    expect(good).toBeLessThan(0.2 * peak * 2);
  });
});

it("a server that has rested notices that its calls take too much CPU time", async () => {
  const authorize = shedding();
  const handle = computing(0.4);
  await send(authorize, { handle, rate: 1_250, seconds: 1 });
  const { good, late } = await send(authorize, { handle, rate: 25_000, seconds: 1 });
  // Half of the time is spent on refusals.
  expect(good).toBeGreaterThan(0.85 * 1_250);
  expect(late).toBeLessThan(0.01 * good);
});

it("a server that has rested notices that its calls begin to wait", async () => {
  const authorize = shedding();
  await send(authorize, { handle: computing(0.05), rate: 5_000, seconds: 1 });
  const load = { handle: waitingFor(10, 20), rate: 2_500, seconds: 1 };
  await send(authorize, load);
  const { good, late } = await send(authorize, load);
  expect(good).toBeGreaterThan(0.85 * 500 * 0.95);
  expect(late).toBeLessThan(0.01 * good);
});

it("calls that take most of their deadlines without overload are not refused", async () => {
  const handle: Handle = (done) => at(loop.now + 150, done);
  const { good } = await send(shedding(), { handle, rate: 1_000, seconds: 1 });
  expect(good).toBe(1_000);
});

it("a call with a timeout that is too short does not limit those with longer ones", async () => {
  const authorize = shedding();
  const late = new RpcError(Code.DeadlineExceeded, "late");
  await send(authorize, { handle: (done) => at(loop.now + 1, () => done(late)), rate: 1, seconds: 1, timeoutMs: 1 });
  const { good } = await send(authorize, { handle: (done) => at(loop.now + 150, done), rate: 1_000, seconds: 1 });
  expect(good).toBe(1_000);
});

it("a queue is noticed in time after calls without deadlines, for which it would be short", async () => {
  const authorize = shedding();
  const handle = waitingFor(10, 20);
  await send(authorize, { handle, rate: 350, seconds: 2, timeoutMs: undefined });
  const { good } = await send(authorize, { handle, rate: 1_000, seconds: 2 });
  expect(good).toBeGreaterThan(850);
});

it("calls with timeouts shorter than a turn do not limit a method", async () => {
  const authorize = shedding();
  await send(authorize, { handle: (done) => at(loop.now + 0.2, done), rate: 1_000, seconds: 1, timeoutMs: 1 });
  const late: Handle = (done) => at(loop.now + 1, () => done(new RpcError(Code.DeadlineExceeded, "late")));
  await send(authorize, { handle: late, rate: 50_000, seconds: 0.5, timeoutMs: 1 });
  const slow: Handle = (done) => at(loop.now + 100, done);
  const { refused } = await send(authorize, { handle: slow, rate: 1_000, seconds: 1, timeoutMs: 10_000 });
  expect(refused).toEqual([]);
});

it("a pause of the process does not limit methods whose calls take half of their timeouts for long", async () => {
  const authorize = shedding();
  const load = { handle: ((done) => at(loop.now + 100, done)) as Handle, rate: 500, seconds: 1 };
  await send(authorize, load);
  at(loop.now + 500, () => {
    loop.now += 1_000;
  });
  await send(authorize, { ...load, seconds: 4 });
  expect((await send(authorize, load)).good).toBeGreaterThan(450);
});

it("a burst is spread over turns, and nothing of it is refused", async () => {
  const authorize = shedding();
  const { good } = await send(authorize, { handle: computing(0.1), rate: 1e6, seconds: 0.0004 });
  expect(good).toBe(400);
});

it("a burst after an idle time may wait as long as any other", async () => {
  const authorize = shedding();
  await send(authorize, { handle: computing(1), rate: 100, seconds: 0.1 });
  loop.now += 1_000;
  const { good } = await send(authorize, { handle: computing(1), rate: 1e6, seconds: 0.00004 });
  expect(good).toBe(40);
});

it("a burst after calls that are quick does not begin as a whole", async () => {
  let calls = 0;
  const handle: Handle = (done) => computing(calls++ < 102 ? 0.02 : 1)(done);
  const { good, late } = await send(shedding(), { handle, rate: 300, seconds: 4, burstAfter: 102 });
  expect(good).toBeGreaterThan(102 + 50);
  expect(late).toBe(0);
});

it("most calls of a server that is not overloaded defer nothing, also after a long turn", async () => {
  const authorize = shedding();
  await send(authorize, { handle: computing(50), rate: 10, seconds: 0.2 });
  let deferred = 0;
  vi.spyOn(platform, "defer").mockImplementation((callback) => {
    deferred++;
    loop.deferred.push(callback);
  });
  const { good } = await send(authorize, { handle: computing(0.1), rate: 1_000, seconds: 1 });
  expect(good).toBe(1_000);
  expect(deferred).toBeLessThan(100);
});

it("most calls of a server that is not overloaded read no clock, also while many of them wait", async () => {
  const authorize = shedding();
  const handle: Handle = (done) => at(loop.now + 100, done);
  await send(authorize, { handle, rate: 10, seconds: 1 });
  let read = 0;
  vi.spyOn(performance, "now").mockImplementation(() => {
    read++;
    return loop.now;
  });
  const { good } = await send(authorize, { handle, rate: 1_000, seconds: 1 });
  expect(good).toBe(1_000);
  expect(read).toBeLessThan(200);
});

it("calls that may not be refused begin at once, beside others that are", async () => {
  const pay = { ...(greet as Method), name: "Pay" } as Method;
  const authorize = shedding(({ method }) => method !== pay);
  let calls = 0;
  const begun: unknown[] = [];
  const mixed: Authorize = (call) => {
    if (++calls % 20 !== 0) return authorize(call);
    begun.push(authorize({ ...call, method: pay }));
  };
  const { refused, good } = await send(mixed, { handle: computing(5), rate: 1_000, seconds: 2 });
  expect(begun).toEqual(Array(100).fill(undefined));
  // A quarter of the time of the server is for these.
  expect(good).toBeGreaterThan(300);
  expect(refused.length).toBeGreaterThan(1_400);
});

describe("the limit of a method", () => {
  /** Returns the number of calls that begin at the same time. */
  async function widthOf(authorize: Authorize): Promise<number> {
    const held: (() => void)[] = [];
    await send(authorize, { handle: (done) => void held.push(done), rate: 1e6, seconds: 0.0002, timeoutMs: 1e6 });
    const width = held.length;
    for (const done of held) done();
    return width;
  }

  /** Overloads the method until it has a limit. */
  async function limited(): Promise<Authorize> {
    const authorize = shedding();
    await send(authorize, { handle: waitingFor(10, 20), rate: 2_500, seconds: 2 });
    expect(await widthOf(authorize)).toBeLessThan(60);
    return authorize;
  }

  it("is not raised by calls that a later hook refuses", async () => {
    const authorize = await limited();
    // A call that runs all the time: the method is not idle.
    await send(authorize, { handle: () => {}, rate: 1, seconds: 1 });
    const before = await widthOf(authorize);
    const refused = new RpcError(Code.Unauthenticated, "no token");
    await send(authorize, { handle: (done) => done(refused), rate: 1_000, seconds: 0.5 });
    expect(await widthOf(authorize)).toBeLessThan(before + 8);
  });

  it("is lifted when the method has been idle", async () => {
    const authorize = await limited();
    await send(authorize, { handle: (done) => at(loop.now + 1, done), rate: 10, seconds: 0.5 });
    expect(await widthOf(authorize)).toBe(200);
  });

  it("is found again at once, however long the method has been idle", async () => {
    const authorize = await limited();
    await send(authorize, { handle: (done) => at(loop.now + 1, done), rate: 10, seconds: 10 });
    const { refused } = await send(authorize, { handle: waitingFor(10, 20), rate: 2_500, seconds: 2 });
    // The server answers 1,000 of 5,000.
    expect(refused.length).toBeGreaterThan(3_900);
  });

  it("is raised by calls without a deadline", async () => {
    const authorize = await limited();
    const before = await widthOf(authorize);
    const load = { handle: waitingFor(1_000, 5), rate: 20_000, seconds: 1, timeoutMs: undefined };
    await send(authorize, load);
    expect(await widthOf(authorize)).toBeGreaterThan(before + 20);
  });
});

it("calls with short timeouts are answered beside more calls with long ones than can be", async () => {
  const authorize = shedding();
  const handle = computing(5);
  const long = send(authorize, { handle, rate: 300, seconds: 5, timeoutMs: 60_000 });
  const { good, refused } = await send(authorize, { handle, rate: 100, seconds: 5 });
  await long;
  // Each has its share of the 200 calls in a second.
  expect(good).toBeGreaterThan(0.85 * 250);
  expect(good + refused.length).toBe(500);
});

it("calls without a deadline wait, and are refused too", async () => {
  const authorize = shedding();
  const load = { handle: computing(5), rate: 2_000, seconds: 2, timeoutMs: undefined };
  const { good, refused } = await send(authorize, load);
  expect(good).toBeGreaterThan(300);
  expect(good + refused.length).toBe(4_000);
});

it.each([
  ["streams", greetEach],
  ["calls of health", { ...greet, service: "grpc.health.v1.Health" }],
])("%s always begin", async (_, method) => {
  const authorize = shedding();
  const { refused } = await send(authorize, {
    handle: computing(5),
    rate: 2_000,
    seconds: 1,
    method: method as Method,
  });
  expect(refused).toEqual([]);
});

it.each([
  ["grpc", "heads"],
  ["http-rpc", "heads"],
  ["grpc", "bodies"],
  ["http-rpc", "bodies"],
] as const)(
  "a router refuses calls that would wait too long, over %s, when their %s arrive",
  async (protocol, part) => {
    const router = createRouter({ shedLoad: true }).add(GreetServiceDef, {
      ...greeter,
      greet: (request) => {
        loop.now += 50;
        return { greeting: `Hello, ${request.name}!` };
      },
    });
    const exchange: Exchange = ({ body, ...request }) =>
      router.exchange({ ...request, body: part === "heads" ? body : streamBody(body) });
    const client = createGreetServiceClient(createInMemoryTransport({ ...router, exchange }, { protocol }));
    const calls = Array.from({ length: 200 }, (_, i) => client.greet({ name: `${i}` }, { timeoutMs: 4_000 }));
    const settled = Promise.allSettled(calls);
    let isSettled = false;
    void settled.then(() => {
      isSettled = true;
    });
    while (!isSettled) {
      await new Promise((resolve) => setImmediate(resolve));
      for (const callback of loop.deferred.splice(0)) callback();
    }
    const outcomes = await settled;
    const answered = outcomes.flatMap((one) => (one.status === "fulfilled" ? [one.value.greeting] : []));
    const refused = outcomes.flatMap((one) => (one.status === "rejected" ? [(one.reason as RpcError).code] : []));
    // Those of the first turn, after which the others have waited for more than a second.
    expect(answered).toEqual(Array.from({ length: 32 }, (_, i) => `Hello, ${i}!`));
    expect(new Set(refused)).toEqual(new Set([Code.Unavailable]));
    expect(answered.length + refused.length).toBe(200);
  },
);

it("a router asks authorize for each call, at rest and otherwise", async () => {
  const asked: string[] = [];
  const authorize: Authorize = ({ method }) => void asked.push(method.name);
  const router = createRouter({ shedLoad: true, authorize }).add(GreetServiceDef, greeter);
  const client = createGreetServiceClient(createInMemoryTransport(router));
  const isWatched = (): boolean => loop.deferred.some(({ name }) => name === "endTurn");
  // The first call is measured, and after its turn the server rests.
  await client.greet({ name: "1" });
  expect(isWatched()).toBe(true);
  for (const callback of loop.deferred.splice(0)) callback();
  for (let i = 0; i < 32; i++) await client.greet({ name: "2" });
  // The rest is over, and one of as many calls is measured.
  loop.now += 1_000;
  expect(isWatched()).toBe(false);
  for (let i = 0; i < 32; i++) await client.greet({ name: "3" });
  expect(isWatched()).toBe(true);
  expect(asked).toHaveLength(65);
});
