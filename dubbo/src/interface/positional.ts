/**
 * Converts, on clients and servers, between functions with positional arguments and the messages of interface methods, which
 * are arrays.
 */
import type { Method } from "triple-es";
import { mapEach } from "triple-es/internal";

/** The message of an interface method. */
type Message = readonly unknown[];

/** Converts values to messages. Those of an iterable need no waiting, and stay one: the caller refuses promises. */
export function toMessages(values: Partial<AsyncIterable<unknown> & Iterable<unknown>>): AsyncIterable<Message> {
  const isReady = typeof values === "object" && values?.[Symbol.iterator] && !values[Symbol.asyncIterator];
  if (isReady) return readyMessages(values as Iterable<unknown>) as never;
  // The caller refuses other values.
  if (typeof values?.[Symbol.asyncIterator] !== "function") return values as never;
  return mapEach(values as AsyncIterable<unknown>, (value) => [value]);
}

function* readyMessages(values: Iterable<unknown>): Generator<unknown, void> {
  for (const value of values) yield value instanceof Promise ? value : [value];
}

export const toValues = (messages: AsyncIterable<object>): AsyncIterable<unknown> =>
  mapEach(messages, (message) => (message as Message)[0]);

type Implementation = (...values: unknown[]) => unknown;

/** Adapts an implementation with positional arguments to messages. */
export function withMessages(kind: Method["kind"], run: Implementation): (input: never, context: unknown) => unknown {
  const start = (input: Message & AsyncIterable<object>, context: unknown): unknown =>
    kind === "unary" || kind === "server_streaming" ? run(...input, context) : run(toValues(input), context);
  return kind === "unary" || kind === "client_streaming"
    ? async (input, context) => [await start(input, context)]
    : (input, context) => toMessages(start(input, context) as AsyncIterable<unknown>);
}
