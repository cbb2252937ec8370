/**
 * Observation of calls from start to end, for logs, traces and metrics.
 */
import type { Call, CallRequest, CallResponse, StreamResponse } from "../call/call.ts";
import { Code } from "../call/code.ts";
import { abortError, abortErrorFor, hiddenError, RpcError } from "../call/error.ts";
import { iteration, watchEnd } from "../call/message-stream.ts";
import { isAnswered, shapeError } from "../call/outcome.ts";
import { onAbort } from "../call/timer.ts";

export interface Observer {
  /** Runs a part of the call: its start, or the step to its next message. A tracer activates its context here. */
  readonly run?: (<T>(work: () => T) => T) | undefined;
  /** Handles the end of the call. Called once, with the error if the call has failed. It must not throw. */
  ended(error: RpcError | undefined): void;
}

/**
 * Runs a call and notifies the observer when it ends: after its only message, or when its stream has ended, has failed or
 * was cancelled by its reader. A call fails if its response arrives after the deadline, and on a server also if its
 * response cannot be sent.
 */
export async function observe(next: Call, request: CallRequest, observer: Observer): Promise<CallResponse> {
  let response: CallResponse;
  try {
    response = await (observer.run ? observer.run(() => next(request)) : next(request));
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
  const { run = (work) => work() } = observer;
  let over = false;
  const end = (error: RpcError | undefined): void => {
    if (over) return;
    over = true;
    release();
    observer.ended(error);
  };
  // The signal ends the observation of a stream that is never read.
  let release = (): void => {};
  release = onAbort(request.context.signal, end);
  const { context } = request;
  const answered = isAnswered(context);
  if (answered) context.onAnswered((error) => end(cutShort(request) ?? error));
  const observed = {
    [Symbol.asyncIterator]() {
      const messages = run(() => response.messages[Symbol.asyncIterator]());
      return iteration<object>(
        () => run(() => messages.next()),
        () => run(() => messages.return?.()),
      );
    },
  };
  return watchEnd(observed, (how, reason) => {
    if (how === "failed") end(failure(request, reason));
    else if (how === "left")
      end(cutShort(request) ?? new RpcError(Code.Canceled, "the stream was closed before its end"));
    else if (!answered) end(cutShort(request));
  });
}

/** Returns the error as the caller receives it: on a server, errors that must not be revealed are hidden. */
function failure(request: CallRequest, reason: unknown): RpcError {
  if (reason instanceof RpcError) return reason;
  return abortErrorFor(reason, request) ?? (isAnswered(request.context) ? hiddenError : RpcError.from)(reason);
}

/** Returns the reason for which the call was aborted; `undefined` if it was not. Does not create the signal, which is costly. */
function cutShort({ context }: CallRequest): RpcError | undefined {
  if (isAnswered(context) && context.isAborted === false) return undefined;
  const { signal } = context;
  return signal?.aborted ? abortError(signal) : undefined;
}
