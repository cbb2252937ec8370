/**
 * Limits of the header blocks of requests and responses, on clients and servers (spec: Limits; RFC 9113, section 10.5.1).
 * A block that exceeds a limit is refused, not truncated.
 */
import { Code, Status } from "../call/code.ts";
import { RpcError } from "../call/error.ts";
import type { Metadata } from "../call/metadata.ts";
import { assertMembers, resolveLimitGroup } from "../call/option.ts";
import { cancelBody } from "../http/body.ts";
import type { Exchange, HttpResponse } from "../http/exchange.ts";

/** Limits of one block of headers or trailers. */
export interface FieldLimits {
  /** Number of header fields. */
  readonly fields: number;
  /** Bytes of all names and values plus 32 for each field, as HTTP/2 counts them (RFC 9113, section 6.5.2). */
  readonly bytes: number;
}

/** Limits of the headers of requests and of responses. */
export interface HeaderLimits {
  readonly request: FieldLimits;
  readonly response: FieldLimits;
}

/** The option `headerLimits`. An omitted limit has its default. */
export interface HeaderLimitsInit {
  /**
   * Limits of the headers of requests: their number, and the bytes of all names and values plus 32 for each field. Default: 100
   * fields and 16 KiB.
   */
  readonly request?: { readonly fields?: number | undefined; readonly bytes?: number | undefined } | undefined;
  /**
   * Limits of the headers and trailers of responses. Default: 100 fields and 16 KiB on a server, 2,000 fields and 64
   * KiB on a client.
   */
  readonly response?: { readonly fields?: number | undefined; readonly bytes?: number | undefined } | undefined;
}

/** Maxima of the limits. Engines refuse larger blocks. */
export const MAX_FIELD_LIMITS: FieldLimits = { fields: 2_000, bytes: 64 * 1024 };
/** Default limits of requests, and of the metadata that a server sends. */
export const DEFAULT_FIELD_LIMITS: FieldLimits = { fields: 100, bytes: 16 * 1024 };

/** Fills in the defaults: 100 fields and 16 KiB for requests, and for responses `response`, which differs for clients. */
export function resolveHeaderLimits(response: FieldLimits, given: HeaderLimitsInit = {}): HeaderLimits {
  assertMembers("headerLimits", given, ["request", "response"]);
  return {
    request: resolveLimitGroup("headerLimits.request", DEFAULT_FIELD_LIMITS, given.request, MAX_FIELD_LIMITS),
    response: resolveLimitGroup("headerLimits.response", response, given.response, MAX_FIELD_LIMITS),
  };
}

/** Returns a description of the limit that the headers exceed; `undefined` if they exceed none. */
export function checkHeadersSize({ raw, size }: Metadata, { fields, bytes }: FieldLimits): string | undefined {
  if (size > fields) return `${size} header fields are more than the limit of ${fields}`;
  return headerListSize(raw) > bytes ? `the headers are larger than the limit of ${bytes} bytes` : undefined;
}

/** Returns the size of header fields as HTTP/2 counts it: the bytes of names and values, plus 32 for each field. */
export function headerListSize(raw: readonly string[]): number {
  let bytes = raw.length * 16;
  for (const text of raw) bytes += text.length;
  return bytes;
}

/** Creates an exchange that refuses headers beyond the limits. Frozen ones, the protocol's own, are not checked. */
export function limitHeaders(exchange: Exchange, { request: sent, response: received }: HeaderLimits): Exchange {
  const isBounded = received.fields < MAX_FIELD_LIMITS.fields || received.bytes < MAX_FIELD_LIMITS.bytes;
  return (request) => {
    const { headers } = request;
    const problem = headers.frozen ? undefined : checkHeadersSize(headers, sent);
    if (problem !== undefined) {
      const error = new RpcError(Code.InvalidArgument, `metadata cannot be sent: ${problem} (option headerLimits)`);
      return Promise.reject(error);
    }
    const response = exchange(request);
    return isBounded ? response.then((one) => boundResponse(one, received)) : response;
  };
}

/** Checks headers at once and trailers when they are read. Engines enforce only the maxima. */
function boundResponse(response: HttpResponse, limits: FieldLimits): HttpResponse {
  const { status, headers, body } = response;
  try {
    requireWithin(headers, limits, "headers");
  } catch (reason) {
    cancelBody(body);
    throw reason;
  }
  return {
    status,
    headers,
    body,
    get trailers() {
      return requireWithin(response.trailers, limits, "trailers");
    },
  };
}

function requireWithin(received: Metadata, limits: FieldLimits, what: string): Metadata {
  const problem = checkHeadersSize(received, limits);
  if (problem === undefined) return received;
  const message = `the ${what} of the response are refused: ${problem} (option headerLimits)`;
  throw new RpcError(Code.ResourceExhausted, message, { status: Status.BadResponse });
}
