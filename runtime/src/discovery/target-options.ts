/**
 * Options and events of a target, and the state of its endpoints as users see it.
 */
import type { RpcError } from "../call/error.ts";
import type { RoutedBalancer } from "./balancer.ts";
import type { EjectionSettings } from "./ejection-options.ts";
import type { EndpointConnections } from "./endpoint.ts";

/** A change of a target that is worth reporting. There are no events for single calls. */
export type TargetEvent =
  | { readonly type: "resolved"; readonly endpoints: number }
  | { readonly type: "resolver failed"; readonly error: RpcError }
  /** An endpoint has a new state: `ready` also when its ejection is over. */
  | {
      readonly type: "endpoint";
      readonly address: string;
      readonly state: EndpointStatus["state"];
      readonly error?: RpcError;
      /** The rule that ejected it. */
      readonly method?: "consecutive_failures" | "success_rate" | "failure_percentage";
    }
  /** An attempt to connect has failed. The first of several in a row changes the state to `failing`. */
  | { readonly type: "connection failed"; readonly address: string; readonly error: RpcError }
  /** An endpoint has failed as often as those that are ejected, but too many others are ejected already. */
  | {
      readonly type: "ejection skipped";
      readonly address: string;
      readonly error: RpcError;
      readonly method: "consecutive_failures" | "success_rate" | "failure_percentage";
    }
  /** A list has left a connected endpoint out. It takes calls only while no listed endpoint does. */
  | { readonly type: "unlisted"; readonly address: string }
  | { readonly type: "removed"; readonly address: string }
  | { readonly type: "invalid endpoint"; readonly problem: string }
  | { readonly type: "invalid service config"; readonly problem: string };

/** An endpoint of a target, as `transport.endpoints()` shows it. */
export interface EndpointStatus {
  /** The address, as in {@link Endpoint}: `host:port`, `[v6]:port`, or `unix:` and a path. */
  readonly address: string;
  /**
   * `idle`: not connected; `connecting`: an attempt to connect is running, or its watched health has no status yet; `ready`:
   * connected, takes calls; `failing`: the last attempt to connect or health check has failed, and another one follows;
   * `ejected`: connected, but takes no calls because it failed more of them than the others.
   */
  readonly state: "idle" | "connecting" | "ready" | "failing" | "ejected";
  /** False if the last list has left it out, so that it takes calls only while no listed endpoint does. */
  readonly listed: boolean;
  /** The weight that policies see, after warm-up. */
  readonly weight: number;
  /** The number of open streams and of calls that wait for a stream. */
  readonly active: number;
  /** The reason why it cannot be connected to, why it is not healthy, or why it was ejected. */
  readonly lastError: RpcError | undefined;
}

/** Functions that begin watches on the connections of an endpoint. They return the function that ends the watch. */
export interface Watches {
  readonly health: (connections: EndpointConnections, service: string, owner: HealthOwner) => () => void;
  /** Requests load reports at an interval, in milliseconds. */
  readonly load: (connections: EndpointConnections, reportMs: number, owner: LoadOwner) => () => void;
}

export interface WatchOwner {
  /** Called if the endpoint does not have the service. Nothing follows. */
  onUnimplemented(): void;
  /** Called if there is no connection any more. Nothing follows. */
  onUnconnected(): void;
}

export interface HealthOwner extends WatchOwner {
  /** Called for each status, and for a failed check: with the reason why the endpoint is not healthy, or `undefined`. */
  onStatus(failure: RpcError | undefined): void;
}

export interface LoadOwner extends WatchOwner {
  /** Called for each report, a binary `xds.data.orca.v3.OrcaLoadReport`. */
  onReport(report: Uint8Array): void;
}

/** The options that a service config can change. */
export type Balancing = Pick<TargetOptions, "balancer" | "ejection" | "healthService">;

export interface TargetOptions {
  /** The name in error messages. */
  readonly name: string;
  /** The reason in error messages while the list is empty. Default: `it has no endpoints`. */
  readonly emptyReason?: string | undefined;
  /** The source of the list in error messages while there is none. `undefined`: it is not named. */
  readonly source?: string | undefined;
  readonly balancer: RoutedBalancer;
  /** The number of endpoints of the list that are used. `undefined`: all. */
  readonly subset: number | undefined;
  /** Time over which the weight of an endpoint grows, in milliseconds. `undefined`: the default of each endpoint. */
  readonly warmUpMs: number | undefined;
  /** Maximum time for which a connected endpoint is kept after a list has left it out, in milliseconds. */
  readonly keepUnlistedMs: number;
  /** Time without calls after which the resolver pauses, in milliseconds. */
  readonly idleTimeoutMs: number;
  readonly ejection: EjectionSettings;
  /** Watches endpoints. `undefined`: neither their health nor their load is watched. */
  readonly watches?: Watches | undefined;
  /** The service whose health is watched; `""` is the whole server. `undefined`: none. */
  readonly healthService?: string | undefined;
  readonly onEvent?: ((event: TargetEvent) => void) | undefined;
  readonly onServiceConfig?: ((serviceConfig: unknown) => void) | undefined;
}
