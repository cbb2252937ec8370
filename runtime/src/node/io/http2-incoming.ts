/**
 * Bodies over HTTP/2, received on a stream with flow control (RFC 9113, section 5.2).
 */
import type { RpcError } from "../../call/error.ts";
import { DONE } from "../../call/message-stream.ts";
import { type Body, type BodyCheck, type ChunkSource, tooLarge } from "../../http/body.ts";
import type { Stream } from "../../http2/stream.ts";
import { ChunkQueue } from "./chunk-queue.ts";
import type { CollectedBody, Collecting } from "./http2-collecting.ts";
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

/** The body that is received on a stream. */
export class IncomingBody implements Body, CollectedBody {
  /** Bytes received so far. */
  received = 0;
  /**
   * Index in the list of the connection's collected bodies, and number in the order of their start: older ones have
   * smaller numbers.
   */
  index = 0;
  number = 0;
  readonly #stream: Stream;
  readonly #collecting: Collecting;
  readonly #cancel: () => void;
  #memory: MemoryShare | undefined;
  /** Bytes taken from the memory budget and not released. */
  #taken = 0;
  /** Those of them that were read and belong to an incomplete message. */
  #kept = 0;
  readonly #chunks = new ChunkQueue();
  #isEnded = false;
  #failure: RpcError | undefined;
  /** True if received bytes are dropped. `#discardable` of them are still credited. */
  #isIgnored = false;
  #discardable = Number.POSITIVE_INFINITY;
  #waiting: Waiting | undefined;
  #uncredited = 0;
  /** Bytes that are counted by {@link Collecting}. */
  #collected = 0;
  #reader: ChunkReader | undefined;

  /**
   * `cancel` is called when the reader leaves before the end. With a share of a memory budget, a body that does not fit
   * into it fails as unavailable.
   */
  constructor(
    stream: Stream,
    early: readonly Uint8Array[],
    collecting: Collecting,
    cancel: () => void,
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
    if (!this.#isEnded || this.#waiting !== undefined) return undefined;
    return this.#take();
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
    const { byteLength } = bytes;
    this.received += byteLength;
    if (this.#isIgnored) {
      this.#creditIgnored(byteLength);
      return;
    }
    if (this.#memory !== undefined) {
      if (!this.#memory.take(byteLength)) {
        this.#refuse();
        return;
      }
      this.#taken += byteLength;
    }
    this.#chunks.push(bytes, this.#memory?.compact);
    if (this.#waiting !== undefined) this.#collect(this.#waiting, byteLength);
    else this.#resume();
  }

  /** Handles the end of the body by the peer. */
  end(): void {
    this.#isEnded = true;
    const waiting = this.#settle();
    if (waiting !== undefined) {
      if (this.#memory?.short) this.#memory.admit(() => waiting.resolve(this.#take()), waiting.reject);
      else waiting.resolve(this.#take());
    }
    this.#resume();
  }

  /** Fails the body: the rest will not be received. */
  fail(reason: RpcError): void {
    if (this.#isEnded) return;
    this.#failure ??= reason;
    this.#settle()?.reject(this.#failure);
    this.#resume();
  }

  /** Fails the body like {@link fail}, and drops the bytes that have been received. */
  drop(reason: RpcError): void {
    if (this.#isEnded) return;
    this.#ignore();
    this.fail(reason);
  }

  /** Fails a pending {@link bytes} with that reason, and ignores the rest. */
  failBytes(reason: RpcError): void {
    const waiting = this.#settle();
    if (waiting === undefined) return;
    this.#ignore();
    this.#cancel();
    waiting.reject(reason);
  }

  /** Fails pending and later reads, because the time for them is over. */
  abandon(reason: RpcError): void {
    this.failBytes(reason);
    this.fail(reason);
  }

  /**
   * Drops received and later bytes, and credits at most `bytes` of the later ones: after that, flow control stops the
   * peer.
   */
  discard(bytes: number, reason: RpcError): void {
    this.drop(reason);
    this.#discardable = bytes;
  }

  /**
   * Releases the memory of received data when the exchange has ended, and returns what an ended body still takes from the
   * window of the connection. Unread data can still be read.
   */
  release(): void {
    if (this.#isEnded) this.#stream.consumed(Number.POSITIVE_INFINITY);
    if (this.#taken > 0) this.#memory?.release(this.#taken);
    this.#taken = 0;
    this.#kept = 0;
    this.#memory = undefined;
  }

  bytes(limit: number, framing = 0, check?: BodyCheck): Promise<Uint8Array> {
    if (this.#isEnded) {
      const bytes = this.#take();
      const size = bytes.byteLength - framing;
      return size > limit ? Promise.reject(tooLarge(limit, size)) : Promise.resolve(bytes);
    }
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    return new Promise((resolve, reject) => {
      const waiting = { limit, maxBytes: limit + framing, check, resolve, reject };
      this.#waiting = waiting;
      this.#collecting.begin(this);
      this.#collect(waiting, this.received);
    });
  }

  /** Credits the bytes that were received while the limits of {@link Collecting} were exceeded. */
  credit(): void {
    this.#stream.consumed(this.#uncredited);
    this.#uncredited = 0;
  }

  #collect(waiting: Waiting, bytes: number): void {
    this.#collecting.add(bytes);
    this.#collected += bytes;
    this.#uncredited += bytes;
    if (this.#collecting.mayCredit(this)) this.credit();
    else this.#stream.store(bytes);
    if (this.received > waiting.maxBytes) {
      const size = this.received - (waiting.maxBytes - waiting.limit);
      this.failBytes(tooLarge(waiting.limit, `at least ${size}`));
      return;
    }
    try {
      if (this.received > 0) waiting.check?.(this.#chunks.peek(), this.received, waiting.limit);
    } catch (reason) {
      this.failBytes(reason as RpcError);
    }
  }

  /** Ends the collection of the whole body, and returns the reader that waited for it. */
  #settle(): Waiting | undefined {
    const waiting = this.#waiting;
    if (waiting === undefined) return undefined;
    this.#waiting = undefined;
    this.#collecting.end(this, this.#collected);
    this.#collected = 0;
    return waiting;
  }

  /** Fails the body, because a chunk does not fit into the memory budget. */
  #refuse(): void {
    const reason = outOfMemory();
    this.failBytes(reason);
    this.drop(reason);
  }

  /** Returns the received bytes that have not been read. */
  #take(): Uint8Array {
    const bytes = this.#chunks.join();
    this.#stream.consumed(bytes.byteLength);
    return bytes;
  }

  #ignore(): void {
    this.#isIgnored = true;
    this.#chunks.clear();
    this.#stream.consumed(this.received);
    this.release();
  }

  #creditIgnored(bytes: number): void {
    if (this.#discardable <= 0) return;
    this.#discardable -= bytes;
    this.#stream.consumed(bytes);
  }

  /** Answers the pending read, if there is one and its result is known. */
  #resume(): void {
    const reader = this.#reader;
    if (reader === undefined) return;
    const step = this.#step();
    if (step === undefined && this.#failure === undefined) return;
    this.#reader = undefined;
    if (step !== undefined) reader.resolve(step);
    else reader.reject(this.#failure as RpcError);
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array, undefined> {
    return new Chunks(this);
  }

  /** Returns the next chunk. It is not called again before that. */
  next(): Promise<IteratorResult<Uint8Array, undefined>> {
    const step = this.#step();
    if (step !== undefined) return Promise.resolve(step);
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    return new Promise((resolve, reject) => {
      this.#reader = { resolve, reject };
    });
  }

  /** Counts the bytes that the reader keeps, see {@link ChunkSource.keep}. */
  keep(bytes: number): void {
    if (this.#memory === undefined) return;
    if (!this.#memory.replace(this.#kept, bytes)) {
      this.#refuse();
      return;
    }
    this.#taken += bytes - this.#kept;
    this.#kept = bytes;
  }

  /** Handles a reader that leaves. */
  leave(): void {
    if (!this.#isEnded && this.#failure === undefined && !this.#isIgnored) this.#cancel();
    this.#ignore();
    this.#isEnded = true;
    this.#resume();
  }

  #step(): IteratorResult<Uint8Array, undefined> | undefined {
    const chunk = this.#chunks.shift();
    if (chunk === undefined) return this.#isEnded ? DONE : undefined;
    this.#stream.consumed(chunk.byteLength);
    this.#releaseRead(chunk.byteLength);
    return { done: false, value: chunk };
  }

  #releaseRead(bytes: number): void {
    if (this.#memory === undefined) return;
    this.#taken -= bytes;
    this.#memory.release(bytes);
  }
}

/** An iteration of a body. */
class Chunks implements ChunkSource {
  readonly #body: IncomingBody;

  constructor(body: IncomingBody) {
    this.#body = body;
  }

  next(): Promise<IteratorResult<Uint8Array, undefined>> {
    return this.#body.next();
  }

  keep(bytes: number): void {
    this.#body.keep(bytes);
  }

  return(): Promise<IteratorResult<Uint8Array, undefined>> {
    this.#body.leave();
    return Promise.resolve(DONE);
  }
}
