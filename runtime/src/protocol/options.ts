/**
 * Options of the sub-protocols, resolved once, when a transport or a server is made.
 */
import { callHook, type ErrorHook } from "../call/error.ts";
import type { PayloadOptions } from "../call/method.ts";
import type { Codec } from "../codec/codec.ts";
import { type Compression, IDENTITY } from "../codec/compression.ts";
import { decodedLimit } from "../codec/large-message.ts";
import { checkWireNames } from "../codec/wire-name.ts";

/** What a protocol needs to know. Resolved once, when a transport or a server is made. */
export interface ProtocolOptions {
  /** Compressions that are understood, best first. */
  readonly compressions: readonly Compression[];
  /** Messages below this many bytes are sent uncompressed. */
  readonly compressMinBytes: number;
  /** Largest message accepted, in bytes, before and after inflating. */
  readonly maxMessageBytes: number;
  /** Most memory, in bytes, that a message may take when it is decoded, by estimate. Default: 16 times `maxMessageBytes`. */
  readonly maxDecodedBytes?: number | undefined;
}

/** What a client of sub-protocol A needs to know that leaves compression to its exchange. */
export interface UnaryOptions extends Pick<ProtocolOptions, "maxMessageBytes"> {
  /** What sub-protocol A makes of its one argument in JSON: the specification's array, or the bare object. */
  readonly jsonBody: "array" | "object";
  /** Whether methods are called by their alias. */
  readonly useAlias: boolean;
}

export interface ClientProtocolOptions extends ProtocolOptions, UnaryOptions, PayloadOptions {
  readonly codec: Codec;
  /** The codec of responses of sub-protocol A, asked for with `accept`. Default: that of requests. */
  readonly accept?: Codec | undefined;
  /** Whether requests of sub-protocol B name the type of their messages in `grpc-message-type`. Default: false. */
  readonly messageType?: boolean | undefined;
  /** The compression to send with. `undefined`: none. */
  readonly sendCompression: Compression | undefined;
  /** What sub-protocol B calls wrapped messages: what peers do, or the specification. Default: the former. */
  readonly wrapperContentType?: WrapperContentType | undefined;
}

export interface ServerProtocolOptions extends ProtocolOptions, PayloadOptions {
  /** Codecs that are understood. */
  readonly codecs: readonly Codec[];
  /**
   * Whether pages of another origin may call, with the credentials of their visitor (cookies, `authorization`) or without.
   * Default: none may.
   */
  readonly allowsOrigin?: ((origin: string, withCredentials: boolean) => boolean) | undefined;
  /** The most that bodies of sub-protocol A may consist of. */
  readonly bodyLimits: BodyLimits;
  /** Whether sub-protocol A refuses requests without `tri-protocol-version`. */
  readonly requireProtocolVersion: boolean;
  /** Whether sub-protocol B refuses requests without `te: trailers`. */
  readonly requireTe: boolean;
  /** Told of every error whose text the peer does not get to see, once each. */
  readonly onError: ErrorHook;
}

/** The most that a body of sub-protocol A may consist of. A body with more is refused with 400. */
export interface BodyLimits {
  /** Parts of a multipart body. */
  readonly parts: number;
  /** Values of a form. */
  readonly formValues: number;
  /** Elements of an XML document. */
  readonly elements: number;
}

const DEFAULT_BODY_LIMITS: BodyLimits = { parts: 128, formValues: 1_000, elements: 10_000 };

/** The content types of wrapped messages (spec: Extended content type). No known peer uses the one with `wrapper`. */
export type WrapperContentType = "application/grpc+proto" | "application/triple+wrapper";

/** 4 MiB, as gRPC has it. */
export const DEFAULT_MAX_MESSAGE_BYTES: number = 4 * 1024 * 1024;

type Given<Options, Needed extends keyof Options> = Pick<Options, Needed> & {
  readonly [Name in keyof Options]?: Options[Name] | undefined;
};

/** Fills in the default, and validates the limit. */
function resolveLimit({ maxMessageBytes = DEFAULT_MAX_MESSAGE_BYTES }: Given<ProtocolOptions, never>): number {
  if (maxMessageBytes > 0 && maxMessageBytes <= 2 ** 31 - 1) return maxMessageBytes;
  throw new RangeError(`maxMessageBytes must be between 1 and ${2 ** 31 - 1}, not ${maxMessageBytes}`);
}

/** Fills in the defaults of a group of limits, each a positive integer. Throws for an unknown name. */
function resolveLimits<Limits extends { readonly [Limit in keyof Limits]: number }>(
  option: string,
  defaults: Limits,
  given: { readonly [Limit in keyof Limits]?: number | undefined } = {},
): Limits {
  const limits = { ...defaults };
  for (const [name, value] of Object.entries<number | undefined>(given)) {
    if (!Object.hasOwn(defaults, name)) {
      throw new TypeError(`${option}: "${name}" is not among: ${Object.keys(defaults).join(", ")}`);
    }
    if (value === undefined) continue;
    if (!Number.isSafeInteger(value) || value < 1) {
      throw new RangeError(`${option}.${name} must be a positive integer, not ${value}`);
    }
    Object.assign(limits, { [name]: value });
  }
  return limits;
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
  given: Given<ClientProtocolOptions, "codec" | "compressions"> & { readonly javaNames?: boolean | undefined },
): ClientProtocolOptions {
  const { codec, accept, messageType, sendCompression } = given;
  return { ...resolveOptions(given), ...resolveUnaryOptions(given), codec, accept, messageType, sendCompression };
}

/** Fills in the defaults of a server. */
export function resolveServerOptions(
  given: Given<Omit<ServerProtocolOptions, "bodyLimits">, "codecs" | "compressions"> & {
    readonly bodyLimits?: { readonly [Limit in keyof BodyLimits]?: BodyLimits[Limit] | undefined } | undefined;
  },
): ServerProtocolOptions {
  const { codecs, requireProtocolVersion = false, requireTe = false, onError } = given;
  checkWireNames("codecs", codecs);
  checkWireNames("compressions", given.compressions, [IDENTITY]);
  const options = resolveOptions(given);
  return {
    ...options,
    maxDecodedBytes: decodedLimit({ ...given, ...options }),
    codecs,
    bodyLimits: resolveLimits("bodyLimits", DEFAULT_BODY_LIMITS, given.bodyLimits),
    requireProtocolVersion,
    requireTe,
    onError:
      onError === undefined ? printError : (error, path) => callHook("the hook onError", () => onError(error, path)),
  };
}

const printError: ErrorHook = (error, path) => console.error(`triple-es: ${path} failed:`, error);
