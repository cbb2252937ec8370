import type { CompatServiceDefinition, ServiceImplementation } from "nice-grpc";
export declare const HealthDefinition: CompatServiceDefinition;
export declare function HealthServiceImpl(): ServiceImplementation<typeof HealthDefinition>;
