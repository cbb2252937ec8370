/**
 * Authorization of calls before their messages are read: the hooks of a router and of a service, for both sub-protocols. An
 * interceptor would run after the message of a unary call, and so after an upload that is refused.
 */
import type { Authorize, CallRequest } from "../call/call.ts";
import { abortError, type ErrorHook, maskUnknownError } from "../call/error.ts";
import { asOwn } from "./interceptors.ts";

/**
 * Combines hooks, the first one first. Their errors are masked like those of interceptors. A call that has ended while a hook
 * waited must not begin. `undefined`: there is no hook.
 */
export function createAuthorize(
  hooks: readonly Authorize[],
  onError: ErrorHook,
): ((call: Omit<CallRequest, "stream">) => Promise<void>) | undefined {
  if (hooks.length === 0) return undefined;
  return async (call) => {
    let hasWaited = false;
    try {
      for (const hook of hooks) {
        const result: unknown = hook(call);
        if (result instanceof Promise) hasWaited = true;
        // A hook that returns false means to refuse the call.
        if ((hasWaited ? await result : result) === undefined) continue;
        throw new TypeError("authorize must throw an RpcError to refuse a call, and return nothing");
      }
    } catch (reason) {
      throw asOwn(maskUnknownError(reason, call, onError));
    }
    if (!hasWaited) return;
    const { signal } = call.context;
    if (signal?.aborted) throw abortError(signal);
  };
}
