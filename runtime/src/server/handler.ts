/**
 * Handlers: convert a user's implementation of a service into calls. The four kinds of method are reduced to unary
 * calls and streams, and errors of the user's code are converted to an `RpcError`.
 */
import {
  type Call,
  type CallRequest,
  lackOf,
  type Method,
  payloadOf,
  type ServiceDef,
  type StreamRequest,
  type UnaryRequest,
} from "../call/call.ts";
import { channels } from "../call/diagnostics.ts";
import { type ErrorHook, maskUnknownError } from "../call/error.ts";
import { eachOf, inContext, iteration, onlyMessage, type SentStream } from "../call/message-stream.ts";
import { similarName } from "../call/option.ts";
import { requestCountError } from "../call/outcome.ts";
import type { CallCounts } from "../http/channel-state.ts";
import { publishCalls } from "../observe/logger.ts";
import type { Payload } from "../protocol/payload.ts";
import { type HandlerContext, OpenHandlerContext, unimplemented } from "./handler-context.ts";
import { type HandlerOptions, interceptHandler } from "./interceptors.ts";

/** The implementation of a method: takes one message or a stream, returns one message or a stream. */
type Implementation = (input: never, context: HandlerContext) => unknown;

/** Validates the arguments of `add`, for callers without a type checker. Throws a `TypeError`. */
export function checkService(service: unknown, implementation: unknown): void {
  const { methods } = (service ?? {}) as { methods?: unknown };
  // The service of a file *_pb.ts has an array of methods.
  if (
    typeof methods !== "object" ||
    methods === null ||
    Array.isArray(methods) ||
    typeof implementation !== "object" ||
    implementation === null
  ) {
    throw new TypeError("add takes the definition of a service, such as GreetServiceDef, and its implementation");
  }
  const { format, typeName } = service as ServiceDef<object, object>;
  const lack = lackOf(format);
  if (lack !== undefined) throw new TypeError(`a server of ${typeName} needs ${lack}`);
  checkImplementation(service as ServiceDef<object, object>, implementation as Record<string, unknown>);
}

/**
 * Throws a `TypeError` for an implementation of another service, with a misspelled method, or with a method that is no function,
 * and for methods that only clients support. It may lack methods, and have others, such as helpers of a class.
 */
function checkImplementation({ typeName, methods }: ServiceDef<object, object>, given: Record<string, unknown>): void {
  const ofClients = Object.values(methods).find(
    (one) => one.payload !== undefined && payloadOf<Payload>(one)?.server === undefined,
  );
  if (ofClients) throw new TypeError(`${ofClients.path} is declared for clients only, so it cannot be served`);
  const names = Object.keys(methods);
  const missing = names.filter((name) => typeof given[name] !== "function");
  const others = memberNames(given).filter((name) => !(name in methods));
  for (const name of missing) {
    const lack = `the implementation of ${typeName} lacks ${name}`;
    const meant = similarName(name, others);
    if (meant !== undefined) throw new TypeError(`${lack}; it has ${meant}`);
    if (given[name] !== undefined) throw new TypeError(`${lack}, which must be a function`);
  }
  if (names.length > 0 && missing.length === names.length) {
    throw new TypeError(`the implementation of ${typeName} has none of its methods: ${names.join(", ")}`);
  }
}

/** Returns the names of an object's own members and, for an instance, of the methods of its class. */
function memberNames(given: object): string[] {
  const prototype: object | null = Object.getPrototypeOf(given);
  const ofClass = prototype === null || prototype === Object.prototype ? [] : Object.getOwnPropertyNames(prototype);
  return [...Object.keys(given), ...ofClass];
}

/** A method and the function that runs its implementation. */
export interface ServedMethod {
  readonly method: Method;
  readonly call: Call;
}

/** Creates the handlers of a checked service. Methods without an implementation answer `unimplemented`. */
export function createHandlers<H extends object>(
  service: ServiceDef<object, H>,
  implementation: H,
  options: HandlerOptions,
  calls: CallCounts,
): ServedMethod[] {
  return Object.entries(service.methods).map(([name, method]) => {
    const implemented = (implementation as Record<string, Implementation | undefined>)[name];
    const bound = implemented?.bind(implementation) as Implementation | undefined;
    const payload = payloadOf<Payload>(method)?.server;
    const run = bound && payload ? (payload.bind(method, bound) as Implementation) : bound;
    const call =
      run === undefined ? async () => unimplemented({ method }) : implementations[method.kind](run, method, options);
    const handled = interceptHandler(call, options, run !== undefined && method.kind === "unary");
    const published = publishCalls(handled, "server", calls);
    return {
      method,
      call: (request) => (channels.call?.hasSubscribers || calls.isOn ? published(request) : handled(request)),
    };
  });
}

type Unary = (message: object, context: HandlerContext) => object | Promise<object>;
type Stream = Partial<Iterable<object> & AsyncIterable<object>>;
type ServerStreaming = (message: object, context: HandlerContext) => Stream;
type ClientStreaming = (messages: AsyncIterable<object>, context: HandlerContext) => object | Promise<object>;
type BidiStreaming = (messages: AsyncIterable<object>, context: HandlerContext) => Stream;

type CallMaker = (run: Implementation, method: Method, options: HandlerOptions) => Call;

const implementations: Readonly<Record<Method["kind"], CallMaker>> = {
  unary: (run, _method, { onError }) => unaryCall(run as Unary, onError),
  server_streaming: (run, method, options) =>
    streamCall(async (messages, context) => {
      const message = await onlyMessage(messages, (received) => requestCountError(method, received));
      return (run as ServerStreaming)(message, context);
    }, options),
  client_streaming: (run, _method, options) =>
    streamCall((messages, context) => eachOf([Promise.resolve((run as ClientStreaming)(messages, context))]), options),
  bidi_streaming: (run, _method, options) => streamCall(run as BidiStreaming, options),
};

function unaryCall(run: Unary, onError: ErrorHook): Call {
  return async (request) => {
    const context = new OpenHandlerContext(request);
    try {
      const message = await run((request as UnaryRequest).message, context);
      return { stream: false, message, headers: context.responseHeaders, trailers: context.responseTrailers };
    } catch (reason) {
      throw context.failure(reason, onError);
    }
  };
}

/** `start` runs the user's code up to its first message. */
function streamCall(
  start: (...given: Parameters<BidiStreaming>) => Stream | Promise<Stream>,
  options: HandlerOptions,
): Call {
  return async (request) => {
    const context = new OpenHandlerContext(request);
    try {
      const started = await start((request as StreamRequest).messages, context);
      const isReady = typeof started?.[Symbol.asyncIterator] !== "function";
      const outputs: Outputs | undefined = started?.[isReady ? Symbol.iterator : Symbol.asyncIterator]?.();
      if (outputs === undefined || typeof started !== "object") {
        throw new TypeError(`${request.method.path} must return an iterable or async iterable, such as a generator`);
      }
      // The response begins with the first message, so that an error before it fails the whole call.
      const first = outputs.next();
      await context.begun(first);
      const messages = outputsOf(first, outputs, isReady, request, options);
      return { stream: true, messages, headers: context.responseHeaders, trailers: context.responseTrailers };
    } catch (reason) {
      throw context.failure(reason, options.onError);
    }
  };
}

type Outputs = Iterator<object> | AsyncIterator<object>;

/**
 * Returns the messages of a handler, whose first step has started; `isReady`: its iterator returns no promises. With
 * interceptors, it converts the errors of the handler; without them, the protocol does, which saves a promise for each
 * message.
 */
function outputsOf(
  started: ReturnType<Outputs["next"]>,
  outputs: Outputs,
  isReady: boolean,
  request: CallRequest,
  { interceptors, onError }: HandlerOptions,
): SentStream {
  let first: typeof started | undefined = started;
  const step = (): ReturnType<Outputs["next"]> => {
    const result = first ?? outputs.next();
    first = undefined;
    if (isReady && (result instanceof Promise || result.value instanceof Promise)) {
      throw new TypeError(`${request.method.path} must return messages, not promises of them`);
    }
    return result;
  };
  const converted = async <T>(work: () => T): Promise<Awaited<T>> => {
    try {
      return await work();
    } catch (reason) {
      throw maskUnknownError(reason, request, onError);
    }
  };
  const leave = (): Promise<unknown> =>
    converted(async () => {
      // A generator that ends its own call cannot end before its turn does.
      if (isReady) await undefined;
      return outputs.return?.();
    });
  // Interceptors may have set the context, and the connection reads the messages.
  if (interceptors.length > 0) return inContext(iteration(() => converted(step), leave));
  if (!isReady) return iteration(step as AsyncIterator<object>["next"], leave);
  return { ...iteration(async () => step(), leave), readyMessages: { next: step as Iterator<object>["next"] } };
}
