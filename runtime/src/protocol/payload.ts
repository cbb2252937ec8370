/** Payloads: the encoding of messages without a schema, for clients and servers of both sub-protocols. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Metadata } from "../call/metadata.ts";
import type { Method } from "../call/method.ts";

/** The encoding of messages without a schema. Many methods may share one payload: each function receives the method. */
export interface Payload {
  /** The client's half of sub-protocol B. If it is absent, the method cannot be called over sub-protocol B. */
  readonly grpc?: GrpcPayload;
  /** The same for messages that are not wrapped: their content type is `application/grpc+json`. */
  readonly grpcJson?: GrpcPayload;
  /** The client's half of sub-protocol A. */
  readonly httpRpc: HttpRpcPayload;
  /** The server's half. If it is absent, the method cannot be served. */
  readonly server?: ServerPayload;
}

/** Options of a transport or server that protocols pass on to payloads. */
export interface PayloadOptions {
  /** Serializations of the values inside wrapped messages. Default: none. */
  readonly serializations?: readonly { readonly name: string }[] | undefined;
  /** Maximum number of values of a message. Default: 65,536. */
  readonly maxMessageValues?: number | undefined;
}

/** The client half of a payload in sub-protocol B: wrapped messages (spec: Payload schema of the extended content type). */
export interface GrpcPayload {
  /** Encodes a request. Throws an `RpcError` for a message that cannot be sent. */
  encodeRequest(method: Method, message: object, options: PayloadOptions): Uint8Array;
  /** Decodes a response. Throws an error for bytes that are not a response of the method. */
  decodeResponse(method: Method, bytes: Uint8Array, options: PayloadOptions): object;
  /** Returns the error that a successful response carries in place of its message; `undefined` if it carries none. */
  readError?(response: GrpcResponse, options: PayloadOptions): Error | undefined;
}

/** A unary response of sub-protocol B that has ended with `grpc-status: 0`. */
export interface GrpcResponse {
  /** The response headers. */
  readonly headers: Metadata;
  /** The response trailers, complete. */
  readonly trailers: Metadata;
  /** The message, decompressed. */
  readonly bytes: Uint8Array;
}

/** The client half of a payload in sub-protocol A. */
export interface HttpRpcPayload {
  /** The subtype of the content type of messages, `application/<name>`. */
  readonly name: string;
  /** The subtype of the content type of responses. Default: `name`. */
  readonly answer?: string;
  /**
   * Encodes a request. In JSON, `form` selects whether a single argument is sent in the specification's array of one
   * element, or bare. Throws an `RpcError` for a message that cannot be sent.
   */
  encodeRequest(method: Method, message: object, form: "array" | "object", options?: PayloadOptions): Uint8Array;
  /** Decodes a response. Throws an error for bytes that are not a response of the method. */
  decodeResponse(method: Method, bytes: Uint8Array, options?: PayloadOptions): object | Promise<object>;
  /** Returns the path of a call. Default: the path of the method, or of its alias. */
  path?(method: Method): string;
}

/** The server half of a payload, for both sub-protocols. */
export interface ServerPayload {
  /** The only codec of messages, which are not wrapped in sub-protocol B. Default: they are wrapped, and all bodies accepted. */
  readonly codec?: "json";
  /** Returns additional paths at which servers answer calls of the method. */
  paths(method: Method): readonly string[];
  /** Reports whether a server can distinguish calls of two methods of one path by their messages. */
  isOverload(method: Method, other: Method): boolean;
  /** Reports whether the result of the method is text, which formats without any structure can carry. */
  isText(method: Method): boolean;
  /** Adapts an implementation, whose arguments and result may differ from messages, to a function of messages. */
  bind(method: Method, implementation: (...values: never[]) => unknown): (input: never, context: never) => unknown;
  /** Begins a call over sub-protocol B to one of the methods of a path. */
  openGrpc(methods: readonly Method[], options: PayloadOptions): GrpcPayloadCall;
  /** Begins a call over sub-protocol A to one of the methods of a path. */
  openHttpRpc(methods: readonly Method[], options: PayloadOptions): HttpRpcPayloadCall;
  /** Returns the JSON Schemas of the messages in sub-protocol A, for documents. If it is absent, they are not described. */
  describe?(method: Method, shared: SharedSchemas): MessageSchemas;
  /** Returns the names of its types in Java, the result last, and adds their definitions to `types`. Default: unknown. */
  define?(method: Method, types: Map<string, JsonObject>): readonly string[];
}

/** The JSON Schemas (draft 2020-12) of a method's messages. */
export interface MessageSchemas {
  /** The schema of requests. */
  readonly request: JsonObject;
  /** The schema of responses. */
  readonly response: JsonObject;
  /** An example of a request. */
  readonly example?: JsonValue | undefined;
  /** A remark for readers of the document. */
  readonly note?: string;
}

/** The schemas of a document to which others refer by name. */
export interface SharedSchemas {
  /** Returns a reference to a schema, `create`d on its first use. A name that another type has is extended. */
  refer(type: object, name: string, create: () => JsonObject): JsonObject;
}

/** The part of a call on a server that both sub-protocols have. */
export interface PayloadCall {
  /** The method that is called. Before the request has been decoded, it is the first method of the path. */
  readonly method: Method;
}

/** One call over sub-protocol B on a server. */
export interface GrpcPayloadCall extends PayloadCall {
  /** Decodes a request. Throws an `RpcError` for invalid bytes. */
  decode(bytes: Uint8Array): object;
  /** Encodes the message of a response. */
  encode(message: object): Uint8Array;
  /** Returns the unary response with the error in its message. Throws an error that must be sent as a status. */
  encodeError(error: unknown): PayloadError;
}

/** A unary response that carries an error in its message. */
export interface PayloadError {
  /** The message of the response, in the form that `encode` of the call takes. */
  readonly message: object;
  /** The headers of the response. */
  readonly headers: Metadata;
  /** The trailers of the response. */
  readonly trailers: Metadata;
}

/** One call over sub-protocol A on a server. */
export interface HttpRpcPayloadCall extends PayloadCall {
  /** Decodes a request. Throws an `RpcError`, or another error for bytes that are malformed in the body's format. */
  decode(body: PayloadBody): object;
  /** Encodes the message of a response in JSON. */
  encode(message: object): Uint8Array;
  /** Returns the result in the message of a response, for formats other than JSON. */
  resultOf(message: object, notation: Notation): NamedResult;
}

/** The representation of values that JSON lacks, in a format of responses. */
export interface Notation {
  /** Represents an integer of 64 bits. */
  long(value: bigint): unknown;
  /** Represents a floating-point number, such as one that is not finite. */
  double(value: number): unknown;
  /** Represents bytes. */
  bytes(value: Uint8Array): unknown;
  /** Represents an instant. */
  date(value: Date): unknown;
}

/** A result with the name of its type, which formats with a root element use. */
export interface NamedResult {
  /** The name of the type: that of its class without the package, or `list`. */
  readonly name: string;
  /** The value. */
  readonly result: ResultValue;
}

/** A value without a schema, for response formats other than JSON. Single values are in the format's notation. */
export type ResultValue =
  | { readonly shape: "null" }
  | { readonly shape: "single"; readonly value: unknown }
  | { readonly shape: "list"; readonly items: readonly ResultValue[] }
  | { readonly shape: "map"; readonly entries: readonly NamedValue<ResultValue>[] }
  | { readonly shape: "object"; readonly fields: readonly NamedValue<ResultValue>[] }
  /** An object or a list of undeclared type. */
  | { readonly shape: "json"; readonly value: object };

/** A request body of sub-protocol A. */
export interface PayloadBody {
  /** The body, decompressed. */
  readonly bytes: Uint8Array;
  /** Maximum number of its values. */
  readonly maxMessageValues: number;
  /** Parses the body without the types of its values. Throws an `RpcError`, or another error for malformed bytes. */
  parse(): BodyContent;
}

/** A body, or a part of one, parsed without the types of its values. */
export type BodyContent =
  | { readonly shape: "json"; readonly bytes: Uint8Array }
  | { readonly shape: "text"; readonly text: string }
  | { readonly shape: "pairs"; readonly values: readonly NamedValue<string>[] }
  | { readonly shape: "parts"; readonly values: readonly NamedValue<BodyPart>[] }
  | { readonly shape: "element"; readonly element: BodyElement };

/** A value with its name in the body. */
export interface NamedValue<V> {
  /** The name. It need not be unique. */
  readonly name: string;
  /** The value. */
  readonly value: V;
}

/** A part of a multipart body. */
export interface BodyPart {
  /** The content of the part. */
  readonly bytes: Uint8Array;
  /** Parses the content of the part by its own content type. Throws as {@link PayloadBody.parse} does. */
  parse(): BodyContent;
}

/** An XML element. */
export interface BodyElement {
  /** The name without its prefix. */
  readonly name: string;
  /** The elements in this one, in order. */
  readonly children: readonly BodyElement[];
  /** The text of the element, without that of its children. */
  readonly text: string;
}
