/**
 * Names in Dubbo's registries: applications, the service key, with group and version, the host of an address, and the mapping from
 * services to applications.
 */
import type { ServiceKey } from "triple-es/discovery";

/** Dubbo's name of the protocol Triple in registries. */
export const TRIPLE = "tri";

/**
 * Returns the service key. Empty parts are left out.
 *
 *     Service-Key → [ group "/" ] service [ ":" version ]
 */
export function formatServiceKey({ service, group, version }: ServiceKey): string {
  return `${group ? `${group}/` : ""}${service}${version ? `:${version}` : ""}`;
}

/** Compares service, group and version. `*` in the wanted key matches each value, as in Dubbo. */
export function servesKey(offered: ServiceKey, wanted: ServiceKey): boolean {
  return (
    offered.service === wanted.service &&
    matches(offered.group, wanted.group) &&
    matches(offered.version, wanted.version)
  );
}

function matches(offered: string | undefined, wanted: string | undefined): boolean {
  return wanted === "*" || (offered || "") === (wanted || "");
}

/** Joins host and port, unless it is 0. IPv6 addresses get brackets. */
export function formatAddress(host: string, port: number): string {
  const name = host.includes(":") && !host.startsWith("[") ? `[${host}]` : host;
  return port === 0 ? name : `${name}:${port}`;
}

/** Throws a `TypeError` for an invalid name of an application. Such names are parts of paths, lists and headers. */
export function checkApplicationName(name: string): void {
  if (typeof name === "string" && /^[\w.-]+$/.test(name)) return;
  throw new TypeError(`application must consist of letters, digits, ".", "_" and "-", not ${JSON.stringify(name)}`);
}

/** Parses the mapping of a service: the applications that provide it, separated by commas. No provider removes one. */
export function parseMapping(content: string | undefined): string[] {
  const names = (content ?? "").split(",").map((name) => name.trim());
  return [...new Set(names.filter((name) => name !== ""))];
}

/** Returns the mapping with the application; `undefined` if it is there already. */
export function addToMapping(content: string | undefined, application: string): string | undefined {
  const names = parseMapping(content);
  return names.includes(application) ? undefined : [...names, application].join(",");
}
