/** Custom metadata in the headers of both sub-protocols: reserved names and grammar (spec: Custom metadata). */
import type { CallRequest } from "../call/call.ts";
import { Code } from "../call/code.ts";
import { RpcError } from "../call/error.ts";
import { isBinaryValue, type Metadata } from "../call/metadata.ts";
import type { Compression } from "../codec/compression.ts";
import { quote } from "./error.ts";
import { checkHeadersSize, type FieldLimits } from "./header-limits.ts";
import { writeSelector } from "./selector.ts";

/** Values that both sub-protocols read from the headers of a request, except for the content type. */
export interface RequestHeaders {
  readonly timeoutMs: number | undefined;
  /** The compression of the request's messages. `undefined`: none. */
  readonly compression: Compression | undefined;
  /** The compression of the response. `undefined`: none. */
  readonly responseCompression: Compression | undefined;
}

/** Names that HTTP or a sub-protocol reserves. User metadata must not use them. */
const RESERVED_NAMES = new Set(
  // A single string takes fewer bytes in browser bundles than a list.
  `accept-encoding connection content-encoding content-length content-type date host keep-alive proxy-connection te
trailer transfer-encoding upgrade http2-settings x-content-type-options
tri-protocol-version tri-service-timeout tri-service-version tri-service-group`.split(/\s/),
);

/**
 * Reports whether a header is reserved by HTTP or a sub-protocol. All other headers are the user's metadata, including
 * gRPC's headers for retries: `grpc-previous-rpc-attempts` and `grpc-retry-pushback-ms` (gRFC A6).
 */
export function isReservedName(name: string): boolean {
  return RESERVED_NAMES.has(name) || /^(:|grpc-(?![pr]))/.test(name);
}

/** Appends user metadata, each name with the prefix (default: none). Throws a `TypeError` for reserved names. */
export function appendMetadata(headers: Metadata, metadata: Metadata, prefix = ""): void {
  const fields = metadata.raw;
  for (let i = 0; i < fields.length; i += 2) {
    const name = fields[i] as string;
    if (isReservedName(name)) {
      throw new TypeError(`metadata "${name}" is reserved for the protocol`);
    }
    headers.append(prefix + name, fields[i + 1] as string);
  }
}

/** Appends a handler's metadata to a response. Throws a `TypeError` for reserved names, and beyond the limits. */
export function appendBounded(headers: Metadata, metadata: Metadata, limits: FieldLimits, prefix?: string): void {
  if (metadata.size === 0) return;
  appendMetadata(headers, metadata, prefix);
  const problem = checkHeadersSize(headers, limits);
  if (problem !== undefined) throw new TypeError(`metadata cannot be sent: ${problem} (option headerLimits)`);
}

/** Appends the selector and metadata of a client's call. Throws `invalid_argument` for reserved names and invalid values. */
export function appendCaller(headers: Metadata, caller: Pick<CallRequest, "selector" | "headers">): void {
  try {
    writeSelector(headers, caller.selector);
    appendMetadata(headers, caller.headers);
  } catch (cause) {
    throw RpcError.from(cause, Code.InvalidArgument);
  }
}

/** A violation of the limits or the grammar of headers. */
export type HeadersProblem = { readonly kind: "too large" | "malformed"; readonly message: string };

/**
 * Validates the number, size and grammar of the headers of a request, so that reading them later cannot fail (spec: Custom
 * metadata). Returns `undefined` if they are valid. Empty values are accepted, because HTTP allows them.
 */
export function checkHeaders(headers: Metadata, limits: FieldLimits): HeadersProblem | undefined {
  const tooLarge = checkHeadersSize(headers, limits);
  if (tooLarge !== undefined) {
    return { kind: "too large", message: `${tooLarge} (option headerLimits of the receiver)` };
  }
  const fields = headers.raw;
  for (let i = 0; i < fields.length; i += 2) {
    const problem = checkField(fields[i] as string, fields[i + 1] as string);
    if (problem !== undefined) return { kind: "malformed", message: problem };
  }
  return undefined;
}

/** HTTP fields whose text does not come from the calling program and may contain characters other than ASCII. */
const FOREIGN_TEXT = new Set(["cookie", "referer", "user-agent"]);

const BEYOND_NAME = /[^0-9a-z_.-]/;
const BEYOND_ASCII = /[^ -~]/;

function checkField(name: string, value: string): string | undefined {
  if (BEYOND_NAME.test(name)) return `the name of metadata ${quote(name)} has other characters than 0-9 a-z _ - .`;
  if (name.endsWith("-bin"))
    return isBinaryValue(value) ? undefined : `the value of metadata ${quote(name)} is not base64`;
  if (!BEYOND_ASCII.test(value) || FOREIGN_TEXT.has(name)) return undefined;
  return `the value of metadata ${quote(name)} has other characters than printable ASCII`;
}

/** Content types of gRPC: grpc, grpc+proto, grpc-web …; triple+wrapper and svc+wrapper (spec: Extended content type) */
export const CALL_TYPE: RegExp = /^application\/(?:grpc|triple\+|svc\+)/;

/** Reports whether the headers of a request show that a client of either sub-protocol sent it, whatever its path. */
export function isMarkedCall(headers: Metadata): boolean {
  return CALL_TYPE.test(headers.get("content-type") ?? "") || headers.has("tri-protocol-version");
}

/** Compares an origin with the host. Its scheme gives the default port: that of the request is unknown behind proxies. */
export function isOriginOfHost(origin: string, host: string | undefined): boolean {
  const [, secure, originHost] = /^http(s?):\/\/(.+)$/.exec(origin) ?? [];
  return originHost !== undefined && originHost === host?.toLowerCase().replace(secure ? /:443$/ : /:80$/, "");
}
