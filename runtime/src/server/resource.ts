/**
 * Resources: plain HTTP beside the methods of a router, such as probes of health, documents and routes of REST.
 */
import { Metadata } from "../call/metadata.ts";
import { emptyBody, wholeBody } from "../http/body.ts";
import type { Exchange, HttpRequest, HttpResponse } from "../http/exchange.ts";
import type { AddedService } from "./added-service.ts";
import type { MessageBinding } from "./message-binding.ts";

/** The part of a request that decides who answers it. */
export type RequestTarget = Pick<HttpRequest, "method" | "path">;

/** Answers requests that are not calls by themselves. */
export interface Resource {
  /**
   * Called with each service of the router: those that have been added, when the resource is mounted, and each one that is
   * added later. An error is thrown by `mount` or `add`.
   */
  readonly onAdd?: (added: AddedService) => void;
  /** Reports whether the resource answers a request. `path` has no query. */
  readonly serves: (request: RequestTarget) => boolean;
  /** Answers one HTTP request, which may call a method. It must not reject. */
  readonly exchange: (request: HttpRequest, call: BoundCall) => Promise<HttpResponse>;
}

/**
 * Answers a request as sub-protocol A does, with the interceptors, limits and errors of the router, but with another
 * encoding of messages in JSON. The path of the request is that of a method, and the HTTP method is POST. Never
 * rejects.
 */
export type BoundCall = (request: HttpRequest, binding: MessageBinding) => Promise<HttpResponse>;

/** The content type of text in UTF-8. */
export const TEXT_TYPE = "text/plain; charset=utf-8";

const encoder = new TextEncoder();

/** Creates a response with a text body. Caches must not store it. */
export function textResponse(
  status: number,
  contentType: string,
  text: string,
  fields: Readonly<Record<string, string>> = {},
): HttpResponse {
  const headers = new Metadata({
    "content-type": contentType,
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    ...fields,
  });
  return { status, headers, body: wholeBody(encoder.encode(text)), trailers: new Metadata() };
}

/** Answers GET and HEAD with `answer`, and other methods with 405 (RFC 9110, section 15.5.6). */
export function readOnly(answer: (request: HttpRequest) => HttpResponse | Promise<HttpResponse>): Exchange {
  return async (request) => {
    if (request.method === "GET") return answer(request);
    if (request.method === "HEAD") return withoutBody(await answer(request));
    return textResponse(405, TEXT_TYPE, `use GET, not ${request.method}\n`, { allow: "GET, HEAD" });
  };
}

/** Returns the response to HEAD: it has the length of the body, but not the body (RFC 9110, section 9.3.2). */
export function withoutBody(response: HttpResponse): HttpResponse {
  return { ...response, body: { bytes: (limit) => emptyBody.bytes(limit), [Symbol.asyncIterator]: noChunks } };
}

async function* noChunks(): AsyncGenerator<Uint8Array, undefined> {}
