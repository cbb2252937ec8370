/**
 * Sub-protocol A, server half: answers an HTTP request by making a unary call (spec: Sub-protocol A: unary call).
 */
import type { Handler, Method } from "../call.ts";
import { Code, Status } from "../code.ts";
import type { Codec } from "../codec.ts";
import { createNegotiation } from "../compression.ts";
import { OpenContext } from "../deadline.ts";
import { RpcError } from "../error.ts";
import { type HttpRequest, type HttpResponse, wholeBody } from "../exchange.ts";
import { Metadata } from "../metadata.ts";
import {
  appendMetadata,
  compressMessage,
  decompressMessage,
  isReservedName,
  type ProtocolOptions,
  type RequestHeaders,
  readSelector,
  type ServerProtocol,
} from "../protocol.ts";
import { decodeArguments } from "./arguments.ts";
import { codecNameOf, readRequestHeaders, TRAILER_PREFIX } from "./headers.ts";
import { encodeErrorBody, httpStatusOf, Refusal } from "./status.ts";

/** What a content type decides. */
interface ContentType {
  readonly codec: Codec;
  /** The fields that every response has. */
  readonly fields: Metadata;
}

/** One call, from the moment its headers have been understood. */
interface ServerCall extends ContentType {
  readonly request: HttpRequest;
  readonly handler: Handler;
  readonly headers: RequestHeaders;
  readonly context: OpenContext;
}

/** Makes the server half of sub-protocol A. It answers every content type, if only to say which ones there are. */
export function createHttpRpcServer(options: ProtocolOptions): ServerProtocol {
  const { maxMessageBytes } = options;
  const negotiate = createNegotiation(options.compressions);
  const contentTypes = createContentTypes(options);

  function findContentType(contentType: string | undefined): ContentType {
    const found =
      contentTypes.get(contentType ?? "") ?? contentTypes.get(`application/${codecNameOf(contentType) ?? ""}`);
    if (found === undefined) throw unsupported(contentType, [...contentTypes.keys()].join(", "));
    return found;
  }

  async function serve(request: HttpRequest, found: Handler | undefined): Promise<HttpResponse> {
    try {
      const handler = checkRequest(request, found);
      const { codec, fields } = findContentType(request.headers.get("content-type"));
      const headers = readRequestHeaders(request.headers, options, negotiate);
      const { timeoutMs } = headers;
      const context = new OpenContext({ timeoutMs, timeoutStatus: Status.ServerTimeout, exchange: request });
      const call: ServerCall = { request, handler, headers, codec, fields, context };
      // With return await, so that the catch below sees what goes wrong.
      return await context.run(() => serveUnary(call));
    } catch (reason) {
      return failure(asRpcError(reason, request.path));
    }
  }

  /** Decompress, decode, call, encode, compress (spec: Payload of sub-protocol A). */
  async function serveUnary(call: ServerCall): Promise<HttpResponse> {
    const { request, handler, codec, context } = call;
    const { method } = handler;
    const { compression, responseCompression } = call.headers;
    const body = await request.body.bytes(maxMessageBytes);
    const bytes = compression && (await decompressMessage(body, compression, options, serializationError));
    const message = decode(codec, method, bytes ?? body);
    const selector = readSelector(request.headers);
    const response = await handler.call({
      stream: false,
      method,
      message,
      headers: request.headers,
      selector,
      context,
    });
    if (response.stream) throw new TypeError("an interceptor answered a unary call with a stream");
    const data = codec.encode(method.output, response.message);
    const compressed = await compressMessage(data, responseCompression, options);
    const headers = new Metadata(call.fields);
    if (compressed && responseCompression) headers.append("content-encoding", responseCompression.name);
    appendMetadata(headers, response.headers);
    appendMetadata(headers, response.trailers, TRAILER_PREFIX);
    return { status: 200, headers, body: wholeBody(compressed ?? data), trailers: NO_TRAILERS };
  }

  /** An error that is not meant for the peer is told to the hook and replaced by a fixed text. */
  function asRpcError(reason: unknown, path: string): RpcError {
    if (reason instanceof RpcError) return reason;
    options.onError(reason, path);
    return new RpcError(Code.Internal, "internal server error", { status: Status.ServerError, cause: reason });
  }

  return { accepts: () => true, serve };
}

/** Refuses requests that no body could make right. */
function checkRequest(request: HttpRequest, handler: Handler | undefined): Handler {
  if (handler === undefined) {
    throw new RpcError(
      Code.Unimplemented,
      `${request.path} is not a method of this server, or not in the version and group asked for`,
      { status: Status.ServiceNotFound },
    );
  }
  if (request.method !== "POST") {
    throw new Refusal(405, Code.Unimplemented, `calls use the method POST, not ${request.method}`, { allow: "POST" });
  }
  const { kind, path } = handler.method;
  if (kind !== "unary") {
    const streaming = "application/grpc, application/grpc+proto, application/grpc+json";
    throw new Refusal(
      415,
      Code.Unimplemented,
      `${path} is ${kind.replace("_", " ")}; that needs gRPC over HTTP/2, with one of the content types ${streaming}`,
      { "accept-post": streaming },
    );
  }
  return handler;
}

function unsupported(contentType: string | undefined, supported: string): Refusal {
  const problem =
    contentType === undefined ? "the content type is missing" : `content type ${contentType} is not supported`;
  return new Refusal(415, Code.Internal, `${problem}; supported are: ${supported}`, { "accept-post": supported });
}

function createContentTypes({ codecs }: ProtocolOptions): Map<string, ContentType> {
  return new Map(
    codecs.map((codec) => {
      const name = `application/${codec.name}`;
      return [name, { codec, fields: responseFields(name) }];
    }),
  );
}

/** `nosniff` says that the body is what its content type says, so that no browser takes an answer for a page. */
function responseFields(contentType: string): Metadata {
  return new Metadata({ "content-type": contentType, "x-content-type-options": "nosniff" }).freeze();
}

function decode(codec: Codec, { input }: Method, bytes: Uint8Array): object {
  try {
    return decodeArguments(codec, input, bytes);
  } catch (cause) {
    if (cause instanceof RpcError) throw cause;
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw serializationError(`the body cannot be decoded as ${input.typeName}: ${reason}`, cause);
  }
}

/** Trailing metadata travels among the headers. */
const NO_TRAILERS = new Metadata().freeze();
const ERROR_FIELDS = responseFields("application/json");
/** A peer that sent a content type of its own may take bare application/json for an error of a protocol of its own. */
const UNSUPPORTED_FIELDS = responseFields("application/json; charset=utf-8");

/** The one place where an error becomes a response. */
function failure(error: RpcError): HttpResponse {
  const status = httpStatusOf(error);
  const headers = new Metadata(status === 415 ? UNSUPPORTED_FIELDS : ERROR_FIELDS);
  // Only a refusal speaks for the protocol. Other errors may come from a user's code, or from a call further on.
  headers.appendAll("httpStatus" in error ? error.headers : error.headers.filter((name) => !isReservedName(name)));
  for (const [name, value] of error.metadata) {
    if (!isReservedName(name)) headers.appendRaw([TRAILER_PREFIX + name, value]);
  }
  return {
    status,
    headers,
    body: wholeBody(encodeErrorBody(error)),
    trailers: NO_TRAILERS,
  };
}

function serializationError(message: string, cause: unknown): RpcError {
  return new RpcError(Code.InvalidArgument, message, { status: Status.SerializationError, cause });
}
