/**
 * The language of methods: what is called, with what, and what comes back. A stub, an interceptor, a protocol's client
 * half and a user's handler all speak it, on both ends of the wire.
 */
import type { Metadata } from "./metadata.ts";
import type { BodyKind, Method } from "./method.ts";

export type { BodyKind, Method, MethodKind } from "./method.ts";

/** A service: its methods by the name they have in TypeScript. `C` is its client interface, `H` its handler interface. */
export interface ServiceDef<C extends object, H extends object> {
  /** Full name of the service, such as `greet.v1.GreetService`. */
  readonly typeName: string;
  readonly methods: Readonly<Record<string, Method>>;
  /** The version and group a client asks for and a server answers to, unless told otherwise. Default: neither. */
  readonly selector?: Selector;
  readonly "~types"?: { readonly client: C; readonly handler: H };
}

/** Which of several services under one name is meant (spec: Versioning, point 4). */
export interface Selector {
  readonly version?: string | undefined;
  readonly group?: string | undefined;
}

/** A key for values that travel with a call inside one process, from interceptor to handler. */
export interface ContextKey<T> {
  readonly id: symbol;
  readonly defaultValue: T;
}

/** Makes a key for {@link ContextValues}. The description shows up in debuggers only. */
export function createContextKey<T>(defaultValue: T, description?: string): ContextKey<T> {
  return { id: Symbol(description), defaultValue };
}

/** Values that travel with a call inside one process. They never reach the wire. */
export interface ContextValues {
  /** The value under the key, or the key's default value. */
  readonly get: <T>(key: ContextKey<T>) => T;
  /** Puts a value under the key, in place of the one that is there. */
  readonly set: <T>(key: ContextKey<T>, value: T) => ContextValues;
  /** Removes the value under the key. */
  readonly delete: (key: ContextKey<unknown>) => ContextValues;
}

/** How long a call may live, and what travels with it inside the process. */
export interface CallContext {
  /**
   * Fires when the call is cancelled, its deadline passes, its peer is lost or its server shuts down; never on success.
   * Made on first use. `undefined` where nothing can end the call early.
   */
  readonly signal: AbortSignal | undefined;
  /** Milliseconds left until the deadline, 0 when it has passed; `undefined` without a deadline. */
  readonly timeoutMs: () => number | undefined;
  /** Whether a client's call waits for a server that cannot be connected to. `undefined`: as the transport has it. */
  readonly waitForReady?: boolean | undefined;
  readonly values: ContextValues;
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
  /** The message as its sender gave it: on a client possibly an init shape, on a server always a full message. */
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
  /** Trailing metadata; complete when the last message has been read. */
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

/** The language of methods. A failed call rejects, or its messages throw, with an `RpcError`. */
export type Call = (request: CallRequest) => Promise<CallResponse>;

/** Wraps calls, on a client or a server. The first of a list is the outermost. */
export type Interceptor = (next: Call) => Call;

/** Wraps a call in a list of interceptors, the first one outermost. */
export function intercept(call: Call, interceptors: readonly Interceptor[] = []): Call {
  return interceptors.reduceRight((next, interceptor, index) => {
    const wrapped: unknown = typeof interceptor === "function" ? interceptor(next) : undefined;
    if (typeof wrapped === "function" && !(wrapped instanceof Promise)) return wrapped as Call;
    throw new TypeError(`interceptors[${index}] must be a function of the form (next) => (request) => response`);
  }, call);
}

/** A method that a server serves: its protocol finds it by path. `call` runs the user's code. */
export interface Handler {
  readonly method: Method;
  readonly call: Call;
  /** Kinds of body that the method takes beside those of the codecs. Default: none. */
  readonly bodies?: readonly BodyKind[];
  /** Whether bodies that a page of any origin may send are refused without a proof of theirs. Default: true. */
  readonly csrf?: boolean;
  /** Other methods of the same path, told apart by their payload. Default: none. */
  readonly overloads?: readonly Handler[];
}
