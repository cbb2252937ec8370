/**
 * Provider URLs: the entries of the interface level, one for each service of each provider. In ZooKeeper and etcd the URL,
 * percent-encoded, is the name of the entry.
 *
 *     Provider-URL → protocol "://" host ":" port "/" path "?" name "=" value *( "&" name "=" value )
 */
import type { Endpoint, Instance, OfferedService, ServiceKey } from "triple-es/discovery";
import { formatAddress, VERSION } from "triple-es/internal";
import { endpointAt, MAX_ENTRY_LENGTH } from "./attributes.ts";
import { TRIPLE } from "./service-key.ts";

/** The version of Dubbo's protocol of parameters that other implementations write. */
const DUBBO_VERSION = "2.0.2";

/** The name of this implementation in the parameter `release`. */
export const RELEASE: string = `triple-es-${VERSION}`;

/** The maximum number of parameters of a provider URL. Dubbo writes up to 40, and the names of all methods are one of them. */
const MAX_URL_PARAMETERS = 500;

/** A provider of one service. */
export interface Provider {
  readonly key: ServiceKey;
  readonly application: string;
  readonly endpoint: Endpoint;
}

/** Returns the parameters that describe a service, without those that belong to the instance. */
export function serviceParameters(application: string, offered: OfferedService): Record<string, string> {
  const { service, group, version, parameters } = offered;
  return {
    ...parameters,
    application,
    dubbo: DUBBO_VERSION,
    ...(group && { group }),
    interface: service,
    release: RELEASE,
    side: "provider",
    ...(version && { version }),
  };
}

/** Returns the parameters of a provider: those of the service and those of the instance. */
export function providerParameters(instance: Instance, offered: OfferedService): Record<string, string> {
  const { application, weight = 100, since, attributes } = instance;
  return {
    ...attributes,
    weight: String(weight),
    ...serviceParameters(application, offered),
    dynamic: "true",
    ...(since !== undefined && { timestamp: String(since) }),
  };
}

/** Writes the provider URL of a service, not encoded. */
export function writeProviderUrl(instance: Instance, offered: OfferedService): string {
  const { host, port } = instance;
  return writeUrl(TRIPLE, formatAddress(host, port), offered.service, providerParameters(instance, offered));
}

/** Writes a URL of a service, not encoded, with its parameters in alphabetical order. */
export function writeUrl(scheme: string, address: string, path: string, given: Instance["attributes"] = {}): string {
  const query = Object.entries(given)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${name}=${value}`);
  return `${scheme}://${address}/${path}?${query.join("&")}`;
}

/** Decodes a name as Java's `URLDecoder` does. Throws an `Error` if it is malformed. */
export function decodeName(name: string): string {
  try {
    return decodeURIComponent(name.replaceAll("+", " "));
  } catch {
    throw new Error("it is not percent-encoded");
  }
}

/** Parses a provider URL that is not encoded. Throws an `Error` with the reason if it is malformed. */
function parseUrl(url: string) {
  if (url.length > MAX_ENTRY_LENGTH) throw new Error(`it is longer than ${MAX_ENTRY_LENGTH} characters`);
  const match = /^([a-z][a-z0-9+.-]*):\/\/(?:[^@/?]*@)?([^/?]+)(?:\/([^?]*))?(?:\?(.*))?$/s.exec(url);
  if (match === null) throw new Error("it is not a URL");
  const [, protocol = "", address = "", path = "", query = ""] = match;
  const pairs = query.split("&").filter((pair) => pair !== "");
  if (pairs.length > MAX_URL_PARAMETERS) throw new Error(`it has more than ${MAX_URL_PARAMETERS} parameters`);
  const parameters = new Map<string, string>();
  for (const pair of pairs) {
    const end = pair.indexOf("=");
    if (end < 0) parameters.set(pair, "");
    else parameters.set(pair.slice(0, end), pair.slice(end + 1));
  }
  return { protocol, address, path, parameters };
}

/**
 * Parses an entry of the interface level. Returns `undefined` for a provider that consumers of Triple do not call: one of
 * another protocol, or a disabled one. Throws an `Error` with the reason if the entry is malformed.
 */
export function parseProvider(url: string): Provider | undefined {
  const { protocol, address, path, parameters } = parseUrl(url);
  const get = (name: string): string | undefined => parameters.get(name) || undefined;
  if (protocol !== TRIPLE || (get("category") ?? "providers") !== "providers") return undefined;
  if (get("disabled") === "true" || get("enabled") === "false") return undefined;
  const service = get("interface") ?? path;
  if (service === "") throw new Error("it has no interface");
  return {
    key: { service, group: get("group"), version: get("version") },
    application: get("application") ?? "",
    endpoint: endpointAt(address, parameters),
  };
}
