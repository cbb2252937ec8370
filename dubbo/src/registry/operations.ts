/**
 * Operations of a registered server over plain HTTP, after Dubbo's QoS commands: `offline` and `online` in a rolling restart or
 * for a machine that misbehaves, `ls`, and the probe `ready`.
 */
import type { ErrorHook, Exchange, HttpRequest, HttpResponse, Router } from "triple-es";
import {
  type CallingResource,
  formatAddress,
  readOnly,
  resolvedWithin,
  TEXT_TYPE,
  textResponse,
} from "triple-es/internal";
import type { ServerRegistration } from "./register.ts";

/** Options of {@link addOperations}. */
export interface OperationsOptions {
  /**
   * Decides from the head of a request whether it may list the services, or take the server offline or online. All but `true`
   * refuses it; so does an error, which the server's option `onError` receives. Pages are refused before. Required.
   */
  readonly authorize: (request: HttpRequest) => boolean | Promise<boolean>;
}

const PREFIX = "/-/";
/** Time in milliseconds for which a request waits for the registries. */
const CONFIRMATION_MS = 5_000;

/**
 * Adds resources to a server for its registrations:
 *
 *     GET /-/ready       200 and `true` if a registration is registered, otherwise 503 and `false`; for everyone
 *     GET /-/ls          the services in JSON, each with its registrations and their status
 *     POST /-/offline    removes the server from the registries, and later lets its clients connect again; answers as `ls`
 *     POST /-/online     registers it again; answers as `ls`
 *
 * `offline` and `online` answer with 503 if a registry has not confirmed the change within 5 seconds; it stays in force. Throws a
 * `TypeError` without `authorize`, which has no default, and without registrations.
 */
export function addOperations(
  server: Router,
  registrations: readonly ServerRegistration[],
  options: OperationsOptions,
): void {
  const authorize = options?.authorize;
  if (typeof authorize !== "function") {
    throw new TypeError("addOperations needs authorize, a function that decides who may take the server offline");
  }
  if (!Array.isArray(registrations) || registrations.length === 0) {
    throw new TypeError("addOperations needs a list of registrations, such as [register(server, registry, options)]");
  }
  let onError: ErrorHook;

  function protect(exchange: Exchange): Exchange {
    return async (request) => {
      const { headers, path } = request;
      const isPage = headers.has("origin") || (headers.get("sec-fetch-site") ?? "none") !== "none";
      if (isPage) return textResponse(403, TEXT_TYPE, "pages may not operate a server\n");
      const decision = Promise.resolve(request).then(authorize);
      const isAllowed = await decision.catch((reason: unknown) => {
        onError(reason, path);
        return false;
      });
      // A client that has left may have sent another operation.
      if (isAllowed !== true || request.signal?.aborted)
        return textResponse(403, TEXT_TYPE, "authorize of addOperations has refused the request\n");
      return exchange(request);
    };
  }

  function list(): HttpResponse {
    const services = server.services.map(({ service: { typeName }, selector: { group, version } }) => ({
      service: typeName,
      group,
      version,
      registrations: registrations.flatMap(({ instance: { application, host, port, services }, status }) => {
        const isOffered = services.some(
          (one) => one.service === typeName && one.group === group && one.version === version,
        );
        return isOffered ? [{ application, address: formatAddress(host, port), status: status() }] : [];
      }),
    }));
    return textResponse(200, "application/json", JSON.stringify(services));
  }

  const change = (offline: boolean): Exchange =>
    protect(async ({ method }) => {
      if (method !== "POST") return textResponse(405, TEXT_TYPE, `use POST, not ${method}\n`, { allow: "POST" });
      const wanted = offline ? "offline" : "registered";
      const open = registrations.filter(({ status }) => status() !== "closed");
      const updates = open.map((registration) => registration.update({ offline }));
      await resolvedWithin(Promise.allSettled(updates), CONFIRMATION_MS);
      const isDone = offline || open.length > 0;
      if (isDone && open.every(({ status }) => status() === wanted || status() === "closed")) return list();
      const problem = isDone
        ? `not all registrations are ${wanted} yet, and the server keeps trying`
        : "all are closed";
      return textResponse(503, TEXT_TYPE, `${problem}; see ${PREFIX}ls\n`);
    });

  const resources = new Map<string, Exchange>([
    [
      "ready",
      readOnly(() => {
        const isReady = registrations.some(({ status }) => status() === "registered");
        return textResponse(isReady ? 200 : 503, TEXT_TYPE, `${isReady}\n`);
      }),
    ],
    ["ls", protect(readOnly(list))],
    ["offline", change(true)],
    ["online", change(false)],
  ]);
  const find = (path: string): Exchange | undefined =>
    path.startsWith(PREFIX) ? resources.get(path.slice(PREFIX.length).split("?", 1)[0] as string) : undefined;
  const resource: CallingResource = {
    path: `${PREFIX}ls`,
    onMount: ({ options }) => {
      ({ onError } = options);
    },
    serves: ({ path }) => find(path) !== undefined,
    async exchange(request) {
      return (find(request.path) as Exchange)(request);
    },
  };
  server.mount(resource);
}
