/**
 * Request bodies that may have to be sent again, because the server they were sent to did not look at them.
 */
import { type Body, streamBody } from "../../http/exchange.ts";

/** This much of a request is kept until its response begins. What has sent more cannot be sent again. */
const MAX_KEPT_BYTES = 64 * 1024;

/**
 * A body that comes in pieces and remembers the first of them, so that reading it from the start again yields the same.
 * It does so until {@link ReplayBody.settle} is called, and up to a limit.
 */
export class ReplayBody implements Body {
  readonly whole = undefined;
  readonly #source: Body;
  #iterator: AsyncIterator<Uint8Array> | undefined;
  #kept: Uint8Array[] = [];
  #keptBytes = 0;
  #recording = true;
  /** The step of the source that is under way. A reader that went away may have begun it. */
  #step: Promise<IteratorResult<Uint8Array>> | undefined;
  /** Its reader went away, and another one may yet come. */
  #abandoned = false;

  constructor(source: Body) {
    this.#source = source;
  }

  /** Whether everything that was read so far can be read again. */
  get replayable(): boolean {
    return this.#recording;
  }

  /** There will be no more readers than there are. */
  settle(): void {
    this.#recording = false;
    if (this.#abandoned) this.#close();
  }

  bytes(limit: number): Promise<Uint8Array> {
    return streamBody(this).bytes(limit);
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    this.#iterator ??= this.#source[Symbol.asyncIterator]();
    this.#abandoned = false;
    const iterator = this.#iterator;
    let position = 0;
    return {
      next: () => {
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
        this.#abandoned = true;
        if (!this.#recording) this.#close();
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
