/**
 * Entry point `triple-es/health`: gRPC's health checking protocol, `grpc.health.v1.Health`.
 *
 * @module triple-es/health
 */
export type {
  HealthCheckRequest,
  HealthCheckRequestSchema,
  HealthCheckResponse,
  HealthCheckResponseSchema,
  HealthListRequest,
  HealthListRequestSchema,
  HealthListResponse,
  HealthListResponseSchema,
} from "./gen/grpc/health/v1/health_pb.ts";
export type {
  HealthCheckRequestInit,
  HealthCheckResponseInit,
  HealthHandler,
  HealthListRequestInit,
  HealthListResponseInit,
} from "./gen/grpc/health/v1/health_triple.ts";
export {
  addHealth,
  createHealthClient,
  type Health,
  type HealthClient,
  HealthDef,
  type HealthOptions,
  type HealthStatus,
  ServingStatus,
} from "./services/health.ts";
export type { ProbePaths } from "./services/probes.ts";
