/**
 * Outcomes of calls: notification of a server's observers, and the errors of responses and streams of the wrong shape.
 */
import type { CallContext, CallResponse, Method } from "./call.ts";
import { Code } from "./code.ts";
import { RpcError } from "./error.ts";

/** The context of a call on a server. */
export interface AnsweredContext extends CallContext {
  /**
   * Calls back once when the call has been answered, or at once if it already has, with the error that the caller
   * receives, if any. That error may arise after the last interceptor, for example from a message that cannot be
   * encoded.
   */
  onAnswered(callback: (error: RpcError | undefined) => void): void;
}

/** Reports whether the context belongs to a call on a server of this runtime, which reports how it was answered. */
export function isAnswered(context: CallContext): context is AnsweredContext {
  return "onAnswered" in context;
}

/** The error of an interceptor or transport whose response has the wrong kind for the method. */
export function shapeError({ path, kind }: Method, response: CallResponse | undefined): RpcError {
  const received = response === undefined ? "nothing instead of next(request)" : `a response that is not ${kind}`;
  return new RpcError(Code.Internal, `an interceptor or transport answered ${path} with ${received}`);
}

/** The error of a request that does not have exactly one message. */
export function requestCountError({ path }: Method, received: "none" | "more than one"): RpcError {
  return new RpcError(Code.Unimplemented, `${path} takes one message, but ${received} was received`);
}

/** The error of a response that does not have exactly one message. */
export function responseCountError({ path }: Method, received: "none" | "more than one"): RpcError {
  return new RpcError(Code.Unimplemented, `${path} answers with one message, but ${received} was received`);
}
