/**
 * Bodies read from a Node stream: requests of adapters, and responses of clients over HTTP/1.1.
 */
import { Readable } from "node:stream";
import type { RpcError } from "../../call/error.ts";
import type { Body, BodyCheck } from "../../http/body.ts";
import { IncomingBody } from "./http2-incoming.ts";

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

/** A Node stream as a body. The stream's owner listens for its errors; the body needs only its closing. */
export class ReadableBody implements Body {
  readonly whole = undefined;
  readonly #stream: Carrier;
  readonly #options: ReadableBodyOptions;
  readonly #incoming: IncomingBody<ReadableBody>;
  /** True once the body is read, so that its stream flows. */
  #hasBegun = false;

  constructor(stream: Readable, options: ReadableBodyOptions) {
    this.#stream = stream;
    this.#options = options;
    this.#incoming = new IncomingBody<ReadableBody>(this, [], undefined, cancel);
    this.#stream[BODY] = this;
    stream.on("close", closed);
  }

  get readsEnd(): boolean {
    return this.#options.readEnd ?? false;
  }

  bytes(limit: number, framing?: number, check?: BodyCheck): Promise<Uint8Array> {
    const stream = this.#stream;
    const bytes = this.#incoming.bytes(limit, framing, check);
    const early: Uint8Array | null = stream.read();
    if (early !== null) this.#incoming.push(early);
    // Node's HTTP engines push received chunks. Taking chunks at once avoids the stream's own buffer and events, which
    // cost more than the rest of the processing.
    stream.push = push;
    this.#begin(mayHaveEnded(stream));
    return bytes;
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    this.#stream.on("data", received);
    this.#begin(true);
    return this.#incoming;
  }

  /** Follows the end of the stream, which may be over. `listens`: its end is an event. */
  #begin(listens: boolean): void {
    const stream = this.#stream;
    this.#hasBegun = true;
    if (stream.readableEnded) this.onEnd();
    else if (listens) stream.on("end", ended);
    if (stream.destroyed) this.onClose();
  }

  /** Takes a chunk that has arrived, if a reader waits for the whole body. Returns whether it did. */
  onChunk(chunk: Uint8Array): boolean {
    if (!this.#incoming.collecting) return false;
    this.#incoming.push(chunk);
    return true;
  }

  /** Takes a chunk for a reader of chunks, with backpressure. */
  onData(chunk: Uint8Array): void {
    this.#incoming.push(chunk);
    if (this.#incoming.unread > MAX_UNREAD_BYTES) this.#stream.pause();
  }

  /** Handles the end of the stream. */
  onEnd(): void {
    if (!this.#options.cutOff(this.#stream)) this.#incoming.end();
  }

  /** Handles the close of the stream. */
  onClose(): void {
    if (this.#hasBegun && !this.#incoming.isOver) this.#incoming.fail(this.#options.lost());
  }

  /** Ends the backpressure once the reader has taken enough. */
  consumed(): void {
    if (this.#incoming.unread <= MAX_UNREAD_BYTES && this.#stream.isPaused()) this.#stream.resume();
  }

  /** Reads and drops the rest, so that the connection can be used again. */
  cancel(): void {
    this.#stream.resume();
    this.#options.cancel();
  }
}

function cancel(body: ReadableBody): void {
  body.cancel();
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

function received(this: Carrier, chunk: Uint8Array): void {
  this[BODY]?.onData(chunk);
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
