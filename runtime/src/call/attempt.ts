/**
 * Attempts of one call (gRFC A6): their outcomes, which decide whether a request may be sent again, and the metadata that
 * counts and delays them.
 */
import type { CallContext, ContextValues, Interceptor, Method } from "./call.ts";
import type { Code } from "./code.ts";
import type { RpcError } from "./error.ts";
import type { Metadata } from "./metadata.ts";

/**
 * The outcome of an attempt that failed (RFC 9113, sections 6.8 and 8.7; gRFC A6). It is a value of that attempt and never a
 * property of its error, because all calls of a lost connection may fail with the same error.
 *
 *     notSent      no connection was found: nothing was sent, and the request body was not read
 *     queued       it waited for a stream of a connection that ended or takes no more
 *     refused      the server has refused the stream (REFUSED_STREAM)
 *     unprocessed  no server has processed it: it was not sent, or its id is above the last one of a GOAWAY
 *     unknown      a server may have processed it
 *     committed    response headers had arrived; a trailers-only gRPC response has none
 */
export type Outcome = "notSent" | "queued" | "refused" | "unprocessed" | "unknown" | "committed";

/** The ways in which a request may be sent again: two transparent ones, and the policy of the call. */
export type Resend = "sameEndpoint" | "otherEndpoint" | "policy";

const RESENDS: Readonly<Record<Outcome, readonly Resend[]>> = {
  notSent: ["otherEndpoint", "policy"],
  queued: ["sameEndpoint", "otherEndpoint", "policy"],
  refused: ["sameEndpoint", "otherEndpoint", "policy"],
  unprocessed: ["sameEndpoint", "otherEndpoint", "policy"],
  unknown: ["policy"],
  committed: [],
};

/** Reports whether a request with this outcome may be sent again in this way. */
export function mayResend(outcome: Outcome, how: Resend): boolean {
  return RESENDS[outcome].includes(how);
}

/** Records that response headers have arrived: the call is committed to this attempt. */
export function commit({ attempt }: RequestContext): void {
  if (attempt !== undefined) attempt.outcome = "committed";
}

/** The part of a call's context that its requests carry. */
export interface RequestContext {
  /** True if the request waits while no server can be reached. `undefined`: the default of the connections applies. */
  readonly waitForReady?: boolean | undefined;
  /** The attempt that the request belongs to. `undefined` for a call without a policy. */
  readonly attempt?: CallContext["attempt"];
  /** Values that interceptors and the handler of the call share. `undefined`: none. */
  readonly values?: ContextValues | undefined;
  /** The server that the request was sent to last, which the engine sets. */
  target?: string | undefined;
  /** The time of the monotonic clock at which a balancer that measures latencies has sent the request to its endpoint. */
  sentAt?: number | undefined;
  /** The time at which response headers have arrived, which the engine sets if there is `sentAt`. */
  respondedAt?: number | undefined;
  /** Receives the code of a response whose HTTP status has several, `undefined` for success. A balancer sets it at its end. */
  onCode?: ((code: Code | undefined) => void) | undefined;
  /**
   * The bytes of the messages that were sent: compressed, without framing. `undefined` if they are not counted: over HTTP RPC, and
   * on a client without `onResend`.
   */
  sentBytes?: number | undefined;
  /** The bytes of the messages that were received. */
  receivedBytes?: number | undefined;
  /** Receives the error of an attempt before its transparent retry, which sends the headers. Telemetry sets it. */
  onResend?: ((error: RpcError, headers: Metadata) => void) | undefined;
}

/**
 * Interceptors of single attempts, below retries and hedging, by the interceptors of the calls that they belong to. Transports
 * with several attempts apply both.
 */
export const attemptInterceptors: WeakMap<Interceptor, Interceptor> = new WeakMap();

/** Event before each further attempt of a call. */
export interface RetryEvent {
  /** The method that is called. */
  readonly method: Method;
  /** The context of the call, which is the same for all of its attempts. */
  readonly context: CallContext;
  /** The number of the next attempt, from 2 on. */
  readonly attempt: number;
  /** Delay before the attempt, in milliseconds. */
  readonly delayMs: number;
  /** The error of the last attempt. `undefined` if a hedged attempt has not been answered yet. */
  readonly error: RpcError | undefined;
  /** True if the attempt is hedged: made while others may still be running. */
  readonly isHedge: boolean;
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

/** The header with the number of previous attempts, of requests and, on clients, of responses; absent on the first attempt. */
export const PREVIOUS_ATTEMPTS = "grpc-previous-rpc-attempts";

/** Metadata by which a server delays the next attempt, in milliseconds, or forbids it with a negative number (pushback). */
export const RETRY_PUSHBACK = "grpc-retry-pushback-ms";
