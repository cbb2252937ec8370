/**
 * Sub-protocol B, client half: turns an exchange over HTTP/2 into a call (spec: Sub-protocol B).
 */
import type { Call, CallRequest, Method, StreamRequest, UnaryRequest } from "../call.ts";
import { Code } from "../code.ts";
import type { Compression } from "../compression.ts";
import { RpcError, reasonOf } from "../error.ts";
import {
  type Body,
  cancelBody,
  concat,
  type HttpRequest,
  type HttpResponse,
  streamBody,
  wholeBody,
} from "../exchange.ts";
import { Metadata } from "../metadata.ts";
import {
  appendCallerMetadata,
  type ClientProtocol,
  compressMessage,
  decompressMessage,
  javaPath,
  writeSelector,
} from "../protocol.ts";
import { VERSION } from "../version.ts";
import { encodeEnvelope, onlyEnvelope, PREFIX_BYTES, readEnvelopes } from "./envelope.ts";
import { codecNameOf, formatTimeout, readResponseCompression, requestFields } from "./headers.ts";
import { httpStatusError, readError, userMetadata } from "./status.ts";

/** Makes the client half of sub-protocol B. */
export const createGrpcClient: ClientProtocol = (exchange, options): Call => {
  const { codec, maxMessageBytes } = options;
  const fields = requestFields(codec, options, `grpc-ts-triple-es/${VERSION}`).freeze();

  function call(request: CallRequest): ReturnType<Call> {
    return (request.stream ? callStream(request) : callUnary(request)).catch(fail);
  }

  async function callUnary(request: UnaryRequest): ReturnType<Call> {
    const { method } = request;
    const encoded = encode(method, request.message);
    const body = wholeBody(encoded instanceof Uint8Array ? encoded : await encoded);
    const response = await exchange(httpRequest(request, body));
    const headers = userMetadata(response.headers);
    const compression = checkResponse(response);
    let bytes: Uint8Array | undefined;
    let lost: unknown;
    try {
      bytes = await response.body.bytes(maxMessageBytes, PREFIX_BYTES);
    } catch (reason) {
      // How the server says the call ended counts for more than what became of its body.
      if (!hasStatus(response)) throw reason;
      lost = reason;
    }
    const failure = readEnd(response, headers, bytes === undefined || bytes.byteLength > 0);
    if (failure !== undefined) throw failure;
    if (bytes === undefined) throw lost;
    const { compressed, data } = onlyEnvelope(bytes, maxMessageBytes, cardinalityError);
    const message = decode(method, compressed ? await inflate(data, compression) : data);
    return { stream: false, message, headers, trailers: userMetadata(response.trailers) };
  }

  async function callStream(request: StreamRequest): ReturnType<Call> {
    const response = await exchange(httpRequest(request, await requestBody(request)));
    const headers = userMetadata(response.headers);
    const compression = checkResponse(response);
    const trailers = new Metadata();
    return { stream: true, messages: decodeEach(request.method, response, compression, trailers), headers, trailers };
  }

  function httpRequest(request: CallRequest, body: Body): HttpRequest {
    const { method, context } = request;
    return {
      method: "POST",
      path: options.javaNames ? javaPath(method, () => method.name) : method.path,
      version: "2",
      headers: requestHeaders(request),
      body,
      signal: context.signal,
    };
  }

  function requestHeaders({ headers: metadata, selector, context }: CallRequest): Metadata {
    const timeoutMs = context.timeoutMs();
    const plain = timeoutMs === undefined && selector.version === undefined && selector.group === undefined;
    // Most calls have nothing to add, and an engine recognises the fields they share.
    if (plain && metadata.size === 0) return fields;
    const headers = new Metadata(fields);
    // Who calls may name themselves; the field must not be there twice.
    if (metadata.has("user-agent")) headers.delete("user-agent");
    if (timeoutMs !== undefined) headers.append("grpc-timeout", formatTimeout(timeoutMs));
    writeSelector(headers, selector);
    appendCallerMetadata(headers, metadata);
    return headers;
  }

  function encode(method: Method, message: object): Uint8Array | Promise<Uint8Array> {
    const data = codec.encode(method.input, message);
    const compressed = compressMessage(data, options.sendCompression, options);
    if (compressed === undefined) return encodeEnvelope(data);
    return Promise.resolve(compressed).then((bytes) => encodeEnvelope(bytes, true));
  }

  /** A single message is a body that an engine can send in one flush, and again if it has to. */
  async function requestBody(request: StreamRequest): Promise<Body> {
    const envelopes = encodeEach(request);
    if (request.method.kind !== "server_streaming") return streamBody(envelopes);
    const all: Uint8Array[] = [];
    let length = 0;
    for await (const envelope of envelopes) {
      all.push(envelope);
      length += envelope.byteLength;
    }
    return wholeBody(concat(all, length));
  }

  async function* encodeEach({ method, messages }: StreamRequest): AsyncGenerator<Uint8Array, void> {
    for await (const message of messages) yield encode(method, message);
  }

  async function* decodeEach(
    method: Method,
    response: HttpResponse,
    compression: Compression | undefined,
    trailers: Metadata,
  ): AsyncGenerator<object, void> {
    let hasBody = false;
    for await (const { compressed, data } of readEnvelopes(response.body, maxMessageBytes)) {
      hasBody = true;
      yield decode(method, compressed ? await inflate(data, compression) : data);
    }
    const failure = readEnd(response, userMetadata(response.headers), hasBody);
    if (failure !== undefined) throw failure;
    trailers.appendAll(userMetadata(response.trailers));
  }

  function inflate(data: Uint8Array, compression: Compression | undefined): Promise<Uint8Array> {
    if (compression === undefined) {
      throw new RpcError(Code.Internal, "a message is marked as compressed, but grpc-encoding names no compression");
    }
    return decompressMessage(data, compression, options, internalError);
  }

  function decode(method: Method, bytes: Uint8Array): object {
    try {
      return codec.decode(method.output, bytes);
    } catch (cause) {
      throw internalError(`response cannot be decoded as ${method.output.typeName}: ${reasonOf(cause)}`, cause);
    }
  }

  /** Refuses a response that is not gRPC's. Peers send `grpc-status` with any HTTP status, and then it counts. */
  function checkResponse(response: HttpResponse): Compression | undefined {
    const contentType = response.headers.get("content-type");
    const name = codecNameOf(contentType);
    if (name === undefined || (response.status !== 200 && !response.headers.has("grpc-status"))) {
      cancelBody(response.body);
      throw httpStatusError(response.status, contentType);
    }
    // A bare application/grpc says nothing about the codec.
    if (name !== codec.name && contentType?.includes("+")) {
      cancelBody(response.body);
      throw new RpcError(Code.Internal, `asked for application/grpc+${codec.name}, but the server sent ${contentType}`);
    }
    try {
      return readResponseCompression(response.headers, options);
    } catch (reason) {
      cancelBody(response.body);
      throw reason;
    }
  }

  return call;
};

function fail(reason: unknown): never {
  throw RpcError.from(reason, Code.Internal);
}

function hasStatus({ headers, trailers }: HttpResponse): boolean {
  return trailers.has("grpc-status") || headers.has("grpc-status");
}

/** How the call ended: by its trailers, or by its headers where there is nothing else, neither body nor trailers. */
function readEnd(response: HttpResponse, headers: Metadata, hasBody: boolean): RpcError | undefined {
  const trailersOnly = !hasBody && response.trailers.size === 0 && response.headers.has("grpc-status");
  return trailersOnly ? readError(response.headers, new Metadata()) : readError(response.trailers, headers);
}

function cardinalityError(received: string): RpcError {
  return new RpcError(Code.Unimplemented, `a unary call is answered with one message, but ${received} was received`);
}

function internalError(message: string, cause: unknown): RpcError {
  return new RpcError(Code.Internal, message, { cause });
}
