/**
 * Sub-protocol A, server half: answers an HTTP request by making a unary call (spec: Sub-protocol A: unary call).
 */
import type { Handler, UnaryResponse } from "../call.ts";
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
  type ProtocolOptions,
  readSelector,
  type ServerProtocol,
} from "../protocol.ts";
import { decodeArguments } from "./arguments.ts";
import { codecNameOf, type RequestHeaders, readRequestHeaders, TRAILER_PREFIX } from "./headers.ts";
import { encodeErrorBody, httpStatusOf, Refusal } from "./status.ts";

/** Says that the body is what its content type says, so that no browser takes an answer for a page. */
const NOSNIFF = ["x-content-type-options", "nosniff"] as const;

/** Makes the server half of sub-protocol A. It answers every content type, if only to say which ones there are. */
export function createHttpRpcServer(options: ProtocolOptions): ServerProtocol {
  const codecs = new Map(options.codecs.map((codec) => [codec.name, codec]));
  const negotiate = createNegotiation(options.compressions);
  const supported = options.codecs.map(({ name }) => `application/${name}`).join(", ");

  async function serve(request: HttpRequest, handler: Handler | undefined): Promise<HttpResponse> {
    try {
      const { method } = checkRequest(request, handler);
      const contentType = request.headers.get("content-type");
      const codec = codecs.get(codecNameOf(contentType) ?? "");
      if (codec === undefined) throw unsupported(contentType, supported);
      const headers = readRequestHeaders(request.headers, options, negotiate);
      const { timeoutMs } = headers;
      const context = new OpenContext({ timeoutMs, timeoutStatus: Status.ServerTimeout, exchange: request });
      return await context.run(async () => {
        const response = await (handler as Handler).call({
          stream: false,
          method,
          message: await readMessage(request, codec, headers, method),
          headers: request.headers,
          selector: readSelector(request.headers),
          context,
        });
        if (response.stream) throw new TypeError("an interceptor answered a unary call with a stream");
        return await success(response, codec, headers, method);
      });
    } catch (reason) {
      return failure(asRpcError(reason, request.path));
    }
  }

  /** Decompress, then decode (spec: Payload of sub-protocol A). */
  async function readMessage(
    request: HttpRequest,
    codec: Codec,
    { compression }: RequestHeaders,
    { input }: Handler["method"],
  ): Promise<object> {
    let bytes = await request.body.bytes(options.maxMessageBytes);
    if (compression !== undefined) bytes = await decompressMessage(bytes, compression, options, serializationError);
    try {
      return decodeArguments(codec, input, bytes);
    } catch (cause) {
      if (cause instanceof RpcError) throw cause;
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw serializationError(`the body cannot be decoded as ${input.typeName}: ${reason}`, cause);
    }
  }

  /** Encode, then compress. */
  async function success(
    response: UnaryResponse,
    codec: Codec,
    { responseCompression }: RequestHeaders,
    { output }: Handler["method"],
  ): Promise<HttpResponse> {
    const encoded = codec.encode(output, response.message);
    const compressed = compressMessage(encoded, responseCompression, options);
    const headers = Metadata.fromRaw(["content-type", `application/${codec.name}`, ...NOSNIFF]);
    if (compressed && responseCompression) headers.append("content-encoding", responseCompression.name);
    appendMetadata(headers, response.headers);
    appendMetadata(headers, response.trailers, TRAILER_PREFIX);
    return { status: 200, headers, body: wholeBody((await compressed) ?? encoded), trailers: new Metadata() };
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

/** The one place where an error becomes a response. */
function failure(error: RpcError): HttpResponse {
  const headers = Metadata.fromRaw(["content-type", "application/json", ...NOSNIFF]);
  headers.appendAll(error.headers);
  for (const [name, value] of error.metadata) headers.append(TRAILER_PREFIX + name, value);
  return {
    status: httpStatusOf(error),
    headers,
    body: wholeBody(encodeErrorBody(error)),
    trailers: new Metadata(),
  };
}

function serializationError(message: string, cause: unknown): RpcError {
  return new RpcError(Code.InvalidArgument, message, { status: Status.SerializationError, cause });
}
