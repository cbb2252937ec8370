/**
 * Calls as typed values: the method of a call, its request and its response. Stubs, interceptors, both halves of the
 * protocols and handlers use these types, on clients and on servers.
 */
import type { Metadata } from "./metadata.ts";
import type { Method } from "./method.ts";
import type { Peer } from "./peer.ts";

export type { Method } from "./method.ts";

/** A service and its methods, keyed by their TypeScript names. `C` is the client interface, `H` the handler interface. */
export interface ServiceDef<C extends object, H extends object> {
  /** Full name of the service, such as `greet.v1.GreetService`. */
  readonly typeName: string;
  /** The methods, by their names in TypeScript, such as `greet`. */
  readonly methods: Readonly<Record<string, Method>>;
  /** The version and group that clients request and servers serve, unless an option overrides them. Default: none. */
  readonly selector?: Selector;
  /** The format of the generated code, which the runtime must support. Absent in definitions that were not generated. */
  readonly format?: 1;
  /** The types of the client and the handler, for inference. It has no value at run time. */
  readonly "~types"?: { readonly client: C; readonly handler: H };
}

/** Returns the lacking part if this runtime does not support the format of generated code. */
export function lackOf(format: number = 1): string | undefined {
  if (format === 1) return undefined;
  return format > 1 ? "a newer triple-es" : "newer generated code";
}

/** Returns the payload of a method, by the type that the protocols have for it; `undefined` if its messages have schemas. */
export function payloadOf<Payload extends object>({ payload }: Method): Payload | undefined {
  return payload as Payload | undefined;
}

/** The version and group that distinguish services with the same name (spec: Versioning, point 4). */
export interface Selector {
  /** Version of the service. Default: that of the service definition, or none. */
  readonly version?: string | undefined;
  /** Group of the service. Default: that of the service definition, or none. */
  readonly group?: string | undefined;
}

/** The key of a value in {@link ContextValues}. */
export interface ContextKey<T> {
  /** Identifies the key. Two keys with equal descriptions differ. */
  readonly id: symbol;
  /** The value that `get` returns while none is set. */
  readonly defaultValue: T;
}

/** Creates a key for {@link ContextValues}. The description appears in debuggers only. */
export function createContextKey<T>(defaultValue: T, description?: string): ContextKey<T> {
  return { id: Symbol(description), defaultValue };
}

/** Values that interceptors and the handler of a call share inside one process. They are never sent. */
export interface ContextValues {
  /** Returns the value of the key, or the key's default value if none is set. */
  readonly get: <T>(key: ContextKey<T>) => T;
  /** Sets the value of the key, replacing an earlier one. */
  readonly set: <T>(key: ContextKey<T>, value: T) => ContextValues;
  /** Removes the value of the key. */
  readonly delete: (key: ContextKey<unknown>) => ContextValues;
}

/** Deadline, cancellation and values of a call. */
export interface CallContext {
  /**
   * Fires when the call is cancelled, its deadline passes, the connection to its peer is lost or its server shuts down;
   * never on success. Created on first use. `undefined` if nothing can end the call early.
   */
  readonly signal: AbortSignal | undefined;
  /** Returns the milliseconds until the deadline, or 0 after it has passed; `undefined` without a deadline. */
  readonly timeoutMs: () => number | undefined;
  /**
   * On a client, true if the call waits while its server cannot be reached (wait for ready). `undefined`: the transport's
   * option applies.
   */
  readonly waitForReady?: boolean | undefined;
  /**
   * On a client, the attempt of a call with a policy for retries or hedging: the endpoints that attempts of the call were sent
   * to, and whether response headers have arrived. `undefined` for a call without a policy.
   */
  readonly attempt?:
    | {
        /** The endpoints that attempts of the call were sent to. */
        readonly tried: Set<object>;
        /** The outcome if the attempt fails: `committed` after response headers have arrived, which the protocol sets. */
        outcome: "unknown" | "committed";
      }
    | undefined;
  /** Values that interceptors and options such as `values` pass to the handler of the call. */
  readonly values: ContextValues;
  /**
   * On a server, fires when the server begins to close, while the call may still run for the grace period. `undefined` on a
   * client, and if nothing closes the server.
   */
  readonly draining?: AbortSignal | undefined;
  /** On a server, the client of the call. `undefined` on a client. */
  readonly peer?: Peer | undefined;
  /**
   * On a client, the server of the call: the address of the endpoint, such as `10.0.0.7:50051` or the path of a socket;
   * the name of the target while no endpoint is chosen; the base URL of a transport on `fetch`. The engine sets it when
   * it gets the request, and it is `target` of the call's error. `undefined` before that, in memory and on a server.
   */
  target?: string | undefined;
}

/** The request of a unary call. */
export interface UnaryRequest {
  /** The method that is called. */
  readonly method: Method;
  /** Metadata of the request. Interceptors may change it in place. */
  readonly headers: Metadata;
  /** The version and group of the service that is called. */
  readonly selector: Selector;
  /** Deadline, cancellation, values and peer of the call. */
  readonly context: CallContext;
  /** False: distinguishes the request from that of a streaming call. */
  readonly stream: false;
  /** The message. On a client it may be an init object (`MessageInitShape`); on a server it is always a complete message. */
  readonly message: object;
}
/** The request of a call of one of the three streaming kinds. */
export interface StreamRequest extends Omit<UnaryRequest, "stream" | "message"> {
  /** True for a request of any streaming kind, also if it has one message only. */
  readonly stream: true;
  /** The messages of the request, read once. A server streaming call has exactly one. */
  readonly messages: AsyncIterable<object>;
}
/** The request of a call. `stream` distinguishes the two types. */
export type CallRequest = UnaryRequest | StreamRequest;

/** The response of a unary call. */
export interface UnaryResponse {
  /** The response headers. */
  readonly headers: Metadata;
  /** The response trailers. They are complete after the last message has been read. */
  readonly trailers: Metadata;
  /** False: distinguishes the response from that of a streaming call. */
  readonly stream: false;
  /** The message, decoded. An interceptor may return a response with another one. */
  readonly message: object;
}
/** The response of a call of one of the three streaming kinds. */
export interface StreamResponse extends Omit<UnaryResponse, "stream" | "message"> {
  /** True for a response of any streaming kind, also if it has one message only. */
  readonly stream: true;
  /**
   * The messages, read once. The iteration rejects with an `RpcError` if the call fails later. Leaving it early cancels
   * the call.
   */
  readonly messages: AsyncIterable<object>;
}
/** The response of a call. `stream` distinguishes the two types. */
export type CallResponse = UnaryResponse | StreamResponse;

/** Runs one call. If the call fails, the promise or the iteration of its messages rejects with an `RpcError`. */
export type Call = (request: CallRequest) => Promise<CallResponse>;

/** A function that wraps calls, on a client or a server. The first interceptor of a list is the outermost. */
export type Interceptor = (next: Call) => Call;

/**
 * Decides on a server whether a call may begin, before any of its messages is read. To refuse the call, it throws an
 * `RpcError`, or returns a promise that rejects with one; it returns nothing otherwise.
 */
export type Authorize = (call: Omit<CallRequest, "stream">) => void | Promise<void>;

/**
 * Wraps a call in a list of interceptors, the first one outermost. Throws a `TypeError` for an element that is not an
 * interceptor.
 */
export function intercept(call: Call, interceptors: readonly Interceptor[] = []): Call {
  return interceptors.reduceRight((next, interceptor, index) => {
    const wrapped: unknown = typeof interceptor === "function" ? interceptor(next) : undefined;
    if (typeof wrapped === "function" && !(wrapped instanceof Promise)) return wrapped as Call;
    throw new TypeError(`interceptors[${index}] must be (next) => (request) => response`);
  }, call);
}
