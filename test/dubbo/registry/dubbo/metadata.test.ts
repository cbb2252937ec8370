/** The services of instances, which their metadata services tell. The tree and the connections are the test's own. */
import { createInMemoryTransport, createRouter } from "triple-es";
import type { Endpoint, InstanceConnection } from "triple-es/discovery";
import { expect, it, onTestFinished, vi } from "vitest";
import { writeGoInstance } from "../../../../dubbo/src/registry/dubbo/service-instance.ts";
import { serveMetadata } from "../../../../dubbo/src/registry/metadata-service.ts";
import { createTreeRegistry, type Tree } from "../../../../dubbo/src/registry/tree.ts";

const SERVICE = "greet.v1.GreetService";

it("an instance whose metadata service has not answered is asked again, although nothing changes", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const instance = {
    application: "shop",
    host: "10.0.0.1",
    port: 50_051,
    services: [{ service: SERVICE, group: "a" }],
  };
  const router = createRouter();
  serveMetadata(router, instance);
  let asked = 0;
  const open = (): InstanceConnection => {
    const { call } = createInMemoryTransport(router, { protocol: "grpc" });
    const refuse = () => Promise.reject(new Error("by the test"));
    return { call: asked++ < 2 ? refuse : call, close: async () => {} };
  };
  const tree = {
    watchContents(_: string, { onValue }: { onValue: (value: ReadonlyMap<string, string>) => void }) {
      onValue(new Map([["10.0.0.1:50051", writeGoInstance(instance)]]));
      return () => {};
    },
  } as unknown as Tree;
  const options = { servers: ["127.0.0.1:2379"], levels: "instance", providedBy: { [SERVICE]: ["shop"] } } as const;
  const resolver = createTreeRegistry(tree, writeGoInstance, options).resolver({ service: SERVICE }, { open });
  const end = new AbortController();
  onTestFinished(() => end.abort());
  const lists: (readonly Endpoint[])[] = [];
  void (async () => {
    const context = { signal: end.signal, next: async () => {}, configure() {}, warn() {} };
    for await (const list of resolver(context)) lists.push(list);
  })().catch(() => {});
  await vi.advanceTimersByTimeAsync(40_000);
  // Without its metadata, it is assumed to have the service; its metadata have it in another group only.
  expect([asked, lists.map((list) => list.length)]).toEqual([2, [1]]);
  await vi.advanceTimersByTimeAsync(60_000);
  expect([asked, lists.map((list) => list.length)]).toEqual([3, [1, 0]]);
  await vi.advanceTimersByTimeAsync(600_000);
  expect(asked).toBe(3);
});
