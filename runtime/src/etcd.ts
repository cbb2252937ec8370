/** Entry point `triple-es/etcd`: the registry in etcd, as Dubbo uses it. */
export type { Registry } from "./discovery/registry.ts";
export { type EtcdOptions, etcd } from "./registry/etcd/registry.ts";
export type { DubboOptions } from "./registry/tree.ts";
