/**
 * Logging: interceptors that report every call when it is over. What is done with the report is the user's business.
 */
import type { CallRequest, Interceptor, MethodKind } from "../call/call.ts";
import { codeName } from "../call/code.ts";
import { callHook, type RpcError } from "../call/error.ts";
import { observe } from "./observer.ts";

/** A call that is over. It holds no metadata, so that no credentials end up in a log. */
export interface FinishedCall {
  readonly side: "client" | "server";
  /** Full name of the service, such as `greet.v1.GreetService`. */
  readonly service: string;
  /** Name of the method as declared, such as `Greet`. */
  readonly method: string;
  readonly kind: MethodKind;
  /** `ok`, or the name of the error's code, such as `not_found`. */
  readonly code: string;
  /** From the first interceptor to the last message. */
  readonly durationMs: number;
  /** Why the call failed. On a server, its `cause` is what was hidden from the peer, if anything was. */
  readonly error: RpcError | undefined;
}

/**
 * Told of every call that is over, once. The request is there for what else a log may want, such as a header of its
 * own; mind that headers hold credentials. What it throws is printed and harms no call.
 */
export type CallReporter = (call: FinishedCall, request: CallRequest) => void;

/**
 * Makes an interceptor that reports the calls of a transport. Put it first, so that it sees what the others do.
 *
 *     createTransport({ baseUrl, interceptors: [createClientLogger((call) => console.log(call))] });
 */
export function createClientLogger(report: CallReporter): Interceptor {
  return createLogger("client", report);
}

/**
 * Makes an interceptor that reports the calls of a server. Requests that never become a call are not among them: to a
 * path that no service has, or with a message that cannot be decoded.
 */
export function createServerLogger(report: CallReporter): Interceptor {
  return createLogger("server", report);
}

function createLogger(side: FinishedCall["side"], report: CallReporter): Interceptor {
  return (next) => (request) => {
    const start = performance.now();
    return observe(next, request, {
      run: (work) => work(),
      ended(error) {
        const { service, name: method, kind } = request.method;
        const code = error === undefined ? "ok" : codeName(error.code);
        const call = { side, service, method, kind, code, durationMs: performance.now() - start, error };
        callHook("a logger", () => report(call, request));
      },
    });
  };
}
