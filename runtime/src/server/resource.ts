/** Resources: plain HTTP beside the methods of a router, such as probes of health, documents and routes of REST. */
import type { Selector, ServiceDef } from "../call/call.ts";
import { Metadata } from "../call/metadata.ts";
import { cancelBody, emptyBody, streamBody, WholeBody } from "../http/body.ts";
import type { Exchange, HttpRequest, HttpResponse } from "../http/exchange.ts";

/** A service that has been added to a router, with its version and group. */
export interface AddedService {
  /** The definition of the service. */
  readonly service: ServiceDef<object, object>;
  /** The version and group by which it is served. */
  readonly selector: Selector;
}

/** Answers requests that are not calls by themselves. */
export interface Resource {
  /** Its first path. `mount` throws a `TypeError` if another resource answers it already. */
  readonly path?: string | undefined;
  /**
   * Called with each service of the router: those that have been added, when the resource is mounted, and each one that is
   * added later. An error is thrown by `mount` or `add`.
   */
  readonly onAdd?: (added: AddedService) => void;
  /** Reports whether the resource answers a request. `path` has no query. */
  readonly serves: (request: Pick<HttpRequest, "method" | "path">) => boolean;
  /** Answers one HTTP request. It must not reject. HEAD is answered as GET: the router removes the body. */
  readonly exchange: Exchange;
}

/** A path that `URL` does not change. */
const RESOURCE_PATH = /^(?:\/[\w.~-]+)+$/;

/** Throws a `TypeError` for a path that is not plain: `what` names it in the message. */
export function assertResourcePath(what: string, path: unknown): void {
  if (typeof path === "string" && RESOURCE_PATH.test(path)) return;
  throw new TypeError(`the path of ${what} must start with / and have no query, unlike ${JSON.stringify(path)}`);
}

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
  return { status, headers, body: new WholeBody(encoder.encode(text)), trailers: new Metadata() };
}

/** Answers GET and HEAD with `answer`, and other methods with 405 (RFC 9110, section 15.5.6). */
export function readOnly(answer: (request: HttpRequest) => HttpResponse | Promise<HttpResponse>): Exchange {
  return async (request) => {
    if (request.method === "GET" || request.method === "HEAD") return answer(request);
    return textResponse(405, TEXT_TYPE, `use GET, not ${request.method}\n`, { allow: "GET, HEAD" });
  };
}

/** Returns the response to HEAD: it has the headers of that to GET, but not the body (RFC 9110, section 9.3.2). */
export function withoutBody(response: HttpResponse): HttpResponse {
  const { headers, body } = response;
  cancelBody(body);
  const length = body.whole?.length ?? 0;
  const sent = length === 0 ? headers : new Metadata(headers).set("content-length", String(length));
  return { ...response, headers: sent, body: streamBody(emptyBody) };
}
