/**
 * Sub-protocol B, server half: answers a gRPC request over HTTP/2 by making a call (spec: Sub-protocol B).
 */
import type { Handler, StreamResponse } from "../call.ts";
import { Code, Status } from "../code.ts";
import type { Codec } from "../codec.ts";
import type { Compression } from "../compression.ts";
import { OpenContext } from "../deadline.ts";
import { RpcError } from "../error.ts";
import { emptyBody, type HttpRequest, type HttpResponse, streamBody, wholeBody } from "../exchange.ts";
import { Metadata } from "../metadata.ts";
import {
  appendMetadata,
  compressMessage,
  decompressMessage,
  type ProtocolOptions,
  readSelector,
  type ServerProtocol,
} from "../protocol.ts";
import { type Envelope, encodeEnvelope, readEnvelopes, readOnlyEnvelope } from "./envelope.ts";
import { codecNameOf, type RequestHeaders, readRequestHeaders, responseFields } from "./headers.ts";
import { okTrailers, userMetadata, writeError } from "./status.ts";

/** One call, from the moment its headers have been understood. */
interface ServerCall extends RequestHeaders {
  readonly request: HttpRequest;
  readonly handler: Handler;
  readonly codec: Codec;
  /** Fields that every response in this content type has. */
  readonly fields: Metadata;
  readonly context: OpenContext;
}

/** Makes the server half of sub-protocol B. */
export function createGrpcServer(options: ProtocolOptions): ServerProtocol {
  const codecs = new Map(options.codecs.map((codec) => [codec.name, codec]));
  const contentTypes = ["application/grpc", ...options.codecs.map(({ name }) => `application/grpc+${name}`)];
  const fieldsOf = new Map(contentTypes.map((type) => [type, responseFields(type, options)]));

  async function serve(request: HttpRequest, handler: Handler | undefined): Promise<HttpResponse> {
    if (request.version !== "2") return refuse(505, "gRPC needs HTTP/2");
    if (request.method !== "POST") return refuse(405, "gRPC calls use the method POST", { allow: "POST" });
    const contentType = request.headers.get("content-type") ?? "";
    const codec = codecs.get(codecNameOf(contentType) ?? "");
    if (codec === undefined) {
      const supported = contentTypes.join(", ");
      return refuse(415, `content type ${contentType} is not supported; supported are: ${supported}`, {
        "accept-post": supported,
      });
    }
    const fields = fieldsOf.get(contentType) ?? responseFields(`application/grpc+${codec.name}`, options);
    try {
      if (handler === undefined) throw notFound(request.path);
      const headers = readRequestHeaders(request.headers, options);
      const { timeoutMs } = headers;
      const context = new OpenContext({ timeoutMs, timeoutStatus: Status.ServerTimeout, exchange: request });
      const call: ServerCall = { ...headers, request, handler, codec, fields, context };
      return await (handler.method.kind === "unary" ? serveUnary(call) : serveStream(call));
    } catch (reason) {
      return trailersOnly(fields, asRpcError(reason, request.path));
    }
  }

  function serveUnary(call: ServerCall): Promise<HttpResponse> {
    return call.context.run(async () => {
      const { request, handler, codec, context } = call;
      const envelope = await readOnlyEnvelope(request.body, options.maxMessageBytes, cardinalityError);
      const response = await handler.call({
        stream: false,
        method: handler.method,
        message: await decode(call, envelope),
        headers: request.headers,
        selector: readSelector(request.headers),
        context,
      });
      if (response.stream) throw new TypeError("an interceptor answered a unary call with a stream");
      const data = codec.encode(handler.method.output, response.message);
      return {
        status: 200,
        headers: responseHeaders(call, response.headers),
        body: wholeBody(encodeEnvelope(await compress(data, call.responseCompression))),
        trailers: okTrailers(response.trailers),
      };
    });
  }

  async function serveStream(call: ServerCall): Promise<HttpResponse> {
    const { request, handler, context } = call;
    try {
      const response = await context.race(() =>
        handler.call({
          stream: true,
          method: handler.method,
          messages: readMessages(call),
          headers: request.headers,
          selector: readSelector(request.headers),
          context,
        }),
      );
      if (!response.stream) throw new TypeError("an interceptor answered a streaming call with a single message");
      const trailers = new Metadata();
      return {
        status: 200,
        headers: responseHeaders(call, response.headers),
        body: streamBody(writeMessages(call, response, trailers)),
        trailers,
      };
    } catch (reason) {
      context.close();
      throw reason;
    }
  }

  async function* readMessages(call: ServerCall): AsyncGenerator<object, void> {
    for await (const envelope of readEnvelopes(call.request.body, options.maxMessageBytes)) {
      yield await decode(call, envelope);
    }
  }

  /** The envelopes of a response. When they end, well or not, the trailers say how. */
  async function* writeMessages(
    call: ServerCall,
    response: StreamResponse,
    trailers: Metadata,
  ): AsyncGenerator<Uint8Array, void> {
    const { handler, codec, context, responseCompression, request } = call;
    try {
      for await (const message of context.each(response.messages)) {
        const data = codec.encode(handler.method.output, message);
        yield encodeEnvelope(await compress(data, responseCompression));
      }
      trailers.appendAll(okTrailers(response.trailers));
    } catch (reason) {
      const error = asRpcError(reason, request.path);
      writeError(trailers, error);
      trailers.appendAll(userMetadata(response.trailers));
    } finally {
      context.close();
    }
  }

  async function decode(call: ServerCall, { compressed, data }: Envelope): Promise<object> {
    const { input } = call.handler.method;
    let bytes = data;
    if (compressed) {
      if (call.compression === undefined) {
        throw new RpcError(Code.Internal, "a message is marked as compressed, but grpc-encoding names no compression");
      }
      bytes = await decompressMessage(data, call.compression.name, options, internalError);
    }
    try {
      return call.codec.decode(input, bytes);
    } catch (cause) {
      throw internalError(`request cannot be decoded as ${input.typeName}: ${reasonOf(cause)}`, cause);
    }
  }

  async function compress(data: Uint8Array, compression: Compression | undefined): Promise<Envelope> {
    const { bytes, compressed } = await compressMessage(data, compression, options);
    return { compressed, data: bytes };
  }

  /** An error that is not meant for the peer is told to the hook and replaced by a fixed text. */
  function asRpcError(reason: unknown, path: string): RpcError {
    if (reason instanceof RpcError) return reason;
    options.onError(reason, path);
    return new RpcError(Code.Internal, "internal server error", { cause: reason });
  }

  return { accepts: (contentType) => /^application\/grpc(?:[+;\s]|$)/i.test(contentType), serve };
}

function responseHeaders(call: ServerCall, metadata: Metadata): Metadata {
  if (metadata.size === 0 && call.responseCompression === undefined) return call.fields;
  const headers = new Metadata(call.fields);
  if (call.responseCompression !== undefined) headers.append("grpc-encoding", call.responseCompression.name);
  appendMetadata(headers, metadata);
  return headers;
}

/** A response that consists of headers alone: how the call ended, and nothing else. */
function trailersOnly(fields: Metadata, error: RpcError): HttpResponse {
  const headers = new Metadata(fields);
  headers.appendAll(error.headers);
  writeError(headers, error);
  return { status: 200, headers, body: emptyBody, trailers: new Metadata() };
}

/** The answer to a request that is not gRPC's, in plain HTTP. */
function refuse(status: number, message: string, headers: Record<string, string> = {}): HttpResponse {
  return {
    status,
    headers: new Metadata({ ...headers, "content-type": "text/plain; charset=utf-8" }),
    body: wholeBody(new TextEncoder().encode(message)),
    trailers: new Metadata(),
  };
}

function notFound(path: string): RpcError {
  return new RpcError(
    Code.Unimplemented,
    `${path} is not a method of this server, or not in the version and group asked for`,
  );
}

function cardinalityError(received: string): RpcError {
  return new RpcError(Code.Unimplemented, `a unary call takes one message, but ${received} was received`);
}

function internalError(message: string, cause: unknown): RpcError {
  return new RpcError(Code.Internal, message, { cause });
}

function reasonOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
