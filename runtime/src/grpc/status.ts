/**
 * The status of a call in sub-protocol B: the trailers `grpc-status`, `grpc-message` and `grpc-status-details-bin`, and
 * the code inferred from an HTTP status if they are missing.
 */
import { create, toBinary } from "@bufbuild/protobuf";
import { AnySchema } from "@bufbuild/protobuf/wkt";
import { Code, codeFromNumber, Status } from "../call/code.ts";
import { type ErrorDetail, RpcError } from "../call/error.ts";
import { Metadata } from "../call/metadata.ts";
import { StatusSchema } from "../gen/google/rpc/status_pb.ts";
import type { HttpResponse } from "../http/exchange.ts";
import { clipText } from "../protocol/error.ts";
import { type FieldLimits, headerListSize } from "../protocol/header-limits.ts";
import { appendBounded, checkHeaders, isReservedName } from "../protocol/headers.ts";

/** gRPC's codes of HTTP statuses, for responses without `grpc-status`. HTTP RPC has a different table. */
const GRPC_CODE_OF_HTTP_STATUS: Readonly<Record<number, Code>> = {
  400: Code.Internal,
  401: Code.Unauthenticated,
  403: Code.PermissionDenied,
  404: Code.Unimplemented,
  429: Code.Unavailable,
  502: Code.Unavailable,
  503: Code.Unavailable,
  504: Code.Unavailable,
};

/** Creates the error for a response that is not gRPC. */
export function httpStatusError(httpStatus: number, contentType: string | undefined): RpcError {
  const type = contentType === undefined ? "no content type" : `content type ${clipText(contentType, 100)}`;
  return new RpcError(
    GRPC_CODE_OF_HTTP_STATUS[httpStatus] ?? Code.Unknown,
    `the server answered with HTTP status ${httpStatus} and ${type}, not with gRPC`,
    { status: Status.BadResponse },
  );
}

/** The shared trailers of successful calls without trailing metadata. */
const OK_TRAILERS = Metadata.fromRaw(["grpc-status", "0"]).freeze();

/** Returns the trailers of a successful call. */
export function okTrailers(trailers: Metadata, limits: FieldLimits): Metadata {
  if (trailers.size === 0) return OK_TRAILERS;
  const written = new Metadata(OK_TRAILERS);
  appendBounded(written, trailers, limits);
  return written;
}

/**
 * Maximum sizes of an encoded message, and of a block with details: gRPC's core and grpc-java accept 8 KiB, with the fields of HTTP
 * and the name of the details.
 */
const MAX_ENCODED_MESSAGE = 5 * 1024;
const MAX_DETAILED_BYTES = 8_000;

/** Writes the status of a failed call, and `more` metadata, into trailers, or into the headers of a trailers-only response. */
export function writeError(target: Metadata, error: RpcError, limits: FieldLimits, more?: Metadata): void {
  target.append("grpc-status", String(error.code));
  let message = clipText(error.rawMessage);
  while (percentEncode(message).length > MAX_ENCODED_MESSAGE) message = clipText(message, message.length >> 1);
  if (message !== "") target.appendRaw(["grpc-message", percentEncode(message)]);
  if (error.details.length > 0) {
    const status = create(StatusSchema, {
      code: error.code,
      message,
      details: error.details.map(({ typeUrl, value }) => create(AnySchema, { typeUrl, value })),
    });
    const bytes = toBinary(StatusSchema, status);
    // Details over the limit are omitted, so that the caller still receives the code and message.
    const size = headerListSize(target.raw) + Math.ceil((bytes.length * 4) / 3);
    if (size <= MAX_DETAILED_BYTES) target.append("grpc-status-details-bin", bytes);
  }
  // An error may come from a call to another server, whose protocol fields must not be forwarded.
  for (const one of [error.trailers, more ?? []]) {
    const metadata = userMetadata(new Metadata(one));
    if (checkHeaders(new Metadata(target).appendAll(metadata), limits) === undefined) target.appendAll(metadata);
  }
}

/**
 * Reads the status of a call from its trailers. Returns `undefined` for success, and never throws for malformed
 * trailers.
 *
 *     Status         → "grpc-status" 1*DIGIT         ; 0 is success
 *     Status-Message → "grpc-message" Percent-Encoded
 */
export function readError(trailers: Metadata, headers: Metadata): RpcError | undefined {
  const status = trailers.get("grpc-status");
  if (status === "0") return undefined;
  const metadata = userMetadata(trailers);
  const message = percentDecode(trailers.get("grpc-message") ?? "");
  if (status === undefined) {
    const details = { headers, trailers: metadata, status: Status.BadResponse };
    return new RpcError(Code.Internal, "the response ended without grpc-status", details);
  }
  const code = /^[0-9]{1,3}$/.test(status) ? codeFromNumber(Number(status)) : undefined;
  if (code === undefined) {
    const note = `(the server sent grpc-status ${clipText(status, 100)})`;
    return new RpcError(Code.Unknown, message === "" ? note : `${message} ${note}`, { headers, trailers: metadata });
  }
  return new RpcError(code, message, { headers, trailers: metadata, details: readDetails(trailers) });
}

/**
 * Returns the error of a call that has ended: from its trailers, or from its headers if the response has neither body
 * nor trailers (trailers-only). Returns `undefined` for success.
 */
export function readEnd(response: HttpResponse, headers: Metadata, hasBody: boolean): RpcError | undefined {
  const trailersOnly = !hasBody && response.trailers.size === 0 && response.headers.has("grpc-status");
  return trailersOnly ? readError(response.headers, new Metadata()) : readError(response.trailers, headers);
}

/** Returns the received error in `grpc-status`, usually the cause of local decoding errors, which it replaces. */
export function statusIfReceived({ headers, trailers }: HttpResponse, metadata: Metadata): RpcError | undefined {
  if (trailers.has("grpc-status")) return readError(trailers, metadata);
  return headers.has("grpc-status") ? readError(headers, new Metadata()) : undefined;
}

/** Returns the user's metadata, without the fields of HTTP and gRPC. */
export function userMetadata(fields: Metadata): Metadata {
  return fields.size === 0 ? fields : fields.filter((name) => !isReservedName(name));
}

/** Reads the typed details. Details that cannot be decoded are omitted, so that the code and message remain. */
export function readDetails(trailers: Metadata): ErrorDetail[] {
  try {
    const bytes = trailers.getBinary("grpc-status-details-bin");
    return bytes === undefined ? [] : decodeDetails(bytes);
  } catch {
    return [];
  }
}

// It is decoded without protobuf-es, so that pages with plain JSON messages do not contain that package.
//     message google.rpc.Status   { int32 code = 1; string message = 2; repeated Any details = 3; }
//     message google.protobuf.Any { string type_url = 1; bytes value = 2; }
const DETAILS = 3;
const TYPE_URL = 1;
const VALUE = 2;

/** Decodes the details of an encoded `google.rpc.Status`. Throws for bytes that are not a message, and for groups. */
export function decodeDetails(status: Uint8Array): ErrorDetail[] {
  const details: ErrorDetail[] = [];
  for (const [number, content] of delimitedFields(status)) if (number === DETAILS) details.push(decodeAny(content));
  return details;
}

function decodeAny(bytes: Uint8Array): ErrorDetail {
  let typeUrl = "";
  let value: Uint8Array = new Uint8Array();
  for (const [number, content] of delimitedFields(bytes)) {
    if (number === TYPE_URL) typeUrl = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(content);
    // The copy does not keep the other details alive.
    if (number === VALUE) value = content.slice();
  }
  return { typeUrl, value };
}

/** Iterates over the length-delimited fields of a message, and skips the others. */
function* delimitedFields(bytes: Uint8Array): Generator<[number: number, content: Uint8Array]> {
  let position = 0;
  while (position < bytes.length) {
    const tag = varint();
    const [number, type] = [Math.floor(tag / 8), tag % 8];
    if (type === 0) varint();
    else if (type === 1) skip(8);
    else if (type === 5) skip(4);
    else if (type === 2) yield [number, skip(varint())];
    else throw new Error(`wire type ${type}`);
  }

  function varint(): number {
    let value = 0;
    for (let scale = 1; scale < 2 ** 70; scale *= 128) {
      const byte = bytes[position++];
      if (byte === undefined) break;
      value += (byte % 128) * scale;
      if (byte < 128) return value;
    }
    throw new Error("invalid varint");
  }

  function skip(length: number): Uint8Array {
    const start = position;
    position += length;
    if (position > bytes.length) throw new Error("a field is longer than its message");
    return bytes.subarray(start, position);
  }
}

const encoder = new TextEncoder();
// A byte order mark is part of the message, so it is not removed.
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/**
 * Percent-encodes a message: bytes from space to tilde except the percent sign are not encoded.
 *
 *     Percent-Encoded        → 1*(Percent-Byte-Unencoded / Percent-Byte-Encoded)
 *     Percent-Byte-Unencoded → 1*( %x20-%x24 / %x26-%x7E )
 *     Percent-Byte-Encoded   → "%" 2HEXDIGIT ; upper case
 *
 * A space at either end is encoded too, because HTTP removes it or rejects the whole field.
 */
export function percentEncode(text: string): string {
  if (/^(?:[!-$&-~](?:[ -$&-~]*[!-$&-~])?)?$/.test(text)) return text;
  let encoded = "";
  const bytes = encoder.encode(text);
  for (const [index, byte] of bytes.entries()) {
    const end = index === 0 || index === bytes.length - 1;
    const keep = byte >= (end ? 0x21 : 0x20) && byte <= 0x7e && byte !== 0x25;
    encoded += keep ? String.fromCharCode(byte) : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return encoded;
}

/** Decodes the result of {@link percentEncode}. It never throws: invalid escapes are not decoded. */
export function percentDecode(text: string): string {
  if (!text.includes("%")) return text;
  return text.replace(/(?:%[0-9a-fA-F]{2})+/g, (run) => {
    const bytes = Uint8Array.from(run.slice(1).split("%"), (hex) => Number.parseInt(hex, 16));
    return decoder.decode(bytes);
  });
}
