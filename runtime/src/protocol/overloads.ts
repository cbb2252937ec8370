/** The methods of one path. Methods without schemas may share a path; the messages of a call select the method. */
import type { Method } from "../call/method.ts";
import type { PayloadOptions } from "./payload.ts";
import type { Handler } from "./protocol.ts";

/** Returns the methods of a handler's path, beginning with the handler's own method. */
export function methodsOf({ method, overloads = [] }: Handler): readonly Method[] {
  return [method, ...overloads.map((one) => one.method)];
}

/** Returns the options of a server for the payload of a call. */
export function payloadOptionsOf(
  { limits: { maxMessageValues } }: Handler,
  { serializations }: PayloadOptions,
): PayloadOptions {
  return { serializations, maxMessageValues };
}

/** Returns the handler of one of the methods that share the path of `handler`. */
export function handlerOf(handler: Handler, method: Method): Handler {
  return handler.overloads?.find((one) => one.method === method) ?? handler;
}
