/**
 * A socket and the HTTP/2 connection on it: received bytes are passed to the connection, and all output of one turn of the
 * event loop is written at once.
 */
import type { Socket } from "node:net";
import type { EngineConnection } from "../../http2/connection.ts";
import type { OutputOwner, Segments } from "../../http2/events.ts";
import type { Latin1Decoder } from "../../http2/hpack/decoder.ts";

/** Bytes of unsent output that a socket may hold. Beyond this limit no more DATA is framed (backpressure). */
const MAX_FRAMED_BYTES = 128 * 1024;
/** Bytes of unsent output beyond which nothing is read from the peer either, because its frames would cause more output. */
const MAX_UNSENT_BYTES = 1024 * 1024;
const SLAB_BYTES = 64 * 1024;
/** Number of free slabs that are kept for the next turn, for all connections together. */
const MAX_FREE_SLABS = 32;
/** Size of a read after which the platform reads the same socket again, up to 32 times, before it turns to others. */
const LARGE_READ_BYTES = 16 * 1024;
/** Time in which all connections together may process large reads in one turn of the event loop, in milliseconds. */
const TURN_MS = 2;
/** Time in which a peer may read the reason of a close and close its side, in milliseconds. */
const CLOSE_GRACE_MS = 1_000;

const freeSlabs: Uint8Array[] = [];

/** The time at which the current turn ends; `undefined` before its first large read. */
let turnEnds: number | undefined;

function beginTurn(): void {
  if (turnEnds !== undefined) return;
  turnEnds = performance.now() + TURN_MS;
  setImmediate(() => {
    turnEnds = undefined;
  });
}

function giveBack(slabs: readonly Uint8Array[]): void {
  for (const slab of slabs) if (freeSlabs.length < MAX_FREE_SLABS) freeSlabs.push(slab);
}

const { latin1Slice } = Buffer.prototype as Buffer & { latin1Slice(start: number, end: number): string };

/** Node's fast conversion of Latin-1 bytes to a string. */
export const nodeLatin1: Latin1Decoder = (bytes, start, end) => latin1Slice.call(bytes as Buffer, start, end);

/** Receives the events of a socket, in addition to the connection. */
export interface SocketOwner {
  /** The peer has ended its side of the socket, and may be gone. */
  onPeerEnd(): void;
  /** Output has been written or sent, so that {@link Http2Socket.unsent} has changed. Returns whether the peer may send more. */
  onFlushed(): boolean;
  /** The socket has closed, with or without an error. The connection has ended. */
  onClose(error: Error | undefined): void;
}

export class Http2Socket implements OutputOwner {
  readonly socket: Socket;
  /** True if the socket ends after its output has been written. */
  #ends = false;
  #connection: EngineConnection | undefined;
  #owner: SocketOwner | undefined;
  #isScheduled = false;
  #pending: Uint8Array[] = [];
  #unsentBefore = 0;
  /** True if the peer may not send, because it does not read. */
  #isPaused = false;
  /** True if other connections are to be read before this one. */
  #isWaiting = false;
  #error: Error | undefined;
  #forceClose: NodeJS.Timeout | undefined;

  constructor(socket: Socket) {
    this.socket = socket;
    socket.setNoDelay(true);
  }

  /** Bytes that have been written to the socket and not sent. */
  get unsent(): number {
    return this.socket.writableLength;
  }

  /** Starts to transfer bytes between the socket and the connection. */
  attach(connection: EngineConnection, owner: SocketOwner): void {
    const { socket } = this;
    this.#connection = connection;
    this.#owner = owner;
    socket.on("error", (error) => {
      this.#error = error;
    });
    socket.on("close", () => {
      clearTimeout(this.#forceClose);
      connection.lost(this.#error?.message ?? "the peer closed the connection");
      owner.onClose(this.#error);
    });
    socket.on("end", () => {
      owner.onPeerEnd();
      connection.receiveEnd();
    });
    socket.on("drain", this.#flush);
    socket.on("data", (chunk: Uint8Array) => {
      if (chunk.length < LARGE_READ_BYTES) connection.receive(chunk);
      else this.#receiveLarge(connection, chunk);
    });
    this.wake();
  }

  /** Passes a chunk on, and reads no further one in this turn of the event loop if its time is over. */
  #receiveLarge(connection: EngineConnection, chunk: Uint8Array): void {
    beginTurn();
    connection.receive(chunk);
    if (this.#isWaiting || performance.now() < (turnEnds as number)) return;
    this.#isWaiting = true;
    this.socket.pause();
    setImmediate(() => {
      this.#isWaiting = false;
      if (!this.#isPaused) this.socket.resume();
    });
  }

  /** Ends the socket after its output has been written. The socket is destroyed after a second if the peer does not end its side too. */
  end(): void {
    if (this.#ends) return;
    this.#ends = true;
    this.wake();
  }

  wake(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    // Ticks run before the microtasks of asynchronous handlers, unless a microtask schedules the tick. Without this, a
    // response would need a write of its own.
    queueMicrotask(this.#defer);
  }

  slab(): Uint8Array {
    return freeSlabs.pop() ?? new Uint8Array(SLAB_BYTES);
  }

  readonly #defer = (): void => process.nextTick(this.#flush);

  readonly #flush = (): void => {
    this.#isScheduled = false;
    const { socket } = this;
    const connection = this.#connection;
    if (connection === undefined || socket.destroyed || socket.writableEnded) return;
    const segments = connection.take(MAX_FRAMED_BYTES - socket.writableLength);
    if (segments.bytes > 0) this.#write(segments);
    this.#account();
    // The data that a connection had queued when it ended is not sent.
    const hasMore = connection.hasMore && !connection.isOver;
    // A socket that applies backpressure emits "drain". This one does not: the next round runs after other callbacks of the event loop.
    if (hasMore && socket.writableLength < MAX_FRAMED_BYTES && !socket.writableNeedDrain) {
      this.#isScheduled = true;
      setImmediate(this.#flush);
    } else if (this.#ends && !hasMore) this.#finish();
  };

  #write({ parts, slabs }: Segments): void {
    const { socket } = this;
    const last = parts.length - 1;
    if (last === 0) socket.write(parts[0] as Uint8Array, this.#onWritten);
    else {
      socket.cork();
      for (let i = 0; i < last; i++) socket.write(parts[i] as Uint8Array);
      socket.write(parts[last] as Uint8Array, this.#onWritten);
      socket.uncork();
    }
    if (socket.writableLength === 0) giveBack(slabs);
    else this.#pending.push(...slabs);
  }

  /** Notifies the owner of the unsent output, and stops reading from a peer that does not read. */
  #account(): void {
    const { socket } = this;
    const { writableLength } = socket;
    if (writableLength === this.#unsentBefore) return;
    this.#unsentBefore = writableLength;
    const mayRead = this.#owner?.onFlushed() !== false && writableLength <= MAX_UNSENT_BYTES;
    // "drain" follows only if `writableNeedDrain` is true.
    const pauses = !mayRead && socket.writableNeedDrain;
    if (pauses === this.#isPaused) return;
    this.#isPaused = pauses;
    if (pauses) socket.pause();
    else if (!this.#isWaiting) socket.resume();
  }

  /** Called when the output has been passed to the kernel or encrypted by TLS. Only then may its memory be reused. */
  readonly #onWritten = (): void => {
    if (this.socket.writableLength > 0) return;
    this.#account();
    if (this.#pending.length === 0) return;
    giveBack(this.#pending);
    this.#pending = [];
  };

  #finish(): void {
    this.socket.end();
    this.#forceClose ??= setTimeout(() => this.socket.destroy(), CLOSE_GRACE_MS).unref();
  }
}
