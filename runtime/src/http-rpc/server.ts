/**
 * Sub-protocol A, server half: converts an HTTP request to a unary call and its result to a response (spec:
 * Sub-protocol A: unary call).
 */
import type { Registry } from "@bufbuild/protobuf";
import type { CallResponse, Handler } from "../call/call.ts";
import { Code, Status } from "../call/code.ts";
import { RpcError } from "../call/error.ts";
import { Metadata } from "../call/metadata.ts";
import type { HttpRpcPayloadCall } from "../call/method.ts";
import { nextSmallStep } from "../call/time-slice.ts";
import { type Compression, createNegotiation } from "../codec/compression.ts";
import { tooLarge, wholeBody } from "../http/body.ts";
import type { HttpRequest, HttpResponse } from "../http/exchange.ts";
import { decodingReason, notFound, wrongResponseKind } from "../protocol/error.ts";
import type { FieldLimits } from "../protocol/header-limits.ts";
import { appendBounded, isReservedName, type RequestHeaders } from "../protocol/headers.ts";
import { compressMessage, decompressMessage } from "../protocol/message.ts";
import type { ServerProtocolOptions } from "../protocol/options.ts";
import { handlerOf, methodsOf, payloadOptionsOf } from "../protocol/payload.ts";
import type { ServerProtocol } from "../protocol/protocol.ts";
import { readSelector } from "../protocol/selector.ts";
import { authorizeCall } from "../server/authorize.ts";
import { ServerContext } from "../server/call-context.ts";
import { limitTimeout } from "../server/call-limits.ts";
import { createFormats, type RequestFormat, type ResponseFormat, responseFields } from "./content-type.ts";
import { encodeErrorBody, httpStatusOf, Refusal } from "./error-response.ts";
import { checkOrigin, readCallHeaders, TRAILER_PREFIX } from "./headers.ts";

/** A call whose headers have been read. */
interface HttpRpcCall {
  readonly request: HttpRequest;
  readonly handler: Handler;
  readonly requestFormat: RequestFormat;
  readonly responseFormat: ResponseFormat;
  readonly headers: RequestHeaders;
  readonly context: ServerContext;
  /** The payload of methods whose messages have no schema. */
  readonly payload: HttpRpcPayloadCall | undefined;
}

/**
 * Creates the server half of sub-protocol A. It accepts requests of every content type, and answers unsupported ones
 * with an error.
 */
export function createHttpRpcServer(options: ServerProtocolOptions): ServerProtocol {
  const limits = options.headerLimits.response;
  const negotiate = createNegotiation(options.compressions);
  const formats = createFormats(options);

  function serve(request: HttpRequest, found: Handler | undefined): Promise<HttpResponse> {
    let context: ServerContext | undefined;
    const failed = (reason: unknown): HttpResponse => {
      const error = asRpcError(reason, request.path);
      context?.answered(error);
      return rpcErrorResponse(error, options.registry);
    };
    let call: HttpRpcCall;
    try {
      call = openCall(request, found);
    } catch (reason) {
      return Promise.resolve(failed(reason));
    }
    context = call.context;
    return context.run(() => serveUnary(call)).catch(failed);
  }

  function openCall(request: HttpRequest, found: Handler | undefined): HttpRpcCall {
    const handler = checkRequest(request, found);
    const requestFormat = formats.findRequest(request.headers.get("content-type"), handler);
    const headers = readCallHeaders(request.headers, options, negotiate);
    const { csrf = true } = handler;
    if (csrf === "always") checkOrigin(request, "a request without a JSON body", options.allowsOrigin);
    else if (csrf && requestFormat.safelisted) checkOrigin(request, contentTypeOf(request), options.allowsOrigin);
    const responseFormat = formats.chooseResponse(request.headers.get("accept"), requestFormat, handler);
    const { timeoutMs } = headers;
    const context = new ServerContext(request, limitTimeout(timeoutMs, handler.limits));
    const payload = handler.method.payload?.server?.openHttpRpc(methodsOf(handler), payloadOptionsOf(handler, options));
    return { request, handler, headers, requestFormat, responseFormat, context, payload };
  }

  /**
   * Decompresses and decodes the request, calls the handler, and encodes and compresses the response (spec: Payload of
   * sub-protocol A).
   */
  async function serveUnary(call: HttpRpcCall): Promise<HttpResponse> {
    const { request, context, payload } = call;
    const authorizing = authorizeCall(call.handler, request, context);
    if (authorizing !== undefined) await authorizing;
    const { compression, responseCompression } = call.headers;
    // If the length of the body is known, a body over the limit is refused before it arrives.
    const maxMessageBytes = call.handler.limits?.maxMessageBytes ?? options.maxMessageBytes;
    const announced = Number(request.headers.get("content-length"));
    if (announced > maxMessageBytes) throw tooLarge(maxMessageBytes, announced);
    const body = await request.body.bytes(maxMessageBytes);
    const bytes = compression && (await decompressMessage(body, compression, { maxMessageBytes }, serializationError));
    const received = bytes ?? body;
    if (call.requestFormat.load !== undefined) await call.requestFormat.load();
    const turn = nextSmallStep(received.byteLength);
    if (turn !== undefined) await turn;
    const message = decode(call, received);
    const selector = readSelector(request.headers);
    // If several methods share the path, the message determines the method.
    const handler = payload === undefined ? call.handler : handlerOf(call.handler, payload.method);
    const { method } = handler;
    const response = await handler.call({
      stream: false,
      method,
      message,
      headers: request.headers,
      selector,
      context,
    });
    if (response?.stream !== false) throw wrongResponseKind(method);
    const data = encode(call, response.message);
    const compressing = compressMessage(data, responseCompression, call.handler.compression ?? options);
    const compressed = compressing === undefined ? undefined : await compressing;
    const fields = responseHeaders(call.responseFormat, response, compressed && responseCompression, limits);
    context.answered();
    return { status: 200, headers: fields, body: wholeBody(compressed ?? data), trailers: EMPTY_TRAILERS };
  }

  function decode(call: HttpRpcCall, bytes: Uint8Array): object {
    const { requestFormat, payload } = call;
    const { method, binding, limits: own } = call.handler;
    const { maxMessageValues = options.maxMessageValues } = own ?? {};
    try {
      return method.payload === undefined && binding === undefined
        ? requestFormat.decode(method.input, bytes, maxMessageValues, method.codecs?.input)
        : (binding ?? (payload as HttpRpcPayloadCall)).decode(requestFormat.openBody(bytes, maxMessageValues));
    } catch (cause) {
      throw decodeError(method.input === undefined ? `the arguments of ${method.path}` : method.input.typeName, cause);
    }
  }

  /**
   * Masks an error that is not from users' code, such as a response that cannot be encoded, and reports it to
   * `onError`.
   */
  function asRpcError(reason: unknown, path: string): RpcError {
    if (reason instanceof RpcError) return reason;
    options.onError(reason, path);
    return new RpcError(Code.Internal, "internal server error", { status: Status.ServerError, cause: reason });
  }

  return { accepts: () => true, serve };
}

function contentTypeOf({ headers }: HttpRequest): string {
  return `content type ${headers.get("content-type")}`;
}

/** Throws for requests that are invalid whatever their body, and returns the handler of all others. */
function checkRequest(request: HttpRequest, handler: Handler | undefined): Handler {
  if (handler === undefined) {
    throw notFound(request.path);
  }
  if (request.method !== "POST") {
    throw new Refusal(405, Code.Unimplemented, `calls use the method POST, not ${request.method}`, { allow: "POST" });
  }
  const { kind, path } = handler.method;
  if (kind !== "unary") {
    const streaming = "application/grpc, application/grpc+proto, application/grpc+json, application/grpc-web";
    throw new Refusal(
      415,
      Code.Unimplemented,
      `${path} is ${kind.replace("_", " ")}; that needs gRPC over HTTP/2, or gRPC-Web, with one of the content types ${streaming}`,
      { "accept-post": streaming },
    );
  }
  return handler;
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

function encode(call: HttpRpcCall, message: object): Uint8Array {
  const { responseFormat, payload } = call;
  const { method, binding } = call.handler;
  if (binding !== undefined) return binding.encode(message);
  if (method.payload !== undefined) return responseFormat.encodeResult(payload as HttpRpcPayloadCall, message);
  return responseFormat.encode(method.output, message, method.codecs?.output);
}

function decodeError(typeName: string, cause: unknown): RpcError {
  if (cause instanceof RpcError) return cause;
  return serializationError(`the body cannot be decoded as ${typeName}: ${decodingReason(cause)}`, cause);
}

/** Trailing metadata is sent as headers, so there are no trailers. */
const EMPTY_TRAILERS = new Metadata().freeze();
const ERROR_FIELDS = responseFields("application/json");
/**
 * The fields of responses with status 415. A peer that sent another protocol's content type could interpret a plain
 * application/json as an error of that protocol, so a parameter is added.
 */
const UNSUPPORTED_FIELDS = responseFields("application/json; charset=utf-8");

/** Creates the response for an error. `registry` has the types of the details that are also sent as JSON. */
export function rpcErrorResponse(error: RpcError, registry?: Registry | undefined): HttpResponse {
  const status = httpStatusOf(error);
  const headers = new Metadata(status === 415 ? UNSUPPORTED_FIELDS : ERROR_FIELDS);
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
  return {
    status,
    headers,
    body: wholeBody(encodeErrorBody(error, registry)),
    trailers: EMPTY_TRAILERS,
  };
}

function serializationError(message: string, cause: unknown): RpcError {
  return new RpcError(Code.InvalidArgument, message, { status: Status.SerializationError, cause });
}
