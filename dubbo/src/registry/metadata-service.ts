/**
 * MetadataServiceV2 of Dubbo 3.3, on both sides: consumers ask an instance which services it has. A provider serves it
 * under the version `2.0.0` and the group of its application's name.
 */
import { Code, type Router, RpcError } from "triple-es";
import type { Instance, InstanceConnection } from "triple-es/discovery";
import {
  createMetadataServiceV2Client,
  MetadataServiceV2Def,
} from "../gen/org/apache/dubbo/metadata/metadata_service_v2_triple.ts";
import { type DescribedService, describeServices, matchKeyOf, revisionOf } from "./dubbo/metadata.ts";
import { METADATA_VERSION } from "./dubbo/service-instance.ts";

/** The instances that a server describes, by application. */
const served = new WeakMap<Router, Map<string, Set<Instance>>>();

/** What rules have made of instances, which servers describe besides what these were. */
export const changedInstances: WeakMap<Instance, Instance> = new WeakMap();

/** Adds MetadataServiceV2 to a server, or the instance to the one that was added before. */
export function serveMetadata(router: Router, instance: Instance): void {
  const { application } = instance;
  const applications = served.get(router) ?? new Map<string, Set<Instance>>();
  served.set(router, applications);
  const instances = applications.get(application) ?? new Set();
  instances.add(instance);
  if (applications.has(application)) return;
  applications.set(application, instances);
  const implementation = {
    getMetadataInfo({ revision }: { readonly revision: string }) {
      const states = [...instances].flatMap((one) => [one, changedInstances.get(one) ?? one]).map(describeServices);
      const all = new Map(states.map((services) => [revisionOf(application, services), services]));
      const version = revision || ([...all.keys()].at(-1) as string);
      const services = all.get(version);
      if (services === undefined) throw new RpcError(Code.NotFound, `${application} has no revision "${version}" here`);
      return { app: application, version, services: Object.fromEntries(services.map(toMessage)) };
    },
  };
  router.add(MetadataServiceV2Def, implementation, { version: METADATA_VERSION, group: application });
}

function toMessage(described: DescribedService) {
  const { service: name, group = "", version = "", protocol, port, path, parameters: params } = described;
  return [matchKeyOf(described), { name, group, version, protocol, port, path, params }] as const;
}

/** Asks an instance for its services, and closes the connection. Rejects if it does not answer. */
export async function readInstanceMetadata(
  connection: InstanceConnection,
  application: string,
  revision: string,
  signal: AbortSignal,
): Promise<readonly DescribedService[]> {
  const client = createMetadataServiceV2Client(connection, { version: METADATA_VERSION, group: application });
  const { services } = await client.getMetadataInfo({ revision }, { signal }).finally(() => void connection.close());
  return Object.values(services).map(({ name: service, params: parameters, ...one }) => ({
    ...one,
    service,
    parameters,
  }));
}
