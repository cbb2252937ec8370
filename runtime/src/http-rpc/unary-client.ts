/**
 * Sub-protocol A, client half: converts an HTTP exchange to a unary call (spec: Sub-protocol A: unary call). Pages contain it.
 */
import { NO_BYTES } from "../call/bytes.ts";
import type { Call, Method, UnaryRequest, UnaryResponse } from "../call/call.ts";
import { Code, Status } from "../call/code.ts";
import { RpcError, reasonOf } from "../call/error.ts";
import { Metadata } from "../call/metadata.ts";
import type { Codec } from "../codec/codec.ts";
import { cancelBody, WholeBody } from "../http/body.ts";
import type { Exchange, HttpRequest, HttpResponse } from "../http/exchange.ts";
import { badResponse, localError, MAX_ERROR_BYTES } from "../protocol/error.ts";
import { appendCaller } from "../protocol/headers.ts";
import type { UnaryOptions } from "../protocol/options.ts";
import type { HttpRpcPayload, Payload, PayloadOptions } from "../protocol/payload.ts";
import { aliasPath } from "../protocol/selector.ts";
import { codecNameIn, formatMilliseconds, PROTOCOL_VERSION, splitMetadata } from "./headers.ts";
import { readErrorResponse } from "./status.ts";

/** A call with one message in its request. */
export type UnaryCall<Response = UnaryResponse> = (request: UnaryRequest) => Promise<Response>;

/** Reads a response with status 200. */
export type ReadResponse<Response> = (
  request: UnaryRequest,
  payload: HttpRpcPayload,
  response: HttpResponse,
) => Response;

/** Adds `accept` to requests whose caller did not set it. Without a codec, the exchange is returned unchanged. */
export function acceptExchange(exchange: Exchange, codec: Codec | undefined): Exchange {
  if (codec === undefined) return exchange;
  return (request) => {
    // The headers object is used by this request only, so it can be changed.
    if (!request.headers.has("accept")) request.headers.append("accept", `application/${codec.name}`);
    return exchange(request);
  };
}

/**
 * Creates the client half of sub-protocol A on an exchange. `schemas` is the payload of methods with schemas. `read` reads
 * responses with status 200 in place of it.
 */
export function createUnaryCall<Response = UnaryResponse>(
  exchange: Exchange,
  schemas: HttpRpcPayload,
  options: UnaryOptions & PayloadOptions,
  read?: ReadResponse<Response>,
): UnaryCall<Response> {
  /** Makes the call. Returns errors that the server sent, and throws local errors. */
  async function call(request: UnaryRequest): Promise<unknown> {
    const { method, message } = request;
    const { path } = method;
    const payload = (method.payload as Payload | undefined)?.httpRpc ?? schemas;
    const response = await exchange(toHttpRequest(request, payload, encode(payload, method, message)));
    const metadata = splitMetadata(response.headers);
    if (response.status !== 200) {
      // If the body is too large, the HTTP status alone determines the error. If it is lost, the call has no answer.
      const failure = await response.body.bytes(MAX_ERROR_BYTES).catch((reason) => {
        if (reason.code === Code.ResourceExhausted) return NO_BYTES;
        throw reason;
      });
      return readErrorResponse(path, response.status, failure, metadata);
    }
    if (read) return read(request, payload, response);
    const { name, answer = name } = payload;
    const contentType = response.headers.get("content-type");
    if (codecNameIn(contentType ?? "") !== answer) {
      cancelBody(response.body);
      throw badResponse(
        `${path} answered with ${contentType?.slice(0, 100) || "no content type"}, not application/${answer}`,
      );
    }
    const bytes = await response.body.bytes(options.maxMessageBytes);
    try {
      return { stream: false, message: await payload.decodeResponse(method, bytes, options), ...metadata };
    } catch (cause) {
      if (cause instanceof RpcError) throw cause;
      // Texts of the server are truncated with `slice`, which takes fewer bytes in browser bundles than `clipText`.
      const wanted = method.output?.typeName ?? `the result of ${path}`;
      throw badResponse(`the response cannot be decoded as ${wanted}: ${reasonOf(cause).slice(0, 300)}`, cause);
    }
  }

  function encode(payload: HttpRpcPayload, method: Method, message: object): Uint8Array {
    try {
      return payload.encodeRequest(method, message, options.jsonBody, options);
    } catch (reason) {
      throw RpcError.from(reason, Code.InvalidArgument);
    }
  }

  function toHttpRequest(request: UnaryRequest, payload: HttpRpcPayload, message: Uint8Array): HttpRequest {
    const { method, context } = request;
    const headers = new Metadata({
      "content-type": `application/${payload.name}`,
      "tri-protocol-version": PROTOCOL_VERSION,
    });
    const timeoutMs = context.timeoutMs();
    if (timeoutMs !== undefined) headers.append("tri-service-timeout", formatMilliseconds(timeoutMs));
    appendCaller(headers, request);
    return {
      method: "POST",
      path: payload.path?.(method) ?? (options.useAlias ? aliasPath(method, (alias) => alias.method) : method.path),
      version: "2",
      headers,
      body: new WholeBody(message),
      signal: context.signal,
      context,
    };
  }

  return async (request) => {
    const outcome = await call(request).catch((reason) => {
      throw localError(reason);
    });
    if (outcome instanceof RpcError) throw outcome;
    return outcome as Response;
  };
}

/** Adapts a unary call to transports with stubs of all four kinds. Streams are rejected as unimplemented. */
export function refuseStreams(call: UnaryCall): Call {
  return (request) => (request.stream ? Promise.reject(streamError(request.method)) : call(request));
}

export function streamError({ path, kind }: Method): RpcError {
  const message = `${path} is ${kind.replace("_", " ")}, and HTTP RPC is unary only; streams need gRPC or gRPC-Web`;
  return new RpcError(Code.Unimplemented, message, { status: Status.ClientError });
}
