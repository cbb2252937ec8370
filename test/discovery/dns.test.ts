/**
 * The resolver for DNS names, tested with dnsmasq: addresses, SRV records, TTLs, failures, and service configs in TXT
 * records.
 */
import { createSocket } from "node:dgram";
import { Resolver as DnsResolver } from "node:dns/promises";
import fc from "fast-check";
import { dns, type Endpoint, type Resolver, type TargetEvent } from "triple-es/discovery";
import { createTransport } from "triple-es/node";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { createGreetServiceClient } from "../../examples/gen/greet/v1/greet_triple.ts";
import { parseServiceConfig } from "../../runtime/src/client/service-config.ts";
import { chooseServiceConfig } from "../../runtime/src/node/service-config-record.ts";
import { hasDnsmasq, startDns } from "../support/dnsmasq.ts";
import { failureOf, startServer } from "../support/server.ts";

/** Runs a resolver until the end of the test, and records its lists, its service configs and its failure. */
function run(resolver: Resolver) {
  const end = new AbortController();
  onTestFinished(() => end.abort());
  const seen: { lists: (readonly Endpoint[])[]; configs: unknown[]; error: Error | undefined; waits: number[] } = {
    lists: [],
    configs: [],
    error: undefined,
    waits: [],
  };
  const context = {
    signal: end.signal,
    configure: (config: unknown) => seen.configs.push(config),
    warn: (problem: string) => {
      throw new Error(problem);
    },
    next: (maxMs: number) => {
      seen.waits.push(maxMs);
      return new Promise<void>((resolve) => setTimeout(resolve, maxMs).unref());
    },
  };
  const done = (async () => {
    for await (const list of resolver(context)) seen.lists.push(list);
  })().catch((error: Error) => {
    seen.error = error;
  });
  return { seen, done };
}

function isArray(json: string): boolean {
  try {
    return Array.isArray(JSON.parse(json));
  } catch {
    return false;
  }
}

/** Returns the first list of a resolver. */
async function firstOf(resolver: Resolver): Promise<string[]> {
  const { seen, done } = run(resolver);
  await expect.poll(() => seen.lists.length + (seen.error ? 1 : 0), { timeout: 15_000 }).toBeGreaterThan(0);
  if (seen.error !== undefined) await done.then(() => Promise.reject(seen.error));
  return (seen.lists[0] ?? []).map(({ address }) => address).sort();
}

describe.skipIf(!hasDnsmasq)("names in the DNS (needs dnsmasq)", () => {
  it("have their addresses for endpoints, of both families or one", async () => {
    const { address } = await startDns({ "greet.test": ["127.0.0.1", "127.0.0.2", "::1"] });
    const servers = [address];
    expect(await firstOf(dns("greet.test:50051", { servers }))).toEqual([
      "127.0.0.1:50051",
      "127.0.0.2:50051",
      "[::1]:50051",
    ]);
    expect(await firstOf(dns("greet.test:50051", { servers, family: 6 }))).toEqual(["[::1]:50051"]);
    expect(await firstOf(dns("greet.test:50051", { servers, family: 4 }))).toHaveLength(2);
  });

  it("are resolved again when their TTL ends", async () => {
    const server = await startDns({ "greet.test": ["127.0.0.1"] });
    const { seen } = run(dns("greet.test:1", { servers: [server.address] }));
    await expect.poll(() => seen.lists.length, { timeout: 10_000 }).toBe(1);
    await server.setHosts({ "greet.test": ["127.0.0.1", "127.0.0.3"] });
    await expect.poll(() => seen.lists.at(-1), { timeout: 10_000 }).toHaveLength(2);
    expect(seen.waits.every((ms) => ms === 1_000)).toBe(true);
  });

  it("have no endpoints if they do not exist, and fail if the DNS server is unreachable or refuses", async () => {
    const server = await startDns({});
    const servers = [server.address];
    expect(await firstOf(dns("unknown.test:1", { servers }))).toEqual([]);
    await expect(firstOf(dns("greet.example:1", { servers }))).rejects.toThrow(
      "the DNS does not answer for greet.example: EREFUSED",
    );
    await server.kill();
    await expect(firstOf(dns("away.test:1", { servers }))).rejects.toThrow(
      /the DNS does not answer for away.test: E(CONNREFUSED|TIMEOUT)/,
    );
  });

  it("without a port are those of SRV records: of the lowest priority, with their weights", async () => {
    const records = [
      "srv-host=_grpc._tcp.greet.test,one.test,50051,0,10",
      "srv-host=_grpc._tcp.greet.test,two.test,50052,0,30",
      "srv-host=_grpc._tcp.greet.test,three.test,50053,5,10",
    ];
    const hosts = { "one.test": ["127.0.0.1"], "two.test": ["127.0.0.2"], "three.test": ["127.0.0.3"] };
    const { address } = await startDns(hosts, records);
    for (const name of ["greet.test", "_grpc._tcp.greet.test"]) {
      const resolver = dns(name, { servers: [address] });
      expect(resolver.authority).toBe("greet.test");
      const { seen } = run(resolver);
      await expect.poll(() => seen.lists.length, { timeout: 10_000 }).toBe(1);
      expect([...(seen.lists[0] ?? [])].sort((a, b) => (a.address < b.address ? -1 : 1))).toEqual([
        { address: "127.0.0.1:50051", weight: 10 },
        { address: "127.0.0.2:50052", weight: 30 },
      ]);
    }
  });

  it("use the targets of SRV records that are resolved, with a warning for the others, unless there is none", async () => {
    const broken = "srv-host=_grpc._tcp.greet.test,gone.example,50052,0,10";
    const hosts = { "one.test": ["127.0.0.1"] };
    const { address } = await startDns(hosts, ["srv-host=_grpc._tcp.greet.test,one.test,50051,0,10", broken]);
    const problems: string[] = [];
    const { value: list } = await dns("greet.test", { servers: [address] })({
      signal: new AbortController().signal,
      next: async () => {},
      configure() {},
      warn: (problem) => problems.push(problem),
    })
      [Symbol.asyncIterator]()
      .next();
    expect(list).toEqual([{ address: "127.0.0.1:50051", weight: 10 }]);
    expect(problems).toEqual([
      "the target gone.example:50052 of _grpc._tcp.greet.test has no new addresses: the DNS does not answer for gone.example: EREFUSED",
    ]);
    const none = await startDns(hosts, [broken]);
    await expect(firstOf(dns("greet.test", { servers: [none.address] }))).rejects.toThrow(
      "the DNS does not answer for gone.example: EREFUSED",
    );
  });

  it("are resolved at most once a second per process, for any number of transports", async () => {
    const { address } = await startDns({ "greet.test": ["127.0.0.1"] });
    const lists = await Promise.all(
      Array.from({ length: 5 }, async () => {
        const { seen } = run(dns("greet.test:1", { servers: [address] }));
        await expect.poll(() => seen.lists.length, { timeout: 10_000 }).toBeGreaterThan(0);
        return seen.lists[0];
      }),
    );
    // The identical object, not only an equal one.
    expect(new Set(lists).size).toBe(1);
  });

  it("have no endpoints if there are no SRV records", async () => {
    const { address } = await startDns({ "greet.test": ["127.0.0.1"] });
    expect(await firstOf(dns("greet.test", { servers: [address] }))).toEqual([]);
  });

  it("have a service config if the option requests it", async () => {
    const config = { loadBalancingConfig: [{ round_robin: {} }] };
    const choices = [
      { clientLanguage: ["go"], serviceConfig: {} },
      { clientLanguage: ["node"], percentage: 100, serviceConfig: config },
    ];
    // dnsmasq splits a text at commas into several strings.
    const text = `grpc_config=${JSON.stringify(choices)}`.replaceAll('"', '\\"');
    const { address } = await startDns({ "greet.test": ["127.0.0.1"] }, [
      `txt-record=_grpc_config.greet.test,"${text}"`,
    ]);
    const { seen } = run(dns("greet.test:1", { servers: [address], serviceConfig: true }));
    await expect.poll(() => seen.lists.length, { timeout: 10_000 }).toBeGreaterThan(0);
    expect(seen.configs[0]).toEqual(config);
    const without = run(dns("greet.test:1", { servers: [address] }));
    await expect.poll(() => without.seen.lists.length, { timeout: 10_000 }).toBeGreaterThan(0);
    expect(without.seen.configs).toEqual([]);
  });

  it("lead a transport to new servers without a connection lost, and to the last ones when the DNS is away", async () => {
    const handlerOf = (greeting: string) => ({ greet: () => ({ greeting }) });
    const first = await startServer(handlerOf("first"));
    const dnsServer = await startDns({ "one.test": ["127.0.0.1"] }, [
      `srv-host=_grpc._tcp.greet.test,one.test,${first.port},0,0`,
    ]);
    const transport = createTransport({ resolver: dns("greet.test", { servers: [dnsServer.address] }) });
    onTestFinished(() => transport.close());
    const client = createGreetServiceClient(transport);
    expect((await client.greet({})).greeting).toBe("first");
    await dnsServer.kill();
    const second = await startServer(handlerOf("second"));
    expect((await client.greet({})).greeting).toBe("first");
    await dnsServer.restart([
      `srv-host=_grpc._tcp.greet.test,one.test,${first.port},0,0`,
      `srv-host=_grpc._tcp.greet.test,one.test,${second.port},0,0`,
    ]);
    await expect.poll(async () => (await client.greet({})).greeting, { timeout: 30_000, interval: 20 }).toBe("second");
    expect(transport.endpoints().map(({ lastError }) => lastError)).toEqual([undefined, undefined]);
  });

  it("keep their last addresses through a partition longer than their TTL, in which no call is lost", async () => {
    const server = await startServer({ greet: () => ({ greeting: "here" }) });
    const dnsServer = await startDns({ "greet.test": ["127.0.0.1"] });
    const events: TargetEvent[] = [];
    const transport = createTransport({
      resolver: dns(`greet.test:${server.port}`, { servers: [dnsServer.address], family: 4 }),
      keepUnlistedMs: 0,
      onEndpoint: (event) => events.push(event),
    });
    onTestFinished(() => transport.close());
    const client = createGreetServiceClient(transport);
    expect((await client.greet({})).greeting).toBe("here");
    dnsServer.pause();
    const failures = () => events.flatMap((event) => (event.type === "resolver failed" ? event.error.rawMessage : []));
    // The TTL is a second, and a query has two tries.
    await expect
      .poll(async () => [(await client.greet({})).greeting, failures().length], { timeout: 30_000, interval: 20 })
      .toEqual(["here", 1]);
    expect(failures()).toEqual(["the DNS does not answer for greet.test: ETIMEOUT"]);
    expect(transport.endpoints()).toMatchObject([{ address: `127.0.0.1:${server.port}`, state: "ready" }]);
    dnsServer.resume();
    await dnsServer.setHosts({ "greet.test": ["127.0.0.1", "127.0.0.2"] });
    await expect.poll(() => transport.endpoints().length, { timeout: 30_000 }).toBe(2);
    expect((await client.greet({})).greeting).toBe("here");
    expect(failures()).toHaveLength(1);
  });

  it("make calls fail at once, with the reason, if the first resolution fails", async () => {
    const { address } = await startDns({});
    const transport = createTransport({ resolver: dns("greet.example:1", { servers: [address] }) });
    onTestFinished(() => transport.close());
    const error = await failureOf(createGreetServiceClient(transport).greet({}));
    expect(error.rawMessage).toBe("cannot reach greet.example:1: the DNS does not answer for greet.example: EREFUSED");
  });

  it("without SRV records and without a port make calls fail with the name of the records and what to add", async () => {
    const { address } = await startDns({ "greet.test": ["127.0.0.1"] });
    const reasons: Record<string, string> = {};
    for (const name of ["greet.test", "_greet._tcp.greet.test", "missing.test:1"]) {
      const transport = createTransport({ resolver: dns(name, { servers: [address] }) });
      onTestFinished(() => transport.close());
      reasons[name] = (await failureOf(createGreetServiceClient(transport).greet({}))).rawMessage;
    }
    expect(reasons).toEqual({
      "greet.test":
        "cannot reach greet.test: it has no endpoints in the SRV records of _grpc._tcp.greet.test; add a port for its addresses, such as greet.test:50051",
      "_greet._tcp.greet.test":
        "cannot reach greet.test: it has no endpoints in the SRV records of _greet._tcp.greet.test",
      "missing.test:1": "cannot reach missing.test:1: it has no endpoints",
    });
  });
});

it("a name has no endpoints after NXDOMAIN, and keeps its last ones after SERVFAIL and REFUSED", async () => {
  const NXDOMAIN = 3;
  const failures = { ESERVFAIL: 2, EREFUSED: 5 };
  let rcode = 0;
  // dnsmasq answers no SERVFAIL. Responses repeat the query, with a code or with one address that expires at once.
  const socket = createSocket("udp4", (query, { port, address }) => {
    const head = Buffer.from(query.subarray(0, 12));
    head.writeUInt16BE(0x8180 | rcode, 2);
    head.writeUInt16BE(rcode === 0 ? 1 : 0, 6);
    head.writeUInt32BE(0, 8);
    const question = query.subarray(12, query.indexOf(0, 12) + 5);
    const record = [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 127, 0, 0, 1];
    socket.send(Buffer.concat([head, question, Buffer.from(rcode === 0 ? record : [])]), port, address);
  });
  onTestFinished(() => void socket.close());
  await new Promise<void>((resolve) => socket.bind(0, "127.0.0.1", resolve));
  const servers = [`127.0.0.1:${socket.address().port}`];
  const { port } = await startServer({ greet: () => ({ greeting: "here" }) });
  const events: TargetEvent[] = [];
  const transport = createTransport({
    resolver: dns(`greet.test:${port}`, { servers, family: 4 }),
    keepUnlistedMs: 0,
    onEndpoint: (event) => events.push(event),
  });
  onTestFinished(() => transport.close());
  const client = createGreetServiceClient(transport);
  const reasons = () => events.flatMap((event) => (event.type === "resolver failed" ? event.error.rawMessage : []));
  for (const [name, code] of Object.entries(failures)) {
    rcode = 0;
    expect(await client.greet({})).toMatchObject({ greeting: "here" });
    await expect
      .poll(() => events.findLast(({ type }) => type.startsWith("resolve"))?.type, { timeout: 30_000 })
      .toBe("resolved");
    rcode = code;
    await expect
      .poll(() => reasons().at(-1), { timeout: 30_000 })
      .toBe(`the DNS does not answer for greet.test: ${name}`);
    expect(await client.greet({})).toMatchObject({ greeting: "here" });
    expect(transport.endpoints()).toHaveLength(1);
  }
  rcode = NXDOMAIN;
  await expect.poll(() => transport.endpoints(), { timeout: 30_000 }).toEqual([]);
  expect((await failureOf(client.greet({}))).rawMessage).toContain("it has no endpoints");
  expect(reasons()).toHaveLength(2);
});

it("a failure of the DNS is shared by the queries of its time only, so that the next one may succeed", async () => {
  onTestFinished(() => void vi.restoreAllMocks());
  vi.spyOn(DnsResolver.prototype, "resolve4")
    .mockRejectedValueOnce(Object.assign(new Error("refused"), { code: "EREFUSED" }))
    .mockResolvedValue([{ address: "10.0.0.1", ttl: 1 }] as never);
  const ask = (): Promise<string[]> => firstOf(dns("again.test:1", { servers: ["127.0.0.1"], family: 4 }));
  const failed = await Promise.allSettled([ask(), ask()]);
  expect(failed.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect(await ask()).toEqual(["10.0.0.1:1"]);
});

it("targets of SRV records keep their addresses while the DNS does not resolve them, for all transports", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => {
    vi.useRealTimers();
    vi.restoreAllMocks();
  });
  const record = (name: string, weight: number) => ({ name, port: 1, priority: 0, weight });
  vi.spyOn(DnsResolver.prototype, "resolveSrv").mockResolvedValue([
    record("good", 1),
    record("bad", 1),
    record("bad", 2),
  ]);
  let isBroken = false;
  vi.spyOn(DnsResolver.prototype, "resolve4").mockImplementation((async (host: string) => {
    if (isBroken && host === "bad") throw Object.assign(new Error("refused"), { code: "EREFUSED" });
    return [{ address: host === "bad" ? "10.0.0.2" : "10.0.0.1", ttl: 1 }];
  }) as unknown as DnsResolver["resolve4"]);
  const context = { signal: new AbortController().signal, next: async () => {}, configure() {}, warn() {} };
  const name = "targets.test";
  const transports = [0, 1].map(() =>
    dns(name, { servers: ["127.0.0.1"], family: 4 })(context)[Symbol.asyncIterator](),
  );
  for (let round = 0; round < 8; round++) {
    isBroken = round > 0;
    // The transport that asks first gives the answer to the other.
    for (const transport of round % 2 === 0 ? transports : transports.toReversed()) {
      const { value: list = [] } = await transport.next();
      // A target that is there twice has the weight of its last record.
      expect(list).toEqual([
        { address: "10.0.0.1:1", weight: 1 },
        { address: "10.0.0.2:1", weight: 2 },
      ]);
    }
    await vi.advanceTimersByTimeAsync(1_000);
  }
});

describe("names of the system", () => {
  it("are resolved by it: localhost and addresses", async () => {
    expect(await firstOf(dns("localhost:50051", { family: 4 }))).toEqual(["127.0.0.1:50051"]);
    expect(await firstOf(dns("10.0.0.1:50051"))).toEqual(["10.0.0.1:50051"]);
    expect(await firstOf(dns("[::1]:50051"))).toEqual(["[::1]:50051"]);
  });

  it.each(["", "http://a:1", "a:0", "a:70000", "a b", "[::1]", "a:1/b"])("dns(%j) is refused", (name) => {
    expect(() => dns(name)).toThrow(`dns("${name}") must be a name with a port`);
  });

  it("a name that is not set is refused, such as that of a missing environment variable", () => {
    expect(() => dns(undefined as never)).toThrow("dns(undefined) must be a name with a port");
  });

  it.each([5, "4", null])("the family %j is refused", (family) => {
    expect(() => dns("a:1", { family: family as never })).toThrow(
      `family must be in [0,4,6], not ${JSON.stringify(family)}`,
    );
  });
});

describe("a service config in a TXT record", () => {
  const record = (choices: unknown): string[][] => [["v=spf1"], ["grpc_config=", JSON.stringify(choices)]];

  it("is that of the first choice for this client: by language, host and share", () => {
    const choices = [
      { clientLanguage: ["go", "java"], serviceConfig: 1 },
      { clientHostname: ["other"], serviceConfig: 2 },
      { percentage: 20, serviceConfig: 3 },
      { clientLanguage: [], clientHostname: ["here"], serviceConfig: 4 },
    ];
    expect(chooseServiceConfig(record(choices), "here", () => 0.1)).toBe(3);
    expect(chooseServiceConfig(record(choices), "here", () => 0.2)).toBe(4);
    expect(chooseServiceConfig(record(choices), "elsewhere", () => 0.2)).toBeUndefined();
    expect(chooseServiceConfig([["v=spf1"]], "here", () => 0)).toBeUndefined();
  });

  it("is absent, valid or rejected when it is parsed, for any text", () => {
    const text = fc.oneof(
      fc.string(),
      fc.jsonValue().map((value) => JSON.stringify(value)),
    );
    fc.assert(
      fc.property(text, (given) => {
        const config = chooseServiceConfig([[`grpc_config=${given}`]], "here", () => 0.5);
        if (!isArray(given)) expect(() => parseServiceConfig(config)).toThrow(TypeError);
        else if (config !== undefined)
          expect(JSON.parse(given)).toContainEqual(expect.objectContaining({ serviceConfig: config }));
      }),
    );
  });
});
