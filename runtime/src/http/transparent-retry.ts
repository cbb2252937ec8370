/**
 * Reports of transparent retries: requests that are sent again because no server has processed them (gRFC A6).
 */
import type { TransparentRetryEvent } from "../call/attempt.ts";
import { diagnostics } from "../call/diagnostics.ts";
import { callHook, type RpcError } from "../call/error.ts";
import type { HttpRequest } from "./exchange.ts";

export type TransparentRetryHook = (event: TransparentRetryEvent) => void;

/** Reports a retry to the diagnostics and to the user's hook, if there is one. */
export function reportTransparentRetry(
  { path, context }: HttpRequest,
  delayMs: number,
  error: RpcError,
  hook: TransparentRetryHook | undefined,
): void {
  diagnostics.write?.(`transparent retry of ${path} in ${delayMs} ms: ${error.message}`);
  if (hook !== undefined) callHook("the hook onTransparentRetry", () => hook({ path, context, delayMs, error }));
}
