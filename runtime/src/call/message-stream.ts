/**
 * Streams of messages: hand-written iterators, which cost half as much as async generators or less, and conversions between
 * one message and a stream.
 */
import type { CallResponse } from "./call.ts";

/** Messages to send. Those that need no waiting, such as the items of an array, are also read without a promise for each. */
export interface SentStream extends AsyncIterable<object> {
  readonly readyMessages?: Iterator<object> | undefined;
}

/** The result of the last step of an iteration. */
export const DONE = { done: true, value: undefined } as const;

/** Creates an iterable iterator: `next` returns the next result; `leave` is called if the reader leaves the loop early. */
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

/** Runs an iterator, which does not throw, in the asynchronous context of this call, not of its reader. */
export function inContext<T>(iterator: AsyncIterator<T, undefined>): AsyncIterableIterator<T, undefined> {
  const works: (() => void)[] = [];
  let wake = (): void => {};
  void (async (): Promise<never> => {
    for (;;) {
      for (let work = works.shift(); work !== undefined; work = works.shift()) work();
      await new Promise<void>((resolve) => (wake = resolve));
    }
  })();
  const run = (work: () => Promise<IteratorResult<T, undefined>> | undefined): Promise<IteratorResult<T, undefined>> =>
    new Promise((resolve) => {
      works.push(() => resolve(work() ?? DONE));
      wake();
    });
  return iteration(
    () => run(() => iterator.next()),
    () => run(() => iterator.return?.()),
  );
}

/** Maps each of the items when it is read. If the consumer stops early, or `map` throws, the source ends at once. */
export function mapEach<T, U>(items: AsyncIterable<T>, map: (item: T) => U): AsyncIterable<U> {
  return {
    [Symbol.asyncIterator]() {
      const source = items[Symbol.asyncIterator]();
      const next = async (): Promise<IteratorResult<U, undefined>> => {
        const step = await source.next();
        if (step.done) return DONE;
        try {
          return { done: false, value: map(step.value) };
        } catch (reason) {
          source.return?.().catch(() => {});
          throw reason;
        }
      };
      return iteration(next, () => source.return?.());
    },
  };
}

/** Receives the end of messages. `settled` resolves when a step that its reader has left, and the source, have ended. */
type OnEnd = (how: "read" | "left" | "failed", reason: unknown, settled: Promise<unknown>) => void;

/** Passes messages on, and calls `ended` once: after the last one, when the reader leaves, or with the error. */
export function watchEnd<T>(messages: AsyncIterable<T>, ended: OnEnd): AsyncIterable<T> {
  return { [Symbol.asyncIterator]: () => watched(messages[Symbol.asyncIterator](), ended) };
}

function watched<T>(messages: AsyncIterator<T>, ended: OnEnd): AsyncIterator<T> {
  let isEnded = false;
  let step: Promise<IteratorResult<T>> | undefined;
  const end = (how: Parameters<OnEnd>[0], reason?: unknown, settled: Promise<unknown> = Promise.resolve()): void => {
    if (!isEnded) ended(how, reason, settled);
    isEnded = true;
  };
  const next = async (): Promise<IteratorResult<T, undefined>> => {
    try {
      step = messages.next();
      const result = await step;
      if (result.done) end("read");
      return result;
    } catch (reason) {
      end("failed", reason);
      throw reason;
    }
  };
  return iteration(next, () => {
    const left = messages.return?.();
    end("left", undefined, Promise.allSettled([step, left]));
    return left;
  });
}

/**
 * A stream of messages that several layers pass on. A layer takes messages that have been received with `take`, without a
 * promise for each, and waits for others with `next`. Calls of `next` are answered in their order. The methods of
 * iteration are functions that users may destructure.
 */
export abstract class MessageStream implements AsyncIterableIterator<object, undefined> {
  /** The last call of `next` that has to wait, and the number of such calls. */
  #last: Promise<IteratorResult<object, undefined>> | undefined;
  #waiting = 0;

  /** Returns the next message if it has been received, else `undefined`. Does not throw: {@link wait} reports errors. */
  protected abstract ready(): object | undefined;
  /**
   * Waits for the next message. Called after {@link ready} has returned `undefined`. It is an `async` function, so that stack
   * traces name the caller, who is the only reader of its result. It calls {@link waited} before it settles.
   */
  protected abstract wait(): Promise<IteratorResult<object, undefined>>;
  /** Ends the stream early. */
  protected abstract leave(): unknown;

  /** True while a call of `next` waits for its message. */
  protected get isPending(): boolean {
    return this.#last !== undefined;
  }

  /** Returns the next message if it has been received and no call of `next` waits. `undefined`: call `next`. */
  take(): object | undefined {
    return this.#last === undefined ? this.ready() : undefined;
  }

  readonly next = (): Promise<IteratorResult<object, undefined>> => {
    if (this.#last === undefined) {
      const message = this.ready();
      if (message !== undefined) return Promise.resolve({ done: false, value: message });
    }
    this.#waiting++;
    const step = this.#last === undefined ? this.wait() : this.#waitAfter(this.#last);
    // A call that has not waited is over already.
    if (this.#waiting > 0) this.#last = step;
    return step;
  };

  readonly return = async (): Promise<IteratorResult<object, undefined>> => {
    await this.leave();
    return DONE;
  };

  readonly [Symbol.asyncIterator] = (): this => this;

  /** Records that a call of {@link wait} is over. */
  protected waited(): void {
    if (--this.#waiting === 0) this.#last = undefined;
  }

  async #waitAfter(previous: Promise<unknown>): Promise<IteratorResult<object, undefined>> {
    await previous.catch(() => {});
    const message = this.ready();
    if (message === undefined) return await this.wait();
    this.waited();
    return { done: false, value: message };
  }
}

/** Yields messages that are known or promised. */
export async function* eachOf(messages: readonly (object | Promise<object>)[]): AsyncGenerator<object, void> {
  for (const message of messages) yield message;
}

/**
 * Returns the single message of a stream. Throws the error that `refuse` returns if the stream has none or more than one: when
 * more than `limit` have been read, or at the end.
 */
export async function onlyMessage(
  messages: AsyncIterable<object>,
  refuse: (received: "none" | "more than one") => Error,
  limit = 1,
): Promise<object> {
  let found: object | undefined;
  let count = 0;
  for await (const message of messages) {
    found ??= message;
    if (++count > limit) break;
  }
  if (count > 1) throw refuse("more than one");
  if (found === undefined) throw refuse("none");
  return found;
}

/** Ends the stream of a response that is not read. Generators run their `finally` blocks only once they have started. */
export async function endMessages(response: CallResponse | undefined): Promise<void> {
  if (!response?.stream) return;
  const messages = response.messages[Symbol.asyncIterator]();
  await messages.next();
  await messages.return?.();
}
