/**
 * Entries of the application level: the instances of an application, with the metadata that Dubbo keeps with each.
 */
import type { Endpoint, Instance, ServiceKey } from "triple-es/discovery";
import { endpointProblem, formatAddress } from "triple-es/internal";
import { endpointAt } from "./attributes.ts";
import { type DescribedService, EMPTY_REVISION, ownRevision, parseMetadata, readStrings } from "./metadata.ts";
import { servesKey, TRIPLE } from "./service-key.ts";

/** The version under which MetadataServiceV2 is served, and which the metadata of an instance names. */
export const METADATA_VERSION = "2.0.0";

/** An instance in a registry. */
export interface ServiceInstance {
  readonly application: string;
  readonly host: string;
  readonly port: number;
  readonly metadata: Readonly<Record<string, string>>;
  /** The services, if the registry has them in the entry itself. */
  readonly services?: readonly DescribedService[] | undefined;
}

/** Returns the metadata of an instance of ours. */
export function instanceMetadata(instance: Instance): Record<string, string> {
  const { port, weight = 100, since, attributes } = instance;
  const service = { version: METADATA_VERSION, side: "provider", port: String(port), protocol: TRIPLE };
  return {
    ...attributes,
    "dubbo.endpoints": JSON.stringify([{ port, protocol: TRIPLE }]),
    "dubbo.metadata-service.url-params": JSON.stringify(service),
    "dubbo.metadata.revision": ownRevision(instance),
    "dubbo.metadata.storage-type": "local",
    "meta-v": METADATA_VERSION,
    ...(since !== undefined && { timestamp: String(since) }),
    weight: String(weight),
  };
}

/** Writes an instance as Curator, the client of Dubbo for Java, does in ZooKeeper. dubbo-go reads and writes the same. */
export function writeCuratorInstance(instance: Instance, registeredAt: number): string {
  const { application, host, port } = instance;
  const id = formatAddress(host, port);
  return JSON.stringify({
    name: application,
    id,
    address: host,
    port,
    sslPort: null,
    payload: {
      "@class": "org.apache.dubbo.registry.zookeeper.ZookeeperInstance",
      id,
      name: application,
      metadata: instanceMetadata(instance),
    },
    registrationTimeUTC: registeredAt,
    serviceType: "DYNAMIC",
    uriSpec: null,
  });
}

/** Writes an instance as dubbo-go does in etcd. */
export function writeGoInstance(instance: Instance): string {
  const { application, host, port, weight = 100 } = instance;
  return JSON.stringify({
    ID: formatAddress(host, port),
    ServiceName: application,
    Host: host,
    Port: port,
    Weight: weight,
    Enable: true,
    Healthy: true,
    Metadata: instanceMetadata(instance),
  });
}

/**
 * Parses an instance in either form. Returns `undefined` for an instance that is disabled or not healthy. Throws an `Error`
 * with the reason if it is malformed.
 */
export function parseInstance(json: string, application: string): ServiceInstance | undefined {
  const value = parseJson(json, "it is") as Readonly<Record<string, unknown>>;
  if (typeof value !== "object" || value === null) throw new Error("it is not an object");
  if (value["Enable"] === false || value["Healthy"] === false) return undefined;
  const host = value["address"] ?? value["Host"];
  const port = value["port"] ?? value["Port"];
  if (typeof host !== "string" || host === "") throw new Error("it has no host");
  if (typeof port !== "number") throw new Error("it has no port");
  const payload = value["payload"] as { readonly metadata?: unknown } | null | undefined;
  const metadata = readStrings(payload?.metadata ?? value["Metadata"]);
  return { application, host, port, metadata, services: parseMetadata(value["ServiceMetadata"]) };
}

function parseJson(text: string, subject: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`${subject} not JSON`);
  }
}

/** Returns the revision of an instance; `undefined` if it has no services. */
export function revisionOfInstance({ metadata }: ServiceInstance): string | undefined {
  const revision = metadata["dubbo.metadata.revision"];
  return revision === EMPTY_REVISION ? undefined : (revision ?? "");
}

/** Returns the port at which an instance serves Triple; `undefined` if it does not. Throws an `Error` if it is malformed. */
function triplePort({ port, metadata }: ServiceInstance): number | undefined {
  const text = metadata["dubbo.endpoints"];
  if (text === undefined) return port;
  const endpoints = parseJson(text, "its dubbo.endpoints are");
  if (!Array.isArray(endpoints)) throw new Error("its dubbo.endpoints are not a list");
  const found = endpoints.find((one) => one?.protocol === TRIPLE) as { readonly port?: unknown } | undefined;
  return found === undefined ? undefined : Number(found.port);
}

/**
 * Returns the endpoint of an instance for calls of a service. `undefined`: it does not serve it over Triple. `services`
 * are those of its revision; without them, the instance is assumed to have the service. Throws an `Error` if the
 * instance is malformed.
 */
export function endpointOfInstance(
  instance: ServiceInstance,
  key: ServiceKey,
  services: readonly DescribedService[] | undefined,
): Endpoint | undefined {
  const { application, host, metadata } = instance;
  if (revisionOfInstance(instance) === undefined) return undefined;
  const port = triplePort(instance);
  if (port === undefined) return undefined;
  const known = services ?? instance.services;
  const found = known?.find((service) => service.protocol === TRIPLE && servesKey(service, key));
  if (known !== undefined && found === undefined) return undefined;
  // Java prefers the parameters of the service to those of the instance.
  const parameters = [metadata, found?.parameters ?? {}, { application }].flatMap((one) => Object.entries(one));
  return endpointAt(formatAddress(host, port), parameters);
}

/** Returns the address of the metadata service of an instance; `undefined` if it has none that speaks Triple. */
export function metadataAddress({ host, metadata }: ServiceInstance): string | undefined {
  if (metadata["meta-v"] !== METADATA_VERSION || metadata["dubbo.metadata.storage-type"] === "remote") return undefined;
  let parameters: Readonly<Record<string, string>>;
  try {
    parameters = readStrings(JSON.parse(metadata["dubbo.metadata-service.url-params"] ?? ""));
  } catch {
    return undefined;
  }
  const address = formatAddress(host, Number(parameters["port"]));
  const isValid = parameters["protocol"] === TRIPLE && endpointProblem({ address }, "network") === undefined;
  return isValid ? address : undefined;
}
