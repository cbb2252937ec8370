/**
 * The language of the wire: one HTTP request and its response as plain values. Engines move them, protocols make and
 * read them, and because both ends use the same types a server's exchange can stand in for a network.
 */
import { Code } from "../call/code.ts";
import { RpcError } from "../call/error.ts";
import type { Metadata } from "../call/metadata.ts";
import type { Body } from "./body.ts";

export interface HttpRequest {
  readonly method: string;
  /** The request target, starting with `/`. */
  readonly path: string;
  readonly version: "1.1" | "2";
  /** Host and port that the client asked for, where no `host` field says so: `:authority` of HTTP/2 (RFC 9113, 8.3.1). */
  readonly authority?: string | undefined;
  readonly headers: Metadata;
  readonly body: Body;
  /** Fires when the sender gives up or is lost. Engines make it on demand; `undefined` where nothing can abort. */
  readonly signal: AbortSignal | undefined;
  /** Whether a client's engine waits for a server that cannot be connected to. `undefined`: as its own option says. */
  readonly waitForReady?: boolean | undefined;
  /**
   * Told of work for the request that goes on after its response, because it does not listen to the signal. An engine
   * that limits how much runs at a time counts it until it settles.
   */
  waitUntil?(work: Promise<unknown>): void;
}

export interface HttpResponse {
  readonly status: number;
  readonly headers: Metadata;
  readonly body: Body;
  /** Complete when the body has ended. Throws an `RpcError` if the peer sent some that are too large to be taken. */
  readonly trailers: Metadata;
}

/** The language of the wire. Rejects with an `RpcError` if there is no response. */
export type Exchange = (request: HttpRequest) => Promise<HttpResponse>;

/** What a client makes its exchanges over. */
export interface Connections {
  /** Lets running exchanges finish, and refuses new ones. */
  close(): Promise<void>;
  /** Ends them now, and all that are running with that reason. */
  destroy(reason: RpcError): void;
}

/** The error that ends a server's exchange early. An engine knows no more of why its client has gone. */
export function clientGone(): RpcError {
  return new RpcError(Code.Canceled, "the client has cancelled the call or is gone");
}
