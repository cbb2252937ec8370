/**
 * Entry point `triple-es-nest`: the handlers of NestJS microservices on a server of `triple-es`.
 *
 * @module triple-es-nest
 */
export { TripleServer, type TripleServerOptions } from "./server.ts";
