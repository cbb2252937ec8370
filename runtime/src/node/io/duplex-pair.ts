/**
 * A connection in memory: two streams, each of which reads what is written to the other, with backpressure. Node has it as
 * `duplexPair` from 22.6 on.
 */
import { Duplex } from "node:stream";
import type { PeerConnection } from "../../call/peer.ts";

/** One end of a connection in memory, with the members of a socket that `node:http` and applications use. */
export class MemorySocket extends Duplex {
  remoteAddress: string | undefined;
  remotePort: number | undefined;
  remoteFamily: string | undefined;
  /** True if the client's connection uses TLS. */
  encrypted = false;
  #other: MemorySocket | undefined;
  /** Called when the other end takes more, which may be before it has read what was written. */
  #written: (() => void) | undefined;

  /** Creates the two ends of a connection. `readableHighWaterMark`: bytes that are sent before the other end reads; default: Node's. */
  static pair(readableHighWaterMark?: number): [MemorySocket, MemorySocket] {
    const [near, far] = [new MemorySocket({ readableHighWaterMark }), new MemorySocket({ readableHighWaterMark })];
    near.#other = far;
    far.#other = near;
    return [near, far];
  }

  /** Gives it the address of the client, which Express reads as `request.ip` and `request.secure`. */
  identify({ address, port, tls }: Partial<PeerConnection> = {}): void {
    this.remoteAddress = address;
    this.remotePort = port;
    this.remoteFamily = address === undefined ? undefined : address.includes(":") ? "IPv6" : "IPv4";
    this.encrypted = tls !== undefined;
  }

  override _read(): void {
    const written = this.#written;
    this.#written = undefined;
    written?.();
  }

  override _write(chunk: Uint8Array, _encoding: BufferEncoding, done: () => void): void {
    const other = this.#other as MemorySocket;
    if (chunk.byteLength === 0) process.nextTick(done);
    else {
      other.#written = done;
      // The writer may reuse its memory then.
      other.push(Buffer.from(chunk));
    }
  }

  override _final(done: () => void): void {
    this.#other?.push(null);
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    done(error);
    // At the end of both directions, the other end may have bytes to read.
    if (!this.readableEnded || !this.writableFinished) this.#other?.destroy();
  }

  setTimeout(): this {
    return this;
  }
  setNoDelay(): this {
    return this;
  }
  setKeepAlive(): this {
    return this;
  }
  ref(): this {
    return this;
  }
  unref(): this {
    return this;
  }
}
