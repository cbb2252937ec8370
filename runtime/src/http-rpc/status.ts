/**
 * Error responses of sub-protocol A on the client: the tables of the specification, and the error body.
 */
import { decodeBase64 } from "../call/base64.ts";
import { Code, codeFromName, codeFromNumber, Status } from "../call/code.ts";
import { type ErrorDetail, RpcError } from "../call/error.ts";
import type { Metadata } from "../call/metadata.ts";
import { parseJson } from "../codec/codec.ts";

const STATUSES: ReadonlySet<number> = new Set(Object.values(Status));

/** The code for each status. Statuses that are not listed are ambiguous, so the HTTP status determines the code. */
const CODE_OF_STATUS: Readonly<Partial<Record<number, Code>>> = {
  [Status.SerializationError]: Code.InvalidArgument,
  [Status.ClientTimeout]: Code.DeadlineExceeded,
  [Status.ServerTimeout]: Code.DeadlineExceeded,
  [Status.ChannelInactive]: Code.Unavailable,
  [Status.BadResponse]: Code.Internal,
  [Status.ServiceNotFound]: Code.Unimplemented,
  [Status.ServerError]: Code.Internal,
  [Status.ClientError]: Code.Internal,
  // "Thread pool exhausted" in Dubbo; the specification does not list it.
  100: Code.ResourceExhausted,
};

/** The code for each HTTP status (spec: Client-side inference of an RPC code …), which is the inverse of no other table. */
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

/** The members of an error body, in the variants of all known servers. */
interface ReceivedErrorBody {
  readonly status?: unknown;
  readonly code?: unknown;
  readonly message?: unknown;
  readonly details?: unknown;
}

/** Creates the error of a failed response. Any body, even a malformed one, results in an error. */
export function readErrorResponse(
  path: string,
  httpStatus: number,
  bytes: Uint8Array,
  { headers, trailers }: { readonly headers: Metadata; readonly trailers: Metadata },
): RpcError {
  const body = parseErrorBody(bytes);
  const { status, known } = readStatus(body.status);
  const code = readCode(body.code) ?? known ?? CODE_OF_HTTP_STATUS[httpStatus] ?? Code.Unknown;
  const message = typeof body.message === "string" ? body.message : `${path} answered with HTTP status ${httpStatus}`;
  return new RpcError(code, message, { headers, trailers, status, details: readDetails(body.details) });
}

/** Parses an error body. A malformed body has no members. */
function parseErrorBody(bytes: Uint8Array): ReceivedErrorBody {
  try {
    return (parseJson(bytes) ?? {}) as ReceivedErrorBody;
  } catch {
    return {};
  }
}

/** Reads `status`: 20 to 90 is one of the specification, 1 to 16 a gRPC code; others repeat the HTTP status. */
function readStatus(status: unknown): { status?: Status; known?: Code | undefined } {
  if (typeof status !== "number") return {};
  if (STATUSES.has(status)) return { status: status as Status, known: CODE_OF_STATUS[status] };
  return { known: CODE_OF_STATUS[status] ?? codeFromNumber(status) };
}

/** Reads `code` by its name. Other implementations write `code_17` for the unassigned number 17. */
function readCode(code: unknown): Code | undefined {
  if (typeof code !== "string") return undefined;
  return codeFromName(code) ?? (/^code_[0-9]+$/.test(code) ? Code.Unknown : undefined);
}

/** Reads details. Invalid ones are omitted, so that the code and message remain. */
function readDetails(details: unknown): ErrorDetail[] {
  if (!Array.isArray(details)) return [];
  return details.flatMap((detail: unknown) => {
    const { type, value, debug } = (detail ?? {}) as { type?: unknown; value?: unknown; debug?: unknown };
    if (typeof type !== "string" || typeof value !== "string") return [];
    try {
      return [{ typeUrl: `type.googleapis.com/${type}`, value: decodeBase64(value), debug }];
    } catch {
      return [];
    }
  });
}
