/**
 * Bodies over HTTP/2: what is received on a stream, and what is sent on one, with flow control (RFC 9113, section 5.2).
 */
import type { RpcError } from "../../call/error.ts";
import { type Body, type BodyCheck, tooLarge } from "../../http/body.ts";
import type { Stream } from "../../http2/stream.ts";
import { ChunkQueue } from "./chunk-queue.ts";
import { type MemoryShare, outOfMemory } from "./memory-budget.ts";
import { type Indexed, SwapList } from "./swap-list.ts";

/** Bytes of whole messages that are being collected: of one connection, and of the process. */
const CONNECTION_BYTES = 64 * 1024 * 1024;
const PROCESS_BYTES = 512 * 1024 * 1024;
let processBytes = 0;

/**
 * Bytes of the bodies of a connection that are collected. They are larger than windows, and so are credited as they arrive.
 * Beyond the limits only the oldest body is: it can end, and then the next one can.
 */
export class Collecting {
  #bytes = 0;
  readonly #bodies = new SwapList<IncomingBody>();
  /** The number of the next body: the oldest one has the smallest. */
  #nextNumber = 1;

  /** A body begins to be collected. */
  begin(body: IncomingBody): void {
    body.number = this.#nextNumber++;
    this.#bodies.add(body);
  }

  add(bytes: number): void {
    this.#bytes += bytes;
    processBytes += bytes;
  }

  mayCredit(body: IncomingBody): boolean {
    return !this.#isFull || this.#isOldest(body);
  }

  end(body: IncomingBody, bytes: number): void {
    const wasFull = this.#isFull;
    this.#bodies.delete(body);
    this.#bytes -= bytes;
    processBytes -= bytes;
    if (!wasFull) return;
    for (const other of this.#bodies) if (this.mayCredit(other)) other.credit();
  }

  get #isFull(): boolean {
    return this.#bytes > CONNECTION_BYTES || processBytes > PROCESS_BYTES;
  }

  #isOldest({ number }: IncomingBody): boolean {
    for (const other of this.#bodies) if (other.number < number) return false;
    return true;
  }
}

/** A reader that waits for the whole of a body. */
interface Waiting {
  readonly limit: number;
  readonly maxBytes: number;
  readonly check: BodyCheck | undefined;
  readonly resolve: (bytes: Uint8Array) => void;
  readonly reject: (reason: RpcError) => void;
}

/** The body that is received on a stream. */
export class IncomingBody implements Body, Indexed {
  /** Bytes received so far. */
  received = 0;
  /** Its place among the bodies of the connection that are collected, and its age among them: older ones have smaller numbers. */
  index = 0;
  number = 0;
  readonly #stream: Stream;
  readonly #collecting: Collecting;
  readonly #cancel: () => void;
  #memory: MemoryShare | undefined;
  /** Bytes taken from the memory budget and not released. */
  #taken = 0;
  readonly #chunks = new ChunkQueue();
  #isEnded = false;
  #failure: RpcError | undefined;
  /** Received bytes are dropped, and so many of them yet credited. */
  #isIgnored = false;
  #discardable = Number.POSITIVE_INFINITY;
  #waiting: Waiting | undefined;
  #uncredited = 0;
  #wake: (() => void) | undefined;

  /**
   * `cancel` is called when the reader leaves before the end. With a share of a memory budget, a body that does not fit into it
   * fails as unavailable.
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

  /** All bytes, if all have been received before any were read. */
  get whole(): Uint8Array | undefined {
    if (!this.#isEnded || this.#waiting !== undefined) return undefined;
    return this.#take();
  }

  /** True if a reader waits for the whole of the body. */
  get collecting(): boolean {
    return this.#waiting !== undefined;
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
    this.#chunks.push(bytes);
    if (this.#waiting !== undefined) this.#collect(this.#waiting, byteLength);
    else this.#resume();
  }

  /** The peer has ended the body. */
  end(): void {
    this.#isEnded = true;
    const waiting = this.#settle();
    if (waiting !== undefined) {
      if (this.#memory?.short) this.#memory.admit(() => waiting.resolve(this.#take()), waiting.reject);
      else waiting.resolve(this.#take());
    }
    this.#resume();
  }

  /** The rest will not be received. */
  fail(reason: RpcError): void {
    if (this.#isEnded) return;
    this.#failure ??= reason;
    this.#settle()?.reject(this.#failure);
    this.#resume();
  }

  /** The same, and what has been received is dropped. */
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

  /** Fails pending and later reads: there is no time left for them. */
  abandon(reason: RpcError): void {
    this.failBytes(reason);
    this.fail(reason);
  }

  /** Drops what has been received and what follows, and credits no more than so many bytes of it: then flow control stops the peer. */
  discard(bytes: number, reason: RpcError): void {
    this.drop(reason);
    this.#discardable = bytes;
  }

  /** Releases the memory of what was received: the exchange has ended. What has not been read yet still can be. */
  release(): void {
    if (this.#taken > 0) this.#memory?.release(this.#taken);
    this.#taken = 0;
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

  /** Credits what was received while the connection held too much. */
  credit(): void {
    this.#stream.consumed(this.#uncredited);
    this.#uncredited = 0;
  }

  #collect(waiting: Waiting, bytes: number): void {
    this.#collecting.add(bytes);
    this.#uncredited += bytes;
    if (this.#collecting.mayCredit(this)) this.credit();
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

  /** No reader waits for the whole any more. */
  #settle(): Waiting | undefined {
    const waiting = this.#waiting;
    if (waiting === undefined) return undefined;
    this.#waiting = undefined;
    this.#collecting.end(this, this.received);
    return waiting;
  }

  /** A chunk that has just been received does not fit into the memory budget. */
  #refuse(): void {
    const reason = outOfMemory();
    this.failBytes(reason);
    this.drop(reason);
  }

  /** Returns the bytes that were received and not read. */
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

  #resume(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    return {
      next: () => this.#next(),
      return: () => {
        if (!this.#isEnded && this.#failure === undefined && !this.#isIgnored) this.#cancel();
        this.#ignore();
        this.#isEnded = true;
        this.#resume();
        return Promise.resolve({ done: true, value: undefined });
      },
    };
  }

  async #next(): Promise<IteratorResult<Uint8Array, undefined>> {
    for (;;) {
      const chunk = this.#chunks.shift();
      if (chunk !== undefined) {
        this.#stream.consumed(chunk.byteLength);
        this.#releaseRead(chunk.byteLength);
        return { done: false, value: chunk };
      }
      if (this.#isEnded) return { done: true, value: undefined };
      if (this.#failure !== undefined) throw this.#failure;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  #releaseRead(bytes: number): void {
    if (this.#memory === undefined) return;
    this.#taken -= bytes;
    this.#memory.release(bytes);
  }
}

/** Sends a body in chunks, with backpressure. */
export class OutgoingBody {
  readonly #stream: Stream;
  readonly #iterator: AsyncIterator<Uint8Array>;
  readonly #mayWait: () => boolean;
  #wake: (() => void) | undefined;

  /** `mayWait` is called when the stream takes no more: whether there is memory for what is queued. Default: there is. */
  constructor(body: Body, stream: Stream, mayWait: () => boolean = yes) {
    this.#stream = stream;
    this.#iterator = body[Symbol.asyncIterator]();
    this.#mayWait = mayWait;
  }

  /** The stream takes more, or is closed. */
  onDrain(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }

  /** The stream is closed: cancels the body. */
  onClosed(): void {
    this.onDrain();
    this.#iterator.return?.()?.catch(() => {});
  }

  /**
   * Sends all of it but the end. Returns whether the stream is still open. Rejects with what the body throws, or with an
   * `RpcError` if there is no memory for what the peer does not read.
   */
  async send(): Promise<boolean> {
    const stream = this.#stream;
    while (!stream.closed) {
      const { done, value } = await this.#iterator.next();
      if (done) return !stream.closed;
      if (stream.sendData(value, false)) continue;
      if (!this.#mayWait()) {
        this.#iterator.return?.()?.catch(() => {});
        throw outOfMemory();
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    // Waits for the cleanup of the body, which may take a while.
    await this.#iterator.return?.()?.catch(() => {});
    return false;
  }
}

const yes = (): boolean => true;
