/** Addressing: the version and group of the called service (spec: Versioning, point 4), and the path of a method by its alias. */
import type { Method, Selector } from "../call/call.ts";
import { Code } from "../call/code.ts";
import { RpcError } from "../call/error.ts";
import type { Metadata } from "../call/metadata.ts";

const NO_SELECTOR: Selector = /*@__PURE__*/ Object.freeze({});

/** Reads the version and group of the called service. */
export function readSelector(headers: Metadata): Selector {
  const version = headers.get("tri-service-version");
  const group = headers.get("tri-service-group");
  return version === undefined && group === undefined ? NO_SELECTOR : { version, group };
}

/** Writes the version and group. An empty string writes no header; callers use it to override a default of the client. */
export function writeSelector(headers: Metadata, { version, group }: Selector): void {
  if (version) headers.set("tri-service-version", version);
  if (group) headers.set("tri-service-group", group);
}

/**
 * Returns Dubbo's service key. Empty parts are left out.
 *
 *     Service-Key → [ group "/" ] service [ ":" version ]
 */
export function formatServiceKey({ service, group, version }: Selector & { readonly service: string }): string {
  return `${group ? `${group}/` : ""}${service}${version ? `:${version}` : ""}`;
}

/**
 * Returns the path of a method by its alias. `nameOf` returns the name of the method in the alias. Throws an `RpcError` with
 * `invalid_argument` for a method without an alias.
 */
export function aliasPath({ path, alias }: Method, nameOf: (alias: NonNullable<Method["alias"]>) => string): string {
  if (alias !== undefined) return `/${alias.service}/${nameOf(alias)}`;
  const message = `${path} has no Java name: generate it with java_names=true`;
  throw new RpcError(Code.InvalidArgument, message);
}
