/**
 * Confirmation that a client has received earlier frames. A PING is acknowledged after the frames before it have been
 * processed (RFC 9113, section 6.7), however long the client was not scheduled.
 */
import type { EngineConnection } from "../../../http2/connection.ts";

export class Receipts {
  readonly #connection: EngineConnection;
  /** The callbacks that wait for the acknowledgement of the current PING, and those that came after that PING was sent. */
  #current: Set<() => void> = new Set();
  #next: Set<() => void> = new Set();

  constructor(connection: EngineConnection) {
    this.#connection = connection;
  }

  /** Calls back when the client has received what was sent until now. Returns a function that withdraws the callback. */
  request(callback: () => void): () => void {
    this.#next.add(callback);
    if (this.#current.size === 0) this.#ping();
    return () => {
      this.#current.delete(callback);
      this.#next.delete(callback);
    };
  }

  /** Handles the acknowledgement of the PING. */
  onPong(): void {
    const received = this.#current;
    this.#current = new Set();
    this.#ping();
    for (const callback of received) callback();
  }

  #ping(): void {
    // Without callbacks no PING is sent. While one is unacknowledged, because its callbacks were withdrawn, the next waits.
    if (this.#next.size === 0 || !this.#connection.ping("receipt")) return;
    this.#current = this.#next;
    this.#next = new Set();
  }
}
