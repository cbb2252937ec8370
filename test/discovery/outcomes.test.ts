/** Outcomes of calls to several endpoints: which of them count, how many run, and which are sent again. */
import { Code, type Interceptor, RpcError } from "triple-es";
import { type Balancer, fixed, type Resolver, roundRobin, type TargetEvent } from "triple-es/discovery";
import { createTransport } from "triple-es/node";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { createGreetServiceClient, type GreetServiceClient } from "../../examples/gen/greet/v1/greet_triple.ts";
import { ConnectionBackoff } from "../../runtime/src/connection/attempts.ts";
import type { Connect, ConnectionOwner } from "../../runtime/src/connection/connection.ts";
import { Pool } from "../../runtime/src/connection/pool.ts";
import { cuttableProxy } from "../support/cuttable-proxy.ts";
import { pause } from "../support/pause.ts";
import { failureOf, startServer } from "../support/server.ts";

const addressesOf = (servers: readonly { readonly port: number }[]): string[] =>
  servers.map(({ port }) => `127.0.0.1:${port}`);

/** Starts servers that respond with their index. */
const startServers = (count: number) =>
  Promise.all(Array.from({ length: count }, (_, index) => startServer({ greet: () => ({ greeting: `${index}` }) })));

describe.each(["2", "1.1"] as const)("over HTTP/%s", (httpVersion) => {
  const protocol = httpVersion === "2" ? "grpc" : "http-rpc";

  it("a call that picked an endpoint which has just been removed goes to another one", async () => {
    const [first, second] = addressesOf(await startServers(2)) as [string, string];
    let put: (list: string[]) => void = () => {};
    const resolver: Resolver = async function* () {
      for (let list = [first, second]; ; ) {
        yield list.map((address) => ({ address }));
        list = await new Promise<string[]>((resolve) => {
          put = resolve;
        });
      }
    };
    const greetings: Promise<string>[] = [];
    let client: GreetServiceClient | undefined;
    const onEndpoint = ({ type }: TargetEvent): void => {
      if (client !== undefined && type === "resolved") {
        for (let calls = 0; calls < 10; calls++) greetings.push(client.greet({}).then(({ greeting }) => greeting));
      }
    };
    const shared = { resolver, protocol, httpVersion, onEndpoint } as const;
    const transport = createTransport({ ...shared, balancer: roundRobin(), keepUnlistedMs: 0 });
    onTestFinished(() => transport.close());
    const greeter = createGreetServiceClient(transport);
    await greeter.greet({});
    const ready = () => transport.endpoints().filter(({ state }) => state === "ready").length;
    await expect.poll(ready, { timeout: 10_000 }).toBe(2);
    client = greeter;
    put([second]);
    await expect.poll(() => greetings.length, { timeout: 10_000 }).toBe(10);
    expect(new Set(await Promise.all(greetings))).toEqual(new Set(["1"]));
  });

  it("a call that is cancelled while it waits for a connection does not make its endpoint unreachable", async () => {
    const servers = await startServers(1);
    const events: TargetEvent[] = [];
    const transport = createTransport({
      resolver: fixed(addressesOf(servers)),
      protocol,
      httpVersion,
      onEndpoint: (event) => events.push(event),
    });
    onTestFinished(() => transport.close());
    const client = createGreetServiceClient(transport);
    await client.greet({});
    for (let rounds = 0; rounds < 10; rounds++) {
      const end = new AbortController();
      // More calls than there are idle connections.
      const calls = Array.from({ length: 10 }, () => failureOf(client.greet({}, { signal: end.signal })));
      end.abort();
      for (const error of await Promise.all(calls)) expect(error).toMatchObject({ code: Code.Canceled });
      expect(await client.greet({})).toMatchObject({ greeting: "0" });
    }
    expect(events.filter(({ type }) => type === "connection failed")).toEqual([]);
  });

  it("a deadline that passes before the request is sent is no failure of the endpoint", async () => {
    const servers = await startServers(2);
    let isSlow = false;
    const late: Interceptor = (next) => async (call) => {
      if (isSlow) await pause(40);
      return next(call);
    };
    const transport = createTransport({
      resolver: fixed(addressesOf(servers)),
      protocol,
      httpVersion,
      balancer: roundRobin(),
      ejection: { failures: 1 },
      interceptors: [late],
    });
    onTestFinished(() => transport.close());
    const client = createGreetServiceClient(transport);
    await client.greet({});
    const states = () => transport.endpoints().map(({ state }) => state);
    await expect.poll(states, { timeout: 10_000 }).toEqual(["ready", "ready"]);
    isSlow = true;
    const calls = Array.from({ length: 10 }, () => failureOf(client.greet({}, { timeoutMs: 10 })));
    for (const error of await Promise.all(calls)) expect(error.message).toContain("deadline");
    await pause(50);
    expect(states()).toEqual(["ready", "ready"]);
  });
});

it("streams count as active while their connection accepts no new ones, and no longer when it is cut", async () => {
  let release = (): void => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  onTestFinished(release);
  const waiting = async function* () {
    yield { greeting: "first" };
    await released;
  };
  const { port, server } = await startServer({ greetEach: waiting });
  const proxy = await cuttableProxy(port);
  const transport = createTransport({ resolver: fixed([proxy.address]) });
  onTestFinished(() => transport.close());
  const client = createGreetServiceClient(transport);
  const streams = [1, 2, 3].map(() => client.greetEach({ names: ["x"] })[Symbol.asyncIterator]());
  for (const stream of streams) await stream.next();
  const active = () => transport.endpoints().map((one) => one.active);
  expect(active()).toEqual([3]);
  const closed = server.close({ graceMs: 5_000 });
  await expect.poll(() => transport.endpoints()[0]?.state, { timeout: 10_000 }).not.toBe("ready");
  expect(active()).toEqual([3]);
  proxy.cut();
  for (const stream of streams) await failureOf(stream.next());
  await expect.poll(active, { timeout: 10_000 }).toEqual([0]);
  release();
  await closed;
});

it("calls that wait until a connection is verified count as active", async () => {
  const { port } = await startServer();
  const proxy = await cuttableProxy(port);
  const transport = createTransport({ resolver: fixed([proxy.address]), ejection: { failures: 0 } });
  onTestFinished(() => transport.close({ graceMs: 0 }));
  const client = createGreetServiceClient(transport);
  await client.greet({});
  proxy.silence();
  expect((await failureOf(client.greet({}, { timeoutMs: 50 }))).message).toContain("deadline");
  const end = new AbortController();
  const calls = Array.from({ length: 5 }, () => failureOf(client.greet({}, { signal: end.signal })));
  const active = () => transport.endpoints()[0]?.active;
  await expect.poll(active).toBe(5);
  end.abort();
  await Promise.all(calls);
  await expect.poll(active).toBe(0);
});

it("a connection that is lost before its last stream has ended is not kept by its pool", async () => {
  let owner: ConnectionOwner | undefined;
  const connection = {
    streams: 0,
    maxStreams: 100,
    open: true,
    pings: 0,
    quietSince: performance.now(),
    destroyed: 0,
    exchange: () => new Promise<never>(() => {}),
    ping: async () => {},
    close: async () => {},
    destroy() {
      this.destroyed++;
    },
  };
  const connect: Connect = async (given) => {
    owner = given;
    return connection;
  };
  const pool = new Pool(connect, {
    peer: "server",
    maxConnections: 1,
    idleTimeoutMs: 60_000,
    verifyAfterMs: 60_000,
    pingIntervalMs: undefined,
    pingTimeoutMs: 1_000,
    waitForReady: undefined,
    backoff: new ConnectionBackoff(1_000),
  });
  await pool.connect();
  connection.streams = 2;
  expect(pool.active).toBe(2);
  owner?.onUnusable(connection, false);
  expect(pool.active).toBe(2);
  // The loss ends the streams, and is reported again.
  connection.streams = 0;
  owner?.onUnusable(connection, false);
  pool.destroy(new RpcError(Code.Unavailable, "closed"));
  expect([pool.active, connection.destroyed]).toEqual([0, 0]);
});

describe("functions of users", () => {
  it("a balancer that throws fails calls with its error, until it works again", async () => {
    let isBroken = true;
    const balancer: Balancer = (ready) => {
      if (isBroken) throw new Error("no policy");
      return () => ready[0] as (typeof ready)[0];
    };
    const transport = createTransport({ resolver: fixed(addressesOf(await startServers(1))), balancer });
    onTestFinished(() => transport.close());
    const client = createGreetServiceClient(transport);
    expect(await failureOf(client.greet({}))).toMatchObject({ code: Code.Internal, rawMessage: "no policy" });
    isBroken = false;
    expect((await client.greet({})).greeting).toBe("0");
  });

  it("a hook onEndpoint that rejects is printed", async () => {
    const print = vi.spyOn(console, "error").mockImplementation(() => {});
    onTestFinished(() => print.mockRestore());
    const reason = new Error("no log");
    const onEndpoint = () => Promise.reject(reason);
    const transport = createTransport({ resolver: fixed(addressesOf(await startServers(1))), onEndpoint });
    onTestFinished(() => transport.close());
    expect((await createGreetServiceClient(transport).greet({})).greeting).toBe("0");
    expect(print).toHaveBeenCalledWith("triple-es: the hook onEndpoint failed:", reason);
  });
});
