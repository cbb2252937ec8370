/**
 * Streams of messages: iterators written by hand, which cost half as much as async generators, and conversions between
 * one message and a stream.
 */
import type { CallResponse } from "./call.ts";

/** The last step of an iteration. */
export const DONE = { done: true, value: undefined } as const;

/**
 * Makes an iterable iterator of two functions: `next` makes a step; `leave` is called when the reader leaves the loop
 * early.
 */
export function iteration<T>(
  next: () => Promise<IteratorResult<T, undefined>>,
  leave: () => unknown,
): AsyncIterableIterator<T, undefined> {
  const iterator: AsyncIterableIterator<T, undefined> = {
    next,
    async return() {
      await leave();
      return DONE;
    },
    [Symbol.asyncIterator]: () => iterator,
  };
  return iterator;
}

/** A stream of one message. */
export async function* oneMessage(message: object | Promise<object>): AsyncGenerator<object, void> {
  yield message;
}

/** Returns the single message of a stream. `refuse` makes the error for a stream that has none, or more than one. */
export async function onlyMessage(
  messages: AsyncIterable<object>,
  refuse: (received: "none" | "more than one") => Error,
): Promise<object> {
  let found: object | undefined;
  for await (const message of messages) {
    if (found !== undefined) throw refuse("more than one");
    found = message;
  }
  if (found === undefined) throw refuse("none");
  return found;
}

/**
 * Ends the stream of a response that will not be read. It takes one step first, because a generator that has not
 * started runs no `finally`.
 */
export async function endMessages(response: CallResponse | undefined): Promise<void> {
  if (!response?.stream) return;
  const messages = response.messages[Symbol.asyncIterator]();
  await messages.next();
  await messages.return?.();
}
