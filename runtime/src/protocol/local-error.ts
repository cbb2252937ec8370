/**
 * Errors that a client creates itself, in either sub-protocol, and the protocol error codes that only clients use (spec:
 * Errors, sub-protocol A).
 */
import { Code, Status } from "../call/code.ts";
import { RpcError } from "../call/error.ts";

/** Statuses that depend only on the code. The status for any other code depends on when the call failed. */
const STATUS_OF_CODE: Readonly<Partial<Record<Code, Status>>> = {
  [Code.DeadlineExceeded]: Status.ClientTimeout,
  [Code.Unavailable]: Status.ChannelInactive,
  [Code.ResourceExhausted]: Status.BadResponse,
};

/**
 * Sets the status of an error that occurred on this side: 30 for a deadline, 35 for a connection, 50 for a response that is
 * malformed or too large, and `otherwise` for all other errors (default: 90). Callers pass 50 after the response has begun.
 */
export function localError(reason: unknown, otherwise: Status = Status.ClientError): RpcError {
  const error = RpcError.from(reason, Code.Internal);
  const status = error.status === Status.BadResponse ? error.status : (STATUS_OF_CODE[error.code] ?? otherwise);
  // An error with a method comes from another call, made by an interceptor or a stream of requests. It keeps its status.
  if (!error.method) Reflect.set(error, "status", status);
  return error;
}

/** Creates the error for a malformed response. */
export function badResponse(message: string, cause?: unknown): RpcError {
  return new RpcError(Code.Internal, message, { status: Status.BadResponse, cause });
}
