/**
 * The receive windows of a connection and its streams (RFC 9113, section 6.9), and their announcement by WINDOW_UPDATE.
 */

import type { Output } from "../wire/output.ts";
import { DEFAULT_WINDOW_SIZE } from "./codes.ts";
import { flowControlError, ReceiveWindow } from "./flow-control.ts";
import { writeWindowUpdate } from "./frame.ts";
import type { EngineStream } from "./stream.ts";

/** The receive window of the connection, in bytes. It is credited on receipt, and bounds only what is on its way. */
const CONNECTION_WINDOW_BYTES: number = 4 * 1024 * 1024;

export class ReceiveWindows {
  readonly connection: ReceiveWindow = new ReceiveWindow(DEFAULT_WINDOW_SIZE);
  readonly #output: Output;
  /** Streams whose windows are to be announced. */
  #announcing: EngineStream[] | undefined;

  constructor(output: Output) {
    this.#output = output;
    this.connection.give(0, CONNECTION_WINDOW_BYTES);
  }

  /**
   * Charges a DATA frame to the window of the connection, and returns its bytes at once, so that a stream which is not read
   * stops no other one (head-of-line blocking).
   */
  charge(bytes: number): void {
    const { connection } = this;
    connection.left -= bytes;
    if (connection.left < 0) throw flowControlError("the connection");
    if (connection.give(bytes)) this.#output.wake();
  }

  /** Returns bytes to the window of a stream, and sets its size, unless the peer will send no more. */
  credit(stream: EngineStream, bytes: number, size?: number): void {
    if (stream.closed || stream.ended || !stream.receiveWindow.give(bytes, size) || stream.isAnnouncing) return;
    stream.isAnnouncing = true;
    this.#announcing ??= [];
    this.#announcing.push(stream);
    this.#output.wake();
  }

  /** Writes all due WINDOW_UPDATE frames, one for the connection and one for each stream. */
  announce(): void {
    const { connection } = this;
    if (connection.credit >= connection.size / 2) writeWindowUpdate(this.#output, 0, connection.announce());
    if (this.#announcing === undefined) return;
    for (const stream of this.#announcing) {
      stream.isAnnouncing = false;
      if (!stream.closed && !stream.ended) writeWindowUpdate(this.#output, stream.id, stream.receiveWindow.announce());
    }
    this.#announcing = undefined;
  }
}
