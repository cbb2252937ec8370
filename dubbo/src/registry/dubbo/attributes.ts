/**
 * Parameters of instances in Dubbo's registries: weights, start times, and attributes for users, such as `dubbo.tag`, among the
 * parameters that Dubbo itself uses.
 */
import type { Endpoint } from "triple-es/discovery";
import { DEFAULT_WEIGHT, endpointProblem } from "triple-es/internal";

/** Parameters that Dubbo reads or writes for itself. All others, and the application, are attributes of an endpoint. */
const OWN_PARAMETERS: ReadonlySet<string> = new Set([
  "anyhost",
  "background",
  "bind.ip",
  "bind.port",
  "category",
  "deprecated",
  "dubbo",
  "dubbo.endpoints",
  "dubbo.metadata-service.url-params",
  "dubbo.metadata.revision",
  "dubbo.metadata.storage-type",
  "dynamic",
  "enabled",
  "executor-management-mode",
  "file-cache",
  "generic",
  "group",
  "interface",
  "IDL-mode",
  "logger",
  "meta-v",
  "metadata-type",
  "methods",
  "path",
  "pid",
  "port",
  "prefer.serialization",
  "protocol",
  "qos.enable",
  "qos.port",
  "register-mode",
  "registry",
  "revision",
  "serialization",
  "service-name-mapping",
  "service.filter",
  "side",
  "timestamp",
  "version",
  "weight",
]);

/** The maximum length of a provider URL, and of the attributes of an endpoint, in characters. */
export const MAX_ENTRY_LENGTH = 16_384;

/**
 * Makes the endpoint at an address with these parameters. Of those with the same name the last one counts, and none that is
 * empty. Throws an `Error` with the reason if it is malformed.
 */
export function endpointAt(address: string, given: Iterable<readonly [string, string]>): Endpoint {
  const parameters = new Map([...given].filter(([, value]) => value !== ""));
  const attributes = [...parameters].filter(([name]) => !OWN_PARAMETERS.has(name));
  if (JSON.stringify(attributes).length > MAX_ENTRY_LENGTH)
    throw new Error(`its attributes have more than ${MAX_ENTRY_LENGTH} characters`);
  const endpoint: Endpoint = {
    address,
    weight: parseWeight(parameters.get("weight"), parameters.get("release")),
    since: parseSince(parameters.get("timestamp")),
    zone: parameters.get("zone") ?? parameters.get("region"),
    attributes: Object.fromEntries(attributes),
  };
  const problem = endpointProblem(endpoint, "network");
  if (problem !== undefined) throw new Error(problem);
  return endpoint;
}

/** Throws a `TypeError` for an attribute that a registry cannot hold or that Dubbo uses itself. */
export function checkAttributes(attributes: Readonly<Record<string, string>> = {}): void {
  for (const [name, value] of Object.entries(attributes)) {
    const shown = `the attribute ${JSON.stringify(name)}`;
    if (OWN_PARAMETERS.has(name) || name === "application" || name === "release") {
      throw new TypeError(`${shown} has a meaning in Dubbo, and cannot be set`);
    }
    if (!/^[^&=?#\s]+$/.test(name)) throw new TypeError(`${shown} must have a name without spaces, "&" and "="`);
    if (typeof value !== "string" || /&|\p{Surrogate}/u.test(value)) {
      throw new TypeError(`${shown} must be a string without "&", not ${JSON.stringify(value)}`);
    }
  }
}

/** Times below this, read as milliseconds, are before 1973: dubbo-go writes seconds. */
const FIRST_MILLISECOND = 1e11;

/** Parses a weight: the default if it is missing or malformed, or the 0 that dubbo-go writes where none is configured. */
function parseWeight(weight: string | undefined, release: string | undefined): number {
  const parsed = Number(weight);
  if (weight === undefined || weight.trim() === "" || !(parsed >= 0)) return DEFAULT_WEIGHT;
  if (parsed === 0 && release?.startsWith("dubbo-golang")) return DEFAULT_WEIGHT;
  return Math.min(parsed, 1e6);
}

/** Parses the time of a start, in milliseconds, or in seconds as dubbo-go writes it. */
function parseSince(timestamp: string | undefined): number | undefined {
  const parsed = Number(timestamp);
  if (timestamp === undefined || !(parsed > 0) || !Number.isFinite(parsed)) return undefined;
  return parsed < FIRST_MILLISECOND ? parsed * 1_000 : parsed;
}
