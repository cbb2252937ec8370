/** The registry in Nacos while its server is killed, stands still or cannot be reached. */
import { describe, expect, it, onTestFinished } from "vitest";
import { cuttableProxy } from "../support/cuttable-proxy.ts";
import { hasNacos } from "../support/registries/nacos.ts";
import { figure, openConsumer, startLoad, startProvider, timeUntil } from "./fleet.ts";
import { ownNacos, SERVICE } from "./own-nacos.ts";

describe.skipIf(!hasNacos)("nacos in an outage", () => {
  const own = ownNacos();
  const { open, addressesOf } = own;

  it("lists a consumer while it calls a service, also over another connection, and not after its end", async () => {
    const provider = await startProvider(open(), { application: "called" });
    await provider.registration.ready;
    const name = `consumers:${SERVICE}::`;
    const list = async (): Promise<{ ip: string; port: number; metadata: Record<string, string> }[]> =>
      JSON.parse(await own.server.api(`/v1/ns/instance/list?serviceName=${encodeURIComponent(name)}`)).hosts ?? [];
    const registry = open({ application: "web", providedBy: { [SERVICE]: ["called"] } });
    const consumer = openConsumer(registry);
    expect(await consumer.client.greet({})).toMatchObject({ greeting: provider.address });
    const listedMs = await timeUntil(async () => (await list()).length === 1, 10_000);
    figure(`consumer listed ${Math.round(listedMs)} ms after its first call`);
    expect((await list())[0]).toMatchObject({
      port: 0,
      metadata: {
        application: "web",
        category: "consumers",
        interface: SERVICE,
        protocol: "consumer",
        side: "consumer",
      },
    });
    const path = `/v1/cs/configs?dataId=${encodeURIComponent(`${SERVICE}:::consumer:web`)}&group=dubbo`;
    await timeUntil(async () => (await own.server.api(path)).startsWith("{"), 10_000);
    expect(JSON.parse(await own.server.api(path))).toMatchObject({ application: "web", side: "consumer" });
    await own.server.kill();
    await own.server.restart();
    await timeUntil(async () => (await list()).length === 1, 40_000);
    await consumer.transport.close();
    await timeUntil(async () => (await list()).length === 0, 20_000);
    const other = openConsumer(registry);
    expect(await other.client.greet({}, { waitForReady: true })).toMatchObject({ greeting: provider.address });
    await timeUntil(async () => (await list()).length === 1, 10_000);
    await registry.close();
    await timeUntil(async () => (await list()).length === 0, 20_000);
  });

  it("costs no call when it is killed and comes back without its instances, and is filled again", async () => {
    const provider = await startProvider(open(), { application: "stays" });
    await provider.registration.ready;
    const consumer = openConsumer(open({ providedBy: { [SERVICE]: ["stays"] } }));
    const load = startLoad(consumer);
    await timeUntil(() => load.made() > 100, 20_000);
    await own.server.kill();
    await own.server.restart();
    const backMs = await timeUntil(async () => (await addressesOf("stays")).includes(provider.address), 60_000);
    const other = await startProvider(open(), { application: "stays" });
    await timeUntil(() => consumer.addresses().includes(other.address), 60_000);
    const { made, lost } = await load.stop();
    figure(
      `registered again ${Math.round(backMs)} ms after the registry was back; ${lost.length} of ${made} calls lost`,
    );
    expect(lost).toEqual([]);
  });

  it("registers a provider again after a partition, and its consumer loses no call", async () => {
    const proxy = await cuttableProxy(own.server.port + 1_000);
    const grpcPort = Number(proxy.address.split(":")[1]);
    const provider = await startProvider(open({ grpcPort }), { application: "behind" });
    await provider.registration.ready;
    const load = startLoad(openConsumer(open({ grpcPort, providedBy: { [SERVICE]: ["behind"] } })));
    await timeUntil(() => load.made() > 100, 20_000);
    proxy.silence();
    // The server asks a silent client after 20 s whether it is there.
    await timeUntil(async () => (await addressesOf("behind")).length === 0, 60_000);
    proxy.restore();
    const backMs = await timeUntil(async () => (await addressesOf("behind")).includes(provider.address), 30_000);
    const { made, lost } = await load.stop();
    figure(`registered again ${Math.round(backMs)} ms after the partition; ${lost.length} of ${made} calls lost`);
    expect(lost).toEqual([]);
  });

  it("costs no call while it stands still past its timeouts, and is used again when it goes on", async () => {
    const provider = await startProvider(open(), { application: "still" });
    await provider.registration.ready;
    const consumer = openConsumer(open({ levels: "instance", providedBy: { [SERVICE]: ["still"] } }));
    const load = startLoad(consumer);
    await timeUntil(() => load.made() > 100, 20_000);
    own.server.pause();
    onTestFinished(() => own.server.resume());
    // A health check every 5 s has two tries of 3 s, and then nothing answers new connections.
    const isLost = (): boolean => consumer.events.some(({ type }) => type === "resolver failed");
    const lostMs = await timeUntil(isLost, 40_000);
    expect(consumer.addresses()).toEqual([provider.address]);
    own.server.resume();
    const other = await startProvider(open(), { application: "still" });
    const foundMs = await timeUntil(
      () => consumer.addresses().join() === [provider.address, other.address].sort().join(),
      40_000,
    );
    await timeUntil(async () => (await addressesOf("still")).includes(provider.address), 40_000);
    const { made, lost } = await load.stop();
    figure(
      `loss seen after ${Math.round(lostMs)} ms, a new provider ${Math.round(foundMs)} ms after SIGCONT; ${lost.length} of ${made} calls lost`,
    );
    expect(lost).toEqual([]);
  });

  it("that is not there at the start is waited for by providers, and fails calls at once with its reason", async () => {
    await own.server.kill();
    const reports: string[] = [];
    const onRegistration = ({ type }: { readonly type: string }): void => void reports.push(type);
    const provider = await startProvider(open(), { application: "early", onRegistration });
    const consumer = openConsumer(open({ providedBy: { [SERVICE]: ["early"] } }));
    const failure = await consumer.client.greet({}, { timeoutMs: 30_000 }).catch((error: unknown) => error);
    expect(String(failure)).toMatch(/\[unavailable\].*nacos: .*no server accepts a connection over gRPC/);
    await timeUntil(() => reports.length > 0, 20_000);
    await own.server.restart();
    await provider.registration.ready;
    expect(reports).toEqual(["failed", "registered"]);
    const found = await consumer.client.greet({ name: "x" }, { timeoutMs: 40_000, waitForReady: true });
    expect(found).toMatchObject({ greeting: provider.address });
  });
});
