/**
 * Sub-protocol B, server half: converts a gRPC request over HTTP/2 to a call and its result to a response (spec:
 * Sub-protocol B).
 */
import type { DescMessage } from "@bufbuild/protobuf";
import type { CallResponse, Handler, StreamResponse, UnaryResponse } from "../call/call.ts";
import { Code } from "../call/code.ts";
import { eachWithin } from "../call/context.ts";
import { maskUnknownError, RpcError } from "../call/error.ts";
import { endMessages } from "../call/message-stream.ts";
import { Metadata } from "../call/metadata.ts";
import type { GrpcPayloadCall } from "../call/method.ts";
import { requestCountError } from "../call/outcome.ts";
import { nextSmallStep } from "../call/time-slice.ts";
import { decodeMessage } from "../codec/bounded-codec.ts";
import { type Compression, createNegotiation } from "../codec/compression.ts";
import { emptyBody, streamBody, wholeBody } from "../http/body.ts";
import type { HttpRequest, HttpResponse } from "../http/exchange.ts";
import { decodingReason, notFound, wrongResponseKind } from "../protocol/error.ts";
import type { FieldLimits } from "../protocol/header-limits.ts";
import { appendBounded, checkHeaders, isReservedName, type RequestHeaders } from "../protocol/headers.ts";
import type { ServerProtocolOptions } from "../protocol/options.ts";
import { handlerOf, methodsOf, payloadOptionsOf } from "../protocol/payload.ts";
import type { ServerProtocol } from "../protocol/protocol.ts";
import { readSelector } from "../protocol/selector.ts";
import { authorizeCall } from "../server/authorize.ts";
import { ServerContext } from "../server/call-context.ts";
import { limitTimeout } from "../server/call-limits.ts";
import { type ContentType, createContentTypes, isGrpcContentType } from "./content-type.ts";
import {
  checkPrefix,
  compressEnvelope,
  encodeEnvelope,
  encodeMessage,
  onlyEnvelope,
  PREFIX_BYTES,
} from "./envelope.ts";
import { readRequestHeaders } from "./headers.ts";
import { inflate, inflater } from "./inflate.ts";
import { internalError, ReceivedMessages } from "./messages.ts";
import { ResponseEnvelopes, type ResponseWriter } from "./response-envelopes.ts";
import { okTrailers, userMetadata, writeError } from "./status.ts";

/** A call whose headers have been read. */
interface GrpcCall {
  readonly request: HttpRequest;
  readonly handler: Handler;
  readonly headers: RequestHeaders;
  readonly contentType: ContentType;
  readonly context: ServerContext;
  /** The payload of methods whose messages have no schema. */
  readonly payload: GrpcPayloadCall | undefined;
}

/** Creates the server half of sub-protocol B. */
export function createGrpcServer(options: ServerProtocolOptions): ServerProtocol {
  const limits = options.headerLimits.response;
  const negotiate = createNegotiation(options.compressions);
  const contentTypes = createContentTypes(options);

  function serve(request: HttpRequest, handler: Handler | undefined): Promise<HttpResponse> {
    const name = request.headers.get("content-type") ?? "";
    const contentType = contentTypes.find(name, handler);
    if (request.version !== "2" || request.method !== "POST" || contentType === undefined) {
      return Promise.resolve(contentTypes.refuse(request, name, handler));
    }
    let call: GrpcCall;
    try {
      call = openCall(request, handler, contentType);
    } catch (reason) {
      return Promise.resolve(failure(contentType.fields, asRpcError(reason, request.path), limits));
    }
    const { context } = call;
    if (call.handler.method.kind !== "unary") return serveStream(call).catch((reason) => failed(reason, call));
    if (!context.limited) return serveUnary(call);
    return context.run(() => serveUnary(call)).catch((reason) => failed(reason, call));
  }

  function openCall(request: HttpRequest, handler: Handler | undefined, contentType: ContentType): GrpcCall {
    if (handler === undefined) throw notFound(request.path);
    const headers = readRequestHeaders(request.headers, options, negotiate);
    const { timeoutMs } = headers;
    const context = new ServerContext(request, limitTimeout(timeoutMs, handler.limits));
    const payload = handler.method.payload?.server?.openGrpc(methodsOf(handler), payloadOptionsOf(handler, options));
    return { request, handler, headers, contentType, context, payload };
  }

  /**
   * Answers a unary call and never rejects. It contains only the steps that wait, because the variables of this async
   * function stay in memory while the call is in progress.
   */
  async function serveUnary(call: GrpcCall): Promise<HttpResponse> {
    try {
      const authorizing = authorizeCall(call.handler, call.request, call.context);
      if (authorizing !== undefined) await authorizing;
      const body = await call.request.body.bytes(maxMessageBytes(call), PREFIX_BYTES, checkPrefix);
      const message = readMessage(call, body);
      const response = await callUnary(call, message instanceof Promise ? await message : message);
      const written = writeResponse(call, response);
      const answer = written instanceof Promise ? await written : written;
      call.context.answered();
      return answer;
    } catch (reason) {
      return failed(reason, call);
    }
  }

  function maxMessageBytes({ handler }: GrpcCall): number {
    return handler.limits?.maxMessageBytes ?? options.maxMessageBytes;
  }

  function readMessage(call: GrpcCall, body: Uint8Array): object | Promise<object> {
    const { compressed, data } = onlyEnvelope(body, maxMessageBytes(call), requestCountError, call.handler.method);
    if (!compressed) return decode(call, data);
    const limit = { maxMessageBytes: maxMessageBytes(call) };
    return inflate(data, call.headers.compression, limit).then((inflated) => decode(call, inflated));
  }

  function callUnary(call: GrpcCall, message: object): Promise<CallResponse> {
    const { request, context, payload } = call;
    const { headers } = request;
    const selector = readSelector(headers);
    if (payload === undefined) {
      const { method } = call.handler;
      return call.handler.call({ stream: false, method, message, headers, selector, context });
    }
    const { method } = payload;
    const answer = (reason: unknown): UnaryResponse => ({ stream: false, ...payload.encodeError(reason) });
    const called = handlerOf(call.handler, method).call({ stream: false, method, message, headers, selector, context });
    return called.catch(answer);
  }

  function writeResponse(call: GrpcCall, response: CallResponse): HttpResponse | Promise<HttpResponse> {
    if (response?.stream !== false) throw wrongResponseKind((call.payload ?? call.handler).method);
    const envelope = encode(call, response.message);
    const { responseCompression } = call.headers;
    const compressing = compressEnvelope(envelope, responseCompression, call.handler.compression ?? options);
    // The encoding is sent only if it is used, so that small responses share the header fields of all calls.
    if (compressing === undefined) return unaryResponse(call, response, envelope, limits);
    return compressing.then((compressed) => unaryResponse(call, response, compressed, limits, responseCompression));
  }

  async function serveStream(call: GrpcCall): Promise<HttpResponse> {
    const { request, handler, headers, context } = call;
    let calling: ReturnType<Handler["call"]> | undefined;
    const limit = { maxMessageBytes: maxMessageBytes(call) };
    try {
      const authorizing = authorizeCall(handler, request, context);
      if (authorizing !== undefined) await context.race(() => Promise.resolve(authorizing));
      const response = await context.race(() => {
        calling = handler.call({
          stream: true,
          method: handler.method,
          messages: new ReceivedMessages(request.body, {
            inflate: inflater(headers.compression, limit),
            options: limit,
            decode: (bytes) => decode(call, bytes),
          }),
          headers: request.headers,
          selector: readSelector(request.headers),
          context,
        });
        return calling;
      });
      if (!response?.stream) throw wrongResponseKind(handler.method);
      const trailers = new Metadata();
      return {
        status: 200,
        headers: responseHeaders(call, response.headers, headers.responseCompression, limits),
        body: streamBody(
          new ResponseEnvelopes(new StreamWriter(call, response, trailers), eachWithin(context, response.messages)),
        ),
        trailers,
      };
    } catch (reason) {
      context.close();
      if (calling !== undefined) waitUntil(request, calling.then(endMessages));
      throw reason;
    }
  }

  /** Writes a streaming response. At its end, the trailers report success or the error. */
  class StreamWriter implements ResponseWriter {
    readonly #call: GrpcCall;
    readonly #response: StreamResponse;
    readonly #trailers: Metadata;

    constructor(call: GrpcCall, response: StreamResponse, trailers: Metadata) {
      this.#call = call;
      this.#response = response;
      this.#trailers = trailers;
    }

    encode(message: object): Uint8Array | Promise<Uint8Array> {
      const { headers, handler } = this.#call;
      const envelope = encode(this.#call, message);
      return compressEnvelope(envelope, headers.responseCompression, handler.compression ?? options) ?? envelope;
    }

    end(): void {
      this.#trailers.appendAll(okTrailers(this.#response.trailers, limits));
      this.#call.context.answered();
      this.close();
    }

    fail(reason: unknown): void {
      const error = asRpcError(reason, this.#call.request.path);
      this.#call.context.answered(error);
      writeError(this.#trailers, error, limits);
      this.#trailers.appendAll(userMetadata(this.#response.trailers));
    }

    masked(reason: unknown): RpcError {
      const { context, handler } = this.#call;
      return maskUnknownError(reason, { method: handler.method, context }, options.onError);
    }

    cancelled(error: RpcError): void {
      this.#call.context.answered(error);
    }

    close(): void {
      this.#call.context.close();
    }
  }

  function encode({ contentType, handler: { method }, payload }: GrpcCall, message: object): Uint8Array {
    if (method.payload === undefined)
      return encodeMessage(contentType.codec, method.output, message, method.codecs?.output);
    return encodeEnvelope((payload as GrpcPayloadCall).encode(message));
  }

  function decode(call: GrpcCall, bytes: Uint8Array): object | Promise<object> {
    const turn = nextSmallStep(bytes.byteLength);
    return turn === undefined ? decodeNow(call, bytes) : turn.then(() => decodeNow(call, bytes));
  }

  function decodeNow({ contentType, handler, payload }: GrpcCall, bytes: Uint8Array): object | Promise<object> {
    const { method, limits: own } = handler;
    if (method.payload !== undefined) return (payload as GrpcPayloadCall).decode(bytes);
    const { input, codecs } = method;
    const { maxMessageValues = options.maxMessageValues } = own ?? {};
    try {
      return decodeMessage(contentType.codec, input, bytes, maxMessageValues, codecs?.input);
    } catch (cause) {
      return cannotDecode(input, cause);
    }
  }

  function failed(reason: unknown, { request, contentType, context }: GrpcCall): HttpResponse {
    const error = asRpcError(reason, request.path);
    context.answered(error);
    return failure(contentType.fields, error, limits);
  }

  /**
   * Masks an error that is not from users' code, such as a response that cannot be encoded, and reports it to
   * `onError`.
   */
  function asRpcError(reason: unknown, path: string): RpcError {
    if (reason instanceof RpcError) return reason;
    options.onError(reason, path);
    return new RpcError(Code.Internal, "internal server error", { cause: reason });
  }

  return { accepts: isGrpcContentType, serve };
}

function cannotDecode({ typeName }: DescMessage, cause: unknown): never {
  if (cause instanceof RpcError) throw cause;
  throw internalError(`request cannot be decoded as ${typeName}: ${decodingReason(cause)}`, cause);
}

function waitUntil(request: HttpRequest, work: Promise<unknown>): void {
  work.catch(() => {});
  request.waitUntil?.(work);
}

function unaryResponse(
  call: GrpcCall,
  { headers, trailers }: CallResponse,
  envelope: Uint8Array,
  limits: FieldLimits,
  compression?: Compression,
): HttpResponse {
  return {
    status: 200,
    headers: responseHeaders(call, headers, compression, limits),
    body: wholeBody(envelope),
    trailers: okTrailers(trailers, limits),
  };
}

function responseHeaders(
  call: GrpcCall,
  metadata: Metadata,
  compression: Compression | undefined,
  limits: FieldLimits,
): Metadata {
  const { fields } = call.contentType;
  if (metadata.size === 0 && compression === undefined) return fields;
  const headers = new Metadata(fields);
  if (compression !== undefined) headers.append("grpc-encoding", compression.name);
  appendBounded(headers, metadata, limits);
  return headers;
}

/**
 * Creates the response of a call that failed before its response began: trailers-only, unless the handler has set
 * leading metadata. A stream that fails later reports the error in its trailers.
 */
function failure(fields: Metadata, error: RpcError, limits: FieldLimits): HttpResponse {
  const headers = new Metadata(fields);
  const leading = error.headers.filter((name) => !isReservedName(name));
  const known = error.headers.get("grpc-accept-encoding");
  if (known !== undefined) headers.append("grpc-accept-encoding", known);
  if (leading.size === 0 || checkHeaders(leading, limits) !== undefined) {
    writeError(headers, error, limits);
    return { status: 200, headers, body: emptyBody, trailers: new Metadata() };
  }
  const trailers = new Metadata();
  writeError(trailers, error, limits);
  return { status: 200, headers: headers.appendAll(leading), body: emptyBody, trailers };
}
