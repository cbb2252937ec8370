/** The registry in Nacos: providers and consumers of ours on a real server. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { Code } from "triple-es";
import { createTransport } from "triple-es/node";
import { nacos } from "triple-es-dubbo/nacos";
import { describe, expect, it, onTestFinished } from "vitest";
import { providerParameters } from "../../dubbo/src/registry/dubbo/provider-url.ts";
import { instanceMetadata } from "../../dubbo/src/registry/dubbo/service-instance.ts";
import { NacosConnection } from "../../dubbo/src/registry/nacos/connection.ts";
import { createGreetServiceClient } from "../../examples/gen/greet/v1/greet_triple.ts";
import { ROOT } from "../support/documents.ts";
import { hasNacos, type NacosProcess } from "../support/registries/nacos.ts";
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
import { ownNacos, SERVICE } from "./own-nacos.ts";

/** Opens a connection of a client that registers instances of services. */
async function openNaming({ port }: NacosProcess): Promise<NacosConnection> {
  const baseUrl = `http://127.0.0.1:${port + 1_000}`;
  const connection = new NacosConnection(createTransport({ baseUrl, maxConnections: 1 }), {
    module: "naming",
    namespace: "",
    token: async () => undefined,
  });
  onTestFinished(() => connection.end(new Error("the test is over")));
  await connection.open(new AbortController().signal);
  return connection;
}

describe.skipIf(!hasNacos)("nacos", () => {
  const own = ownNacos();
  const { open, addressesOf } = own;

  it("the example replaces three providers one by one, and its consumer loses no call", async () => {
    const flags = ["--conditions=triple-source", "--import", "tsx", "examples/nacos/main.ts", own.server.address];
    const program = spawn(process.execPath, flags, { cwd: ROOT, stdio: ["ignore", "pipe", "pipe"] });
    onTestFinished(() => void program.kill("SIGKILL"));
    let printed = "";
    for (const stream of [program.stdout, program.stderr]) {
      stream.on("data", (data: Buffer) => {
        printed += data.toString();
      });
    }
    expect([...(await once(program, "close")), printed]).toEqual([0, null, expect.stringMatching(/, 0 failed\n/)]);
    expect(printed).toContain("all providers are replaced");
    figure(/consumer: (\d+ calls, 0 failed)/.exec(printed)?.[1] ?? "");
  });

  it("lists a provider at both levels; consumers find it, and its changes and end", async () => {
    const provider = await startProvider(open(), { application: "shop", attributes: { "dubbo.tag": "gray" } });
    await provider.registration.ready;
    await timeUntil(async () => (await addressesOf("shop")).includes(provider.address), 10_000);
    await timeUntil(async () => (await addressesOf(`providers:${SERVICE}::`))[0] === provider.address, 10_000);
    // The API answers with the earlier content for a moment.
    const mapping = (): Promise<string> => own.server.api(`/v1/cs/configs?dataId=${SERVICE}&group=mapping`);
    await timeUntil(async () => (await mapping()).split(",").includes("shop"), 10_000);
    const consumer = openConsumer(open());
    expect(await consumer.client.greet({ name: "x" })).toMatchObject({ greeting: provider.address });
    const weighed = timeUntil(() => consumer.transport.endpoints()[0]?.weight === 7, 10_000);
    await provider.registration.update({ weight: 7 });
    figure(`weight change ${Math.round(await weighed)} ms`);
    expect(await addressesOf("shop")).toEqual([provider.address]);
    await provider.registration.update({ offline: true });
    await timeUntil(async () => (await addressesOf("shop")).length === 0, 10_000);
    await timeUntil(async () => (await addressesOf(`providers:${SERVICE}::`)).length === 0, 10_000);
    await provider.registration.update({ offline: false });
    await timeUntil(async () => (await addressesOf(`providers:${SERVICE}::`))[0] === provider.address, 10_000);
    await timeUntil(async () => (await addressesOf("shop"))[0] === provider.address, 10_000);
    const gone = timeUntil(async () => (await addressesOf("shop")).length === 0, 10_000);
    await Promise.all([provider.server.close(), gone]);
    await timeUntil(async () => (await addressesOf(`providers:${SERVICE}::`)).length === 0, 10_000);
  });

  it.each(["instance", "interface"] as const)(
    "lists a provider at the level %s alone, which is found",
    async (mode) => {
      const registry = open();
      const provider = await startProvider(registry, { application: `only-${mode}`, mode, group: mode, version: "1" });
      await provider.registration.ready;
      const only = open({ levels: mode, providedBy: { [SERVICE]: [`only-${mode}`] } });
      const { transport, addresses } = openConsumer(only);
      const client = createGreetServiceClient(transport, { group: mode, version: "1" });
      expect(await client.greet({ name: "x" })).toMatchObject({ greeting: provider.address });
      expect(addresses()).toEqual([provider.address]);
    },
  );

  it("has namespaces: a consumer finds the providers and the mapping of its own only", async () => {
    const body = new URLSearchParams({ customNamespaceId: "blue", namespaceName: "blue", namespaceDesc: "" });
    expect(await own.server.api("/v1/console/namespaces", { method: "POST", body })).toBe("true");
    const blue = await startProvider(open({ namespace: "blue" }), { application: "of-blue", group: "spaces" });
    await blue.registration.ready;
    const stored = await own.server.api("/v1/ns/instance/list?serviceName=of-blue&namespaceId=blue");
    expect(JSON.parse(stored)).toMatchObject({ hosts: [{ port: blue.server.address.port }] });
    expect(await addressesOf("of-blue")).toEqual([]);
    // The server answers with the earlier content for a moment.
    const isMapped = async (tenant: string): Promise<boolean> => {
      const mapping = await own.server.api(`/v1/cs/configs?dataId=${SERVICE}&group=mapping&tenant=${tenant}`);
      return mapping.split(",").includes("of-blue");
    };
    await timeUntil(() => isMapped("blue"), 10_000);
    for (const levels of ["instance", "interface"] as const) {
      const own = openConsumer(open({ namespace: "blue", levels }));
      const call = { name: "x" };
      const client = createGreetServiceClient(own.transport, { group: "spaces" });
      expect(await client.greet(call)).toMatchObject({ greeting: blue.address });
      // Neither the mapping nor the application is known in the other namespaces.
      for (const namespace of [undefined, "green"]) {
        for (const providedBy of [undefined, { [SERVICE]: ["of-blue"] }]) {
          const other = openConsumer(open({ namespace, levels, providedBy }));
          const greeting = createGreetServiceClient(other.transport, { group: "spaces" }).greet(call);
          // The list may still have a provider of an earlier test, whose services cannot be read any more.
          await expect(greeting).rejects.toMatchObject({ code: Code.Unavailable });
          expect(other.addresses()).not.toContain(blue.address);
        }
      }
    }
    // A provider of the same application in another namespace changes nothing.
    const other = await startProvider(open(), { application: "of-blue", group: "spaces" });
    await other.registration.ready;
    await timeUntil(async () => (await addressesOf("of-blue"))[0] === other.address, 10_000);
    await timeUntil(() => isMapped(""), 10_000);
    const both = [open({ namespace: "blue" }), open({ namespace: "public" }), open()];
    const consumers = both.map((registry) => openConsumer(registry));
    for (const [index, { transport, addresses }] of consumers.entries()) {
      const client = createGreetServiceClient(transport, { group: "spaces" });
      const [own, foreign] = index === 0 ? [blue, other] : [other, blue];
      expect(await client.greet({})).toMatchObject({ greeting: own.address });
      expect(addresses()).not.toContain(foreign.address);
    }
  });

  it("has rules: one that changes is live within a second, and a malformed one changes nothing", async () => {
    await checkRules(open, async (key, text) => {
      const query = new URLSearchParams({ dataId: key, group: "dubbo", ...(text && { content: text }) });
      const method = text === undefined ? "DELETE" : "POST";
      expect(await own.server.api(`/v1/cs/configs?${query}`, { method })).toBe("true");
    });
  });

  it("adds applications that provide a service to its mapping, each once, without losing one", async () => {
    const names = Array.from({ length: 5 }, (_, i) => `many-${i}`);
    const group = "many";
    const providers = await Promise.all(names.map((application) => startProvider(open(), { application, group })));
    await Promise.all(providers.map(({ registration }) => registration.ready));
    // The server answers with the earlier content for a moment.
    const added = async (): Promise<boolean> => {
      const mapping = await own.server.api(`/v1/cs/configs?dataId=${SERVICE}&group=mapping`);
      return (
        mapping
          .split(",")
          .filter((name) => names.includes(name))
          .sort()
          .join() === names.join()
      );
    };
    await timeUntil(added, 20_000);
  });

  it("loses no call while three providers are restarted one after another, and none is executed twice", async () => {
    const registry = open();
    const start = () => startProvider(registry, { application: "fleet", propagationMs: 3_000 });
    const all = [await start(), await start(), await start()];
    await Promise.all(all.map(({ registration }) => registration.ready));
    const load = startLoad(openConsumer(open()));
    await timeUntil(() => load.made() > 200, 20_000);
    for (let restarts = 0; restarts < 3; restarts++) {
      const replacement = await start();
      await replacement.registration.ready;
      const old = all[restarts];
      all.push(replacement);
      await old?.server.close();
    }
    const { made, lost } = await load.stop();
    const executed = all.flatMap((provider) => provider.executed);
    figure(`3 restarts under ${made} calls: ${lost.length} lost`);
    expect(lost).toEqual([]);
    expect(executed.length).toBe(made);
    expect(new Set(executed).size).toBe(made);
  });

  it("removes the entries of a provider that is killed", async () => {
    const dies = await startProviderProcess("nacos", own.server.address, "killed");
    await timeUntil(async () => (await addressesOf("killed")).length === 1, 20_000);
    dies.child.removeAllListeners("exit");
    dies.child.kill("SIGKILL");
    const goneMs = await timeUntil(async () => (await addressesOf("killed")).length === 0, 40_000);
    figure(`entries gone after ${Math.round(goneMs)} ms`);
  });

  it("finds old and new providers beside applications whose names it refuses", async () => {
    const naming = await openNaming(own.server);
    const fields = { namespace: "public", groupName: "DEFAULT_GROUP", subscribe: true, clusters: "" };
    const refused = await naming.query("SubscribeServiceRequest", { ...fields, serviceName: "a b" });
    expect(refused).toMatchObject({ errorCode: 400, message: expect.stringContaining("serviceName") });
    const before = openConsumer(open({ levels: "instance" }));
    const provider = await startProvider(open(), { application: "named", mode: "instance" });
    await provider.registration.ready;
    await before.client.greet({}, { waitForReady: true, timeoutMs: 20_000 });
    const content = `a b#?%é,${"x".repeat(600)},@shop,商店,named`;
    const query = new URLSearchParams({ dataId: SERVICE, group: "mapping", content });
    expect(await own.server.api(`/v1/cs/configs?${query}`, { method: "POST" })).toBe("true");
    const after = openConsumer(open({ levels: "instance" }));
    expect(await after.client.greet({})).toMatchObject({ greeting: provider.address });
    const problems = () => after.events.flatMap((one) => (one.type === "invalid endpoint" ? one.problem : []));
    await timeUntil(() => problems().length === 4, 20_000);
    const other = await startProvider(open(), { application: "later", mode: "instance" });
    await other.registration.ready;
    for (const { addresses } of [before, after]) {
      const foundMs = await timeUntil(() => addresses().includes(other.address), 20_000);
      figure(`a provider of another application found after ${Math.round(foundMs)} ms`);
    }
  });

  it("skips malformed instances of peers with one warning each", async () => {
    const provider = await startProvider(open(), { application: "odd", mode: "instance" });
    await provider.registration.ready;
    const malformed = {
      "10.0.0.1": { "dubbo.endpoints": "{ no JSON" },
      "10.0.0.2": { "dubbo.endpoints": "null" },
      "10.0.0.3": { "dubbo.endpoints": '[{"protocol":"tri","port":"x"}]' },
      "10.0.0.4": { "dubbo.endpoints": '[null,{"protocol":"tri","port":99999}]' },
    };
    for (const [ip, metadata] of Object.entries(malformed)) {
      const query = new URLSearchParams({ serviceName: "odd", ip, port: "1", metadata: JSON.stringify(metadata) });
      expect(await own.server.api(`/v1/ns/instance?${query}`, { method: "POST" })).toBe("ok");
    }
    const consumer = openConsumer(open({ levels: "instance", providedBy: { [SERVICE]: ["odd"] } }));
    const problems = (): string[] =>
      consumer.events.flatMap((one) => (one.type === "invalid endpoint" ? one.problem : []));
    expect(await consumer.client.greet({})).toMatchObject({ greeting: provider.address });
    await timeUntil(() => problems().length === 4, 10_000);
    // A change makes another list, without another warning.
    await provider.registration.update({ weight: 7 });
    await timeUntil(() => consumer.transport.endpoints()[0]?.weight === 7, 10_000);
    expect(problems()).toHaveLength(4);
    expect(problems().filter((one) => /^the instance .* of odd is skipped: /.test(one))).toHaveLength(4);
    expect(consumer.addresses()).toEqual([provider.address]);
  });

  it("loses the calls in flight at most when one of two providers is killed", async () => {
    const stays = await startProvider(open(), { application: "pair" });
    await stays.registration.ready;
    const dies = await startProviderProcess("nacos", own.server.address, "pair");
    const consumer = openConsumer(open({ providedBy: { [SERVICE]: ["pair"] }, levels: "instance" }));
    const load = startLoad(consumer);
    await timeUntil(() => consumer.addresses().length === 2 && load.made() > 200, 20_000);
    dies.child.removeAllListeners("exit");
    dies.child.kill("SIGKILL");
    const goneMs = await timeUntil(() => consumer.addresses().length === 1, 40_000);
    const { made, lost } = await load.stop();
    figure(`its consumer knew after ${Math.round(goneMs)} ms; ${lost.length} of ${made} calls lost`);
    expect(lost.length).toBeLessThanOrEqual(10);
  });

  it("loses no call and no entry when it asks for new connections", async () => {
    const redirectAddress = own.server.address;
    const provider = await startProvider(open(), { application: "moves" });
    await provider.registration.ready;
    const consumer = openConsumer(open({ providedBy: { [SERVICE]: ["moves"] } }));
    const load = startLoad(consumer);
    await timeUntil(() => load.made() > 100, 20_000);
    const connections = async (): Promise<string[]> =>
      Object.keys(JSON.parse(await own.server.api("/v2/core/loader/current")));
    const before = await connections();
    // Half of them are sent to a server by its address, as an operator does that balances a cluster.
    const start = performance.now();
    for (const [index, connectionId] of before.entries()) {
      const query = new URLSearchParams({ connectionId, ...(index % 2 === 0 && { redirectAddress }) });
      await own.server.api(`/v2/core/loader/reloadClient?${query}`);
    }
    // The server waits for each response, at most for 3 s.
    expect(performance.now() - start).toBeLessThan(3_000);
    figure(`${before.length} responses within ${Math.round(performance.now() - start)} ms`);
    const left = async (): Promise<boolean> => !(await connections()).some((id) => before.includes(id));
    const leftMs = await timeUntil(left, 20_000);
    await timeUntil(async () => (await addressesOf("moves")).includes(provider.address), 20_000);
    // Subscriptions and registrations are those of the new connections.
    await provider.registration.update({ weight: 7 });
    await timeUntil(() => consumer.transport.endpoints()[0]?.weight === 7, 20_000);
    const { made, lost } = await load.stop();
    figure(
      `${before.length} connections replaced within ${Math.round(leftMs)} ms; ${lost.length} of ${made} calls lost`,
    );
    expect(before.length).toBeGreaterThanOrEqual(3);
    expect(lost).toEqual([]);
  });

  it.each(["instance", "interface"] as const)(
    "has 10,000 providers at the level %s, which are read in steps",
    async (levels) => {
      const service = levels === "instance" ? "crowd" : `providers:${SERVICE}::crowd`;
      const writer = await openNaming(own.server);
      const instances = Array.from({ length: 10_000 }, (_, index) => {
        const host = `10.${index >> 12}.${(index >> 6) & 63}.${index & 63}`;
        const instance = { application: "crowd", host, port: 50_051, services: [{ service: SERVICE, group: "crowd" }] };
        // Instances of this version are not asked for their metadata.
        const metadata =
          levels === "instance"
            ? { ...instanceMetadata(instance), "meta-v": "1.0.0" }
            : { ...providerParameters(instance, { service: SERVICE, group: "crowd" }), path: SERVICE, protocol: "tri" };
        return { ip: host, port: 50_051, weight: 1, healthy: true, enabled: true, ephemeral: true, metadata };
      });
      const named = { namespace: "public", serviceName: service, groupName: "DEFAULT_GROUP" };
      await writer.request("BatchInstanceRequest", { ...named, type: "batchRegisterInstance", instances });
      await timeUntil(async () => (await addressesOf(service)).length === 10_000, 30_000);
      const registry = open({ levels, providedBy: { [SERVICE]: ["crowd"] } });
      const { transport, events } = openConsumer(registry, { subset: 5, connectTimeoutMs: 200 });
      const client = createGreetServiceClient(transport, { group: "crowd" });
      const stop = watchBlocks();
      const totalMs = await timeList(transport, () => client.greet({}, { timeoutMs: 5_000 }));
      const longest = stop();
      expect(events.filter(({ type }) => type === "invalid endpoint")).toEqual([]);
      expect(events.find(({ type }) => type === "resolved")).toMatchObject({ endpoints: 10_000 });
      figure(
        `10,000 providers after ${Math.round(totalMs)} ms; the longest block took ${Math.round(longest)} ms of CPU time`,
      );
      await transport.close({ graceMs: 0 });
    },
  );

  it("refuses options that are invalid", () => {
    expect(() => nacos({ servers: [] })).toThrow(TypeError);
    expect(() => nacos({ servers: ["a:1"], grpcPort: 0 })).toThrow(RangeError);
    expect(() => nacos({ servers: ["a:1"], group: "a b" })).toThrow("group of nacos is invalid");
  });
});
