/**
 * Attributes of instances for users, such as `dubbo.tag`, among the parameters that Dubbo itself uses.
 */

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

/** Returns the attributes among parameters; `undefined` if there are none. */
export function readAttributes(
  parameters: Iterable<readonly [string, string]>,
): Readonly<Record<string, string>> | undefined {
  const found: Record<string, string> = {};
  for (const [name, value] of parameters) if (!OWN_PARAMETERS.has(name) && value !== "") found[name] = value;
  return Object.keys(found).length === 0 ? undefined : found;
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
