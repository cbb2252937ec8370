/**
 * The request of a call at a route: the request that arrived, with the path, HTTP method and headers of a call.
 */
import type { ContextValues } from "../call/call.ts";
import type { Metadata } from "../call/metadata.ts";
import type { PeerConnection } from "../call/peer.ts";
import type { Body } from "../http/body.ts";
import type { HttpRequest } from "../http/exchange.ts";

export class RouteRequest implements HttpRequest {
  readonly method = "POST";
  readonly path: string;
  readonly headers: Metadata;
  /** The request that arrived. Its members are read on demand, because engines create some of them then. */
  readonly #request: HttpRequest;

  constructor(request: HttpRequest, path: string, headers: Metadata) {
    this.#request = request;
    this.path = path;
    this.headers = headers;
  }

  get version(): "1.1" | "2" {
    return this.#request.version;
  }
  get authority(): string | undefined {
    return this.#request.authority;
  }
  get body(): Body {
    return this.#request.body;
  }
  get peer(): PeerConnection | undefined {
    return this.#request.peer;
  }
  get values(): (() => ContextValues) | undefined {
    return this.#request.values;
  }
  get signal(): AbortSignal | undefined {
    return this.#request.signal;
  }
  get draining(): AbortSignal | undefined {
    return this.#request.draining;
  }
  waitUntil(work: Promise<unknown>): void {
    this.#request.waitUntil?.(work);
  }
}
