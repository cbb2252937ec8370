/**
 * Clients: turns the methods of a service into functions that make calls. The four kinds become two shapes here.
 */
import {
  type Call,
  type ContextValues,
  type Method,
  oneMessage,
  onlyMessage,
  type Selector,
  type ServiceDef,
  type StreamRequest,
  type StreamResponse,
} from "./call.ts";
import { Code, Status } from "./code.ts";
import { OpenContext } from "./deadline.ts";
import { RpcError } from "./error.ts";
import { Metadata, type MetadataInit } from "./metadata.ts";

/** What a client is built on: something that makes calls, usually over connections of its own. */
export interface Transport {
  readonly call: Call;
  /** Ends idle connections now and the others when their calls are over. Calls made later fail as unavailable. */
  close(): Promise<void>;
}

/** Options that hold for every call of a client, unless a call says otherwise. */
export interface CallDefaults {
  /** Metadata to send. A call's own fields replace those of the same name. */
  readonly headers?: MetadataInit | undefined;
  /** How long a call may take, in milliseconds: 0 is no time at all, `Infinity` no limit. Default: no limit. */
  readonly timeoutMs?: number | undefined;
  /** Version of the service that is wanted. Default: that of the service definition, or none. */
  readonly version?: string | undefined;
  /** Group of the service that is wanted. Default: that of the service definition, or none. */
  readonly group?: string | undefined;
}

/** Options of one call. */
export interface CallOptions extends CallDefaults {
  /** Cancels the call. */
  readonly signal?: AbortSignal | undefined;
  /** Receives the leading metadata of the response, before the first message. */
  readonly onHeader?: ((headers: Metadata) => void) | undefined;
  /** Receives the trailing metadata of the response, after the last message. */
  readonly onTrailer?: ((trailers: Metadata) => void) | undefined;
  /** Values for the client's interceptors. */
  readonly values?: ContextValues | undefined;
}

type Unary<I, O> = (request: I, options?: CallOptions) => Promise<O>;
type ServerStreaming<I, O> = (request: I, options?: CallOptions) => AsyncIterable<O>;
type ClientStreaming<I, O> = (requests: AsyncIterable<I>, options?: CallOptions) => Promise<O>;
type BidiStreaming<I, O> = (requests: AsyncIterable<I>, options?: CallOptions) => AsyncIterable<O>;

/** A method that also tells the type checker what its stub looks like: `I` goes in, `O` comes out. */
interface TypedMethod<Stub> extends Method {
  readonly "~stub"?: Stub;
}
export interface UnaryMethod<I, O> extends TypedMethod<Unary<I, O>> {
  readonly kind: "unary";
}
export interface ServerStreamingMethod<I, O> extends TypedMethod<ServerStreaming<I, O>> {
  readonly kind: "server_streaming";
}
export interface ClientStreamingMethod<I, O> extends TypedMethod<ClientStreaming<I, O>> {
  readonly kind: "client_streaming";
}
export interface BidiStreamingMethod<I, O> extends TypedMethod<BidiStreaming<I, O>> {
  readonly kind: "bidi_streaming";
}

/** Makes a client with a function for every method of the service. Generated code calls this. */
export function createClient<C extends object>(
  service: ServiceDef<C, object>,
  transport: Transport,
  defaults: CallDefaults = {},
): C {
  return createClientOf(createStub, service, transport, defaults);
}

/** {@link createClient} for services whose methods are all unary. A bundle of it has nothing of streams. */
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
  const selected = { ...service.selector, ...defaults };
  const client: Record<string, unknown> = Object.create(null);
  for (const [name, method] of Object.entries(service.methods)) {
    client[name] = createStubOf(method, transport, selected);
  }
  return client as C;
}

/** Makes a client for tests: it has the given methods, and calls of the others fail. Generated code calls this. */
export function createFakeClient<C extends object>(service: ServiceDef<C, object>, methods: Partial<C> = {}): C {
  const call: Call = async ({ method }) => {
    throw new RpcError(Code.Unimplemented, `${method.path} was called, but the fake client has no such method`);
  };
  return Object.assign(createClient(service, { call, close: async () => {} }), methods);
}

/** Makes the function for one method. A bundle that imports one method this way carries none of the others. */
export function createStub<Stub>(method: TypedMethod<Stub>, transport: Transport, defaults: CallDefaults = {}): Stub {
  return stubs[method.kind](method, transport.call, defaults) as Stub;
}

/** {@link createStub} for a unary method. */
export function createUnaryStub<I, O>(
  method: TypedMethod<Unary<I, O>>,
  { call }: Transport,
  defaults: CallDefaults = {},
): Unary<I, O> {
  return (message, options) => callUnary(method, call, message as object, defaults, options) as Promise<O>;
}

type StubMaker = (method: Method, call: Call, defaults: CallDefaults) => unknown;

const stubs: Readonly<Record<Method["kind"], StubMaker>> = {
  unary:
    (method, call, defaults): Unary<object, object> =>
    (message, options) =>
      callUnary(method, call, message, defaults, options),
  server_streaming:
    (method, call, defaults): ServerStreaming<object, object> =>
    (message, options) =>
      callStream(method, call, oneMessage(message), defaults, options),
  client_streaming:
    (method, call, defaults): ClientStreaming<object, object> =>
    async (messages, options) =>
      onlyMessage(callStream(method, call, messages, defaults, options), (received) =>
        cardinalityError(method, received),
      ),
  bidi_streaming:
    (method, call, defaults): BidiStreaming<object, object> =>
    (messages, options) =>
      callStream(method, call, messages, defaults, options),
};

async function callUnary(
  method: Method,
  call: Call,
  message: object,
  defaults: CallDefaults,
  options: CallOptions = {},
): Promise<object> {
  const context = openContext(defaults, options);
  return context.run(async () => {
    const response = await call({ stream: false, method, message, context, ...addressing(defaults, options) });
    if (response.stream) throw shapeError(method, "a stream");
    options.onHeader?.(response.headers);
    options.onTrailer?.(response.trailers);
    return response.message;
  });
}

/** Starts at once, so that requests flow and the clock runs even if the responses are read later. */
function callStream(
  method: Method,
  call: Call,
  messages: AsyncIterable<object>,
  defaults: CallDefaults,
  options: CallOptions = {},
): AsyncIterable<object> {
  const context = openContext(defaults, options);
  const request: StreamRequest = { stream: true, method, messages, context, ...addressing(defaults, options) };
  const response = context.race(async () => {
    const response = await call(request);
    if (!response.stream) throw shapeError(method, "a single message");
    return response;
  });
  // The reader sees a failure when it reads; until then it must not count as unhandled.
  response.catch(() => context.close());
  return readStream(response, context, options);
}

async function* readStream(
  starting: Promise<StreamResponse>,
  context: OpenContext,
  options: CallOptions,
): AsyncGenerator<object, void> {
  try {
    const response = await starting;
    options.onHeader?.(response.headers);
    for await (const message of context.each(response.messages)) yield message;
    options.onTrailer?.(response.trailers);
  } finally {
    context.close();
  }
}

function openContext(defaults: CallDefaults, options: CallOptions): OpenContext {
  const timeoutMs = options.timeoutMs ?? defaults.timeoutMs;
  if (timeoutMs !== undefined && !(timeoutMs >= 0)) {
    throw new RpcError(Code.InvalidArgument, `timeoutMs must be 0 or more milliseconds, not ${timeoutMs}`, {
      status: Status.ClientError,
    });
  }
  return new OpenContext({
    timeoutMs,
    timeoutStatus: Status.ClientTimeout,
    signal: options.signal,
    values: options.values,
  });
}

function addressing(defaults: CallDefaults, options: CallOptions): { headers: Metadata; selector: Selector } {
  const headers = new Metadata(defaults.headers);
  if (options.headers !== undefined) {
    const own = new Metadata(options.headers);
    for (const [name] of own) headers.delete(name);
    headers.appendAll(own);
  }
  return {
    headers,
    selector: { version: options.version ?? defaults.version, group: options.group ?? defaults.group },
  };
}

function cardinalityError(method: Method, received: string): RpcError {
  return new RpcError(Code.Unimplemented, `${method.path} answers with one message, but ${received} was received`);
}

function shapeError(method: Method, received: string): RpcError {
  return new RpcError(Code.Internal, `an interceptor or transport answered ${method.path} with ${received}`);
}
