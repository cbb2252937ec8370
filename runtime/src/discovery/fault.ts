/**
 * Which responses are faults of their endpoint.
 */
import { Code, codeFromNumber } from "../call/code.ts";
import { RpcError } from "../call/error.ts";
import type { Metadata } from "../call/metadata.ts";
import type { HttpResponse, ResponseEnd } from "../http/exchange.ts";

/**
 * The codes that count as failures of the endpoint in outlier detection. gRFC A50 counts every code, also those that tell the
 * caller of a mistake (`invalid_argument`, `not_found` and others) or of a conflict, which every endpoint would answer with. Envoy
 * counts those that its mapping to HTTP statuses turns into 5xx: all of these but `resource_exhausted`, which it maps to 429. That
 * one is here because an endpoint that refuses calls at once has the fewest active streams, so that the power of two choices
 * prefers it. `unimplemented` is the answer of another service that has got the address.
 */
const FAULTS: ReadonlySet<Code> = new Set([
  Code.Unknown,
  Code.DeadlineExceeded,
  Code.ResourceExhausted,
  Code.Unimplemented,
  Code.Internal,
  Code.Unavailable,
  Code.DataLoss,
]);

/** The codes of HTTP statuses that are faults, of responses without `grpc-status`. */
const FAULT_OF_HTTP_STATUS: Readonly<Record<number, Code>> = {
  408: Code.DeadlineExceeded,
  429: Code.ResourceExhausted,
  500: Code.Internal,
  501: Code.Unimplemented,
  502: Code.Unavailable,
  503: Code.Unavailable,
  504: Code.Unavailable,
};

/** The content types of gRPC, and that of streams over HTTP RPC. */
const GRPC = "application/grpc";
const EVENTS = "text/event-stream";

/** Returns the code of a response that is a fault of its endpoint. `undefined` for other responses, and for success. */
export function faultOf(
  sent: Metadata,
  { status, headers, trailers }: HttpResponse,
  end: ResponseEnd,
): Code | undefined {
  if (end instanceof RpcError) return end.code;
  const grpcStatus = headers.get("grpc-status") ?? trailers.get("grpc-status");
  if (grpcStatus !== undefined) return asFault(codeFromNumber(Number(grpcStatus)));
  const byStatus = FAULT_OF_HTTP_STATUS[status];
  if (byStatus !== undefined || !hasType(sent, GRPC)) return byStatus;
  // An answer that is not gRPC, such as that of a web server that has got the address, or one without a status.
  return status !== 200 || !hasType(headers, GRPC) || end === "complete" ? Code.Unknown : undefined;
}

/** Returns the code of a call if it is a fault of its endpoint. */
export const asFault = (code: Code | undefined): Code | undefined =>
  code !== undefined && FAULTS.has(code) ? code : undefined;

/** Reports whether the code is in the body, which the caller reads: `unimplemented` or `not_found`, or that of the last event. */
export function hasCodeInBody(sent: Metadata, { status, headers }: HttpResponse, end: ResponseEnd): boolean {
  const isInBody = status === 404 || (hasType(headers, EVENTS) && !(end instanceof RpcError));
  return isInBody && !hasType(sent, GRPC);
}

function hasType(headers: Metadata, type: string): boolean {
  return headers.get("content-type")?.startsWith(type) ?? false;
}
