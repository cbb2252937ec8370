/**
 * Converts, on clients and servers, between functions with positional arguments and the messages of interface methods, which
 * are arrays.
 */
import type { Method } from "triple-es";
import { DONE, iteration } from "triple-es/internal";

/** The message of an interface method. */
type Message = readonly unknown[];

/**
 * Maps the items of an async iterable. If the consumer stops early, the source ends at once. Any other value is returned
 * unchanged, because the caller validates it.
 */
function mapEach<T, U>(items: AsyncIterable<T>, map: (item: T) => U): AsyncIterable<U> {
  if (typeof items?.[Symbol.asyncIterator] !== "function") return items as AsyncIterable<never>;
  return {
    [Symbol.asyncIterator]() {
      const source = items[Symbol.asyncIterator]();
      const next = async (): Promise<IteratorResult<U, undefined>> => {
        const result = await source.next();
        return result.done ? DONE : { done: false, value: map(result.value) };
      };
      return iteration(next, () => source.return?.());
    },
  };
}

export const toMessages = (values: AsyncIterable<unknown>): AsyncIterable<Message> =>
  mapEach(values, (value) => [value]);
export const toValues = (messages: AsyncIterable<object>): AsyncIterable<unknown> =>
  mapEach(messages, (message) => (message as Message)[0]);

type Implementation = (...values: unknown[]) => unknown;

/** Adapts an implementation with positional arguments to messages. */
export function withMessages(kind: Method["kind"], run: Implementation): (input: never, context: unknown) => unknown {
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
