/**
 * Errors of a call that a client makes itself, in either sub-protocol, and the protocol error codes that only a client makes (spec:
 * Errors, sub-protocol A).
 */
import { Code, Status } from "../call/code.ts";
import { RpcError } from "../call/error.ts";

/** The status by the code of what went wrong. What is not here depends on when it did. */
const STATUS_OF_CODE: Readonly<Partial<Record<Code, Status>>> = {
  [Code.DeadlineExceeded]: Status.ClientTimeout,
  [Code.Unavailable]: Status.ChannelInactive,
  [Code.ResourceExhausted]: Status.BadResponse,
};

/**
 * The error of a call that failed on this side, with its status: 30 for a deadline, 35 for a connection, 50 for a response that
 * breaks the format or is too large, and 90 for everything else. `otherwise` is 50 once the response has begun.
 */
export function localError(reason: unknown, otherwise: Status = Status.ClientError): RpcError {
  const error = RpcError.from(reason, Code.Internal);
  const status = error.status === Status.BadResponse ? error.status : (STATUS_OF_CODE[error.code] ?? otherwise);
  // One with a method comes from a call of the user's code, an interceptor or a stream of requests, and has a status of its own.
  if (!error.method) Reflect.set(error, "status", status);
  return error;
}

/** The error of a response that breaks the protocol's format. */
export function badResponse(message: string, cause?: unknown): RpcError {
  return new RpcError(Code.Internal, message, { status: Status.BadResponse, cause });
}
