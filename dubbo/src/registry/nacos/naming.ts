/**
 * Instances of services in Nacos: subscriptions, which the server answers with the whole list after each change, and the
 * registration of instances.
 */
import { formatAddress, onAbort, unlessAborted } from "triple-es/internal";
import { writeUrl } from "../dubbo/provider-url.ts";
import { TRIPLE } from "../dubbo/service-key.ts";
import { type StopWatch, startWatch, type Watcher } from "../watch.ts";
import type { NacosClient } from "./client.ts";
import type { NacosConnection } from "./connection.ts";

const SUBSCRIBE = { subscribe: true, clusters: "" };
const UNSUBSCRIBE = { subscribe: false, clusters: "" };

/** An instance of a service. */
export interface NacosInstance {
  readonly ip: string;
  readonly port: number;
  readonly metadata: Readonly<Record<string, string>>;
}

interface ServiceInfo {
  readonly name?: string;
  readonly groupName?: string;
  /** The instances, which their owners have written. */
  readonly hosts?: unknown;
  /** The time of the list, by the server's clock. */
  readonly lastRefTime?: number;
}

/** The names that select a service, other than its own. */
export interface NamingScope {
  /** The id of the namespace; empty for the default one. */
  readonly namespace: string;
  readonly group: string;
}

/** The id of the default namespace in requests about instances. */
const PUBLIC = "public";

/** The subscription of a connection to a service, which any number of watches share. Without listeners, it is being given up. */
interface Subscription {
  /** Resolves when the server has accepted the subscription, or its end. */
  ready: Promise<void>;
  readonly listeners: Set<(instances: readonly NacosInstance[]) => void>;
  last: readonly NacosInstance[] | undefined;
  time: number;
}

/** The subscriptions of a connection by the name of the service. */
type Subscriptions = Map<string, Subscription>;

export class Naming {
  readonly #client: NacosClient;
  readonly #scope: NamingScope;
  readonly #subscriptions = new WeakMap<NacosConnection, Subscriptions>();

  constructor(client: NacosClient, scope: NamingScope) {
    this.#client = client;
    this.#scope = scope;
  }

  /** Watches the instances of a service that are healthy and enabled. Fails when the connection is lost. */
  watch(service: string, watcher: Watcher<readonly NacosInstance[]>): StopWatch {
    return startWatch(watcher, async (report, signal) => {
      const connection = await this.#client.connected();
      if (signal.aborted) return;
      const all = this.#subscriptionsOf(connection);
      const known = all.get(service);
      const subscription = known?.listeners.size ? known : this.#subscribe(connection, all, service);
      subscription.listeners.add(report);
      if (subscription.last !== undefined) report(subscription.last);
      try {
        await subscription.ready;
        await lostOrEnded(connection, signal);
      } finally {
        subscription.listeners.delete(report);
        if (subscription.listeners.size === 0) this.#unsubscribe(connection, all, service, subscription);
      }
    });
  }

  /** Registers an instance, or replaces the one that the connection has registered for the service; or deregisters it. */
  async send(
    connection: NacosConnection,
    type: "registerInstance" | "deregisterInstance",
    service: string,
    instance: NacosInstance,
  ): Promise<void> {
    const written = {
      ...instance,
      serviceName: service,
      clusterName: "DEFAULT",
      weight: 1,
      healthy: true,
      enabled: true,
      ephemeral: true,
    };
    await this.#request(connection, "InstanceRequest", service, { type, instance: written });
  }

  #request(connection: NacosConnection, type: string, serviceName: string, fields: object) {
    const { namespace, group: groupName } = this.#scope;
    return connection.request(type, { namespace: namespace || PUBLIC, serviceName, groupName, ...fields });
  }

  #subscriptionsOf(connection: NacosConnection): Subscriptions {
    const known = this.#subscriptions.get(connection);
    if (known !== undefined) return known;
    const all: Subscriptions = new Map();
    this.#subscriptions.set(connection, all);
    connection.on("NotifySubscriberRequest", ({ serviceInfo }) => {
      const info = (serviceInfo ?? {}) as ServiceInfo;
      const subscription = all.get(nameOf(info));
      if (subscription !== undefined) apply(subscription, info);
    });
    return all;
  }

  #subscribe(connection: NacosConnection, all: Subscriptions, service: string): Subscription {
    const left = all.get(service)?.ready;
    const subscribe = async (): Promise<void> => {
      // The server may handle the requests of a connection in any order.
      await left;
      const { serviceInfo } = await this.#request(connection, "SubscribeServiceRequest", service, SUBSCRIBE);
      apply(subscription, (serviceInfo ?? {}) as ServiceInfo);
    };
    const subscription: Subscription = { listeners: new Set(), last: undefined, time: 0, ready: Promise.resolve() };
    all.set(service, subscription);
    subscription.ready = subscribe();
    return subscription;
  }

  #unsubscribe(connection: NacosConnection, all: Subscriptions, service: string, given: Subscription): void {
    const forget = (): void => {
      if (all.get(service) === given) all.delete(service);
    };
    given.ready = this.#request(connection, "SubscribeServiceRequest", service, UNSUBSCRIBE).then(forget, forget);
  }
}

/** Returns the name of a service without its group, which some versions write before it: `GROUP@@NAME`. */
function nameOf({ name = "" }: ServiceInfo): string {
  return name.replace(/^.*?@@/, "");
}

/** Applies a list, unless it is older than the last one: a notification may precede the response to a subscription. */
function apply(subscription: Subscription, { hosts, lastRefTime = 0 }: ServiceInfo): void {
  if (subscription.last !== undefined && lastRefTime < subscription.time) return;
  subscription.time = lastRefTime;
  subscription.last = usableInstances(hosts);
  for (const listener of [...subscription.listeners]) listener(subscription.last);
}

/**
 * Returns the instances of a list that are healthy and enabled. Values of another type than the protocol of Nacos defines are
 * replaced by empty ones, so that resolvers skip the instance with a warning and use the others.
 */
export function usableInstances(hosts: unknown): NacosInstance[] {
  const instances: NacosInstance[] = [];
  for (const host of Array.isArray(hosts) ? hosts : []) {
    const { ip, port, metadata, healthy, enabled } = { ...(host as Record<string, unknown> | null) };
    if (healthy === false || enabled === false) continue;
    instances.push({
      ip: typeof ip === "string" ? ip : "",
      port: typeof port === "number" ? port : 0,
      metadata: hasTexts(metadata) ? metadata : {},
    });
  }
  return instances;
}

function hasTexts(metadata: unknown): metadata is Readonly<Record<string, string>> {
  if (typeof metadata !== "object" || metadata === null) return false;
  return Object.values(metadata).every((value) => typeof value === "string");
}

/** Resolves when the signal fires, and rejects when the connection is lost. */
export function lostOrEnded({ lost }: NacosConnection, signal: AbortSignal): Promise<void> {
  const ended = new Promise<void>((resolve) => onAbort(signal, () => resolve()));
  return unlessAborted(ended, lost);
}

/** Returns the provider URL of an instance at the interface level, whose parameters are its metadata. */
export function urlOf({ ip, port, metadata }: NacosInstance): string {
  const { protocol = TRIPLE, path = metadata["interface"] ?? "", ...parameters } = metadata;
  return writeUrl(protocol, formatAddress(ip, port), path, parameters);
}
