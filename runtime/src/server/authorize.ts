/**
 * Authorization of calls before their messages are read: the hooks of a router and of a service, for both sub-protocols. An
 * interceptor would run after the message of a unary call, and so after an upload that is refused.
 */
import type { Authorize, CallRequestBase } from "../call/call.ts";
import { type ErrorHook, maskUnknownError } from "../call/error.ts";
import { asOwn } from "./interceptors.ts";

/** Combines hooks, the first one first. Their errors are masked like those of interceptors. `undefined`: there is none. */
export function createAuthorize(hooks: readonly Authorize[], onError: ErrorHook): Authorize | undefined {
  if (hooks.length === 0) return undefined;
  return (call) => {
    const refuse = (reason: unknown): never => {
      throw asOwn(maskUnknownError(reason, call, onError));
    };
    try {
      return runHooks(hooks, call)?.catch(refuse);
    } catch (reason) {
      return refuse(reason);
    }
  };
}

/** Returns a promise only if a hook does. */
function runHooks(hooks: readonly Authorize[], call: CallRequestBase, index = 0): undefined | Promise<undefined> {
  if (index === hooks.length) return undefined;
  const result: unknown = hooks[index]?.(call);
  const next = (value: unknown): undefined | Promise<undefined> => {
    // A hook that returns false means to refuse the call.
    if (value !== undefined)
      throw new TypeError("authorize must throw an RpcError to refuse a call, and return nothing");
    return runHooks(hooks, call, index + 1);
  };
  return result instanceof Promise ? result.then(next) : next(result);
}
