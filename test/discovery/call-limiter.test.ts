/**
 * Limits of the calls that run on each endpoint: with servers and a clock that the test controls, and over sockets.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { Code, RpcError } from "triple-es";
import {
  type Balancer,
  consistentHash,
  fixed,
  p2c,
  pickFirst,
  type RoutedBalancer,
  roundRobin,
} from "triple-es/discovery";
import { createTransport } from "triple-es/node";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { createGreetServiceClient } from "../../examples/gen/greet/v1/greet_triple.ts";
import { streamBody } from "../../runtime/src/http/body.ts";
import type { HttpRequest, HttpResponse } from "../../runtime/src/http/exchange.ts";
import { ExchangeFailure } from "../../runtime/src/http/transparent-retry.ts";
import { cuttableProxy } from "../support/cuttable-proxy.ts";
import { startServer } from "../support/server.ts";
import { seeded } from "./random.ts";
import { failureOf, listed, request, response, settle, type World } from "./world.ts";

/** A call that runs on a server until the test ends it. */
interface Running {
  readonly address: string;
  readonly sent: HttpRequest;
  readonly answer: (given?: HttpResponse) => Promise<unknown>;
  readonly fail: (reason: unknown) => Promise<unknown>;
}

/** Servers whose calls run until the test ends them. */
async function start(
  addresses: readonly string[],
  limits: { readonly running: number; readonly waiting?: number; readonly balancer?: RoutedBalancer },
): Promise<World & { readonly running: Running[]; readonly counts: () => number[] }> {
  const { running: maxRequestsPerEndpoint, waiting: maxPendingRequests, balancer } = limits;
  const world = await listed(addresses, {
    maxRequestsPerEndpoint,
    maxPendingRequests,
    balancer: balancer ?? roundRobin({ random: () => 0 }),
  });
  const running: Running[] = [];
  for (const address of addresses) {
    world.server(address).answer = (sent) =>
      new Promise((resolve, reject) => {
        const end = (settleIt: () => void): Promise<unknown> => {
          running.splice(running.indexOf(one), 1);
          settleIt();
          return settle();
        };
        const one: Running = {
          address,
          sent,
          answer: (given = response()) => end(() => resolve(given)),
          fail: (reason) => end(() => reject(reason)),
        };
        running.push(one);
        sent.signal?.addEventListener("abort", () => void one.fail(RpcError.from(sent.signal?.reason)));
      });
  }
  const counts = () => addresses.map((address) => running.filter((one) => one.address === address).length);
  return { ...world, running, counts };
}

describe("calls per endpoint", () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it.each<[string, () => Balancer]>([
    ["p2c", () => p2c({ random: seeded(1) })],
    ["round robin", () => roundRobin({ random: () => 0 })],
    ["consistent hash", () => consistentHash("key")],
    ["a custom policy", () => (ready) => () => ready[0] as (typeof ready)[0]],
  ])("are at most as many as the limit with %s, and others take the rest", async (_, policy) => {
    const world = await start(["a:1", "b:1", "c:1"], { running: 2, balancer: policy() });
    for (let calls = 0; calls < 6; calls++) void world.exchange(request()).catch(() => {});
    await settle();
    expect(world.counts()).toEqual([2, 2, 2]);
    const error = await failureOf(world.exchange(request()));
    expect(error.code).toBe(Code.Unavailable);
    expect(error.rawMessage).toBe(
      "cannot reach greet: each endpoint runs as many calls as it may, 2 (option maxRequestsPerEndpoint), and 0 others wait (option maxPendingRequests)",
    );
    expect(world.counts()).toEqual([2, 2, 2]);
    expect(world.retries).toEqual([]);
  });

  it("include those whose requests are streams, which begin in the same turn", async () => {
    const world = await start(["a:1", "b:1"], { running: 2, waiting: 1 });
    const body = (): HttpRequest["body"] => streamBody((async function* () {})());
    for (let calls = 0; calls < 5; calls++) void world.exchange(request({ body: body() }));
    await settle();
    expect(world.counts()).toEqual([2, 2]);
    await world.running[0]?.answer();
    expect(world.counts()).toEqual([2, 2]);
  });

  it("wait in their order for a place, and later calls do not take it", async () => {
    const world = await start(["a:1"], { running: 1, waiting: 3 });
    const paths: string[] = [];
    const call = (path: string) => world.exchange(request({ path })).then(() => paths.push(path));
    const calls = ["/1", "/2", "/3", "/4"].map(call);
    await settle();
    expect((await failureOf(call("/late"))).rawMessage).toContain("and 3 others wait (option maxPendingRequests)");
    await world.running[0]?.answer();
    const next = world.running[0]?.answer();
    calls.push(call("/5"));
    await next;
    expect(world.running.map(({ sent }) => sent.path)).toEqual(["/3"]);
    for (let ends = 0; ends < 3; ends++) await world.running[0]?.answer();
    await Promise.all(calls);
    expect(paths).toEqual(["/1", "/2", "/3", "/4", "/5"]);
    // One call before them has connected the endpoint.
    expect(world.server("a:1").calls).toBe(6);
  });

  it("run until the body of the response is read, left, or cancelled", async () => {
    const world = await start(["a:1"], { running: 1 });
    const chunks = async function* () {
      yield new Uint8Array(1);
      yield new Uint8Array(1);
    };
    const stream = async (signal?: AbortSignal): Promise<HttpResponse> => {
      const received = world.exchange(request({ signal }));
      await settle();
      await world.running[0]?.answer({ ...response(), body: streamBody(chunks()) });
      expect((await failureOf(world.exchange(request()))).rawMessage).toContain("maxRequestsPerEndpoint");
      return received;
    };
    expect((await (await stream()).body.bytes(10)).byteLength).toBe(2);
    let read = 0;
    for await (const chunk of (await stream()).body) read += chunk.byteLength;
    expect(read).toBe(2);
    for await (const _ of (await stream()).body) break;
    const end = new AbortController();
    await stream(end.signal);
    end.abort();
    await stream();
  });

  it("leave the queue when they are cancelled or their transport is closed", async () => {
    const world = await start(["a:1"], { running: 1, waiting: 2 });
    const running = world.exchange(request());
    const end = new AbortController();
    const cancelled = failureOf(world.exchange(request({ signal: end.signal })));
    const waiting = failureOf(world.exchange(request()));
    await settle();
    end.abort();
    expect((await cancelled).code).toBe(Code.Canceled);
    const third = world.exchange(request());
    await settle();
    const closing = world.target.close();
    expect((await waiting).code).toBe(Code.Unavailable);
    expect((await failureOf(third)).rawMessage).toContain("closed");
    await world.running[0]?.answer();
    await Promise.all([running, closing]);
    expect(world.server("a:1").calls).toBe(2);
  });

  it("use the place of a call that is cancelled just before it begins", async () => {
    const world = await start(["a:1"], { running: 1, waiting: 2 });
    const first = world.exchange(request());
    const end = new AbortController();
    const second = failureOf(world.exchange(request({ signal: end.signal })));
    const third = world.exchange(request());
    await settle();
    const answered = world.running[0]?.answer();
    void Promise.resolve().then(() => Promise.resolve().then(() => end.abort()));
    await answered;
    await first;
    await second;
    await settle();
    expect(world.counts()).toEqual([1]);
    await world.running[0]?.answer();
    await third;
  });

  it("begin on an endpoint that becomes ready", async () => {
    const world = await start(["a:1"], { running: 1, waiting: 1 });
    const calls = [world.exchange(request()), world.exchange(request())];
    await settle();
    world.lists.say("a:1", "b:1");
    await settle();
    expect(world.server("b:1").calls).toBe(1);
    await world.running[0]?.answer();
    await Promise.all(calls);
  });

  it("include transparent retries, which go to endpoints below the limit", async () => {
    const world = await start(["a:1", "b:1", "c:1"], { running: 1, waiting: 1 });
    const calls = [0, 1].map(() => world.exchange(request()));
    await settle();
    const [first, second] = world.running.map(({ address }) => address);
    await world.running[0]?.fail(new ExchangeFailure(new RpcError(Code.Unavailable, "refused"), "refused"));
    const third = world.running.find(({ address }) => address !== second)?.address;
    expect(third).not.toBe(first);
    expect(world.running.map(({ address }) => address)).toEqual([second, third]);
    while (world.running.length > 0) await world.running[0]?.answer();
    await Promise.all(calls);
    for (let count = 0; count < 3; count++) void world.exchange(request());
    await settle();
    expect(world.counts()).toEqual([1, 1, 1]);
  });

  it("stay among the endpoints that a rule allows, and do not hold up others", async () => {
    const balancer: RoutedBalancer = (ready) => {
      const among = ({ path }: HttpRequest) =>
        ready.filter(({ endpoint }) => endpoint.address.startsWith(path.charAt(1)));
      return Object.assign((sent: HttpRequest) => among(sent)[0], { among });
    };
    const world = await start(["a:1", "b:1"], { running: 1, waiting: 2, balancer });
    const calls = ["/a", "/b", "/a", "/b"].map((path) => world.exchange(request({ path })));
    await settle();
    expect(world.counts()).toEqual([1, 1]);
    await world.running[1]?.answer();
    expect(world.running.map(({ sent }) => sent.path)).toEqual(["/a", "/b"]);
    while (world.running.length > 0) await world.running[0]?.answer();
    await Promise.all(calls);
  });

  it("wait for the one endpoint of pick first", async () => {
    const world = await start(["a:1", "b:1"], { running: 1, waiting: 1, balancer: pickFirst() });
    const calls = [world.exchange(request()), world.exchange(request())];
    await settle();
    expect(world.counts()).toEqual([1, 0]);
    await world.running[0]?.answer();
    expect(world.counts()).toEqual([1, 0]);
    await world.running[0]?.answer();
    await Promise.all(calls);
  });

  it("fail with the error of a picker that throws for a call in the queue, and leave the place to the next", async () => {
    let isBroken = false;
    const balancer: RoutedBalancer = (ready) => (sent) => {
      if (isBroken && sent.path === "/broken") throw new RpcError(Code.Internal, "broken policy");
      return ready[0] as (typeof ready)[0];
    };
    const world = await start(["a:1"], { running: 1, waiting: 2, balancer });
    const first = world.exchange(request());
    const second = failureOf(world.exchange(request({ path: "/broken" })));
    const third = world.exchange(request());
    await settle();
    isBroken = true;
    await world.running[0]?.answer();
    expect((await first).status).toBe(200);
    expect((await second).rawMessage).toBe("broken policy");
    expect(world.counts()).toEqual([1]);
    await world.running[0]?.answer();
    expect((await third).status).toBe(200);
  });
});

describe.each(["grpc", "http-rpc"] as const)("over sockets with %s", (protocol) => {
  it("no server runs more calls than the limit, and all calls succeed", async () => {
    let most = 0;
    const addresses: string[] = [];
    for (let count = 0; count < 3; count++) {
      let running = 0;
      const greet = async ({ name }: { name: string }) => {
        most = Math.max(most, ++running);
        await new Promise((resolve) => setTimeout(resolve, 2));
        running--;
        return { greeting: name };
      };
      addresses.push(`127.0.0.1:${(await startServer({ greet })).port}`);
    }
    const transport = createTransport({
      protocol,
      resolver: fixed(addresses),
      maxRequestsPerEndpoint: 2,
      maxPendingRequests: 200,
    });
    onTestFinished(() => transport.close({ graceMs: 0 }));
    const client = createGreetServiceClient(transport);
    const names = Array.from({ length: 200 }, (_, index) => `${index}`);
    const greetings = await Promise.all(names.map((name) => client.greet({ name })));
    expect(greetings.map(({ greeting }) => greeting)).toEqual(names);
    expect(most).toBe(2);
  });

  const versions = protocol === "grpc" ? (["2"] as const) : (["1.1", "2"] as const);
  it.each(versions)("a call over HTTP/%s is over when its response has ended, even unread", async (httpVersion) => {
    const greetEach = async function* () {
      yield { greeting: "first" };
      await new Promise((resolve) => setTimeout(resolve, 10));
      yield { greeting: "last" };
    };
    const { port } = await startServer({ greetEach });
    const transport = createTransport({
      protocol,
      httpVersion,
      resolver: fixed([`127.0.0.1:${port}`]),
      maxRequestsPerEndpoint: 1,
      maxPendingRequests: 1,
    });
    onTestFinished(() => transport.close({ graceMs: 0 }));
    const client = createGreetServiceClient(transport);
    const unread = client.greetEach({})[Symbol.asyncIterator]();
    await unread.next();
    expect((await client.greet({ name: "Ada" }, { timeoutMs: 10_000 })).greeting).toBe("Hello, Ada!");
  });

  it.each(versions)("a call over HTTP/%s whose connection is lost is over, even unread", async (httpVersion) => {
    const greetEach = async function* () {
      yield { greeting: "first" };
      await new Promise(() => {});
    };
    const { port } = await startServer({ greetEach });
    const proxy = await cuttableProxy(port);
    const transport = createTransport({
      protocol,
      httpVersion,
      resolver: fixed([proxy.address]),
      maxRequestsPerEndpoint: 1,
      maxPendingRequests: 1,
    });
    onTestFinished(() => transport.close({ graceMs: 0 }));
    const client = createGreetServiceClient(transport);
    const unread = client.greetEach({})[Symbol.asyncIterator]();
    await unread.next();
    const waiting = client.greet({ name: "Ada" }, { timeoutMs: 10_000, waitForReady: true });
    proxy.cut();
    expect((await waiting).greeting).toBe("Hello, Ada!");
  });

  it("a custom policy runs in the asynchronous context of its call", async () => {
    const addresses = [await startServer(), await startServer()].map(({ port }) => `127.0.0.1:${port}`);
    const storage = new AsyncLocalStorage<string>();
    const picks: unknown[] = [];
    const transport = createTransport({
      protocol,
      resolver: fixed(addresses),
      balancer: (ready) => (sent) => {
        picks.push([storage.getStore(), sent.headers.get("name")]);
        return ready[0] as (typeof ready)[0];
      },
      maxRequestsPerEndpoint: 1,
      maxPendingRequests: 100,
    });
    onTestFinished(() => transport.close({ graceMs: 0 }));
    const client = createGreetServiceClient(transport);
    const names = Array.from({ length: 50 }, (_, index) => `${index}`);
    await Promise.all(names.map((name) => storage.run(name, () => client.greet({ name }, { headers: { name } }))));
    expect(picks.length).toBeGreaterThan(0);
    for (const [store, name] of picks as unknown[][]) expect(store).toBe(name);
  });

  it("a call whose deadline passes in the queue names the limit, and calls beyond the queue fail", async () => {
    let end = (): void => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const greet = async () => {
      await ended;
      return { greeting: "late" };
    };
    const { port } = await startServer({ greet });
    const transport = createTransport({
      protocol,
      resolver: fixed([`127.0.0.1:${port}`]),
      maxRequestsPerEndpoint: 1,
      maxPendingRequests: 1,
    });
    onTestFinished(() => transport.close({ graceMs: 0 }));
    const client = createGreetServiceClient(transport);
    const first = client.greet({});
    await expect.poll(() => transport.endpoints()[0]?.active, { timeout: 10_000 }).toBe(1);
    const waiting = failureOf(client.greet({}, { timeoutMs: 1_000 }));
    expect((await failureOf(client.greet({}))).code).toBe(Code.Unavailable);
    const late = await waiting;
    expect(late.code).toBe(Code.DeadlineExceeded);
    expect(late.rawMessage).toContain("maxRequestsPerEndpoint");
    end();
    expect((await first).greeting).toBe("late");
  });
});

describe("options", () => {
  const resolver = fixed(["127.0.0.1:1"]);
  it.each([
    [{ resolver, maxRequestsPerEndpoint: 0 }, "maxRequestsPerEndpoint must be more than 0, not 0"],
    [{ resolver, maxRequestsPerEndpoint: 1, maxPendingRequests: -1 }, "maxPendingRequests must be 0 or more, not -1"],
    [
      { resolver, maxRequestsPerEndpoint: 1, maxPendingRequests: Number.POSITIVE_INFINITY },
      "maxPendingRequests must be finite, not Infinity",
    ],
    [
      { resolver, maxPendingRequests: 1 },
      "maxPendingRequests needs maxRequestsPerEndpoint, and has no effect without it",
    ],
    [
      { baseUrl: "http://localhost", maxRequestsPerEndpoint: 1 },
      "maxRequestsPerEndpoint needs a resolver or a registry, and has no effect beside baseUrl",
    ],
  ])("%j are refused", (options, message) => {
    expect(() => createTransport(options as never)).toThrow(message);
  });
});
