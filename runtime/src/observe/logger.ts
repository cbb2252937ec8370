/**
 * Logging: interceptors that report every finished call to a function of the user.
 */
import type { CallRequest, Interceptor, MethodKind } from "../call/call.ts";
import { codeName } from "../call/code.ts";
import { callHook, type RpcError } from "../call/error.ts";
import { observe } from "./observer.ts";

/** A finished call. It holds no metadata, so that credentials do not reach a log. */
export interface FinishedCall {
  readonly side: "client" | "server";
  /** Full name of the service, such as `greet.v1.GreetService`. */
  readonly service: string;
  /** Name of the method as declared, such as `Greet`. */
  readonly method: string;
  readonly kind: MethodKind;
  /** `ok`, or the name of the error's code, such as `not_found`. */
  readonly code: string;
  /** Time from the first interceptor to the last message, in milliseconds. */
  readonly durationMs: number;
  /** On a server, the IP address of the client, if it has one. */
  readonly clientAddress: string | undefined;
  /** The error of a failed call. On a server its `cause` is the error that was hidden from the peer, if any. */
  readonly error: RpcError | undefined;
}

/**
 * Called once for every finished call. The request gives access to anything else a log may need, such as a header; note
 * that headers contain credentials. Errors that it throws are printed and do not affect the call.
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
 * Makes an interceptor that reports the calls of a server. It does not see requests that never become a call: those for
 * an unknown path, or with a message that cannot be decoded.
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
        const durationMs = performance.now() - start;
        const clientAddress = request.context.peer?.address;
        const call = { side, service, method, kind, code, durationMs, clientAddress, error };
        callHook("a logger", () => report(call, request));
      },
    });
  };
}
