/**
 * The language of the wire: one HTTP request and its response as plain values. Engines transport them, protocols make
 * and read them. Both ends use the same types, so a server's exchange can stand in for a network.
 */
import type { ContextValues } from "../call/call.ts";
import { Code } from "../call/code.ts";
import { RpcError } from "../call/error.ts";
import type { Metadata } from "../call/metadata.ts";
import type { PeerConnection } from "../call/peer.ts";
import type { Body } from "./body.ts";

export interface HttpRequest {
  readonly method: string;
  /** The request target, starting with `/`. */
  readonly path: string;
  readonly version: "1.1" | "2";
  /**
   * The host and port that the client asked for, if there is no `host` field: `:authority` of HTTP/2 (RFC 9113, section
   * 8.3.1).
   */
  readonly authority?: string | undefined;
  readonly headers: Metadata;
  readonly body: Body;
  /** On a server, the connection that the request arrived on. */
  readonly peer?: PeerConnection | undefined;
  /** On a server, makes the values of the call's context. Default: none. */
  readonly values?: (() => ContextValues) | undefined;
  /**
   * Fires when the sender cancels or is lost. Engines make it on demand; `undefined` if nothing can abort the exchange.
   */
  readonly signal: AbortSignal | undefined;
  /**
   * True if a client's engine waits for a server that cannot be reached. `undefined`: the engine's own option applies.
   */
  readonly waitForReady?: boolean | undefined;
  /**
   * Registers work that outlives the response because it ignores the signal. An engine that limits concurrent handlers
   * counts it until it settles.
   */
  waitUntil?(work: Promise<unknown>): void;
}

export interface HttpResponse {
  readonly status: number;
  readonly headers: Metadata;
  readonly body: Body;
  /** Complete when the body has ended. Throws an `RpcError` if the peer's trailers exceeded the limit. */
  readonly trailers: Metadata;
}

/** Sends a request and returns its response. Rejects with an `RpcError` if there is none. */
export type Exchange = (request: HttpRequest) => Promise<HttpResponse>;

/** The connections below a client's exchanges. */
export interface Connections {
  /** Graceful shutdown: waits for running exchanges and refuses new ones. */
  close(): Promise<void>;
  /** Closes the connections at once. Running exchanges fail with the reason. */
  destroy(reason: RpcError): void;
}

/** The error that ends a server's exchange early. An engine cannot tell a cancellation from a lost client. */
export function clientGone(): RpcError {
  return new RpcError(Code.Canceled, "the client has cancelled the call or is gone");
}
