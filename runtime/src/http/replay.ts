/**
 * Request bodies for transparent retry (gRFC A6), which resends a request that no server has processed.
 */
import { type Body, streamBody } from "./body.ts";

/**
 * Limit of the bytes that are kept for a retry, until the response begins. A request that has sent more cannot be retried.
 */
const MAX_KEPT_BYTES = 64 * 1024;

/**
 * A streamed body that can be read again from the start. It keeps the chunks that were read, up to a limit, until
 * {@link ReplayBody.settle} is called.
 */
export class ReplayBody implements Body {
  readonly whole = undefined;
  readonly #source: Body;
  #iterator: AsyncIterator<Uint8Array> | undefined;
  #kept: Uint8Array[] = [];
  #keptBytes = 0;
  #recording = true;
  /** True if no other reader will follow. Until then the source stays open: a retry that was decided may still wait. */
  #settled = false;
  /** The pending step of the source. A previous reader may have begun it. */
  #step: Promise<IteratorResult<Uint8Array>> | undefined;
  /** The number of readers so far. Only the latest one counts: an earlier one may still wait in `next` when it ends. */
  #readers = 0;
  /** True if the latest reader has left. Another reader may follow until `settle` is called. */
  #abandoned = false;

  constructor(source: Body) {
    this.#source = source;
  }

  /** True if all chunks that were read so far can be read again. */
  get replayable(): boolean {
    return this.#recording;
  }

  /** Ends the recording, because no other reader will follow. */
  settle(): void {
    this.#recording = false;
    this.#settled = true;
    if (this.#abandoned) this.#close();
  }

  bytes(limit: number): Promise<Uint8Array> {
    return streamBody(this).bytes(limit);
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    this.#iterator ??= this.#source[Symbol.asyncIterator]();
    this.#abandoned = false;
    const iterator = this.#iterator;
    const reader = ++this.#readers;
    let position = 0;
    return {
      next: () => {
        if (reader !== this.#readers) return Promise.resolve({ done: true, value: undefined });
        const kept = this.#kept[position];
        if (kept !== undefined) {
          position++;
          return Promise.resolve({ done: false, value: kept });
        }
        if (!this.#recording && this.#step === undefined) {
          this.#kept = [];
          return iterator.next();
        }
        return this.#advance(iterator).then((result) => {
          position++;
          return result;
        });
      },
      return: async () => {
        if (reader === this.#readers) {
          this.#abandoned = true;
          if (this.#settled) this.#close();
        }
        return { done: true, value: undefined };
      },
    };
  }

  #advance(iterator: AsyncIterator<Uint8Array>): Promise<IteratorResult<Uint8Array>> {
    this.#step ??= iterator
      .next()
      .then((result) => {
        if (!result.done) this.#keep(result.value);
        return result;
      })
      .finally(() => {
        this.#step = undefined;
      });
    return this.#step;
  }

  #keep(chunk: Uint8Array): void {
    if (!this.#recording) return;
    this.#kept.push(chunk);
    this.#keptBytes += chunk.byteLength;
    if (this.#keptBytes > MAX_KEPT_BYTES) this.#recording = false;
  }

  #close(): void {
    this.#iterator?.return?.()?.catch(() => {});
  }
}
