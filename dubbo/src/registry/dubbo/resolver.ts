/**
 * The resolver of a service in a registry of Dubbo. It reads both levels, and joins them by address:
 *
 *     interface level     service → provider URLs
 *     application level   service → applications (mapping, or `providedBy`) → instances → services of their revision
 *
 * Dubbo for Java registers every provider at both levels by default. An address that is in both is one endpoint, and its
 * instance wins. Providers of an application that are at the interface level only are used, too: an application that is being
 * moved to the application level has both kinds.
 */
import { Code, RpcError } from "triple-es";
import type { Balancer, Endpoint, Registry, Resolver, ServiceKey } from "triple-es/discovery";
import { assertOneOf, formatServiceKey, onAbort, reasonOf, startBackgroundTimer } from "triple-es/internal";
import type { Rules, ServiceRules } from "../../rules/service-rules.ts";
import { externalHost } from "../servers.ts";
import { Changes, type StopWatch, type Watcher } from "../watch.ts";
import { createConsumers } from "./consumer.ts";
import { checkApplications, EntryCounter, MAX_PROVIDERS, takeFirst } from "./limits.ts";
import type { DescribedService } from "./metadata.ts";
import { MetadataCache } from "./metadata-cache.ts";
import { type Provider, parseProvider } from "./provider-url.ts";
import { endpointOfInstance, type ServiceInstance } from "./service-instance.ts";
import { servesKey } from "./service-key.ts";
import type { DubboSource, Warn } from "./source.ts";

/** Which levels consumers read. */
export type Levels = "all" | "instance" | "interface";

/** Options of a registry for its consumers. */
export interface ConsumerOptions {
  /**
   * The levels that consumers read: `instance` is the application level, `interface` the interface level (as Dubbo before
   * 3.0), and `all` is both. Default: `all`.
   */
  readonly levels?: Levels | undefined;
  /** The applications that provide a service, by its full name. Default: those of the mapping in the registry. */
  readonly providedBy?: Readonly<Record<string, readonly string[]>> | undefined;
  /** The name of this application, which Dubbo's consoles list as a consumer of what it calls. Default: it is not listed. */
  readonly application?: string | undefined;
  /** Traffic rules, made by `rules` of `triple-es-dubbo/rules`. Default: none are read. */
  readonly rules?: Rules | undefined;
}

/** The part of the registry that a resolver reads. */
interface Scope {
  /** The applications that provide the service. `undefined`: those of the mapping. */
  readonly providedBy: readonly string[] | undefined;
  readonly levels: Levels;
  readonly rules: ServiceRules | undefined;
}

/** Time for which a list waits for the metadata of its instances, in milliseconds. Later metadata makes another list. */
const METADATA_WAIT_MS = 3_000;

/** The instances of an application. */
interface Application {
  stop: StopWatch;
  /** The texts of the entries by their names. `undefined`: they are not known yet. */
  entries: readonly (readonly [name: string, text: string])[] | undefined;
  /** The parsed entries by their names. `undefined` for a malformed one, and one that takes no calls. */
  readonly parsed: Map<string, { readonly text: string; readonly instance: ServiceInstance | undefined }>;
}

/** The endpoint of an instance, and the services of its revision at that time. */
interface FoundEndpoint {
  readonly services: readonly DescribedService[] | undefined;
  readonly endpoint: Endpoint | undefined;
}

export const LEVELS: readonly Levels[] = ["all", "instance", "interface"];

/**
 * Maximum number of problems that a resolver remembers, in order to report each of them once. Then it forgets all of
 * them.
 */
const MAX_PROBLEMS = 1_000;

/** Makes the resolvers of a registry, which share the metadata that they read. Throws a `TypeError` for an invalid option. */
export function createDubboResolvers(
  source: DubboSource,
  options: ConsumerOptions & { readonly servers: readonly string[] },
): Registry["resolver"] {
  const { levels = "all", providedBy = {}, application, rules, servers } = options;
  if (rules !== undefined && typeof rules?.of !== "function") {
    throw new TypeError("rules must be made by the function rules of triple-es-dubbo/rules");
  }
  assertOneOf("levels", levels, LEVELS);
  const cache = new MetadataCache(source);
  const listConsumer = createConsumers(source, application);
  return (key, { open } = {}) => {
    const own = Object.hasOwn(providedBy, key.service) ? providedBy[key.service] : undefined;
    const ruled = rules?.of(key, externalHost() ?? "localhost");
    const reported = new Set<string>();
    const resolver: Resolver = async function* ({ signal, warn }) {
      const warnOnce: Warn = (problem) => {
        if (reported.has(problem)) return;
        if (reported.size >= MAX_PROBLEMS) reported.clear();
        reported.add(problem);
        warn(problem);
      };
      listConsumer(key, warnOnce, signal);
      const view = new ServiceView(source, key, { levels, providedBy: own, rules: ruled }, warnOnce);
      try {
        const steps = new EntryCounter();
        let last: string | undefined;
        for (;;) {
          await view.changes.next(signal);
          if (!view.isComplete) continue;
          await steps.count(view.size);
          const instances = await view.instances();
          if (instances === undefined) continue;
          const loaded = cache.load(instances, open);
          if (await isPending(loaded, signal)) void loaded.then(view.changes.set);
          if (signal.aborted) return;
          const endpoints = await view.endpoints(instances, cache);
          await steps.count(view.size);
          if (signal.aborted) return;
          // Rules of the application that provides the service: the first one, as in Dubbo.
          if (ruled?.provide(endpoints[0]?.attributes?.["application"]) === false) continue;
          // A change of another service of the same application is not a change of this one.
          const current = `${ruled?.changes} ${JSON.stringify(endpoints)}`;
          if (current === last) continue;
          last = current;
          await steps.count(view.size);
          yield ruled?.weigh(endpoints) ?? endpoints;
        }
      } catch (cause) {
        if (signal.aborted) return;
        const { code, rawMessage } = RpcError.from(cause, Code.Unavailable);
        throw new RpcError(code, `${source.name}: ${rawMessage}`, { cause });
      } finally {
        view.close();
      }
    };
    const dynamic = ruled && { route: (policy: Balancer) => ruled.route(policy), overrides: ruled.overrides };
    return Object.assign(resolver, { source: `${source.name} at ${servers.join(", ")}`, ...dynamic });
  };
}

/** Waits for the metadata. Returns true if it is not complete in time. */
function isPending(loaded: Promise<void>, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const settle = (isLate: boolean): void => {
      stop();
      unlink();
      resolve(isLate);
    };
    const stop = startBackgroundTimer(METADATA_WAIT_MS, () => settle(true));
    const unlink = onAbort(signal, () => settle(true));
    void loaded.then(() => settle(false));
  });
}

/** The entries of one service, kept up to date by watches. */
class ServiceView {
  readonly changes: Changes = new Changes();
  readonly #source: DubboSource;
  readonly #key: ServiceKey;
  readonly #warn: Warn;
  readonly #stops: StopWatch[] = [];
  readonly #applications = new Map<string, Application>();
  /** Parsed entries. Lists are compared often, and most of their entries do not change. */
  readonly #parsed = new Map<string, Provider | undefined>();
  readonly #endpoints = new WeakMap<ServiceInstance, FoundEndpoint>();
  #providers: readonly string[] | undefined;
  #isMapped = false;

  constructor(source: DubboSource, key: ServiceKey, { providedBy, levels, rules }: Scope, warn: Warn) {
    this.#source = source;
    this.#key = key;
    this.#warn = warn;
    rules?.start((name, onText) => source.watchRule(name, this.#watcher(onText)), warn);
    if (rules !== undefined) this.#stops.push(() => rules.stop());
    const providers = this.#watcher<readonly string[]>((urls) => this.#listed(urls));
    if (levels === "instance") this.#providers = [];
    else this.#stops.push(source.watchProviders(key, providers));
    const apps = this.#watcher<readonly string[]>((all) => this.#mapped(checkApplications(all, key.service, warn)));
    if (levels === "interface") this.#isMapped = true;
    else if (providedBy !== undefined) this.#mapped(providedBy);
    else this.#stops.push(source.watchApplications(key.service, apps));
  }

  /** Reports whether every list has been read once. */
  get isComplete(): boolean {
    if (this.#providers === undefined || !this.#isMapped) return false;
    for (const { entries } of this.#applications.values()) if (entries === undefined) return false;
    return true;
  }

  /** The number of entries. */
  get size(): number {
    let size = this.#providers?.length ?? 0;
    for (const { entries } of this.#applications.values()) size += entries?.length ?? 0;
    return size;
  }

  /** Returns the instances of all applications. New ones are parsed in steps; a change meanwhile ends that with `undefined`. */
  async instances(): Promise<readonly ServiceInstance[] | undefined> {
    const steps = new EntryCounter();
    const all: ServiceInstance[] = [];
    for (const [application, { entries = [], parsed }] of this.#applications) {
      for (const [name, text] of entries) {
        let known = parsed.get(name);
        if (known?.text !== text) {
          known = { text, instance: this.#instance(application, name, text) };
          parsed.set(name, known);
          const turn = steps.countText(text);
          if (turn !== undefined) {
            await turn;
            if (this.changes.isSet) return undefined;
          }
        }
        if (known.instance !== undefined) all.push(known.instance);
      }
    }
    return all;
  }

  /** Returns the endpoints of instances and providers. Those that are new are parsed in steps. */
  async endpoints(instances: readonly ServiceInstance[], cache: MetadataCache): Promise<readonly Endpoint[]> {
    const steps = new EntryCounter();
    const byAddress = new Map<string, Endpoint>();
    for (const instance of instances) {
      const services = cache.get(instance);
      const known = this.#endpoints.get(instance);
      const isKnown = known !== undefined && known.services === services;
      const endpoint = isKnown ? known.endpoint : this.#instanceEndpoint(instance, services);
      if (!isKnown) {
        this.#endpoints.set(instance, { services, endpoint });
        const turn = steps.count();
        if (turn !== undefined) await turn;
      }
      if (endpoint !== undefined) byAddress.set(endpoint.address, endpoint);
    }
    for (const url of this.#providers ?? []) {
      const isKnown = this.#parsed.has(url);
      const provider = isKnown ? this.#parsed.get(url) : this.#provider(url);
      const turn = isKnown ? undefined : steps.countText(url);
      if (turn !== undefined) await turn;
      if (provider === undefined) continue;
      const { endpoint } = provider;
      if (!byAddress.has(endpoint.address)) byAddress.set(endpoint.address, endpoint);
    }
    return [...byAddress.values()];
  }

  close(): void {
    for (const stop of this.#stops) stop();
    for (const { stop } of this.#applications.values()) stop();
  }

  #instance(application: string, name: string, text: string): ServiceInstance | undefined {
    try {
      return this.#source.parseInstance(text, application);
    } catch (reason) {
      this.#warn(`the instance ${shorten(name)} of ${application} is skipped: ${reasonOf(reason)}`);
      return undefined;
    }
  }

  #instanceEndpoint(instance: ServiceInstance, services: FoundEndpoint["services"]): Endpoint | undefined {
    try {
      return endpointOfInstance(instance, this.#key, services);
    } catch (reason) {
      const { application, host, port } = instance;
      this.#warn(`the instance ${host}:${port} of ${application} is skipped: ${reasonOf(reason)}`);
      return undefined;
    }
  }

  /** Parses a provider. Returns `undefined` for one of another service, and for a malformed one. */
  #provider(listed: string): Provider | undefined {
    let url = listed;
    let provider: Provider | undefined;
    try {
      url = this.#source.decodeProvider(listed);
      provider = parseProvider(url);
    } catch (reason) {
      this.#warn(`the provider ${shorten(url)} of ${this.#key.service} is skipped: ${reasonOf(reason)}`);
    }
    if (provider !== undefined && !servesKey(provider.key, this.#key)) provider = undefined;
    this.#parsed.set(listed, provider);
    return provider;
  }

  #listed(urls: readonly string[]): void {
    const service = formatServiceKey(this.#key);
    this.#providers = takeFirst(urls, MAX_PROVIDERS, `the list of providers of ${service}`, this.#warn);
    const current = new Set(this.#providers);
    for (const url of this.#parsed.keys()) if (!current.has(url)) this.#parsed.delete(url);
  }

  #mapped(names: readonly string[]): void {
    this.#isMapped = true;
    const current = new Set(names);
    for (const [name, { stop }] of this.#applications) {
      if (current.has(name)) continue;
      stop();
      this.#applications.delete(name);
    }
    for (const name of names) {
      if (this.#applications.has(name)) continue;
      const application: Application = { stop: () => {}, entries: undefined, parsed: new Map() };
      this.#applications.set(name, application);
      const watcher = this.#watcher<ReadonlyMap<string, string>>((texts) => {
        application.entries = takeFirst([...texts], MAX_PROVIDERS, `the list of instances of ${name}`, this.#warn);
        for (const one of application.parsed.keys()) if (!texts.has(one)) application.parsed.delete(one);
      });
      application.stop = this.#source.watchInstances(name, this.#warn, watcher);
    }
    this.changes.set();
  }

  #watcher<T>(apply: (value: T) => void): Watcher<T> {
    return {
      onValue: (value) => {
        apply(value);
        this.changes.set();
      },
      onFailure: this.changes.fail,
    };
  }
}

/** Shortens an entry of a peer for a message. */
export function shorten(text: string): string {
  return JSON.stringify(text.length > 120 ? `${text.slice(0, 120)}…` : text);
}
