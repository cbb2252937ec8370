/**
 * Sub-protocol A, server half: converts an HTTP request to a unary call and its result to a response (spec:
 * Sub-protocol A: unary call). The results of a server stream are server-sent events.
 */
import type { CallResponse, UnaryRequest } from "../call/call.ts";
import type { RpcError } from "../call/error.ts";
import { eachOf } from "../call/message-stream.ts";
import { Metadata } from "../call/metadata.ts";
import { type Compression, createNegotiation, type Negotiation } from "../codec/compression.ts";
import { streamBody, tooLarge, WholeBody } from "../http/body.ts";
import type { HttpRequest, HttpResponse } from "../http/exchange.ts";
import { notFound, wrongResponseKind } from "../protocol/error.ts";
import { checkHeadersSize, type FieldLimits } from "../protocol/header-limits.ts";
import { appendBounded, isReservedName } from "../protocol/headers.ts";
import { compressMessage, decompressMessage } from "../protocol/message.ts";
import {
  type Answer,
  type Destination,
  type Handler,
  handlerOf,
  methodsOf,
  type ServerProtocol,
} from "../protocol/protocol.ts";
import { ServerContext } from "../server/call-context.ts";
import { createOriginPolicy } from "../server/cors.ts";
import type { ResolvedRouterOptions } from "../server/options.ts";
import { asRpcError, authorizeCall, counted, receive, unaryRequest } from "../server/receive.ts";
import { answerStream } from "../server/response-stream.ts";
import {
  chooseResponse,
  createFormats,
  type Formats,
  type HttpRpcCall,
  type HttpRpcHeaders,
  type ResponseFormat,
  responseFields,
} from "./content-type.ts";
import { encodeErrorBody, httpStatusOf } from "./error-response.ts";
import { chooseEvents, EVENT_HEADERS, EventStream } from "./events.ts";
import { checkOrigin, readCallHeaders, TRAILER_PREFIX } from "./headers.ts";

/** It accepts requests of every content type, and answers unsupported ones with an error. */
export class HttpRpcServer implements ServerProtocol {
  readonly #options: ResolvedRouterOptions;
  readonly #negotiate: Negotiation;
  readonly #formats: Formats;

  constructor(options: ResolvedRouterOptions) {
    this.#options = options;
    this.#negotiate = createNegotiation(options.compressions);
    this.#formats = createFormats(options);
  }

  accept(): Answer {
    return (request, destination) => this.serve(request, destination, this.#formats);
  }

  /** Answers a request with the formats of its address. Never rejects. */
  serve(request: HttpRequest, destination: Destination, formats: Formats): Promise<HttpResponse> {
    const { handler, selector } = destination;
    const { path = request.path } = formats;
    let call: HttpRpcCall;
    try {
      if (handler === undefined) throw notFound(path);
      destination.headers ??= this.#readHeaders(request, handler, formats);
      const headers = destination.headers as HttpRpcHeaders;
      const context = new ServerContext(request, headers.timeoutMs, handler.limits.maxTimeoutMs);
      const payload = handler.payload?.openHttpRpc(methodsOf(handler), handler.limits);
      call = { request, handler, selector, headers, context, format: headers.format, payload };
    } catch (reason) {
      return Promise.resolve(this.#failed(reason, path));
    }
    const { context } = call;
    if (!context.limited) return this.#answer(call, path);
    const answering =
      handler.method.kind === "unary"
        ? context.run(() => this.#answer(call, path))
        : context.race(() => this.#answer(call, path));
    return answering.catch((reason) => this.#failed(reason, path, context));
  }

  #readHeaders(request: HttpRequest, handler: Handler, formats: Formats): HttpRpcHeaders {
    const format = formats.findRequest(request, handler);
    const headers = readCallHeaders(request.headers, this.#options, this.#negotiate);
    if (handler.csrf && format.safelisted !== undefined) {
      const { cors } = this.#options;
      checkOrigin(request, format.safelisted, cors && createOriginPolicy(cors));
    }
    const accept = request.headers.get("accept");
    const responseFormat =
      handler.method.kind === "unary"
        ? chooseResponse(accept, format, formats, handler)
        : chooseEvents(accept, formats, handler);
    return { ...headers, format, responseFormat, contentLength: Number(request.headers.get("content-length")) };
  }

  /** Decodes the request, calls the handler, and encodes the response (spec: Payload of sub-protocol A). Never rejects. */
  async #answer(call: HttpRpcCall, path: string): Promise<HttpResponse> {
    const { request, handler, headers, context, format, payload } = call;
    const { compression, contentLength, responseFormat, responseCompression } = headers;
    const { maxMessageBytes } = handler.limits;
    try {
      const authorizing = authorizeCall(call);
      if (authorizing !== undefined) await authorizing;
      // If the length of the body is known, a body over the limit is refused before it arrives.
      if (contentLength > maxMessageBytes) throw tooLarge(maxMessageBytes, contentLength);
      const body = await request.body.bytes(maxMessageBytes);
      if (context.onArrived !== undefined) await context.onArrived();
      if (format.load !== undefined) await format.load();
      const inflated = compression && (await decompressMessage(body, compression, handler.limits, format.malformed));
      const message = receive(call, inflated === undefined ? body : counted(call, inflated));
      const called = unaryRequest(call, message instanceof Promise ? await message : message);
      const { method } = called;
      if (method.kind !== "unary") return await this.#answerEvents(call, called);
      const response = await handlerOf(handler, method).call(called);
      if (response?.stream !== false) throw wrongResponseKind(method);
      const data = responseFormat.encode(response.message, method, payload);
      const compressed = responseCompression && (await compressMessage(data, responseCompression, handler.limits));
      const limits = this.#options.headerLimits.response;
      const fields = responseHeaders(responseFormat, response, compressed && responseCompression, limits);
      context.answered();
      return { status: 200, headers: fields, body: new WholeBody(compressed ?? data), trailers: EMPTY_TRAILERS };
    } catch (reason) {
      return this.#failed(reason, path, context);
    }
  }

  #answerEvents(call: HttpRpcCall, { message, ...called }: UnaryRequest): Promise<HttpResponse> {
    const handler = handlerOf(call.handler, called.method);
    const callHandler = () => handler.call({ ...called, stream: true, messages: eachOf([message]) });
    return answerStream(call, callHandler, (response) => {
      const headers = new Metadata(EVENT_HEADERS);
      appendBounded(headers, response.headers, this.#options.headerLimits.response);
      return {
        status: 200,
        headers,
        body: streamBody(new EventStream(call, response, this.#options)),
        trailers: EMPTY_TRAILERS,
      };
    });
  }

  #failed(reason: unknown, path: string, context?: ServerContext): HttpResponse {
    const error = asRpcError(reason, path, this.#options.onError);
    context?.close();
    context?.answered(error);
    return rpcErrorResponse(error, this.#options);
  }
}

function responseHeaders(
  { fields }: ResponseFormat,
  { headers, trailers }: CallResponse,
  compression: Compression | undefined,
  limits: FieldLimits,
): Metadata {
  if (headers.size === 0 && trailers.size === 0 && compression === undefined) return fields;
  const written = new Metadata(fields);
  if (compression !== undefined) written.append("content-encoding", compression.name);
  appendBounded(written, headers, limits);
  appendBounded(written, trailers, limits, TRAILER_PREFIX);
  return written;
}

/** Trailing metadata is sent as headers, so there are no trailers. */
const EMPTY_TRAILERS = new Metadata().freeze();
const ERROR_FIELDS = responseFields("application/json");
/**
 * The fields of responses with status 415. A peer that sent another protocol's content type could interpret a plain
 * application/json as an error of that protocol, so a parameter is added.
 */
const UNSUPPORTED_FIELDS = responseFields("application/json; charset=utf-8");

/**
 * Creates the response for an error, without its metadata if that exceeds the limits. `registry` has the types of the details that
 * are also sent as JSON.
 */
export function rpcErrorResponse(
  error: RpcError,
  { registry, headerLimits }: Partial<Pick<ResolvedRouterOptions, "registry" | "headerLimits">> = {},
): HttpResponse {
  const status = httpStatusOf(error);
  const fields = status === 415 ? UNSUPPORTED_FIELDS : ERROR_FIELDS;
  const headers = new Metadata(fields);
  // Protocol headers are taken only from a refusal. Other errors may come from a user's code or from a call to another
  // server.
  headers.appendAll("httpStatus" in error ? error.headers : error.headers.filter((name) => !isReservedName(name)));
  // Status 401 requires a challenge (RFC 9110, section 15.5.2). Interceptors can set one in an error's trailers; the
  // default is the scheme in the specification's examples.
  if (status === 401 && !headers.has("www-authenticate")) {
    headers.append("www-authenticate", error.trailers.get("www-authenticate") ?? "Bearer");
  }
  for (const [name, value] of error.trailers) {
    if (!isReservedName(name)) headers.appendRaw([TRAILER_PREFIX + name, value]);
  }
  const isTooLarge = headerLimits !== undefined && checkHeadersSize(headers, headerLimits.response) !== undefined;
  return {
    status,
    headers: isTooLarge ? fields : headers,
    body: new WholeBody(encodeErrorBody(error, registry)),
    trailers: EMPTY_TRAILERS,
  };
}
