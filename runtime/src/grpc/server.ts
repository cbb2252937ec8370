/**
 * Sub-protocol B, server half: converts a gRPC request over HTTP/2 to a call and its result to a response (spec:
 * Sub-protocol B).
 */
import type { CallResponse, StreamResponse, UnaryResponse } from "../call/call.ts";
import type { RpcError } from "../call/error.ts";
import { DONE } from "../call/message-stream.ts";
import { Metadata } from "../call/metadata.ts";
import { requestCountError } from "../call/outcome.ts";
import { type Compression, createNegotiation, type Negotiation } from "../codec/compression.ts";
import { type Body, emptyBody, type Step, streamBody, WholeBody } from "../http/body.ts";
import type { HttpRequest, HttpResponse } from "../http/exchange.ts";
import { notFound, wrongResponseKind } from "../protocol/error.ts";
import type { FieldLimits } from "../protocol/header-limits.ts";
import { appendBounded, checkHeaders, isReservedName } from "../protocol/headers.ts";
import {
  type Answer,
  type Destination,
  type Handler,
  handlerOf,
  methodsOf,
  type ServerProtocol,
} from "../protocol/protocol.ts";
import { ServerContext } from "../server/call-context.ts";
import type { ResolvedRouterOptions } from "../server/options.ts";
import { asRpcError, authorizeCall, counted, receive, unaryRequest } from "../server/receive.ts";
import { answerStream, ResponseStream } from "../server/response-stream.ts";
import {
  type ContentTypeFormats,
  createContentTypes,
  type GrpcCall,
  isGrpcContentType,
  refuse,
} from "./content-type.ts";
import { checkPrefix, compressEnvelope, onlyEnvelope, PREFIX_BYTES } from "./envelope.ts";
import { readRequestHeaders } from "./headers.ts";
import { inflate, ReceivedMessages } from "./messages.ts";
import { okTrailers, writeError } from "./status.ts";

export class GrpcServer implements ServerProtocol {
  readonly #options: ResolvedRouterOptions;
  /** Limits of the headers and the trailers of a response. */
  readonly #limits: FieldLimits;
  readonly #negotiate: Negotiation;
  /** Finds the formats of a content type of gRPC. */
  readonly formatsOf: (contentType: string) => ContentTypeFormats;

  constructor(options: ResolvedRouterOptions) {
    this.#options = options;
    this.#limits = options.headerLimits.response;
    this.#negotiate = createNegotiation(options.compressions);
    this.formatsOf = createContentTypes(options.codecs);
  }

  accept(contentType: string): Answer | undefined {
    if (!isGrpcContentType(contentType)) return undefined;
    const formats = this.formatsOf(contentType);
    return (request, destination) => {
      const isGrpc = request.version === "2" && request.method === "POST";
      const answering = isGrpc ? this.serve(request, destination, formats, request.body) : undefined;
      return answering ?? Promise.resolve(refuse(request, destination.handler, this.#options.codecs));
    };
  }

  /** Answers a request with the envelopes in `body`, or returns `undefined` for an unsupported content type. Never rejects. */
  serve(
    request: HttpRequest,
    destination: Destination,
    { codec, wrapper, json }: ContentTypeFormats,
    body: Body,
  ): Promise<HttpResponse> | undefined {
    const { handler, selector } = destination;
    // The method, not the content type, determines whether messages are wrapped.
    const ofPayload = handler?.payload?.codec === undefined ? wrapper : json;
    const format = handler === undefined ? (codec ?? wrapper) : handler.payload === undefined ? codec : ofPayload;
    if (format === undefined) return undefined;
    let call: GrpcCall;
    try {
      if (handler === undefined) throw notFound(request.path);
      destination.headers ??= readRequestHeaders(request.headers, this.#options, this.#negotiate);
      const { headers } = destination;
      const context = new ServerContext(request, headers.timeoutMs, handler.limits.maxTimeoutMs);
      context.sentBytes = 0;
      context.receivedBytes = 0;
      const payload = handler.payload?.openGrpc(methodsOf(handler), handler.limits);
      call = { request, handler, selector, headers, context, format, payload, body };
    } catch (reason) {
      return Promise.resolve(
        failure(format.fields, asRpcError(reason, request.path, this.#options.onError), this.#limits),
      );
    }
    if (handler.method.kind !== "unary") return this.#serveStream(call).catch((reason) => this.#failed(reason, call));
    if (!call.context.limited) return this.#serveUnary(call);
    return call.context.run(() => this.#serveUnary(call)).catch((reason) => this.#failed(reason, call));
  }

  /** Answers a unary call, never rejects, and has only the steps that wait: its variables live as long as the call. */
  async #serveUnary(call: GrpcCall): Promise<HttpResponse> {
    try {
      const { handler, payload } = call;
      const authorizing = (handler.authorize ?? handler.shedding) && authorizeCall(call);
      if (authorizing !== undefined) await authorizing;
      const body = await call.body.bytes(handler.limits.maxMessageBytes, PREFIX_BYTES, checkPrefix);
      if (call.context.onArrived !== undefined) await call.context.onArrived();
      const message = readMessage(call, body);
      const called = unaryRequest(call, message instanceof Promise ? await message : message);
      const response = await (payload === undefined
        ? handler.call(called)
        : handlerOf(handler, payload.method)
            .call(called)
            .catch((reason): UnaryResponse => ({ stream: false, ...payload.encodeError(reason) })));
      const written = this.#writeResponse(call, response);
      const answer = written instanceof Promise ? await written : written;
      call.context.answered();
      return answer;
    } catch (reason) {
      return this.#failed(reason, call);
    }
  }

  #writeResponse(call: GrpcCall, response: CallResponse): HttpResponse | Promise<HttpResponse> {
    const { handler, format, payload, context } = call;
    const { method, limits } = handler;
    if (response?.stream !== false) throw wrongResponseKind((payload ?? handler).method);
    const envelope = format.encode(response.message, method, payload);
    const { responseCompression } = call.headers;
    const compressing = compressEnvelope(envelope, responseCompression, limits, context);
    // The encoding is sent only if it is used, so that small responses share the header fields of all calls.
    if (compressing === undefined) return unaryResponse(format.fields, response, envelope, this.#limits);
    return compressing.then((compressed) =>
      unaryResponse(format.fields, response, compressed, this.#limits, responseCompression),
    );
  }

  async #serveStream(call: GrpcCall): Promise<HttpResponse> {
    const { request, handler, selector, headers, context } = call;
    const { method, limits } = handler;
    if (handler.authorize !== undefined) await context.race(async () => authorizeCall(call));
    const callHandler = (): ReturnType<Handler["call"]> => {
      const messages = new ReceivedMessages(call.body, {
        context,
        inflate: (data) => inflate(data, headers.compression, limits).then((bytes) => counted(call, bytes)),
        waits: headers.compression && method.kind !== "server_streaming" ? () => request.inflated?.(0) : undefined,
        options: limits,
        decode: (bytes) => receive(call, bytes),
      });
      return handler.call({ stream: true, method, messages, headers: request.headers, selector, context });
    };
    return answerStream(call, callHandler, (response) => {
      const trailers = new Metadata();
      return {
        status: 200,
        headers: responseHeaders(call.format.fields, response.headers, headers.responseCompression, this.#limits),
        body: streamBody(new ResponseEnvelopes(call, response, trailers, this.#options)),
        trailers,
      };
    });
  }

  #failed(reason: unknown, { request, format, context }: GrpcCall): HttpResponse {
    const error = asRpcError(reason, request.path, this.#options.onError);
    context.close();
    context.answered(error);
    return failure(format.fields, error, this.#limits);
  }
}

/** The body of a streaming response, with the status in its trailers. */
class ResponseEnvelopes extends ResponseStream<GrpcCall> {
  readonly #response: StreamResponse;
  readonly #trailers: Metadata;

  /** At the end of the messages, `trailers` report success or the error. */
  constructor(call: GrpcCall, response: StreamResponse, trailers: Metadata, options: ResolvedRouterOptions) {
    super(call, response.messages, (message) => this.#encode(message), options);
    this.#response = response;
    this.#trailers = trailers;
  }

  #encode(message: object): Uint8Array | Promise<Uint8Array> {
    const { headers, handler, format, payload, context } = this.call;
    const envelope = format.encode(message, handler.method, payload);
    return compressEnvelope(envelope, headers.responseCompression, handler.limits, context) ?? envelope;
  }

  protected override succeed(): Step {
    this.#trailers.appendAll(okTrailers(this.#response.trailers, this.options.headerLimits.response));
    return DONE;
  }

  protected override fail(error: RpcError): Step {
    writeError(this.#trailers, error, this.options.headerLimits.response, this.#response.trailers);
    return DONE;
  }
}

function readMessage(call: GrpcCall, body: Uint8Array): object | Promise<object> {
  const { handler, headers, context } = call;
  const { maxMessageBytes } = handler.limits;
  const { compressed, data } = onlyEnvelope(body, maxMessageBytes, requestCountError, handler.method);
  context.receivedBytes = data.length;
  if (!compressed) return receive(call, data);
  return inflate(data, headers.compression, handler.limits).then((bytes) => receive(call, counted(call, bytes)));
}

function unaryResponse(
  fields: Metadata,
  { headers, trailers }: CallResponse,
  envelope: Uint8Array,
  limits: FieldLimits,
  compression?: Compression,
): HttpResponse {
  return {
    status: 200,
    headers: responseHeaders(fields, headers, compression, limits),
    body: new WholeBody(envelope),
    trailers: okTrailers(trailers, limits),
  };
}

function responseHeaders(
  fields: Metadata,
  metadata: Metadata,
  compression: Compression | undefined,
  limits: FieldLimits,
): Metadata {
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
