/**
 * The headers of sub-protocol A as typed values (spec: Call addressing fields). No other room reads them by name.
 */
import { Code, Status } from "../call/code.ts";
import { RpcError } from "../call/error.ts";
import { Metadata } from "../call/metadata.ts";
import { encodingList, findCompression, IDENTITY, type Negotiation } from "../codec/compression.ts";
import { checkHeaders, isReservedName, type RequestHeaders, type ServerOptions } from "../protocol/protocol.ts";
import { Refusal } from "./error-response.ts";
import { canonicalType } from "./media-type.ts";

/** The value of `tri-protocol-version` that clients send (spec: Versioning, points 1 and 3). */
export const PROTOCOL_VERSION = "1.0.0";

/** Marks trailing metadata among the response headers (spec: Success response). */
export const TRAILER_PREFIX = "trailer-";

/**
 * The codec's name in the content type of a response; `undefined` if it names none, or text in a charset other than
 * UTF-8. Pages load this, so it does not take the whole of a media type apart.
 */
export function codecNameOf(contentType: string): string | undefined {
  const [name = "", ...parameters] = contentType.toLowerCase().split(/\s*;\s*/);
  if (parameters.some((one) => /^charset\s*=(?!\s*"?(?:utf-?8|us-ascii)?"?\s*$)/.test(one))) return undefined;
  return /^application\/(\S+)$/.exec(canonicalType(name.trim()))?.[1];
}

/** Reads the headers of a request, and refuses what cannot be understood. */
export function readRequestHeaders(headers: Metadata, options: ServerOptions, negotiate: Negotiation): RequestHeaders {
  const problem = checkHeaders(headers);
  if (problem?.kind === "too large") throw new Refusal(431, Code.ResourceExhausted, problem.message);
  if (problem !== undefined) throw badRequest(problem.message);
  checkVersion(headers.get("tri-protocol-version"), options.requireProtocolVersion);
  const encoding = headers.get("content-encoding")?.toLowerCase();
  const compression = encoding === undefined ? undefined : findCompression(options.compressions, encoding);
  if (encoding !== undefined && encoding !== IDENTITY && compression === undefined) {
    const supported = encodingList(options.compressions, ", ");
    throw new Refusal(
      415,
      Code.Internal,
      `content encoding "${encoding}" is not supported; supported are: ${supported || "none"}`,
      supported === "" ? {} : { "accept-encoding": supported },
    );
  }
  return {
    timeoutMs: readTimeout(headers),
    compression,
    responseCompression: negotiate(headers.get("accept-encoding")),
  };
}

/**
 * Refuses a request that a page of another origin may have sent with the user's cookies: one whose content type needs no
 * CORS preflight, without a header that does, and without a word of the browser that the page is the server's own.
 */
export function checkOrigin(headers: Metadata): void {
  if (headers.has("tri-protocol-version")) return;
  const site = headers.get("sec-fetch-site");
  if (site === undefined ? isOwnOrigin(headers) : site === "same-origin") return;
  throw new Refusal(
    403,
    Code.PermissionDenied,
    `content type ${headers.get("content-type")} needs a proof that no other site's page sends the request: ` +
      `the header tri-protocol-version: ${PROTOCOL_VERSION}, or the browser's sec-fetch-site: same-origin or origin`,
  );
}

/** For browsers too old to send `sec-fetch-site`; over HTTP/2, which has no `host`, they get no further. */
function isOwnOrigin(headers: Metadata): boolean {
  const origin = headers.get("origin");
  const host = headers.get("host");
  return origin !== undefined && host !== undefined && /^https?:\/\/(.+)$/.exec(origin)?.[1] === host.toLowerCase();
}

/** `1`, `1.0` and `1.0.0` are one version: the grammar of the specification has the first, its samples the last. */
function checkVersion(version: string | undefined, required: boolean): void {
  if (version === PROTOCOL_VERSION) return;
  if (version === undefined ? required : !/^1(?:\.0){0,2}$/.test(version)) {
    const problem = version === undefined ? "is missing" : `is "${version}"`;
    throw badRequest(`header tri-protocol-version ${problem}; it must be "${PROTOCOL_VERSION}"`);
  }
}

/** Whether a client tells errors by the name of their code alone, as dubbo-go does, which says so by a header of its own. */
export function wantsCode(headers: Metadata): boolean {
  return headers.has("triple-protocol-version");
}

/** The first is the specification's; its sample and dubbo-go have the others. The smallest wins. */
const TIMEOUT_NAMES = ["tri-service-timeout", "rest-service-timeout", "triple-timeout-ms"];

/** Milliseconds of the timeout headers: 1 to 10 digits, positive (spec: Limits). */
function readTimeout(headers: Metadata): number | undefined {
  let timeoutMs: number | undefined;
  for (const name of TIMEOUT_NAMES) {
    const value = headers.get(name);
    if (value === undefined) continue;
    if (!/^[0-9]{1,10}$/.test(value) || Number(value) === 0) {
      throw badRequest(
        `header ${name} is "${value}"; it must be a positive number of milliseconds of at most 10 digits`,
      );
    }
    timeoutMs = Math.min(Number(value), timeoutMs ?? Number.POSITIVE_INFINITY);
  }
  return timeoutMs;
}

/** The longest timeout that the header can say; a longer one is as good as that. */
const MAX_TIMEOUT_MS = 9_999_999_999;

/** The value of `tri-service-timeout`: at least 1, because the header has no way to say that time is up. */
export function formatTimeout(timeoutMs: number): string {
  return String(Math.min(Math.max(1, Math.ceil(timeoutMs)), MAX_TIMEOUT_MS));
}

/** Takes the headers of a response apart into leading and trailing metadata. */
export function splitMetadata(headers: Metadata): { headers: Metadata; trailers: Metadata } {
  const leading: string[] = [];
  const trailing: string[] = [];
  const fields = headers.raw;
  for (let i = 0; i < fields.length; i += 2) {
    const name = fields[i] as string;
    if (name.startsWith(TRAILER_PREFIX)) trailing.push(name.slice(TRAILER_PREFIX.length), fields[i + 1] as string);
    else if (!isReservedName(name)) leading.push(name, fields[i + 1] as string);
  }
  return { headers: Metadata.fromRaw(leading), trailers: Metadata.fromRaw(trailing) };
}

/** The error of a request that breaks the protocol's format. */
export function badRequest(message: string, cause?: unknown): RpcError {
  return new RpcError(Code.InvalidArgument, message, { status: Status.BadRequest, cause });
}
