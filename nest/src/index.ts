/**
 * Entry point `triple-es-nest`: the handlers of NestJS microservices on a server of `triple-es`.
 *
 * @module triple-es-nest
 */
export type { GrpcCall } from "./call.ts";
export type { ProtoOptions } from "./loaded-services.ts";
export { GrpcMetadata, type MetadataSource, type MetadataValue } from "./metadata.ts";
export { TripleServer, type TripleServerOptions } from "./server.ts";
