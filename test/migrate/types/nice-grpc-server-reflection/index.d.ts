import type { CompatServiceDefinition, ServiceImplementation } from "nice-grpc";
export declare const ServerReflectionService: CompatServiceDefinition;
export declare function ServerReflection(
  protoset: Uint8Array,
  serviceNames: readonly string[],
): ServiceImplementation<typeof ServerReflectionService>;
