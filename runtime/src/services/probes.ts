/**
 * Probes of health over plain HTTP, as Kubernetes and load balancers send them: one for liveness, one for readiness.
 */
import { type Resource, readOnly, TEXT_TYPE, textResponse } from "../server/resource.ts";

/** A path that `URL` does not change. */
const PROBE_PATH = /^(?:\/[\w.~-]+)+$/;

/** Paths of the probes. */
export interface ProbePaths {
  /**
   * Liveness: 200 as long as the server answers, also if its status is `not_serving`, because Kubernetes restarts a
   * container without liveness. Default: `/healthz`.
   */
  readonly live?: string | undefined;
  /**
   * Readiness: 200 while the server is `serving`, and 503 otherwise. With the query `?service=<name>`, the status of one
   * service, and 404 for an unknown one. Default: `/readyz`.
   */
  readonly ready?: string | undefined;
}

type StatusOf = (service: string) => "unknown" | "serving" | "not_serving" | undefined;

/**
 * Creates the resource that answers the probes from the status of a service, which `statusOf` returns. Throws a `TypeError`
 * for an invalid path.
 */
export function createProbes(statusOf: StatusOf, { live = "/healthz", ready = "/readyz" }: ProbePaths): Resource {
  for (const path of [live, ready]) {
    if (typeof path !== "string" || !PROBE_PATH.test(path)) {
      throw new TypeError(`the path of a probe must start with / and have no query, unlike ${JSON.stringify(path)}`);
    }
  }
  if (live === ready) throw new TypeError(`the probes must have different paths; both have ${live}`);
  return {
    path: live,
    serves: ({ path }) => path === live || path === ready,
    exchange: readOnly(({ path }) => {
      const { pathname, searchParams } = new URL(path, "http://localhost");
      if (pathname === live) return textResponse(200, TEXT_TYPE, "alive\n");
      const service = searchParams.get("service") ?? "";
      const status = statusOf(service);
      if (status === undefined) return textResponse(404, TEXT_TYPE, `there is no service "${service}"\n`);
      return textResponse(status === "serving" ? 200 : 503, TEXT_TYPE, `${status}\n`);
    }),
  };
}
