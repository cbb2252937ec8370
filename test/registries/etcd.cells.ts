/** The registry in etcd. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { etcd } from "triple-es-dubbo/etcd";
import { describe, expect, it, onTestFinished } from "vitest";
import { writeGoInstance } from "../../dubbo/src/registry/dubbo/service-instance.ts";
import { hasOpenssl, sharedCertificates } from "../support/certificate.ts";
import { cuttableProxy } from "../support/cuttable-proxy.ts";
import { type EtcdProcess, hasEtcd, startEtcd } from "../support/registries/etcd.ts";
import { openConsumer, startProvider, timeUntil } from "./fleet.ts";
import { describeCells } from "./shared.ts";

if (!hasEtcd) console.log("SKIPPED etcd: it cannot be installed here");

describe.skipIf(!hasEtcd)("etcd", () => {
  describeCells({
    kind: "etcd",
    ttlMs: 1_000,
    start: () => startEtcd(),
    connect: (address, options) => etcd({ ...options, servers: [address], ttlMs: 1_000, connectTimeoutMs: 1_000 }),
    async ephemeral(server) {
      const entries = await (server as EtcdProcess).entries("/");
      return Object.keys(entries).filter((key) => !key.startsWith("/dubbo/mapping/"));
    },
    write: (server, path, content) => (server as EtcdProcess).put(path, content),
    writeInstance: writeGoInstance,
    async writeAll(server, entries) {
      for (let from = 0; from < entries.length; from += 100) {
        const success = entries
          .slice(from, from + 100)
          .map(([path, content]) => ({ requestPut: { key: btoa(path), value: btoa(content) } }));
        await (server as EtcdProcess).call("/v3/kv/txn", { success });
      }
    },
    read: async (server, path) => (await (server as EtcdProcess).entries(path))[path],
  });

  it("a compaction while a watch has no connection makes the consumer read a new snapshot", async () => {
    const server = await startEtcd();
    onTestFinished(() => server.close());
    const proxy = await cuttableProxy(server.port);
    const direct = etcd({ servers: [server.address] });
    const through = etcd({ servers: [proxy.address] });
    onTestFinished(() => Promise.all([direct.close(), through.close()]).then(() => {}));
    const provider = await startProvider(direct);
    await provider.registration.ready;
    const consumer = openConsumer(through);
    await consumer.client.greet({});
    proxy.silence();
    const other = await startProvider(direct);
    await other.registration.ready;
    for (let puts = 0; puts < 5; puts++) await server.put("/unrelated", String(puts));
    const { header } = (await server.call("/v3/kv/range", { key: btoa("/") })) as { header: { revision: string } };
    await server.call("/v3/kv/compaction", { revision: header.revision, physical: true });
    proxy.restore();
    await timeUntil(() => consumer.addresses().includes(other.address), 20_000);
    expect(consumer.events.filter(({ type }) => type === "resolver failed")).toEqual([]);
  });

  it("entries that are removed without an answer end with their lease, though the registry stays open", async () => {
    const server = await startEtcd();
    onTestFinished(() => server.close());
    const proxy = await cuttableProxy(server.port);
    const registry = etcd({ servers: [proxy.address], ttlMs: 3_000, connectTimeoutMs: 1_000 });
    onTestFinished(() => registry.close());
    const provider = await startProvider(registry);
    await provider.registration.ready;
    const entries = async (): Promise<number> =>
      Object.keys(await server.entries("/")).filter((key) => key.includes(provider.address)).length;
    await timeUntil(async () => (await entries()) > 0, 10_000);
    proxy.silence();
    await provider.registration.close({ graceMs: 100 });
    // The lease has not ended yet: a client that renews it would keep the entries.
    proxy.restore();
    await timeUntil(async () => (await entries()) === 0, 20_000);
  });

  it("users and passwords are sent, and an expired token is replaced", async () => {
    const server = await startEtcd();
    onTestFinished(() => server.close());
    await server.call("/v3/auth/role/add", { name: "root" });
    for (const name of ["root", "shop"]) await server.call("/v3/auth/user/add", { name, password: `${name}-secret` });
    for (const user of ["root", "shop"]) await server.call("/v3/auth/user/grant", { user, role: "root" });
    await server.call("/v3/auth/enable", {});
    const auth = { username: "shop", password: "shop-secret" };
    const registry = etcd({ servers: [server.address], auth, ttlMs: 1_000 });
    onTestFinished(() => registry.close());
    const provider = await startProvider(registry);
    await provider.registration.ready;
    const consumer = openConsumer(registry);
    expect(await consumer.client.greet({})).toMatchObject({ greeting: provider.address });
    // Tokens of etcd are in memory: after a restart it knows none.
    await server.restart();
    await provider.registration.update({ weight: 7 });
    await timeUntil(() => consumer.transport.endpoints()[0]?.weight === 7, 20_000);
    for (const [wrong, reason] of [
      [undefined, /user name is empty/],
      [{ username: "shop", password: "wrong" }, /authentication failed, invalid user ID or password/],
    ] as const) {
      const refused = etcd({ servers: [server.address], auth: wrong });
      onTestFinished(() => refused.close());
      await expect(openConsumer(refused).client.greet({}, { timeoutMs: 10_000 })).rejects.toThrow(reason);
    }
  });

  it.skipIf(!hasOpenssl)("connections are encrypted, with certificates of both sides", async () => {
    const folder = mkdtempSync(join(tmpdir(), "triple-es-etcd-tls-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const { ca, server: own, client } = sharedCertificates();
    const files = { cert: join(folder, "cert.pem"), key: join(folder, "key.pem"), ca: join(folder, "ca.pem") };
    const both = { cert: join(folder, "client.pem"), key: join(folder, "client-key.pem"), ca: files.ca };
    writeFileSync(files.cert, own.cert);
    writeFileSync(files.key, own.key);
    writeFileSync(files.ca, ca);
    writeFileSync(both.cert, client.cert);
    writeFileSync(both.key, client.key);
    const server = await startEtcd(files, both);
    onTestFinished(() => server.close());
    const registry = etcd({ servers: [server.address], tls: { ca, ...client } });
    onTestFinished(() => registry.close());
    const provider = await startProvider(registry);
    await provider.registration.ready;
    expect(await openConsumer(registry).client.greet({})).toMatchObject({ greeting: provider.address });
    const plain = etcd({ servers: [server.address] });
    onTestFinished(() => plain.close());
    await expect(openConsumer(plain).client.greet({}, { timeoutMs: 10_000 })).rejects.toThrow(/unavailable/);
  });
});
