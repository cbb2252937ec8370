/** Transports to several servers, over sockets: rolling restarts, lost servers, names and TLS. */
import { createHook } from "node:async_hooks";
import { Code, RpcError } from "triple-es";
import { consistentHash, fixed, pickFirst, type Resolver, roundRobin } from "triple-es/discovery";
import { type BalancedTransportOptions, createTransport } from "triple-es/node";
import { describe, expect, it, onTestFinished } from "vitest";
import { createGreetServiceClient } from "../../examples/gen/greet/v1/greet_triple.ts";
import { hasOpenssl, sharedCertificates } from "../support/certificate.ts";
import { freePort } from "../support/port.ts";
import { failureOf, startServer } from "../support/server.ts";

const connect = (options: BalancedTransportOptions) => {
  const transport = createTransport(options);
  onTestFinished(() => transport.close());
  return { transport, client: createGreetServiceClient(transport) };
};

/** Starts servers that respond with their index. */
const startServers = (count: number) =>
  Promise.all(Array.from({ length: count }, (_, index) => startServer({ greet: () => ({ greeting: `${index}` }) })));

const addressesOf = (servers: readonly { readonly port: number }[]): string[] =>
  servers.map(({ port }) => `127.0.0.1:${port}`);

it("a call to one of several endpoints creates no more promises than a call with a base URL", async () => {
  const [server] = await startServers(1);
  const baseUrl = `http://127.0.0.1:${server?.port}`;
  const plain = createTransport({ baseUrl });
  onTestFinished(() => plain.close());
  const { client: balanced } = connect({ resolver: fixed(addressesOf(server === undefined ? [] : [server])) });
  let promises = 0;
  const hook = createHook({
    init(_id, type) {
      if (type === "PROMISE") promises++;
    },
  });
  onTestFinished(() => void hook.disable());
  const count = async (client: typeof balanced): Promise<number> => {
    await client.greet({});
    hook.enable();
    promises = 0;
    for (let calls = 0; calls < 100; calls++) await client.greet({});
    hook.disable();
    return promises;
  };
  const alone = await count(createGreetServiceClient(plain));
  expect(alone).toBeGreaterThan(100);
  // Timers of the process may add a few.
  expect(await count(balanced)).toBeLessThan(alone + 50);
});

describe.each(["grpc", "http-rpc"] as const)("over %s", (protocol) => {
  it("all endpoints are used", async () => {
    const servers = await startServers(3);
    const { client, transport } = connect({ resolver: fixed(addressesOf(servers)), balancer: roundRobin(), protocol });
    await client.greet({});
    await expect
      .poll(() => transport.endpoints().map(({ state }) => state), { timeout: 10_000 })
      .toEqual(["ready", "ready", "ready"]);
    const answers = new Map<string, number>();
    for (let i = 0; i < 30; i++) {
      const { greeting } = await client.greet({});
      answers.set(greeting, (answers.get(greeting) ?? 0) + 1);
    }
    expect([...answers.values()]).toEqual([10, 10, 10]);
  });

  it("endpoints of the zone take all calls, and those of another zone when they are lost", async () => {
    const servers = await startServers(3);
    const list = addressesOf(servers).map((address, index) => ({ address, zone: index === 1 ? "far" : "near" }));
    const { client, transport } = connect({ resolver: fixed(list), zone: "near", protocol });
    await client.greet({});
    await expect
      .poll(() => transport.endpoints().map(({ state }) => state), { timeout: 10_000 })
      .toEqual(["ready", "ready", "ready"]);
    const answers = async (): Promise<string[]> => {
      const all = new Set<string>();
      for (let i = 0; i < 30; i++) all.add((await client.greet({})).greeting);
      return [...all].sort();
    };
    expect(await answers()).toEqual(["0", "2"]);
    await Promise.all([servers[0]?.server.close(), servers[2]?.server.close()]);
    await expect.poll(answers, { timeout: 10_000 }).toEqual(["1"]);
  });

  it("the error of a call has the endpoint that was chosen, or the name of the target without one", async () => {
    const { port } = await startServer({
      greet: () => {
        throw new RpcError(Code.NotFound, "no such name");
      },
    });
    const { client } = connect({ resolver: fixed([`127.0.0.1:${port}`]), protocol });
    expect(await failureOf(client.greet({}))).toMatchObject({ code: Code.NotFound, target: `127.0.0.1:${port}` });
    const none = connect({ resolver: fixed(["127.0.0.1:9"]), authority: "greet.example.com", protocol });
    expect(await failureOf(none.client.greet({}))).toMatchObject({ target: "greet.example.com" });
  });

  it("no call is lost over HTTP/2 while servers restart one after the other", async () => {
    const seen = new Map<string, number>();
    const handler = {
      greet: ({ name }: { readonly name: string }) => {
        seen.set(name, (seen.get(name) ?? 0) + 1);
        return { greeting: name };
      },
    };
    const servers = await Promise.all([startServer(handler), startServer(handler), startServer(handler)]);
    const { client } = connect({
      resolver: fixed(addressesOf(servers)),
      protocol,
      httpVersion: "2",
      maxBackoffMs: 100,
    });
    let isOver = false;
    let calls = 0;
    const failures: unknown[] = [];
    const callers = Array.from({ length: 8 }, async () => {
      while (!isOver) {
        const name = `call ${calls++}`;
        await client.greet({ name }).catch((error: unknown) => failures.push(error));
        await new Promise(setImmediate);
      }
    });
    for (const { server, port } of servers) {
      const at = calls;
      await expect.poll(() => calls, { timeout: 10_000 }).toBeGreaterThan(at + 50);
      await server.close();
      const gone = calls;
      await expect.poll(() => calls, { timeout: 10_000 }).toBeGreaterThan(gone + 50);
      await startServer(handler, {}, port);
    }
    isOver = true;
    await Promise.all(callers);
    expect(failures).toEqual([]);
    expect([...seen.values()].filter((times) => times > 1)).toEqual([]);
    expect(seen.size).toBe(calls);
  });
});

describe.each(["grpc", "http-rpc"] as const)("a provider among others, over %s", (protocol) => {
  const allReady = ({ transport }: Pick<ReturnType<typeof connect>, "transport">): Promise<void> =>
    expect.poll(() => transport.endpoints().every(({ state }) => state === "ready"), { timeout: 10_000 }).toBe(true);

  it("that fails all calls is ejected after five, and gets calls again when it is over", async () => {
    let isBroken = true;
    const failing = await startServer({
      greet() {
        if (isBroken) throw new RpcError(Code.Unavailable, "overloaded");
        return { greeting: "mended" };
      },
    });
    const servers = [failing, ...(await startServers(2))];
    const states: string[] = [];
    const { client, transport } = connect({
      resolver: fixed(addressesOf(servers)),
      balancer: roundRobin(),
      ejection: { baseEjectionTimeMs: 500 },
      protocol,
      httpVersion: "2",
      onEndpoint: (event) => {
        if (event.type === "endpoint" && event.address.endsWith(`:${failing.port}`)) states.push(event.state);
      },
    });
    let lost = 0;
    const call = () => client.greet({}).catch(() => void lost++);
    await call();
    await allReady({ transport });
    while (!states.includes("ejected")) await call();
    expect(lost).toBe(5);
    isBroken = false;
    await expect.poll(async () => (await client.greet({})).greeting, { timeout: 10_000 }).toBe("mended");
    expect(states).toEqual(["ready", "ejected", "ready"]);
  });

  it("with the weight 0 gets no calls until all others are gone, and then all", async () => {
    const [standby, other] = await startServers(2);
    const addresses = [`127.0.0.1:${standby?.port}`, `127.0.0.1:${other?.port}`];
    const resolver: Resolver = async function* () {
      yield addresses.map((address, index) => ({ address, weight: index * 100 }));
    };
    const { client, transport } = connect({ resolver, protocol, httpVersion: "2" });
    await client.greet({});
    await allReady({ transport });
    for (let calls = 0; calls < 50; calls++) expect((await client.greet({})).greeting).toBe("1");
    await other?.server.close();
    for (let calls = 0; calls < 50; calls++) expect((await client.greet({})).greeting).toBe("0");
  });
});

it("a stream ends whole while its server closes, and other calls go to the other server", async () => {
  const goOn: (() => void)[] = [];
  const [going, staying] = await Promise.all(
    [0, 1].map(() =>
      startServer({
        async *greetEach({ names }) {
          yield { greeting: "begun" };
          await new Promise<void>((resolve) => goOn.push(resolve));
          for (const greeting of names) yield { greeting };
        },
      }),
    ),
  );
  const addresses = addressesOf(going === undefined || staying === undefined ? [] : [going, staying]);
  const { client, transport } = connect({ resolver: fixed(addresses), balancer: pickFirst() });
  const names = Array.from({ length: 100 }, (_, index) => `name ${index}`);
  const stream = client.greetEach({ names })[Symbol.asyncIterator]();
  expect((await stream.next()).value).toEqual(expect.objectContaining({ greeting: "begun" }));
  const closed = going?.server.close();
  await expect.poll(() => transport.endpoints()[0]?.state, { timeout: 10_000 }).not.toBe("ready");
  for (let calls = 0; calls < 20; calls++) expect((await client.greet({ name: "x" })).greeting).toBe("Hello, x!");
  goOn[0]?.();
  const received: string[] = [];
  for (let one = await stream.next(); !one.done; one = await stream.next()) received.push(one.value.greeting);
  expect(received).toEqual(names);
  await closed;
});

describe("a transport with a resolver", () => {
  it("does not send calls to an endpoint that refuses connections", async () => {
    const [server] = await startServers(1);
    const dead = `127.0.0.1:${await freePort()}`;
    const { client, transport } = connect({ resolver: fixed([dead, ...addressesOf(server ? [server] : [])]) });
    for (let i = 0; i < 5; i++) expect((await client.greet({})).greeting).toBe("0");
    await expect.poll(() => transport.endpoints()[0]?.state, { timeout: 10_000 }).toBe("failing");
    expect(transport.endpoints()[0]?.lastError?.rawMessage).toContain("ECONNREFUSED");
  });

  it("fails at once with the reasons if no endpoint can be reached", async () => {
    const dead = [`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`];
    const { client } = connect({ resolver: fixed(dead), authority: "greet.test" });
    const error = await failureOf(client.greet({}));
    expect(error).toMatchObject({ code: Code.Unavailable });
    expect(error.rawMessage).toMatch(
      /^cannot reach greet\.test: connection to 127\.0\.0\.1:\d+ failed: connect ECONNREFUSED/,
    );
  });

  it("retries by policy on top of its picks", async () => {
    let calls = 0;
    const { port } = await startServer({
      greet() {
        if (++calls < 3) throw new RpcError(Code.Unavailable, "not yet");
        return { greeting: "at last" };
      },
    });
    const { client } = connect({
      resolver: fixed([`127.0.0.1:${port}`]),
      retry: { applies: () => true, initialBackoffMs: 1 },
    });
    expect((await client.greet({})).greeting).toBe("at last");
  });

  it("sends a retry to an endpoint that the call has not tried", async () => {
    const attempts = new Map<string, number[]>();
    const servers = await Promise.all(
      [0, 1, 2].map((index) =>
        startServer({
          greet({ name }) {
            const seen = attempts.get(name) ?? [];
            attempts.set(name, [...seen, index]);
            if (seen.length < 2) throw new RpcError(Code.Unavailable, "not yet");
            return { greeting: "at last" };
          },
        }),
      ),
    );
    const { client, transport } = connect({
      resolver: fixed(addressesOf(servers)),
      retry: { applies: () => true, initialBackoffMs: 1 },
      ejection: { failures: 0 },
    });
    await client.greet({ name: "first" });
    await expect
      .poll(() => transport.endpoints().every(({ state }) => state === "ready"), { timeout: 10_000 })
      .toBe(true);
    const names = Array.from({ length: 20 }, (_, call) => `call ${call}`);
    for (const name of names) await client.greet({ name });
    for (const name of names) expect(attempts.get(name)?.sort()).toEqual([0, 1, 2]);
  });

  it("sends a key to one endpoint by consistent hashing", async () => {
    const servers = await startServers(3);
    const { client, transport } = connect({
      resolver: fixed(addressesOf(servers)),
      balancer: consistentHash("x-user"),
    });
    await client.greet({});
    await expect
      .poll(() => transport.endpoints().every(({ state }) => state === "ready"), { timeout: 10_000 })
      .toBe(true);
    const ask = async (user: string): Promise<string> =>
      (await client.greet({}, { headers: { "x-user": user } })).greeting;
    const answers = await Promise.all(Array.from({ length: 10 }, () => ask("ann")));
    expect(new Set(answers).size).toBe(1);
  });

  it("applies the policy, retries and timeouts of a service config that arrives with the endpoints", async () => {
    let calls = 0;
    const { port } = await startServer({
      greet() {
        if (++calls < 2) throw new RpcError(Code.Aborted, "conflict");
        return { greeting: "at last" };
      },
    });
    const retryPolicy = {
      maxAttempts: 2,
      initialBackoff: "0.001s",
      maxBackoff: "1s",
      backoffMultiplier: 2,
      retryableStatusCodes: ["ABORTED"],
    };
    const problems: string[] = [];
    const { client } = connect({
      async *resolver({ configure }) {
        configure({ loadBalancingConfig: [{ round_robin: {} }], methodConfig: [{ name: [{}], retryPolicy }] });
        configure("{ not JSON");
        yield [{ address: `127.0.0.1:${port}` }];
      },
      onEndpoint: (event) => event.type === "invalid service config" && problems.push(event.problem),
    });
    // The first call starts the resolution, and waits for the config.
    expect((await client.greet({})).greeting).toBe("at last");
    expect(problems).toEqual([expect.stringContaining("the service config is not JSON")]);
  });

  it.skipIf(!hasOpenssl)("verifies certificates against its authority, not the address (needs openssl)", async () => {
    const { ca, server } = sharedCertificates();
    const { port } = await startServer({}, { tls: server });
    const resolver = fixed([`127.0.0.1:${port}`]);
    for (const protocol of ["grpc", "http-rpc"] as const) {
      const { client } = connect({ resolver, protocol, authority: "localhost", tls: { ca } });
      expect((await client.greet({ name: "Dubbo" })).greeting).toBe("Hello, Dubbo!");
      const other = connect({ resolver, protocol, authority: "other.test", tls: { ca } });
      expect((await failureOf(other.client.greet({}))).code).toBe(Code.Unavailable);
    }
  });

  it.each<[Partial<BalancedTransportOptions>, string]>([
    [{ baseUrl: "http://localhost:1" as never }, "baseUrl and resolver exclude each other"],
    [{ resolver: "dns" as never }, "resolver must be a function"],
    [{ balancer: "p2c" as never }, "balancer must be a function"],
    [{ subset: 0 }, "subset must be an integer of 1 or more, not 0"],
    [{ keepUnlistedMs: -1 }, "keepUnlistedMs must be 0 or more, not -1"],
    [{ ejection: { failures: Number.NaN } }, "ejection.failures must be 0 or more, not NaN"],
    [{ authority: "a/b" }, 'authority "a/b" must be a host, or a host and a port'],
    [{ serviceConfig: { loadBalancingConfig: [{ xds: {} }] } }, "loadBalancingConfig: none of xds is known"],
  ])("refuses %o", (options, message) => {
    expect(() => createTransport({ resolver: fixed(["a:1"]), ...options })).toThrow(message);
  });
});
