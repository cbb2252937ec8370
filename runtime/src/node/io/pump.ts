/**
 * Bodies written to a Node stream: responses on a server and requests on a client, over HTTP/1.1 and HTTP/2.
 */
import type { Writable } from "node:stream";
import { concat } from "../../call/bytes.ts";
import type { Body } from "../../http/body.ts";

/** Chunks are joined up to this many bytes, the default size of an HTTP/2 frame. */
const BATCH_BYTES = 16 * 1024;

/**
 * Writes the chunks of a body with backpressure, and ends the stream. Cancels the body when the stream closes. Chunks of one
 * turn of the event loop are written together.
 */
export async function pump(body: Body, stream: Writable): Promise<void> {
  const iterator = body[Symbol.asyncIterator]();
  const batch = new Batch(stream);
  let wake: (() => void) | undefined;
  stream.on("drain", () => {
    batch.blocked = false;
    wake?.();
  });
  stream.once("close", () => {
    batch.blocked = false;
    wake?.();
    iterator.return?.()?.catch(() => {});
  });
  while (!stream.destroyed) {
    const { done, value } = await iterator.next();
    if (done) {
      batch.flush();
      stream.end();
      return;
    }
    batch.add(value);
    if (batch.blocked && !stream.destroyed) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  }
  // Waits for the cleanup of the body, which may be asynchronous.
  await iterator.return?.()?.catch(() => {});
}

/**
 * Joins the chunks of one turn of the event loop, so that many small messages need one write. A single chunk is written
 * in the same turn.
 */
class Batch {
  /** True if the stream applies backpressure, until it emits "drain". */
  blocked = false;
  readonly #stream: Writable;
  #chunks: Uint8Array[] = [];
  #bytes = 0;

  constructor(stream: Writable) {
    this.#stream = stream;
  }

  add(chunk: Uint8Array): void {
    // Large chunks are written on their own, without a copy.
    if (this.#bytes + chunk.byteLength > BATCH_BYTES) this.flush();
    // Ticks run after all pending promise callbacks: by then the chunks of this turn have arrived.
    if (this.#bytes === 0) process.nextTick(this.flush);
    this.#chunks.push(chunk);
    this.#bytes += chunk.byteLength;
    if (this.#bytes >= BATCH_BYTES) this.flush();
  }

  readonly flush = (): void => {
    if (this.#bytes === 0 || this.#stream.destroyed) return;
    const bytes = concat(this.#chunks, this.#bytes);
    this.#chunks = [];
    this.#bytes = 0;
    if (!this.#stream.write(bytes)) this.blocked = true;
  };
}

/**
 * Cancels a body that will not be read. A body that has not begun is started first, because otherwise its cleanup would
 * not run.
 */
export async function discard(body: Body): Promise<void> {
  const iterator = body[Symbol.asyncIterator]();
  try {
    await iterator.next();
    await iterator.return?.();
  } catch {
    // The peer is gone: the error has no receiver.
  }
}
