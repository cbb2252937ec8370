/** Entry point `triple-es/nacos`: the registry in Nacos, as Dubbo uses it. */
export type { Registry } from "./discovery/registry.ts";
export { type NacosOptions, nacos } from "./registry/nacos/registry.ts";
