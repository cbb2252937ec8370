/** Errors of Nest as errors of calls. */
import { Code, RpcError } from "triple-es";
import { fieldsOf, type MetadataSource } from "./metadata.ts";

/**
 * Converts what an `RpcException` or a filter has made of an error, in the shape that `@grpc/grpc-js` sends: `code`, `details` or
 * `message`, and `metadata`. An `Error` without a number as its code is returned unchanged, and hidden from the client.
 */
export function toRpcError(reason: unknown): unknown {
  if (typeof reason !== "object" || reason === null || reason instanceof RpcError) return reason;
  const { code, details, message, metadata } = reason as {
    readonly code?: unknown;
    readonly details?: unknown;
    readonly message?: unknown;
    readonly metadata?: MetadataSource;
  };
  const hasCode = Number.isInteger(code);
  if (reason instanceof Error && !hasCode) return reason;
  const text = [details, message].find((one) => typeof one === "string") ?? "Unknown Error";
  const trailers = metadata && fieldsOf(metadata);
  return new RpcError(hasCode ? (code as Code) : Code.Unknown, text as string, { trailers, cause: reason });
}
