/** Providers in etcd that do not fail, but are slow or stand still. */
import { etcd } from "triple-es-dubbo/etcd";
import { describe, expect, it, onTestFinished } from "vitest";
import { hasEtcd, startEtcd } from "../support/registries/etcd.ts";
import { figure, openConsumer, startLoad, startProvider, startProviderProcess, timeUntil } from "./fleet.ts";

describe.skipIf(!hasEtcd)("one of three providers", () => {
  async function startRegistry(): Promise<{ address: string; open: () => ReturnType<typeof etcd> }> {
    const server = await startEtcd();
    onTestFinished(() => server.close());
    const open = (): ReturnType<typeof etcd> => {
      // Entries of a provider that stands still stay for a minute, so that its connections alone tell.
      const registry = etcd({ servers: [server.address], ttlMs: 60_000 });
      onTestFinished(() => registry.close());
      return registry;
    };
    return { address: server.address, open };
  }

  it("is ejected while it is paused, and receives calls again after it resumes", async () => {
    const { address, open } = await startRegistry();
    const stopped = await startProviderProcess("etcd-slow", address, "shop");
    for (const registry of [open(), open()]) await (await startProvider(registry)).registration.ready;
    const callers = 10;
    const consumer = openConsumer(open(), { ejection: { failures: 3, baseEjectionTimeMs: 1_000 } });
    const load = startLoad(consumer, callers, 2_000);
    await timeUntil(() => consumer.addresses().length === 3 && load.made() > 200, 20_000);

    stopped.child.kill("SIGSTOP");
    const stateOf = () => consumer.transport.endpoints().find((one) => one.address === stopped.address)?.state;
    const ejectedMs = await timeUntil(() => stateOf() === "ejected", 20_000);
    stopped.child.kill("SIGCONT");
    await timeUntil(() => stateOf() === "ready", 20_000);
    const before = consumer.transport.endpoints().length;
    const { made, lost } = await load.stop();
    figure(`ejected ${Math.round(ejectedMs)} ms after SIGSTOP; ${lost.length} of ${made} calls lost`);
    expect(before).toBe(3);
    // Each caller has one call open, and no call is sent to it after the third failure.
    expect(lost.length).toBeLessThanOrEqual(2 + callers);
    for (const { code } of lost) expect(code).toBe(4);
  });

  it("gets fewer calls the slower it is", async () => {
    const { open } = await startRegistry();
    const slow = await startProvider(open(), { delayMs: 100 });
    const fast = [await startProvider(open(), { delayMs: 5 }), await startProvider(open(), { delayMs: 5 })];
    await Promise.all([slow, ...fast].map(({ registration }) => registration.ready));
    const consumer = openConsumer(open());
    await consumer.client.greet({});
    await timeUntil(() => consumer.transport.endpoints().filter(({ state }) => state === "ready").length === 3, 10_000);
    const load = startLoad(consumer, 20);
    await timeUntil(() => load.made() > 1_500, 60_000);
    const { made, lost } = await load.stop();
    const share = slow.executed.length / made;
    figure(`${Math.round(share * 100)} % of ${made} calls went to the slow one`);
    expect(lost).toEqual([]);
    expect(share).toBeLessThan(0.25);
  });
});
