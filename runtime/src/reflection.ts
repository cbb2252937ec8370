/**
 * Entry point `triple-es/reflection`: gRPC's server reflection protocol, v1 and v1alpha.
 *
 * @module triple-es/reflection
 */
export { addReflection, type ReflectionOptions } from "./services/reflection.ts";
