/**
 * Error responses of a server of sub-protocol A: the tables of the specification, and the error body.
 */
import { fromBinary, type JsonObject, type JsonValue, type Registry, toJson } from "@bufbuild/protobuf";
import { encodeBase64 } from "../call/base64.ts";
import { Code, Status } from "../call/code.ts";
import { type ErrorDetail, RpcError } from "../call/error.ts";
import { encodeJson } from "../codec/codec.ts";
import { errorBody, MAX_ERROR_BYTES, quote } from "../protocol/error.ts";

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

/** Creates the refusal of a content type, a charset or a coding that is not supported. `headers` name the supported ones. */
export function unsupportedType(message: string, headers?: Record<string, string>): Refusal {
  return new Refusal(415, Code.Unimplemented, message, headers);
}

/** Creates the refusal of a request whose `accept` allows no response. */
export function notAcceptable(accept: string, supported: string): Refusal {
  const problem = `nothing that ${quote(`accept: ${accept}`)} names is supported; ${supported}`;
  return new Refusal(406, Code.InvalidArgument, problem);
}

/** Creates the error for a body that is malformed. */
export function serializationError(message: string, cause: unknown): RpcError {
  return new RpcError(Code.InvalidArgument, message, { status: Status.SerializationError, cause });
}

/** Returns the HTTP status of an error's response. */
export function httpStatusOf(error: RpcError): number {
  if ("httpStatus" in error) return (error as Refusal).httpStatus;
  const { status = Status.ServiceError, code } = error;
  if (status === Status.ServiceError) return HTTP_STATUS_OF_CODE[code] ?? 500;
  if (code === Code.ResourceExhausted) return 413;
  return HTTP_STATUS_OF_STATUS[status] ?? 500;
}

/**
 * Encodes the body of an error. A detail whose type is in the registry has the member `debug`, its JSON. Without JSON for one of the
 * details, or if clients would not read so many bytes, all are omitted: the caller still receives the code and message.
 */
export function encodeErrorBody(error: RpcError, registry: Registry | undefined): Uint8Array {
  const { code, details, status = Status.ServiceError } = error;
  const body = errorBody(status, error.rawMessage, code);
  if (details.length === 0) return encodeJson(body);
  try {
    const whole = encodeJson({ ...body, details: details.map((detail) => detailToJson(detail, registry)) });
    if (whole.length <= MAX_ERROR_BYTES) return whole;
  } catch {}
  return encodeJson(body);
}

/** Converts a detail of an error to JSON with the members of Connect. */
function detailToJson(detail: ErrorDetail, registry: Registry | undefined): JsonObject {
  const { typeUrl, value } = detail;
  const type = typeUrl.slice(typeUrl.lastIndexOf("/") + 1);
  const debug = (detail.debug as JsonValue | undefined) ?? readable(type, value, registry);
  return { type, value: encodeBase64(value), ...(debug === undefined ? {} : { debug }) };
}

/** Returns a detail as JSON; `undefined` if its type is unknown or its bytes are invalid. */
function readable(type: string, value: Uint8Array, registry: Registry | undefined): JsonValue | undefined {
  const schema = registry?.getMessage(type);
  if (schema === undefined) return undefined;
  try {
    return toJson(schema, fromBinary(schema, value), { registry: registry as Registry });
  } catch {
    return undefined;
  }
}
