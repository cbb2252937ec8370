/** Entry point `triple-es/opentelemetry`: traces and metrics by OpenTelemetry's conventions for RPC. Needs `@opentelemetry/api`. */
export {
  type ClientTelemetryOptions,
  createClientTelemetry,
  createServerTelemetry,
  type TelemetryOptions,
} from "./observe/telemetry.ts";
