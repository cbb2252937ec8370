/**
 * Entry point `triple-es/nacos`: the registry in Nacos, as Dubbo uses it.
 *
 * @module triple-es/nacos
 */
export type { Endpoint, Resolver, ResolverContext } from "./discovery/endpoint.ts";
export type * from "./discovery/registry.ts";
export type { ClientTlsOptions } from "./node/client/connector.ts";
export type { ConsumerOptions, Levels } from "./registry/dubbo/resolver.ts";
export { type NacosOptions, nacos } from "./registry/nacos/registry.ts";
