/**
 * Observation of calls, from their start to their end, as logs, traces and metrics need it.
 */

import type { Call, CallRequest, CallResponse, StreamResponse } from "../call/call.ts";
import { Code } from "../call/code.ts";
import { abortError, abortErrorFor, hiddenError, RpcError } from "../call/error.ts";
import { isAnswered, shapeError } from "../call/outcome.ts";
import { onAbort } from "../call/timer.ts";

export interface Observer {
  /** Runs a part of the call's work: its start, or the step to its next message. A tracer sets up its context here. */
  run<T>(work: () => T): T;
  /** Called once when the call is over, with its error if it failed. It must not throw. */
  ended(error: RpcError | undefined): void;
}

/**
 * Makes a call and notifies the observer when it is over: when there is one message, or when the stream has ended,
 * failed, or was left early. A call whose response came after its deadline has failed. So has a call on a server whose
 * response cannot be sent.
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
  // A stream that is never read ends with its call.
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

/** The error as the caller sees it: on a server, errors that must not be revealed are hidden. */
function failure(request: CallRequest, reason: unknown): RpcError {
  if (reason instanceof RpcError) return reason;
  const aborted = abortErrorFor(reason, request);
  if (aborted !== undefined) return aborted;
  return isAnswered(request.context) ? hiddenError(reason) : RpcError.from(reason);
}

/** The reason why the caller or the other side gave up on the call; `undefined` if neither did. */
function cutShort({ context }: CallRequest): RpcError | undefined {
  const { signal } = context;
  return signal?.aborted ? abortError(signal) : undefined;
}
