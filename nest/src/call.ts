/** Calls in the form of `@grpc/grpc-js`, for which Nest makes functions of handlers, as handlers of `triple-es`. */
import { Duplex, PassThrough } from "node:stream";
import { Metadata } from "@grpc/grpc-js";
import { RpcException } from "@nestjs/microservices";
import { Code, Metadata as Fields, type HandlerContext, type Method, RpcError } from "triple-es";
import { onAbort, readDetails, userMetadata, wallClock } from "triple-es/internal";

/** Conversions of messages of protobuf-es to and from those of handlers. */
export interface MessageShape {
  readonly request: (message: object) => object;
  readonly response: (value: unknown) => object;
}

/** A method of a service of `@grpc/grpc-js`: calls `respond` with an error or a message, or writes messages to the call. */
export type GrpcMethod = (call: GrpcCall, respond: Respond) => unknown;
type Respond = (error: unknown, value?: unknown, trailers?: Metadata) => void;

/** A handler of `triple-es`: takes a message or the messages of a stream, and returns either. */
export type Handler = (input: object, context: HandlerContext) => unknown;

/** Creates the handler that runs a method of a service of `@grpc/grpc-js`. */
export function createHandler({ kind }: Method, run: GrpcMethod, shape: MessageShape): Handler {
  if (kind === "unary" || kind === "client_streaming") {
    return (input, context) => {
      let leave = (): void => {};
      const answer = new Promise((resolve, reject) => {
        const call = new GrpcCall(input, context, shape, reject);
        leave = () => call.leave();
        call.run(run, (error, value, trailers) => {
          if (error) call.emit("error", error);
          else resolve(value);
          if (trailers) call.addTrailers(trailers);
        });
      });
      return answer.then(shape.response).finally(() => leave());
    };
  }
  return async function* (input, context) {
    let failure: unknown;
    const call = new GrpcCall(input, context, shape, (reason) => (failure ??= reason));
    call.run(run, (error) => call.emit("error", error));
    try {
      for await (const value of call.responses) yield shape.response(value);
      if (!call.writableFinished) failure ??= new Error("the handler has destroyed its call");
    } catch (error) {
      failure ??= error;
    } finally {
      call.leave();
    }
    if (failure !== undefined) throw failure;
  };
}

/** A call, with the members of all kinds of calls of `@grpc/grpc-js`. Messages of streams are read from it and written to it. */
export class GrpcCall extends Duplex {
  readonly request: object | undefined;
  readonly metadata: Metadata = new Metadata();
  /** True if the call has ended, early or not, as in `@grpc/grpc-js`. The event `cancelled` tells when. */
  cancelled = false;
  /** The messages that were written. */
  readonly responses: PassThrough = new PassThrough({ objectMode: true });
  readonly #context: HandlerContext;
  readonly #messages: AsyncIterator<object> | undefined;
  readonly #shape: MessageShape;
  /** Ends the wait for the signal. `undefined` if it had fired before the call. */
  readonly #unwatch: (() => void) | undefined;

  /** Opens a call. `fail` receives its error. */
  constructor(input: object, context: HandlerContext, shape: MessageShape, fail: (reason: unknown) => void) {
    super({ objectMode: true });
    this.#context = context;
    this.#shape = shape;
    if (Symbol.asyncIterator in input) this.#messages = (input as AsyncIterable<object>)[Symbol.asyncIterator]();
    else this.request = shape.request(input);
    for (const [name, value] of userMetadata(context.requestHeaders)) {
      this.metadata.merge(Metadata.fromHttp2Headers({ [name]: value }));
    }
    // The responses that were written before the error are sent.
    this.on("error", (reason) => {
      fail(toRpcError(reason));
      this.end();
    });
    for (const end of ["finish", "close"]) this.on(end, () => this.responses.end());
    this.#unwatch = onAbort(context.signal, (reason) => {
      fail(reason);
      this.leave();
    });
  }

  /** Ends the call for the handler. Nest then unsubscribes from its observable. */
  leave(): void {
    if (this.cancelled) return;
    this.cancelled = true;
    this.#unwatch?.();
    this.emit("cancelled", "cancelled");
    this.destroy();
  }

  /** Runs the method. What it throws is the error of the call. */
  run(method: GrpcMethod, respond: Respond): void {
    (async () => method(this, respond))().catch((error: unknown) => this.emit("error", error));
  }

  sendMetadata(metadata: Metadata): void {
    this.#context.responseHeaders.appendAll(userMetadata(fieldsOf(metadata)));
    this.#context.sendHeaders();
  }
  addTrailers(metadata: Metadata): void {
    this.#context.responseTrailers.appendAll(userMetadata(fieldsOf(metadata)));
  }
  readonly getPeer = (): string => `${this.#context.peer.address}:${this.#context.peer.port}`;
  readonly getHost = (): string => this.#context.peer.authority ?? "";
  readonly getPath = (): string => this.#context.method.path;
  getDeadline(): Date | number {
    const timeoutMs = this.#context.timeoutMs();
    return timeoutMs === undefined ? Number.POSITIVE_INFINITY : new Date(wallClock() + timeoutMs);
  }

  override end(trailers?: unknown): this {
    if (trailers) this.addTrailers(trailers as Metadata);
    return super.end();
  }
  override async _read(): Promise<void> {
    try {
      const { done, value } = (await this.#messages?.next()) ?? { done: true };
      this.push(done ? null : this.#shape.request(value));
    } catch (error) {
      if (!this.destroyed) this.emit("error", error);
    }
  }
  override _write(value: unknown, _encoding: string, done: () => void): void {
    this.responses.write(value, done);
  }
}

/** Converts an error as `@grpc/grpc-js` does. An `Error` without a code is returned unchanged: it is reported, and not sent. */
function toRpcError(cause: unknown): unknown {
  const given = cause instanceof RpcException ? cause.getError() : cause;
  const reason = typeof given === "object" && given !== null ? given : { message: given };
  const { code, details, message, metadata } = reason as { [name: string]: unknown; metadata?: Metadata };
  const hasCode = Number.isInteger(code);
  if (reason instanceof RpcError || (reason instanceof Error && !hasCode)) return reason;
  const text = [hasCode && details, message].find((one) => typeof one === "string") ?? "Unknown Error";
  const fields = metadata instanceof Metadata ? fieldsOf(metadata) : new Fields();
  const options = { trailers: userMetadata(fields), details: readDetails(fields), cause };
  return new RpcError(hasCode ? (code as Code) : Code.Unknown, text as string, options);
}

/** Returns the fields that can be sent: metadata of `@grpc/grpc-js` may have others, such as empty ones. */
function fieldsOf(metadata: Metadata): Fields {
  const fields = new Fields();
  for (const [name, values] of Object.entries(metadata.toJSON())) {
    for (const value of values) {
      try {
        fields.append(name, typeof value === "string" ? value.trim() : value);
      } catch {}
    }
  }
  return fields;
}
