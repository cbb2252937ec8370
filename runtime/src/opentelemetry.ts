/**
 * Entry point `triple-es/opentelemetry`: traces and metrics by OpenTelemetry's semantic conventions for RPC, and
 * metrics of discovery by those of gRPC. Requires the
 * package `@opentelemetry/api`.
 *
 * @module triple-es/opentelemetry
 */
export {
  createDiscoveryTelemetry,
  type DiscoveryEvent,
  type DiscoveryTelemetry,
  type DiscoveryTelemetryOptions,
  type ObservedEndpoints,
} from "./observe/discovery-telemetry.ts";
export type { ObservedRetry, ObservedTransparentRetry } from "./observe/retry-telemetry.ts";
export {
  type ClientTelemetryOptions,
  createClientTelemetry,
  createServerTelemetry,
  type TelemetryOptions,
} from "./observe/telemetry.ts";
