/** Calls for tests of retries, with a script of outcomes instead of a server. */
import { type CallResponse, Code, Metadata, RpcError, type UnaryRequest } from "triple-es";
import { GreetService_greet, GreetService_greetEach } from "../../examples/gen/greet/v1/greet_triple.ts";
import type { Method } from "../../runtime/src/call/call.ts";
import { Status } from "../../runtime/src/call/code.ts";
import { OpenContext } from "../../runtime/src/call/context.ts";

/** A method that may be called twice. */
export const idempotent: Method = { ...GreetService_greet, idempotency: "idempotent" };
export const idempotentStream: Method = { ...GreetService_greetEach, idempotency: "no_side_effects" };

export const unavailable = (trailers: Record<string, string> = {}): RpcError =>
  new RpcError(Code.Unavailable, "the server is away", { trailers });

export interface UnaryOptions {
  readonly method?: Method;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  readonly headers?: Metadata;
}

/** A unary call as a stub makes it. */
export function unary(options: UnaryOptions = {}): UnaryRequest & { readonly context: OpenContext } {
  const { method = idempotent, headers = new Metadata(), timeoutMs, signal } = options;
  const context = new OpenContext({ timeoutMs, timeoutStatus: Status.ClientTimeout, signal });
  return { stream: false, method, message: { name: "Dubbo" }, headers, selector: {}, context };
}

/** A response with the given message. */
export const answer = (message: object = {}): CallResponse => ({
  stream: false,
  message,
  headers: new Metadata(),
  trailers: new Metadata(),
});

/** Returns the current state of a promise. */
export function outcomeOf<T>(promise: Promise<T>): { value?: T; error?: RpcError } {
  const outcome: { value?: T; error?: RpcError } = {};
  promise.then(
    (value) => {
      outcome.value = value;
    },
    (error: RpcError) => {
      outcome.error = error;
    },
  );
  return outcome;
}
