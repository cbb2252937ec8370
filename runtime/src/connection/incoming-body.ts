/**
 * Bodies over HTTP/2 and HTTP/1.1, received on a stream with flow control: that of HTTP/2 (RFC 9113, section 5.2), or a pause of
 * the connection.
 */
import { Code } from "../call/code.ts";
import { RpcError } from "../call/error.ts";
import { DONE } from "../call/message-stream.ts";
import { type Body, type BodyCheck, type ChunkSource, tooLarge } from "../http/body.ts";
import { COLLECTED_WINDOW_BYTES, STREAM_WINDOW_BYTES } from "../http2/flow-control.ts";
import type { Stream } from "../http2/stream.ts";
import { ChunkQueue } from "./chunk-queue.ts";
import type { CollectedBody, Collecting } from "./collecting.ts";
import { type MemoryShare, outOfMemory } from "./memory-budget.ts";

/** A reader that waits for the whole of a body. */
interface Waiting {
  readonly limit: number;
  readonly maxBytes: number;
  readonly check: BodyCheck | undefined;
  readonly resolve: (bytes: Uint8Array) => void;
  readonly reject: (reason: RpcError) => void;
}

/** A reader that waits for the next chunk. */
interface ChunkReader {
  readonly resolve: (step: IteratorResult<Uint8Array, undefined>) => void;
  readonly reject: (reason: RpcError) => void;
}

const COMPLETE = "complete";
/** Maximum collected bodies of a connection that have a larger window: with it they may exceed the limits of {@link Collecting}. */
const MAX_LARGE = 16;

/** The body that is received on a stream. Bytes that it holds are not consumed there; those passed on or dropped are. */
export class IncomingBody<Source extends Pick<Stream, "consumed"> = Stream>
  implements Body, ChunkSource, CollectedBody
{
  /** Bytes received so far. */
  received = 0;
  /** Index in the connection's list of collected bodies, and number by their start: older ones have smaller numbers. */
  index = 0;
  number = 0;
  readonly #stream: Source;
  readonly #collecting: Collecting;
  readonly #cancel: (stream: Source) => void;
  /** The share of the memory budget in which unread and kept bytes are counted, until {@link release}. */
  #memory: MemoryShare | undefined;
  /** Bytes that were read and belong to an incomplete message. */
  #kept = 0;
  readonly #chunks = new ChunkQueue();
  /** The end of the reception: complete, or the reason why nothing more is received. */
  #end: typeof COMPLETE | RpcError | undefined;
  #waiting: Waiting | undefined;
  #reader: ChunkReader | undefined;

  /**
   * `cancel` is called when the reader stops before the end. It resets the stream, or makes it discard what follows. With a
   * share of a memory budget, a body that does not fit into it fails as unavailable.
   */
  constructor(
    stream: Source,
    early: readonly Uint8Array[],
    collecting: Collecting,
    cancel: (stream: Source) => void,
    memory?: MemoryShare,
  ) {
    this.#stream = stream;
    this.#collecting = collecting;
    this.#cancel = cancel;
    this.#memory = memory;
    for (const chunk of early) this.push(chunk);
  }

  /** All bytes, if they were all received before any were read. */
  get whole(): Uint8Array | undefined {
    return this.#end === COMPLETE ? this.#take() : undefined;
  }

  /** Bytes that have been received and not read. */
  get unread(): number {
    return this.#chunks.byteLength;
  }

  /** True if a reader waits for the whole of the body. */
  get collecting(): boolean {
    return this.#waiting !== undefined;
  }

  /** True if the reader keeps bytes of an incomplete message. */
  get isKept(): boolean {
    return this.#kept > 0;
  }

  /** Takes a chunk that has been received. */
  push(bytes: Uint8Array): void {
    if (this.#end !== undefined) return;
    const { length } = bytes;
    this.received += length;
    if (this.#memory?.take(length) === false) {
      this.stop(outOfMemory());
      return;
    }
    this.#chunks.push(bytes, this.#memory?.budget.compact);
    if (this.#waiting !== undefined) this.#collect(this.#waiting, length);
    else if (this.#reader !== undefined) this.#resume(this.#reader);
  }

  /** Handles the end of the body by the peer. */
  end(): void {
    if (this.#end !== undefined) return;
    this.#end = COMPLETE;
    const waiting = this.#settle();
    if (waiting !== undefined) {
      if (this.#memory?.budget.short) this.#memory.admit(() => waiting.resolve(this.#take()), waiting.reject);
      else waiting.resolve(this.#take());
    }
    if (this.#reader !== undefined) this.#resume(this.#reader);
  }

  /** Handles the loss of the rest of the body. Received data can still be read. */
  fail(reason: RpcError): void {
    if (this.#end !== undefined) return;
    this.#end = reason;
    this.#settle()?.reject(reason);
    if (this.#reader !== undefined) this.#resume(this.#reader);
  }

  /** Stops reading before the end: fails pending and later reads, drops what has been received, and cancels the rest. */
  stop(reason: RpcError): void {
    if (this.#end !== undefined) return;
    this.fail(reason);
    this.drop();
    this.#cancel(this.#stream);
  }

  /** Drops the unread data of a body that has ended. */
  drop(): void {
    this.release();
    this.#chunks.clear();
    this.#kept = 0;
  }

  /** Releases the memory that unread data takes, when the exchange has ended. Unread data can still be read. */
  release(): void {
    this.#memory?.release(this.#chunks.byteLength + this.#kept);
    this.#memory = undefined;
  }

  bytes(limit: number, framing = 0, check?: BodyCheck): Promise<Uint8Array> {
    if (this.#end === COMPLETE) {
      const bytes = this.#take();
      const size = bytes.length - framing;
      return size > limit ? Promise.reject(tooLarge(limit, size)) : Promise.resolve(bytes);
    }
    if (this.#end !== undefined) return Promise.reject(this.#end);
    return new Promise((resolve, reject) => {
      const waiting = { limit, maxBytes: limit + framing, check, resolve, reject };
      this.#waiting = waiting;
      this.#collecting.begin(this);
      this.#collect(waiting, this.unread);
    });
  }

  /** Credits the bytes that were received while the limits of {@link Collecting} were exceeded. */
  credit(): void {
    const isLarge = this.unread >= STREAM_WINDOW_BYTES / 2 && this.index < MAX_LARGE;
    this.#stream.consumed(Number.POSITIVE_INFINITY, isLarge ? COLLECTED_WINDOW_BYTES : undefined);
  }

  #collect({ limit, maxBytes, check }: Waiting, bytes: number): void {
    this.#collecting.add(bytes);
    if (this.#collecting.mayCredit(this)) this.credit();
    const { unread } = this;
    try {
      if (unread > maxBytes) throw tooLarge(limit, `at least ${unread - maxBytes + limit}`);
      if (unread > 0) check?.(this.#chunks.peek(), unread, limit);
    } catch (reason) {
      this.stop(reason as RpcError);
    }
  }

  /** Ends the collection of the whole body, and returns the reader that waited for it. */
  #settle(): Waiting | undefined {
    const waiting = this.#waiting;
    if (waiting === undefined) return undefined;
    this.#waiting = undefined;
    this.#collecting.end(this);
    return waiting;
  }

  /** Returns the received bytes that have not been read. */
  #take(): Uint8Array {
    const bytes = this.#chunks.join();
    this.#stream.consumed(bytes.length);
    return bytes;
  }

  /** Answers the pending read, if its result is known. */
  #resume(reader: ChunkReader): void {
    const step = this.#step();
    if (step === undefined) return;
    this.#reader = undefined;
    if (step instanceof RpcError) reader.reject(step);
    else reader.resolve(step);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Returns the next chunk. It is not called again before that. */
  next(): Promise<IteratorResult<Uint8Array, undefined>> {
    return new Promise((resolve, reject) => {
      this.#reader = { resolve, reject };
      this.#resume(this.#reader);
    });
  }

  /** Counts the bytes that the reader keeps, see {@link ChunkSource.keep}. */
  keep(bytes: number): void {
    if (this.#memory === undefined) return;
    if (this.#memory.replace(this.#kept, bytes)) this.#kept = bytes;
    else this.stop(outOfMemory());
  }

  /** Handles a reader that leaves. */
  return(): Promise<IteratorResult<Uint8Array, undefined>> {
    this.#reader?.resolve(DONE);
    this.#reader = undefined;
    if (this.#end === undefined) this.stop(new RpcError(Code.Canceled, "the reader of the body has left"));
    else this.drop();
    return Promise.resolve(DONE);
  }

  /** Returns the next chunk, the end or the failure; `undefined` if it is not known yet. */
  #step(): IteratorResult<Uint8Array, undefined> | RpcError | undefined {
    const chunk = this.#chunks.shift();
    if (chunk === undefined) return this.#end === COMPLETE ? DONE : this.#end;
    this.#stream.consumed(chunk.length);
    this.#memory?.release(chunk.length);
    return { done: false, value: chunk };
  }
}
