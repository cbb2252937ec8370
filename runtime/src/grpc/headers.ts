/** The headers of sub-protocol B as typed values (spec: Sub-protocol B request headers). No other module reads them by name. */
import { Code, Status } from "../call/code.ts";
import { RpcError } from "../call/error.ts";
import { Metadata } from "../call/metadata.ts";
import { type Compression, compressionOf, encodingList, type Negotiation } from "../codec/compression.ts";
import { quote } from "../protocol/error.ts";
import { checkHeaders, type RequestHeaders } from "../protocol/headers.ts";
import type { ClientProtocolOptions, ProtocolOptions } from "../protocol/options.ts";
import type { ResolvedRouterOptions } from "../server/options.ts";

//     Content-Type → "application/grpc" [ "+" codec ] [ ";" parameters ]
const GRPC_MEDIA_TYPE = /^application\/grpc(?:\+([^;\s]+))?\s*(?:;.*)?$/i;

/** Returns the codec in a gRPC content type, `proto` if the type names none, or `undefined` for another type. */
export function codecNameOf(contentType: string | undefined): string | undefined {
  const match = contentType === undefined ? null : GRPC_MEDIA_TYPE.exec(contentType);
  return match === null ? undefined : (match[1]?.toLowerCase() ?? "proto");
}

/** The content types of wrapped messages: those of the specification (Extended content type), and those of other peers. */
const WRAPPER_CONTENT_TYPE =
  /^application\/(?:(?:triple|svc)\+wrapper|grpc(?:\+(?:proto|hessian2|msgpack))?)\s*(?:;.*)?$/i;

/** Reports whether messages with the content type may be wrapped. The method determines whether they are. */
export function isWrapperContentType(contentType: string): boolean {
  return WRAPPER_CONTENT_TYPE.test(contentType);
}

/** The value of `te` with `trailers` (RFC 9110, section 10.1.4): every proxy on the way forwards trailers. */
const TE_TRAILERS = /(?:^|,)\s*trailers\s*(?:[,;]|$)/i;

/** Reads the headers of a request. Throws for headers that are invalid or unsupported. */
export function readRequestHeaders(
  headers: Metadata,
  options: Pick<ResolvedRouterOptions, "compressions" | "headerLimits" | "requireTe">,
  negotiate: Negotiation,
): RequestHeaders {
  const problem = checkHeaders(headers, options.headerLimits.request);
  if (problem !== undefined) {
    throw new RpcError(problem.kind === "too large" ? Code.ResourceExhausted : Code.InvalidArgument, problem.message);
  }
  if (options.requireTe && !TE_TRAILERS.test(headers.get("te") ?? "")) {
    throw new RpcError(
      Code.InvalidArgument,
      "the header te: trailers is missing: the client did not send it, or a proxy that may drop trailers removed it",
      { status: Status.BadRequest },
    );
  }
  const compression = compressionOf(options.compressions, headers.get("grpc-encoding"), (encoding) => {
    const known = encodingList(options.compressions, ",");
    const message = `grpc-encoding ${quote(encoding)} is not supported; supported are: ${known || "none"}`;
    const fields = known === "" ? {} : { "grpc-accept-encoding": known };
    return new RpcError(Code.Unimplemented, message, { headers: fields });
  });
  return {
    timeoutMs: parseTimeout(headers.get("grpc-timeout")),
    compression,
    responseCompression: negotiate(headers.get("grpc-accept-encoding")),
  };
}

const UNIT_MS: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1000, m: 1, u: 1e-3, n: 1e-6 };

/**
 * Parses a `grpc-timeout` and returns it in milliseconds (spec: Limits). Throws `invalid_argument` for an invalid
 * value.
 *
 *     Timeout      → TimeoutValue TimeoutUnit
 *     TimeoutValue → {positive integer of at most 8 digits}   ; 0, which peers send after the deadline, is accepted
 *     TimeoutUnit  → "H" / "M" / "S" / "m" / "u" / "n"
 */
export function parseTimeout(value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  const unit = UNIT_MS[value.slice(-1)];
  if (unit === undefined || !/^[0-9]{1,8}[HMSmun]$/.test(value)) {
    throw new RpcError(
      Code.InvalidArgument,
      `grpc-timeout ${quote(value)} must be at most 8 digits followed by one of H M S m u n`,
      { status: Status.BadRequest },
    );
  }
  return Number(value.slice(0, -1)) * unit;
}

/** Formats a timeout as `grpc-timeout`, in the smallest unit that fits, rounded up. */
export function formatTimeout(timeoutMs: number): string {
  const ms = Math.ceil(timeoutMs);
  if (ms < 1e8) return `${ms}m`;
  const seconds = Math.ceil(ms / 1000);
  return seconds < 1e8 ? `${seconds}S` : `${Math.min(Math.ceil(seconds / 3600), 99_999_999)}H`;
}

/** Returns the fields that all requests of a client share, in the order that gRPC requires. */
export function requestFields(contentType: string, options: ClientProtocolOptions, userAgent: string): Metadata {
  const headers = new Metadata({ "content-type": contentType, te: "trailers" });
  headers.append("user-agent", userAgent);
  if (options.sendCompression !== undefined) headers.append("grpc-encoding", options.sendCompression.name);
  if (options.compressions.length > 0) {
    headers.append("grpc-accept-encoding", encodingList(options.compressions, ","));
  }
  return headers;
}

/** Returns the compression of a response's messages, if there is one. Throws for one that is not registered. */
export function readResponseCompression(headers: Metadata, options: ProtocolOptions): Compression | undefined {
  return compressionOf(options.compressions, headers.get("grpc-encoding"), (encoding) => {
    const problem = `the server answered with the grpc-encoding ${quote(encoding)}, which is not supported`;
    return new RpcError(Code.Internal, problem);
  });
}
