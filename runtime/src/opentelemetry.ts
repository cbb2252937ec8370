/**
 * Entry point `triple-es/opentelemetry`: traces and metrics by OpenTelemetry's semantic conventions for RPC. Requires the
 * package `@opentelemetry/api`.
 */
export {
  type ClientTelemetryOptions,
  createClientTelemetry,
  createServerTelemetry,
  type TelemetryOptions,
} from "./observe/telemetry.ts";
