/** Lists of a registry that would stop their consumers, and entries that must not be used. The tree is the test's own. */
import type { Endpoint, Resolver } from "triple-es/discovery";
import { describe, expect, it, onTestFinished } from "vitest";
import { MAX_APPLICATIONS, MAX_PROVIDERS } from "../../../dubbo/src/registry/dubbo/limits.ts";
import { parseProvider } from "../../../dubbo/src/registry/dubbo/provider-url.ts";
import {
  endpointOfInstance,
  metadataAddress,
  type ServiceInstance,
} from "../../../dubbo/src/registry/dubbo/service-instance.ts";
import { createTreeRegistry, type Tree } from "../../../dubbo/src/registry/tree.ts";

const SERVICE = "greet.v1.GreetService";

interface Found {
  readonly lists: (readonly Endpoint[])[];
  readonly problems: string[];
  /** The paths that were watched. */
  readonly watched: string[];
}

/** Runs a resolver of a registry with these entries until the end of the test. */
function resolve(mapping: string, providers: readonly string[] = []): Found {
  const found: Found = { lists: [], problems: [], watched: [] };
  const tree = {
    name: "tree",
    watchNames: (path, watcher) => {
      found.watched.push(path);
      watcher.onValue(providers.map(encodeURIComponent));
      return () => {};
    },
    watchContent: (_, watcher) => {
      watcher.onValue(mapping);
      return () => {};
    },
    watchContents: (path, watcher) => {
      found.watched.push(path);
      watcher.onValue(new Map());
      return () => {};
    },
  } as Partial<Tree> as Tree;
  const resolver: Resolver = createTreeRegistry(tree, () => "", { servers: ["127.0.0.1:1"] }).resolver({
    service: SERVICE,
  });
  const end = new AbortController();
  onTestFinished(() => end.abort());
  const warn = (problem: string): void => void found.problems.push(problem);
  void (async () => {
    const context = { signal: end.signal, next: async () => {}, configure() {}, warn };
    for await (const list of resolver(context)) found.lists.push(list);
  })().catch((reason: unknown) => found.problems.push(String(reason)));
  return found;
}

const urlOf = (address: string, query = ""): string => `tri://${address}/${SERVICE}?interface=${SERVICE}${query}`;

describe("a mapping", () => {
  it("of more applications than a service can have is watched in part, with one report", async () => {
    const names = Array.from({ length: 8_000 }, (_, index) => `shop-${index}`);
    const { lists, problems, watched } = resolve(names.join(","), [urlOf("10.0.0.1:1")]);
    await expect.poll(() => lists.length, { timeout: 10_000 }).toBe(1);
    expect(watched.filter((path) => path.startsWith("/services/"))).toHaveLength(MAX_APPLICATIONS);
    expect(problems).toEqual([`the mapping of ${SERVICE} has more than 1000 entries: the others are skipped`]);
    expect(lists[0]?.map(({ address }) => address)).toEqual(["10.0.0.1:1"]);
  });

  it("loses the names that no registry can look up, each with a report", async () => {
    const { lists, problems, watched } = resolve(["a/b", "..", "x".repeat(513), "nul\0", "shop"].join(","));
    await expect.poll(() => lists.length, { timeout: 10_000 }).toBe(1);
    expect(watched).toEqual([`/dubbo/${SERVICE}/providers`, "/services/shop"]);
    const skipped = `of the mapping of ${SERVICE} is skipped: its name is no part of a path of at most 512 characters`;
    expect(problems).toEqual([
      `the application "a/b" ${skipped}`,
      `the application ".." ${skipped}`,
      `the application "${"x".repeat(120)}…" ${skipped}`,
      `the application "nul\\u0000" ${skipped}`,
    ]);
  });
});

describe("a list of providers", () => {
  it("has the first of too many, with one report", async () => {
    const urls = Array.from({ length: MAX_PROVIDERS + 1 }, (_, index) => urlOf(`h${index}:1`));
    const { lists, problems } = resolve("", urls);
    await expect.poll(() => lists.length, { timeout: 30_000 }).toBe(1);
    expect(lists[0]).toHaveLength(MAX_PROVIDERS);
    expect(problems).toEqual([
      `the list of providers of ${SERVICE} has more than 50000 entries: the others are skipped`,
    ]);
  });

  it("does not contain URLs that are too long or have too many parameters", () => {
    const longest = urlOf("10.0.0.1:1", `&methods=${"a".repeat(16_384)}`).slice(0, 16_384);
    expect(parseProvider(longest)?.endpoint.address).toBe("10.0.0.1:1");
    expect(() => parseProvider(`${longest}a`)).toThrow("it is longer than 16384 characters");
    expect(parseProvider(urlOf("10.0.0.1:1", "&a=1".repeat(499)))?.endpoint.address).toBe("10.0.0.1:1");
    expect(() => parseProvider(urlOf("10.0.0.1:1", "&a=1".repeat(500)))).toThrow("it has more than 500 parameters");
  });

  it("ends the task after a few long URLs", async () => {
    const query = "&a=1".repeat(499);
    const { lists } = resolve(
      "",
      Array.from({ length: 2_000 }, (_, index) => urlOf(`h${index}:1`, query)),
    );
    let turns = 0;
    for (; lists.length === 0; turns++) await new Promise((resolve) => setImmediate(resolve));
    // Each URL counts as three entries, of which a step has 500.
    expect(turns).toBeGreaterThanOrEqual(10);
    expect(lists[0]).toHaveLength(2_000);
  });
});

const instance = (host: string, metadata: Record<string, string> = {}): ServiceInstance => ({
  application: "shop",
  host,
  port: 50_051,
  metadata: { "dubbo.metadata.revision": "1", ...metadata },
});

it("an instance with long attributes, its own or those of its service, is none", () => {
  const long = { text: "x".repeat(16_384) };
  const services = [{ service: SERVICE, protocol: "tri", port: 50_051, path: SERVICE, parameters: long }];
  for (const [one, known] of [[instance("h", long), undefined] as const, [instance("h"), services] as const]) {
    expect(() => endpointOfInstance(one, { service: SERVICE }, known)).toThrow(
      "its attributes have more than 16384 characters",
    );
  }
});

describe("a Unix socket", () => {
  it("is no provider", () => {
    for (const address of ["unix:sock", "unix:50051"]) {
      expect(() => parseProvider(urlOf(address))).toThrow(
        "is a Unix socket, which only lists of the program may contain",
      );
    }
  });

  it("is no instance, also if its host is unix", () => {
    for (const host of ["unix", "unix:/run/docker.sock"]) {
      expect(() => endpointOfInstance(instance(host), { service: SERVICE }, undefined)).toThrow(/Unix socket|must be/);
    }
  });

  it("is not asked for metadata", () => {
    const metadata = {
      "meta-v": "2.0.0",
      "dubbo.metadata-service.url-params": JSON.stringify({ protocol: "tri", port: "50051" }),
    };
    expect(metadataAddress(instance("10.0.0.1", metadata))).toBe("10.0.0.1:50051");
    expect(metadataAddress(instance("unix", metadata))).toBeUndefined();
  });
});
