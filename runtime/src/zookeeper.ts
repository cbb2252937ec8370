/**
 * Entry point `triple-es/zookeeper`: the registry in ZooKeeper, as Dubbo uses it.
 *
 * @module triple-es/zookeeper
 */
export type { Endpoint, Resolver, ResolverContext } from "./discovery/endpoint.ts";
export type * from "./discovery/registry.ts";
export type { ClientTlsOptions } from "./node/client/connector.ts";
export type { ConsumerOptions, Levels } from "./registry/dubbo/resolver.ts";
export type { DubboOptions } from "./registry/tree.ts";
export { type ZooKeeperOptions, zookeeper } from "./registry/zookeeper/registry.ts";
