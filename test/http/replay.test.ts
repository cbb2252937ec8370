/** Bodies that can be read again for a transparent retry, and bodies whose reader leaves. */
import { expect, it } from "vitest";
import { type Body, endWith, streamBody } from "../../runtime/src/http/body.ts";
import { ReplayBody } from "../../runtime/src/http/replay.ts";

/** A body of chunks, and how often it was cancelled. */
function counted(...sizes: number[]): { body: Body; cancelled(): number } {
  let cancelled = 0;
  const rest = sizes.map((size) => new Uint8Array(size));
  const chunks: AsyncIterableIterator<Uint8Array> = {
    next: () => {
      const value = rest.shift();
      return Promise.resolve(value === undefined ? { done: true, value } : { done: false, value });
    },
    return: () => {
      cancelled += 1;
      return Promise.resolve({ done: true, value: undefined });
    },
    [Symbol.asyncIterator]: () => chunks,
  };
  return { body: streamBody(chunks), cancelled: () => cancelled };
}

it("a body that is still being sent when the response begins is not cancelled", async () => {
  const { body, cancelled } = counted(1, 2, 3);
  const replay = new ReplayBody(body);
  const reader = replay[Symbol.asyncIterator]();
  expect((await reader.next()).value).toHaveLength(1);
  replay.settle();
  expect(cancelled()).toBe(0);
  expect((await reader.next()).value).toHaveLength(2);
});

it("a body whose reader has left is cancelled once, as soon as no other reader may follow", async () => {
  const { body, cancelled } = counted(1, 2, 3);
  const replay = new ReplayBody(body);
  const reader = replay[Symbol.asyncIterator]();
  await reader.next();
  await reader.return?.();
  expect(cancelled()).toBe(0);
  replay.settle();
  expect(cancelled()).toBe(1);
  await reader.return?.();
  expect(cancelled()).toBe(1);
});

it("a reader that ends after the next one has begun neither ends the body nor takes chunks of it", async () => {
  const waiting: ((size: number) => void)[] = [];
  let cancelled = 0;
  const slow: AsyncIterableIterator<Uint8Array> = {
    next: () => new Promise((resolve) => waiting.push((size) => resolve({ done: false, value: new Uint8Array(size) }))),
    return: () => {
      cancelled += 1;
      return Promise.resolve({ done: true, value: undefined });
    },
    [Symbol.asyncIterator]: () => slow,
  };
  const replay = new ReplayBody(streamBody(slow));
  const refused = replay[Symbol.asyncIterator]();
  const first = refused.next();
  const reader = replay[Symbol.asyncIterator]();
  const chunk = reader.next();
  waiting.shift()?.(1);
  expect((await first).value).toHaveLength(1);
  await refused.return?.();
  replay.settle();
  expect((await refused.next()).done).toBe(true);
  expect(cancelled).toBe(0);
  expect((await chunk).value).toHaveLength(1);
  const last = reader.next();
  waiting.shift()?.(2);
  expect((await last).value).toHaveLength(2);
});

it("a body that outgrows the limit while a retry waits is read again as a whole, but not a third time", async () => {
  const { body, cancelled } = counted(1, 65 * 1024, 3);
  const replay = new ReplayBody(body);
  const refused = replay[Symbol.asyncIterator]();
  await refused.next();
  const step = refused.next();
  expect(replay.replayable).toBe(true);
  await step;
  await refused.return?.();
  expect(cancelled()).toBe(0);
  const sizes: number[] = [];
  for await (const chunk of replay) sizes.push(chunk.byteLength);
  expect(sizes).toEqual([1, 65 * 1024, 3]);
  expect(replay.replayable).toBe(false);
});

it.each([
  ["before the first message", 0],
  ["after a message", 1],
])("the body of a stream whose reader leaves %s is cancelled", async (_, messages) => {
  const { body, cancelled } = counted(1, 2);
  async function* read(): AsyncGenerator<object, void> {
    yield {};
    yield {};
  }
  const reader = endWith(body[Symbol.asyncIterator](), read());
  for (let i = 0; i < messages; i++) await reader.next();
  await reader.return?.();
  expect(cancelled()).toBe(1);
});
