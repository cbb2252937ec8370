/** Consul, which consumers reach through its DNS: SRV records with ports and weights, and health checks. */
import { dns } from "triple-es/discovery";
import { createServer, createTransport } from "triple-es/node";
import { describe, expect, it, onTestFinished } from "vitest";
import { GreetServiceDef } from "../../examples/gen/greet/v1/greet_triple.ts";
import { type ConsulProcess, hasConsul, startConsul } from "../support/registries/consul.ts";
import { greeter } from "../support/server.ts";
import { type Consumer, figure, openConsumerOf, startLoad, timeUntil } from "./fleet.ts";

if (!hasConsul) console.log("SKIPPED consul: it cannot be installed here (it needs Go)");

/** The name of the SRV records of the service `greet` (RFC 2782). */
const NAME = "_greet._tcp.service.consul";
/** SRV records have no TTL in Node: they are queried again after five seconds. */
const SEEN_MS = 5_000 + 2_000;

describe.skipIf(!hasConsul)("consul", () => {
  async function start(): Promise<ConsulProcess> {
    const server = await startConsul();
    onTestFinished(() => server.close());
    return server;
  }

  /** Starts a provider and registers it with a check, which expires if it is not renewed. */
  async function provide(
    consul: ConsulProcess,
    id: string,
    weight = 1,
  ): Promise<{ address: string; register: () => Promise<void> }> {
    const server = createServer().add(GreetServiceDef, {
      ...greeter,
      greet: () => ({ greeting: id }),
    });
    await server.listen({ port: 0, host: "127.0.0.1" });
    onTestFinished(() => server.close({ graceMs: 0 }));
    const { port } = server.address;
    const register = async (): Promise<void> => {
      await consul.api("PUT", "/v1/agent/service/register", {
        ...{ ID: id, Name: "greet", Address: "127.0.0.1", Port: port },
        ...{ Weights: { Passing: weight, Warning: 1 }, Check: { CheckID: id, TTL: "60s", Status: "passing" } },
      });
    };
    await register();
    return { address: `127.0.0.1:${port}`, register };
  }

  function consume(consul: ConsulProcess): Consumer {
    return openConsumerOf((onEndpoint) =>
      createTransport({ resolver: dns(NAME, { servers: [consul.dns] }), onEndpoint }),
    );
  }

  it("finds providers with their ports and weights, and follows their health checks, without a lost call", async () => {
    const consul = await start();
    const light = await provide(consul, "light", 1);
    const heavy = await provide(consul, "heavy", 3);
    const consumer = consume(consul);
    await consumer.client.greet({});
    expect(consumer.addresses()).toEqual([light.address, heavy.address].sort());
    const weightOf = (address: string): number | undefined =>
      consumer.transport.endpoints().find((one) => one.address === address)?.weight;
    expect([weightOf(light.address), weightOf(heavy.address)]).toEqual([1, 3]);

    const load = startLoad(consumer);
    await consul.api("PUT", "/v1/agent/check/fail/heavy");
    const leftMs = await timeUntil(() => consumer.addresses().length === 1, SEEN_MS);
    await consul.api("PUT", "/v1/agent/check/pass/heavy");
    await timeUntil(() => consumer.addresses().length === 2, SEEN_MS);
    const third = await provide(consul, "third");
    const foundMs = await timeUntil(() => consumer.addresses().includes(third.address), SEEN_MS);
    const { made, lost } = await load.stop();
    figure(
      `a failed check seen after ${Math.round(leftMs)} ms, a new provider after ${Math.round(foundMs)} ms; ${lost.length} of ${made} calls lost`,
    );
    expect(lost).toEqual([]);
  });

  it("costs no call when it is killed, and when it is back without its data", async () => {
    const consul = await start();
    const providers = [await provide(consul, "one"), await provide(consul, "two")];
    const consumer = consume(consul);
    const load = startLoad(consumer);
    await timeUntil(() => load.made() > 100, 10_000);
    await consul.kill();
    await timeUntil(() => consumer.events.some(({ type }) => type === "resolver failed"), 3 * SEEN_MS);
    await consul.restart();
    // It knows no service: the empty answer is not believed at once.
    for (const { register } of providers) await register();
    for (const id of ["one", "two"]) await consul.api("PUT", `/v1/agent/check/pass/${id}`);
    const third = await provide(consul, "three");
    await timeUntil(() => consumer.addresses().includes(third.address) && consumer.addresses().length === 3, 40_000);
    const { made, lost } = await load.stop();
    figure(`${lost.length} of ${made} calls lost`);
    expect(lost).toEqual([]);
  });

  it("finds all of fifty providers", async () => {
    const consul = await start();
    const ids = Array.from({ length: 50 }, (_, index) => `many-${index}`);
    const providers: string[] = [];
    for (const id of ids) providers.push((await provide(consul, id)).address);
    const consumer = consume(consul);
    await consumer.client.greet({});
    await timeUntil(() => consumer.addresses().length === ids.length, SEEN_MS);
    expect(consumer.addresses()).toEqual(providers.sort());
  });

  it("has no endpoints for a service that it does not know, and fails calls at once with the reason", async () => {
    const consul = await start();
    const { client } = consume(consul);
    await expect(client.greet({}, { timeoutMs: 20_000 })).rejects.toThrow(/it has no endpoints/);
  });

  it("skips a service without a port, with one warning", async () => {
    const consul = await start();
    await consul.api("PUT", "/v1/agent/service/register", { ID: "none", Name: "greet", Address: "127.0.0.1" });
    const one = await provide(consul, "one");
    const consumer = consume(consul);
    await consumer.client.greet({});
    expect(consumer.addresses()).toEqual([one.address]);
    const another = await provide(consul, "another");
    await timeUntil(() => consumer.addresses().includes(another.address), SEEN_MS);
    expect(consumer.events.filter(({ type }) => type === "invalid endpoint")).toHaveLength(1);
  });
});
