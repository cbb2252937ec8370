/**
 * Methods without IDL take arguments by position and give values, and their messages are arrays: here one becomes the other,
 * on either side.
 */
import type { MethodKind } from "../call/call.ts";

/** What an array of one is made of. */
type Message = readonly unknown[];

/**
 * Items of an iteration, one by one made into something else. An iteration that is left ends its source at once. What is no
 * iteration stays what it is, and those who wanted one say so.
 */
export function mapEach<T, U>(items: AsyncIterable<T>, map: (item: T) => U): AsyncIterable<U> {
  if (typeof items?.[Symbol.asyncIterator] !== "function") return items as AsyncIterable<never>;
  return {
    [Symbol.asyncIterator]() {
      const source = items[Symbol.asyncIterator]();
      const mapped: AsyncIterator<U> = {
        async next() {
          const result = await source.next();
          return result.done ? { done: true, value: undefined } : { done: false, value: map(result.value) };
        },
        async return() {
          await source.return?.();
          return { done: true, value: undefined };
        },
      };
      return mapped;
    },
  };
}

export const toMessages = (values: AsyncIterable<unknown>): AsyncIterable<Message> =>
  mapEach(values, (value) => [value]);
export const toValues = (messages: AsyncIterable<object>): AsyncIterable<unknown> =>
  mapEach(messages, (message) => (message as Message)[0]);

type Implementation = (...values: unknown[]) => unknown;

/** What an implementation with arguments by position is to those who hand it messages. */
export function withMessages(kind: MethodKind, run: Implementation): (input: never, context: unknown) => unknown {
  switch (kind) {
    case "unary":
      return async (message: Message, context) => [await run(...message, context)];
    case "server_streaming":
      return (message: Message, context) => toMessages(run(...message, context) as AsyncIterable<unknown>);
    case "client_streaming":
      return async (messages: AsyncIterable<object>, context) => [await run(toValues(messages), context)];
    case "bidi_streaming":
      return (messages: AsyncIterable<object>, context) =>
        toMessages(run(toValues(messages), context) as AsyncIterable<unknown>);
  }
}
