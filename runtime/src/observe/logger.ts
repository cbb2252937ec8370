/**
 * Logging: interceptors that report every finished call to the user's function.
 */

import type { Call, CallRequest, Interceptor, Method } from "../call/call.ts";
import { codeName } from "../call/code.ts";
import { channels } from "../call/diagnostics.ts";
import { callHook, type RpcError } from "../call/error.ts";
import { now } from "../call/platform.ts";
import type { CallCounts } from "../http/channel-state.ts";
import { observe } from "./observer.ts";

/** A finished call. It contains no metadata, so that credentials are not logged. */
export interface FinishedCall {
  /** The side that has logged the call. */
  readonly side: "client" | "server";
  /** Full name of the service, such as `greet.v1.GreetService`. */
  readonly service: string;
  /** Name of the method as declared, such as `Greet`. */
  readonly method: string;
  /** The kind of call. */
  readonly kind: Method["kind"];
  /** `ok`, or the name of the error's code, such as `not_found`. */
  readonly code: string;
  /** Time from the logger's start of the call to its end, in milliseconds. */
  readonly durationMs: number;
  /** On a server, the IP address of the client. `undefined` if it is unknown, and on a client. */
  readonly clientAddress: string | undefined;
  /**
   * The error of a failed call; `undefined` for a successful one. On a server, its `cause` is the error that was hidden
   * from the peer, if any.
   */
  readonly error: RpcError | undefined;
}

/**
 * Creates an interceptor that reports the calls of a transport. Put it first in the list, so that the effects of the other
 * interceptors are included.
 *
 *     createTransport({ baseUrl, interceptors: [createClientLogger((call) => console.log(call))] });
 *
 * `report` is called once for every finished call. Its `request` gives access to other values to log, such as a header.
 * Headers may contain credentials. Errors that the function throws are printed and do not affect the call.
 */
export function createClientLogger(report: (call: FinishedCall, request: CallRequest) => void): Interceptor {
  return createLogger("client", report);
}

/**
 * Creates an interceptor that reports the calls of a server. It does not report requests that are refused before a call
 * begins: for an unknown path, or with a message that cannot be decoded.
 */
export function createServerLogger(report: (call: FinishedCall, request: CallRequest) => void): Interceptor {
  return createLogger("server", report);
}

/** Returns a call that is counted and publishes its end. Use it while the channel for calls has a subscriber, or `counts` is on. */
export function publishCalls(call: Call, side: FinishedCall["side"], counts: CallCounts): Call {
  const published = createLogger(side, (finished) => {
    counts.end(finished.error);
    channels.call?.publish(finished);
  })(call);
  return (request) => {
    counts.start();
    return published(request);
  };
}

function createLogger(
  side: FinishedCall["side"],
  report: (call: FinishedCall, request: CallRequest) => void,
): Interceptor {
  return (next) => (request) => {
    const start = now();
    return observe(next, request, {
      ended(error) {
        const { service, name: method, kind } = request.method;
        const code = error === undefined ? "ok" : codeName(error.code);
        const clientAddress = request.context.peer?.address;
        const call = { side, service, method, kind, code, durationMs: now() - start, clientAddress, error };
        callHook("a logger", () => report(call, request));
      },
    });
  };
}
