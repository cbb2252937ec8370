/**
 * The cells that every registry must pass: a real server, providers and consumers of ours, and the bad situations of
 * both. Each has a bound on lost calls and on time.
 */
import type { Instance, Registry } from "triple-es/discovery";
import { createTransport } from "triple-es/node";
import { expect, it, onTestFinished } from "vitest";
import { createMetadataServiceV2Client } from "../../dubbo/src/gen/org/apache/dubbo/metadata/metadata_service_v2_triple.ts";
import { writeProviderUrl } from "../../dubbo/src/registry/dubbo/provider-url.ts";
import type { TreeOptions } from "../../dubbo/src/registry/tree.ts";
import { createGreetServiceClient } from "../../examples/gen/greet/v1/greet_triple.ts";
import { cuttableProxy } from "../support/cuttable-proxy.ts";
import type { RegistryProcess } from "../support/registries/process.ts";
import {
  checkRules,
  figure,
  openConsumer,
  startLoad,
  startProvider,
  startProviderProcess,
  timeList,
  timeUntil,
  watchBlocks,
} from "./fleet.ts";

const SERVICE = "greet.v1.GreetService";

export interface RegistryUnderTest {
  readonly kind: "etcd" | "zookeeper";
  /** Time in milliseconds after which a session or lease of a lost client ends. */
  readonly ttlMs: number;
  start(): Promise<RegistryProcess>;
  connect(address: string, options?: Partial<TreeOptions>): Registry;
  /** The paths of ephemeral entries, as the registry's own tools report them. */
  ephemeral(server: RegistryProcess): Promise<string[]>;
  /** Writes a persistent entry. */
  write(server: RegistryProcess, path: string, content: string): Promise<void>;
  /** Writes many entries at once, each a path and its content. */
  writeAll(server: RegistryProcess, entries: readonly (readonly [path: string, content: string])[]): Promise<void>;
  /** Writes an instance as the registry's providers do. */
  writeInstance(instance: Instance): string;
  read(server: RegistryProcess, path: string): Promise<string | undefined>;
}

export function describeCells({
  kind,
  ttlMs,
  start,
  connect,
  ephemeral,
  write,
  writeAll,
  writeInstance,
  read,
}: RegistryUnderTest): void {
  async function startServer(): Promise<RegistryProcess> {
    const server = await start();
    onTestFinished(() => server.close());
    return server;
  }

  function open(server: Pick<RegistryProcess, "address">, options?: Partial<TreeOptions>): Registry {
    const registry = connect(server.address, options);
    onTestFinished(() => registry.close());
    return registry;
  }

  const entriesOf = async (server: RegistryProcess, address: string): Promise<string[]> =>
    (await ephemeral(server)).filter((path) => decodeURIComponent(path).includes(address));

  it("a provider is registered at both levels, found, changed and removed", async () => {
    const server = await startServer();
    const provider = await startProvider(open(server), { attributes: { "dubbo.tag": "gray" } });
    await provider.registration.ready;
    expect(await entriesOf(server, provider.address)).toHaveLength(2);
    expect(await read(server, `/dubbo/mapping/${SERVICE}`)).toBe("shop");
    const consumer = openConsumer(open(server));
    expect(await consumer.client.greet({ name: "x" })).toMatchObject({ greeting: provider.address });
    expect(consumer.addresses()).toEqual([provider.address]);
    const weighed = timeUntil(() => consumer.transport.endpoints()[0]?.weight === 7, 5_000);
    await provider.registration.update({ weight: 7 });
    figure(`weight change ${Math.round(await weighed)} ms`);
    expect(await entriesOf(server, provider.address)).toHaveLength(2);
    await provider.registration.update({ offline: true });
    expect(await entriesOf(server, provider.address)).toEqual([]);
    await provider.registration.update({ offline: false });
    expect(await entriesOf(server, provider.address)).toHaveLength(2);
    await timeUntil(() => consumer.transport.endpoints()[0]?.weight === 7, 5_000);
    const gone = timeUntil(async () => (await entriesOf(server, provider.address)).length === 0, 5_000);
    const closed = provider.server.close();
    figure(`deregistration ${Math.round(await gone)} ms`);
    // It still answers while consumers learn that it is gone.
    const direct = createTransport({ baseUrl: `http://${provider.address}` });
    onTestFinished(() => direct.close());
    expect(await createGreetServiceClient(direct).greet({})).toMatchObject({ greeting: provider.address });
    await closed;
  });

  it("a consumer is listed while it calls a service, by itself after a restart of the server, and not after its end", async () => {
    const server = await startServer();
    const provider = await startProvider(open(server));
    await provider.registration.ready;
    const consumers = async (): Promise<string[]> =>
      (await ephemeral(server)).filter((path) => path.startsWith(`/dubbo/${SERVICE}/consumers/`));
    const registry = open(server, { application: "web" });
    const consumer = openConsumer(registry);
    expect(await consumer.client.greet({})).toMatchObject({ greeting: provider.address });
    const listedMs = await timeUntil(async () => (await consumers()).length === 1, 10_000);
    figure(`consumer listed ${Math.round(listedMs)} ms after its first call`);
    const [path = ""] = await consumers();
    expect(decodeURIComponent(path)).toMatch(
      /\/consumer:\/\/[^/:]+\/greet\.v1\.GreetService\?application=web&category=consumers&/,
    );
    const definition = `/dubbo/metadata/${SERVICE}/consumer/web`;
    if (kind === "zookeeper") {
      await timeUntil(async () => (await read(server, definition)) !== undefined, 10_000);
      expect(JSON.parse((await read(server, definition)) ?? "")).toMatchObject({
        application: "web",
        side: "consumer",
      });
    } else expect(await read(server, definition)).toBeUndefined();
    await server.kill();
    // Longer than the session.
    await new Promise((resolve) => setTimeout(resolve, 3 * ttlMs));
    await server.restart();
    await timeUntil(async () => (await consumers()).length === 1, 30_000);
    await consumer.transport.close();
    await timeUntil(async () => (await consumers()).length === 0, 10_000);
    const other = openConsumer(registry);
    expect(await other.client.greet({}, { waitForReady: true })).toMatchObject({ greeting: provider.address });
    await timeUntil(async () => (await consumers()).length === 1, 10_000);
    await registry.close();
    await timeUntil(async () => (await consumers()).length === 0, 10_000);
  });

  it("a rule that changes is live within a second, and a malformed one changes nothing", async () => {
    const server = await startServer();
    const path = (key: string): string => `/dubbo/config/dubbo/${key}`;
    await checkRules(
      (options) => open(server, options),
      (key, text = "") => write(server, path(key), text),
    );
  });

  it("MetadataServiceV2 answers as Java asks, and an unknown revision is refused", async () => {
    const server = await startServer();
    const provider = await startProvider(open(server), { group: "blue", version: "1.2.3" });
    const transport = createTransport({ baseUrl: `http://${provider.address}` });
    onTestFinished(() => transport.close());
    const metadata = createMetadataServiceV2Client(transport, { version: "2.0.0", group: "shop" });
    const info = await metadata.getMetadataInfo({});
    expect(info).toMatchObject({ app: "shop", version: expect.stringMatching(/^[0-9a-f]{32}$/) });
    const key = `blue/${SERVICE}:1.2.3:tri`;
    expect(Object.keys(info.services)).toEqual([key]);
    expect(info.services[key]).toMatchObject({
      name: SERVICE,
      group: "blue",
      version: "1.2.3",
      protocol: "tri",
      path: SERVICE,
    });
    await expect(metadata.getMetadataInfo({ revision: "other" })).rejects.toThrow(/no revision "other"/);
  });

  it("a consumer finds providers of its group and version only, by their metadata", async () => {
    const server = await startServer();
    const registry = open(server);
    const blue = await startProvider(registry, { group: "blue", version: "1", mode: "instance" });
    const green = await startProvider(registry, { group: "green", version: "1", mode: "instance" });
    await Promise.all([blue.registration.ready, green.registration.ready]);
    const { transport } = openConsumer(open(server));
    const client = createGreetServiceClient(transport, { group: "green", version: "1" });
    expect(await client.greet({ name: "x" })).toMatchObject({ greeting: green.address });
    expect(transport.endpoints().map(({ address }) => address)).toEqual([green.address]);
    const none = createGreetServiceClient(transport, { group: "red" });
    await expect(none.greet({})).rejects.toMatchObject({ rawMessage: expect.stringContaining("no endpoints") });
  });

  it.each(["instance", "interface"] as const)("a provider at the level %s alone is found", async (mode) => {
    const server = await startServer();
    const provider = await startProvider(open(server), { mode });
    await provider.registration.ready;
    expect(await entriesOf(server, provider.address)).toHaveLength(1);
    expect(await openConsumer(open(server)).client.greet({})).toMatchObject({ greeting: provider.address });
    const only = open(server, { levels: mode, providedBy: { [SERVICE]: ["shop"] } });
    expect(await openConsumer(only).client.greet({})).toMatchObject({ greeting: provider.address });
  });

  it("three providers restarted one after another lose no call and execute none twice", async () => {
    const server = await startServer();
    const registry = open(server);
    const all = [await startProvider(registry), await startProvider(registry), await startProvider(registry)];
    await Promise.all(all.map(({ registration }) => registration.ready));
    const consumer = openConsumer(open(server));
    const load = startLoad(consumer);
    await timeUntil(() => load.made() > 200, 10_000);
    for (let restarts = 0; restarts < 6; restarts++) {
      const old = all[restarts];
      const replacement = await startProvider(registry);
      await replacement.registration.ready;
      all.push(replacement);
      await old?.server.close();
    }
    const { made, lost } = await load.stop();
    const executed = all.flatMap((provider) => provider.executed);
    figure(
      `6 restarts under ${made} calls: ${lost.length} lost, ${executed.length - new Set(executed).size} executed twice`,
    );
    expect(lost).toEqual([]);
    expect(new Set(executed).size).toBe(made);
    expect(executed.length).toBe(made);
  });

  it("a provider that is killed loses the calls in flight at most, and its entries end with its session", async () => {
    const server = await startServer();
    const [stays, dies] = [await startProvider(open(server)), await startProviderProcess(kind, server.address, "shop")];
    await stays.registration.ready;
    const consumer = openConsumer(open(server));
    const load = startLoad(consumer);
    await timeUntil(() => consumer.addresses().length === 2 && load.made() > 200, 10_000);
    dies.child.removeAllListeners("exit");
    dies.child.kill("SIGKILL");
    const goneMs = await timeUntil(async () => (await entriesOf(server, dies.address)).length === 0, 20_000);
    await timeUntil(() => !consumer.addresses().includes(dies.address), 5_000);
    const { made, lost } = await load.stop();
    figure(`entries gone after ${Math.round(goneMs)} ms; ${lost.length} of ${made} calls lost`);
    expect(lost.length).toBeLessThanOrEqual(10);
    expect(await entriesOf(server, stays.address)).toHaveLength(2);
  });

  it("a provider that stands still past the life of its session registers again", async () => {
    const server = await startServer();
    const provider = await startProviderProcess(kind, server.address, "shop");
    const consumer = openConsumer(open(server), { keepUnlistedMs: 0 });
    expect(await consumer.client.greet({})).toMatchObject({ greeting: provider.address.split(":")[1] });
    provider.child.kill("SIGSTOP");
    await timeUntil(async () => (await entriesOf(server, provider.address)).length === 0, 20_000);
    await timeUntil(() => consumer.addresses().length === 0, 5_000);
    provider.child.kill("SIGCONT");
    const backMs = await timeUntil(() => consumer.addresses().length === 1, 20_000);
    figure(`registered again after ${Math.round(backMs)} ms`);
    expect(await consumer.client.greet({})).toMatchObject({ greeting: provider.address.split(":")[1] });
  });

  it("a registry that is killed and comes back costs no call", async () => {
    const server = await startServer();
    const provider = await startProvider(open(server));
    await provider.registration.ready;
    const consumer = openConsumer(open(server));
    const load = startLoad(consumer);
    await timeUntil(() => load.made() > 100, 10_000);
    await server.kill();
    await new Promise((resolve) => setTimeout(resolve, 2 * ttlMs));
    await server.restart();
    const other = await startProvider(open(server));
    const foundMs = await timeUntil(() => consumer.addresses().includes(other.address), 40_000);
    await timeUntil(async () => (await entriesOf(server, provider.address)).length === 2, 20_000);
    // Entries of a session that has ended meanwhile must not take the new ones away.
    await new Promise((resolve) => setTimeout(resolve, 3 * ttlMs));
    expect(await entriesOf(server, provider.address)).toHaveLength(2);
    const { made, lost } = await load.stop();
    figure(
      `a new provider found ${Math.round(foundMs)} ms after the registry was back; ${lost.length} of ${made} calls lost`,
    );
    expect(lost).toEqual([]);
  });

  it("a provider whose registry is down closes without waiting for it", async () => {
    const server = await startServer();
    const provider = await startProvider(open(server));
    await provider.registration.ready;
    await server.kill();
    // It notices the loss, and tries to connect again meanwhile.
    await new Promise((resolve) => setTimeout(resolve, ttlMs));
    const start = performance.now();
    await provider.server.close();
    const closedMs = performance.now() - start;
    figure(`closed after ${Math.round(closedMs)} ms, of which 300 ms are propagation`);
    // A registration gives up after 5 s.
    expect(closedMs).toBeLessThan(4_000);
  });

  it("a registry that loses its data is filled again, without a lost call", async () => {
    const server = await startServer();
    const provider = await startProvider(open(server));
    await provider.registration.ready;
    const consumer = openConsumer(open(server));
    const load = startLoad(consumer);
    await timeUntil(() => load.made() > 100, 10_000);
    await server.restart({ wiped: true });
    const backMs = await timeUntil(async () => (await entriesOf(server, provider.address)).length === 2, 40_000);
    // The mapping is written after the entries.
    await timeUntil(async () => (await read(server, `/dubbo/mapping/${SERVICE}`)) === "shop", 10_000);
    const other = await startProvider(open(server));
    await timeUntil(() => consumer.addresses().includes(other.address), 40_000);
    const { made, lost } = await load.stop();
    figure(`registered again after ${Math.round(backMs)} ms; ${lost.length} of ${made} calls lost`);
    expect(lost).toEqual([]);
  });

  it("a registry that is not there at the start is waited for by providers, and fails calls at once with its reason", async () => {
    const server = await startServer();
    await server.kill();
    const reports: string[] = [];
    const provider = await startProvider(open(server), { onRegistration: ({ type }) => reports.push(type) });
    const consumer = openConsumer(open(server));
    const failure = await consumer.client.greet({}, { timeoutMs: 30_000 }).catch((error: unknown) => error);
    expect(String(failure)).toMatch(new RegExp(`\\[unavailable\\].*${kind}: .*${server.address}`));
    await timeUntil(() => reports.length > 0, 20_000);
    await server.restart();
    await provider.registration.ready;
    expect(reports).toEqual(["failed", "registered"]);
    const found = await consumer.client.greet({ name: "x" }, { timeoutMs: 40_000, waitForReady: true });
    expect(found).toMatchObject({ greeting: provider.address });
    // A registry that starts may answer once and close the connection again, which is another failure.
    const kinds = consumer.events.map(({ type }) => type).filter((type) => type.startsWith("resolve"));
    const repeated = kinds.filter((kind, i) => kind === "resolver failed" && kinds[i - 1] === kind);
    expect([kinds[0], repeated]).toEqual(["resolver failed", []]);
  });

  it("a provider behind a partition longer than its session is registered again; its consumer loses no call", async () => {
    const server = await startServer();
    const proxy = await cuttableProxy(server.port);
    const provider = await startProvider(open(proxy));
    await provider.registration.ready;
    const consumer = openConsumer(open(proxy));
    const load = startLoad(consumer);
    await timeUntil(() => load.made() > 100, 10_000);
    proxy.silence();
    await timeUntil(async () => (await entriesOf(server, provider.address)).length === 0, 30_000);
    proxy.restore();
    const backMs = await timeUntil(async () => (await entriesOf(server, provider.address)).length === 2, 40_000);
    const { made, lost } = await load.stop();
    figure(`registered again ${Math.round(backMs)} ms after the partition; ${lost.length} of ${made} calls lost`);
    expect(lost).toEqual([]);
  });

  it("providers that the registry cannot reach for 20 s lose no call, because their consumers reach them", async () => {
    const server = await startServer();
    const proxy = await cuttableProxy(server.port);
    const all = await Promise.all([0, 1, 2].map(() => startProvider(open(proxy))));
    await Promise.all(all.map(({ registration }) => registration.ready));
    const consumer = openConsumer(open(server));
    const load = startLoad(consumer);
    const listed = (): number => consumer.transport.endpoints().filter((one) => one.listed).length;
    await timeUntil(() => listed() === 3 && load.made() > 100, 10_000);
    proxy.silence();
    const emptyMs = await timeUntil(() => listed() === 0, 15_000);
    await new Promise((resolve) => setTimeout(resolve, 20_000 - emptyMs));
    expect(consumer.transport.endpoints()).toHaveLength(3);
    proxy.restore();
    const backMs = await timeUntil(() => listed() === 3, 40_000);
    const { made, lost } = await load.stop();
    figure(
      `list empty after ${Math.round(emptyMs)} ms, right ${Math.round(backMs)} ms after the partition; ${lost.length} of ${made} calls lost`,
    );
    expect(lost).toEqual([]);
  });

  it("two of three providers that the registry cannot reach take over when the third is killed", async () => {
    const server = await startServer();
    const proxy = await cuttableProxy(server.port);
    const cutOff = await Promise.all([0, 1].map(() => startProvider(open(proxy))));
    const dies = await startProviderProcess(kind, server.address, "shop");
    await Promise.all(cutOff.map(({ registration }) => registration.ready));
    const consumer = openConsumer(open(server));
    const listed = (): string[] => consumer.transport.endpoints().flatMap((one) => (one.listed ? one.address : []));
    const load = startLoad(consumer);
    await timeUntil(() => listed().length === 3 && load.made() > 100, 10_000);
    proxy.silence();
    await timeUntil(() => listed().length === 1, 15_000);
    expect(listed()).toEqual([dies.address]);
    dies.child.removeAllListeners("exit");
    dies.child.kill("SIGKILL");
    const known = (): string[] => consumer.transport.endpoints().map(({ address }) => address);
    const emptyMs = await timeUntil(() => !known().includes(dies.address), 20_000);
    // Longer than any list was ever held back.
    await new Promise((resolve) => setTimeout(resolve, 12_000));
    const { made, lost } = await load.stop();
    figure(
      `list empty after ${Math.round(emptyMs)} ms; ${lost.length} of ${made} calls lost, all on the killed connection`,
    );
    // Each of ten callers may have had a call in flight when its provider was killed.
    expect(lost.length).toBeLessThanOrEqual(10);
    const late = lost.filter(({ rawMessage }) => !rawMessage.includes(dies.address));
    expect(late).toEqual([]);
    expect(known()).toHaveLength(2);
  });

  it("malformed entries of peers are skipped with one warning each", async () => {
    const server = await startServer();
    const provider = await startProvider(open(server));
    await provider.registration.ready;
    const consumer = openConsumer(open(server));
    await write(server, "/services/shop/10.0.0.1:1", "{ no JSON");
    await write(server, "/services/shop/10.0.0.2:1", '{"name":"shop","address":"10.0.0.2","port":"x"}');
    await write(server, `/dubbo/${SERVICE}/providers/%`, "");
    await write(server, `/dubbo/${SERVICE}/providers/${encodeURIComponent("tri://nowhere")}`, "");
    const foreign = encodeURIComponent(`dubbo://10.0.0.3:1/${SERVICE}?interface=${SERVICE}`);
    await write(server, `/dubbo/${SERVICE}/providers/${foreign}`, "");
    for (let calls = 0; calls < 3; calls++) {
      expect(await consumer.client.greet({})).toMatchObject({ greeting: provider.address });
      await write(server, `/services/shop/10.0.0.1:${2 + calls}`, "null");
    }
    const problems = (): string[] =>
      consumer.events.flatMap((one) => (one.type === "invalid endpoint" ? one.problem : []));
    await timeUntil(() => problems().length >= 7, 5_000);
    expect(new Set(problems()).size).toBe(problems().length);
    expect(problems().filter((one) => /the (instance|provider) .* is skipped: /.test(one))).toHaveLength(7);
    expect(consumer.addresses()).toEqual([provider.address]);
  });

  it("of two processes with one address the later one keeps its entries when the earlier one ends", async () => {
    const server = await startServer();
    const [first, second] = [open(server), open(server)];
    const provider = await startProvider(first);
    await provider.registration.ready;
    const instance = {
      application: "shop",
      host: "127.0.0.1",
      port: Number(provider.address.split(":")[1]),
      services: [{ service: SERVICE }],
    };
    const later = second.register(instance);
    await later.ready;
    await provider.registration.close();
    const names = await entriesOf(server, provider.address);
    expect(names.some((path) => path.startsWith("/services/shop/"))).toBe(true);
    await later.close();
    expect(await entriesOf(server, provider.address)).toEqual([]);
  });

  it("five providers of different applications at once are all in the mapping", async () => {
    const server = await startServer();
    const names = Array.from({ length: 5 }, (_, index) => `shop-${index}`);
    const providers = await Promise.all(names.map((application) => startProvider(open(server), { application })));
    await Promise.all(providers.map(({ registration }) => registration.ready));
    expect((await read(server, `/dubbo/mapping/${SERVICE}`))?.split(",").sort()).toEqual(names);
    const consumer = openConsumer(open(server));
    await consumer.client.greet({});
    await timeUntil(() => consumer.addresses().length === 5, 5_000);
  });

  it.each(["interface", "instance"] as const)(
    "a list of 10,000 providers at the level %s is read without a long block of the event loop",
    async (levels) => {
      const server = await startServer();
      const entries = Array.from({ length: 10_000 }, (_, index): readonly [string, string] => {
        const host = `10.${index >> 12}.${(index >> 6) & 63}.${index & 63}`;
        const instance = { application: "crowd", host, port: 50_051, services: [{ service: SERVICE }] };
        if (levels === "interface") {
          const url = writeProviderUrl(instance, { service: SERVICE });
          return [`/dubbo/${SERVICE}/providers/${encodeURIComponent(url)}`, ""];
        }
        // Instances of this version are not asked for their metadata.
        const content = writeInstance(instance).replace('"meta-v":"2.0.0"', '"meta-v":"1.0.0"');
        return [`/services/crowd/${host}:50051`, content];
      });
      expect(new Set(entries.map(([path]) => path)).size).toBe(10_000);
      await writeAll(server, entries);
      const registry = open(server, { levels, ...(levels === "instance" && { providedBy: { [SERVICE]: ["crowd"] } }) });
      const { transport, events } = openConsumer(registry, { subset: 5, connectTimeoutMs: 200 });
      const stop = watchBlocks();
      const call = () => createGreetServiceClient(transport).greet({}, { timeoutMs: 5_000 });
      const totalMs = await timeList(transport, call);
      const longest = stop();
      expect(events.filter(({ type }) => type === "invalid endpoint")).toEqual([]);
      expect(events.find(({ type }) => type === "resolved")).toMatchObject({ endpoints: 10_000 });
      figure(
        `10,000 providers after ${Math.round(totalMs)} ms; the longest block took ${Math.round(longest)} ms of CPU time`,
      );
      await transport.close({ graceMs: 0 });
    },
  );
}
