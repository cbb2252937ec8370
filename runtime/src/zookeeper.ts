/** Entry point `triple-es/zookeeper`: the registry in ZooKeeper, as Dubbo uses it. */
export type { Registry } from "./discovery/registry.ts";
export type { DubboOptions } from "./registry/tree.ts";
export { type ZooKeeperOptions, zookeeper } from "./registry/zookeeper/registry.ts";
