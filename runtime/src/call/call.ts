/**
 * The language of methods: the method of a call, its request and its response. Stubs, interceptors, the client halves
 * of protocols and the handlers of users speak it, on both ends of the wire.
 */
import type { Metadata } from "./metadata.ts";
import type { BodyKind, Method } from "./method.ts";
import type { Peer } from "./peer.ts";

export type { BodyKind, Method, MethodKind } from "./method.ts";

/** A service and its methods, by their names in TypeScript. `C` is its client interface, `H` its handler interface. */
export interface ServiceDef<C extends object, H extends object> {
  /** Full name of the service, such as `greet.v1.GreetService`. */
  readonly typeName: string;
  readonly methods: Readonly<Record<string, Method>>;
  /**
   * The version and group that clients ask for and servers answer to, unless an option says otherwise. Default:
   * neither.
   */
  readonly selector?: Selector;
  readonly "~types"?: { readonly client: C; readonly handler: H };
}

/** Selects one of several services with the same name (spec: Versioning, point 4). */
export interface Selector {
  readonly version?: string | undefined;
  readonly group?: string | undefined;
}

/** A key for a value that travels with a call inside one process, from interceptor to handler. */
export interface ContextKey<T> {
  readonly id: symbol;
  readonly defaultValue: T;
}

/** Makes a key for {@link ContextValues}. The description appears in debuggers only. */
export function createContextKey<T>(defaultValue: T, description?: string): ContextKey<T> {
  return { id: Symbol(description), defaultValue };
}

/** Values that travel with a call inside one process. They never reach the wire. */
export interface ContextValues {
  /** The value under the key, or the key's default value. */
  readonly get: <T>(key: ContextKey<T>) => T;
  /** Sets the value under the key and replaces an earlier one. */
  readonly set: <T>(key: ContextKey<T>, value: T) => ContextValues;
  /** Removes the value under the key. */
  readonly delete: (key: ContextKey<unknown>) => ContextValues;
}

/** Deadline and cancellation of a call, and the values that travel with it inside the process. */
export interface CallContext {
  /**
   * Fires when the call is cancelled, its deadline passes, its peer is lost or its server shuts down; never on success.
   * Made on first use. `undefined` if nothing can end the call early.
   */
  readonly signal: AbortSignal | undefined;
  /** Returns the milliseconds left until the deadline, 0 when it has passed; `undefined` without a deadline. */
  readonly timeoutMs: () => number | undefined;
  /**
   * True if a client's call waits for a server that cannot be reached (wait for ready). `undefined`: the transport's
   * option applies.
   */
  readonly waitForReady?: boolean | undefined;
  readonly values: ContextValues;
  /** On a server, the client of the call. `undefined` on a client. */
  readonly peer?: Peer | undefined;
}

interface CallRequestBase {
  readonly method: Method;
  /** Metadata of the request. Interceptors may change it in place. */
  readonly headers: Metadata;
  readonly selector: Selector;
  readonly context: CallContext;
}
/** A call with one message each way. */
export interface UnaryRequest extends CallRequestBase {
  readonly stream: false;
  /** The message as its sender passed it: possibly an init shape on a client, always a full message on a server. */
  readonly message: object;
}
/** A call of any of the three streaming kinds. */
export interface StreamRequest extends CallRequestBase {
  readonly stream: true;
  readonly messages: AsyncIterable<object>;
}
export type CallRequest = UnaryRequest | StreamRequest;

interface CallResponseBase {
  /** Leading metadata. */
  readonly headers: Metadata;
  /** Trailing metadata. It is complete once the last message has been read. */
  readonly trailers: Metadata;
}
export interface UnaryResponse extends CallResponseBase {
  readonly stream: false;
  readonly message: object;
}
export interface StreamResponse extends CallResponseBase {
  readonly stream: true;
  readonly messages: AsyncIterable<object>;
}
export type CallResponse = UnaryResponse | StreamResponse;

/** Makes one call. A failed call rejects, or its messages throw, with an `RpcError`. */
export type Call = (request: CallRequest) => Promise<CallResponse>;

/** Wraps calls, on a client or a server. The first interceptor of a list is the outermost. */
export type Interceptor = (next: Call) => Call;

/** Wraps a call in a list of interceptors, the first one outermost. */
export function intercept(call: Call, interceptors: readonly Interceptor[] = []): Call {
  return interceptors.reduceRight((next, interceptor, index) => {
    const wrapped: unknown = typeof interceptor === "function" ? interceptor(next) : undefined;
    if (typeof wrapped === "function" && !(wrapped instanceof Promise)) return wrapped as Call;
    throw new TypeError(`interceptors[${index}] must be a function of the form (next) => (request) => response`);
  }, call);
}

/** A method that a server serves. Its protocol finds it by path; `call` runs the user's code. */
export interface Handler {
  readonly method: Method;
  readonly call: Call;
  /** Kinds of body that the method accepts in addition to those of the codecs. Default: none. */
  readonly bodies?: readonly BodyKind[];
  /** True if bodies that need no CORS preflight are refused from pages of other origins. Default: true. */
  readonly csrf?: boolean;
  /** Other methods with the same path, distinguished by their payload. Default: none. */
  readonly overloads?: readonly Handler[];
}
