/**
 * Entry point `triple-es/opentelemetry`: traces and metrics by OpenTelemetry's semantic conventions for RPC, and
 * metrics of discovery by those of gRPC. Requires the package `@opentelemetry/api`.
 *
 * @module triple-es/opentelemetry
 */
export {
  createDiscoveryTelemetry,
  type DiscoveryTelemetry,
} from "./observe/discovery-telemetry.ts";
export {
  type ClientTelemetryOptions,
  createClientTelemetry,
  createServerTelemetry,
  type TelemetryOptions,
} from "./observe/telemetry.ts";
