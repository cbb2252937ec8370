/**
 * The metadata of an application: its services, and the revision, which tells consumers whether they know them already.
 */
import { createHash } from "node:crypto";
import type { Instance, ServiceKey } from "triple-es/discovery";
import { formatServiceKey } from "triple-es/internal";
import { serviceParameters } from "./provider-url.ts";
import { TRIPLE } from "./service-key.ts";

/** The services of an instance, as its metadata service describes them. */
export interface DescribedService extends ServiceKey {
  /** The protocol: `tri` for Triple. */
  readonly protocol: string;
  /** The port that serves it. */
  readonly port: number;
  /** The path of the service: its name, for Triple. */
  readonly path: string;
  /** The parameters of its URL, such as `prefer.serialization`. */
  readonly parameters: Readonly<Record<string, string>>;
}

/** The revision of an application without services. */
export const EMPTY_REVISION = "0";

/** Describes the services of an instance of ours. */
export function describeServices({ application, port, services }: Instance): DescribedService[] {
  return services.map((offered) => ({
    service: offered.service,
    group: offered.group,
    version: offered.version,
    protocol: TRIPLE,
    port,
    path: offered.service,
    parameters: serviceParameters(application, offered),
  }));
}

/** Returns the key of a service in metadata: `group/name:version:protocol`, where empty parts are left out. */
export function matchKeyOf(service: DescribedService): string {
  return `${formatServiceKey(service)}:${service.protocol}`;
}

/**
 * Computes the revision as Dubbo for Java does (`MetadataInfo.calRevision`): the MD5 of the application and the
 * descriptions of its services, in the order of their keys.
 */
export function revisionOf(application: string, services: readonly DescribedService[]): string {
  if (services.length === 0) return EMPTY_REVISION;
  const byKey = new Map(services.map((service) => [matchKeyOf(service), service]));
  const descriptions = [...byKey.keys()].sort().map((key) => {
    const { port, path, parameters } = byKey.get(key) as DescribedService;
    const pairs = Object.keys(parameters).sort();
    return `${key}${port}${path}{${pairs.map((name) => `${name}=${parameters[name]}`).join(", ")}}`;
  });
  return createHash("md5")
    .update(`${application}${descriptions.join("")}`)
    .digest("hex");
}

/** Computes the revision of an instance of ours. */
export function ownRevision(instance: Instance): string {
  return revisionOf(instance.application, describeServices(instance));
}

/** The JSON in which Java and Go write metadata. */
interface MetadataJson {
  readonly services?: Readonly<Record<string, Readonly<Record<string, unknown>> | null>> | null;
}

/** Parses metadata in JSON, already parsed as a value. Returns `undefined` if it is malformed. */
export function parseMetadata(json: unknown): DescribedService[] | undefined {
  const { services } = (json ?? {}) as MetadataJson;
  if (typeof services !== "object" || services === null) return undefined;
  return Object.values(services).flatMap((one) => {
    const { name, group, version, protocol, port, path, params } = one ?? {};
    if (typeof name !== "string" || typeof protocol !== "string") return [];
    return {
      service: name,
      group: typeof group === "string" ? group : undefined,
      version: typeof version === "string" ? version : undefined,
      protocol,
      port: Number(port) || 0,
      path: typeof path === "string" ? path : name,
      parameters: readStrings(params),
    };
  });
}

/** Returns the members of a value that are strings. */
export function readStrings(value: unknown): Readonly<Record<string, string>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return {};
  return Object.fromEntries(
    Object.entries(value).filter((pair): pair is [string, string] => typeof pair[1] === "string"),
  );
}
