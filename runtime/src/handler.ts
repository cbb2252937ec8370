/**
 * Handlers: turns a user's implementation of a service into calls. The four kinds become two shapes here, and whatever
 * a user's code throws becomes an `RpcError`.
 */
import {
  type Call,
  type CallContext,
  type CallRequest,
  type ContextValues,
  type Handler,
  type Interceptor,
  intercept,
  type Method,
  oneMessage,
  onlyMessage,
  type ServiceDef,
  type StreamRequest,
  type UnaryRequest,
} from "./call.ts";
import { Code, Status } from "./code.ts";
import { RpcError } from "./error.ts";
import { Metadata } from "./metadata.ts";
import type { ErrorHook } from "./protocol.ts";

/** What a handler knows of its call, and may add to the response. */
export interface HandlerContext extends CallContext {
  readonly method: Method;
  /** Fires when the caller cancels or is lost, the deadline passes or the server shuts down; never on success. */
  readonly signal: AbortSignal;
  /** Headers of the request: its metadata, and the headers of the protocol. */
  readonly requestHeader: Metadata;
  /** Leading metadata of the response. Too late once the first message or {@link sendHeader} has gone out. */
  readonly responseHeader: Metadata;
  /** Trailing metadata of the response. */
  readonly responseTrailer: Metadata;
  /** Sends the leading metadata now, before the first message. Only streaming calls can; elsewhere it does nothing. */
  sendHeader(): void;
}

/** Fixed text for a failure whose own words must stay inside the process. */
const HIDDEN_FAILURE = "the service failed to handle the call";

/** A method's implementation: one message or all of them in, one or all of them out. */
type Implementation = (input: never, context: HandlerContext) => unknown;

export interface HandlerOptions {
  /** Around every call, the first one outermost. */
  readonly interceptors: readonly Interceptor[];
  readonly onError: ErrorHook;
}

/** Makes the handlers of a service. A method that is not implemented gets a handler that says so. */
export function createHandlers<H extends object>(
  service: ServiceDef<object, H>,
  implementation: H,
  options: HandlerOptions,
): Handler[] {
  return Object.entries(service.methods).map(([name, method]) => {
    const implemented = (implementation as Record<string, unknown>)[name];
    const run = typeof implemented === "function" ? (implemented.bind(implementation) as Implementation) : undefined;
    const call = run === undefined ? unimplemented(method) : implementations[method.kind](run, method);
    return { method, call: guard(intercept(call, options.interceptors), options.onError) };
  });
}

type Unary = (message: object, context: HandlerContext) => object | Promise<object>;
type ServerStreaming = (message: object, context: HandlerContext) => AsyncIterable<object>;
type ClientStreaming = (messages: AsyncIterable<object>, context: HandlerContext) => object | Promise<object>;
type BidiStreaming = (messages: AsyncIterable<object>, context: HandlerContext) => AsyncIterable<object>;

const implementations: Readonly<Record<Method["kind"], (run: Implementation, method: Method) => Call>> = {
  unary: (run) => unaryCall(run as Unary),
  server_streaming: (run, method) =>
    streamCall(async (messages, context) => {
      const message = await onlyMessage(messages, (received) => cardinalityError(method, received));
      return (run as ServerStreaming)(message, context);
    }),
  client_streaming: (run) =>
    streamCall((messages, context) => oneMessage(Promise.resolve((run as ClientStreaming)(messages, context)))),
  bidi_streaming: (run) => streamCall(run as BidiStreaming),
};

function unaryCall(run: Unary): Call {
  return async (request) => {
    const { message } = request as UnaryRequest;
    const context = new OpenHandlerContext(request);
    try {
      return { stream: false, message: await run(message, context), ...context.metadata };
    } catch (reason) {
      throw context.attach(reason);
    }
  };
}

/** Runs the user's code up to its first message. */
type Start = (
  messages: AsyncIterable<object>,
  context: HandlerContext,
) => AsyncIterable<object> | Promise<AsyncIterable<object>>;

function streamCall(start: Start): Call {
  return async (request) => {
    const { messages } = request as StreamRequest;
    const context = new OpenHandlerContext(request);
    const headerSent = context.headerSent;
    try {
      const outputs = (await start(messages, context))[Symbol.asyncIterator]();
      // The response begins with its first message, so that a failure before it is a failure of the whole call.
      const first = outputs.next();
      await Promise.race([first, headerSent]);
      return { stream: true, messages: resume(first, outputs), ...context.metadata };
    } catch (reason) {
      throw context.attach(reason);
    }
  };
}

/** Goes on with an iteration whose first step is under way. */
async function* resume(
  first: Promise<IteratorResult<object>>,
  outputs: AsyncIterator<object>,
): AsyncGenerator<object, void> {
  let finished = false;
  try {
    let result = await first;
    while (!result.done) {
      yield result.value;
      result = await outputs.next();
    }
    finished = true;
  } finally {
    if (!finished) await outputs.return?.();
  }
}

function unimplemented(method: Method): Call {
  return async () => {
    throw new RpcError(Code.Unimplemented, `${method.path} is not implemented`, { status: Status.ServiceNotFound });
  };
}

function cardinalityError(method: Method, received: string): RpcError {
  return new RpcError(Code.Unimplemented, `${method.path} takes one message, but ${received} was received`);
}

/** Lets an `RpcError` pass; hides every other failure from the peer and tells the error hook of it, once. */
function guard(call: Call, onError: ErrorHook): Call {
  const convert = (reason: unknown, request: CallRequest): RpcError => {
    if (reason instanceof RpcError) return reason;
    onError(reason, request.method.path);
    return new RpcError(Code.Unknown, HIDDEN_FAILURE, { status: Status.ServiceError, cause: reason });
  };
  async function* convertEach(messages: AsyncIterable<object>, request: CallRequest): AsyncGenerator<object, void> {
    try {
      for await (const message of messages) yield message;
    } catch (reason) {
      throw convert(reason, request);
    }
  }
  return async (request) => {
    try {
      const response = await call(request);
      return response.stream ? { ...response, messages: convertEach(response.messages, request) } : response;
    } catch (reason) {
      throw convert(reason, request);
    }
  };
}

class OpenHandlerContext implements HandlerContext {
  readonly #request: CallRequest;
  readonly responseHeader = new Metadata();
  readonly responseTrailer = new Metadata();
  #sendHeader: (() => void) | undefined;

  constructor(request: CallRequest) {
    this.#request = request;
  }
  get method(): Method {
    return this.#request.method;
  }
  get signal(): AbortSignal {
    return this.#request.context.signal ?? new AbortController().signal;
  }
  timeoutMs(): number | undefined {
    return this.#request.context.timeoutMs();
  }
  get values(): ContextValues {
    return this.#request.context.values;
  }
  get requestHeader(): Metadata {
    return this.#request.headers;
  }
  sendHeader(): void {
    this.#sendHeader?.();
  }

  /** Settles when the handler asks for its headers to be sent. */
  get headerSent(): Promise<void> {
    return new Promise((resolve) => {
      this.#sendHeader = resolve;
    });
  }
  get metadata(): { headers: Metadata; trailers: Metadata } {
    return { headers: this.responseHeader, trailers: this.responseTrailer };
  }
  /**
   * What a handler threw, with the metadata it had set before. An error that came from a call of the handler's own loses
   * the leading metadata and the status it had there. Other reasons stay as they are.
   */
  attach(reason: unknown): unknown {
    if (!(reason instanceof RpcError)) return reason;
    const { code, rawMessage, details, metadata, headers, status } = reason;
    const plain = headers.size === 0 && status === undefined;
    if (plain && this.responseHeader.size + this.responseTrailer.size === 0) return reason;
    return new RpcError(code, rawMessage, {
      details,
      headers: this.responseHeader,
      metadata: new Metadata(metadata).appendAll(this.responseTrailer),
      cause: reason,
    });
  }
}
