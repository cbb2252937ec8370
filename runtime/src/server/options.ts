/** Options of a router, validated and filled in once. */
import type { Registry } from "@bufbuild/protobuf";
import type { Authorize, Interceptor } from "../call/call.ts";
import type { ErrorHook } from "../call/error.ts";
import { assertArrays, assertFunctions, assertObject, assertOneOf, resolveLimitGroup } from "../call/option.ts";
import { dropsCallbacks } from "../call/platform.ts";
import type { Codec } from "../codec/codec.ts";
import { type Compression, IDENTITY } from "../codec/compression.ts";
import { checkCodecNames, checkWireNames } from "../codec/wire-name.ts";
import {
  DEFAULT_FIELD_LIMITS,
  type HeaderLimits,
  type HeaderLimitsInit,
  resolveHeaderLimits,
} from "../protocol/header-limits.ts";
import { resolveErrorHook, resolveOptions } from "../protocol/options.ts";
import { checkMaxTimeout } from "./call-limits.ts";
import type { CorsOptions } from "./cors.ts";
import { createLoadShedding } from "./load-shedding.ts";

/** Options of a router. */
export interface RouterOptions {
  /** Serializations of the values of interface methods in gRPC, such as `hessian2`. Default: none. */
  readonly serializations?: readonly { readonly name: string }[] | undefined;
  /** Interceptors that wrap every call of every service, the first one outermost. Default: none. */
  readonly interceptors?: readonly Interceptor[] | undefined;
  /**
   * Decides whether a call may begin, before any of its message is read: a large upload without a valid token is refused at
   * once. It receives the method, the request headers, the selector and the context of the call, and throws an `RpcError` to
   * refuse it. Values that it sets in `context.values` are there for interceptors and the handler. Calls of health and
   * reflection are included. Default: every call may begin.
   */
  readonly authorize?: Authorize | undefined;
  /**
   * True if the server refuses unary calls as `unavailable` that it could not answer within their deadlines, because it gets
   * more calls than it can handle. It then answers nearly as many in time as without overload. A function gets calls, as
   * `authorize` does, and returns false for those that are never refused, such as payments. Without effect in Cloudflare Workers. Default:
   * false.
   */
  readonly shedLoad?: boolean | ((call: Parameters<Authorize>[0]) => boolean) | undefined;
  /** Supported codecs of messages. Default: `proto` and `json`. */
  readonly codecs?: readonly Codec[] | undefined;
  /**
   * Supported compressions, in order of preference. Default: gzip and deflate if the platform has `CompressionStream`; for
   * servers and routers of `triple-es/node` gzip, br, deflate, and zstd from Node 22.15 on.
   */
  readonly compressions?: readonly Compression[] | undefined;
  /** Messages of responses with fewer bytes than this are not compressed. Default: 1,024. */
  readonly compressMinBytes?: number | undefined;
  /** Maximum size of a received message, in bytes, before and after decompression. Default: 4 MiB. */
  readonly maxMessageBytes?: number | undefined;
  /**
   * Maximum number of values of a received message: of messages in it and entries of maps, with a fraction for each scalar
   * and unknown field, and more than one for a message of many fields. A message with more is refused with
   * `resource_exhausted` before it is decoded, because two bytes can become an object of many fields. Default: 65,536.
   */
  readonly maxMessageValues?: number | undefined;
  /**
   * Limits on bodies of HTTP RPC: `parts` of a multipart body (default 128), `formValues` of a form (default 1,000)
   * and `elements` of an XML document (default 10,000). A body that exceeds a limit is refused with HTTP status 400.
   */
  readonly bodyLimits?: Partial<BodyLimits> | undefined;
  /**
   * Limits of header blocks, `request` for received headers and `response` for the metadata that handlers send, each
   * with `fields` (default 100, at most 2,000) and `bytes` (default 16,384, at most 65,536; each field adds 32 to its
   * name and value, as in HTTP/2). A request that exceeds a limit is refused with `resource_exhausted` (431 in HTTP
   * RPC); a response fails with `internal`.
   */
  readonly headerLimits?: HeaderLimitsInit | undefined;
  /**
   * Maximum timeout of a call, in milliseconds: a longer timeout of a client is reduced to it, and calls without a
   * timeout get it, streams included. A call that takes longer fails with `deadline_exceeded`. The limit of the same
   * name of a service or method takes precedence. Watches of the health service have no maximum. Default: `Infinity`,
   * no maximum.
   */
  readonly maxTimeoutMs?: number | undefined;
  /** True if HTTP RPC refuses requests without `tri-protocol-version`. Default: false. */
  readonly requireProtocolVersion?: boolean | undefined;
  /**
   * True if gRPC refuses requests without `te: trailers`. The specification requires the header, to detect
   * proxies that drop trailers. Default: false, as in gRPC for Go and Java.
   */
  readonly requireTe?: boolean | undefined;
  /**
   * The types of error details, such as `createRegistry(file_google_rpc_error_details)` of protobuf-es. HTTP RPC also
   * sends details of these types as JSON, in the member `debug`. Default: only details that `createDetail` has created.
   */
  readonly registry?: Registry | undefined;
  /** Other origins whose pages may call (CORS). Default: none. */
  readonly cors?: CorsOptions | undefined;
  /**
   * The rule that selects a service by the version and group of a request: an exact match, or Dubbo's fallback. `fallback`:
   * without an exact match, version 1.0.0 of the same group is selected, then the service without version and group, as in
   * Dubbo for Java. Default: `exact`.
   */
  readonly versionMatch?: "exact" | "fallback" | undefined;
  /** The hook that is called with every error that is hidden from the peer. Default: prints the error with `console.error`. */
  readonly onError?: ErrorHook | undefined;
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

type Filled<Options> = { readonly [Name in keyof Options]-?: Exclude<Options[Name], undefined> };
type WithoutDefault = "authorize" | "cors" | "registry" | "serializations";

/** Options of a router with their defaults. */
export interface ResolvedRouterOptions
  extends Filled<Omit<RouterOptions, WithoutDefault | "bodyLimits" | "headerLimits" | "shedLoad">>,
    Pick<RouterOptions, WithoutDefault> {
  readonly bodyLimits: BodyLimits;
  readonly headerLimits: HeaderLimits;
  /** Returns the load shedding of a method, whose hook runs before `authorize`. */
  readonly shedLoad: ReturnType<typeof createLoadShedding> | undefined;
}

/** Fills in the defaults. Throws a `TypeError` or `RangeError` for an invalid option. */
export function resolveRouterOptions(
  options: RouterOptions & Pick<ResolvedRouterOptions, "codecs" | "compressions">,
): ResolvedRouterOptions & Readonly<Record<keyof RouterOptions, unknown>> {
  const { codecs, compressions, requireProtocolVersion = false, requireTe = false } = options;
  const { authorize, shedLoad = false, interceptors = [], cors, serializations, versionMatch = "exact" } = options;
  assertArrays({ codecs, compressions, interceptors, serializations });
  assertFunctions({ authorize, shedLoad: typeof shedLoad === "boolean" ? undefined : shedLoad });
  assertObject("registry", options.registry, "createRegistry of protobuf-es makes");
  checkCodecNames("codecs", codecs);
  checkWireNames("serializations", serializations ?? []);
  checkWireNames("compressions", compressions, (name) => [IDENTITY, "*"].includes(name));
  return {
    ...resolveOptions(options),
    codecs,
    headerLimits: resolveHeaderLimits(DEFAULT_FIELD_LIMITS, options.headerLimits),
    bodyLimits: resolveLimitGroup("bodyLimits", DEFAULT_BODY_LIMITS, options.bodyLimits),
    requireProtocolVersion: assertOneOf("requireProtocolVersion", requireProtocolVersion, [true, false]),
    requireTe: assertOneOf("requireTe", requireTe, [true, false]),
    registry: options.registry,
    onError: resolveErrorHook(options.onError),
    serializations,
    authorize,
    shedLoad: shedLoad && !dropsCallbacks ? createLoadShedding(shedLoad) : undefined,
    interceptors,
    cors,
    maxTimeoutMs: checkMaxTimeout(options.maxTimeoutMs, "maxTimeoutMs"),
    versionMatch: assertOneOf("versionMatch", versionMatch, ["exact", "fallback"]),
  };
}

/** The names of all options of a router, which are those of their defaults. */
export const ROUTER_OPTIONS: readonly string[] = Object.keys(resolveRouterOptions({ codecs: [], compressions: [] }));
