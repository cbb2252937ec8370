/**
 * Bodies read from a Node stream: requests of adapters.
 */
import type { Readable } from "node:stream";
import type { RpcError } from "../../call/error.ts";
import type { Body, BodyCheck } from "../../http/body.ts";
import { IncomingBody } from "./http2-incoming.ts";

/** Backpressure: the stream is paused while more than this many bytes wait to be read. */
const MAX_UNREAD_BYTES = 64 * 1024;

export interface ReadableBodyOptions {
  /** Returns the error of a stream that closed before it had ended. */
  readonly lost: () => RpcError;
  /** Called when the reader does not read the rest. */
  readonly cancel: () => void;
  /** Reports whether an ended stream was truncated: Node ends streams that are reset as if all data had arrived. */
  readonly cutOff: (stream: Readable) => boolean;
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

  bytes(limit: number, framing?: number, check?: BodyCheck): Promise<Uint8Array> {
    const bytes = this.#incoming.bytes(limit, framing, check);
    this.#begin();
    return bytes;
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    this.#begin();
    return this.#incoming;
  }

  #begin(): void {
    const stream = this.#stream;
    this.#hasBegun = true;
    stream.on("data", received);
    stream.on("end", ended);
    if (stream.readableEnded) this.onEnd();
    if (stream.destroyed) this.onClose();
  }

  /** Takes a chunk, with backpressure unless the reader waits for the whole body. */
  onData(chunk: Uint8Array): void {
    this.#incoming.push(chunk);
    if (this.#incoming.unread > MAX_UNREAD_BYTES && !this.#incoming.collecting) this.#stream.pause();
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
