/**
 * Entry point `triple-es/reflection`: gRPC's server reflection protocol, v1 and v1alpha, and channelz.
 *
 * @module triple-es/reflection
 */
export { addChannelz } from "./services/channelz.ts";
export { addReflection, type ReflectionOptions } from "./services/reflection.ts";
