/**
 * Bodies read from a Node stream: requests on a server and responses on a client, over HTTP/1.1 and HTTP/2.
 */
import { Readable } from "node:stream";
import type { RpcError } from "../../call/error.ts";
import { type Body, type BodyCheck, type ChunkSource, tooLarge } from "../../http/body.ts";
import { ChunkQueue } from "./chunk-queue.ts";
import { type MemoryShare, outOfMemory } from "./memory-budget.ts";

/**
 * Largest body, in bytes, that is passed to `node:http` as text with one character per byte: Node then joins it with the
 * headers and writes once instead of twice.
 */
export const MAX_JOINED_BYTES: number = 16 * 1024;

/** Backpressure: the stream is paused while more than this many bytes wait to be read. */
const MAX_UNREAD_BYTES = 64 * 1024;

export interface ReadableBodyOptions {
  /** Returns the error of a stream that closed before it had ended. */
  readonly lost: () => RpcError;
  /** Called when the reader does not read the rest. */
  readonly cancel: () => void;
  /** Reports whether an ended stream was truncated: Node ends streams that are reset as if all data had arrived. */
  readonly cutOff: (stream: Readable) => boolean;
  /** True if the engine waits until the end of the stream is read. Default: false. */
  readonly readEnd?: boolean;
}

/**
 * The property of a stream that holds its body. All streams share the listeners below, which find the body through this
 * property: closures for each stream would take more memory than the rest of its state.
 */
const BODY = Symbol("body");
type Carrier = Readable & { [BODY]?: ReadableBody | undefined };

/** A reader that waits for the whole of a body. */
interface Waiting {
  readonly limit: number;
  readonly maxBytes: number;
  readonly check: BodyCheck | undefined;
  readonly chunks: ChunkQueue;
  readonly resolve: (bytes: Uint8Array) => void;
  readonly reject: (reason: RpcError) => void;
}

/** A Node stream as a body. The stream's owner listens for its errors; the body needs only its closing. */
export class ReadableBody implements Body {
  readonly whole = undefined;
  /** Bytes received so far, of a body that is read as a whole. */
  received = 0;
  /** True if the end has been received, of a body that is read as a whole. */
  ended = false;
  /** Bytes taken from the memory budget and not released. */
  #taken = 0;
  readonly #stream: Carrier;
  readonly #options: ReadableBodyOptions;
  readonly #memory: MemoryShare | undefined;
  #waiting: Waiting | undefined;
  #iterator: ChunkIterator | undefined;
  /** The error with which every further read fails. */
  #abandoned: RpcError | undefined;

  /** With a share of a memory budget, a body that does not fit into it fails as unavailable. */
  constructor(stream: Readable, options: ReadableBodyOptions, memory?: MemoryShare) {
    this.#stream = stream;
    this.#options = options;
    this.#memory = memory;
    this.#stream[BODY] = this;
    stream.on("close", closed);
  }

  get readsEnd(): boolean {
    return this.#options.readEnd ?? false;
  }

  /** True if a reader waits for the whole of the body. */
  get collecting(): boolean {
    return this.#waiting !== undefined;
  }

  /** Fails a pending {@link bytes} with that reason. */
  failBytes(reason: RpcError): void {
    const waiting = this.#waiting;
    if (waiting === undefined) return;
    this.#waiting = undefined;
    this.release();
    // Reads and drops the rest, so that the connection can be used again.
    this.#stream.resume();
    this.#options.cancel();
    waiting.reject(reason);
  }

  /** Fails a reader that waits for the rest of a body or of a message, to free the memory of what has been received. */
  reclaim(reason: RpcError): void {
    this.failBytes(reason);
    this.#iterator?.dropKept(reason);
  }

  /** Fails pending and later reads, both of the whole body and of chunks, because the time for them is over. */
  abandon(reason: RpcError): void {
    this.#abandoned = reason;
    this.failBytes(reason);
    this.#iterator?.abandon(reason);
  }

  bytes(limit: number, framing = 0, check?: BodyCheck): Promise<Uint8Array> {
    return new Promise((resolve, reject) => {
      const stream = this.#stream;
      this.#waiting = { limit, maxBytes: limit + framing, check, chunks: new ChunkQueue(), resolve, reject };
      const early: Uint8Array | null = stream.read();
      if (early !== null) this.onChunk(early);
      // Node's HTTP engines push received chunks. Taking chunks at once avoids the stream's own buffer and events, which
      // cost more than the rest of the processing.
      stream.push = push;
      if (stream.readableEnded) this.onEnd();
      else if (mayHaveEnded(stream)) stream.on("end", ended);
      if (stream.destroyed) this.#lose();
      if (this.#abandoned !== undefined) this.failBytes(this.#abandoned);
    });
  }

  /** Takes a chunk that has arrived, if a reader waits for the whole body. Returns whether it did. */
  onChunk(chunk: Uint8Array): boolean {
    const waiting = this.#waiting;
    if (waiting === undefined) return false;
    this.received += chunk.byteLength;
    waiting.chunks.push(chunk, this.#memory?.compact);
    if (this.received > waiting.maxBytes) this.failBytes(this.#tooLarge(waiting));
    else if (this.#take(chunk.byteLength)) this.#check(waiting);
    else this.failBytes(outOfMemory());
    return true;
  }

  #tooLarge({ limit, maxBytes }: Waiting): RpcError {
    const size = this.received - (maxBytes - limit);
    return tooLarge(limit, `at least ${size}`);
  }

  #take(bytes: number): boolean {
    if (this.#memory === undefined) return true;
    if (!this.#memory.take(bytes)) return false;
    this.#taken += bytes;
    return true;
  }

  /** Releases the memory of received data. The engine calls it when the exchange has ended. */
  release(): void {
    this.#iterator?.release();
    if (this.#taken === 0) return;
    this.#memory?.release(this.#taken);
    this.#taken = 0;
  }

  #check({ limit, chunks, check }: Waiting): void {
    try {
      check?.(chunks.peek(), this.received, limit);
    } catch (reason) {
      this.failBytes(reason as RpcError);
    }
  }

  /** Handles the end of the stream. */
  onEnd(): void {
    this.ended = true;
    const waiting = this.#waiting;
    if (waiting === undefined || this.#options.cutOff(this.#stream)) return;
    this.#waiting = undefined;
    if (this.#memory?.short) this.#memory.admit(() => this.#resolve(waiting), waiting.reject);
    else this.#resolve(waiting);
  }

  #resolve({ chunks, resolve }: Waiting): void {
    resolve(chunks.join());
  }

  /** Handles the close of the stream. */
  onClose(): void {
    this.#lose();
  }

  #lose(): void {
    const waiting = this.#waiting;
    if (waiting === undefined) return;
    this.#waiting = undefined;
    this.release();
    waiting.reject(this.#options.lost());
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    this.#iterator = new ChunkIterator(this.#stream, this.#options, this.#memory);
    if (this.#abandoned !== undefined) this.#iterator.abandon(this.#abandoned);
    return this.#iterator;
  }
}

function closed(this: Carrier): void {
  const body = this[BODY];
  // Node 20 keeps streams reachable until a major collection. Until then minor collections would copy the objects that
  // they refer to.
  this[BODY] = undefined;
  body?.onClose();
}

function ended(this: Carrier): void {
  this[BODY]?.onEnd();
}

/** Replaces the method of a stream while its whole body is being collected. */
function push(this: Carrier, chunk: Uint8Array | null): boolean {
  const body = this[BODY];
  if (chunk === null) body?.onEnd();
  // A reader of the whole body applies no backpressure.
  else if (body?.onChunk(chunk)) return true;
  const more = Readable.prototype.push.call(this, chunk);
  if (chunk === null && body?.readsEnd) this.read(0);
  return more;
}

/**
 * Reports whether the end of a stream may already have been pushed while its event is pending. Node has no public
 * property for that; without the private one, only the event shows it. Always listening would cost: a second listener
 * makes Node allocate a list.
 */
function mayHaveEnded(stream: Readable & { _readableState?: { ended?: boolean } }): boolean {
  return stream._readableState?.ended !== false;
}

/** Yields the chunks of a stream, and pauses the stream while they are not read (backpressure). */
class ChunkIterator implements ChunkSource {
  readonly #stream: Readable;
  readonly #options: ReadableBodyOptions;
  #memory: MemoryShare | undefined;
  readonly #chunks = new ChunkQueue();
  #waitingBytes = 0;
  /** Bytes that were read and belong to an incomplete message. */
  #kept = 0;
  #ended: boolean;
  #failure: RpcError | undefined;
  #wake: (() => void) | undefined;

  constructor(stream: Readable, options: ReadableBodyOptions, memory: MemoryShare | undefined) {
    this.#stream = stream;
    this.#options = options;
    this.#memory = memory;
    this.#ended = stream.readableEnded && !options.cutOff(stream);
    if (!this.#ended && stream.destroyed) this.#failure = options.lost();
    stream.on("data", (chunk: Uint8Array) => {
      if (this.#memory?.take(chunk.byteLength) === false) return this.#drop(outOfMemory());
      this.#chunks.push(chunk, this.#memory?.compact);
      this.#waitingBytes += chunk.byteLength;
      if (this.#waitingBytes > MAX_UNREAD_BYTES) stream.pause();
      this.#wake?.();
    });
    stream.once("end", () => {
      if (options.cutOff(stream) || this.#failure !== undefined) return;
      this.#ended = true;
      this.#wake?.();
    });
    stream.once("close", () => {
      if (!this.#ended) this.#failure ??= options.lost();
      this.#wake?.();
    });
  }

  /** Releases the memory of chunks that wait to be read. They can still be read, but no longer count against the budget. */
  release(): void {
    this.#memory?.release(this.#waitingBytes + this.#kept);
    this.#kept = 0;
    this.#memory = undefined;
  }

  /** Counts the bytes that the reader keeps, see {@link ChunkSource.keep}. */
  keep(bytes: number): void {
    if (this.#memory === undefined) return;
    if (this.#memory.replace(this.#kept, bytes)) this.#kept = bytes;
    else this.#drop(outOfMemory());
  }

  /** Fails, if the reader keeps bytes of an incomplete message. */
  dropKept(reason: RpcError): void {
    if (this.#kept > 0) this.#drop(reason);
  }

  /** Lets the reader read the received chunks, and then fails. */
  abandon(reason: RpcError): void {
    this.#failure ??= reason;
    this.#wake?.();
  }

  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    for (;;) {
      const chunk = this.#chunks.shift();
      if (chunk !== undefined) {
        this.#waitingBytes -= chunk.byteLength;
        this.#memory?.release(chunk.byteLength);
        if (this.#waitingBytes <= MAX_UNREAD_BYTES && this.#stream.isPaused()) this.#stream.resume();
        return { done: false, value: chunk };
      }
      if (this.#ended) return { done: true, value: undefined };
      if (this.#failure !== undefined) throw this.#failure;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  async return(): Promise<IteratorResult<Uint8Array, undefined>> {
    if (!this.#ended) {
      this.#ended = true;
      this.#drop();
      this.#options.cancel();
    }
    return { done: true, value: undefined };
  }

  /** Drops waiting and future chunks. Further reads fail with the given error. */
  #drop(failure?: RpcError): void {
    this.#failure ??= failure;
    this.#memory?.release(this.#waitingBytes + this.#kept);
    this.#kept = 0;
    this.#chunks.clear();
    this.#waitingBytes = 0;
    this.#stream.removeAllListeners("data").resume();
    this.#wake?.();
  }
}
