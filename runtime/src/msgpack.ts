/**
 * Entry point `triple-es/msgpack`: the serialization MessagePack of interface methods. Requires the package
 * `@msgpack/msgpack`.
 *
 * @module triple-es/msgpack
 */
export { msgpack } from "./java/msgpack/serialization.ts";
