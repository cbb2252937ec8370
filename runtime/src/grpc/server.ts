/**
 * Sub-protocol B, server half: answers a gRPC request over HTTP/2 by making a call (spec: Sub-protocol B).
 */
import type { CallResponse, Handler, StreamResponse } from "../call.ts";
import { Code, Status } from "../code.ts";
import type { Codec } from "../codec.ts";
import { type Compression, createNegotiation } from "../compression.ts";
import { eachWithin, OpenContext } from "../deadline.ts";
import { RpcError, reasonOf } from "../error.ts";
import { emptyBody, type HttpRequest, type HttpResponse, streamBody, wholeBody } from "../exchange.ts";
import { Metadata } from "../metadata.ts";
import {
  appendMetadata,
  checkHeaders,
  compressMessage,
  decompressMessage,
  isReservedName,
  misanswered,
  notFound,
  type RequestHeaders,
  readSelector,
  type ServerOptions,
  type ServerProtocol,
} from "../protocol.ts";
import { encodeEnvelope, onlyEnvelope, PREFIX_BYTES, readEnvelopes } from "./envelope.ts";
import { codecNameOf, readRequestHeaders } from "./headers.ts";
import { okTrailers, userMetadata, writeError } from "./status.ts";

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

/** Makes the server half of sub-protocol B. */
export function createGrpcServer(options: ServerOptions): ServerProtocol {
  const { maxMessageBytes } = options;
  const negotiate = createNegotiation(options.compressions);
  const contentTypes = createContentTypes(options);

  function findContentType(contentType: string): ContentType | undefined {
    // The spellings that peers send are in the table; parameters and capitals are taken off the rest.
    const name = contentTypes.has(contentType) ? undefined : codecNameOf(contentType);
    return contentTypes.get(name === undefined ? contentType : `application/grpc+${name}`);
  }

  function serve(request: HttpRequest, handler: Handler | undefined): Promise<HttpResponse> {
    const name = request.headers.get("content-type") ?? "";
    const contentType = findContentType(name);
    if (request.version !== "2" || request.method !== "POST" || contentType === undefined) {
      return Promise.resolve(refusalOf(request, name));
    }
    const failed = (reason: unknown): HttpResponse => failure(contentType.fields, asRpcError(reason, request.path));
    let call: ServerCall;
    try {
      call = openCall(request, handler, contentType);
    } catch (reason) {
      return Promise.resolve(failed(reason));
    }
    const unary = call.handler.method.kind === "unary";
    return (unary ? call.context.run(() => serveUnary(call)) : serveStream(call)).catch(failed);
  }

  function refusalOf({ version, method }: HttpRequest, contentType: string): HttpResponse {
    if (version !== "2") {
      return refuse(505, "gRPC needs HTTP/2 (curl: --http2-prior-knowledge); over HTTP/1.1 send application/json");
    }
    if (method !== "POST") return refuse(405, "gRPC calls use the method POST", { allow: "POST" });
    const supported = [...contentTypes.keys()].join(", ");
    return refuse(415, `content type ${contentType} is not supported; supported are: ${supported}`, {
      "accept-post": supported,
    });
  }

  function openCall(request: HttpRequest, handler: Handler | undefined, { codec, fields }: ContentType): ServerCall {
    if (handler === undefined) throw notFound(request.path);
    const headers = readRequestHeaders(request.headers, options, negotiate);
    const { timeoutMs } = headers;
    const context = new OpenContext({ timeoutMs, timeoutStatus: Status.ServerTimeout, exchange: request });
    return { request, handler, headers, codec, fields, context };
  }

  async function serveUnary(call: ServerCall): Promise<HttpResponse> {
    const { request, handler, context } = call;
    const { method } = handler;
    const body = await request.body.bytes(maxMessageBytes, PREFIX_BYTES);
    const envelope = onlyEnvelope(body, maxMessageBytes, cardinalityError);
    const message = decode(call, envelope.compressed ? await inflate(call, envelope.data) : envelope.data);
    const selector = readSelector(request.headers);
    const response = await handler.call({
      stream: false,
      method,
      message,
      headers: request.headers,
      selector,
      context,
    });
    if (response?.stream !== false) throw misanswered(method);
    const data = call.codec.encode(method.output, response.message);
    const { responseCompression } = call.headers;
    const compressing = compressMessage(data, responseCompression, options);
    const compressed = compressing === undefined ? undefined : await compressing;
    return {
      status: 200,
      // An encoding is named only where it is used: most small answers then have the headers that all calls share.
      headers: responseHeaders(call, response.headers, compressed && responseCompression),
      body: wholeBody(encodeEnvelope(compressed ?? data, compressed !== undefined)),
      trailers: okTrailers(response.trailers),
    };
  }

  async function serveStream(call: ServerCall): Promise<HttpResponse> {
    const { request, handler, context } = call;
    let calling: ReturnType<Handler["call"]> | undefined;
    try {
      const response = await context.race(() => {
        calling = handler.call({
          stream: true,
          method: handler.method,
          messages: readMessages(call),
          headers: request.headers,
          selector: readSelector(request.headers),
          context,
        });
        return calling;
      });
      if (!response?.stream) throw misanswered(handler.method);
      const trailers = new Metadata();
      return {
        status: 200,
        headers: responseHeaders(call, response.headers, call.headers.responseCompression),
        body: streamBody(writeMessages(call, response, trailers)),
        trailers,
      };
    } catch (reason) {
      context.close();
      if (calling !== undefined) linger(request, calling.then(abandon));
      throw reason;
    }
  }

  async function* readMessages(call: ServerCall): AsyncGenerator<object, void> {
    for await (const { compressed, data } of readEnvelopes(call.request.body, maxMessageBytes)) {
      yield decode(call, compressed ? await inflate(call, data) : data);
    }
  }

  /** The envelopes of a response. When they end, well or not, the trailers say how. */
  async function* writeMessages(
    call: ServerCall,
    response: StreamResponse,
    trailers: Metadata,
  ): AsyncGenerator<Uint8Array, void> {
    const { handler, codec, context, headers, request } = call;
    try {
      for await (const message of eachWithin(context, response.messages)) {
        const data = codec.encode(handler.method.output, message);
        const compressed = compressMessage(data, headers.responseCompression, options);
        yield compressed === undefined ? encodeEnvelope(data) : encodeEnvelope(await compressed, true);
      }
      trailers.appendAll(okTrailers(response.trailers));
    } catch (reason) {
      writeError(trailers, asRpcError(reason, request.path));
      trailers.appendAll(userMetadata(response.trailers));
    } finally {
      context.close();
    }
  }

  function inflate(call: ServerCall, data: Uint8Array): Promise<Uint8Array> {
    const { compression } = call.headers;
    if (compression === undefined) {
      throw new RpcError(Code.Internal, "a message is marked as compressed, but grpc-encoding names no compression");
    }
    return decompressMessage(data, compression, options, internalError);
  }

  function decode(call: ServerCall, bytes: Uint8Array): object {
    const { input } = call.handler.method;
    try {
      return call.codec.decode(input, bytes);
    } catch (cause) {
      throw internalError(`request cannot be decoded as ${input.typeName}: ${reasonOf(cause)}`, cause);
    }
  }

  /** An error that is not meant for the peer is told to the hook and replaced by a fixed text. */
  function asRpcError(reason: unknown, path: string): RpcError {
    if (reason instanceof RpcError) return reason;
    options.onError(reason, path);
    return new RpcError(Code.Internal, "internal server error", { cause: reason });
  }

  return { accepts: (contentType) => /^application\/grpc(?:[+;\s]|$)/i.test(contentType), serve };
}

function linger(request: HttpRequest, work: Promise<unknown>): void {
  work.catch(() => {});
  request.linger?.(work);
}

/** Ends the messages of a response that has come too late. They have to begin for their end to clean up. */
async function abandon(response: CallResponse | undefined): Promise<void> {
  if (!response?.stream) return;
  const messages = response.messages[Symbol.asyncIterator]();
  await messages.next();
  await messages.return?.();
}

/** The content types that are answered, with parameters left off. */
function createContentTypes(options: ServerOptions): Map<string, ContentType> {
  const contentTypes = new Map<string, ContentType>();
  const add = (name: string, codec: Codec): void => {
    contentTypes.set(name, { codec, fields: new Metadata({ "content-type": name }).freeze() });
  };
  const proto = options.codecs.find(({ name }) => name === "proto");
  if (proto !== undefined) add("application/grpc", proto);
  for (const codec of options.codecs) add(`application/grpc+${codec.name}`, codec);
  return contentTypes;
}

function responseHeaders(call: ServerCall, metadata: Metadata, compression: Compression | undefined): Metadata {
  if (metadata.size === 0 && compression === undefined) return call.fields;
  const headers = new Metadata(call.fields);
  if (compression !== undefined) headers.append("grpc-encoding", compression.name);
  appendMetadata(headers, metadata);
  return headers;
}

/** The one place where an error becomes a response: headers alone, unless the handler had set leading metadata. */
function failure(fields: Metadata, error: RpcError): HttpResponse {
  const headers = new Metadata(fields);
  const leading = error.headers.filter((name) => !isReservedName(name));
  const known = error.headers.get("grpc-accept-encoding");
  if (known !== undefined) headers.append("grpc-accept-encoding", known);
  if (leading.size === 0 || checkHeaders(leading) !== undefined) {
    writeError(headers, error);
    return { status: 200, headers, body: emptyBody, trailers: new Metadata() };
  }
  const trailers = new Metadata();
  writeError(trailers, error);
  return { status: 200, headers: headers.appendAll(leading), body: emptyBody, trailers };
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

function cardinalityError(received: string): RpcError {
  return new RpcError(Code.Unimplemented, `a unary call takes one message, but ${received} was received`);
}

function internalError(message: string, cause: unknown): RpcError {
  return new RpcError(Code.Internal, message, { cause });
}
