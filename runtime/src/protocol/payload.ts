/**
 * The methods of one path. Methods without schemas may share a path; the messages of a call select the method.
 */
import type { Handler } from "../call/call.ts";
import type { Method, PayloadOptions } from "../call/method.ts";

/** Returns the methods of a handler's path, beginning with the handler's own method. */
export function methodsOf({ method, overloads = [] }: Handler): readonly Method[] {
  return [method, ...overloads.map((one) => one.method)];
}

/** Returns the options of a server for the payload of a call. The limit of the handler takes precedence. */
export function payloadOptionsOf({ limits }: Handler, options: PayloadOptions): PayloadOptions {
  const own = limits?.maxMessageValues;
  return own === undefined ? options : { serializations: options.serializations, maxMessageValues: own };
}

/** Returns the handler of one of the methods that share the path of `handler`. */
export function handlerOf(handler: Handler, method: Method): Handler {
  return handler.overloads?.find((one) => one.method === method) ?? handler;
}
