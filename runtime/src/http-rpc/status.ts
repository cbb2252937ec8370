/**
 * How sub-protocol A says how a call failed: the tables of the specification, and the error body in both directions.
 */
import { base64Decode, base64Encode } from "@bufbuild/protobuf/wire";
import { Code, codeFromName, codeFromNumber, codeName, Status } from "../code.ts";
import { decodeJson, encodeJson } from "../codec.ts";
import { type ErrorDetail, RpcError } from "../error.ts";
import type { Metadata } from "../metadata.ts";

/** Spec: Errors, sub-protocol A, protocol error codes. */
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

/** The code behind a status. Those left out say too little: their HTTP status decides. */
const CODE_OF_STATUS: Readonly<Partial<Record<number, Code>>> = {
  [Status.SerializationError]: Code.InvalidArgument,
  [Status.ClientTimeout]: Code.DeadlineExceeded,
  [Status.ServerTimeout]: Code.DeadlineExceeded,
  [Status.ChannelInactive]: Code.Unavailable,
  [Status.BadResponse]: Code.Internal,
  [Status.ServiceNotFound]: Code.Unimplemented,
  [Status.ServerError]: Code.Internal,
  [Status.ClientError]: Code.Internal,
  // Dubbo's "thread pool exhausted", which the specification left out.
  100: Code.ResourceExhausted,
};

/** The HTTP status of an error that a handler threw. A message over the limit is 413 (see {@link httpStatusOf}). */
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

/** Spec: Client-side inference of an RPC code from an HTTP status. It is not the inverse of any table above. */
const CODE_OF_HTTP_STATUS: Readonly<Partial<Record<number, Code>>> = {
  400: Code.InvalidArgument,
  401: Code.Unauthenticated,
  403: Code.PermissionDenied,
  404: Code.Unimplemented,
  408: Code.DeadlineExceeded,
  409: Code.Aborted,
  412: Code.FailedPrecondition,
  413: Code.ResourceExhausted,
  415: Code.Internal,
  429: Code.Unavailable,
  431: Code.ResourceExhausted,
  502: Code.Unavailable,
  503: Code.Unavailable,
  504: Code.Unavailable,
};

/** The code that a client infers from an HTTP status alone. */
export function codeOfHttpStatus(httpStatus: number): Code {
  return CODE_OF_HTTP_STATUS[httpStatus] ?? Code.Unknown;
}

/** An error with the HTTP status it is answered with, for refusals that HTTP has a status of its own for. */
export class Refusal extends RpcError {
  readonly httpStatus: number;
  constructor(httpStatus: number, code: Code, message: string, headers: Record<string, string> = {}) {
    super(code, message, { status: Status.BadRequest, headers });
    this.httpStatus = httpStatus;
  }
}

/** The HTTP status that an error is answered with. */
export function httpStatusOf(error: RpcError): number {
  if ("httpStatus" in error) return (error as Refusal).httpStatus;
  const { status = Status.ServiceError, code } = error;
  if (status === Status.ServiceError) return HTTP_STATUS_OF_CODE[code];
  if (code === Code.ResourceExhausted) return 413;
  return HTTP_STATUS_OF_STATUS[status];
}

/**
 * The body of an error: `{status, message}` as the specification has it. `code` is added where a client could not tell
 * the code from the status and the HTTP status, and `details` where there are any.
 */
export function encodeErrorBody(error: RpcError): Uint8Array {
  const { code, details, rawMessage: message, status = Status.ServiceError } = error;
  const told = CODE_OF_STATUS[status] ?? codeOfHttpStatus(httpStatusOf(error));
  return encodeJson({
    status,
    message,
    ...(told === code ? {} : { code: codeName(code) }),
    ...(details.length === 0 ? {} : { details: details.map(detailToJson) }),
  });
}

/** What the body of an error may say, in any of the dialects there are. */
interface ErrorBody {
  readonly status?: unknown;
  readonly code?: unknown;
  readonly message?: unknown;
  readonly details?: unknown;
}

/** Makes the error of a response that is not a success. Whatever the body is, there is an error to show for it. */
export function readErrorResponse(
  httpStatus: number,
  bytes: Uint8Array | undefined,
  metadata: { readonly headers: Metadata; readonly metadata: Metadata },
): RpcError {
  const body = parseErrorBody(bytes);
  const { status, known } = readStatus(body.status);
  const code = readCode(body.code) ?? known ?? codeOfHttpStatus(httpStatus);
  const message =
    typeof body.message === "string" ? body.message : `the server answered with HTTP status ${httpStatus}`;
  return new RpcError(code, message, { ...metadata, status, details: readDetails(body.details) });
}

function parseErrorBody(bytes: Uint8Array | undefined): ErrorBody {
  if (bytes === undefined || bytes.byteLength === 0) return {};
  try {
    const value = decodeJson(bytes);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
  } catch {
    return {};
  }
}

/**
 * `status` by its range: 20 to 90 is the specification's, 1 to 16 a code of gRPC. Text, and numbers from 400 on, are
 * HTTP statuses, which say nothing that the response's own does not.
 */
function readStatus(status: unknown): { status?: Status; known?: Code | undefined } {
  if (typeof status !== "number") return {};
  if (status in HTTP_STATUS_OF_STATUS) return { status: status as Status, known: CODE_OF_STATUS[status] };
  return { known: CODE_OF_STATUS[status] ?? codeFromNumber(status) };
}

/** `code` by its name; numbers that no name exists for are written `code_17`. */
function readCode(code: unknown): Code | undefined {
  if (typeof code !== "string") return undefined;
  return codeFromName(code) ?? (/^code_[0-9]+$/.test(code) ? Code.Unknown : undefined);
}

function detailToJson({ typeUrl, value }: ErrorDetail): { type: string; value: string } {
  return { type: typeUrl.slice(typeUrl.lastIndexOf("/") + 1), value: base64Encode(value, "std_raw") };
}

/** Details that cannot be read are left out: they must not hide the error. */
function readDetails(details: unknown): ErrorDetail[] {
  if (!Array.isArray(details)) return [];
  return details.flatMap((detail: unknown) => {
    const { type, value } = (detail ?? {}) as { type?: unknown; value?: unknown };
    if (typeof type !== "string" || typeof value !== "string") return [];
    try {
      return [{ typeUrl: `type.googleapis.com/${type}`, value: base64Decode(value) }];
    } catch {
      return [];
    }
  });
}
