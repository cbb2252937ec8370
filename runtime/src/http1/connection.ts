/** A connection without I/O, in either role: its output, and the end of both. `receive` takes input and `take` returns output. */
import { Output, type OutputOwner, type Segments, viewOf } from "../wire/output.ts";
import { BodyReader } from "./body.ts";
import type { MessageError } from "./error.ts";
import type { MessageExchange, MessageOwner } from "./exchange.ts";

/** Receives the events of a connection. */
export interface MessageHandler {
  /** Input should not be read until this is called again, because received input waits. */
  onPause(isPaused: boolean): void;
  /**
   * The connection has ended: write the remaining output and end the socket, or, if it is `lost`, destroy it. `error` is the
   * problem of the received message, if that is the reason.
   */
  onOver(lost: boolean, error: MessageError | undefined): void;
}

export interface ConnectionOptions {
  readonly output: OutputOwner;
}

export abstract class MessageConnection<X extends MessageExchange, Handler extends MessageHandler>
  implements MessageOwner
{
  readonly output: Output;
  /** True if nothing more is sent, except the output that has not been taken. */
  isOver = false;
  protected readonly handler: Handler;
  protected readonly body: BodyReader = new BodyReader();
  protected exchange: X | undefined;
  #isPaused = false;
  /** A large body that is being sent, and the bytes of it that have been. */
  #large: Uint8Array | undefined;
  #largeSent = 0;
  /** Bytes of the large bodies of which parts are in the last output or wait. */
  #kept = 0;

  constructor(handler: Handler, { output }: ConnectionOptions) {
    this.handler = handler;
    this.output = new Output(output);
  }

  /** Bytes of output that have not been taken. */
  get unsent(): number {
    return this.output.bytes + (this.#large === undefined ? 0 : this.#large.length - this.#largeSent);
  }

  /** Bytes of memory that output takes, each body in full. `isWriting`: the last output has not been written yet. */
  kept(isWriting: boolean): number {
    return this.output.bytes + (isWriting ? this.#kept : (this.#large?.length ?? 0));
  }

  /** The same: all output counts as written. */
  get framed(): number {
    return this.output.bytes;
  }

  /** True if output waits for the next call of {@link take}. */
  get hasMore(): boolean {
    return this.#large !== undefined;
  }

  /** Takes received bytes, all of them. Never throws. After the end of the connection it ignores them. */
  abstract receive(chunk: Uint8Array): number;

  /** Handles the end of input. */
  abstract receiveEnd(): void;

  /** True if received input waits, so that no more of it should be read. */
  protected get isFull(): boolean {
    return this.exchange?.isFull === true;
  }

  /** Called once at the end of the connection, before its exchange is closed. */
  protected onEnd(): void {}

  onConsumed(): void {
    if (this.#isPaused) this.pause();
  }

  onSent(): void {}

  send(body: Uint8Array): void {
    this.#large = body;
    this.#largeSent = 0;
    this.#kept += body.length;
    this.output.wake();
  }

  /** Reports whether input should be read. */
  protected pause(): void {
    const isPaused = this.isFull;
    if (isPaused === this.#isPaused) return;
    this.#isPaused = isPaused;
    this.handler.onPause(isPaused);
  }

  /** Ends the connection at once, because its socket is lost or a message is incomplete. */
  lost(): void {
    this.end(true);
  }

  protected end(isLost: boolean, error?: MessageError): void {
    if (this.isOver) return;
    this.isOver = true;
    this.onEnd();
    this.#large = undefined;
    const { exchange } = this;
    this.exchange = undefined;
    this.handler.onOver(isLost, error);
    exchange?.close();
  }

  /** Returns output: everything that is written, and a part of a large body until there are `budget` bytes. */
  take(budget: number): Segments {
    const { output } = this;
    const large = this.#large;
    this.#kept = large?.length ?? 0;
    const space = budget - output.bytes;
    if (large !== undefined && space > 0) {
      const start = this.#largeSent;
      this.#largeSent = Math.min(start + space, large.length);
      output.payload(viewOf(large, start, this.#largeSent));
      if (this.#largeSent === large.length) {
        this.#large = undefined;
        this.exchange?.sent();
      }
    }
    const segments = output.take();
    this.exchange?.drain();
    return segments;
  }
}
