/**
 * Attempts of one call (gRFC A6): the metadata that counts and delays them, and marks on errors that record whether the
 * server may have processed the call.
 */
import type { ContextValues } from "./call.ts";
import type { RpcError } from "./error.ts";

/** The part of a call's context that its requests carry. */
export interface RequestContext {
  /** True if the request waits while no server can be reached. `undefined`: the default of the connections applies. */
  readonly waitForReady?: boolean | undefined;
  /** The endpoints that attempts of the call were sent to. */
  readonly tried?: Set<object> | undefined;
  /** Values that interceptors and the handler of the call share. `undefined`: none. */
  readonly values?: ContextValues | undefined;
  /** The server that the request was sent to last, which the engine sets. */
  target?: string | undefined;
}

/** A request that is sent again because no server has processed it (transparent retry). */
export interface TransparentRetryEvent {
  /** The path of the request, such as `/greet.v1.GreetService/Greet`. */
  readonly path: string;
  /** The context of the call; `undefined` if the request belongs to none. */
  readonly context: RequestContext | undefined;
  /** The delay before the request is sent again, in milliseconds. */
  readonly delayMs: number;
  /** The error of the attempt that no server has processed. */
  readonly error: RpcError;
}

/**
 * The header with the number of previous attempts; absent on the first attempt. A client also finds it in the response
 * headers.
 */
export const PREVIOUS_ATTEMPTS = "grpc-previous-rpc-attempts";

/** Metadata by which a server delays the next attempt, in milliseconds, or forbids it with a negative number (pushback). */
export const RETRY_PUSHBACK = "grpc-retry-pushback-ms";

const committed = new WeakSet<RpcError>();

/** Marks the error of a call whose response headers had arrived: the call is committed to this attempt. */
export function markCommitted(error: RpcError): RpcError {
  committed.add(error);
  return error;
}

/**
 * Reports whether response headers had arrived before the call failed with this error. A trailers-only gRPC response
 * has none.
 */
export function isCommitted(error: RpcError): boolean {
  return committed.has(error);
}

const unprocessed = new WeakSet<RpcError>();

/** Marks the error of an exchange that the server certainly has not processed. */
export function markUnprocessed(error: RpcError): RpcError {
  unprocessed.add(error);
  return error;
}

/**
 * Reports whether the server has not processed the exchange that failed with this error, so that a transparent retry
 * is safe: the stream was never opened, it was refused (REFUSED_STREAM), or its id is above the last one of a GOAWAY
 * (RFC 9113, sections 6.8 and 8.7; gRFC A6).
 */
export function isUnprocessed(error: unknown): boolean {
  return unprocessed.has(error as RpcError);
}

const notSent = new WeakSet<RpcError>();

/** Marks the error of an exchange that found no connection: nothing was sent, and the request body was not read. */
export function markNotSent(error: RpcError): RpcError {
  notSent.add(error);
  return error;
}

/** Reports whether the exchange that failed with this error was never sent, so that it can be sent to another server. */
export function isNotSent(error: unknown): boolean {
  return notSent.has(error as RpcError);
}
