/** Errors that both sub-protocols report, those that a client creates itself, and length limits of their texts. */
import type { Method } from "../call/call.ts";
import { Code, codeName, Status } from "../call/code.ts";
import { RpcError, reasonOf } from "../call/error.ts";

/** Maximum length of an error text that is sent, in characters. The text is sent in a header. */
const MAX_ERROR_TEXT = 4096;

/** Maximum size of an error body that clients read, in bytes. Of a larger one, only the HTTP status counts. */
export const MAX_ERROR_BYTES: number = 64 * 1024;

/** Truncates a text to a number of characters, so that errors do not echo long input of a peer. */
export function clipText(text: string, length: number = MAX_ERROR_TEXT): string {
  return text.length <= length ? text : `${text.slice(0, length)}…`;
}

/** The body of an error in sub-protocol A. */
type ErrorBody = {
  readonly status: Status;
  readonly message: string;
  readonly code: string;
};

/**
 * Makes the body of an error: `{status, message}`, as in the specification, and `code`, the name of the gRPC code,
 * because the two statuses do not always determine it, and clients of Connect and dubbo-go read nothing else. No known
 * client rejects additional members.
 */
export function errorBody(status: Status, message: string, code: Code): ErrorBody {
  return { status, message: clipText(message), code: codeName(code) };
}

/** Maximum length of a peer's text that an error quotes, in characters. */
const MAX_QUOTED_TEXT = 100;

/** Quotes a peer's text, truncated to a length that suffices to recognize it. */
export function quote(text: string): string {
  return `"${clipText(text, MAX_QUOTED_TEXT)}"`;
}

/** Maximum length of the reason in a decoding error, in characters. Codecs may quote the bytes that they cannot decode. */
const MAX_REASON_TEXT = 300;

/** Returns the reason why a peer's bytes cannot be decoded, truncated because it may quote them. */
export function decodingReason(cause: unknown): string {
  return clipText(reasonOf(cause), MAX_REASON_TEXT);
}

/** Maximum length of a path in an error, in characters. */
const MAX_SHOWN_PATH = 200;

/** Creates the error for a path without a handler. It describes the form of paths but does not list the existing ones. */
export function notFound(path: string): RpcError {
  return new RpcError(
    Code.Unimplemented,
    `no method is served at ${clipText(path, MAX_SHOWN_PATH)}; paths are /package.Service/Method with exactly those capitals, and version and group have to match`,
    { status: Status.ServiceNotFound },
  );
}

/** Creates the error for a response of a server's interceptor that has the wrong kind for the method. */
export function wrongResponseKind({ path, kind }: Method): TypeError {
  return new TypeError(
    `an interceptor of ${path} must return the response of next(request), or one for a ${kind} call`,
  );
}

/** Statuses that depend only on the code. The status for any other code depends on when the call failed. */
const STATUS_OF_CODE: Readonly<Partial<Record<Code, Status>>> = {
  [Code.Canceled]: Status.ClientError,
  [Code.DeadlineExceeded]: Status.ClientTimeout,
  [Code.Unavailable]: Status.ChannelInactive,
  [Code.ResourceExhausted]: Status.BadResponse,
};

/**
 * Sets the status of an error that occurred on this side: 30 for a deadline, 35 for a connection, 90 for a cancellation, 50 for
 * a response that is malformed or too large, and else `otherwise` (default: 90). Callers pass 50 after the response has begun.
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
