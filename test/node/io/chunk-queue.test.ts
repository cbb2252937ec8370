/** The queue of received chunks: bytes keep their order, small chunks are copied and joined, large ones are not copied. */
import { describe, expect, it } from "vitest";
import { ChunkQueue } from "../../../runtime/src/connection/chunk-queue.ts";

const READ = Uint8Array.from({ length: 64 * 1024 }, (_, i) => i % 251);

/** A view of a part of the data that was read from a socket. */
const view = (start: number, length: number): Uint8Array => new Uint8Array(READ.buffer, start, length);
const bytesOf = (chunks: readonly Uint8Array[]): number[] => chunks.flatMap((chunk) => [...chunk]);

function drain(queue: ChunkQueue): Uint8Array[] {
  const chunks: Uint8Array[] = [];
  for (let chunk = queue.shift(); chunk !== undefined; chunk = queue.shift()) chunks.push(chunk);
  return chunks;
}

describe("a queue of chunks", () => {
  it("keeps the order of all bytes for any sizes of chunks and reads", () => {
    const sizes = [1, 5, 30_000, 2, 3, 20_000, 1_000, 0, 7, 16_384, 9];
    const shifted = new ChunkQueue();
    const joined = new ChunkQueue();
    const expected: number[] = [];
    sizes.forEach((size, i) => {
      const bytes = view(i * 10, size);
      expected.push(...bytes);
      shifted.push(bytes);
      joined.push(bytes);
      expect(bytesOf(joined.peek())).toEqual(expected);
      if (i % 3 === 0) expect([...joined.join()]).toEqual(expected);
    });
    expect(bytesOf(drain(shifted))).toEqual(expected);
    expect([...joined.join()]).toEqual(expected);
    expect(bytesOf(drain(joined))).toEqual(expected);
    expect(joined.join()).toHaveLength(0);
  });

  it("copies small chunks, and not large ones", () => {
    const queue = new ChunkQueue();
    queue.push(view(0, 100));
    queue.push(view(0, 40_000));
    const [small, large] = drain(queue);
    expect(small?.buffer).not.toBe(READ.buffer);
    expect(small?.buffer.byteLength).toBeLessThanOrEqual(8 * 1024);
    expect(large?.buffer).toBe(READ.buffer);
  });

  it("does not copy chunks of memory that a large chunk keeps, unless they are tiny", () => {
    const queue = new ChunkQueue();
    queue.push(view(0, 20_000));
    queue.push(view(20_000, 2_000));
    queue.push(view(22_000, 10));
    const [large, next, tiny] = drain(queue);
    expect([large?.buffer, next?.buffer]).toEqual([READ.buffer, READ.buffer]);
    expect(tiny?.buffer).not.toBe(READ.buffer);
    expect(tiny?.buffer.byteLength).toBeLessThanOrEqual(8 * 1024);
  });

  it("copies a chunk of memory that it does not keep any more", () => {
    const queue = new ChunkQueue();
    queue.push(view(0, 20_000));
    queue.shift();
    queue.push(view(20_000, 2_000));
    expect(queue.shift()?.buffer.byteLength).toBe(2_000);
    queue.push(view(0, 20_000));
    queue.push(view(40_000, 20_000));
    expect(queue.join().buffer).not.toBe(READ.buffer);
    queue.push(view(60_000, 2_000));
    expect(queue.peek().at(-1)?.buffer.byteLength).toBe(2_000);
  });

  it("joins many small chunks into few, each of 64 KiB at most", () => {
    const queue = new ChunkQueue();
    for (let i = 0; i < 20_000; i++) queue.push(view(i % 1_000, 8));
    const chunks = drain(queue);
    expect(chunks.length).toBeLessThan(5);
    for (const chunk of chunks) expect(chunk.buffer.byteLength).toBeLessThanOrEqual(64 * 1024);
    expect(chunks.reduce((sum, { byteLength }) => sum + byteLength, 0)).toBe(160_000);
  });

  it("joins small chunks that have memory of their own, after the first", () => {
    const queue = new ChunkQueue();
    for (let i = 0; i < 20_000; i++) queue.push(Uint8Array.of(i % 251));
    const chunks = drain(queue);
    expect(chunks.length).toBeLessThan(5);
    expect(bytesOf(chunks)).toEqual(Array.from({ length: 20_000 }, (_, i) => i % 251));
  });

  it("keeps no memory of a read when it is asked for copies", () => {
    const queue = new ChunkQueue();
    queue.push(view(0, 20_000));
    queue.push(view(20_000, 20_000), true);
    queue.push(view(40_000, 2_000), true);
    for (let i = 0; i < 40; i++) queue.push(view(42_000, 1_000), true);
    const own = READ.slice(0, 16_384);
    queue.push(own, true);
    const [first, ...rest] = drain(queue);
    expect(first?.buffer).toBe(READ.buffer);
    expect(rest.map(({ buffer }) => buffer)).not.toContain(READ.buffer);
    expect(rest.at(-1)).toBe(own);
    const memory = [...new Set(rest.map(({ buffer }) => buffer))].reduce((sum, { byteLength }) => sum + byteLength, 0);
    expect(memory).toBeLessThanOrEqual((20_000 + 2_000 + 40_000) * 1.25 + 16_384);
  });

  it("does not change bytes that it has returned", () => {
    const queue = new ChunkQueue();
    queue.push(view(0, 10));
    queue.push(view(10, 10));
    const first = queue.shift();
    queue.push(view(100, 10));
    expect([...(first ?? [])]).toEqual([...view(0, 20)]);
    queue.clear();
    expect(queue.shift()).toBeUndefined();
  });
});
