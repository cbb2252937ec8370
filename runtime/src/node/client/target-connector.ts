/**
 * Connections to the endpoints that a resolver finds for a target.
 */

import { RpcError } from "../../call/error.ts";
import { assertAmount, assertFunctions } from "../../call/option.ts";
import { wallClock } from "../../call/platform.ts";
import type { ConfiguredOptions } from "../../client/configured.ts";
import { parseServiceConfig, type ServiceConfig } from "../../client/service-config.ts";
import { DEFAULT_TIMES } from "../../connection/pooled-connection.ts";
import { balance } from "../../discovery/balanced.ts";
import { checkEndpointLimits } from "../../discovery/call-limiter.ts";
import { resolveEjection } from "../../discovery/ejection-options.ts";
import type { ConnectEndpoint } from "../../discovery/endpoint.ts";
import { findPolicy } from "../../discovery/policy/by-name.ts";
import { p2c } from "../../discovery/policy/p2c.ts";
import type { Registry } from "../../discovery/registry.ts";
import { TargetDriver } from "../../discovery/target.ts";
import type { Balancing, EndpointStatus, TargetEvent, TargetOptions } from "../../discovery/target-options.ts";
import { LocalZone, type ZoneOptions } from "../../discovery/zone.ts";
import type { TraceEvent } from "../../http/channel-state.ts";
import type { Connections } from "../../http/exchange.ts";
import { createEndpointConnector, type EndpointOptions } from "./connector.ts";
import type { BalancedTransportOptions, NodeTransportOptions } from "./transport-options.ts";

/** The number of events that the trace of a target keeps. */
const MAX_TRACE_EVENTS = 30;

export interface TargetConnections extends Connections {
  readonly endpoints: () => readonly EndpointStatus[];
  /** Returns the service config that the resolver supplied, otherwise that of the options. */
  readonly serviceConfig: () => ServiceConfig | undefined;
  /** Returns what a registry overrides in a call, when the endpoints and the service config are known. */
  readonly overridesOf: NonNullable<ConfiguredOptions["overridesOf"]>;
}

/** Options for the discovery of a target's endpoints and for the choice among them. */
type DiscoveryOptions = Omit<BalancedTransportOptions, keyof NodeTransportOptions>;

/** The options that have an effect with several endpoints only. */
type EndpointsOptions = Omit<DiscoveryOptions, "resolver" | "authority">;

type DiscoverySettings = Readonly<Record<keyof EndpointsOptions, unknown>> &
  Pick<EndpointsOptions, "balancer" | "onEndpoint"> &
  Pick<TargetOptions, "subset" | "warmUpMs" | "keepUnlistedMs" | "ejection"> &
  ZoneOptions;

/** Fills in the defaults of the options of targets. Throws a `TypeError` for an invalid option. */
export function resolveDiscovery(options: EndpointsOptions): DiscoverySettings {
  const { balancer, subset, zone, warmUpMs, keepUnlistedMs = 5 * 60_000, onEndpoint } = options;
  const { maxRequestsPerEndpoint, maxPendingRequests } = options;
  assertFunctions({ balancer, onEndpoint });
  if (subset !== undefined && !(Number.isInteger(subset) && subset >= 1)) {
    throw new TypeError(`subset must be an integer of 1 or more, not ${subset}`);
  }
  if (zone !== undefined && !(typeof zone === "string" && zone !== "")) {
    throw new TypeError(`zone must be a name, such as "eu-west-1a", not ${JSON.stringify(zone)}`);
  }
  checkEndpointLimits(options);
  assertAmount("keepUnlistedMs", keepUnlistedMs);
  assertAmount("warmUpMs", warmUpMs ?? 0);
  const ejection = resolveEjection(options.ejection);
  const local = zone === undefined ? undefined : new LocalZone(zone);
  const limits = { maxRequestsPerEndpoint, maxPendingRequests };
  return { ...limits, balancer, subset, zone: local, keepUnlistedMs, warmUpMs, ejection, onEndpoint };
}

/**
 * Creates a connector for the endpoints of a target. `shared` are its connections if it shares them with other targets, and its
 * name in messages. Throws a `TypeError` for an invalid option.
 */
export function createTargetConnector(
  options: DiscoveryOptions & EndpointOptions & Pick<TargetOptions, "watches">,
  given: ServiceConfig | undefined,
  shared?: { readonly connect: ConnectEndpoint; readonly name: string },
): TargetConnections {
  const { resolver }: { readonly resolver: ReturnType<Registry["resolver"]> } = options;
  const { balancer: own, onEndpoint, ...settings } = resolveDiscovery(options);
  if (typeof resolver !== "function") throw new TypeError("resolver must be a function, such as fixed and dns make");
  const { authority = resolver.authority } = options;
  const { overrides } = resolver;
  const fallback = p2c();
  const balancingOf = (config: ServiceConfig | undefined): Balancing => {
    const found = config && findPolicy(config.loadBalancing);
    const outliers = options.ejection === undefined ? found?.config.outlierDetection : undefined;
    const chosen = own ?? found?.balancer ?? fallback;
    const policy = settings.zone?.prefer(chosen) ?? chosen;
    return {
      balancer: resolver.route?.(policy) ?? policy,
      ejection: outliers === undefined ? settings.ejection : resolveEjection(outliers, "outlier_detection"),
      healthService: policy.policy === "pick_first" ? undefined : config?.healthCheckService,
    };
  };
  let serviceConfig = given;
  let logged = 0;
  const events: TraceEvent[] = [];
  const connect = shared?.connect ?? createEndpointConnector({ ...options, authority });
  const target = new TargetDriver(resolver, connect, {
    ...settings,
    ...balancingOf(given),
    idleTimeoutMs: options.idleTimeoutMs ?? DEFAULT_TIMES.idleTimeoutMs,
    watches: options.watches,
    name: shared?.name ?? authority ?? "the service",
    emptyReason: resolver.emptyReason,
    source: resolver.source,
    onEvent(event) {
      logged++;
      events.push({ time: wallClock(), ...describe(event) });
      if (events.length > MAX_TRACE_EVENTS) events.shift();
      return onEndpoint?.(event);
    },
    onServiceConfig(config) {
      const parsed = config === undefined ? given : parseServiceConfig(config);
      target.balanceBy(balancingOf(parsed));
      serviceConfig = parsed;
    },
  });
  return {
    exchange: balance(target, options),
    state: () => ({ ...target.state(), trace: { logged, events } }),
    endpoints: () => target.endpoints(),
    serviceConfig: () => serviceConfig,
    overridesOf: ({ method, context }) => {
      // The config of the options has time limits that include the first resolution.
      if (target.isResolved || (given !== undefined && overrides === undefined)) return overrides?.(method);
      return target.resolved(context).then(() => overrides?.(method));
    },
    close: () => target.close(),
    destroy: (reason: RpcError) => target.destroy(reason),
  };
}

/** Describes an event of a target for its trace, such as `endpoint 10.0.0.7:50051 ready`. */
function describe(event: TargetEvent): Pick<TraceEvent, "text" | "isProblem"> {
  const parts = Object.values(event).map((part) => (part instanceof RpcError ? part.message : String(part)));
  return { text: parts.join(" "), isProblem: "error" in event || "problem" in event };
}
