/**
 * Connections to the endpoints of a target that a resolver finds.
 */
import type { RpcError } from "../../call/error.ts";
import { parseServiceConfig, type ServiceConfig } from "../../client/service-config.ts";
import { balance } from "../../discovery/balanced.ts";
import type { Balancer } from "../../discovery/balancer.ts";
import type { EjectionOptions } from "../../discovery/ejection.ts";
import type { Resolver } from "../../discovery/endpoint.ts";
import { findPolicy } from "../../discovery/policy/by-name.ts";
import { p2c } from "../../discovery/policy/p2c.ts";
import { type EndpointStatus, TargetDriver, type TargetEvent } from "../../discovery/target.ts";
import type { Connections, Exchange } from "../../http/exchange.ts";
import { createEndpointConnector, type EndpointOptions } from "./connector.ts";

/** How the endpoints of a target are found, and which of them take calls. */
export interface DiscoveryOptions {
  /** Finds the endpoints, such as `fixed([...])` and `dns(...)` of `triple-es/discovery`. In place of `baseUrl`. */
  readonly resolver: Resolver;
  /**
   * The `:authority` of requests, whose host is the name that a certificate must have and that errors show: `greet.example.com`. With `tls`
   * connections are encrypted. Default: that of the resolver, the name for `dns`, else the address of each endpoint.
   */
  readonly authority?: string | undefined;
  /** Chooses the endpoint of a call. Default: `p2c()`, the less loaded of two drawn by weight. */
  readonly balancer?: Balancer | undefined;
  /** Endpoints of a longer list that are used, at random for each transport. Recommended above 100. Default: all. */
  readonly subset?: number | undefined;
  /** How long an empty list is not believed, in milliseconds: registries publish some when they restart. Default: 10,000. */
  readonly emptyAfterMs?: number | undefined;
  /** How long the share of an endpoint grows that says since when it serves, in milliseconds, as in Dubbo. Default: 10 minutes. */
  readonly warmUpMs?: number | undefined;
  /** How long the share of an endpoint grows after it became ready, in milliseconds. Default: 0, it is whole at once. */
  readonly slowStartMs?: number | undefined;
  /**
   * When an endpoint gets no calls for a while: after `failures` in a row (default 5; 0: never) that are `unavailable` or a deadline without
   * a response, for `ejectionMs` (30,000), each time longer up to `maxEjectionMs` (300,000).
   */
  readonly ejection?: Partial<EjectionOptions> | undefined;
  /** Is told of changes: lists, states of endpoints, failures of the resolver. What it throws is printed. Default: nobody is told. */
  readonly onEndpoint?: ((event: TargetEvent) => void) | undefined;
}

export interface TargetConnector extends Connections {
  readonly exchange: Exchange;
  readonly endpoints: () => readonly EndpointStatus[];
  /** The service config that came with the endpoints, else that of the options. */
  readonly serviceConfig: () => ServiceConfig | undefined;
}

/** Makes exchanges with the endpoints of a target. Throws a `TypeError` for an invalid option. */
export function createTargetConnector(
  options: DiscoveryOptions & EndpointOptions,
  given: ServiceConfig | undefined,
): TargetConnector {
  const { resolver, balancer: own, subset, onEndpoint } = options;
  const { emptyAfterMs = 10_000, idleTimeoutMs = 15 * 60_000, warmUpMs = 10 * 60_000, slowStartMs = 0 } = options;
  if (typeof resolver !== "function") throw new TypeError("resolver must be a function, such as fixed and dns make");
  if (own !== undefined && typeof own !== "function")
    throw new TypeError("balancer must be a function, such as p2c makes");
  if (subset !== undefined && !(Number.isInteger(subset) && subset >= 1)) {
    throw new TypeError(`subset must be an integer of 1 or more, not ${subset}`);
  }
  const { authority = resolver.authority } = options;
  const { failures = 5, ejectionMs = 30_000, maxEjectionMs = 300_000 } = options.ejection ?? {};
  checkAmounts({ emptyAfterMs, warmUpMs, slowStartMs, "ejection.failures": failures });
  checkAmounts({ "ejection.ejectionMs": ejectionMs, "ejection.maxEjectionMs": maxEjectionMs });
  const balancerOf = (config: ServiceConfig | undefined): Balancer =>
    own ?? (config && findPolicy(config.loadBalancing)) ?? fallback;
  const fallback = p2c();
  let serviceConfig = given;
  const target = new TargetDriver(resolver, createEndpointConnector({ ...options, authority }), {
    name: authority ?? "the service",
    balancer: balancerOf(given),
    subset,
    emptyAfterMs,
    idleTimeoutMs,
    warmUpMs,
    slowStartMs,
    ejection: { failures, ejectionMs, maxEjectionMs },
    onEvent: onEndpoint,
    onServiceConfig(config) {
      const parsed = config === undefined ? given : parseServiceConfig(config);
      target.balanceBy(balancerOf(parsed));
      serviceConfig = parsed;
    },
  });
  return {
    exchange: balance(target, options.waitForReady ?? false),
    endpoints: () => target.endpoints(),
    serviceConfig: () => serviceConfig,
    close: () => target.close(),
    destroy: (reason: RpcError) => target.destroy(reason),
  };
}

function checkAmounts(amounts: Readonly<Record<string, number>>): void {
  for (const [name, amount] of Object.entries(amounts)) {
    if (!(typeof amount === "number" && amount >= 0)) throw new TypeError(`${name} must be 0 or more, not ${amount}`);
  }
}
