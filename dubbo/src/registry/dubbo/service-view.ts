/**
 * The entries of one service at both levels of a registry, and the endpoints that they are. An address that is in both levels is
 * one endpoint, and its instance wins.
 */
import type { Endpoint, ServiceKey } from "triple-es/discovery";
import { formatServiceKey, reasonOf } from "triple-es/internal";
import type { ServiceRules } from "../../rules/service-rules.ts";
import { Changes, type StopWatch, type Watcher } from "../watch.ts";
import { checkApplications, EntryCounter, MAX_PROVIDERS, shorten, takeFirst } from "./limits.ts";
import type { DescribedService } from "./metadata.ts";
import type { MetadataCache } from "./metadata-cache.ts";
import { type Provider, parseProvider } from "./provider-url.ts";
import { endpointOfInstance, type ServiceInstance } from "./service-instance.ts";
import { parseMapping, servesKey } from "./service-key.ts";
import type { DubboSource, Levels, Warn } from "./source.ts";

/** The part of the registry that a resolver reads. */
export interface Scope {
  /** The applications that provide the service. `undefined`: those of the mapping. */
  readonly providedBy: readonly string[] | undefined;
  readonly levels: Levels;
  readonly rules: ServiceRules | undefined;
}

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

/** The entries, kept up to date by watches. */
export class ServiceView {
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
    const ruled = rules?.start((name, onText) => source.rule(name).watch(this.#watcher(onText)), warn);
    if (ruled !== undefined) this.#stops.push(ruled);
    const providers = this.#watcher<readonly string[]>((urls) => this.#listed(urls));
    if (levels === "instance") this.#providers = [];
    else this.#stops.push(source.watchProviders(key, providers));
    const mapping = this.#watcher<string | undefined>((content) =>
      this.#mapped(checkApplications(parseMapping(content), key.service, warn)),
    );
    if (levels === "interface") this.#isMapped = true;
    else if (providedBy !== undefined) this.#mapped(providedBy);
    else this.#stops.push(source.mapping(key.service).watch(mapping));
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
          const parse = () => this.#source.parseInstance(text, application);
          const instance = this.#unlessMalformed(parse, () => `instance ${shorten(name)} of ${application}`);
          known = { text, instance };
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
      let endpoint = known?.endpoint;
      if (known === undefined || known.services !== services) {
        const { application, host, port } = instance;
        const make = () => endpointOfInstance(instance, this.#key, services);
        endpoint = this.#unlessMalformed(make, () => `instance ${host}:${port} of ${application}`);
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

  /** Returns what `parse` returns. A malformed entry is skipped with a warning. */
  #unlessMalformed<T>(parse: () => T, describe: () => string): T | undefined {
    try {
      return parse();
    } catch (reason) {
      this.#warn(`the ${describe()} is skipped: ${reasonOf(reason)}`);
      return undefined;
    }
  }

  /** Parses a provider. Returns `undefined` for one of another service, and for a malformed one. */
  #provider(listed: string): Provider | undefined {
    let url = listed;
    const parse = (): Provider | undefined => {
      url = this.#source.decodeProvider(listed);
      return parseProvider(url);
    };
    const parsed = this.#unlessMalformed(parse, () => `provider ${shorten(url)} of ${this.#key.service}`);
    const provider = parsed !== undefined && servesKey(parsed.key, this.#key) ? parsed : undefined;
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
