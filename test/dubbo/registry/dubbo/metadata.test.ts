/** The services of instances, which their metadata services tell. The tree and the connections are the test's own. */
import { createInMemoryTransport, createRouter } from "triple-es";
import type { Endpoint, Instance, InstanceConnection } from "triple-es/discovery";
import { rules } from "triple-es-dubbo/rules";
import { expect, it, onTestFinished, vi } from "vitest";
import { writeGoInstance } from "../../../../dubbo/src/registry/dubbo/service-instance.ts";
import { serveMetadata } from "../../../../dubbo/src/registry/metadata-service.ts";
import { createTreeRegistry, type Tree } from "../../../../dubbo/src/registry/tree.ts";
import type { Watcher } from "../../../../dubbo/src/registry/watch.ts";

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
  serveMetadata(router, "shop").add(() => [instance]);
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
  // Not the 30 s of other resolvers: the clients of registries have delays of their own.
  expect(resolver.backoff?.maxMs).toBe(3_000);
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

function replace<K, V>(map: Map<K, V>, by: Iterable<readonly [K, V]>): void {
  map.clear();
  for (const [key, value] of by) map.set(key, value);
}

it("the weights that rules give to a server and to one of its services are registered at both levels", async () => {
  const services = [{ service: SERVICE }, { service: "greet.v1.Other" }];
  const instance = { application: "shop", host: "10.0.0.1", port: 50_051, services };
  const router = createRouter();
  const described = serveMetadata(router, "shop");
  const entries = new Map<string, string>();
  const setRule = new Map<string, Watcher<string | undefined>["onValue"]>();
  const tree = {
    session: async () => ({
      lost: new AbortController().signal,
      put: async (path: string, content: string) => void entries.set(path, content),
      remove: async (path: string) => void entries.delete(path),
    }),
    change: async () => {},
    watchNames(path: string, { onValue }: Watcher<readonly string[]>) {
      onValue([...entries.keys()].flatMap((one) => (one.startsWith(`${path}/`) ? one.slice(path.length + 1) : [])));
      return () => {};
    },
    watchContents(path: string, { onValue }: Watcher<ReadonlyMap<string, string>>) {
      onValue(new Map([...entries].filter(([one]) => one.startsWith(`${path}/`))));
      return () => {};
    },
    watchContent(path: string, { onValue }: Watcher<string | undefined>) {
      setRule.set(path, onValue);
      return () => {};
    },
    close: async () => {},
  } as unknown as Tree;
  const open = (): InstanceConnection => ({
    call: createInMemoryTransport(router, { protocol: "grpc" }).call,
    close: async () => {},
  });
  const weightsOf = (levels: "instance" | "interface"): Promise<unknown[]> => {
    const options = {
      servers: ["127.0.0.1:2379"],
      levels,
      providedBy: { [SERVICE]: ["shop"], "greet.v1.Other": ["shop"] },
    };
    const { resolver } = createTreeRegistry(tree, writeGoInstance, options);
    return Promise.all(
      services.map(async (key) => {
        const end = new AbortController();
        onTestFinished(() => end.abort());
        const context = { signal: end.signal, next: async () => {}, configure() {}, warn() {} };
        for await (const list of resolver(key, { open })(context)) return list.map(({ weight }) => weight);
        return undefined;
      }),
    );
  };
  const options = { servers: ["127.0.0.1:2379"], rules: rules({ application: "shop" }) };
  const registration = createTreeRegistry(tree, writeGoInstance, options).register(instance);
  onTestFinished(() => registration.close());
  described.add(registration.states as () => readonly Instance[]);
  await registration.ready;
  expect(await weightsOf("instance")).toEqual([[100], [100]]);
  const item = (weight: number): string => `configs: [{ side: provider, parameters: { weight: ${weight} } }]`;
  const set = (name: string, text: string): void => setRule.get(`/dubbo/config/dubbo/${name}.configurators`)?.(text);
  const expectWeights = async (...weights: number[][]): Promise<void> => {
    await expect.poll(() => weightsOf("interface")).toEqual(weights);
    expect(await weightsOf("instance")).toEqual(weights);
  };
  set(`${SERVICE}::`, `{ key: ${SERVICE}, ${item(7)} }`);
  await expectWeights([7], [100]);
  set("shop", `{ scope: application, key: shop, ${item(50)} }`);
  await expectWeights([7], [50]);
  // Consumers that have read an earlier state ask for it when the rule has changed again.
  const read = new Map(entries);
  set(`${SERVICE}::`, `{ key: ${SERVICE}, ${item(8)} }`);
  await expectWeights([8], [50]);
  const current = new Map(entries);
  replace(entries, read);
  expect(await weightsOf("instance")).toEqual([[7], [50]]);
  replace(entries, current);
  set("shop", "");
  set(`${SERVICE}::`, "");
  await expectWeights([100], [100]);
});
