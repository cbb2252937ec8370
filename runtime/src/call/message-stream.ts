/**
 * Streams of messages: hand-written iterators, which cost half as much as async generators, and conversions between one
 * message and a stream.
 */
import type { CallResponse } from "./call.ts";

/** The result of the last step of an iteration. */
export const DONE = { done: true, value: undefined } as const;

/**
 * Creates an iterable iterator from two functions: `next` returns the next result; `leave` is called if the reader leaves the
 * loop early.
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

/**
 * Passes messages on, and calls `ended` once: after the last message, when the reader leaves early, or with the error that
 * ended the stream.
 */
export function watchEnd<T>(
  messages: AsyncIterable<T>,
  ended: (how: "read" | "left" | "failed", reason?: unknown) => void,
): AsyncIterable<T> {
  return { [Symbol.asyncIterator]: () => watched(messages[Symbol.asyncIterator](), ended) };
}

function watched<T>(
  messages: AsyncIterator<T>,
  ended: (how: "read" | "left" | "failed", reason?: unknown) => void,
): AsyncIterator<T> {
  let isEnded = false;
  const end: typeof ended = (how, reason) => {
    if (isEnded) return;
    isEnded = true;
    ended(how, reason);
  };
  const next = async (): Promise<IteratorResult<T, undefined>> => {
    try {
      const result = await messages.next();
      if (result.done) end("read");
      return result;
    } catch (reason) {
      end("failed", reason);
      throw reason;
    }
  };
  return iteration(next, () => {
    end("left");
    return messages.return?.();
  });
}

/** Yields one message. */
export async function* oneMessage(message: object | Promise<object>): AsyncGenerator<object, void> {
  yield message;
}

/** Returns the single message of a stream. Throws the error that `refuse` returns if the stream has none or more than one. */
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
 * Ends the stream of a response that will not be read. It requests one message first, because a generator that has not
 * started does not run its `finally` blocks.
 */
export async function endMessages(response: CallResponse | undefined): Promise<void> {
  if (!response?.stream) return;
  const messages = response.messages[Symbol.asyncIterator]();
  await messages.next();
  await messages.return?.();
}
