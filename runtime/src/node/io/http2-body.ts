/**
 * Bodies over HTTP/2: what comes in on a stream, and what goes out on one.
 */
import type { RpcError } from "../../call/error.ts";
import { type Body, type BodyCheck, concat, tooLarge } from "../../http/body.ts";
import type { Stream } from "../../http2/stream.ts";

/** Whole messages that are being collected on one connection, and in the process, take up no more than this. */
const CONNECTION_BYTES = 64 * 1024 * 1024;
const PROCESS_BYTES = 512 * 1024 * 1024;
let processBytes = 0;

/**
 * What the bodies of a connection that are collected have in memory. They are larger than windows, and so have to be credited
 * as they come. Beyond the limits only the oldest one is: it can end, and then the next one can.
 */
export class Collecting {
  #bytes = 0;
  readonly #bodies = new Set<IncomingBody>();

  add(body: IncomingBody, bytes: number): void {
    this.#bodies.add(body);
    this.#bytes += bytes;
    processBytes += bytes;
  }

  mayCredit(body: IncomingBody): boolean {
    if (this.#bytes <= CONNECTION_BYTES && processBytes <= PROCESS_BYTES) return true;
    return this.#bodies.values().next().value === body;
  }

  delete(body: IncomingBody, bytes: number): void {
    if (!this.#bodies.delete(body)) return;
    this.#bytes -= bytes;
    processBytes -= bytes;
    for (const other of this.#bodies) if (this.mayCredit(other)) other.credit();
  }
}

/** Somebody who waits for the whole of a body. */
interface Waiting {
  readonly limit: number;
  readonly maxBytes: number;
  readonly check: BodyCheck | undefined;
  readonly resolve: (bytes: Uint8Array) => void;
  readonly reject: (reason: RpcError) => void;
}

/** The body that comes in on a stream. */
export class IncomingBody implements Body {
  /** Bytes that have come. */
  received = 0;
  readonly #stream: Stream;
  readonly #collecting: Collecting;
  readonly #cancel: () => void;
  #chunks: Uint8Array[];
  #isEnded = false;
  #failure: RpcError | undefined;
  /** Nobody reads what comes. */
  #isIgnored = false;
  #waiting: Waiting | undefined;
  #uncredited = 0;
  #wake: (() => void) | undefined;

  /** `cancel` is called when the reader leaves before the end. */
  constructor(stream: Stream, early: readonly Uint8Array[], collecting: Collecting, cancel: () => void) {
    this.#stream = stream;
    this.#collecting = collecting;
    this.#cancel = cancel;
    this.#chunks = [];
    for (const chunk of early) this.push(chunk);
  }

  /** All bytes, where all have come before anybody has read any. */
  get whole(): Uint8Array | undefined {
    if (!this.#isEnded || this.#waiting !== undefined) return undefined;
    return this.#take();
  }

  /** Whether somebody waits for the whole of the body. */
  get collecting(): boolean {
    return this.#waiting !== undefined;
  }

  /** A chunk has come. */
  push(bytes: Uint8Array): void {
    this.received += bytes.byteLength;
    if (this.#isIgnored) {
      this.#stream.consumed(bytes.byteLength);
      return;
    }
    // A few bytes must not keep a large chunk in memory.
    const isSmall = bytes.byteLength * 4 < bytes.buffer.byteLength;
    this.#chunks.push(isSmall ? bytes.slice() : bytes);
    if (this.#waiting !== undefined) this.#collect(this.#waiting, bytes.byteLength);
    else this.#resume();
  }

  /** All has come. */
  end(): void {
    this.#isEnded = true;
    const waiting = this.#settle();
    waiting?.resolve(this.#take());
    this.#resume();
  }

  /** The rest will not come. */
  fail(reason: RpcError): void {
    if (this.#isEnded) return;
    this.#failure ??= reason;
    this.#settle()?.reject(this.#failure);
    this.#resume();
  }

  /** The same, and nobody gets what has come either. */
  drop(reason: RpcError): void {
    if (this.#isEnded) return;
    this.#ignore();
    this.fail(reason);
  }

  /** Fails {@link bytes} with that reason, if somebody waits for them, and ignores the rest. */
  failBytes(reason: RpcError): void {
    const waiting = this.#settle();
    if (waiting === undefined) return;
    this.#ignore();
    this.#cancel();
    waiting.reject(reason);
  }

  /** Fails whoever waits for more of the body, be it now or later: there is no time left for it. */
  abandon(reason: RpcError): void {
    this.failBytes(reason);
    this.fail(reason);
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
      this.#collect(waiting, this.received);
    });
  }

  /** Credits what has come while the connection held too much. */
  credit(): void {
    this.#stream.consumed(this.#uncredited);
    this.#uncredited = 0;
  }

  #collect(waiting: Waiting, bytes: number): void {
    this.#collecting.add(this, bytes);
    this.#uncredited += bytes;
    if (this.#collecting.mayCredit(this)) this.credit();
    if (this.received > waiting.maxBytes) {
      const size = this.received - (waiting.maxBytes - waiting.limit);
      this.failBytes(tooLarge(waiting.limit, `at least ${size}`));
      return;
    }
    try {
      if (this.received > 0) waiting.check?.(this.#chunks, this.received, waiting.limit);
    } catch (reason) {
      this.failBytes(reason as RpcError);
    }
  }

  /** Nobody waits for the whole any more. */
  #settle(): Waiting | undefined {
    const waiting = this.#waiting;
    if (waiting === undefined) return undefined;
    this.#waiting = undefined;
    this.#collecting.delete(this, this.received);
    return waiting;
  }

  /** All that has come and not been handed out. */
  #take(): Uint8Array {
    const length = this.#chunks.reduce((sum, chunk) => sum + chunk.byteLength, 0);
    const bytes = concat(this.#chunks, length);
    this.#chunks = length === 0 ? [] : [bytes];
    this.#stream.consumed(length);
    return bytes;
  }

  #ignore(): void {
    this.#isIgnored = true;
    this.#chunks = [];
    this.#stream.consumed(this.received);
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
        return { done: false, value: chunk };
      }
      if (this.#isEnded) return { done: true, value: undefined };
      if (this.#failure !== undefined) throw this.#failure;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}

/** Sends a body that comes in pieces, at the pace of its stream. */
export class OutgoingBody {
  readonly #stream: Stream;
  readonly #iterator: AsyncIterator<Uint8Array>;
  #wake: (() => void) | undefined;

  constructor(body: Body, stream: Stream) {
    this.#stream = stream;
    this.#iterator = body[Symbol.asyncIterator]();
  }

  /** The stream takes more, or is closed. */
  onDrain(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }

  /** The stream is closed: the body is left. */
  onClosed(): void {
    this.onDrain();
    this.#iterator.return?.()?.catch(() => {});
  }

  /** Sends all of it but the end. Returns whether the stream is still there. */
  async send(): Promise<boolean> {
    const stream = this.#stream;
    while (!stream.closed) {
      const { done, value } = await this.#iterator.next();
      if (done) return !stream.closed;
      if (stream.sendData(value, false)) continue;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    // Not before all of it has ended: what it cleans up may take its time.
    await this.#iterator.return?.()?.catch(() => {});
    return false;
  }
}
