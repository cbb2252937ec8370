/**
 * Entry point `triple-es/health`: gRPC's health checking protocol, `grpc.health.v1.Health`, and load reports of servers (ORCA).
 *
 * @module triple-es/health
 */
export {
  addHealth,
  createHealthClient,
  type Health,
  type HealthClient,
  type HealthOptions,
  type HealthStatus,
  ServingStatus,
} from "./services/health.ts";
export { addLoadReports, type LoadReport } from "./services/load-reports.ts";
