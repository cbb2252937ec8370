/** Consumers in a registry in memory: their entries while resolvers run, and their definitions, which Dubbo's consoles read. */
import { setImmediate as turn } from "node:timers/promises";
import type { Registry, ServiceKey } from "triple-es/discovery";
import { expect, it, onTestFinished, vi } from "vitest";
import { writeGoInstance } from "../../../../dubbo/src/registry/dubbo/service-instance.ts";
import { externalHost } from "../../../../dubbo/src/registry/servers.ts";
import { createTreeRegistry, type Tree, type TreeOptions } from "../../../../dubbo/src/registry/tree.ts";
import type { Watcher } from "../../../../dubbo/src/registry/watch.ts";
import { VERSION } from "../../../../runtime/src/version.ts";

const SERVICE = "greet.v1.GreetService";
const KEY: ServiceKey = { service: SERVICE };
const DEFINITION = `/dubbo/metadata/${SERVICE}/consumer/web`;
const SOON = { timeout: 10_000 };

/** A registry in memory without providers. */
class MemoryTree implements Tree {
  readonly name = "memory";
  readonly hasConsoles: boolean;
  readonly entries = new Map<string, string>();
  /** The paths of ephemeral and persistent entries in the order of writing. */
  readonly written: string[] = [];
  refuse: (path: string) => Error | undefined = () => undefined;
  /** Removals wait for it. */
  removal: Promise<void> = Promise.resolve();
  #session = new AbortController();
  readonly #watchers = new Set<Watcher<never>>();

  constructor(hasConsoles = true) {
    this.hasConsoles = hasConsoles;
  }

  /** Ends the session, and loses all entries. */
  lose(): void {
    this.entries.clear();
    const ended = this.#session;
    this.#session = new AbortController();
    ended.abort();
  }

  /** Makes all watches fail; the session lives on. */
  failWatches(): void {
    for (const watcher of [...this.#watchers]) watcher.onFailure(new Error("no answer"));
  }

  get consumers(): string[] {
    return [...this.entries.keys()].filter((path) => path.includes("/consumers/"));
  }

  #watch<T>(value: T, watcher: Watcher<T>): () => void {
    this.#watchers.add(watcher);
    queueMicrotask(() => watcher.onValue(value));
    return () => this.#watchers.delete(watcher);
  }

  watchNames: Tree["watchNames"] = (_path, watcher) => this.#watch([], watcher);
  watchContents: Tree["watchContents"] = (_path, watcher) => this.#watch(new Map(), watcher);
  watchContent: Tree["watchContent"] = (_path, watcher) => this.#watch(undefined, watcher);
  read: Tree["read"] = async () => undefined;
  close: Tree["close"] = async () => {};

  change: Tree["change"] = async (path, change) => {
    const content = change(this.entries.get(path));
    if (content !== undefined) this.#write(path, content);
  };

  session: Tree["session"] = async () => ({
    lost: this.#session.signal,
    put: async (path, content) => this.#write(path, content),
    remove: async (path) => {
      await this.removal;
      this.entries.delete(path);
    },
  });

  #write(path: string, content: string): void {
    const refusal = this.refuse(path);
    if (refusal !== undefined) throw refusal;
    this.written.push(path);
    this.entries.set(path, content);
  }
}

const open = (tree: Tree, options: Partial<TreeOptions> = {}): Registry =>
  createTreeRegistry(tree, writeGoInstance, { servers: ["127.0.0.1:1"], application: "web", ...options });

/** Runs a resolver as a transport does: again when it fails, until it is stopped. Returns its warnings and number of lists. */
function resolve(registry: Registry, key: ServiceKey = KEY) {
  const ended = new AbortController();
  const run = { warnings: [] as string[], lists: 0, failures: 0, stop: () => ended.abort() };
  onTestFinished(run.stop);
  const { signal } = ended;
  const context = {
    signal,
    warn: (problem: string) => run.warnings.push(problem),
    next: async () => {},
    configure() {},
  };
  const resolver = registry.resolver(key);
  void (async () => {
    while (!signal.aborted) {
      try {
        for await (const _ of resolver(context)) run.lists++;
      } catch {
        run.failures++;
      }
    }
  })();
  return run;
}

it("a consumer has the URL and the definition of Dubbo for Java while its resolver runs", async () => {
  const tree = new MemoryTree();
  const run = resolve(open(tree), { service: "com.acme.Shop", group: "blue", version: "1.0.0" });
  const definition = "/dubbo/metadata/com.acme.Shop/1.0.0/blue/consumer/web";
  await expect.poll(() => tree.entries.has(definition), SOON).toBe(true);
  const shared = {
    application: "web",
    dubbo: "2.0.2",
    group: "blue",
    interface: "com.acme.Shop",
    release: `triple-es-${VERSION}`,
    side: "consumer",
    version: "1.0.0",
  };
  expect(JSON.parse(tree.entries.get(definition) ?? "")).toEqual(shared);
  const [path = ""] = tree.consumers;
  const prefix = "/dubbo/com.acme.Shop/consumers/";
  expect([path.slice(0, prefix.length), tree.entries.get(path)]).toEqual([prefix, ""]);
  const name = path.slice(prefix.length);
  expect(name).not.toMatch(/[/?&=]/);
  const url = new URL(decodeURIComponent(name));
  expect([url.protocol, url.host, url.pathname]).toEqual([
    "consumer:",
    externalHost() ?? "localhost",
    "/com.acme.Shop",
  ]);
  expect(Object.fromEntries(url.searchParams)).toEqual({
    ...shared,
    category: "consumers",
    check: "false",
    id: expect.stringMatching(/^[0-9a-f]+$/),
    timestamp: expect.stringMatching(/^\d{13}$/),
  });
  run.stop();
  await expect.poll(() => tree.consumers, SOON).toEqual([]);
  expect([...tree.entries.keys()]).toEqual([definition]);
});

it("nothing is written without a name of the application, and no definition where no console reads it", async () => {
  const silent = new MemoryTree();
  const run = resolve(open(silent, { application: undefined }));
  await expect.poll(() => run.lists, SOON).toBe(1);
  await turn();
  expect(silent.written).toEqual([]);
  const plain = new MemoryTree(false);
  resolve(open(plain));
  await expect.poll(() => plain.consumers.length, SOON).toBe(1);
  await turn();
  expect(plain.written).toEqual(plain.consumers);
  for (const application of ["", "a/b", "a,b", 7 as never])
    expect(() => open(plain, { application })).toThrow(/application must consist of letters, digits/);
});

it("resolvers of a service are one consumer of a registry, and two registries are two", async () => {
  const tree = new MemoryTree();
  const registry = open(tree);
  const first = resolve(registry);
  const second = resolve(registry);
  await expect.poll(() => tree.entries.has(DEFINITION), SOON).toBe(true);
  expect(tree.written).toEqual([...tree.consumers, DEFINITION]);
  first.stop();
  await turn();
  expect(tree.consumers).toHaveLength(1);
  const other = resolve(open(tree));
  await expect.poll(() => tree.consumers.length, SOON).toBe(2);
  second.stop();
  await expect.poll(() => tree.consumers.length, SOON).toBe(1);
  other.stop();
  await expect.poll(() => tree.consumers, SOON).toEqual([]);
  // The definition of another process is the same.
  expect(tree.written.filter((path) => path === DEFINITION)).toHaveLength(1);
});

it("a consumer stays while its lists fail, and is written again after its session was lost", async () => {
  const tree = new MemoryTree();
  const run = resolve(open(tree));
  await expect.poll(() => tree.entries.has(DEFINITION), SOON).toBe(true);
  const entries = [...tree.consumers, DEFINITION];
  tree.failWatches();
  await expect.poll(() => run.lists, SOON).toBe(2);
  expect([run.failures, tree.written]).toEqual([1, entries]);
  tree.lose();
  await expect.poll(() => [...tree.entries.keys()], SOON).toEqual(entries);
  run.stop();
  await expect.poll(() => tree.consumers, SOON).toEqual([]);
});

it("a resolver that begins while the entry of the last one is being removed has an entry", async () => {
  const tree = new MemoryTree();
  let release = (): void => {};
  tree.removal = new Promise((resolve) => {
    release = resolve;
  });
  const registry = open(tree);
  const first = resolve(registry);
  await expect.poll(() => tree.entries.has(DEFINITION), SOON).toBe(true);
  const before = tree.written.length;
  first.stop();
  const second = resolve(registry);
  await expect.poll(() => second.lists, SOON).toBe(1);
  expect(tree.written.length).toBe(before);
  release();
  await expect.poll(() => tree.written.length, SOON).toBe(before + 1);
  expect(tree.consumers).toHaveLength(1);
});

it.each([
  ["entry", "/consumers/"],
  ["definition", DEFINITION],
])("an %s that is refused is reported once and written later; lists go on", async (_, refused) => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const tree = new MemoryTree();
  let refusals = 0;
  tree.refuse = (path) => (path.includes(refused) && refusals++ < 5 ? new Error("no permission") : undefined);
  const run = resolve(open(tree));
  for (let turns = 0; turns < 10; turns++) await turn();
  expect(run.lists).toBe(1);
  for (let attempts = 0; attempts < 10; attempts++) {
    await vi.advanceTimersByTimeAsync(3_600);
    await turn();
  }
  expect(refusals).toBe(6);
  expect([tree.consumers.length, tree.entries.has(DEFINITION)]).toEqual([1, true]);
  expect(run.warnings).toEqual([`this consumer of ${SERVICE} is not listed: no permission`]);
  expect([run.lists, run.failures]).toEqual([1, 0]);
});
