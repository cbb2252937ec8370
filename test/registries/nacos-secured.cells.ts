/** Nacos with users and with TLS. Each has a server of its own, beside that of the other cells. */
import type { Registry } from "triple-es/discovery";
import { type NacosOptions, nacos } from "triple-es-dubbo/nacos";
import { describe, expect, it, onTestFinished } from "vitest";
import { hasOpenssl, sharedCertificates } from "../support/certificate.ts";
import { hasNacos, startNacos } from "../support/registries/nacos.ts";
import { openConsumer, startProvider, timeUntil } from "./fleet.ts";

describe.skipIf(!hasNacos)("nacos with users", () => {
  it("takes users with their passwords, and says which it refuses", async () => {
    const server = await startNacos({ secured: true });
    onTestFinished(() => server.close());
    const auth = { username: "nacos", password: "nacos" };
    const registry = nacos({ servers: [server.address], auth });
    onTestFinished(() => registry.close());
    const provider = await startProvider(registry);
    await provider.registration.ready;
    expect(await openConsumer(registry).client.greet({})).toMatchObject({ greeting: provider.address });
    const refused = nacos({ servers: [server.address], auth: { ...auth, password: "wrong" } });
    onTestFinished(() => refused.close());
    // Nacos 2.3.2 answers a wrong password with a status line that is not HTTP.
    const greeting = openConsumer(refused).client.greet({}, { timeoutMs: 20_000 });
    await expect(greeting).rejects.toThrow(/nacos: .*(refuses the user nacos|login is not possible)/);
  });
});

describe.skipIf(!hasNacos || !hasOpenssl)("nacos with TLS", () => {
  it("encrypts the login and gRPC, and takes clients with certificates only; others fail with the reason", async () => {
    const certificates = sharedCertificates();
    const server = await startNacos({ secured: true, certificates });
    onTestFinished(() => server.close());
    const { ca, client, stranger } = certificates;
    const auth = { username: "nacos", password: "nacos" };
    const open = (tls: NacosOptions["tls"]): Registry => {
      const registry = nacos({ servers: [server.address], auth, tls });
      onTestFinished(() => registry.close());
      return registry;
    };
    const provider = await startProvider(open({ ca, ...client }));
    await provider.registration.ready;
    const consumer = openConsumer(open({ ca, ...client }));
    expect(await consumer.client.greet({})).toMatchObject({ greeting: provider.address });
    await provider.registration.update({ weight: 7 });
    await timeUntil(() => consumer.transport.endpoints()[0]?.weight === 7, 10_000);
    const refused: readonly [NacosOptions["tls"], RegExp][] = [
      [client, /unable to verify the first certificate/],
      [{ ca, ...stranger }, /alert/],
      [{ ca }, /certificate required/],
      [undefined, /try https/],
    ];
    for (const [tls, reason] of refused) {
      const greeting = openConsumer(open(tls)).client.greet({}, { timeoutMs: 30_000 });
      await expect(greeting).rejects.toThrow(/nacos: /);
      await expect(greeting).rejects.toThrow(reason);
    }
  });
});
