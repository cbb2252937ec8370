/**
 * Calls as seen from outside, where they start and how they end: what logs, traces and metrics have in common.
 */

import type { Call, CallRequest, CallResponse, StreamResponse } from "../call/call.ts";
import { Code } from "../call/code.ts";
import { abortError, abortErrorFor, hiddenError, RpcError } from "../call/error.ts";
import { isAnswered, shapeError } from "../call/outcome.ts";
import { onAbort } from "../call/timer.ts";

export interface Observer {
  /** Does a piece of the call's work: starts it, or goes on to its next message. A place to set up a context. */
  run<T>(work: () => T): T;
  /** Told once that the call is over. `error` is why it failed, `undefined` if it did not. It must not throw. */
  ended(error: RpcError | undefined): void;
}

/**
 * Makes a call and tells the observer when it is over: with its one message, or when its stream has ended, failed, or
 * been left. A call that came too late for its deadline has failed, whatever it came to; so has one on a server whose
 * caller gets an error in the end, because what it came to cannot be sent.
 */
export async function observe(next: Call, request: CallRequest, observer: Observer): Promise<CallResponse> {
  let response: CallResponse;
  try {
    response = await observer.run(() => next(request));
  } catch (reason) {
    observer.ended(failure(request, reason));
    throw reason;
  }
  if (response?.stream) return { ...response, messages: observeEach(response, request, observer) };
  const { context, method } = request;
  if (isAnswered(context)) context.onAnswered((error) => observer.ended(cutShort(request) ?? error));
  else observer.ended(cutShort(request) ?? (response === undefined ? shapeError(method, response) : undefined));
  return response;
}

function observeEach(response: StreamResponse, request: CallRequest, observer: Observer): AsyncIterable<object> {
  let over = false;
  const end = (error: RpcError | undefined): void => {
    if (over) return;
    over = true;
    release();
    observer.ended(error);
  };
  // A stream that nobody reads ends with its call.
  let release = (): void => {};
  release = onAbort(request.context.signal, end);
  const { context } = request;
  const answered = isAnswered(context);
  if (answered) context.onAnswered((error) => end(cutShort(request) ?? error));
  if (over) release();
  return {
    [Symbol.asyncIterator]() {
      const messages = observer.run(() => response.messages[Symbol.asyncIterator]());
      return {
        async next() {
          try {
            const result = await observer.run(() => messages.next());
            if (result.done && !answered) end(cutShort(request));
            return result;
          } catch (reason) {
            end(failure(request, reason));
            throw reason;
          }
        },
        async return() {
          end(cutShort(request) ?? new RpcError(Code.Canceled, "the stream was left before its end"));
          await observer.run(() => messages.return?.());
          return { done: true, value: undefined };
        },
      };
    },
  };
}

/** What the caller sees of what a call threw: on a server, nothing of an error that is not meant for it. */
function failure(request: CallRequest, reason: unknown): RpcError {
  if (reason instanceof RpcError) return reason;
  const aborted = abortErrorFor(reason, request);
  if (aborted !== undefined) return aborted;
  return isAnswered(request.context) ? hiddenError(reason) : RpcError.from(reason);
}

/** Why the other side, or the caller, waits no longer. */
function cutShort({ context }: CallRequest): RpcError | undefined {
  const { signal } = context;
  return signal?.aborted ? abortError(signal) : undefined;
}
