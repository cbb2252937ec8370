/** The way in, for all protocols: a call whose headers have been read, and the decoding of its messages. */
import type { Selector, UnaryRequest } from "../call/call.ts";
import { Code, Status } from "../call/code.ts";
import { type ErrorHook, RpcError } from "../call/error.ts";
import { takeTurn } from "../call/turn.ts";
import type { HttpRequest } from "../http/exchange.ts";
import { decodingReason } from "../protocol/error.ts";
import type { RequestHeaders } from "../protocol/headers.ts";
import type { PayloadCall } from "../protocol/payload.ts";
import type { Handler } from "../protocol/protocol.ts";
import type { ServerContext } from "./call-context.ts";

/** A call whose headers have been read. `Format` and `Payload` are those of its protocol. */
export interface ServerCall<Format extends RequestFormat = RequestFormat, Payload extends PayloadCall = PayloadCall> {
  readonly request: HttpRequest;
  readonly handler: Handler;
  readonly selector: Selector;
  readonly headers: RequestHeaders;
  readonly context: ServerContext;
  /** The format of the request, which its content type determines. */
  readonly format: Format;
  /** The payload of methods whose messages have no schema. */
  readonly payload: Payload | undefined;
}

/** The format of the messages of a request. */
export interface RequestFormat {
  /** Decodes a message. Throws an `RpcError`, or another error for bytes that are malformed. */
  decode(bytes: Uint8Array, handler: Handler, payload: PayloadCall | undefined): object;
  /** Creates the error for bytes that are malformed. */
  malformed(message: string, cause: unknown): RpcError;
}

/** Asks the hooks of a handler, if it has some, whether the call may begin. Throws or rejects with the error of a call that may not. */
export function authorizeCall({ handler, request, selector, context }: ServerCall): Promise<void> | undefined {
  const { method, shedding } = handler;
  const { authorize } = shedding === undefined || shedding.passes() ? handler : shedding;
  return authorize?.({ method, headers: request.headers, selector, context });
}

/** Counts what a message has inflated to, as long as its call holds it. Throws an `RpcError` if there is no memory for it. */
export function counted({ request }: Pick<ServerCall, "request">, bytes: Uint8Array): Uint8Array {
  request.inflated?.(bytes.length);
  return bytes;
}

/** Decodes a message. Without a turn, the result is a promise if other messages have used up this turn of the event loop. */
export function receive(call: ServerCall, bytes: Uint8Array, hasTurn = false): object | Promise<object> {
  const turn = hasTurn ? undefined : takeTurn(bytes.length);
  if (turn !== undefined) return turn.then(() => receive(call, bytes, true));
  const { format, handler, payload } = call;
  try {
    return format.decode(bytes, handler, payload);
  } catch (cause) {
    if (cause instanceof RpcError) throw cause;
    const { input, path } = handler.method;
    const wanted = input === undefined ? `the arguments of ${path}` : input.typeName;
    throw format.malformed(`the body cannot be decoded as ${wanted}: ${decodingReason(cause)}`, cause);
  }
}

/** Returns the request that the handler of a unary call receives. The payload knows the method when it has decoded the message. */
export function unaryRequest(call: ServerCall, message: object): UnaryRequest {
  const { request, handler, selector, context, payload } = call;
  const { method } = payload ?? handler;
  return { stream: false, method, message, headers: request.headers, selector, context };
}

/** Masks an error that is not from users' code, such as a response that cannot be encoded, and reports it to the hook. */
export function asRpcError(reason: unknown, path: string, onError: ErrorHook): RpcError {
  if (reason instanceof RpcError) return reason;
  onError(reason, path);
  return new RpcError(Code.Internal, "internal server error", { status: Status.ServerError, cause: reason });
}
