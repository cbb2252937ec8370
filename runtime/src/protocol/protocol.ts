/**
 * The two halves of a sub-protocol, which convert between calls and HTTP exchanges. Methods without schemas may share a path: the
 * messages of a call select the method.
 */
import type { Call, CallRequest, Method, Selector } from "../call/call.ts";
import type { Exchange, HttpRequest, HttpResponse } from "../http/exchange.ts";
import type { RequestHeaders } from "./headers.ts";
import type { ClientProtocolOptions, ProtocolOptions } from "./options.ts";
import type { PayloadOptions, ServerPayload } from "./payload.ts";

/** The client half of a protocol: converts an exchange to a call. */
export type ClientProtocol = (exchange: Exchange, options: ClientProtocolOptions) => Call;

/** The server half of a protocol: answers HTTP requests by calling handlers. */
export interface ServerProtocol {
  /** Returns what answers a content type, which a router remembers; `undefined` if it is not of this protocol. */
  accept(contentType: string): Answer | undefined;
}

/** Answers a request with the selector; without a handler, with the error for an unknown method. Never rejects. */
export type Answer = (request: HttpRequest, destination: Destination) => Promise<HttpResponse>;

/** The destination of a request. Requests with the same headers may share it. */
export interface Destination {
  readonly handler: Handler | undefined;
  readonly selector: Selector;
  /** The headers of the request as typed values, if the protocol has read them. */
  headers: RequestHeaders | undefined;
}

/** A method that a server serves, with everything that is settled when its service is added. */
export interface Handler {
  readonly method: Method;
  /** The payload of methods whose messages have no schema. */
  readonly payload: ServerPayload | undefined;
  /** Runs the implementation, inside of the interceptors. */
  readonly call: Call;
  /** Rejects if a call may not begin; asked before its messages are read. `undefined`: every call may. */
  readonly authorize: ((call: Omit<CallRequest, "stream">) => Promise<void> | undefined) | undefined;
  /** Asked instead of `authorize`, which it includes, unless it lets a call pass. `undefined`: the server sheds no load. */
  readonly shedding?: (Pick<Handler, "authorize"> & { readonly passes: () => boolean }) | undefined;
  /** Kinds of request body that the method accepts in addition to the formats of the codecs. */
  readonly bodies: readonly string[];
  /** True if requests from other origins are refused when their body needs no CORS preflight. */
  readonly csrf: boolean;
  readonly limits: HandlerLimits;
  /** Other methods with the same path; the payload distinguishes them. Default: none. */
  readonly overloads?: readonly Handler[];
}

/** The limits of the calls of a method, and the options of its payload. */
export interface HandlerLimits extends Omit<ProtocolOptions, "compressions">, Pick<PayloadOptions, "serializations"> {
  /** Maximum timeout of a call in milliseconds. `Infinity`: no maximum. */
  readonly maxTimeoutMs: number;
}

/** Returns the methods of a handler's path, beginning with the handler's own method. */
export function methodsOf({ method, overloads = [] }: Handler): readonly Method[] {
  return [method, ...overloads.map((one) => one.method)];
}

/** Returns the handler of one of the methods that share the path of `handler`. */
export function handlerOf(handler: Handler, method: Method): Handler {
  return handler.overloads?.find((one) => one.method === method) ?? handler;
}
