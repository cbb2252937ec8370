/**
 * The methods of one path. Methods without schemas may share a path; the messages of a call tell which one is meant.
 */
import type { Handler } from "../call/call.ts";
import type { Method } from "../call/method.ts";

/** The methods of a handler's path, its own first. */
export function methodsOf({ method, overloads = [] }: Handler): readonly Method[] {
  return [method, ...overloads.map((one) => one.method)];
}

/** The handler of one of the methods of a handler's path. */
export function handlerOf(handler: Handler, method: Method): Handler {
  return handler.overloads?.find((one) => one.method === method) ?? handler;
}
