/**
 * Exchanges: one HTTP request and its response as plain values. Engines send and receive them; protocols create and read
 * them. Clients and servers use the same types, so a server's exchange can replace the network.
 */
import type { RequestContext } from "../call/attempt.ts";
import type { ContextValues } from "../call/call.ts";
import type { RpcError } from "../call/error.ts";
import type { Metadata } from "../call/metadata.ts";
import type { PeerConnection } from "../call/peer.ts";
import type { Body } from "./body.ts";
import type { ChannelState } from "./channel-state.ts";

/** An HTTP request, on a client or on a server. */
export interface HttpRequest {
  /** The HTTP method, such as `POST`. */
  readonly method: string;
  /** The request target, starting with `/`. */
  readonly path: string;
  /** On a server, the path prefix that has been removed from the target, such as `/api`. Default: none. */
  readonly prefix?: string | undefined;
  /** The version of HTTP. */
  readonly version: "1.1" | "2";
  /** The requested host and port if there is no `host` field: `:authority` of HTTP/2 (RFC 9113, section 8.3.1). */
  readonly authority?: string | undefined;
  /** The header fields, without pseudo-headers. */
  readonly headers: Metadata;
  /** The body. It can be read once. */
  readonly body: Body;
  /**
   * On a server, a place to remember a result that depends on the method, the path and the header fields only. Requests in which
   * these are the same share it. `undefined`: there is none.
   */
  readonly memo?: { result: unknown } | undefined;
  /** On a server, the connection that the request arrived on. */
  readonly peer?: PeerConnection | undefined;
  /** On a server, creates the values of the call's context. Default: empty values. */
  readonly values?: (() => ContextValues) | undefined;
  /**
   * Fires when the sender cancels the request or its connection is lost. Engines create it on demand. `undefined` if
   * nothing can abort the exchange.
   */
  readonly signal: AbortSignal | undefined;
  /** On a server, false if the signal has not fired, which is known without creating it. `undefined`: only the signal tells. */
  readonly isAborted?: boolean | undefined;
  /** On a server, fires when the server begins to close and still answers. `undefined` if nothing closes it. */
  readonly draining?: AbortSignal | undefined;
  /** On a client, the context of the call. `undefined` for a request that belongs to no call. */
  readonly context?: RequestContext | undefined;
  /** On a client over HTTP/2, true for an exchange that does not count: it opens no connection, and keeps none open. */
  readonly isBackground?: boolean | undefined;
  /**
   * Registers work that continues after the response because it ignores the signal. An engine that limits concurrent handlers
   * includes the work in its count until it settles.
   */
  waitUntil?(work: Promise<unknown>): void;
  /**
   * On a server, counts the bytes of its decompressed message towards the memory budget, in place of those before and until the
   * response. Throws an `RpcError` if they do not fit. Default: they are not counted.
   */
  inflated?(bytes: number): void;
}

/** An HTTP response, on a client or on a server. */
export interface HttpResponse {
  /** The HTTP status, such as 200. */
  readonly status: number;
  /** The header fields, without pseudo-headers. */
  readonly headers: Metadata;
  /** The body. It can be read once. */
  readonly body: Body;
  /** The trailers, complete after the body has ended. Throws an `RpcError` if the peer's trailers exceed the limit. */
  readonly trailers: Metadata;
}

/** Sends a request and returns its response. Rejects with an `RpcError` if no response arrives. */
export type Exchange = (request: HttpRequest) => Promise<HttpResponse>;

/**
 * The end of a response. `unknown`: this side has stopped to read. `closing`: the connection was lost or takes no more calls, which
 * tells nothing about the response. An error: the server has reset the stream, or its response is malformed.
 */
export type ResponseEnd = "complete" | "unknown" | "closing" | RpcError;

/** Receives the end of a response. It must not throw, and must not run code of the user. */
export type OnResponseEnd = (request: HttpRequest, response: HttpResponse, end: ResponseEnd) => void;

/**
 * Receives the failures of exchanges and the ends of their responses without a promise chained to each of them, which would
 * cost more than the rest of what a pool or a balancer adds to a call.
 */
export interface ExchangeObserver {
  /** Called once if there is no response, unless the signal fired before. Returns the outcome for the caller. */
  onFailure(request: HttpRequest, reason: unknown): Promise<HttpResponse>;
  /** Called exactly once for each response, however it ends, and never for an exchange that fails. */
  readonly onEnd?: OnResponseEnd | undefined;
}

/** A client's connections, and the exchanges over them. */
export interface Connections {
  readonly exchange: Exchange;
  /** Returns the state of the connections, for channelz. */
  state?(): ChannelState | undefined;
  /** Shuts down gracefully: refuses new exchanges and waits for the running ones. */
  close(): Promise<void>;
  /** Closes the connections at once. Running exchanges fail with `reason`. */
  destroy(reason: RpcError): void;
}
