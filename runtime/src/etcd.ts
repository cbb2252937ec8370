/**
 * Entry point `triple-es/etcd`: the registry in etcd, as Dubbo uses it.
 *
 * @module triple-es/etcd
 */
export type { Endpoint, Resolver, ResolverContext } from "./discovery/endpoint.ts";
export type * from "./discovery/registry.ts";
export type { ClientTlsOptions } from "./node/client/connector.ts";
export type { ConsumerOptions, Levels } from "./registry/dubbo/resolver.ts";
export { type EtcdOptions, etcd } from "./registry/etcd/registry.ts";
export type { DubboOptions } from "./registry/tree.ts";
