/**
 * The Kubernetes resolver: watches the EndpointSlices of a service, so that new pods get calls, and pods that terminate get
 * none, within milliseconds, without the delay of DNS records.
 */

import { readFileSync } from "node:fs";
import { Code } from "../../call/code.ts";
import { RpcError } from "../../call/error.ts";
import { assertFunctions, assertMembers } from "../../call/option.ts";
import { startBackgroundTimer } from "../../call/platform.ts";
import type { Endpoint, Resolver, ResolverContext } from "../../discovery/endpoint.ts";
import { get, type KubernetesApi, readJsonBody, readLines, SERVICE_ACCOUNT } from "./api.ts";
import { type EndpointSliceList, endpointsOf, SliceSet, type WatchEvent } from "./endpoint-slices.ts";

export interface KubernetesOptions extends KubernetesApi {
  /** The namespace of the service. Default: that of the pod, or `default` outside a pod. */
  readonly namespace?: string | undefined;
  /** The name or number of the port, as the EndpointSlices have it. Default: the only port of the service. */
  readonly port?: string | number | undefined;
}

type Warn = ResolverContext["warn"];

/** Duration of a watch, in seconds, after which the API ends it and it continues. */
const WATCH_SECONDS = 300;
/** Time after the end of a watch in which the API must have ended it, in seconds. */
const WATCH_ALLOWANCE_SECONDS = 30;
/** The time for a whole list, in milliseconds. */
const LIST_MS = 60_000;
/** Time between two watches, in milliseconds. */
const PAUSE_MS = 1_000;
const RESOURCE_NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;

/**
 * Creates the resolver for a service of Kubernetes. It lists the EndpointSlices and watches them. The pod's service account
 * needs the verbs `list` and `watch` on `endpointslices` of `discovery.k8s.io`. If the API cannot be reached, the last list
 * stays in use. Throws a `TypeError` for an invalid option.
 */
export function kubernetes(service: string, options: KubernetesOptions = {}): Resolver {
  assertMembers("the options of kubernetes", options, ["namespace", "port", "server", "token", "ca"]);
  assertFunctions({ token: options.token });
  const { namespace = podNamespace(), port } = options;
  for (const [what, name] of Object.entries({ service, namespace })) {
    if (typeof name !== "string" || !RESOURCE_NAME.test(name)) {
      throw new TypeError(`kubernetes: ${what} ${JSON.stringify(name)} must be a name of Kubernetes, such as "greet"`);
    }
  }
  const labels = encodeURIComponent(`kubernetes.io/service-name=${service}`);
  const path = `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices?labelSelector=${labels}`;

  /** Watches until the API ends the watch. Returns true if the known version is too old: a new list is needed. */
  async function* watch(
    known: SliceSet,
    signal: AbortSignal,
    warn: Warn,
  ): AsyncGenerator<readonly Endpoint[], boolean> {
    const from = `&watch=1&allowWatchBookmarks=true&timeoutSeconds=${WATCH_SECONDS}&resourceVersion=${known.resourceVersion}`;
    const response = await get(options, path + from, signal);
    if (response === "gone") return true;
    response.socket.unref(); // a watch does not keep the process running
    // A server that stands still acknowledges TCP keepalives, but does not end the watch.
    const stop = startBackgroundTimer((WATCH_SECONDS + WATCH_ALLOWANCE_SECONDS) * 1_000, () => {
      response.destroy(new Error("the watch did not end in time"));
    });
    try {
      for await (const events of readLines(response)) {
        const results = events.map((event) => known.apply(event as WatchEvent));
        if (results.includes("changed")) yield endpointsOf(known.slices, port, warn);
        if (results.includes("expired")) return true;
      }
    } finally {
      stop();
    }
    return false;
  }

  const resolve: Resolver = async function* ({ signal, next, warn }) {
    const known = new SliceSet();
    for (let isExpired = true; ; ) {
      if (isExpired) {
        known.replace(await list(signal));
        yield endpointsOf(known.slices, port, warn);
      }
      isExpired = yield* watch(known, signal, warn);
      // Without a pause, an API or proxy that ends each watch at once would get requests without end.
      await next(PAUSE_MS);
    }
  };

  async function list(signal: AbortSignal): Promise<EndpointSliceList> {
    const response = await get(options, path, signal);
    if (response === "gone") throw new RpcError(Code.Unavailable, "the Kubernetes API answered with 410 to a list");
    const stop = startBackgroundTimer(LIST_MS, () => {
      response.destroy(new Error(`the list did not arrive within ${LIST_MS / 1_000} s`));
    });
    return (await readJsonBody(response).finally(stop)) as EndpointSliceList;
  }

  return Object.assign(resolve, { authority: `${service}.${namespace}.svc` });
}

function podNamespace(): string {
  try {
    return readFileSync(`${SERVICE_ACCOUNT}/namespace`, "utf8").trim();
  } catch {
    return "default";
  }
}
