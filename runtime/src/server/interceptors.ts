/** Interceptors of handlers, and the cleanup if an interceptor throws. */
import type { Call, CallContext, CallResponse, Interceptor, StreamResponse } from "../call/call.ts";
import { type ErrorHook, maskUnknownError, RpcError } from "../call/error.ts";
import { endMessages } from "../call/message-stream.ts";
import { interceptStreams } from "../call/request-messages.ts";

export interface HandlerOptions {
  /** Interceptors of every call, the first one outermost. */
  readonly interceptors: readonly Interceptor[];
  readonly onError: ErrorHook;
}

/**
 * Wraps a handler's call in interceptors. If they drop a stream that the handler has begun, the stream is ended, so
 * that the handler's `finally` runs. Errors of interceptors are masked like those of handlers; an `RpcError` from a
 * call that an interceptor made loses its headers and status. An error of the handler is passed on unchanged. `isPlain`: the
 * call has no stream, and its errors have nothing to lose.
 */
export function interceptHandler(call: Call, { interceptors, onError }: HandlerOptions, isPlain: boolean): Call {
  if (interceptors.length === 0) return call;
  const begun = new WeakMap<CallContext, StreamResponse>();
  const ofHandler = new WeakSet<object>();

  const handle: Call = async (request) => {
    try {
      const response = await call(request);
      if (response.stream) begun.set(request.context, response);
      return response;
    } catch (error) {
      ofHandler.add(error as RpcError);
      throw error;
    }
  };
  const intercepted = interceptStreams(isPlain ? call : handle, interceptors);

  return async (request) => {
    let response: CallResponse | undefined;
    try {
      response = await intercepted(request);
      return response;
    } catch (reason) {
      const error = maskUnknownError(reason, request, onError);
      throw ofHandler.has(error) ? error : asOwn(error);
    } finally {
      const left = isPlain || response?.stream ? undefined : begun.get(request.context);
      if (left !== undefined) endMessages(left).catch(() => {});
    }
  };
}

/**
 * Removes from an error what only its handler may set: the status, and headers that came from a call to another server.
 * Clients set the method of such errors.
 */
export function asOwn(error: RpcError): RpcError {
  const { code, rawMessage, details, headers, trailers, status, method } = error;
  const isOwn = method === undefined || headers.size === 0;
  if (isOwn && status === undefined) return error;
  return new RpcError(code, rawMessage, { details, headers: isOwn ? headers : undefined, trailers, cause: error });
}
