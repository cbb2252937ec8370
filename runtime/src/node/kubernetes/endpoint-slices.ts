/**
 * EndpointSlices of Kubernetes (`discovery.k8s.io/v1`): the endpoints of a service, split into objects of up to 1,000. The
 * list of a service is the union of its slices.
 */
import { Code } from "../../call/code.ts";
import { RpcError } from "../../call/error.ts";
import { type Endpoint, endpointProblem, formatAddress } from "../../discovery/endpoint.ts";

/** The members of an EndpointSlice that are read. All others are ignored. */
export interface EndpointSlice {
  readonly metadata?: { readonly name?: string; readonly resourceVersion?: string };
  readonly endpoints?: readonly SliceEndpoint[] | null;
  readonly ports?: readonly SlicePort[] | null;
}

/** A list of EndpointSlices, as far as it is read. */
export interface EndpointSliceList {
  readonly metadata?: EndpointSlice["metadata"];
  readonly items?: readonly EndpointSlice[];
}

/** An event of a watch. Its object is an EndpointSlice, or a `Status` for `ERROR`. */
export interface WatchEvent {
  readonly type?: string;
  readonly object?: EndpointSlice & { readonly code?: number; readonly message?: string };
}

interface SliceEndpoint {
  readonly addresses?: readonly string[];
  readonly conditions?: {
    readonly ready?: boolean | null;
    readonly serving?: boolean | null;
    readonly terminating?: boolean | null;
  };
  readonly nodeName?: string;
  readonly zone?: string;
  readonly targetRef?: { readonly kind?: string; readonly name?: string };
}

interface SlicePort {
  readonly name?: string | null;
  readonly port?: number | null;
}

/**
 * Returns the endpoints of slices, each address once. A pod that is ready and does not terminate is an endpoint. If there is
 * none, those that terminate and still serve are used, as kube-proxy does. `port` is the name or number of the port; without
 * it, each slice must have exactly one. Malformed slices and members are skipped with a warning, and so is a slice
 * without the port, as long as others have it; throws an `unavailable` error if none has it.
 */
export function endpointsOf(
  slices: Iterable<EndpointSlice>,
  port: string | number | undefined,
  warn: (problem: string) => void = () => {},
): readonly Endpoint[] {
  const ready = new Map<string, Endpoint>();
  const terminating = new Map<string, Endpoint>();
  let hasPort = false;
  let failure: RpcError | undefined;
  for (const slice of slices) {
    const members = listOf(slice.endpoints);
    if (members?.length === 0) continue;
    const name = JSON.stringify(slice.metadata?.name);
    const number = portOf(listOf(slice.ports) ?? [], port);
    if (typeof number !== "number") {
      failure ??= number;
      warn(`the EndpointSlice ${name} is skipped: ${number.rawMessage}`);
      continue;
    }
    if (members === undefined) {
      warn(`the EndpointSlice ${name} is skipped: its endpoints are not a list`);
      continue;
    }
    hasPort = true;
    for (const member of members) {
      // The addresses of a member are those of one pod, so that the first is enough, as the API documents.
      const host: unknown = listOf(member?.addresses)?.[0];
      if (member === null || typeof host !== "string") {
        warn(`an endpoint of the EndpointSlice ${name} is skipped: it has no address`);
        continue;
      }
      const target = isReady(member) ? ready : isServing(member) ? terminating : undefined;
      const address = formatAddress(host, number);
      const problem = endpointProblem({ address }, "network");
      if (problem === undefined) target?.set(address, describe(address, member));
      else warn(`an endpoint of the EndpointSlice ${name} is skipped: ${problem}`);
    }
  }
  if (!hasPort && failure !== undefined) throw failure;
  return [...(ready.size > 0 ? ready : terminating).values()];
}

/** Returns a list, empty for one that is absent; `undefined` if the value is none. */
function listOf<T>(value: readonly T[] | null | undefined): readonly T[] | undefined {
  return Array.isArray(value ?? []) ? (value ?? []) : undefined;
}

const isReady = ({ conditions }: SliceEndpoint): boolean =>
  // A condition that is absent is unknown, and counts as ready.
  conditions?.ready !== false && conditions?.terminating !== true;

const isServing = ({ conditions }: SliceEndpoint): boolean =>
  conditions?.terminating === true && conditions.serving !== false;

function describe(address: string, { nodeName, zone, targetRef }: SliceEndpoint): Endpoint {
  const attributes: Record<string, string> = {};
  if (typeof nodeName === "string") attributes["kubernetes.node"] = nodeName;
  if (targetRef?.kind === "Pod" && typeof targetRef.name === "string") attributes["kubernetes.pod"] = targetRef.name;
  return { address, ...(typeof zone === "string" && { zone }), attributes };
}

/** Returns the number of the port, or the error that says why there is none. */
function portOf(given: readonly SlicePort[], wanted: string | number | undefined): number | RpcError {
  const ports = given.filter((one) => typeof one === "object" && one !== null);
  const found = ports.filter(({ name, port }) => wanted === undefined || wanted === port || wanted === (name ?? ""));
  const [one, ...others] = found;
  if (typeof one?.port === "number" && others.length === 0) return one.port;
  const all = ports.map(({ name, port }) => (name ? `${name} (${port})` : `${port}`)).join(", ") || "none";
  const reason = wanted === undefined ? "the option port must select one" : `none of them is ${JSON.stringify(wanted)}`;
  return new RpcError(Code.Unavailable, `the service has the ports ${all}: ${reason}`);
}

/** The slices of one service, as a list and the events after it describe them. */
export class SliceSet {
  /** The version of the API's data that these slices reflect, from which a watch continues. */
  resourceVersion = "";
  readonly #slices = new Map<string, EndpointSlice>();

  get slices(): Iterable<EndpointSlice> {
    return this.#slices.values();
  }

  /** Replaces all slices by a list. */
  replace(list: EndpointSliceList): void {
    this.#slices.clear();
    // The API writes an empty list as `null` in some versions.
    for (const slice of list.items ?? []) this.#slices.set(nameOf(slice), slice);
    this.resourceVersion = versionOf(list);
  }

  /**
   * Applies an event of a watch. Returns "changed", "unchanged" for a bookmark or a type that is unknown, or "expired" if
   * the API no longer has the version from which the watch was to continue (410 Gone): a new list is needed then. Throws an
   * `unavailable` error for other errors.
   */
  apply({ type, object }: WatchEvent): "changed" | "unchanged" | "expired" {
    switch (type) {
      case "ADDED":
      case "MODIFIED":
        this.#slices.set(nameOf(object), object ?? {});
        break;
      case "DELETED":
        this.#slices.delete(nameOf(object));
        break;
      case "ERROR":
        if (object?.code === 410) return "expired";
        throw new RpcError(
          Code.Unavailable,
          `the Kubernetes API has ended the watch: ${object?.message ?? object?.code}`,
        );
      case "BOOKMARK":
        this.resourceVersion = versionOf(object);
        return "unchanged";
      default:
        return "unchanged";
    }
    this.resourceVersion = versionOf(object);
    return "changed";
  }
}

function nameOf(slice: EndpointSlice | undefined): string {
  const name = slice?.metadata?.name;
  if (typeof name !== "string") throw malformed("an EndpointSlice has no name");
  return name;
}

function versionOf(object: EndpointSlice | EndpointSliceList | undefined): string {
  const version = object?.metadata?.resourceVersion;
  if (typeof version !== "string") throw malformed("an object has no resourceVersion");
  return version;
}

const malformed = (problem: string): RpcError =>
  new RpcError(Code.Unavailable, `the response of the Kubernetes API is malformed: ${problem}`);
