/**
 * Request bodies for transparent retry (gRFC A6), which resends a request that no server has processed.
 */
import { DONE } from "../call/message-stream.ts";
import {
  type Body,
  type ChunkSource,
  nextChunk,
  type OnError,
  type OnStep,
  requestChunk,
  type Step,
  streamBody,
} from "./body.ts";

/** Limit of the bytes that are kept for a retry until the response begins. Larger requests cannot be retried. */
const MAX_KEPT_BYTES = 64 * 1024;

/** A streamed body that keeps its chunks, up to a limit, and can be read again until {@link ReplayBody.settle}. */
export class ReplayBody implements Body {
  readonly whole = undefined;
  readonly #source: Body;
  #iterator: ChunkSource | undefined;
  #kept: Uint8Array[] = [];
  #keptBytes = 0;
  /** True if all chunks that were read so far can be read again. */
  replayable = true;
  /** True if no other reader will follow. Until then the source stays open: a retry that was decided may still wait. */
  #settled = false;
  /** The requests that wait for the next chunk of the source. A previous reader may have made the first. */
  #waiting: [OnStep, OnError][] | undefined;
  /** The number of readers so far. Only the latest one counts: an earlier one may still wait in `next` when it ends. */
  #readers = 0;
  /** True if the latest reader has left. Another reader may follow until `settle` is called. */
  #abandoned = false;

  constructor(source: Body) {
    this.#source = source;
  }

  /** Ends the recording, because no other reader will follow. */
  settle(): void {
    this.replayable = false;
    this.#settled = true;
    if (this.#abandoned) this.#close();
  }

  bytes(limit: number): Promise<Uint8Array> {
    return streamBody(this).bytes(limit);
  }

  [Symbol.asyncIterator](): ChunkSource {
    this.#iterator ??= this.#source[Symbol.asyncIterator]();
    this.#abandoned = false;
    const iterator = this.#iterator;
    const reader = ++this.#readers;
    let position = 0;
    const request = (onStep: OnStep, onError: OnError): Step | undefined => {
      if (reader !== this.#readers) return DONE;
      const kept = this.#kept[position++];
      return kept === undefined ? this.#advance(iterator, onStep, onError) : { done: false, value: kept };
    };
    return {
      request,
      next: () => nextChunk(request),
      return: async () => {
        if (reader === this.#readers && !this.#abandoned) {
          this.#abandoned = true;
          if (this.#settled) this.#close();
        }
        return DONE;
      },
    };
  }

  #advance(iterator: ChunkSource, onStep: OnStep, onError: OnError): Step | undefined {
    if (this.#waiting !== undefined) {
      this.#waiting.push([onStep, onError]);
      return undefined;
    }
    if (!this.replayable) {
      this.#kept = [];
      return requestChunk(iterator, onStep, onError);
    }
    const waiting: [OnStep, OnError][] = [[onStep, onError]];
    this.#waiting = waiting;
    const received = (step: Step): Step => {
      this.#waiting = undefined;
      if (!step.done) this.#keep(step.value);
      return step;
    };
    const step = requestChunk(
      iterator,
      (later) => {
        received(later);
        for (const [answer] of waiting) answer(later);
      },
      (reason) => {
        this.#waiting = undefined;
        for (const [, fail] of waiting) fail(reason);
      },
    );
    return step && received(step);
  }

  #keep(chunk: Uint8Array): void {
    if (!this.replayable) return;
    this.#kept.push(chunk);
    this.#keptBytes += chunk.byteLength;
    if (this.#keptBytes > MAX_KEPT_BYTES) this.replayable = false;
  }

  #close(): void {
    this.#iterator?.return?.()?.catch(() => {});
  }
}
