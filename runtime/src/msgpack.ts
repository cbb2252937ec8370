/**
 * Entry point `triple-es/msgpack`: the serialization MessagePack of interface methods. Requires the package
 * `@msgpack/msgpack`.
 */
export { msgpack } from "./java/msgpack/serialization.ts";
