/** Probes of health over plain HTTP, as Kubernetes and load balancers send them: one for liveness, one for readiness. */
import { assertResourcePath, type Resource, readOnly, TEXT_TYPE, textResponse } from "../server/resource.ts";

type StatusOf = (service: string) => "unknown" | "serving" | "not_serving" | undefined;

/** Creates the resource that answers the probes from the status of a service. Throws a `TypeError` for an invalid path. */
export function createProbes(
  statusOf: StatusOf,
  { live = "/healthz", ready = "/readyz" }: { readonly live?: string | undefined; readonly ready?: string | undefined },
): Resource {
  for (const path of [live, ready]) assertResourcePath("a probe", path);
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
