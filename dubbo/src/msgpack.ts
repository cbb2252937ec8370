/**
 * Entry point `triple-es-dubbo/msgpack`: the serialization MessagePack of interface methods. Requires the package
 * `@msgpack/msgpack`.
 *
 * @module triple-es-dubbo/msgpack
 */
export { msgpack } from "./interface/msgpack/serialization.ts";
