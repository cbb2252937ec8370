/**
 * The headers of `node:http` and `node:http2` as metadata, and back.
 */
import type { ServerResponse } from "node:http";
import type { Http2ServerResponse, OutgoingHttpHeaders } from "node:http2";
import { Metadata } from "../../../call/metadata.ts";
import type { HttpResponse } from "../../../http/exchange.ts";
import { DEFAULT_FIELD_LIMITS, headerListSize } from "../../../protocol/header-limits.ts";

/** Converts the field names of HTTP/1.1 to lower case, as metadata requires. */
export function lowerNames(raw: string[]): string[] {
  return raw.map((text, i) => (i % 2 === 0 ? text.toLowerCase() : text));
}

/** Fields of one connection, which HTTP/2 does not allow (RFC 9113, section 8.2.2) and `node:http` writes itself. */
const CONNECTION_FIELDS: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "transfer-encoding",
  "upgrade",
]);

/** Reports whether a field with the name, in lower case, belongs to the message and not to its connection. */
export const isEndToEnd = (name: string): boolean => !CONNECTION_FIELDS.has(name);

/** Reads the fields of a received header block, without the pseudo-headers that it starts with. */
export function readFields(raw: string[]): Metadata {
  let start = 0;
  while (raw[start]?.startsWith(":")) start += 2;
  const fields = start === 0 ? raw : raw.slice(start);
  const first = fields.indexOf("cookie");
  return Metadata.fromRaw(first < 0 || fields.indexOf("cookie", first + 1) < 0 ? fields : joinCookies(fields));
}

/** Joins cookies, each of which HTTP/2 may send in a field of its own, with semicolons (RFC 9113, section 8.2.3). */
function joinCookies(fields: string[]): string[] {
  // Fields larger than the default limit are not joined, so that the protocols count each of them and refuse the request.
  if (headerListSize(fields) > DEFAULT_FIELD_LIMITS.bytes) return fields;
  const cookies = fields.filter((_, i) => i % 2 === 1 && fields[i - 1] === "cookie");
  if (cookies.length === 0) return fields;
  return [...Metadata.fromRaw(fields).filter((name) => name !== "cookie").raw, "cookie", cookies.join("; ")];
}

/**
 * The names that HTTP defines. A list of values in one such field means the same as several fields (RFC 9110, section 5.3),
 * but Node throws if some of these names occur more than once. `cookie` and `set-cookie` are left out, because their values
 * are not lists separated by commas. They are read when they are needed first: most programs have no server of `node:http2`,
 * and loading it takes milliseconds.
 */
function isListed(name: string): boolean {
  listedNames ??= new Set(
    Object.entries(process.getBuiltinModule("node:http2").constants)
      .filter(([key]) => key.startsWith("HTTP2_HEADER_"))
      .map(([, value]) => String(value))
      .filter((value) => value !== "cookie" && value !== "set-cookie"),
  );
  return listedNames.has(name);
}

let listedNames: ReadonlySet<string> | undefined;

/** Converts metadata to headers as Node sends them. */
export function toHttp2Headers(metadata: Metadata): OutgoingHttpHeaders {
  // Without a prototype, whose members are not fields.
  const headers: OutgoingHttpHeaders = Object.create(null);
  const fields = metadata.raw;
  for (let i = 0; i < fields.length; i += 2) {
    const name = fields[i] as string;
    const value = fields[i + 1] as string;
    const existing = headers[name];
    if (existing === undefined) headers[name] = value;
    else if (isListed(name)) headers[name] = `${existing}, ${value}`;
    else if (Array.isArray(existing)) existing.push(value);
    else headers[name] = [String(existing), value];
  }
  return headers;
}

/** Fields that earlier middleware may have set too: ours are appended. */
const SHARED_FIELDS = new Set(["set-cookie", "vary"]);

/** Sets the status, and the headers one at a time, so that headers set by middleware remain and its hooks are called. */
export function setHead(outgoing: ServerResponse | Http2ServerResponse, { status, headers }: HttpResponse): void {
  outgoing.statusCode = status;
  for (const [name, value] of Object.entries(toHttp2Headers(headers))) {
    if (value === undefined) continue;
    if (SHARED_FIELDS.has(name)) outgoing.appendHeader(name, value as string | string[]);
    else outgoing.setHeader(name, value);
  }
}
