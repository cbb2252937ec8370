/**
 * What the two sub-protocols have in common: the shape of their halves, their options, and the headers both read.
 */
import type { Call, Handler, Method, Selector } from "../call/call.ts";
import { Code, Status } from "../call/code.ts";
import { callHook, type ErrorHook, RpcError, reasonOf } from "../call/error.ts";
import { isBinaryValue, type Metadata } from "../call/metadata.ts";
import type { MethodAlias, PayloadOptions } from "../call/method.ts";
import { type Codec, plainBytes } from "../codec/codec.ts";
import { type Compression, IDENTITY } from "../codec/compression.ts";
import { checkWireNames } from "../codec/wire-name.ts";
import type { Exchange, HttpRequest, HttpResponse } from "../http/exchange.ts";

/** A protocol's client half: turns an exchange into a call. */
export type ClientProtocol = (exchange: Exchange, options: ClientOptions) => Call;

/** A protocol's server half: answers an exchange by making a call. */
export interface ServerProtocol {
  /** Whether requests of this content type are the protocol's to answer. */
  accepts(contentType: string): boolean;
  /** Answers; never rejects. Without a handler it says "not found" in the protocol's own words. */
  serve(request: HttpRequest, handler: Handler | undefined): Promise<HttpResponse>;
}

/** What a protocol needs to know. Resolved once, when a transport or a server is made. */
export interface ProtocolOptions {
  /** Compressions that are understood, best first. */
  readonly compressions: readonly Compression[];
  /** Messages below this many bytes are sent uncompressed. */
  readonly compressMinBytes: number;
  /** Largest message accepted, in bytes, before and after inflating. */
  readonly maxMessageBytes: number;
}

/** What a client of sub-protocol A needs to know that leaves compression to its exchange. */
export interface UnaryOptions extends Pick<ProtocolOptions, "maxMessageBytes"> {
  /** What sub-protocol A makes of its one argument in JSON: the specification's array, or the bare object. */
  readonly jsonBody: "array" | "object";
  /** Whether methods are called by their alias. */
  readonly useAlias: boolean;
}

export interface ClientOptions extends ProtocolOptions, UnaryOptions, PayloadOptions {
  readonly codec: Codec;
  /** The compression to send with. `undefined`: none. */
  readonly sendCompression: Compression | undefined;
  /** What sub-protocol B calls wrapped messages: what peers do, or the specification. Default: the former. */
  readonly wrapperContentType?: WrapperContentType | undefined;
}

export interface ServerOptions extends ProtocolOptions, PayloadOptions {
  /** Codecs that are understood. */
  readonly codecs: readonly Codec[];
  /**
   * Whether pages of another origin may call, with the credentials of their visitor (cookies, `authorization`) or without.
   * Default: none may.
   */
  readonly allowsOrigin?: ((origin: string, withCredentials: boolean) => boolean) | undefined;
  /** Whether sub-protocol A refuses requests without `tri-protocol-version`. */
  readonly requireProtocolVersion: boolean;
  /** Whether sub-protocol B refuses requests without `te: trailers`. */
  readonly requireTe: boolean;
  /** Told of every error whose text the peer does not get to see, once each. */
  readonly onError: ErrorHook;
}

/** The content types of wrapped messages (spec: Extended content type). No known peer uses the one with `wrapper`. */
export type WrapperContentType = "application/grpc+proto" | "application/triple+wrapper";

/** 4 MiB, as gRPC has it. */
const DEFAULT_MAX_MESSAGE_BYTES = 4 * 1024 * 1024;

type Given<Options, Needed extends keyof Options> = Pick<Options, Needed> & {
  readonly [Name in keyof Options]?: Options[Name] | undefined;
};

/** Fills in the default, and validates the limit. */
function resolveLimit({ maxMessageBytes = DEFAULT_MAX_MESSAGE_BYTES }: Given<ProtocolOptions, never>): number {
  if (maxMessageBytes > 0 && maxMessageBytes <= 2 ** 31 - 1) return maxMessageBytes;
  throw new RangeError(`maxMessageBytes must be between 1 and ${2 ** 31 - 1}, not ${maxMessageBytes}`);
}

/** Fills in the defaults of both halves. Those of codecs and compressions are the entry point's choice. */
function resolveOptions(given: Given<ProtocolOptions, "compressions">): ProtocolOptions {
  const { compressions, compressMinBytes = 1024 } = given;
  return { compressions, compressMinBytes, maxMessageBytes: resolveLimit(given) };
}

/** Fills in the defaults of unary calls. Pages need no others. */
export function resolveUnaryOptions(
  given: Given<UnaryOptions, never> & { readonly javaNames?: boolean | undefined },
): UnaryOptions {
  const { jsonBody = "array", javaNames: useAlias = false } = given;
  return { maxMessageBytes: resolveLimit(given), jsonBody, useAlias };
}

/** Fills in the defaults of a client. */
export function resolveClientOptions(
  given: Given<ClientOptions, "codec" | "compressions"> & { readonly javaNames?: boolean | undefined },
): ClientOptions {
  const { codec, sendCompression } = given;
  return { ...resolveOptions(given), ...resolveUnaryOptions(given), codec, sendCompression };
}

/** Fills in the defaults of a server. */
export function resolveServerOptions(given: Given<ServerOptions, "codecs" | "compressions">): ServerOptions {
  const { codecs, requireProtocolVersion = false, requireTe = false, onError } = given;
  checkWireNames("codecs", codecs);
  checkWireNames("compressions", given.compressions, [IDENTITY]);
  return {
    ...resolveOptions(given),
    codecs,
    requireProtocolVersion,
    requireTe,
    onError:
      onError === undefined ? printError : (error, path) => callHook("the hook onError", () => onError(error, path)),
  };
}

const printError: ErrorHook = (error, path) => console.error(`triple-es: ${path} failed:`, error);

/** The path of a call by the method's alias: below its name of the service, under the name that `nameOf` picks. */
export function aliasPath({ path, alias }: Method, nameOf: (alias: MethodAlias) => string): string {
  if (alias !== undefined) return `/${alias.service}/${nameOf(alias)}`;
  const message = `${path} has no Java name; generate it with java_names=true`;
  throw new RpcError(Code.InvalidArgument, message, { status: Status.ClientError });
}

/** What the headers of a request say in either sub-protocol, beside its content type. */
export interface RequestHeaders {
  readonly timeoutMs: number | undefined;
  /** The compression that the request's messages may have; `undefined`: none. */
  readonly compression: Compression | undefined;
  /** The compression to answer with; `undefined`: none. */
  readonly responseCompression: Compression | undefined;
}

/** Reads which version and group of a service is meant (spec: Versioning, point 4). */
export function readSelector(headers: Metadata): Selector {
  const version = headers.get("tri-service-version");
  const group = headers.get("tri-service-group");
  return version === undefined && group === undefined ? NO_SELECTOR : { version, group };
}

const NO_SELECTOR: Selector = /*@__PURE__*/ Object.freeze({});

/** An empty name asks for none, in spite of a default. */
export function writeSelector(headers: Metadata, selector: Selector): void {
  if (selector.version) headers.set("tri-service-version", selector.version);
  if (selector.group) headers.set("tri-service-group", selector.group);
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
  "http2-settings",
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
      throw new TypeError(`metadata "${name}" is reserved for the protocol`);
    }
    headers.append(prefix + name, fields[i + 1] as string);
  }
  const problem = fields.length > 0 ? checkHeadersSize(headers) : undefined;
  if (problem !== undefined) throw new TypeError(`metadata cannot be sent: ${problem}`);
}

/** Longest text of an error that travels. Headers have limits, and more than this nobody reads. */
const MAX_ERROR_TEXT = 4096;

/** A text cut at a number of characters: an error must not send back at length what a peer sent. */
export function clipText(text: string, length: number = MAX_ERROR_TEXT): string {
  return text.length <= length ? text : `${text.slice(0, length)}…`;
}

/** Longest part of a peer's text that an error quotes, in characters. */
const MAX_QUOTED_TEXT = 100;

/** A peer's text in quotation marks, as much of it as it takes to recognize it. */
export function quote(text: string): string {
  return `"${clipText(text, MAX_QUOTED_TEXT)}"`;
}

/** Longest reason of a decoding error that travels, in characters: codecs quote what they could not decode. */
const MAX_REASON_TEXT = 300;

/** The reason why bytes of a peer cannot be decoded, as the peer may read it. */
export function decodingReason(cause: unknown): string {
  return clipText(reasonOf(cause), MAX_REASON_TEXT);
}

/** Longest part of a path that an error shows, in characters. */
const MAX_SHOWN_PATH = 200;

/** The error of a path that no handler is behind. It tells the form of paths, but not which ones there are. */
export function notFound(path: string): RpcError {
  return new RpcError(
    Code.Unimplemented,
    `no method is served at ${clipText(path, MAX_SHOWN_PATH)}; paths are /package.Service/Method with exactly those capitals, and version and group have to match`,
    { status: Status.ServiceNotFound },
  );
}

/** The error of a server's interceptor that does not answer as the kind of the method wants it. */
export function wrongResponseKind({ path, kind }: Method): TypeError {
  return new TypeError(
    `an interceptor of ${path} must return the response of next(request), or one for a ${kind} call`,
  );
}

/** Limits on the headers of a request: what is beyond them is refused, not truncated. */
const MAX_HEADER_FIELDS = 100;
export const MAX_HEADER_BYTES: number = 16 * 1024;

/** The same on a client, where what is wrong with metadata is its caller's mistake. */
export function appendCallerMetadata(headers: Metadata, metadata: Metadata): void {
  try {
    appendMetadata(headers, metadata);
  } catch (cause) {
    const message = reasonOf(cause);
    throw new RpcError(Code.InvalidArgument, message, { status: Status.ClientError, cause });
  }
}

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
  if (size > MAX_HEADER_FIELDS) return `${size} header fields are more than the limit of ${MAX_HEADER_FIELDS}`;
  const tooLarge = sizeOf(raw) > MAX_HEADER_BYTES;
  return tooLarge ? `the headers are larger than the limit of ${MAX_HEADER_BYTES} bytes` : undefined;
}

/** The size of header fields as HTTP/2 counts it: 32 bytes for each beside its name and value. */
export function sizeOf(raw: readonly string[]): number {
  let bytes = raw.length * 16;
  for (const text of raw) bytes += text.length;
  return bytes;
}

/** Compresses a message for sending; `undefined` for one that is better sent as it is. */
export function compressMessage(
  bytes: Uint8Array,
  compression: Compression | undefined,
  options: Pick<ProtocolOptions, "compressMinBytes">,
): Uint8Array | Promise<Uint8Array> | undefined {
  if (compression === undefined || bytes.byteLength < options.compressMinBytes) return undefined;
  return compression.compress(bytes);
}

/** Inflates a received message, up to the limit. `onBadData` makes the error for bytes that are not in that encoding. */
export async function decompressMessage(
  bytes: Uint8Array,
  compression: Compression,
  options: Pick<ProtocolOptions, "maxMessageBytes">,
  onBadData: (message: string, cause: unknown) => RpcError,
): Promise<Uint8Array> {
  const { maxMessageBytes } = options;
  try {
    return plainBytes(await compression.decompress(bytes, maxMessageBytes));
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw onBadData(`message is not ${compression.name} data`, cause);
    throw new RpcError(
      Code.ResourceExhausted,
      `message inflates to more than the limit of ${maxMessageBytes} bytes (option maxMessageBytes of the receiver)`,
      { status: Status.BadRequest, cause },
    );
  }
}
