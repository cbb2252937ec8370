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
import type { Balancer, Registry, Resolver } from "triple-es/discovery";
import {
  assertArrays,
  assertMembers,
  assertOneOf,
  resolvedWithin,
  startBackgroundTimer,
  unlessAborted,
} from "triple-es/internal";
import type { ClientTlsOptions } from "triple-es/node";
import type { Rules } from "../../rules/service-rules.ts";
import { REGISTRATION_BACKOFF } from "../registration.ts";
import { externalHost, parseServers, type ServerAddress } from "../servers.ts";
import { createConsumers } from "./consumer.ts";
import { EntryCounter } from "./limits.ts";
import { MetadataCache, REVISION_RETRY_MS } from "./metadata-cache.ts";
import { ServiceView } from "./service-view.ts";
import { LEVELS, type Levels, type Store, type Warn } from "./source.ts";

/** Options of all registries. */
export interface RegistryOptions {
  /** The servers, each `host:port`; of Nacos with the port of HTTP, such as `127.0.0.1:8848`. */
  readonly servers: readonly string[];
  /**
   * User and password, for servers with authentication. In ZooKeeper of the scheme `digest`: the nodes that are created are then
   * accessible with the same credentials only. Default: none, and every client of a ZooKeeper may change the nodes.
   */
  readonly auth?: { readonly username: string; readonly password: string } | undefined;
  /**
   * Encrypts connections, in ZooKeeper to `secureClientPort`, in Nacos of gRPC and the login. With `cert` and `key`, it identifies
   * the client. Default: no TLS.
   */
  readonly tls?: ClientTlsOptions | undefined;
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

const SHARED_OPTIONS = ["servers", "auth", "tls", "levels", "providedBy", "application", "rules"];

/**
 * Validates the names of a registry's options, `own` besides those of all registries, and the option `auth`. Returns the addresses
 * of the servers. Throws a `TypeError` for an invalid option.
 */
export function checkRegistry(
  registry: string,
  options: RegistryOptions,
  defaultPort: number,
  own: readonly string[],
): ServerAddress[] {
  assertMembers(`the options of ${registry}`, options, [...SHARED_OPTIONS, ...own]);
  const { servers, auth } = options;
  if (auth !== undefined && (typeof auth?.username !== "string" || typeof auth.password !== "string")) {
    throw new TypeError(`auth of ${registry} must be { username, password }`);
  }
  return parseServers(registry, servers, defaultPort);
}

/** Time for which a list waits for the metadata of its instances, in milliseconds. Later metadata makes another list. */
const METADATA_WAIT_MS = 3_000;

/**
 * Maximum number of problems that a resolver remembers, in order to report each of them once. Then it forgets all of
 * them.
 */
const MAX_PROBLEMS = 1_000;

/** Makes the resolvers of a registry, which share the metadata that they read. Throws a `TypeError` for an invalid option. */
export function createDubboResolvers<Entry>(store: Store<Entry>, options: RegistryOptions): Registry["resolver"] {
  const { levels = "all", providedBy = {}, application, rules, servers } = options;
  if (rules !== undefined && typeof rules?.of !== "function") {
    throw new TypeError("rules must be made by the function rules of triple-es-dubbo/rules");
  }
  assertOneOf("levels", levels, LEVELS);
  assertArrays(providedBy);
  const cache = new MetadataCache(store);
  const listConsumer = createConsumers(store, application);
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
      const view = new ServiceView(store, key, { levels, providedBy: own, rules: ruled }, warnOnce);
      let stopRetry = (): void => {};
      try {
        const steps = new EntryCounter();
        let last: string | undefined;
        for (;;) {
          await view.changes.next(signal);
          if (!view.isComplete) continue;
          await steps.count(view.size);
          const instances = await view.instances();
          if (signal.aborted) return;
          if (instances === undefined) continue;
          const loaded = cache.load(instances, open);
          const isLoaded = await unlessAborted(resolvedWithin(loaded, METADATA_WAIT_MS), signal);
          if (!isLoaded) void loaded.then(view.changes.set);
          const endpoints = await view.endpoints(instances, cache);
          stopRetry();
          if (cache.lacksSome(instances)) stopRetry = startBackgroundTimer(REVISION_RETRY_MS, view.changes.set);
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
        throw new RpcError(code, `${store.name}: ${rawMessage}`, { cause });
      } finally {
        stopRetry();
        view.close();
      }
    };
    const dynamic = ruled && { route: (policy: Balancer) => ruled.route(policy), overrides: ruled.overrides };
    const source = `${store.name} at ${servers.join(", ")}`;
    return Object.assign(resolver, { source, backoff: REGISTRATION_BACKOFF, ...dynamic });
  };
}
