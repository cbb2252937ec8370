/**
 * Outcomes of calls: notification of observers on a server, and errors for responses of the wrong kind and for the wrong
 * number of messages.
 */
import type { CallContext, CallResponse, Method } from "./call.ts";
import { Code } from "./code.ts";
import { RpcError } from "./error.ts";

/** The context of a call on a server. */
export interface AnsweredContext extends CallContext {
  /** False if the signal has not fired, which is known without creating it. `undefined`: only the signal tells. */
  readonly isAborted?: boolean | undefined;
  /** True if a part of the request's body has not arrived. */
  readonly isArriving?: boolean | undefined;
  /** Called when the body of a unary call has arrived. It throws or rejects with the error of a call that may not begin. */
  onArrived: (() => void | Promise<void>) | undefined;
  /**
   * Calls back once with the error that the caller receives, if any: when the call has been answered, or at once if it
   * already has. The error may occur after the last interceptor, for example if a message cannot be encoded.
   */
  onAnswered(callback: (error: RpcError | undefined) => void): void;
}

/** Reports whether the context belongs to a call on a server of this runtime. */
export function isAnswered(context: CallContext): context is AnsweredContext {
  return "onAnswered" in context;
}

/** Creates the error for a response of an interceptor or transport that has the wrong kind for the method, or is missing. */
export function shapeError({ path, kind }: Method, response: CallResponse | undefined): RpcError {
  const received = response === undefined ? "nothing instead of next(request)" : `a response that is not ${kind}`;
  return new RpcError(Code.Internal, `an interceptor or transport answered ${path} with ${received}`);
}

/** Creates the error for a request that does not have exactly one message. */
export function requestCountError({ path }: Method, received: "none" | "more than one"): RpcError {
  return new RpcError(Code.Unimplemented, `${path} takes one message, but ${received} was received`);
}

/** Creates the error for a response that does not have exactly one message. */
export function responseCountError({ path }: Method, received: "none" | "more than one"): RpcError {
  return new RpcError(Code.Unimplemented, `${path} answers with one message, but ${received} was received`);
}
