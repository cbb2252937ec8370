/**
 * The headers of sub-protocol A as typed values (spec: Call addressing fields). No other module reads them by name.
 */
import { Code, Status } from "../call/code.ts";
import { RpcError } from "../call/error.ts";
import { Metadata } from "../call/metadata.ts";
import { compressionOf, encodingList, type Negotiation } from "../codec/compression.ts";
import type { HttpRequest } from "../http/exchange.ts";
import { clipText, quote } from "../protocol/error.ts";
import { checkHeaders, isOriginOfHost, isReservedName, type RequestHeaders } from "../protocol/headers.ts";
import type { OriginPolicy } from "../protocol/options.ts";
import type { ResolvedRouterOptions } from "../server/options.ts";
import { Refusal } from "./error-response.ts";
import { canonicalType } from "./media-type.ts";

/** The value of `tri-protocol-version` that clients send (spec: Versioning, points 1 and 3). */
export const PROTOCOL_VERSION = "1.0.0";

/** The prefix of trailing metadata among the response headers (spec: Success response). */
export const TRAILER_PREFIX = "trailer-";

/**
 * Returns the codec's name in the content type of a response, or `undefined` if it names none or has a charset other
 * than UTF-8. Browser bundles contain this function, so it does not use the full parser of media types.
 */
export function codecNameIn(contentType: string): string | undefined {
  const [name = "", ...parameters] = contentType.toLowerCase().split(";");
  const isOther = (one: string) => /^charset=(?!"?(?:utf-?8|us-ascii)?"?$)/.test(one.replace(/\s+/g, ""));
  if (parameters.some(isOther)) return undefined;
  return /^application\/(\S+)$/.exec(canonicalType(name.trim()))?.[1];
}

/** Reads the headers of a request. Throws for headers that are invalid or unsupported. */
export function readCallHeaders(
  headers: Metadata,
  options: ResolvedRouterOptions,
  negotiate: Negotiation,
): RequestHeaders {
  const problem = checkHeaders(headers, options.headerLimits.request);
  if (problem?.kind === "too large") throw new Refusal(431, Code.ResourceExhausted, problem.message);
  if (problem !== undefined) throw badRequest(problem.message);
  checkVersion(headers.get("tri-protocol-version"), options.requireProtocolVersion);
  const given = headers.get("content-encoding")?.toLowerCase();
  const compression = compressionOf(options.compressions, given, (encoding) => {
    const supported = encodingList(options.compressions, ", ");
    const problem = `content encoding ${quote(encoding)} is not supported; supported are: ${supported || "none"}`;
    return new Refusal(415, Code.Unimplemented, problem, supported === "" ? {} : { "accept-encoding": supported });
  });
  return {
    timeoutMs: readTimeout(headers),
    compression,
    responseCompression: negotiate(headers.get("accept-encoding")),
  };
}

/**
 * Throws status 403 for cross-site request forgery (CSRF) with content types that browsers send to any site without a
 * CORS preflight. It applies the rules of Go's `http.CrossOriginProtection`: a request is refused if the browser's
 * `sec-fetch-site` is cross-site or same-site or, without that field, if its `origin` has another host. Current
 * browsers send one of the two fields. A request passes if `cors` allows its origin, or if it has
 * `tri-protocol-version`, which a page cannot send to another site without a preflight. `what` names the request in the
 * error.
 */
export function checkOrigin(request: HttpRequest, what: string, allowsOrigin: OriginPolicy = () => false): void {
  const { headers } = request;
  if (headers.has("tri-protocol-version")) return;
  const origin = headers.get("origin");
  const site = headers.get("sec-fetch-site");
  if (site === undefined) {
    if (origin === undefined || isOriginOfHost(origin, headers.get("host") ?? request.authority)) return;
  } else if (site === "same-origin" || site === "none") return;
  if (origin !== undefined && allowsOrigin(origin, headers.has("cookie") || headers.has("authorization"))) return;
  const field = clipText(site === undefined ? `origin: ${origin}` : `sec-fetch-site: ${site}`, 100);
  const remedy = `allow the origin with the option cors, or send tri-protocol-version: ${PROTOCOL_VERSION}`;
  throw new Refusal(403, Code.PermissionDenied, `${what} is refused from pages of other sites (${field}); ${remedy}`);
}

/** Validates the protocol version: the specification's grammar has `1`, its examples `1.0.0`; `1.0` is equal. */
function checkVersion(version: string | undefined, required: boolean): void {
  if (version === PROTOCOL_VERSION) return;
  if (version === undefined ? required : !/^1(?:\.0){0,2}$/.test(version)) {
    const problem = version === undefined ? "is missing" : `is ${quote(version)}`;
    throw badRequest(`header tri-protocol-version ${problem}; it must be "${PROTOCOL_VERSION}"`);
  }
}

/** Names of the timeout header: those of the specification, its example and dubbo-go. The smallest value applies. */
const TIMEOUT_NAMES = ["tri-service-timeout", "rest-service-timeout", "triple-timeout-ms"];

/**
 * Reads the timeout in milliseconds, a positive integer (spec: Limits). Dubbo for Java sends `Long.MAX_VALUE` for "no
 * timeout", so values over the maximum are reduced to it.
 */
function readTimeout(headers: Metadata): number | undefined {
  let timeoutMs: number | undefined;
  for (const name of TIMEOUT_NAMES) {
    const value = headers.get(name);
    if (value === undefined) continue;
    if (!/^[0-9]+$/.test(value) || Number(value) === 0) {
      throw badRequest(`header ${name} is ${quote(value)}; it must be a positive integer of milliseconds`);
    }
    timeoutMs = Math.min(Number(value), timeoutMs ?? MAX_TIMEOUT_MS);
  }
  return timeoutMs;
}

/** Maximum timeout in milliseconds, 10 digits: clients never send a longer one, and servers reduce longer ones to it. */
const MAX_TIMEOUT_MS = 9_999_999_999;

/** Formats `tri-service-timeout`. The minimum is 1, because the header cannot express a deadline that has passed. */
export function formatMilliseconds(timeoutMs: number): string {
  return String(Math.min(Math.max(1, Math.ceil(timeoutMs)), MAX_TIMEOUT_MS));
}

/** Splits the headers of a response into leading and trailing metadata. */
export function splitMetadata(headers: Metadata): { headers: Metadata; trailers: Metadata } {
  const leading: string[] = [];
  const trailing: string[] = [];
  const fields = headers.raw;
  for (let i = 0; i < fields.length; i += 2) {
    const given = fields[i] as string;
    const isTrailing = given.startsWith(TRAILER_PREFIX);
    const name = isTrailing ? given.slice(TRAILER_PREFIX.length) : given;
    if (name && !isReservedName(name)) (isTrailing ? trailing : leading).push(name, fields[i + 1] as string);
  }
  return { headers: Metadata.fromRaw(leading), trailers: Metadata.fromRaw(trailing) };
}

/** Creates the error for a malformed request. */
export function badRequest(message: string, cause?: unknown): RpcError {
  return new RpcError(Code.InvalidArgument, message, { status: Status.BadRequest, cause });
}
