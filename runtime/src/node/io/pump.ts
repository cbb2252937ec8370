/**
 * Bodies on their way into a Node stream: the response of a server, the request of a client, over HTTP/1.1 and HTTP/2.
 */
import type { Writable } from "node:stream";
import { type Body, concat } from "../../http/exchange.ts";

/** Chunks are joined up to this many bytes: what a frame of HTTP/2 holds. */
const BATCH_BYTES = 16 * 1024;

/**
 * Writes a body piece by piece, at the pace of the stream, and ends the stream. Stops the body when the stream closes.
 * Pieces that come without a pause between them are written together.
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
  // Not before all of it has ended: what it cleans up may take its time.
  await iterator.return?.()?.catch(() => {});
}

/** Joins the chunks of one turn, so that many small messages cost one write. A chunk that is alone waits for nothing. */
class Batch {
  /** Whether the stream has taken as much as it wants to, until it says "drain". */
  blocked = false;
  readonly #stream: Writable;
  #chunks: Uint8Array[] = [];
  #bytes = 0;

  constructor(stream: Writable) {
    this.#stream = stream;
  }

  add(chunk: Uint8Array): void {
    // Large ones are not copied, but go alone.
    if (this.#bytes + chunk.byteLength > BATCH_BYTES) this.flush();
    // Ticks come after all promises that are ready: by then the turn has brought all it will.
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

/** Tells a body that nobody will read it. One that has not begun is begun first: only then does it clean up. */
export async function discard(body: Body): Promise<void> {
  const iterator = body[Symbol.asyncIterator]();
  try {
    await iterator.next();
    await iterator.return?.();
  } catch {
    // Nobody waits for it.
  }
}
