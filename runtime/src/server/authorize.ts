/**
 * Authorization of calls before their messages are read: the hooks of a router and of a service, for both sub-protocols. An
 * interceptor would run after the message of a unary call, and so after an upload that is refused.
 */
import type { Authorize, CallRequest } from "../call/call.ts";
import { abortError, type ErrorHook, maskUnknownError } from "../call/error.ts";
import { asOwn } from "./interceptors.ts";

/**
 * Combines hooks, the first one first. Returns a promise only if one of them does, because a call would wait for it. Their errors
 * are masked like those of interceptors. A call that has ended while a hook waited must not begin. `undefined`: there is no hook.
 */
export function createAuthorize(
  hooks: readonly (Authorize | undefined)[],
  onError: ErrorHook,
): ((call: Omit<CallRequest, "stream">) => Promise<void> | undefined) | undefined {
  const given = hooks.filter((hook) => hook !== undefined);
  if (given.length === 0) return undefined;
  return (call) => {
    try {
      for (let i = 0; i < given.length; i++) {
        const result: unknown = given[i]?.(call);
        if (result instanceof Promise) return wait(call, result, given.slice(i + 1), onError);
        assertNothing(result);
      }
      return undefined;
    } catch (reason) {
      throw asOwn(maskUnknownError(reason, call, onError));
    }
  };
}

/** Waits for a hook, and runs those after it. */
async function wait(
  call: Omit<CallRequest, "stream">,
  first: unknown,
  others: readonly Authorize[],
  onError: ErrorHook,
): Promise<void> {
  try {
    assertNothing(await first);
    for (const hook of others) assertNothing(await hook(call));
  } catch (reason) {
    throw asOwn(maskUnknownError(reason, call, onError));
  }
  const { signal } = call.context;
  if (signal?.aborted) throw abortError(signal);
}

/** Refuses a call whose hook returns a value: one that returns false means to refuse it. */
function assertNothing(result: unknown): void {
  if (result === undefined) return;
  throw new TypeError("authorize must throw an RpcError to refuse a call, and return nothing");
}
