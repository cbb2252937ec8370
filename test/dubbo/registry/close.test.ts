/** The end of a registry, and of registrations in it. No server listens at its address. */
import { etcd } from "triple-es-dubbo/etcd";
import { nacos } from "triple-es-dubbo/nacos";
import { zookeeper } from "triple-es-dubbo/zookeeper";
import { expect, it } from "vitest";

const INSTANCE = { application: "shop", host: "10.0.0.1", port: 1, services: [{ service: "shop.v1.Shop" }] };
const REGISTRIES = { etcd, nacos, zookeeper };

it.each(Object.entries(REGISTRIES))("%s ends its registrations, and refuses others", async (_, open) => {
  const registry = open({ servers: ["127.0.0.1:1"] });
  const { ready, status } = registry.register(INSTANCE);
  await registry.close();
  await expect(ready).rejects.toThrow("the registration is closed");
  expect(status()).toBe("closed");
  expect(() => registry.register(INSTANCE)).toThrow("the registry is closed");
});
