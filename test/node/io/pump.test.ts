/**
 * Bodies that are written to a stream: chunks that are ready together are written together, without delay, and under
 * backpressure nothing more is read.
 */
import { Writable } from "node:stream";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { streamBody } from "../../../runtime/src/http/body.ts";
import { pump } from "../../../runtime/src/node/io/pump.ts";
import { joined } from "../../support/greeter.ts";

/** A stream that records each write, slowly if requested. */
class Sink extends Writable {
  readonly writes: Uint8Array[] = [];
  readonly #written: (() => void | Promise<void>) | undefined;

  constructor(written?: () => void | Promise<void>) {
    super({ highWaterMark: 16 * 1024, decodeStrings: false });
    this.#written = written;
  }

  override async _write(chunk: Uint8Array, _encoding: string, done: () => void): Promise<void> {
    this.writes.push(chunk);
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

describe("small chunks", () => {
  it("are written together if they arrive without a pause", async () => {
    const sink = new Sink();
    const chunks = pieces(100, 10);
    await pump(streamBody(all(chunks)), sink);
    expect(sink.writes.map((bytes) => [...bytes])).toEqual([[...joined(...chunks)]]);
    expect(sink.writableEnded).toBe(true);
  });

  it("are joined up to a frame", async () => {
    const sink = new Sink();
    await pump(streamBody(all(pieces(400, 100))), sink);
    expect(sink.writes.map(({ length }) => length)).toEqual([16_300, 16_300, 7_400]);
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
    await pump(streamBody(answers()), sink);
    expect(sink.writes).toHaveLength(3);
  });
});

it("a large chunk is not copied", async () => {
  const sink = new Sink();
  const [small, large] = [new Uint8Array(10), new Uint8Array(100_000)];
  await pump(streamBody(all([small, large, small])), sink);
  expect(sink.writes).toHaveLength(3);
  expect(sink.writes[1]?.buffer).toBe(large.buffer);
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
  await pump(streamBody(endless()), sink);
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
      await pump(streamBody(body()), sink);
      if (!sink.writableFinished) await new Promise((resolve) => sink.once("finish", resolve));
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
  await pump(streamBody(body()), sink);
  expect(left).toBe(true);
});
