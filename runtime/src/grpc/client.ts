/** Sub-protocol B, client half: converts an HTTP/2 exchange to a call (spec: Sub-protocol B). */
import { commit, type RequestContext } from "../call/attempt.ts";
import {
  type Call,
  type CallRequest,
  type Method,
  payloadOf,
  type StreamRequest,
  type UnaryRequest,
} from "../call/call.ts";
import { Code, Status } from "../call/code.ts";
import { RpcError } from "../call/error.ts";
import { Metadata } from "../call/metadata.ts";
import type { PayloadMethod } from "../call/method.ts";
import { responseCountError } from "../call/outcome.ts";
import { takeTurn } from "../call/turn.ts";
import type { Compression } from "../codec/compression.ts";
import { countOf } from "../codec/values/values.ts";
import { type Body, cancelBody, streamBody, WholeBody } from "../http/body.ts";
import type { HttpRequest, HttpResponse } from "../http/exchange.ts";
import { clipText, decodingReason } from "../protocol/error.ts";
import { limitHeaders } from "../protocol/header-limits.ts";
import { appendCaller } from "../protocol/headers.ts";
import type { GrpcPayload, Payload } from "../protocol/payload.ts";
import type { ClientProtocol } from "../protocol/protocol.ts";
import { aliasPath } from "../protocol/selector.ts";
import { SentMessages } from "../protocol/sent-messages.ts";
import { VERSION } from "../version.ts";
import {
  checkPrefix,
  compressEnvelope,
  encodeEnvelope,
  encodeMessage,
  onlyEnvelope,
  PREFIX_BYTES,
} from "./envelope.ts";
import { codecNameOf, formatTimeout, isWrapperContentType, readResponseCompression, requestFields } from "./headers.ts";
import { inflate, internalError } from "./messages.ts";
import { failure, receiveMessages } from "./response.ts";
import { httpStatusError, readEnd, statusIfReceived, userMetadata } from "./status.ts";

/** The header with a request's message type, for servers and proxies that cannot derive it from the path. */
const MESSAGE_TYPE = "grpc-message-type";

/** Creates the client half of sub-protocol B. */
export const createGrpcClient: ClientProtocol = (unbounded, options): Call => {
  const exchange = limitHeaders(unbounded, options.headerLimits);
  const { codec, maxMessageBytes, messageType = false } = options;
  const { wrapperContentType = "application/grpc+proto" } = options;
  const userAgent = `grpc-ts-triple-es/${VERSION}`;
  const fields = requestFields(`application/grpc+${codec.name}`, options, userAgent).freeze();
  const wrapperFields = requestFields(wrapperContentType, options, userAgent).freeze();
  const jsonFields = requestFields("application/grpc+json", options, userAgent).freeze();

  /** The headers of the last response that was accepted as one without compression. */
  let accepted: Metadata | undefined;
  /** The last two blocks, headers and trailers, without metadata of the user. Engines repeat such objects. */
  let plain: Metadata | undefined;
  let otherPlain: Metadata | undefined;

  function call(request: CallRequest): ReturnType<Call> {
    const context: RequestContext = request.context;
    if (context.onResend !== undefined) {
      context.sentBytes = 0;
      context.receivedBytes = 0;
    }
    return request.stream ? callStream(request) : callUnary(request);
  }

  async function callUnary(request: UnaryRequest): ReturnType<Call> {
    const { method, context } = request;
    const counted: RequestContext = context;
    let response: HttpResponse | undefined;
    /** The error that the server has sent. */
    let received: RpcError | undefined;
    try {
      const encoded = encode(request, request.message);
      const body = new WholeBody(encoded instanceof Uint8Array ? encoded : await encoded);
      response = await exchange(httpRequest(request, body));
      const headers = metadataOf(response.headers);
      const compression = checkResponse(response, method);
      // A call with a trailers-only response may be attempted again, and so may a call with a response that is not gRPC
      // (gRFC A6).
      if (context.attempt !== undefined && !response.headers.has("grpc-status")) commit(context);
      let bytes: Uint8Array;
      try {
        bytes = await response.body.bytes(maxMessageBytes, PREFIX_BYTES, checkPrefix);
      } catch (complaint) {
        received = statusIfReceived(response, headers);
        throw complaint;
      }
      received = readEnd(response, headers, bytes.length > 0);
      if (received !== undefined) throw received;
      const envelope = onlyEnvelope(bytes, maxMessageBytes, responseCountError, method);
      if (counted.receivedBytes !== undefined) counted.receivedBytes = envelope.data.length;
      const data = envelope.compressed ? await inflate(envelope.data, compression, options) : envelope.data;
      const { trailers } = response;
      const error = method.payload && grpcPayload(method).readError?.({ headers, trailers, bytes: data }, options);
      received = error && RpcError.from(error);
      if (received !== undefined) throw received;
      const decoded = decode(method, data);
      const message = decoded instanceof Promise ? await decoded : decoded;
      return { stream: false, message, headers, trailers: metadataOf(trailers) };
    } catch (reason) {
      throw received ?? failure(reason, response, context);
    }
  }

  async function callStream(request: StreamRequest): ReturnType<Call> {
    const { method, context } = request;
    let response: HttpResponse | undefined;
    let received: RpcError | undefined;
    try {
      response = await exchange(httpRequest(request, await requestBody(request)));
      const headers = userMetadata(response.headers);
      const compression = checkResponse(response, method);
      received = trailersOnlyError(response);
      if (received !== undefined) throw received;
      const trailers = new Metadata();
      const messages = receiveMessages(response, response.body, {
        inflate: (data) => inflate(data, compression, options),
        options,
        decode: (bytes) => decode(method, bytes),
        context,
        trailers,
      });
      return { stream: true, messages, headers, trailers };
    } catch (reason) {
      throw received ?? failure(reason, response, context);
    }
  }

  /** Returns the user's metadata in a block of fields. */
  function metadataOf(fields: Metadata): Metadata {
    if (fields === plain || fields === otherPlain) return new Metadata();
    const metadata = userMetadata(fields);
    if (fields.frozen && metadata.size === 0) {
      otherPlain = plain;
      plain = fields;
    }
    return metadata;
  }

  function httpRequest(request: CallRequest, body: Body): HttpRequest {
    const { method, context } = request;
    return {
      method: "POST",
      path: options.useAlias && !payloadOf<Payload>(method)?.grpc ? aliasPath(method, () => method.name) : method.path,
      version: "2",
      headers: requestHeaders(request),
      body,
      signal: context.signal,
      context,
    };
  }

  function requestHeaders({ method, headers: metadata, selector, context }: CallRequest): Metadata {
    const common =
      method.payload === undefined ? fields : payloadOf<Payload>(method)?.grpcJson ? jsonFields : wrapperFields;
    const timeoutMs = context.timeoutMs();
    const plain = timeoutMs === undefined && selector.version === undefined && selector.group === undefined;
    // Most calls add no fields. An engine recognizes the shared fields and reuses their encoding.
    if (plain && metadata.size === 0 && !messageType) return common;
    const headers = new Metadata(common);
    // A user agent in the caller's metadata replaces the default, because the field must not be sent twice.
    if (metadata.has("user-agent")) headers.delete("user-agent");
    if (timeoutMs !== undefined) headers.append("grpc-timeout", formatTimeout(timeoutMs));
    const type = metadata.get(MESSAGE_TYPE) ?? (messageType ? method.input?.typeName : undefined);
    if (type !== undefined) headers.append(MESSAGE_TYPE, type);
    const others = metadata.has(MESSAGE_TYPE) ? metadata.filter((name) => name !== MESSAGE_TYPE) : metadata;
    appendCaller(headers, { selector, headers: others });
    return headers;
  }

  function encode({ method, context }: CallRequest, message: object): Uint8Array | Promise<Uint8Array> {
    let envelope: Uint8Array;
    try {
      envelope =
        method.payload === undefined
          ? encodeMessage(codec, method.input, message, method.codecs?.input)
          : encodeEnvelope(grpcPayload(method).encodeRequest(method, message, options));
    } catch (reason) {
      throw RpcError.from(reason, Code.InvalidArgument);
    }
    return compressEnvelope(envelope, options.sendCompression, options, context) ?? envelope;
  }

  /** Encodes the messages of a request. A single one becomes a whole body, sent in one flush and retried transparently. */
  async function requestBody(request: StreamRequest): Promise<Body> {
    const envelopes = new SentMessages(request.messages, (message) => encode(request, message));
    if (request.method.kind !== "server_streaming") return streamBody(envelopes);
    return new WholeBody(await streamBody(envelopes).bytes(Number.POSITIVE_INFINITY));
  }

  function decode(method: Method, bytes: Uint8Array, hasTurn = false): object | Promise<object> {
    const turn = hasTurn ? undefined : takeTurn(bytes.length);
    if (turn !== undefined) return turn.then(() => decode(method, bytes, true));
    try {
      if (method.payload !== undefined) return grpcPayload(method).decodeResponse(method, bytes, options);
      return codec.decode(method.output, bytes, method.codecs?.output, countOf(bytes, options.maxMessageValues));
    } catch (cause) {
      if (cause instanceof RpcError) throw cause;
      const wanted = method.output === undefined ? `the result of ${method.path}` : method.output.typeName;
      throw internalError(`response cannot be decoded as ${wanted}: ${decodingReason(cause)}`, cause);
    }
  }

  /**
   * Throws for a response that is not gRPC, and returns the compression of its messages. Peers send `grpc-status` with
   * any HTTP status, and it takes precedence over that status.
   */
  function checkResponse(response: HttpResponse, method: Method): Compression | undefined {
    const isPlain = response.status === 200 && method.payload === undefined;
    if (isPlain && response.headers === accepted) return undefined;
    const contentType = response.headers.get("content-type");
    const payload = payloadOf<Payload>(method);
    const wanted = payload?.grpcJson ? "json" : codec.name;
    const wrapped = payload?.grpc !== undefined && isWrapperContentType(contentType ?? "");
    const name = wrapped ? wanted : codecNameOf(contentType);
    try {
      if (name === undefined || (response.status !== 200 && !response.headers.has("grpc-status"))) {
        throw httpStatusError(response.status, contentType);
      }
      // A plain application/grpc does not name the codec.
      if (name !== wanted && contentType?.includes("+")) {
        const problem = `asked for application/grpc+${wanted}, but the server sent ${clipText(contentType, 100)}`;
        throw new RpcError(Code.Internal, problem);
      }
      const compression = readResponseCompression(response.headers, options);
      if (isPlain && compression === undefined && response.headers.frozen) accepted = response.headers;
      return compression;
    } catch (reason) {
      cancelBody(response.body);
      throw reason;
    }
  }

  return call;
};

function grpcPayload(method: PayloadMethod): GrpcPayload {
  const { path, kind } = method;
  const payload = payloadOf<Payload>(method);
  const grpc = payload?.grpc ?? payload?.grpcJson;
  if (grpc !== undefined) return grpc;
  const message =
    kind === "unary"
      ? `${path} has messages that travel over HTTP RPC only; use the protocol "http-rpc" for it`
      : `${path} has a stream of plain JSON, which travels over gRPC-Web only; use triple-es/json or triple-es/fetch for it`;
  throw new RpcError(Code.Unimplemented, message, { status: Status.ClientError });
}

/** Returns the error of a stream with a trailers-only response, and cancels its body. Such a call may be retried. */
function trailersOnlyError(response: HttpResponse): RpcError | undefined {
  if (!response.headers.has("grpc-status")) return undefined;
  const error = readEnd(response, response.headers, false);
  if (error !== undefined) cancelBody(response.body);
  return error;
}
