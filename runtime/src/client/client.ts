/**
 * Clients: convert the methods of a service to functions that make calls. The four kinds of method are reduced to unary
 * calls and streams.
 */
import {
  type Call,
  type ContextValues,
  lackOf,
  type Method,
  type Selector,
  type ServiceDef,
  type StreamRequest,
  type StreamResponse,
  type UnaryRequest,
} from "../call/call.ts";
import { Code, Status } from "../call/code.ts";
import { type CloseOptions, type ContextOptions, eachWithin, OpenContext, StreamContext } from "../call/context.ts";
import { RpcError, reasonOf, withCaller } from "../call/error.ts";
import { DONE, eachOf, MessageStream, onlyMessage } from "../call/message-stream.ts";
import { Metadata, type MetadataInit } from "../call/metadata.ts";
import { responseCountError, shapeError } from "../call/outcome.ts";

const NO_OPTIONS: CallOptions = {};

/** The basis of clients: makes calls over HTTP connections, which it manages or the platform provides. */
export interface Transport {
  /** Makes one call, with the transport's interceptors. Clients call it; programs rarely do. */
  readonly call: Call;
}

/** A transport that manages its connections, such as those of `triple-es/node`. Others have nothing to close. */
export interface ClosableTransport extends Transport {
  /**
   * Graceful shutdown: closes the connections after all running calls have ended, including streams, or when the grace
   * period ends. Calls that still run then fail as `unavailable`, and so does every call made after `close`. A second
   * `close` waits for the first. Rejects with a `TypeError`, and closes nothing, if the grace period is invalid.
   */
  readonly close: (options?: CloseOptions) => Promise<void>;
}

/** Options that apply to every call of a client, unless a call overrides them. */
export interface CallDefaults {
  /** Metadata to send. A field of a single call replaces default fields with the same name. Default: none. */
  readonly headers?: MetadataInit | undefined;
  /**
   * Timeout of a call, in milliseconds. 0: the deadline has passed before the call begins. `Infinity`: no limit. A call
   * with an invalid timeout fails as `invalid_argument`. Default: no limit.
   */
  readonly timeoutMs?: number | undefined;
  /**
   * True: the call waits for a server that cannot be reached, until its deadline, instead of failing as `unavailable`
   * (gRPC's wait for ready). Transports that do not manage connections ignore it. Default: the option of the same name
   * of the transport.
   */
  readonly waitForReady?: boolean | undefined;
  /** Version of the service to call. Default: that of the service definition, or none. */
  readonly version?: string | undefined;
  /** Group of the service to call. Default: that of the service definition, or none. */
  readonly group?: string | undefined;
}

/** Options of a single call. */
export interface CallOptions extends CallDefaults {
  /** Signal that cancels the call. Default: none. */
  readonly signal?: AbortSignal | undefined;
  /** Receives the leading metadata, before the first message. The call waits for a promise, and fails with its error. Default: none. */
  readonly onHeaders?: ((headers: Metadata) => void) | undefined;
  /** Receives the trailing metadata, after the last message. Default: none. */
  readonly onTrailers?: ((trailers: Metadata) => void) | undefined;
  /** Values for the client's interceptors. Default: none. */
  readonly values?: ContextValues | undefined;
}

/** A method with the types of its stub: `I` is the request, `O` the response. */
export type TypedMethod<Stub> = Method & { readonly "~stub"?: Stub };
/** A unary method in generated code. The promise of its function rejects with an `RpcError` if the call fails. */
export type UnaryMethod<I, O> = TypedMethod<(request: I, options?: CallOptions) => Promise<O>> & {
  readonly kind: "unary";
};
/**
 * A server streaming method in generated code. The call starts when the first response is read. The iteration rejects with
 * an `RpcError` if the call fails.
 */
export type ServerStreamingMethod<I, O> = TypedMethod<(request: I, options?: CallOptions) => AsyncIterable<O>> & {
  readonly kind: "server_streaming";
};
/** A client streaming method in generated code. The promise of its function rejects with an `RpcError` if the call fails. */
export type ClientStreamingMethod<I, O> = TypedMethod<
  (requests: AsyncIterable<I>, options?: CallOptions) => Promise<O>
> & { readonly kind: "client_streaming" };
/**
 * A bidirectional streaming method in generated code. The call starts when the first response is read. The iteration rejects
 * with an `RpcError` if the call fails.
 */
export type BidiStreamingMethod<I, O> = TypedMethod<
  (requests: AsyncIterable<I>, options?: CallOptions) => AsyncIterable<O>
> & { readonly kind: "bidi_streaming" };

/**
 * Creates a client with a function for every method of the service. Throws a `TypeError` for a value that is not a
 * transport. Generated code calls this.
 */
export function createClient<C extends object>(
  service: ServiceDef<C, object>,
  transport: Transport,
  defaults: CallDefaults = {},
): C {
  return createClientOf(createStub, service, transport, defaults);
}

/**
 * Creates a client like {@link createClient}, for services whose methods are all unary. A bundle of it contains no code
 * for streams.
 */
export function createUnaryClient<C extends object>(
  service: ServiceDef<C, object>,
  transport: Transport,
  defaults: CallDefaults = {},
): C {
  return createClientOf(createUnaryStub, service, transport, defaults);
}

function createClientOf<C extends object>(
  createStubOf: (method: Method, transport: Transport, defaults: CallDefaults) => unknown,
  service: ServiceDef<C, object>,
  transport: Transport,
  defaults: CallDefaults,
): C {
  const lack =
    lackOf(service.format) ?? (typeof transport?.call === "function" ? undefined : "a transport (createTransport)");
  if (lack !== undefined) throw new TypeError(`a client of ${service.typeName} needs ${lack}`);
  const selected = { ...service.selector, ...defaults };
  const client: Record<string, unknown> = Object.create(null);
  for (const [name, method] of Object.entries(service.methods)) {
    client[name] = createStubOf(method, transport, selected);
  }
  return client as C;
}

/** Creates the function for one method. A bundle that imports one method this way contains none of the others. */
export function createStub<Stub>(method: TypedMethod<Stub>, transport: Transport, defaults: CallDefaults = {}): Stub {
  return stubs[method.kind](method, transport.call, defaults) as Stub;
}

/** Creates the function for one unary method, like {@link createStub}. */
export function createUnaryStub<I, O>(
  method: TypedMethod<(request: I, options?: CallOptions) => Promise<O>>,
  { call }: Transport,
  defaults: CallDefaults = {},
): (request: I, options?: CallOptions) => Promise<O> {
  return (message, options) => callUnary(method, call, message as object, defaults, options) as Promise<O>;
}

type StubMaker = (method: Method, call: Call, defaults: CallDefaults) => unknown;

const stubs: Readonly<Record<Method["kind"], StubMaker>> = {
  unary: (method, call, defaults) => (message: object, options?: CallOptions) =>
    callUnary(method, call, message, defaults, options),
  server_streaming: (method, call, defaults) => (message: object, options?: CallOptions) =>
    new ResponseStream(method, call, { [Symbol.asyncIterator]: () => eachOf([message]) }, defaults, options),
  client_streaming: (method, call, defaults) => (messages: AsyncIterable<object>, options?: CallOptions) =>
    onlyMessage(
      new ResponseStream(method, call, messages, defaults, options),
      (received) => withCaller(responseCountError(method, received), method.path),
      // An error that the server reports takes precedence over a second message.
      2,
    ),
  bidi_streaming: (method, call, defaults) => (messages: AsyncIterable<object>, options?: CallOptions) =>
    new ResponseStream(method, call, messages, defaults, options),
};

async function callUnary(
  method: Method,
  call: Call,
  message: object,
  defaults: CallDefaults,
  options: CallOptions = NO_OPTIONS,
): Promise<object> {
  let context: OpenContext | undefined;
  try {
    const headers = mergeHeaders(defaults.headers, options.headers);
    context = new OpenContext(contextOptions(defaults, options));
    context.waitsFor = "response";
    const selector = selectorOf(defaults, options);
    const request: UnaryRequest = { stream: false, method, message, context, headers, selector };
    const response = await (context.limited ? context.race(() => call(request)) : call(request));
    if (response?.stream !== false) throw shapeError(method, response);
    if (options.onHeaders) await options.onHeaders(response.headers);
    if (options.onTrailers) await options.onTrailers(response.trailers);
    return response.message;
  } catch (reason) {
    throw withCaller(reason, method.path, context?.target);
  } finally {
    context?.close();
  }
}

type StreamingCall = readonly [
  method: Method,
  call: Call,
  messages: AsyncIterable<object>,
  defaults: CallDefaults,
  options: CallOptions | undefined,
];

/** The responses of a streaming call, which starts with the first read and is cancelled when the reader leaves the loop. */
class ResponseStream extends MessageStream {
  readonly #given: StreamingCall;
  #context: StreamContext | undefined;
  #responses: AsyncIterator<object> | undefined;
  #response: StreamResponse | undefined;
  /** The messages of the response, if those that have been received can be taken without a race with the end of the call. */
  #stream: MessageStream | undefined;
  #isOver = false;

  constructor(...given: StreamingCall) {
    super();
    this.#given = given;
  }

  protected ready(): object | undefined {
    return this.#isOver || this.#context?.hasEnded ? undefined : this.#stream?.take();
  }

  protected async wait(): Promise<IteratorResult<object, undefined>> {
    const [method, , , , options] = this.#given;
    try {
      if (this.#isOver) return DONE;
      const step = await (this.#responses ?? (await this.#start())).next();
      if (!step.done && !this.#isOver) return step;
      this.#end();
      if (!step.done) void ended(this.#responses);
      else await options?.onTrailers?.((this.#response as StreamResponse).trailers);
      return DONE;
    } catch (reason) {
      this.#context?.cancel();
      this.#end();
      throw withCaller(reason, method.path, this.#context?.target);
    } finally {
      this.waited();
    }
  }

  protected leave(): void {
    this.#isOver = true;
    this.#context?.cancel();
    // A pending read ends the call.
    if (this.isPending) return;
    this.#end();
    void ended(this.#responses);
  }

  async #start(): Promise<AsyncIterator<object>> {
    const [method, call, messages, defaults, options = NO_OPTIONS] = this.#given;
    if (typeof messages?.[Symbol.asyncIterator] !== "function") {
      throw clientError(`the requests of ${method.path} must be an async iterable`);
    }
    const headers = mergeHeaders(defaults.headers, options.headers);
    const selector = selectorOf(defaults, options);
    const context = new StreamContext(contextOptions(defaults, options));
    context.waitsFor = "response";
    this.#context = context;
    const request: StreamRequest = { stream: true, method, messages, context, headers, selector };
    const response = await context.race(() => call(request));
    if (!response?.stream) throw shapeError(method, response);
    await options.onHeaders?.(response.headers);
    context.waitsFor = "next message";
    this.#response = response;
    if (response.messages instanceof MessageStream) this.#stream = response.messages;
    this.#responses = eachWithin(context, response.messages)[Symbol.asyncIterator]();
    return this.#responses;
  }

  #end(): void {
    this.#isOver = true;
    this.#context?.close();
  }
}

/** Ends an iteration early. Its errors have no receiver. */
async function ended(iterator: AsyncIterator<object> | undefined): Promise<void> {
  try {
    await iterator?.return?.();
  } catch {}
}

/** Returns the options of a call's context. Throws an `RpcError` for an invalid timeout. */
function contextOptions(defaults: CallDefaults, options: CallOptions): ContextOptions {
  const timeoutMs = options.timeoutMs ?? defaults.timeoutMs;
  if (timeoutMs !== undefined && !(typeof timeoutMs === "number" && timeoutMs >= 0)) {
    throw clientError(`timeoutMs must be at least 0, not ${timeoutMs}`);
  }
  const { signal, values, waitForReady = defaults.waitForReady } = options;
  if (signal !== undefined && !signal?.addEventListener) throw clientError("signal must be an AbortSignal");
  return { timeoutMs, timeoutStatus: Status.ClientTimeout, signal, values, waitForReady };
}

function selectorOf(defaults: CallDefaults, options: CallOptions): Selector {
  return { version: options.version ?? defaults.version, group: options.group ?? defaults.group };
}

function mergeHeaders(defaults: MetadataInit | undefined, own: MetadataInit | undefined): Metadata {
  try {
    const headers = new Metadata(defaults);
    if (own === undefined) return headers;
    const replacing = new Metadata(own);
    for (const [name] of replacing) headers.delete(name);
    return headers.appendAll(replacing);
  } catch (cause) {
    throw clientError(reasonOf(cause), cause);
  }
}

/** Creates the error for a call with invalid options or metadata. */
function clientError(message: string, cause?: unknown): RpcError {
  return new RpcError(Code.InvalidArgument, message, { status: Status.ClientError, cause });
}
