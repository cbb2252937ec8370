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
import { Code, RpcError } from "triple-es";
import type { Instance, Registry, ServiceKey } from "triple-es/discovery";
import { formatAddress, reasonOf } from "triple-es/internal";
import { configured } from "./configured.ts";
import { type DefinitionStore, withDefinitions } from "./dubbo/definition.ts";
import { parseMetadata } from "./dubbo/metadata.ts";
import { decodeName, writeProviderUrl, writeUrl } from "./dubbo/provider-url.ts";
import { type ConsumerOptions, createDubboResolvers, shorten } from "./dubbo/resolver.ts";
import { parseInstance, type ServiceInstance } from "./dubbo/service-instance.ts";
import { addToMapping, parseMapping } from "./dubbo/service-key.ts";
import type { Consumer, DubboSource, Warn } from "./dubbo/source.ts";
import { keepRegistered, type Publisher, type Session } from "./registration.ts";
import { EntryCounter } from "./steps.ts";
import type { StopWatch, Watcher } from "./watch.ts";

/** Maximum number of attempts to change an entry that other clients change at the same time. */
export const MAX_TRIES = 100;

/** The error of requests after the registry was closed. */
export const REGISTRY_CLOSED: RpcError = new RpcError(Code.Canceled, "the registry is closed");

/** A session that holds entries. They are removed when it ends. */
export interface TreeSession extends Session {
  /** Creates or replaces an entry. */
  readonly put: (path: string, content: string) => Promise<void>;
  /** Removes an entry, if the session still holds it. */
  readonly remove: (path: string) => Promise<void>;
}

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
  readonly session: (signal: AbortSignal) => Promise<TreeSession>;
  readonly close: () => Promise<void>;
}

/** Options of registries of Dubbo. */
export interface DubboOptions extends ConsumerOptions {
  /** The root of the interface level, of the mapping and of stored metadata. Default: `dubbo`. */
  readonly root?: string | undefined;
  /** The root of the application level. Default: `services`. */
  readonly servicesRoot?: string | undefined;
}

/** Makes a registry of a tree. `writeInstance` writes the content of an instance. */
export function createTreeRegistry(
  tree: Tree,
  writeInstance: (instance: Instance) => string,
  options: DubboOptions & { readonly servers: readonly string[] },
): Registry {
  const paths = new Paths(options.root ?? "dubbo", options.servicesRoot ?? "services");
  const publisher = createPublisher(tree, paths, writeInstance);
  const source = createSource(tree, paths);
  return {
    resolver: createDubboResolvers(source, options),
    register(instance, onEvent) {
      const kept = keepRegistered(publisher, instance, onEvent);
      const registration = configured(kept, instance, options.rules, source, onEvent);
      if (!tree.hasConsoles) return registration;
      const store: DefinitionStore = (offered, change) =>
        tree.change(paths.definition(offered, "provider", instance.application), change);
      return withDefinitions(registration, instance, publisher.open, store, onEvent);
    },
    close: () => tree.close(),
  };
}

class Paths {
  readonly #root: string;
  readonly #servicesRoot: string;

  constructor(root: string, servicesRoot: string) {
    this.#root = checkRoot("root", root);
    this.#servicesRoot = checkRoot("servicesRoot", servicesRoot);
  }

  providers = (service: string): string => `/${this.#root}/${service}/providers`;
  consumer = ({ key: { service }, host, port, attributes }: Consumer): string =>
    `/${this.#root}/${service}/consumers/${encodeURIComponent(writeUrl("consumer", formatAddress(host, port), service, attributes))}`;
  mapping = (service: string): string => `/${this.#root}/mapping/${service}`;
  metadata = (application: string, revision: string): string => `/${this.#root}/metadata/${application}/${revision}`;
  definition = ({ service, version, group }: ServiceKey, side: string, application: string): string =>
    `/${[this.#root, "metadata", encodeURIComponent(service), version, group, side, application].filter(Boolean).join("/")}`;
  rule = (key: string): string => `/${this.#root}/config/dubbo/${key}`;
  instances = (application: string): string => `/${this.#servicesRoot}/${application}`;
}

function checkRoot(name: string, root: string): string {
  const trimmed = String(root).replace(/^\/|\/$/g, "");
  if (typeof root === "string" && /^[^\s/]+(\/[^\s/]+)*$/.test(trimmed)) return trimmed;
  throw new TypeError(`${name} must be a path such as "dubbo", not ${JSON.stringify(root)}`);
}

function createSource(tree: Tree, paths: Paths): DubboSource {
  return {
    name: tree.name,
    watchProviders: ({ service }: ServiceKey, warn: Warn, watcher) => {
      const decoded = new Map<string, string | undefined>();
      const decode = (name: string): string | undefined => {
        const known = decoded.get(name);
        if (known !== undefined) return known;
        const url = decodeName(name);
        if (url === undefined)
          warn(`the provider ${shorten(name)} of ${service} is skipped: it is not percent-encoded`);
        decoded.set(name, url);
        return url;
      };
      return tree.watchNames(paths.providers(service), {
        ...watcher,
        onValue: (names) => {
          const current = new Set(names);
          for (const name of decoded.keys()) if (!current.has(name)) decoded.delete(name);
          watcher.onValue(names.flatMap((name) => decode(name) ?? []));
        },
      });
    },
    watchApplications: (service, watcher) =>
      tree.watchContent(paths.mapping(service), {
        ...watcher,
        onValue: (content) => watcher.onValue(parseMapping(content)),
      }),
    watchInstances: (application, warn, watcher) => {
      const parsed = new ParsedInstances(application, warn);
      return tree.watchContents(paths.instances(application), {
        ...watcher,
        onValue: (contents) => void parsed.update(contents, watcher.onValue),
      });
    },
    keepConsumer(consumer, onEvent) {
      const { key, application, freed, define } = consumer;
      const [path, definition] = [paths.consumer(consumer), paths.definition(key, "consumer", application)];
      const publisher: Publisher<TreeSession> = {
        open: (signal) => freed.then(() => tree.session(signal)),
        async publish(session) {
          await session.put(path, "");
          if (tree.hasConsoles) await tree.change(definition, define);
        },
        withdraw: (session) => session.remove(path),
      };
      return keepRegistered(publisher, consumer, onEvent);
    },
    watchRule: (key, watcher) => tree.watchContent(paths.rule(key), watcher),
    async readStoredMetadata(application, revision, signal) {
      const content = await tree.read(paths.metadata(application, revision), signal);
      return content === undefined ? undefined : parseMetadata(JSON.parse(content));
    },
  };
}

/** A parsed instance; `undefined` for a malformed one. */
interface Parsed {
  readonly content: string;
  readonly instance: ServiceInstance | undefined;
}

/** Parses instances. An instance whose content has not changed is the same object as before. */
class ParsedInstances {
  readonly #application: string;
  readonly #warn: Warn;
  readonly #known = new Map<string, Parsed>();
  #latest: ReadonlyMap<string, string> | undefined;

  constructor(application: string, warn: Warn) {
    this.#application = application;
    this.#warn = warn;
  }

  /**
   * Reports the instances: at once if few have changed, otherwise after several steps, unless there is a later update
   * by then. That one continues with what was parsed, so that frequent updates do not delay the report without end.
   */
  async update(contents: ReadonlyMap<string, string>, report: (instances: ServiceInstance[]) => void): Promise<void> {
    this.#latest = contents;
    const steps = new EntryCounter();
    for (const [name, content] of contents) {
      if (this.#known.get(name)?.content === content) continue;
      this.#known.set(name, { content, instance: this.#parse(name, content) });
      const turn = steps.countText(content);
      if (turn !== undefined) await turn;
      if (this.#latest !== contents) return;
    }
    for (const name of this.#known.keys()) if (!contents.has(name)) this.#known.delete(name);
    report([...contents.keys()].flatMap((name) => this.#known.get(name)?.instance ?? []));
  }

  #parse(name: string, content: string): ServiceInstance | undefined {
    try {
      return parseInstance(content, this.#application);
    } catch (reason) {
      this.#warn(`the instance ${shorten(name)} of ${this.#application} is skipped: ${reasonOf(reason)}`);
      return undefined;
    }
  }
}

function createPublisher(
  tree: Tree,
  paths: Paths,
  writeInstance: (instance: Instance) => string,
): Publisher<TreeSession> {
  function entriesOf(instance: Instance): Map<string, string> {
    const { application, host, port, services, mode = "all" } = instance;
    const entries = new Map<string, string>();
    if (mode !== "interface") {
      entries.set(`${paths.instances(application)}/${formatAddress(host, port)}`, writeInstance(instance));
    }
    if (mode !== "instance") {
      for (const offered of services) {
        const url = encodeURIComponent(writeProviderUrl(instance, offered));
        entries.set(`${paths.providers(offered.service)}/${url}`, "");
      }
    }
    return entries;
  }

  return {
    open: (signal) => tree.session(signal),
    async publish(session, instance, earlier) {
      const before = earlier === undefined ? new Map<string, string>() : entriesOf(earlier);
      const entries = entriesOf(instance);
      const changed = [...entries].filter(([path, content]) => before.get(path) !== content);
      await Promise.all(changed.map(([path, content]) => session.put(path, content)));
      await Promise.all([...before.keys()].flatMap((path) => (entries.has(path) ? [] : session.remove(path))));
      if (earlier !== undefined || instance.mode === "interface") return;
      // Written last: consumers that see the mapping look for the instance.
      const names = new Set(instance.services.map(({ service }) => service));
      await Promise.all(
        [...names].map((service) =>
          tree.change(paths.mapping(service), (content) => addToMapping(content, instance.application)),
        ),
      );
    },
    async withdraw(session, instance) {
      await Promise.all([...entriesOf(instance).keys()].map((path) => session.remove(path)));
    },
  };
}
