/**
 * gRPC's health checking protocol, by which load balancers, Kubernetes and Dubbo clients check whether a server can handle
 * calls.
 */
import { Code } from "../call/code.ts";
import { RpcError } from "../call/error.ts";
import { assertOneOf } from "../call/option.ts";
import { onAbort } from "../call/timer.ts";
import type { CallDefaults, CallOptions, Transport } from "../client/client.ts";
import { HealthCheckResponse_ServingStatus as ServingStatus } from "../gen/grpc/health/v1/health_pb.ts";
import {
  createHealthClient as createGeneratedClient,
  HealthDef,
  type HealthHandler,
} from "../gen/grpc/health/v1/health_triple.ts";
import { formatServiceKey } from "../protocol/selector.ts";
import { checkServiceLimits, type ServiceLimits } from "../server/call-limits.ts";
import { assertResourcePath, type Resource, readOnly, TEXT_TYPE, textResponse } from "../server/resource.ts";
import type { Router, ServiceOptions } from "../server/router.ts";

export { HealthCheckResponse_ServingStatus as ServingStatus } from "../gen/grpc/health/v1/health_pb.ts";

/**
 * The status of a server or service. `unknown` is for a service whose status is not known yet; clients treat it like
 * `not_serving`.
 */
export type HealthStatus = "unknown" | "serving" | "not_serving";

const SERVING_STATUS: Readonly<Record<HealthStatus, ServingStatus>> = {
  unknown: ServingStatus.UNKNOWN,
  serving: ServingStatus.SERVING,
  not_serving: ServingStatus.NOT_SERVING,
};

/** The health of a server and its services. */
export interface Health {
  /**
   * Sets the status of a service and notifies clients that watch it. The argument is the full name of the service, a Dubbo
   * service key (`group/name:version`), or `""` for the whole server, whose status is independent of its services.
   *
   * Default: the server and every service that was added to it are `serving`. Throws a `TypeError` for an invalid status.
   */
  readonly set: (service: string, status: HealthStatus) => Health;
  /** Returns the status that clients receive; `undefined` for an unknown service. */
  readonly get: (service: string) => HealthStatus | undefined;
  /**
   * Sets the server and all services to `not_serving` permanently, and ends all watches, so that they do not delay a
   * graceful shutdown: each watch receives the status and then fails as `unavailable`. A server calls it when it begins to
   * close.
   */
  readonly shutdown: () => void;
}

export interface HealthOptions extends ServiceOptions {
  /**
   * Also answers probes over plain HTTP, as Kubernetes sends them: true for `GET /healthz` (liveness) and `GET /readyz`
   * (readiness), or an object with other paths. Default: false.
   */
  readonly probes?:
    | boolean
    | {
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
    | undefined;
}

/** A client of the health checking protocol. `service` is the name of a service; without it, the whole server is meant. */
export interface HealthClient {
  /** Returns the current status. Fails as `not_found` if the server does not know the service. */
  readonly check: (
    request: { readonly service?: string },
    options?: CallOptions,
  ) => Promise<{ readonly status: ServingStatus }>;
  /** Returns the status of each service. Fails as `resource_exhausted` if there are more than 100. */
  readonly list: (
    request: object,
    options?: CallOptions,
  ) => Promise<{ readonly statuses: Readonly<Record<string, { readonly status: ServingStatus }>> }>;
  /** Returns the current status and each change of it. A service that the server does not know is `SERVICE_UNKNOWN`. */
  readonly watch: (
    request: { readonly service?: string },
    options?: CallOptions,
  ) => AsyncIterable<{ readonly status: ServingStatus }>;
}

/** Creates a client of `grpc.health.v1.Health`. */
export function createHealthClient(transport: Transport, defaults?: CallDefaults): HealthClient {
  return createGeneratedClient(transport, defaults);
}

type Probes = Exclude<NonNullable<HealthOptions["probes"]>, boolean>;

/** Maximum number of services in a response of `List`, as `health.proto` defines it. */
const MAX_LISTED = 100;

/**
 * Adds the service `grpc.health.v1.Health` to a router or server. Returns the object that sets the statuses. Throws a
 * `TypeError` for an invalid option.
 *
 *     const health = addHealth(server);
 *     health.set("greet.v1.GreetService", "not_serving");
 */
export function addHealth(router: Router, options: HealthOptions = {}): Health {
  const { probes = false, ...serviceOptions } = options;
  const health = new RouterHealth(router);
  if (probes !== false) router.mount(createProbes(health, probes === true ? {} : probes));
  router.add(HealthDef, createHealthHandler(health), { ...serviceOptions, limits: limitsOf(options) });
  router.onClose?.(() => health.shutdown());
  return health;
}

/** Returns the limits of the service. A watch lasts as long as its client, unless they have a maximum timeout. */
function limitsOf({ limits = {} }: HealthOptions): ServiceLimits {
  checkServiceLimits(limits, Object.keys(HealthDef.methods));
  const { maxTimeoutMs = Number.POSITIVE_INFINITY, methods } = limits;
  const watch = { ...methods?.["watch"], maxTimeoutMs: methods?.["watch"]?.maxTimeoutMs ?? maxTimeoutMs };
  return { ...limits, methods: { ...methods, watch } };
}

/**
 * Creates the resource that answers probes over plain HTTP, one for liveness and one for readiness. Throws a `TypeError` for an
 * invalid path.
 */
function createProbes(health: Health, { live = "/healthz", ready = "/readyz" }: Probes): Resource {
  for (const path of [live, ready]) assertResourcePath("a probe", path);
  if (live === ready) throw new TypeError(`the probes must have different paths; both have ${live}`);
  return {
    path: live,
    serves: ({ path }) => path === live || path === ready,
    exchange: readOnly(({ path }) => {
      const { pathname, searchParams } = new URL(path, "http://localhost");
      if (pathname === live) return textResponse(200, TEXT_TYPE, "alive\n");
      const service = searchParams.get("service") ?? "";
      const status = health.get(service);
      if (status === undefined) return textResponse(404, TEXT_TYPE, `there is no service "${service}"\n`);
      return textResponse(status === "serving" ? 200 : 503, TEXT_TYPE, `${status}\n`);
    }),
  };
}

class RouterHealth implements Health {
  readonly #router: Router;
  readonly #statuses = new Map<string, HealthStatus>();
  readonly #watchers = new Set<() => void>();
  down = false;

  constructor(router: Router) {
    this.#router = router;
  }

  readonly set = (service: string, status: HealthStatus): this => {
    assertOneOf("status", status, Object.keys(SERVING_STATUS) as HealthStatus[]);
    this.#statuses.set(service, status);
    this.#notify();
    return this;
  };

  readonly get = (service: string): HealthStatus | undefined => {
    const status = this.#statuses.get(service) ?? (this.#isAdded(service) ? "serving" : undefined);
    return this.down && status !== undefined ? "not_serving" : status;
  };

  /** Returns all names that have a status. */
  names(): Set<string> {
    return new Set(["", ...this.#router.services.map(({ service }) => service.typeName), ...this.#statuses.keys()]);
  }

  readonly shutdown = (): void => {
    this.down = true;
    this.#notify();
  };

  /** Resolves when a status may have changed, or when the signal fires, which has not. */
  change(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#watchers.delete(wake);
        unlink();
        resolve();
      };
      this.#watchers.add(wake);
      const unlink = onAbort(signal, wake);
    });
  }

  #notify(): void {
    for (const wake of [...this.#watchers]) wake();
  }

  #isAdded(name: string): boolean {
    return (
      name === "" ||
      this.#router.services.some(
        ({ service: { typeName: service }, selector }) =>
          service === name || formatServiceKey({ service, ...selector }) === name,
      )
    );
  }
}

function createHealthHandler(health: RouterHealth): HealthHandler {
  return {
    check({ service }) {
      const status = health.get(service);
      if (status === undefined) throw new RpcError(Code.NotFound, `there is no service "${service}"`);
      return { status: SERVING_STATUS[status] };
    },
    list() {
      const names = [...health.names()];
      if (names.length > MAX_LISTED) {
        throw new RpcError(Code.ResourceExhausted, `there are more than ${MAX_LISTED} services; check them one by one`);
      }
      return { statuses: Object.fromEntries(names.map((name) => [name, { status: statusOf(health, name) }])) };
    },
    async *watch({ service }, { signal }) {
      let sent: ServingStatus | undefined;
      while (!signal.aborted) {
        const status = statusOf(health, service);
        if (status !== sent) {
          sent = status;
          yield { status };
        } else if (health.down) {
          throw new RpcError(Code.Unavailable, "the server is shutting down");
        } else {
          await health.change(signal);
        }
      }
    },
  };
}

function statusOf(health: Health, service: string): ServingStatus {
  const status = health.get(service);
  return status === undefined ? ServingStatus.SERVICE_UNKNOWN : SERVING_STATUS[status];
}
