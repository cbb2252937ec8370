/**
 * How sub-protocol B says how a call ended: the trailers `grpc-status`, `grpc-message` and `grpc-status-details-bin`,
 * and what is made of an HTTP status where they are missing.
 */
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { AnySchema } from "@bufbuild/protobuf/wkt";
import { Code, codeFromNumber } from "../code.ts";
import { type ErrorDetail, RpcError } from "../error.ts";
import { StatusSchema } from "../gen/google/rpc/status_pb.ts";
import { Metadata } from "../metadata.ts";
import { appendMetadata, isReservedName } from "../protocol.ts";

/** gRPC's own mapping, for responses without `grpc-status`. It is not the table of sub-protocol A. */
const CODE_OF_HTTP_STATUS: Readonly<Record<number, Code>> = {
  400: Code.Internal,
  401: Code.Unauthenticated,
  403: Code.PermissionDenied,
  404: Code.Unimplemented,
  429: Code.Unavailable,
  431: Code.Internal,
  502: Code.Unavailable,
  503: Code.Unavailable,
  504: Code.Unavailable,
};

/** The error of a response that is not gRPC's at all. */
export function httpStatusError(httpStatus: number, contentType: string | undefined): RpcError {
  const type = contentType === undefined ? "no content type" : `content type ${contentType}`;
  return new RpcError(
    CODE_OF_HTTP_STATUS[httpStatus] ?? Code.Unknown,
    `the server answered with HTTP status ${httpStatus} and ${type} instead of a gRPC response`,
  );
}

/** The trailers of most calls that succeed. */
const OK_TRAILERS = Metadata.fromRaw(["grpc-status", "0"]).freeze();

/** The trailers of a call that succeeded. */
export function okTrailers(trailers: Metadata): Metadata {
  if (trailers.size === 0) return OK_TRAILERS;
  const written = new Metadata(OK_TRAILERS);
  appendMetadata(written, trailers);
  return written;
}

/** Writes how a failed call ended: into trailers, or into the headers of a trailers-only response. */
export function writeError(target: Metadata, error: RpcError): void {
  target.append("grpc-status", String(error.code));
  if (error.rawMessage !== "") target.append("grpc-message", percentEncode(error.rawMessage));
  if (error.details.length > 0) {
    const status = create(StatusSchema, {
      code: error.code,
      message: error.rawMessage,
      details: error.details.map(({ typeUrl, value }) => create(AnySchema, { typeUrl, value })),
    });
    target.append("grpc-status-details-bin", toBinary(StatusSchema, status));
  }
  // An error may come from a call further on, whose own protocol fields must not travel any further.
  target.appendAll(userMetadata(error.metadata));
}

/**
 * Reads how a call ended. Returns `undefined` for success, and throws nothing, however broken the trailers are.
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
    return new RpcError(Code.Internal, "the response ended without grpc-status", { headers, metadata });
  }
  const code = /^[0-9]{1,3}$/.test(status) ? codeFromNumber(Number(status)) : undefined;
  if (code === undefined) {
    const note = `(the server sent grpc-status ${status})`;
    return new RpcError(Code.Unknown, message === "" ? note : `${message} ${note}`, { headers, metadata });
  }
  return new RpcError(code, message, { headers, metadata, details: readDetails(trailers) });
}

/** The fields that are the user's, without those of HTTP and gRPC. */
export function userMetadata(fields: Metadata): Metadata {
  return fields.size === 0 ? fields : fields.filter((name) => !isReservedName(name));
}

/** Typed details. Ones that cannot be read are left out: they must not hide how the call ended. */
function readDetails(trailers: Metadata): ErrorDetail[] {
  if (!trailers.has("grpc-status-details-bin")) return [];
  try {
    const bytes = trailers.getBinary("grpc-status-details-bin");
    return bytes === undefined ? [] : fromBinary(StatusSchema, bytes).details;
  } catch {
    return [];
  }
}

const encoder = new TextEncoder();
// A byte order mark is part of the message, as every other character is.
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/**
 * Percent-encodes a message: bytes from space to tilde stay, except the percent sign.
 *
 *     Percent-Encoded        → 1*(Percent-Byte-Unencoded / Percent-Byte-Encoded)
 *     Percent-Byte-Unencoded → 1*( %x20-%x24 / %x26-%x7E )
 *     Percent-Byte-Encoded   → "%" 2HEXDIGIT ; upper case
 */
export function percentEncode(text: string): string {
  if (/^[ -$&-~]*$/.test(text)) return text;
  let encoded = "";
  for (const byte of encoder.encode(text)) {
    const keep = byte >= 0x20 && byte <= 0x7e && byte !== 0x25;
    encoded += keep ? String.fromCharCode(byte) : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return encoded;
}

/** Decodes what {@link percentEncode} wrote. Never fails: what is not percent-encoding stays as it is. */
export function percentDecode(text: string): string {
  if (!text.includes("%")) return text;
  return text.replace(/(?:%[0-9a-fA-F]{2})+/g, (run) => {
    const bytes = Uint8Array.from(run.slice(1).split("%"), (hex) => Number.parseInt(hex, 16));
    return decoder.decode(bytes);
  });
}
