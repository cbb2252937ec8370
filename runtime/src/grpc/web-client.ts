/**
 * gRPC-Web, client half, for `fetch`: unary calls and server streaming of sub-protocol B, with the trailers at the end
 * of the body. It does not compress, because `fetch` decompresses by itself, and uses the codec of sub-protocol A, so
 * that a page loads one codec.
 */
import type { Call, CallRequest } from "../call/call.ts";
import { Code, Status } from "../call/code.ts";
import { RpcError, reasonOf } from "../call/error.ts";
import { onlyMessage } from "../call/message-stream.ts";
import { Metadata } from "../call/metadata.ts";
import { requestCountError, responseCountError } from "../call/outcome.ts";
import { cancelBody, endWith, streamBody, WholeBody } from "../http/body.ts";
import type { Exchange, HttpRequest, HttpResponse } from "../http/exchange.ts";
import { appendCaller } from "../protocol/headers.ts";
import type { UnaryOptions } from "../protocol/options.ts";
import type { HttpRpcPayload, Payload } from "../protocol/payload.ts";
import { aliasPath } from "../protocol/selector.ts";
import { encodeEnvelope } from "./envelope.ts";
import { formatTimeout } from "./headers.ts";
import { internalError, type ReceivedMessages } from "./messages.ts";
import { failure, receiveMessages } from "./response.ts";
import { httpStatusError, userMetadata } from "./status.ts";
import { splitTrailers } from "./web-framing.ts";

/** Creates the client half of gRPC-Web. `schemas` is the payload of methods whose messages have a schema. */
export function createGrpcWebCall(exchange: Exchange, schemas: HttpRpcPayload, options: UnaryOptions): Call {
  return async (request) => {
    const { method, context } = request;
    const payload = (method.payload as Payload | undefined)?.httpRpc ?? schemas;
    const trailers = new Metadata();
    let response: HttpResponse | undefined;
    let messages: ReceivedMessages;
    try {
      response = await exchange(httpRequest(request, payload, await encode(request, payload)));
      messages = decodeEach(request, payload, checkResponse(response, payload), trailers);
    } catch (reason) {
      throw failure(reason, response, context);
    }
    const headers = userMetadata(response.headers);
    if (request.stream) return { stream: true, messages, headers, trailers };
    const message = await onlyMessage(messages, (count) =>
      failure(responseCountError(method, count), response, context),
    );
    return { stream: false, message, headers, trailers };
  };

  async function encode(request: CallRequest, payload: HttpRpcPayload): Promise<Uint8Array> {
    const { method, stream } = request;
    const { path, kind } = method;
    const problem =
      kind === "client_streaming" || kind === "bidi_streaming"
        ? `is ${kind.replace("_", " ")}, which fetch cannot carry: use createWebSocketTransport or triple-es/node`
        : (method.payload as Payload | undefined)?.grpc &&
          'has messages that travel over HTTP RPC only; use the protocol "http-rpc" for it';
    if (problem) throw new RpcError(Code.Unimplemented, `${path} ${problem}`, { status: Status.ClientError });
    const message = stream
      ? await onlyMessage(request.messages, (received) => requestCountError(method, received))
      : request.message;
    try {
      return encodeEnvelope(payload.encodeRequest(method, message, "object"));
    } catch (reason) {
      throw RpcError.from(reason, Code.InvalidArgument);
    }
  }

  function httpRequest(request: CallRequest, { name }: HttpRpcPayload, body: Uint8Array): HttpRequest {
    const { method, context } = request;
    const headers = new Metadata({ "content-type": `application/grpc-web+${name}`, "x-grpc-web": "1" });
    const timeoutMs = context.timeoutMs();
    if (timeoutMs !== undefined) headers.append("grpc-timeout", formatTimeout(timeoutMs));
    appendCaller(headers, request);
    const path = options.useAlias ? aliasPath(method, () => method.name) : method.path;
    return { method: "POST", path, version: "2", headers, body: new WholeBody(body), signal: context.signal, context };
  }

  function decodeEach(
    { method, context }: CallRequest,
    payload: HttpRpcPayload,
    response: HttpResponse,
    trailers: Metadata,
  ): ReceivedMessages {
    async function decode(bytes: Uint8Array): Promise<object> {
      try {
        return await payload.decodeResponse(method, bytes);
      } catch (cause) {
        // Texts of the server are truncated with `slice`, which takes fewer bytes in browser bundles than `clipText`.
        const wanted = method.output?.typeName ?? `the result of ${method.path}`;
        throw internalError(`the response cannot be decoded as ${wanted}: ${reasonOf(cause).slice(0, 300)}`, cause);
      }
    }
    const chunks = response.body[Symbol.asyncIterator]();
    const split = splitTrailers({ [Symbol.asyncIterator]: () => chunks }, response.trailers);
    const body = streamBody(endWith(chunks, split));
    return receiveMessages(response, body, { inflate: undefined, options, decode, context, trailers });
  }
}

//     Content-Type → "application/grpc-web" [ "+" codec ] [ ";" parameters ]
const WEB_RESPONSE_TYPE = /^application\/grpc-web(?:\+([^;\s]+))?\s*(?:;.*)?$/i;

/** Throws for a response that is not gRPC-Web or has a codec other than the request's. */
function checkResponse(response: HttpResponse, { name }: HttpRpcPayload): HttpResponse {
  const { status, headers } = response;
  const contentType = headers.get("content-type");
  const match = WEB_RESPONSE_TYPE.exec(contentType ?? "");
  const isOurs = match !== null && (status === 200 || headers.has("grpc-status"));
  // A plain application/grpc-web does not name the codec.
  if (isOurs && (match[1] ?? name).toLowerCase() === name) return response;
  cancelBody(response.body);
  if (!isOurs) throw httpStatusError(status, contentType);
  throw internalError(`asked for application/grpc-web+${name}, but the server sent ${match[0].slice(0, 100)}`);
}
