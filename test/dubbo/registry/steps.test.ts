/** Long lists of a registry: they are parsed in steps, between which other tasks run. The tree is the test's own. */
import type { Endpoint, Resolver } from "triple-es/discovery";
import { expect, it, onTestFinished } from "vitest";
import { writeGoInstance } from "../../../dubbo/src/registry/dubbo/service-instance.ts";
import { createTreeRegistry, type Tree } from "../../../dubbo/src/registry/tree.ts";
import type { Watcher } from "../../../dubbo/src/registry/watch.ts";

const SERVICE = "greet.v1.GreetService";

/** A tree whose lists the test sets. */
class Lists {
  names: Watcher<readonly string[]> | undefined;
  contents: Watcher<ReadonlyMap<string, string>> | undefined;
  readonly tree = {
    name: "lists",
    watchNames: (_: string, watcher: Watcher<readonly string[]>) => {
      this.names = watcher;
      return () => {};
    },
    watchContents: (_: string, watcher: Watcher<ReadonlyMap<string, string>>) => {
      this.contents = watcher;
      return () => {};
    },
  } as unknown as Tree;

  resolver(levels: "instance" | "interface"): Resolver {
    const options = { servers: ["127.0.0.1:2379"], levels, providedBy: { [SERVICE]: ["shop"] } };
    return createTreeRegistry(this.tree, writeGoInstance, options).resolver({ service: SERVICE });
  }
}

/** Runs a resolver until the end of the test. */
function run(resolver: Resolver): (readonly Endpoint[])[] {
  const end = new AbortController();
  onTestFinished(() => end.abort());
  const lists: (readonly Endpoint[])[] = [];
  void (async () => {
    const context = { signal: end.signal, next: async () => {}, configure() {}, warn() {} };
    for await (const list of resolver(context)) lists.push(list);
  })().catch(() => {});
  return lists;
}

const hostOf = (index: number): string => `10.0.${index >> 8}.${index & 255}`;

const instances = (count: number, weight: number): ReadonlyMap<string, string> =>
  new Map(
    Array.from({ length: count }, (_, index) => {
      const instance = {
        application: "shop",
        host: hostOf(index),
        port: 50_051,
        weight,
        services: [{ service: SERVICE }],
      };
      return [`${hostOf(index)}:50051`, writeGoInstance(instance).replace('"meta-v":"2.0.0"', '"meta-v":"1.0.0"')];
    }),
  );

const providers = (count: number): string[] =>
  Array.from({ length: count }, (_, index) =>
    encodeURIComponent(`tri://${hostOf(index)}:50051/${SERVICE}?interface=${SERVICE}`),
  );

/** Counts the turns of the event loop until the first list. */
async function turnsUntilListed(lists: readonly unknown[]): Promise<number> {
  let turns = 0;
  for (; lists.length === 0; turns++) await new Promise((resolve) => setImmediate(resolve));
  return turns;
}

it.each(["instance", "interface"] as const)(
  "a list of 5,000 at the level %s ends the task several times",
  async (level) => {
    const lists = new Lists();
    const seen = run(lists.resolver(level));
    if (level === "instance") lists.contents?.onValue(instances(5_000, 100));
    else lists.names?.onValue(providers(5_000));
    expect(await turnsUntilListed(seen)).toBeGreaterThanOrEqual(10);
    expect(seen[0]).toHaveLength(5_000);
  },
);

it("a list that changes while it is parsed is superseded by the later one", async () => {
  const lists = new Lists();
  const seen = run(lists.resolver("instance"));
  lists.contents?.onValue(instances(5_000, 100));
  await new Promise((resolve) => setImmediate(resolve));
  lists.contents?.onValue(instances(3, 7));
  await turnsUntilListed(seen);
  for (let turns = 0; turns < 50; turns++) await new Promise((resolve) => setImmediate(resolve));
  expect(seen).toHaveLength(1);
  expect(seen[0]?.map(({ weight }) => weight)).toEqual([7, 7, 7]);
});

it("a long list is listed even if it changes in every turn of the event loop", async () => {
  const lists = new Lists();
  const seen = run(lists.resolver("instance"));
  const all = [...instances(5_000, 100)];
  for (let turns = 0; turns < 100 && seen.length === 0; turns++) {
    lists.contents?.onValue(new Map(turns % 2 === 0 ? all : all.slice(1)));
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(seen[0]?.length).toBeGreaterThanOrEqual(4_999);
});
