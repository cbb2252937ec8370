/** Options of the sub-protocols, validated and filled in once, when a transport or a server is created. */
import type { Interceptor } from "../call/call.ts";
import { callHook, type ErrorHook } from "../call/error.ts";
import { assertAmount, assertFunctions } from "../call/option.ts";
import type { Codec } from "../codec/codec.ts";
import type { Compression } from "../codec/compression.ts";
import { DEFAULT_MAX_MESSAGE_VALUES } from "../codec/values/values.ts";
import { type HeaderLimits, type HeaderLimitsInit, MAX_FIELD_LIMITS, resolveHeaderLimits } from "./header-limits.ts";
import type { PayloadOptions } from "./payload.ts";

/** Options of `createInMemoryTransport`, which transports of Node have too. */
export interface InMemoryTransportOptions {
  /** The protocol: `grpc`, for all four kinds of call, or `http-rpc` (HTTP RPC), for unary calls and server streaming. Default: `grpc`. */
  readonly protocol?: "grpc" | "http-rpc" | undefined;
  /** The codec of messages. Default: `proto`. */
  readonly codec?: "proto" | "json" | Codec | undefined;
  /** Serializations of the values of interface methods over `grpc`, such as `hessian2`. Default: none. */
  readonly serializations?: readonly { readonly name: string }[] | undefined;
  /** Interceptors that wrap every call, the first one outermost. Default: none. */
  readonly interceptors?: readonly Interceptor[] | undefined;
}

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
export function resolveOptions(given: Given<ProtocolOptions, "compressions">): ProtocolOptions {
  const { compressions, compressMinBytes = 1024, maxMessageValues = DEFAULT_MAX_MESSAGE_VALUES } = given;
  assertAmount("compressMinBytes", compressMinBytes);
  const isCount = Number.isInteger(maxMessageValues) || maxMessageValues === Number.POSITIVE_INFINITY;
  if (!isCount || maxMessageValues <= 0) {
    throw new RangeError(`maxMessageValues must be a positive integer or Infinity, not ${maxMessageValues}`);
  }
  const maxMessageBytes = assertAmount("maxMessageBytes", resolveLimit(given));
  return { compressions, compressMinBytes, maxMessageBytes, maxMessageValues };
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

/** Fills in the default of `onError`: the error is printed. An error that the hook itself throws is printed too. */
export function resolveErrorHook(onError: ErrorHook | undefined): ErrorHook {
  assertFunctions({ onError });
  return onError === undefined ? printError : (error, path) => callHook("the hook onError", () => onError(error, path));
}

const printError: ErrorHook = (error, path) => console.error(`triple-es: ${path} failed:`, error);
