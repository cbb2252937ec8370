/** Handlers of `triple-es` that run those of Nest, whose guards, pipes, interceptors and filters are part of them. */
import { EventEmitter } from "node:events";
import { Duplex, PassThrough, Readable } from "node:stream";
import { ReadableStream } from "node:stream/web";
import {
  catchError,
  EMPTY,
  from,
  lastValueFrom,
  materialize,
  type Observable,
  type ObservableNotification,
  share,
  Subject,
  takeUntil,
} from "rxjs";
import type { HandlerContext, Method } from "triple-es";
import { createCall, type GrpcCall } from "./call.ts";
import { toRpcError } from "./error.ts";
import type { MessageShape } from "./loaded-services.ts";
import { fieldsOf, type MetadataSource } from "./metadata.ts";

/** Runs a handler of Nest with its arguments. */
export type Run = (call: GrpcCall, ...args: readonly unknown[]) => Observable<unknown>;

/** A handler of `triple-es`: takes a message or the messages of a stream, and returns either. */
export type Handler = (input: never, context: HandlerContext) => unknown;

/** Creates the handler of a method. `streaming` names the decorator, as in Nest's patterns. */
export function createHandler(method: Method, run: Run, streaming: string, shape: MessageShape): Handler {
  if (streaming === "pt_stream") return passThrough[method.kind === "bidi_streaming" ? "bidi" : "client"](run, shape);
  return observing[method.kind](run, shape);
}

type HandlerMaker = (run: Run, shape: MessageShape) => Handler;

/** Handlers that return an observable, and take one instead of a stream of messages. */
const observing: Readonly<Record<Method["kind"], HandlerMaker>> = {
  unary: (run, shape) => async (message: object, context) =>
    shape.response(await firstOf(runUnary(run, shape.request(message), context))),
  server_streaming: (run, shape) => (message: object, context) =>
    mapped(valuesOf(runUnary(run, shape.request(message), context)), shape.response),
  client_streaming: (run, shape) => async (messages: AsyncIterable<object>, context) =>
    shape.response(await lastValueFrom(runStream(run, mapped(messages, shape.request), context), NO_MESSAGE)),
  bidi_streaming: (run, shape) => (messages: AsyncIterable<object>, context) =>
    mapped(valuesOf(runStream(run, mapped(messages, shape.request), context)), shape.response),
};

const NO_MESSAGE = { defaultValue: undefined };

function runUnary(run: Run, request: object, context: HandlerContext): Observable<unknown> {
  const call = createCall(new EventEmitter(), context, request);
  return untilEnded(run(call, request, call.metadata, call), endOf(context));
}

function runStream(run: Run, messages: AsyncIterable<object>, context: HandlerContext): Observable<unknown> {
  const call = createCall(new EventEmitter(), context);
  const end = endOf(context);
  // A handler need not observe errors of the request, which fail the call.
  const onError = catchError((reason) => {
    end.error(reason);
    return EMPTY;
  });
  return untilEnded(run(call, from(messages).pipe(onError, share()), call.metadata, call), end);
}

/** Returns a subject that fails with the reason when the call ends early. */
function endOf({ signal }: HandlerContext): Subject<never> {
  const end = new Subject<never>();
  if (signal.aborted) end.error(signal.reason);
  else signal.addEventListener("abort", () => end.error(signal.reason), { once: true });
  return end;
}

function untilEnded(values: Observable<unknown>, end: Subject<never>): Observable<unknown> {
  const convert = catchError((reason) => {
    throw toRpcError(reason);
  });
  return values.pipe(takeUntil(end), convert);
}

/** Resolves with the first value. Further ones are ignored, but the observable is run to its end. */
function firstOf(values: Observable<unknown>): Promise<unknown> {
  return new Promise((resolve, reject) => {
    values.subscribe({ next: resolve, error: reject, complete: () => resolve(undefined) });
  });
}

/** Iterates over the values of an observable, which are kept until they are read. */
async function* valuesOf(values: Observable<unknown>): AsyncGenerator<unknown> {
  let subscription: { unsubscribe(): void } | undefined;
  const stream = new ReadableStream<ObservableNotification<unknown>>({
    start(controller) {
      subscription = values.pipe(materialize()).subscribe({
        next: (one) => controller.enqueue(one),
        complete: () => controller.close(),
      });
    },
    cancel: () => subscription?.unsubscribe(),
  });
  for await (const one of stream) {
    if (one.kind === "E") throw one.error;
    if (one.kind === "N") yield one.value;
  }
}

async function* mapped<T, U>(values: AsyncIterable<T>, convert: (value: T) => U): AsyncGenerator<U> {
  for await (const value of values) yield convert(value);
}

/** Handlers that read and write the stream of a call themselves. */
const passThrough: Readonly<Record<"client" | "bidi", HandlerMaker>> = {
  client: (run, shape) => (messages: AsyncIterable<object>, context) =>
    new Promise((resolve, reject) => {
      const fail = (reason: unknown): void => reject(toRpcError(reason));
      const { call } = openStream(mapped(messages, shape.request), context, fail);
      const respond = (error: unknown, value: unknown, trailers?: MetadataSource): void => {
        if (trailers) context.responseTrailers.appendAll(fieldsOf(trailers));
        if (error) fail(error);
        else resolve(shape.response(value));
      };
      untilEnded(run(call, call, respond), endOf(context)).subscribe({ error: fail });
    }),
  bidi: (run, shape) => (messages: AsyncIterable<object>, context) => {
    const { call, output } = openStream(mapped(messages, shape.request), context, (reason) =>
      output.destroy(toRpcError(reason) as Error),
    );
    untilEnded(run(call, call), endOf(context)).subscribe({ error: (reason) => call.emit("error", reason) });
    return mapped(output, shape.response);
  },
};

function openStream(messages: AsyncIterable<object>, context: HandlerContext, onError: (reason: unknown) => void) {
  const output = new PassThrough({ objectMode: true });
  const duplex = Duplex.from({ readable: Readable.from(messages), writable: output });
  const end = duplex.end.bind(duplex);
  const call = Object.assign(createCall(duplex, context), {
    /** Ends the response, with trailing metadata. */
    end(trailers?: MetadataSource): Duplex {
      if (trailers) context.responseTrailers.appendAll(fieldsOf(trailers));
      return end();
    },
  });
  call.on("error", onError);
  return { call, output };
}
