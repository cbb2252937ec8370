/**
 * Bodies that are written to a stream: chunks that are ready together are written together, without delay, and under
 * backpressure nothing more is read.
 */
import { Writable } from "node:stream";
import { finished } from "node:stream/promises";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { streamBody } from "../../../runtime/src/http/body.ts";
import { pump, writeCorked } from "../../../runtime/src/node/io/body.ts";
import { joined } from "../../support/greeter.ts";

/** A stream that records each write, slowly if requested. */
class Sink extends Writable {
  readonly writes: Uint8Array[] = [];
  readonly chunks: Uint8Array[] = [];
  readonly #written: (() => void | Promise<void>) | undefined;

  constructor(written?: () => void | Promise<void>) {
    super({ highWaterMark: 16 * 1024, decodeStrings: false });
    this.#written = written;
  }

  override _write(chunk: Uint8Array, _encoding: string, done: () => void): void {
    void this._writev([{ chunk }], done);
  }

  /** Writes chunks at once, as sockets and streams of HTTP/2 do. */
  override async _writev(chunks: { chunk: Uint8Array }[], done: () => void): Promise<void> {
    const parts = chunks.map(({ chunk }) => chunk);
    this.chunks.push(...parts);
    this.writes.push(joined(...parts));
    await this.#written?.();
    done();
  }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const pieces = (count: number, size: number): Uint8Array[] =>
  Array.from({ length: count }, (_, i) => new Uint8Array(size).fill(i));

async function* all(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array, void> {
  yield* chunks;
}

const write = (chunks: AsyncIterable<Uint8Array>, sink: Sink): Promise<void> =>
  pump(streamBody(chunks), sink, (chunk) => writeCorked(sink, chunk));

describe("small chunks", () => {
  it("are written together if they arrive without a pause", async () => {
    const sink = new Sink();
    const chunks = pieces(100, 10);
    await write(all(chunks), sink);
    expect(sink.writes.map((bytes) => [...bytes])).toEqual([[...joined(...chunks)]]);
    expect(sink.writableEnded).toBe(true);
  });

  it("are joined up to a frame", async () => {
    const sink = new Sink();
    await write(all(pieces(400, 100)), sink);
    await finished(sink);
    expect(sink.writes.map(({ length }) => length)).toEqual([16_400, 16_400, 7_200]);
  });

  it("are written at once if no other chunk is ready", async () => {
    let seen = (): void => {};
    const sink = new Sink(() => seen());
    async function* answers(): AsyncGenerator<Uint8Array, void> {
      for (const piece of pieces(3, 10)) {
        const written = new Promise<void>((resolve) => {
          seen = resolve;
        });
        yield piece;
        // Continues when the chunk has been written; hangs if the chunk is delayed until others are ready.
        await written;
      }
    }
    await write(answers(), sink);
    expect(sink.writes).toHaveLength(3);
  });
});

it("a large chunk is not copied", async () => {
  const sink = new Sink();
  const [small, large] = [new Uint8Array(10), new Uint8Array(100_000)];
  await write(all([small, large, small]), sink);
  expect(sink.chunks).toHaveLength(3);
  expect(sink.chunks[1]?.buffer).toBe(large.buffer);
});

it("a body runs only so far ahead of a stream that is slow", async () => {
  let yielded = 0;
  let taken = 0;
  let ahead = 0;
  const sink: Sink = new Sink(async () => {
    taken = sink.writes.reduce((bytes, { length }) => bytes + length, 0);
    await turn();
  });
  async function* endless(): AsyncGenerator<Uint8Array, void> {
    while (yielded < 2_000_000) {
      yielded += 100;
      ahead = Math.max(ahead, yielded - taken);
      yield new Uint8Array(100);
    }
  }
  await write(endless(), sink);
  await finished(sink);
  expect(taken).toBe(2_000_000);
  // The buffer of the stream, one batch, and the current chunk.
  expect(ahead).toBeLessThanOrEqual(2 * 16 * 1024 + 200);
});

it("all chunks arrive in order, with any sizes and pauses", async () => {
  const piece = fc.record({ size: fc.integer({ min: 0, max: 40_000 }), pause: fc.boolean() });
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 12 }), fc.boolean(), async (list, slow) => {
      const chunks = list.map(({ size }, i) => new Uint8Array(size).fill(i + 1));
      async function* body(): AsyncGenerator<Uint8Array, void> {
        for (const [i, chunk] of chunks.entries()) {
          if (list[i]?.pause) await turn();
          yield chunk;
        }
      }
      const sink = new Sink(slow ? turn : undefined);
      await write(body(), sink);
      await finished(sink);
      expect(Buffer.concat(sink.writes).equals(joined(...chunks))).toBe(true);
    }),
    { numRuns: 50 },
  );
});

it("a body is cancelled, with its unwritten data, if the stream is destroyed", async () => {
  const sink = new Sink();
  let left = false;
  async function* body(): AsyncGenerator<Uint8Array, void> {
    try {
      yield new Uint8Array(10);
      sink.destroy();
      for (;;) yield new Uint8Array(10);
    } finally {
      left = true;
    }
  }
  await write(body(), sink);
  expect(left).toBe(true);
});
