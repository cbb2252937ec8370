/**
 * Methods: what generated code declares of each, and how its messages travel. Most messages have a Protocol Buffers schema and
 * travel as the codec of a transport or server encodes them; a method without schemas brings a {@link Payload} instead.
 */
import type { DescMessage, DescMethod } from "@bufbuild/protobuf";
import type { Metadata } from "./metadata.ts";

/** The four kinds of call. Sub-protocol A carries only `unary` (spec: What the service does). */
export type MethodKind = "unary" | "server_streaming" | "client_streaming" | "bidi_streaming";

interface MethodFacts {
  readonly kind: MethodKind;
  /** Full name of the service, such as `greet.v1.GreetService`. */
  readonly service: string;
  /** Name of the method as declared, such as `Greet`. */
  readonly name: string;
  /** Path of a call: `/<service>/<name>` (spec: Call addressing fields). */
  readonly path: string;
  /** Promise of the service's author about calling the method twice (`idempotency_level`). Default: none. */
  readonly idempotency?: "no_side_effects" | "idempotent";
  readonly deprecated?: boolean;
  /** Names that other implementations have for service and method, for calls by them (plugin option `java_names`). */
  readonly alias?: MethodAlias;
}

export interface MethodAlias {
  readonly service: string;
  readonly method: string;
}

/** The binary format of one message, as functions that the plugin generated (option `codecs`). */
export interface GeneratedCodec {
  /** Encodes a message after `headroom` zero bytes. Default: none. */
  encode(message: object, headroom?: number): Uint8Array;
  /** Throws an `Error` for bytes that are not such a message. */
  decode(bytes: Uint8Array): object;
}

/** A method whose messages have Protocol Buffers schemas. */
export interface ProtoMethod extends MethodFacts {
  readonly input: DescMessage;
  readonly output: DescMessage;
  /** Codecs of its messages for protobuf's binary format, with `codecs=true`. Default: protobuf-es encodes them by their schemas. */
  readonly codecs?: { readonly input: GeneratedCodec; readonly output: GeneratedCodec };
  /** The descriptor, where code was generated with `descriptors`. `descriptorOf` finds it for most other methods too. */
  readonly descriptor?: () => DescMethod;
  readonly payload?: undefined;
}

/** A method whose messages have no schema. */
export interface PayloadMethod extends MethodFacts {
  readonly input?: undefined;
  readonly output?: undefined;
  readonly descriptor?: undefined;
  readonly payload: Payload;
}

/** One method of a service, as generated code declares it. Plain data, shared by clients, servers and interceptors. */
export type Method = ProtoMethod | PayloadMethod;

/** The kinds of body of sub-protocol A that are not a codec's (spec: Additional request content types). */
export type BodyKind = "multipart" | "form" | "text" | "xml";

/** Encoding of messages without a schema. One payload may serve many methods: each function is given the method. */
export interface Payload {
  /** In sub-protocol B. Absent: the method cannot be called over it. */
  readonly grpc?: GrpcPayload;
  /** In sub-protocol A. */
  readonly httpRpc: HttpRpcPayload;
  /** The half of servers. Absent: the method cannot be served. */
  readonly server?: ServerPayload;
}

/** Options of a transport or server that its protocols pass on to payloads without reading them. */
export interface PayloadOptions {
  /** Formats of values inside wrapped messages. Default: none. */
  readonly serializations?: readonly { readonly name: string }[] | undefined;
}

/** Client half of sub-protocol B: wrapped messages (spec: Payload schema of the extended content type). */
export interface GrpcPayload {
  /** Throws an `RpcError` for a message that cannot be sent. */
  encodeRequest(method: Method, message: object, options: PayloadOptions): Uint8Array;
  /** Throws for bytes that are not a response of the method. */
  decodeResponse(method: Method, bytes: Uint8Array, options: PayloadOptions): object;
  /** The error that a successful response carries in place of its message; `undefined` if it carries none. */
  readError?(response: GrpcResponse, options: PayloadOptions): Error | undefined;
}

/** A unary response of sub-protocol B that has ended with `grpc-status: 0`. */
export interface GrpcResponse {
  readonly headers: Metadata;
  readonly trailers: Metadata;
  /** Its message, inflated. */
  readonly bytes: Uint8Array;
}

/** Client half of sub-protocol A. */
export interface HttpRpcPayload {
  /** The content type of messages is `application/<name>`. */
  readonly name: string;
  /** Of responses, where it is another one. */
  readonly answer?: string;
  /** In JSON, `form` is what an only argument is sent as: the specification's array of one, or bare. Throws an `RpcError`. */
  encodeRequest(method: Method, message: object, form: "array" | "object"): Uint8Array;
  /** Throws for bytes that are not a response of the method. */
  decodeResponse(method: Method, bytes: Uint8Array): object | Promise<object>;
  /** The path of a call, where it is not the method's. */
  path?(method: Method): string;
}

export interface ServerPayload {
  /** Further paths at which servers answer calls of the method. */
  paths(method: Method): readonly string[];
  /** Whether a server can tell calls of two methods of one path apart by their messages. */
  isOverload(method: Method, other: Method): boolean;
  /** Whether messages of the method's responses can be written in a format other than JSON. */
  canEncode(method: Method, format: "text" | "xml"): boolean;
  /** Adapts an implementation, which may take and return something else than messages, to messages. */
  bind(method: Method, implementation: (...values: never[]) => unknown): (input: never, context: never) => unknown;
  /** Begins a call over sub-protocol B of one of the methods of a path. */
  openGrpc(methods: readonly Method[], options: PayloadOptions): GrpcPayloadCall;
  /** Begins a call over sub-protocol A of one of the methods of a path. */
  openHttpRpc(methods: readonly Method[]): HttpRpcPayloadCall;
}

interface PayloadCall {
  /** The method that is called: the first of the path's, until the request has been decoded. */
  readonly method: Method;
}

/** One call over sub-protocol B on a server. */
export interface GrpcPayloadCall extends PayloadCall {
  /** Decodes a request. Throws an `RpcError`. */
  decode(bytes: Uint8Array): object;
  /** Encodes the message of a response. */
  encode(message: object): Uint8Array;
  /** What a unary response carries that reports the error as its message. Throws an error that is to be a status. */
  encodeError(error: unknown): PayloadError;
}

/** A unary response that reports an error as its message. */
export interface PayloadError {
  readonly message: object;
  readonly headers: Metadata;
  readonly trailers: Metadata;
}

/** One call over sub-protocol A on a server. */
export interface HttpRpcPayloadCall extends PayloadCall {
  /** Decodes a request. Throws an `RpcError`, or anything for bytes that are not in the format. */
  decode(body: PayloadBody): object | Promise<object>;
  /** Encodes the message of a response. */
  encode(message: object, format: "json" | "text" | "xml"): Uint8Array;
}

/** A request body of sub-protocol A. */
export interface PayloadBody {
  readonly bytes: Uint8Array;
  /** Parses the body as far as that takes no types. Throws an `RpcError`, or anything for bytes that are malformed. */
  parse(): BodyContent | Promise<BodyContent>;
}

/** A body, or a part of one, parsed as far as that takes no types. */
export type BodyContent =
  | { readonly shape: "json"; readonly bytes: Uint8Array }
  | { readonly shape: "text"; readonly text: string }
  | { readonly shape: "pairs"; readonly values: readonly Named<string>[] }
  | { readonly shape: "parts"; readonly values: readonly Named<BodyPart>[] }
  | { readonly shape: "element"; readonly element: BodyElement };

/** A value of a body under the name that the body gives it. */
export interface Named<V> {
  readonly name: string;
  readonly value: V;
}

/** A part of a multipart body. */
export interface BodyPart {
  readonly bytes: Uint8Array;
  /** The content of the part, by its own content type. Throws as {@link PayloadBody.parse} does. */
  parse(): BodyContent;
}

/** An element of XML. */
export interface BodyElement {
  /** Without a prefix. */
  readonly name: string;
  readonly children: readonly BodyElement[];
  readonly text: string;
}
