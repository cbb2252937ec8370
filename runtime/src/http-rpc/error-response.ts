/**
 * Error responses of a server of sub-protocol A: the tables of the specification, and the error body.
 */

import { encodeBase64 } from "../call/base64.ts";
import { Code, codeName, Status } from "../call/code.ts";
import { type ErrorDetail, RpcError } from "../call/error.ts";
import { encodeJson } from "../codec/codec.ts";
import { clipText } from "../protocol/error.ts";
import { CODE_OF_STATUS, codeOfHttpStatus } from "./status.ts";

/** The HTTP status for each protocol error code (spec: Errors, sub-protocol A, protocol error codes). */
const HTTP_STATUS_OF_STATUS: Readonly<Record<Status, number>> = {
  [Status.Ok]: 200,
  [Status.SerializationError]: 400,
  [Status.ClientTimeout]: 408,
  [Status.ServerTimeout]: 408,
  [Status.ChannelInactive]: 500,
  [Status.BadRequest]: 400,
  [Status.BadResponse]: 500,
  [Status.ServiceNotFound]: 404,
  [Status.ServiceError]: 500,
  [Status.ServerError]: 500,
  [Status.ClientError]: 500,
};

/** The HTTP status for each code of a handler's error. A message over the limit is 413 (see {@link httpStatusOf}). */
const HTTP_STATUS_OF_CODE: Readonly<Record<Code, number>> = {
  [Code.Canceled]: 499,
  [Code.Unknown]: 500,
  [Code.InvalidArgument]: 400,
  [Code.DeadlineExceeded]: 408,
  [Code.NotFound]: 404,
  [Code.AlreadyExists]: 409,
  [Code.PermissionDenied]: 403,
  [Code.ResourceExhausted]: 429,
  [Code.FailedPrecondition]: 412,
  [Code.Aborted]: 409,
  [Code.OutOfRange]: 400,
  [Code.Unimplemented]: 404,
  [Code.Internal]: 500,
  [Code.Unavailable]: 503,
  [Code.DataLoss]: 500,
  [Code.Unauthenticated]: 401,
};

/** An error with a specific HTTP status, for refusals that HTTP defines a status for. */
export class Refusal extends RpcError {
  readonly httpStatus: number;
  constructor(httpStatus: number, code: Code, message: string, headers: Record<string, string> = {}) {
    super(code, message, { status: Status.BadRequest, headers });
    this.httpStatus = httpStatus;
  }
}

/** Returns the HTTP status of an error's response. */
export function httpStatusOf(error: RpcError): number {
  if ("httpStatus" in error) return (error as Refusal).httpStatus;
  const { status = Status.ServiceError, code } = error;
  if (status === Status.ServiceError) return HTTP_STATUS_OF_CODE[code];
  if (code === Code.ResourceExhausted) return 413;
  return HTTP_STATUS_OF_STATUS[status];
}

/**
 * Encodes the body of an error: `{status, message}`, as in the specification. `code` is added if a client cannot infer
 * it from the status and the HTTP status, or if `withCode` is true, and `details` if there are any.
 */
export function encodeErrorBody(error: RpcError, withCode: boolean): Uint8Array {
  const { code, details, status = Status.ServiceError } = error;
  const message = clipText(error.rawMessage);
  const inferred = CODE_OF_STATUS[status] ?? codeOfHttpStatus(httpStatusOf(error));
  return encodeJson({
    status,
    message,
    ...(inferred === code && !withCode ? {} : { code: codeName(code) }),
    ...(details.length === 0 ? {} : { details: details.map(detailToJson) }),
  });
}

function detailToJson({ typeUrl, value }: ErrorDetail): { type: string; value: string } {
  return { type: typeUrl.slice(typeUrl.lastIndexOf("/") + 1), value: encodeBase64(value) };
}
