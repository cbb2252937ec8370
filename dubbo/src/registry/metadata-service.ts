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
import { type DescribedService, describeServices, matchKeyOf, ownRevision } from "./dubbo/metadata.ts";
import { METADATA_VERSION } from "./dubbo/service-instance.ts";

/** Returns the states of an instance that consumers may have read, the current one last. */
type States = () => readonly Instance[];

/** The instances that a server describes, by application. */
const served = new WeakMap<Router, Map<string, Set<States>>>();

/** Adds MetadataServiceV2 of an application to a server, unless it has it. Returns the instances that it describes, to add to. */
export function serveMetadata(router: Router, application: string): Set<States> {
  const applications = served.get(router) ?? new Map<string, Set<States>>();
  served.set(router, applications);
  const known = applications.get(application);
  if (known !== undefined) return known;
  const instances = new Set<States>();
  applications.set(application, instances);
  const implementation = {
    getMetadataInfo({ revision }: { readonly revision: string }) {
      const all = [...instances].flatMap((states) => states());
      const instance = all.findLast((one) => revision === "" || ownRevision(one) === revision);
      if (instance === undefined)
        throw new RpcError(Code.NotFound, `${application} has no revision "${revision}" here`);
      const services = Object.fromEntries(describeServices(instance).map(toMessage));
      return { app: application, version: ownRevision(instance), services };
    },
  };
  router.add(MetadataServiceV2Def, implementation, { version: METADATA_VERSION, group: application });
  return instances;
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
