/**
 * Metadata among the headers of both sub-protocols: reserved names, grammar and limits (spec: Custom metadata).
 */
import { Code } from "../call/code.ts";
import { RpcError } from "../call/error.ts";
import { isBinaryValue, type Metadata } from "../call/metadata.ts";
import type { Compression } from "../codec/compression.ts";
import { quote } from "./error.ts";

/** What the headers of a request say in either sub-protocol, beside its content type. */
export interface RequestHeaders {
  readonly timeoutMs: number | undefined;
  /** The compression that the request's messages may have; `undefined`: none. */
  readonly compression: Compression | undefined;
  /** The compression to answer with; `undefined`: none. */
  readonly responseCompression: Compression | undefined;
}

/** Names that belong to HTTP or to a sub-protocol. User metadata must not bear them. */
const RESERVED_NAMES = new Set(
  // One text, which is a shorter bundle for pages.
  `accept-encoding connection content-encoding content-length content-type date host keep-alive proxy-connection te
trailer transfer-encoding upgrade http2-settings x-content-type-options
tri-protocol-version tri-service-timeout tri-service-version tri-service-group`.split(/\s/),
);

/** Whether a header belongs to HTTP or to a sub-protocol, rather than to the user's metadata. */
export function isReservedName(name: string): boolean {
  return RESERVED_NAMES.has(name) || name.startsWith("grpc-") || name.startsWith(":");
}

/** Adds user metadata to the headers of a message, each name with a prefix; refuses names that are reserved. */
export function appendMetadata(headers: Metadata, metadata: Metadata, prefix = ""): void {
  const fields = metadata.raw;
  for (let i = 0; i < fields.length; i += 2) {
    const name = fields[i] as string;
    if (isReservedName(name)) {
      throw new TypeError(`metadata "${name}" is reserved for the protocol`);
    }
    headers.append(prefix + name, fields[i + 1] as string);
  }
  const problem = fields.length > 0 ? checkHeadersSize(headers) : undefined;
  if (problem !== undefined) throw new TypeError(`metadata cannot be sent: ${problem}`);
}

/** The same on a client, where what is wrong with metadata is its caller's mistake. */
export function appendCallerMetadata(headers: Metadata, metadata: Metadata): void {
  try {
    appendMetadata(headers, metadata);
  } catch (cause) {
    throw RpcError.from(cause, Code.InvalidArgument);
  }
}

/** Limits on the headers of a request: what is beyond them is refused, not truncated. */
const MAX_METADATA_FIELDS = 100;
export const MAX_METADATA_BYTES: number = 16 * 1024;

/** What is wrong with the headers of a request. */
export type HeadersProblem = { readonly kind: "too large" | "malformed"; readonly message: string };

/**
 * Looks at every header of a request once: their number and size, and the grammar of metadata, so that reading it later
 * cannot fail (spec: Custom metadata). Returns `undefined` if all is well. Empty values pass: HTTP has them.
 */
export function checkHeaders(headers: Metadata): HeadersProblem | undefined {
  const tooLarge = checkHeadersSize(headers);
  if (tooLarge !== undefined) return { kind: "too large", message: tooLarge };
  const fields = headers.raw;
  for (let i = 0; i < fields.length; i += 2) {
    const problem = checkField(fields[i] as string, fields[i + 1] as string);
    if (problem !== undefined) return { kind: "malformed", message: problem };
  }
  return undefined;
}

/** Fields of HTTP that bring text from outside of the program that calls, be it ASCII or not. */
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

/** What is wrong with the number and the size of headers; `undefined` if nothing is. */
function checkHeadersSize({ raw, size }: Metadata): string | undefined {
  if (size > MAX_METADATA_FIELDS) return `${size} header fields are more than the limit of ${MAX_METADATA_FIELDS}`;
  const tooLarge = headerListSize(raw) > MAX_METADATA_BYTES;
  return tooLarge ? `the headers are larger than the limit of ${MAX_METADATA_BYTES} bytes` : undefined;
}

/** The size of header fields as HTTP/2 counts it: 32 bytes for each beside its name and value. */
export function headerListSize(raw: readonly string[]): number {
  let bytes = raw.length * 16;
  for (const text of raw) bytes += text.length;
  return bytes;
}
