/**
 * Registries whose entries form a tree of paths: ZooKeeper and etcd. Both have the same paths:
 *
 *     /dubbo/SERVICE/providers/URL       interface level; the URL is percent-encoded
 *     /dubbo/SERVICE/consumers/URL       consumers, for consoles
 *     /dubbo/mapping/SERVICE             the applications that provide a service, separated by commas
 *     /dubbo/metadata/APP/REVISION       the services of an application, if it stores them in the registry
 *     /dubbo/metadata/SERVICE[/VERSION][/GROUP]/provider/APP   the definition of a service, for consoles; or consumer
 *     /dubbo/config/dubbo/KEY            rules
 *     /services/APP/HOST:PORT            application level
 */
import type { Instance, Registry } from "triple-es/discovery";
import { formatAddress } from "triple-es/internal";
import { decodeName, writeProviderUrl, writeUrl } from "./dubbo/provider-url.ts";
import type { RegistryOptions } from "./dubbo/resolver.ts";
import { parseInstance } from "./dubbo/service-instance.ts";
import type { EntrySession, Store, Text } from "./dubbo/source.ts";
import { createRegistry, keepInstance } from "./dubbo/store.ts";
import type { StopWatch, Watcher } from "./watch.ts";

/** Maximum number of attempts to change an entry that other clients change at the same time. */
export const MAX_TRIES = 100;

export interface Tree {
  /** The name of the registry in messages. */
  readonly name: string;
  /** True if Dubbo's consoles read the registry. */
  readonly hasConsoles: boolean;
  /** Watches the names of the entries directly below a path. */
  readonly watchNames: (path: string, watcher: Watcher<readonly string[]>) => StopWatch;
  /** Watches the names and contents of the entries directly below a path. */
  readonly watchContents: (path: string, watcher: Watcher<ReadonlyMap<string, string>>) => StopWatch;
  /** Watches the content of an entry; `undefined` if there is none. */
  readonly watchContent: (path: string, watcher: Watcher<string | undefined>) => StopWatch;
  readonly read: (path: string, signal: AbortSignal) => Promise<string | undefined>;
  /** Changes a persistent entry by compare-and-set. `change` returns `undefined` to leave it as it is. */
  readonly change: (path: string, change: (content: string | undefined) => string | undefined) => Promise<void>;
  readonly session: (signal: AbortSignal) => Promise<EntrySession<string>>;
  readonly close: () => Promise<void>;
}

/** Options of registries whose entries form a tree. */
export interface TreeOptions extends RegistryOptions {
  /** The root of the interface level, of the mapping and of stored metadata. Default: `dubbo`. */
  readonly root?: string | undefined;
  /** The root of the application level. Default: `services`. */
  readonly servicesRoot?: string | undefined;
  /** Time limit for connecting to a server, in milliseconds. Default: 5,000. */
  readonly connectTimeoutMs?: number | undefined;
}

/** Makes a registry of a tree. `writeInstance` writes the content of an instance. */
export function createTreeRegistry(
  tree: Tree,
  writeInstance: (instance: Instance) => string,
  options: TreeOptions,
): Registry {
  const store = createStore(tree, options, writeInstance);
  const keep: Registry["register"] = (instance, onEvent) => keepInstance(store, instance, options.rules, onEvent);
  return createRegistry(store, options, keep, tree.close);
}

function createStore(tree: Tree, options: TreeOptions, writeInstance: (instance: Instance) => string): Store<string> {
  const root = checkRoot("root", options.root ?? "dubbo");
  const servicesRoot = checkRoot("servicesRoot", options.servicesRoot ?? "services");
  const textAt = (path: string): Text => ({
    watch: (watcher) => tree.watchContent(path, watcher),
    read: (signal) => tree.read(path, signal),
    change: (change) => tree.change(path, change),
  });
  return {
    name: tree.name,
    hasConsoles: tree.hasConsoles,
    open: (signal) => tree.session(signal),
    mapping: (service) => textAt(`${root}/mapping/${service}`),
    metadata: (application, revision) => textAt(`${root}/metadata/${application}/${revision}`),
    definition({ service, version, group }, side, application) {
      const parts = [root, "metadata", encodeURIComponent(service), version, group, side, application];
      return textAt(parts.filter(Boolean).join("/"));
    },
    rule: (key) => textAt(`${root}/config/dubbo/${key}`),
    watchProviders: ({ service }, watcher) => tree.watchNames(`${root}/${service}/providers`, watcher),
    decodeProvider: decodeName,
    watchInstances: (application, _, watcher) => tree.watchContents(`${servicesRoot}/${application}`, watcher),
    parseInstance,
    entriesOf(instance) {
      const { application, host, port, services, mode = "all" } = instance;
      const entries = new Map<string, string>();
      if (mode !== "interface") {
        entries.set(`${servicesRoot}/${application}/${formatAddress(host, port)}`, writeInstance(instance));
      }
      if (mode === "instance") return entries;
      for (const offered of services) {
        const url = encodeURIComponent(writeProviderUrl(instance, offered));
        entries.set(`${root}/${offered.service}/providers/${url}`, "");
      }
      return entries;
    },
    consumerEntry({ service }, { host, port, attributes }) {
      const url = writeUrl("consumer", formatAddress(host, port), service, attributes);
      return [`${root}/${service}/consumers/${encodeURIComponent(url)}`, ""];
    },
  };
}

/** Returns the path of a root. */
function checkRoot(name: string, root: string): string {
  const trimmed = String(root).replace(/^\/|\/$/g, "");
  if (typeof root === "string" && /^[^\s/]+(\/[^\s/]+)*$/.test(trimmed)) return `/${trimmed}`;
  throw new TypeError(`${name} must be a path such as "dubbo", not ${JSON.stringify(root)}`);
}
