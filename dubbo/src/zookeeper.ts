/**
 * Entry point `triple-es-dubbo/zookeeper`: the registry in ZooKeeper, as Dubbo uses it.
 *
 * @module triple-es-dubbo/zookeeper
 */
export type { RegistryOptions } from "./registry/dubbo/resolver.ts";
export type { Levels } from "./registry/dubbo/source.ts";
export type { TreeOptions } from "./registry/tree.ts";
export { type ZooKeeperOptions, zookeeper } from "./registry/zookeeper/registry.ts";
