/** Options of the sub-protocols, validated and filled in once, when a transport or a server is created. */
import type { Registry } from "@bufbuild/protobuf";
import { callHook, type ErrorHook } from "../call/error.ts";
import { resolveLimitGroup } from "../call/option.ts";
import type { Codec } from "../codec/codec.ts";
import { type Compression, IDENTITY } from "../codec/compression.ts";
import { DEFAULT_MAX_MESSAGE_VALUES } from "../codec/values/values.ts";
import { checkCodecNames, checkWireNames } from "../codec/wire-name.ts";
import {
  DEFAULT_FIELD_LIMITS,
  type HeaderLimits,
  type HeaderLimitsInit,
  MAX_FIELD_LIMITS,
  resolveHeaderLimits,
} from "./header-limits.ts";
import type { PayloadOptions } from "./payload.ts";

/** Options of clients and servers of both sub-protocols. */
export interface ProtocolOptions {
  /** Supported compressions, in order of preference. */
  readonly compressions: readonly Compression[];
  /** Messages with fewer bytes than this are sent uncompressed. */
  readonly compressMinBytes: number;
  /** Maximum size of a received message, in bytes, before and after decompression. */
  readonly maxMessageBytes: number;
  /** Maximum number of values of a received message. */
  readonly maxMessageValues: number;
}

/** Options of a client of HTTP RPC whose exchange compresses and decompresses bodies itself. */
export interface UnaryOptions extends Pick<ProtocolOptions, "maxMessageBytes"> {
  /** The JSON body of HTTP RPC: the specification's array of one argument, or the bare object. */
  readonly jsonBody: "array" | "object";
  /** True if methods are called by their alias. */
  readonly useAlias: boolean;
}

export interface ClientProtocolOptions extends ProtocolOptions, UnaryOptions, Pick<PayloadOptions, "serializations"> {
  readonly codec: Codec;
  /** Limits on the headers of requests that are sent, and of responses that are received. */
  readonly headerLimits: HeaderLimits;
  /** The codec of responses of HTTP RPC, requested by the header `accept`. Default: the codec of requests. */
  readonly accept?: Codec | undefined;
  /** True if requests of gRPC send the type of their messages in `grpc-message-type`. Default: false. */
  readonly messageType?: boolean | undefined;
  /** The compression of requests. `undefined`: none. */
  readonly sendCompression: Compression | undefined;
  /**
   * The content type of wrapped messages in gRPC (spec: Extended content type). No known peer uses `application/triple+wrapper`.
   * Default: `application/grpc+proto`.
   */
  readonly wrapperContentType?: "application/grpc+proto" | "application/triple+wrapper" | undefined;
}

/** Decides whether pages of an origin may call, with credentials or without: cookies, `authorization` (option `cors`). */
export type OriginPolicy = (origin: string, withCredentials: boolean) => boolean;

export interface ServerProtocolOptions extends ProtocolOptions, Pick<PayloadOptions, "serializations"> {
  /** Supported codecs. */
  readonly codecs: readonly Codec[];
  /** Decides about pages of other origins. Default: none may call. */
  readonly allowsOrigin?: OriginPolicy | undefined;
  /** Limits on the headers of requests that are received, and of responses that are sent. */
  readonly headerLimits: HeaderLimits;
  /** Limits on the parts of bodies of HTTP RPC. */
  readonly bodyLimits: BodyLimits;
  /** True if HTTP RPC refuses requests without `tri-protocol-version`. */
  readonly requireProtocolVersion: boolean;
  /** True if gRPC refuses requests without `te: trailers`. */
  readonly requireTe: boolean;
  /** The types of error details that HTTP RPC sends as JSON too. Default: none. */
  readonly registry?: Registry | undefined;
  /** The hook that is called once with every error whose text is hidden from the peer. */
  readonly onError: ErrorHook;
}

/** Limits on the parts of a body of HTTP RPC. A body that exceeds a limit is refused with HTTP status 400. */
export interface BodyLimits {
  /** Maximum number of parts in a multipart body. */
  readonly parts: number;
  /** Maximum number of values in a form. */
  readonly formValues: number;
  /** Maximum number of elements in an XML document. */
  readonly elements: number;
}

const DEFAULT_BODY_LIMITS: BodyLimits = { parts: 128, formValues: 1_000, elements: 10_000 };

/** The default of `maxMessageBytes`: 4 MiB, as in gRPC. */
export const DEFAULT_MAX_MESSAGE_BYTES: number = 4 * 1024 * 1024;

type Given<Options, Needed extends keyof Options> = Pick<Options, Needed> & {
  readonly [Name in keyof Options]?: Options[Name] | undefined;
};

/** Fills in the default of `maxMessageBytes`. Throws a `RangeError` for an invalid value. */
function resolveLimit({ maxMessageBytes = DEFAULT_MAX_MESSAGE_BYTES }: Given<ProtocolOptions, never>): number {
  if (maxMessageBytes > 0 && maxMessageBytes <= 2 ** 31 - 1) return maxMessageBytes;
  throw new RangeError(`maxMessageBytes must be between 1 and ${2 ** 31 - 1}, not ${maxMessageBytes}`);
}

/** Fills in the defaults that clients and servers share. Entry points provide the defaults of codecs and compressions. */
function resolveOptions(given: Given<ProtocolOptions, "compressions">): ProtocolOptions {
  const { compressions, compressMinBytes = 1024, maxMessageValues = DEFAULT_MAX_MESSAGE_VALUES } = given;
  checkCompressMinBytes(compressMinBytes);
  const isCount = Number.isInteger(maxMessageValues) || maxMessageValues === Number.POSITIVE_INFINITY;
  if (!isCount || maxMessageValues <= 0) {
    throw new RangeError(`maxMessageValues must be a positive integer or Infinity, not ${maxMessageValues}`);
  }
  return { compressions, compressMinBytes, maxMessageBytes: resolveLimit(given), maxMessageValues };
}

/** Returns a value of the option `compressMinBytes`. Throws a `RangeError` if it is not a number of 0 or more. */
export function checkCompressMinBytes(bytes: number): number {
  if (typeof bytes === "number" && bytes >= 0) return bytes;
  throw new RangeError(`compressMinBytes must be a number of bytes, at least 0, not ${bytes}`);
}

/** Fills in the defaults of a client of unary calls over `fetch`. */
export function resolveUnaryOptions(
  given: Given<UnaryOptions, never> & { readonly javaNames?: boolean | undefined },
): UnaryOptions {
  const { jsonBody = "array", javaNames: useAlias = false } = given;
  return { maxMessageBytes: resolveLimit(given), jsonBody, useAlias };
}

/** Fills in the defaults of a client. */
export function resolveClientOptions(
  given: Given<Omit<ClientProtocolOptions, "headerLimits">, "codec" | "compressions"> & {
    readonly headerLimits?: HeaderLimitsInit | undefined;
    readonly javaNames?: boolean | undefined;
  },
): ClientProtocolOptions {
  const { codec, accept, messageType, sendCompression } = given;
  const headerLimits = resolveHeaderLimits(MAX_FIELD_LIMITS, given.headerLimits);
  const general = { ...resolveOptions(given), ...resolveUnaryOptions(given), headerLimits };
  return { ...general, codec, accept, messageType, sendCompression };
}

/** Fills in the defaults of a server. */
export function resolveServerOptions(
  given: Given<Omit<ServerProtocolOptions, "bodyLimits" | "headerLimits">, "codecs" | "compressions"> & {
    readonly headerLimits?: HeaderLimitsInit | undefined;
    readonly bodyLimits?: { readonly [Limit in keyof BodyLimits]?: BodyLimits[Limit] | undefined } | undefined;
  },
): ServerProtocolOptions {
  const { codecs, requireProtocolVersion = false, requireTe = false, onError } = given;
  for (const [name, value] of Object.entries({ requireProtocolVersion, requireTe })) {
    if (typeof value !== "boolean") throw new TypeError(`${name} must be true or false, not ${JSON.stringify(value)}`);
  }
  checkCodecNames("codecs", codecs);
  checkWireNames("compressions", given.compressions, [IDENTITY, "*"]);
  return {
    ...resolveOptions(given),
    codecs,
    headerLimits: resolveHeaderLimits(DEFAULT_FIELD_LIMITS, given.headerLimits),
    bodyLimits: resolveLimitGroup("bodyLimits", DEFAULT_BODY_LIMITS, given.bodyLimits),
    requireProtocolVersion,
    requireTe,
    registry: given.registry,
    onError: resolveErrorHook(onError),
  };
}

/** Fills in the default of `onError`: the error is printed. An error that the hook itself throws is printed too. */
export function resolveErrorHook(onError: ErrorHook | undefined): ErrorHook {
  return onError === undefined ? printError : (error, path) => callHook("the hook onError", () => onError(error, path));
}

const printError: ErrorHook = (error, path) => console.error(`triple-es: ${path} failed:`, error);
