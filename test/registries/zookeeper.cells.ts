/** The registry in ZooKeeper. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Registry } from "triple-es/discovery";
import { zookeeper } from "triple-es-dubbo/zookeeper";
import { describe, expect, it, onTestFinished } from "vitest";
import { writeCuratorInstance } from "../../dubbo/src/registry/dubbo/service-instance.ts";
import { ZooKeeperClient } from "../../dubbo/src/registry/zookeeper/client.ts";
import { createZooKeeperTree } from "../../dubbo/src/registry/zookeeper/tree.ts";
import { createCertificates, hasOpenssl } from "../support/certificate.ts";
import type { RegistryProcess } from "../support/registries/process.ts";
import { ask, hasZooKeeper, startZooKeeper } from "../support/registries/zookeeper.ts";
import { openConsumer, startProvider } from "./fleet.ts";
import { describeCells } from "./shared.ts";

if (!hasZooKeeper) console.log("SKIPPED zookeeper: it cannot be installed here");

/** Runs work with a client of its own. */
async function using<T>({ port }: RegistryProcess, work: (tree: ReturnType<typeof createZooKeeperTree>) => Promise<T>) {
  const servers = [{ host: "127.0.0.1", port }];
  const client = new ZooKeeperClient({
    servers,
    tls: undefined,
    auth: undefined,
    sessionTimeoutMs: 5_000,
    connectTimeoutMs: 5_000,
  });
  try {
    return await work(createZooKeeperTree(client, false));
  } finally {
    await client.close();
  }
}

describe.skipIf(!hasZooKeeper)("zookeeper", () => {
  describeCells({
    kind: "zookeeper",
    ttlMs: 1_000,
    start: () => startZooKeeper(),
    connect: (address, options) =>
      zookeeper({ ...options, servers: [address], sessionTimeoutMs: 1_000, connectTimeoutMs: 1_000 }),
    // Ephemeral nodes are the indented paths below the sessions of the command `dump`.
    ephemeral: async ({ port }) => [...(await ask(port, "dump")).matchAll(/^\t(\/.*)$/gm)].map(([, path = ""]) => path),
    write: (server, path, content) => using(server, (tree) => tree.change(path, () => content)),
    writeInstance: (instance) => writeCuratorInstance(instance, 0),
    writeAll: (server, entries) =>
      using(server, async (tree) => {
        const put = ([path, content]: readonly [string, string]) => tree.change(path, () => content);
        for (const first of entries.slice(0, 1)) await put(first);
        await Promise.all(entries.slice(1).map(put));
      }),
    read: (server, path) => using(server, (tree) => tree.read(path, new AbortController().signal)),
  });

  it("nodes that are created with credentials are accessible with the same credentials only", async () => {
    const server = await startZooKeeper();
    onTestFinished(() => server.close());
    const open = (auth?: { username: string; password: string }): Registry => {
      const registry = zookeeper({ servers: [server.address], auth });
      onTestFinished(() => registry.close());
      return registry;
    };
    const auth = { username: "shop", password: "secret" };
    const provider = await startProvider(open(auth));
    await provider.registration.ready;
    expect(await openConsumer(open(auth)).client.greet({})).toMatchObject({ greeting: provider.address });
    for (const wrong of [undefined, { username: "shop", password: "wrong" }]) {
      await expect(openConsumer(open(wrong)).client.greet({}, { timeoutMs: 10_000 })).rejects.toThrow(
        /zookeeper: .*the credentials do not permit it/,
      );
    }
  });

  it.skipIf(!hasOpenssl)(
    "is reached over TLS, and not with a certificate of another authority (needs openssl)",
    async () => {
      const [trusted, other] = [createCertificates(), createCertificates()];
      const folder = mkdtempSync(join(tmpdir(), "triple-es-zookeeper-tls-"));
      onTestFinished(() => rmSync(folder, { recursive: true }));
      const file = join(folder, "server.pem");
      writeFileSync(file, `${trusted.server.key}\n${trusted.server.cert}`);
      const server = await startZooKeeper(file);
      onTestFinished(() => server.close());
      const open = (ca: string): Registry => {
        const registry = zookeeper({ servers: [`localhost:${server.port}`], tls: { ca } });
        onTestFinished(() => registry.close());
        return registry;
      };
      const provider = await startProvider(open(trusted.ca));
      await provider.registration.ready;
      expect(await openConsumer(open(trusted.ca)).client.greet({})).toMatchObject({ greeting: provider.address });
      await expect(openConsumer(open(other.ca)).client.greet({}, { timeoutMs: 10_000 })).rejects.toThrow(
        /zookeeper: .*certificate/,
      );
    },
  );

  it("a server of the ensemble that does not answer is passed over", async () => {
    const server = await startZooKeeper();
    onTestFinished(() => server.close());
    const registry = zookeeper({ servers: ["127.0.0.1:1", server.address, "127.0.0.1:2"] });
    onTestFinished(() => registry.close());
    const provider = await startProvider(registry);
    await provider.registration.ready;
    expect(await openConsumer(registry).client.greet({})).toMatchObject({ greeting: provider.address });
  });
});
