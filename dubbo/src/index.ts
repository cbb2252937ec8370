/**
 * Entry point `triple-es-dubbo`: registration of a server's services in registries, and operations of that server. The
 * registries themselves, and interface methods, are entry points of their own.
 *
 * @module triple-es-dubbo
 */
export { addOperations, type OperationsOptions } from "./registry/operations.ts";
export {
  type RegisteredServer,
  type RegisterOptions,
  register,
  type ServerRegistration,
} from "./registry/register.ts";
