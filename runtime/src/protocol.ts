/**
 * What the two sub-protocols have in common: the shape of their halves, their options, and the headers both read.
 */
import type { Call, Handler, Selector } from "./call.ts";
import { Code, Status } from "./code.ts";
import type { Codec } from "./codec.ts";
import { type Compression, findCompression } from "./compression.ts";
import { RpcError } from "./error.ts";
import type { Exchange, HttpRequest, HttpResponse } from "./exchange.ts";
import { isBinaryValue, type Metadata } from "./metadata.ts";

/** A protocol's client half: turns an exchange into a call. */
export type ClientProtocol = (exchange: Exchange, options: ProtocolOptions) => Call;

/** A protocol's server half: answers an exchange by making a call. */
export interface ServerProtocol {
  /** Whether requests of this content type are the protocol's to answer. */
  accepts(contentType: string): boolean;
  /** Answers; never rejects. Without a handler it says "not found" in the protocol's own words. */
  serve(request: HttpRequest, handler: Handler | undefined): Promise<HttpResponse>;
}

/** What a protocol needs to know. Resolved once, when a transport or a server is made. */
export interface ProtocolOptions {
  /** Codecs that are understood. A client sends with the first one. */
  readonly codecs: readonly Codec[];
  /** Compressions that are understood, best first. */
  readonly compressions: readonly Compression[];
  /** The compression a client sends with. `undefined`: none. */
  readonly sendCompression: Compression | undefined;
  /** Messages below this many bytes are sent uncompressed. */
  readonly compressMinBytes: number;
  /** Largest message accepted, in bytes, before and after inflating. */
  readonly maxMessageBytes: number;
  /** What a client of sub-protocol A makes of its one argument in JSON: the specification's array, or the bare object. */
  readonly jsonBody: "array" | "object";
  /** Whether a server of sub-protocol A refuses requests without `tri-protocol-version`. */
  readonly requireProtocolVersion: boolean;
  /** Told of every error whose text the peer does not get to see, once each. */
  readonly onError: ErrorHook;
}

/** Told of an error that was not an `RpcError`, with the path of the call it happened in. It must not throw. */
export type ErrorHook = (error: unknown, path: string) => void;

/** 4 MiB, as gRPC has it. */
const DEFAULT_MAX_MESSAGE_BYTES = 4 * 1024 * 1024;

type GivenOptions = Pick<ProtocolOptions, "codecs" | "compressions"> & {
  readonly [Name in keyof ProtocolOptions]?: ProtocolOptions[Name] | undefined;
};

/** Fills in the defaults. Codecs and compressions have none here: they are the door's choice. */
export function resolveOptions(given: GivenOptions): ProtocolOptions {
  const maxMessageBytes = given.maxMessageBytes ?? DEFAULT_MAX_MESSAGE_BYTES;
  if (!(maxMessageBytes > 0 && maxMessageBytes <= 2 ** 31 - 1)) {
    throw new RangeError(`maxMessageBytes must be between 1 and ${2 ** 31 - 1}, not ${maxMessageBytes}`);
  }
  return {
    codecs: given.codecs,
    compressions: given.compressions,
    sendCompression: given.sendCompression,
    compressMinBytes: given.compressMinBytes ?? 1024,
    maxMessageBytes,
    jsonBody: given.jsonBody ?? "array",
    requireProtocolVersion: given.requireProtocolVersion ?? false,
    onError: given.onError ?? ((error, path) => console.error(`triple-es: ${path} failed:`, error)),
  };
}

/** The codec a client sends with. */
export function requireCodec(options: ProtocolOptions): Codec {
  const [codec] = options.codecs;
  if (codec === undefined) throw new TypeError("a transport needs at least one codec");
  return codec;
}

/** Reads which version and group of a service is meant (spec: Versioning, point 4). */
export function readSelector(headers: Metadata): Selector {
  return { version: headers.get("tri-service-version"), group: headers.get("tri-service-group") };
}

export function writeSelector(headers: Metadata, selector: Selector): void {
  if (selector.version !== undefined) headers.set("tri-service-version", selector.version);
  if (selector.group !== undefined) headers.set("tri-service-group", selector.group);
}

/** Names that belong to HTTP or to a sub-protocol. User metadata must not bear them. */
const RESERVED_NAMES = new Set([
  "accept",
  "accept-encoding",
  "connection",
  "content-encoding",
  "content-length",
  "content-type",
  "date",
  "host",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "x-content-type-options",
  "tri-protocol-version",
  "tri-service-timeout",
  "tri-service-version",
  "tri-service-group",
]);

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
      throw new TypeError(`metadata "${name}" is reserved for the protocol and cannot be set`);
    }
    headers.append(prefix + name, fields[i + 1] as string);
  }
}

/** Refuses binary metadata that is not base64, so that reading it later cannot fail (spec: Custom metadata). */
export function checkMetadata(headers: Metadata): void {
  const fields = headers.raw;
  for (let i = 0; i < fields.length; i += 2) {
    const name = fields[i] as string;
    if (name.endsWith("-bin") && !isBinaryValue(fields[i + 1] as string)) {
      throw new RpcError(Code.InvalidArgument, `the value of metadata "${name}" is not base64`, {
        status: Status.BadRequest,
      });
    }
  }
}

/** Limits on the headers of a request: what is beyond them is refused, not truncated. */
const MAX_HEADER_FIELDS = 100;
const MAX_HEADER_BYTES = 16 * 1024;
/** What HTTP/2 charges for each field beside its name and value. */
const FIELD_OVERHEAD_BYTES = 32;

/** What is too much about the headers of a request; `undefined` if they are within the limits. */
export function headersProblem(headers: Metadata): string | undefined {
  if (headers.size > MAX_HEADER_FIELDS)
    return `${headers.size} header fields are more than the limit of ${MAX_HEADER_FIELDS}`;
  let bytes = headers.size * FIELD_OVERHEAD_BYTES;
  for (const text of headers.raw) bytes += text.length;
  return bytes > MAX_HEADER_BYTES ? `the headers are larger than the limit of ${MAX_HEADER_BYTES} bytes` : undefined;
}

/** Compresses a message for sending; one below the threshold, or without a compression, comes back as it is. */
export async function compressMessage(
  bytes: Uint8Array,
  compression: Compression | undefined,
  options: ProtocolOptions,
): Promise<{ bytes: Uint8Array; compressed: boolean }> {
  if (compression === undefined || bytes.byteLength < options.compressMinBytes) return { bytes, compressed: false };
  return { bytes: await compression.compress(bytes), compressed: true };
}

/** Inflates a received message, up to the limit. `onBadData` makes the error for bytes that are not in that encoding. */
export async function decompressMessage(
  bytes: Uint8Array,
  encoding: string,
  options: ProtocolOptions,
  onBadData: (message: string, cause: unknown) => RpcError,
): Promise<Uint8Array> {
  const compression = findCompression(options.compressions, encoding);
  if (compression === undefined) throw new Error(`encoding ${encoding} was not checked before`);
  try {
    return await compression.decompress(bytes, options.maxMessageBytes);
  } catch (cause) {
    if (cause instanceof RangeError) throw tooLargeInflated(options.maxMessageBytes, cause);
    throw onBadData(`message is not ${encoding} data`, cause);
  }
}

function tooLargeInflated(limit: number, cause: unknown): RpcError {
  return new RpcError(
    Code.ResourceExhausted,
    `message inflates to more than the limit of ${limit} bytes (option maxMessageBytes of the receiver)`,
    { status: Status.BadRequest, cause },
  );
}
