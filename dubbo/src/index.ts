/**
 * Entry point `triple-es-dubbo`: registration of a server's services in registries. The registries themselves, and interface
 * methods, are entry points of their own.
 *
 * @module triple-es-dubbo
 */
export { type RegisteredServer, type RegisterOptions, register } from "./registry/register.ts";
