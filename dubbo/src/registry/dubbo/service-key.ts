/**
 * Names in Dubbo's registries: applications, services with group and version, and the mapping from services to applications.
 */
import type { ServiceKey } from "triple-es/discovery";

/** Dubbo's name of the protocol Triple in registries. */
export const TRIPLE = "tri";

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

/** Throws a `TypeError` for an invalid name of an application. Such names are parts of paths, lists and headers. */
export function checkApplicationName(name: string): void {
  if (typeof name === "string" && /^[\w.-]+$/.test(name)) return;
  throw new TypeError(`application must consist of letters, digits, ".", "_" and "-", not ${JSON.stringify(name)}`);
}

/** Parses the mapping of a service: the applications that provide it, separated by commas. Providers only add to it. */
export function parseMapping(content: string | undefined): string[] {
  const names = (content ?? "").split(",").map((name) => name.trim());
  return [...new Set(names.filter((name) => name !== ""))];
}

/** Returns the mapping with the application; `undefined` if it is there already. */
export function addToMapping(content: string | undefined, application: string): string | undefined {
  const names = parseMapping(content);
  return names.includes(application) ? undefined : [...names, application].join(",");
}
