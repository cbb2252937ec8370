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

/** The instances that a server describes, by application and revision. */
const served = new WeakMap<Router, Map<string, Map<string, readonly DescribedService[]>>>();

/** Adds MetadataServiceV2 to a server, or the instance to the one that was added before. */
export function serveMetadata(router: Router, instance: Instance): void {
  const { application } = instance;
  const services = describeServices(instance);
  const applications = served.get(router) ?? new Map<string, Map<string, readonly DescribedService[]>>();
  served.set(router, applications);
  const known = applications.get(application);
  const revisions = known ?? new Map<string, readonly DescribedService[]>();
  const current = revisionOf(application, services);
  revisions.set(current, services);
  if (known !== undefined) return;
  applications.set(application, revisions);
  const implementation = {
    getMetadataInfo({ revision }: { readonly revision: string }) {
      const wanted = revision || ([...revisions.keys()].at(-1) ?? current);
      const described = revisions.get(wanted);
      if (described === undefined) throw new RpcError(Code.NotFound, `${application} has no revision "${wanted}" here`);
      return { app: application, version: wanted, services: Object.fromEntries(described.map(toMessage)) };
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
