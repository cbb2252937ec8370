/**
 * Entry point `triple-es/discovery`: resolvers, which find the endpoints of a target, and load balancing policies, which
 * choose one for each call. Transports of `triple-es/node` accept them as the options `resolver` and `balancer`.
 *
 * @module triple-es/discovery
 */
export type { Balancer, ReadyEndpoint, RoutedBalancer } from "./discovery/balancer.ts";
export { type Endpoint, fixed, type Resolver, type ResolverContext } from "./discovery/endpoint.ts";
export { consistentHash } from "./discovery/policy/consistent-hash.ts";
export { p2c } from "./discovery/policy/p2c.ts";
export { pickFirst } from "./discovery/policy/pick-first.ts";
export { roundRobin } from "./discovery/policy/round-robin.ts";
export { weightedRoundRobin } from "./discovery/policy/weighted-round-robin.ts";
export type * from "./discovery/registry.ts";
export type { EndpointStatus, TargetEvent } from "./discovery/target-options.ts";
export { type DnsOptions, dns } from "./node/dns.ts";
export type { KubernetesApi } from "./node/kubernetes/api.ts";
export { type KubernetesOptions, kubernetes } from "./node/kubernetes/kubernetes.ts";
