/**
 * A fallback in the shape of `fetch`: converts an exchange to a `Request`, and the `Response` back.
 */
import type { RequestListener } from "node:http";
import type { ErrorHook } from "../../../call/error.ts";
import { Metadata } from "../../../call/metadata.ts";
import { emptyBody, readChunks, streamBody } from "../../../http/body.ts";
import type { Exchange, HttpRequest, HttpResponse } from "../../../http/exchange.ts";
import { quote } from "../../../protocol/error.ts";
import { TEXT_TYPE, textResponse } from "../../../server/resource.ts";
import { isEndToEnd } from "../adapter/headers.ts";
import type { FallbackApplication } from "../server-options.ts";

/** `RequestInit` with the option of streamed bodies, which the types of Node 20 do not have. */
interface DuplexRequestInit extends RequestInit {
  duplex?: "half";
}

/** Creates an exchange that an application answers. Its errors are passed to `onError`, and answered with 500. */
export function fetchExchange(
  application: Exclude<FallbackApplication, RequestListener>,
  onError: ErrorHook,
): Exchange {
  return async (request) => {
    let converted: Request;
    try {
      converted = toRequest(request);
    } catch (reason) {
      return textResponse(400, TEXT_TYPE, `the request is not supported: ${(reason as Error).message}\n`);
    }
    try {
      return toResponse(await application.fetch(converted, { peer: request.peer }), request, onError);
    } catch (reason) {
      onError(reason, request.path);
      return textResponse(500, TEXT_TYPE, "internal server error\n");
    }
  };
}

/** A host of a name or an address, and a port (RFC 9112, section 3.2): no delimiters of a URL, and no user. */
const HOST = /^(?:\[[0-9A-Fa-f:.]+\]|[^\s/?#@\\:[\]]+)(?::\d*)?$/;

/** Throws a `TypeError` for a request that `fetch` does not support, such as one with the method TRACE. */
function toRequest(request: HttpRequest): Request {
  const { method, path, headers, authority, peer, signal } = request;
  const host = authority || headers.get("host") || "localhost";
  // With another host, `URL` would read a part of the host as the path, or a part of the path as the host.
  if (!HOST.test(host)) throw new TypeError(`${quote(host)} is not a host`);
  if (!path.startsWith("/")) throw new TypeError(`${quote(path)} is not a path`);
  const scheme = peer?.tls === undefined ? "http" : "https";
  const fields = new Headers([...headers]);
  // HTTP/2 has no field `host`.
  if (!fields.has("host")) fields.set("host", host);
  const hasBody = method !== "GET" && method !== "HEAD";
  const init: DuplexRequestInit = { method, headers: fields, signal: signal ?? null };
  if (hasBody) {
    init.body = ReadableStream.from(request.body);
    init.duplex = "half";
  }
  return new Request(`${scheme}://${host}${path}`, init);
}

function toResponse(response: Response, { method, path }: HttpRequest, onError: ErrorHook): HttpResponse {
  // The response may be of another class than the global one.
  if (typeof response?.status !== "number" || response.status < 200 || !(Symbol.iterator in response.headers)) {
    throw new TypeError("the fallback must return a Response with a status from 200 to 599");
  }
  const { status, headers, body } = response;
  const hasBody = body !== null && method !== "HEAD" && status !== 204 && status !== 304;
  if (!hasBody) body?.cancel().catch(() => {});
  const report = (reason: unknown): unknown => {
    onError(reason, path);
    return reason;
  };
  return {
    status,
    headers: Metadata.fromRaw([...headers].flat()).filter(isEndToEnd),
    // A whole body would get a content-length, which a response to HEAD takes from its own headers.
    body: streamBody(hasBody ? readChunks(body, report) : emptyBody),
    trailers: new Metadata(),
  };
}
