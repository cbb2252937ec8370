/**
 * Entry point `triple-es-dubbo/nacos`: the registry in Nacos, as Dubbo uses it.
 *
 * @module triple-es-dubbo/nacos
 */
export type { RegistryOptions } from "./registry/dubbo/resolver.ts";
export type { Levels } from "./registry/dubbo/source.ts";
export { type NacosOptions, nacos } from "./registry/nacos/registry.ts";
