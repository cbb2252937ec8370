/**
 * Request streams under interceptors. An interceptor may call `next` again, and most streams can be read once: an empty
 * stream would be sent, and the call would succeed although its messages were lost.
 */
import { attemptInterceptors } from "./attempt.ts";
import { type Call, type Interceptor, intercept } from "./call.ts";
import { Code } from "./code.ts";
import { RpcError } from "./error.ts";
import { iteration } from "./message-stream.ts";

/** Iterators and streams whose messages have been read, or are being read. */
const begun = new WeakSet<object>();

/** Wraps the attempts of a transport's calls with the parts of its interceptors that observe attempts. */
export function interceptAttempts(call: Call, interceptors: readonly Interceptor[] = []): Call {
  return intercept(
    call,
    interceptors.flatMap((one) => attemptInterceptors.get(one) ?? []),
  );
}

/**
 * Wraps a call in interceptors, on a client or a server. It fails as `failed_precondition` if an interceptor passes on a request
 * stream again that can be read once.
 */
export function interceptStreams(call: Call, interceptors: readonly Interceptor[] = []): Call {
  // The stream of the call is checked, and those that interceptors make of it.
  return interceptors.length === 0 ? call : refuseRepeats(intercept(refuseRepeats(call, true), interceptors), false);
}

function refuseRepeats(call: Call, isInner: boolean): Call {
  return (request) => {
    if (!request.stream) return call(request);
    return call({ ...request, messages: readOnce(request.messages, request.method.path, isInner) });
  };
}

/**
 * Returns messages that fail if they are read again after their source has been read. `isInner`: a handler reads them, whose second
 * loop continues after the first one, as without interceptors.
 */
function readOnce(messages: AsyncIterable<object>, path: string, isInner: boolean): AsyncIterable<object> {
  /** The iterator of the last loop over the messages. */
  let last: AsyncIterableIterator<object, undefined> | undefined;
  /** True if the stream has no messages. */
  let isEmpty = false;
  const begin = (source: object): void => {
    if (begun.has(source)) throw readTwice(path);
    begun.add(source);
  };
  return {
    [Symbol.asyncIterator]() {
      if (isInner && last !== undefined) return last;
      if (isStream(messages)) begin(messages);
      const iterator = messages[Symbol.asyncIterator]();
      if (!isStream(messages)) begin(iterator);
      const isFirstLoop = last === undefined;
      let next = async (): Promise<IteratorResult<object, undefined>> => {
        next = () => iterator.next();
        const step = await iterator.next();
        if (step.done && !isFirstLoop && !isEmpty) throw readTwice(path);
        isEmpty = step.done === true;
        return step;
      };
      last = iteration(
        () => next(),
        () => iterator.return?.(),
      );
      return last;
    },
  };
}

function readTwice(path: string): RpcError {
  const problem = `the request messages of ${path} can be read once, so an interceptor cannot call next again with them`;
  return new RpcError(Code.FailedPrecondition, `${problem}; pass other messages, or use a policy for retries`);
}

/** Reports whether messages come from a stream of the platform, whose iterators all read the same messages. */
function isStream(messages: object): boolean {
  const { getReader, pipe } = messages as { readonly getReader?: unknown; readonly pipe?: unknown };
  return typeof getReader === "function" || typeof pipe === "function";
}
