/**
 * Attempts of one call (gRFC A6): the metadata that counts and delays them, and the mark of calls that must not be attempted
 * again because their response had begun.
 */
import type { RpcError } from "./error.ts";

/**
 * Number of attempts before this one; absent on the first. Servers read it; clients find it in the response headers.
 */
export const PREVIOUS_ATTEMPTS = "grpc-previous-rpc-attempts";

/** A server's answer to a failed attempt: milliseconds to wait before the next one, or a negative number for none. */
export const RETRY_PUSHBACK = "grpc-retry-pushback-ms";

const committed = new WeakSet<RpcError>();

/** Marks the error of a call whose response headers had arrived: the call is committed to this attempt. */
export function markCommitted(error: RpcError): RpcError {
  committed.add(error);
  return error;
}

/**
 * Reports whether response headers had arrived before the call failed with this error. A trailers-only gRPC response
 * has none.
 */
export function isCommitted(error: RpcError): boolean {
  return committed.has(error);
}
