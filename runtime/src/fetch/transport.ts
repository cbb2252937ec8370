/** The options of transports on `fetch`, and the choice of the sub-protocol of a call. */
import type { Call, Interceptor } from "../call/call.ts";
import { assertOneOf } from "../call/option.ts";
import { type Codec, findCodec } from "../codec/codec.ts";
import type { Exchange } from "../http/exchange.ts";
import { resolveUnaryOptions, type UnaryOptions } from "../protocol/options.ts";
import type { HttpRpcPayload, Payload } from "../protocol/payload.ts";

/** Options of a transport on `fetch`. */
export interface FetchTransportOptions {
  /**
   * The protocol of unary calls and server streaming: `http-rpc` (HTTP RPC, streams as server-sent events), or `grpc-web` (gRPC
   * in the framing of gRPC-Web). Default: `http-rpc` for unary calls, `grpc-web` for server streaming. Client streaming needs
   * `createWebSocketTransport`.
   */
  readonly protocol?: "http-rpc" | "grpc-web" | undefined;
  /** The codec of messages. Default: `json`. */
  readonly codec?: "proto" | "json" | Codec | undefined;
  /** The codec of responses, requested by the header `accept`. Default: the codec of requests, without the header. */
  readonly accept?: "proto" | "json" | Codec | undefined;
  /**
   * The JSON body of a message: the specification's array of one element, or the bare object. The option also applies to a
   * single argument of an interface method, of any type. Default: `array`.
   */
  readonly jsonBody?: "array" | "object" | undefined;
  /**
   * True if methods are called by their names in Dubbo for Java, which Java servers require. Code generated with
   * `java_names` contains the names. Default: false, the names of the proto file.
   */
  readonly javaNames?: boolean | undefined;
  /** Maximum size of a received message, in bytes. A larger one fails the call with `resource_exhausted`. Default: 4 MiB. */
  readonly maxMessageBytes?: number | undefined;
  /** Interceptors that wrap every call, the first one outermost. Default: none. */
  readonly interceptors?: readonly Interceptor[] | undefined;
  /** The URL of the server: absolute, or in a browser a path on the page's origin. It must not have a query. */
  readonly baseUrl: string;
  /** The mode of `fetch` for cookies and other credentials. Default: the default of `fetch`, `same-origin`. */
  readonly credentials?: "omit" | "same-origin" | "include" | undefined;
  /** The function to use in place of the global `fetch`. Default: the global `fetch`. */
  readonly fetch?: typeof fetch | undefined;
}

/** Options with defaults. */
interface ResolvedFetchOptions extends UnaryOptions {
  readonly codec: Codec;
  readonly accept: Codec | undefined;
}

/** Fills in the defaults. Throws a `TypeError` or `RangeError` for an invalid option. */
export function resolveFetchOptions(options: FetchTransportOptions): ResolvedFetchOptions {
  const { codec = "json", accept, jsonBody = "array" } = options;
  assertOneOf("jsonBody", jsonBody, ["array", "object"]);
  return { ...resolveUnaryOptions(options), codec: findCodec(codec), accept: accept && findCodec(accept) };
}

/** Selects the call by the option `protocol`; default: `httpRpc`, and `grpcWeb` for streams. Throws a `TypeError` for others. */
export function selectProtocol(protocol: FetchTransportOptions["protocol"], httpRpc: Call, grpcWeb: Call): Call {
  if (protocol === undefined) return (request) => (request.stream ? grpcWeb : httpRpc)(request);
  assertOneOf("protocol (gRPC: createWebSocketTransport)", protocol, ["http-rpc", "grpc-web"]);
  return protocol === "grpc-web" ? grpcWeb : httpRpc;
}

/** The payload of streaming methods that contains the code for streams, for transports that do not contain it. */
export interface StreamPayload extends Payload {
  readonly createStreamCall: (exchange: Exchange, schemas: HttpRpcPayload, options: UnaryOptions) => Call;
}

/** Selects the call of a transport by the payload of the method: that of a {@link StreamPayload}, or `unary`. */
export function selectByPayload(
  unary: Call,
  ...parts: [exchange: Exchange, schemas: HttpRpcPayload, options: UnaryOptions]
): Call {
  return (request) => {
    const { createStreamCall } = (request.method.payload ?? {}) as Partial<StreamPayload>;
    return (createStreamCall ? createStreamCall(...parts) : unary)(request);
  };
}
