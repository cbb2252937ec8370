/**
 * Bodies that come from a Node stream: the request of a server, the response of a client, over HTTP/1.1 and HTTP/2.
 */
import { Readable } from "node:stream";
import type { RpcError } from "../../call/error.ts";
import { type Body, type BodyCheck, concat, tooLarge } from "../../http/exchange.ts";

/** Chunks are taken from the stream until this many bytes wait to be read. */
const HIGH_WATER_BYTES = 64 * 1024;

export interface ReadableBodyOptions {
  /** Why the stream closed before it had ended. */
  readonly lost: () => RpcError;
  /** Called when the reader is not interested in the rest. */
  readonly cancel: () => void;
  /** Whether a stream that ended did so because it was cut off: Node ends streams that are reset as if all had come. */
  readonly cutOff: (stream: Readable) => boolean;
  /** Whether the engine waits for somebody to read the end of the stream. Default: false. */
  readonly readEnd?: boolean;
}

/** Who is told that a stream has closed: listeners cost, so the body shares the one it has. */
export interface StreamOwner {
  onClosed(): void;
}

/**
 * Where a stream has its body. All streams share the listeners below, which find it there: functions of its own for each
 * stream would be more memory than all else about it.
 */
const BODY = Symbol("body");
type Carrier = Readable & { [BODY]?: ReadableBody | undefined };

/** Somebody who waits for the whole of a body. */
interface Waiting {
  readonly limit: number;
  readonly maxBytes: number;
  readonly check: BodyCheck | undefined;
  readonly chunks: Uint8Array[];
  readonly resolve: (bytes: Uint8Array) => void;
  readonly reject: (reason: RpcError) => void;
}

/** A Node stream as a body. The stream's owner listens for its errors; here its closing tells enough. */
export class ReadableBody implements Body {
  readonly whole = undefined;
  /** Bytes that have come, of a body that is read as a whole. */
  received = 0;
  readonly #stream: Carrier;
  readonly #options: ReadableBodyOptions;
  readonly #owner: StreamOwner | undefined;
  #waiting: Waiting | undefined;
  #iterator: ChunkIterator | undefined;
  /** Why the rest will not be waited for. */
  #abandoned: RpcError | undefined;

  constructor(stream: Readable, options: ReadableBodyOptions, owner?: StreamOwner) {
    this.#stream = stream;
    this.#options = options;
    this.#owner = owner;
    this.#stream[BODY] = this;
    stream.on("close", closed);
  }

  get readsEnd(): boolean {
    return this.#options.readEnd ?? false;
  }

  /** Whether somebody waits for the whole of the body. */
  get collecting(): boolean {
    return this.#waiting !== undefined;
  }

  /** Fails {@link bytes} with that reason, if somebody waits for them. */
  failBytes(reason: RpcError): void {
    const waiting = this.#waiting;
    if (waiting === undefined) return;
    this.#waiting = undefined;
    // What follows flows on into nothing, so that the connection can be used again.
    this.#stream.resume();
    this.#options.cancel();
    waiting.reject(reason);
  }

  /** Fails whoever waits for more of the body, be it now or later, whole or in chunks: there is no time left for it. */
  abandon(reason: RpcError): void {
    this.#abandoned = reason;
    this.failBytes(reason);
    this.#iterator?.abandon(reason);
  }

  bytes(limit: number, framing = 0, check?: BodyCheck): Promise<Uint8Array> {
    return new Promise((resolve, reject) => {
      const stream = this.#stream;
      this.#waiting = { limit, maxBytes: limit + framing, check, chunks: [], resolve, reject };
      const early: Uint8Array | null = stream.read();
      if (early !== null) this.onChunk(early);
      // Engines of Node push what arrives. Taking it from them at once saves the stream's own buffer and its events, which
      // cost more than all that is done with the bytes.
      stream.push = push;
      if (stream.readableEnded) this.onEnd();
      else if (mayHaveEnded(stream)) stream.on("end", ended);
      if (stream.destroyed) this.#lose();
      if (this.#abandoned !== undefined) this.failBytes(this.#abandoned);
    });
  }

  /** Takes a chunk that has arrived, if somebody waits for all of them. */
  onChunk(chunk: Uint8Array): boolean {
    const waiting = this.#waiting;
    if (waiting === undefined) return false;
    this.received += chunk.byteLength;
    waiting.chunks.push(chunk);
    if (this.received > waiting.maxBytes) this.failBytes(tooLarge(waiting.limit));
    else this.#check(waiting);
    return true;
  }

  #check({ limit, chunks, check }: Waiting): void {
    try {
      check?.(chunks, this.received, limit);
    } catch (reason) {
      this.failBytes(reason as RpcError);
    }
  }

  /** The stream has ended. */
  onEnd(): void {
    const waiting = this.#waiting;
    if (waiting === undefined || this.#options.cutOff(this.#stream)) return;
    this.#waiting = undefined;
    waiting.resolve(concat(waiting.chunks, this.received));
  }

  /** The stream has closed. */
  onClose(): void {
    this.#owner?.onClosed();
    this.#lose();
  }

  #lose(): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.reject(this.#options.lost());
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    this.#iterator = new ChunkIterator(this.#stream, this.#options);
    if (this.#abandoned !== undefined) this.#iterator.abandon(this.#abandoned);
    return this.#iterator;
  }
}

function closed(this: Carrier): void {
  const body = this[BODY];
  // Node 20 keeps streams until memory is collected in full. What they lead to would be copied over and over until then.
  this[BODY] = undefined;
  body?.onClose();
}

function ended(this: Carrier): void {
  this[BODY]?.onEnd();
}

/** In place of a stream's own, once all of it is waited for. */
function push(this: Carrier, chunk: Uint8Array | null): boolean {
  const body = this[BODY];
  if (chunk === null) body?.onEnd();
  // Whoever waits for all wants more.
  else if (body?.onChunk(chunk)) return true;
  const more = Readable.prototype.push.call(this, chunk);
  if (chunk === null && body?.readsEnd) this.read(0);
  return more;
}

/**
 * Whether the end of a stream may have been pushed already, though nobody has been told of it yet. Node knows, but says so
 * in no public way; where it does not, the event will tell. Listening always would cost: Node does too, and two listeners
 * are twice as much as one.
 */
function mayHaveEnded(stream: Readable & { _readableState?: { ended?: boolean } }): boolean {
  return stream._readableState?.ended !== false;
}

/** Hands out the chunks of a stream one by one, and stops the stream while nobody takes them. */
class ChunkIterator implements AsyncIterator<Uint8Array> {
  readonly #stream: Readable;
  readonly #options: ReadableBodyOptions;
  readonly #chunks: Uint8Array[] = [];
  #waitingBytes = 0;
  #ended: boolean;
  #failure: RpcError | undefined;
  #wake: (() => void) | undefined;

  constructor(stream: Readable, options: ReadableBodyOptions) {
    this.#stream = stream;
    this.#options = options;
    this.#ended = stream.readableEnded && !options.cutOff(stream);
    if (!this.#ended && stream.destroyed) this.#failure = options.lost();
    stream.on("data", (chunk: Uint8Array) => {
      this.#chunks.push(chunk);
      this.#waitingBytes += chunk.byteLength;
      if (this.#waitingBytes > HIGH_WATER_BYTES) stream.pause();
      this.#wake?.();
    });
    stream.once("end", () => {
      if (options.cutOff(stream)) return;
      this.#ended = true;
      this.#wake?.();
    });
    stream.once("close", () => {
      if (!this.#ended) this.#failure ??= options.lost();
      this.#wake?.();
    });
  }

  /** Hands out what has come, and then fails. */
  abandon(reason: RpcError): void {
    this.#failure ??= reason;
    this.#wake?.();
  }

  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    for (;;) {
      const chunk = this.#chunks.shift();
      if (chunk !== undefined) {
        this.#waitingBytes -= chunk.byteLength;
        if (this.#waitingBytes <= HIGH_WATER_BYTES && this.#stream.isPaused()) this.#stream.resume();
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
      this.#chunks.length = 0;
      this.#stream.removeAllListeners("data").resume();
      this.#options.cancel();
      this.#wake?.();
    }
    return { done: true, value: undefined };
  }
}
