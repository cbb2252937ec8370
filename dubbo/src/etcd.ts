/**
 * Entry point `triple-es-dubbo/etcd`: the registry in etcd, as Dubbo uses it.
 *
 * @module triple-es-dubbo/etcd
 */
export type { RegistryOptions } from "./registry/dubbo/resolver.ts";
export type { Levels } from "./registry/dubbo/source.ts";
export { type EtcdOptions, etcd } from "./registry/etcd/registry.ts";
export type { TreeOptions } from "./registry/tree.ts";
