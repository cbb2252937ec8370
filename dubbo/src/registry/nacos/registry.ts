/**
 * The registry in Nacos, as Dubbo uses it:
 *
 *     service APP                               application level
 *     service providers:SERVICE:VERSION:GROUP   interface level; and consumers:…, for consoles
 *     configuration SERVICE, group mapping      the applications that provide a service
 *     configuration APP, group REVISION         the services of an application, if it stores them in the registry
 *     configuration KEY, group dubbo            rules
 *     configuration SERVICE:VERSION:GROUP:provider:APP, group dubbo   the definition of a service, for consoles; or consumer
 */
import { type ClosableTransport, Code, RpcError } from "triple-es";
import type { Registry, ServiceKey } from "triple-es/discovery";
import { unlessAborted } from "triple-es/internal";
import { createTransport } from "triple-es/node";
import { shorten } from "../dubbo/limits.ts";
import { providerParameters } from "../dubbo/provider-url.ts";
import { checkRegistry, type RegistryOptions } from "../dubbo/resolver.ts";
import { instanceMetadata } from "../dubbo/service-instance.ts";
import { TRIPLE } from "../dubbo/service-key.ts";
import type { Store, Text } from "../dubbo/source.ts";
import { createRegistry, keepInstance } from "../dubbo/store.ts";
import { checkInteger, MAX_PORT } from "../servers.ts";
import { NacosClient } from "./client.ts";
import { Configs } from "./configs.ts";
import type { NacosModule } from "./connection.ts";
import { createTokenSource } from "./login.ts";
import { type NacosInstance, Naming, urlOf } from "./naming.ts";

export interface NacosOptions extends RegistryOptions {
  /** The port of gRPC on all servers. Default: the port of HTTP plus 1,000. */
  readonly grpcPort?: number | undefined;
  /** The id of the namespace. Default: the namespace `public`. */
  readonly namespace?: string | undefined;
  /** The group of services. Default: `DEFAULT_GROUP`. */
  readonly group?: string | undefined;
}

/** The largest message, in bytes: Nacos sends no larger one. */
const MAX_NACOS_MESSAGE_BYTES = 10 * 1024 * 1024;
const CONNECT_TIMEOUT_MS = 3_000;

/**
 * Connects to a registry in Nacos 2 or 3, at first use. Close it when it is no longer needed: an open one keeps the process
 * running. Throws a `TypeError` or `RangeError` for an invalid option.
 */
export function nacos(options: NacosOptions): Registry {
  const createClient = clientFactory(options);
  const { namespace = "", group = "DEFAULT_GROUP" } = options;
  checkText("namespace", namespace, /^[^\s/?&]*$/);
  checkText("group", group, /^[\w.:-]+$/);
  const configClient = createClient("config");
  const configs = new Configs(configClient, namespace);
  const storeOf = (client: NacosClient) => createStore(client, new Naming(client, { namespace, group }), configs);
  const reader = createClient("naming");
  const keep: Registry["register"] = (instance, onEvent) => {
    // A connection has one instance of each service, so each registration has a connection of its own.
    const client = createClient("naming");
    const kept = keepInstance(storeOf(client), instance, options.rules, onEvent);
    return { ...kept, close: (closeOptions) => kept.close(closeOptions).then(() => client.close()) };
  };
  return createRegistry(storeOf(reader), options, keep, () => {
    configClient.close();
    reader.close();
  });
}

function checkText(name: string, value: unknown, pattern: RegExp): void {
  if (typeof value === "string" && pattern.test(value)) return;
  throw new TypeError(`${name} of nacos is invalid: ${JSON.stringify(value)}`);
}

/** Returns the function that makes clients with the options. Throws a `TypeError` or `RangeError` for an invalid option. */
function clientFactory(options: NacosOptions) {
  const servers = checkRegistry("nacos", options, 8848, ["grpcPort", "namespace", "group"]);
  const { auth, tls, grpcPort, namespace = "" } = options;
  if (grpcPort !== undefined) checkInteger("grpcPort", grpcPort, 1, MAX_PORT);
  const token = auth === undefined ? async () => undefined : createTokenSource(servers, auth, tls);
  /** Makes a transport with one connection, which the server knows as a client. */
  const openTransport = (address: string): ClosableTransport =>
    createTransport({
      baseUrl: `${tls === undefined ? "http" : "https"}://${address}`,
      tls,
      maxConnections: 1,
      maxMessageBytes: MAX_NACOS_MESSAGE_BYTES,
      connectTimeoutMs: CONNECT_TIMEOUT_MS,
      maxBackoffMs: 0,
    });
  const shared = { servers, grpcPort, namespace, token, openTransport };
  return (module: NacosModule): NacosClient => new NacosClient({ ...shared, module });
}

/** Returns the name of a service at the interface level. Empty parts stay. */
const interfaceService = ({ service, version = "", group = "" }: ServiceKey, category = "providers"): string =>
  `${category}:${service}:${version}:${group}`;

/** The names of services that servers of Nacos accept (their `ParamCheckRule`), in addition to a length of 512. */
const SERVICE_NAME = /^(?!@)(?:(?!@@)[^\u4e00-\u9fa5\s])+$/;

/** Handles the failure of a watch: `skip` receives the reason if the server refuses the name that is watched. */
const unlessInvalid = (onFailure: (reason: unknown) => void, skip: (problem: string) => void) => (reason: unknown) =>
  reason instanceof RpcError && reason.code === Code.InvalidArgument ? skip(reason.rawMessage) : onFailure(reason);

function createStore(client: NacosClient, naming: Naming, configs: Configs): Store<NacosInstance> {
  const configOf = (dataId: string, group: string): Text => {
    const key = { dataId, group };
    return {
      watch: (watcher) => configs.watch(key, watcher),
      read: () => configs.read(key),
      change: (change) => configs.change(key, change),
    };
  };
  // Nacos refuses some characters, which Dubbo for Java replaces.
  const rule = (key: string): Text => {
    const text = configOf(key.replaceAll("$", "___").replaceAll("/", "-"), "dubbo");
    const watch: Text["watch"] = ({ onValue, onFailure }) =>
      text.watch({ onValue, onFailure: unlessInvalid(onFailure, () => onValue(undefined)) });
    // A key contains the name of an application as any provider has written it. Nacos has no rule for a key that it refuses.
    return { ...text, watch };
  };
  return {
    name: "nacos",
    hasConsoles: true,
    async open(signal) {
      const connection = await unlessAborted(client.connected(), signal);
      return {
        lost: connection.lost,
        put: (service, entry) => naming.send(connection, "registerInstance", service, entry),
        remove: (service, entry) => naming.send(connection, "deregisterInstance", service, entry),
      };
    },
    mapping: (service) => configOf(service, "mapping"),
    metadata: configOf,
    definition: ({ service, version = "", group = "" }, side, application) =>
      rule(`${service}:${version}:${group}:${side}:${application}`),
    rule,
    watchProviders: (key, { onValue, onFailure }) =>
      naming.watch(interfaceService(key), {
        onValue: (instances) => onValue(instances.map((one) => JSON.stringify(one))),
        onFailure,
      }),
    decodeProvider: (text) => urlOf(JSON.parse(text)),
    watchInstances(application, warn, watcher) {
      // The mapping contains the names that any provider has written, and no provider removes one.
      const skip = (reason: string): void => {
        warn(`the application ${shorten(application)} is skipped: ${reason}`);
        watcher.onValue(new Map());
      };
      if (!SERVICE_NAME.test(application)) {
        skip("Nacos refuses its name");
        return () => {};
      }
      return naming.watch(application, {
        onValue: (instances) =>
          watcher.onValue(new Map(instances.map((one) => [`${one.ip}:${one.port}`, JSON.stringify(one)]))),
        onFailure: unlessInvalid(watcher.onFailure, skip),
      });
    },
    parseInstance(text, application) {
      const { ip: host, port, metadata }: NacosInstance = JSON.parse(text);
      return { application, host, port, metadata };
    },
    entriesOf(instance) {
      const { application, host: ip, port, services, mode = "all" } = instance;
      const entries = new Map<string, NacosInstance>();
      if (mode !== "interface") entries.set(application, { ip, port, metadata: instanceMetadata(instance) });
      if (mode === "instance") return entries;
      for (const offered of services) {
        const parameters = providerParameters(instance, offered);
        const metadata = { ...parameters, category: "providers", path: offered.service, protocol: TRIPLE };
        entries.set(interfaceService(offered), { ip, port, metadata });
      }
      return entries;
    },
    consumerEntry(key, { host: ip, port, attributes }) {
      const metadata = { ...attributes, path: key.service, protocol: "consumer" };
      return [interfaceService(key, "consumers"), { ip, port, metadata }];
    },
  };
}
