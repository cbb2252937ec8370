/**
 * A socket and the connection on it, of HTTP/2 or HTTP/1.1: received bytes are passed to the connection, and all output of one
 * turn of the event loop is written at once.
 */

import { defer, dropsCallbacks, now, startBackgroundTimer } from "../call/platform.ts";
import { isTurnOver } from "../call/turn.ts";
import type { ByteCoding, ByteConnection, OutputOwner, Segments } from "../wire/output.ts";

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
const TURN_MS = 0.5;
/** Frames of a large read between two looks at the time. */
const FRAMES_PER_STEP = 128;
/** Time in which a peer may read the reason of a close and close its side, in milliseconds. */
const CLOSE_GRACE_MS = 1_000;

const freeSlabs: Uint8Array[] = [];
const SETTLED = Promise.resolve();
/** Node's tick, which runs when there are no microtasks. Pages have microtasks only. */
const tick: (callback: () => void) => void = globalThis.process?.nextTick ?? queueMicrotask;

/** The time at which the current turn ends; `undefined` if no large read has been processed in it. */
let turnEnds: number | undefined;
/** Continuations of the connections whose large reads wait for a later turn, in order. */
const waiting: (() => void)[] = [];

function beginTurn(): void {
  turnEnds = now() + TURN_MS;
  defer(nextTurn);
}

/** Continues with the reads that wait. Those that exceed the time follow after other callbacks of the event loop. */
function nextTurn(): void {
  turnEnds = undefined;
  if (waiting.length > 0) beginTurn();
  do waiting.shift()?.();
  while (waiting.length > 0 && isInTime());
}

function isInTime(): boolean {
  return now() < (turnEnds as number);
}

function giveBack(slabs: readonly Uint8Array[]): void {
  for (const slab of slabs) if (freeSlabs.length < MAX_FREE_SLABS) freeSlabs.push(slab);
}

/**
 * A byte stream in both directions, which carries a connection: a socket of Node, which defines how each member behaves, or a
 * tunnel such as a WebSocket.
 */
export interface ByteStream {
  /** True if the stream can carry nothing more in either direction. */
  readonly destroyed: boolean;
  /** The error that ended the stream, if any. */
  readonly errored?: Error | null;
  /** Bytes that were written and not sent. 0 at once after a small write to a stream that can take more. */
  readonly writableLength: number;
  /** True if enough has been written for now. */
  readonly writableNeedDrain: boolean;
  /** True after `end`. */
  readonly writableEnded: boolean;
  /** True if all output has been sent and the end reported. */
  readonly writableFinished: boolean;
  on(event: "error" | "close" | "end", listener: (error: Error) => void): unknown;
  on(event: "data", listener: (chunk: Uint8Array) => void): unknown;
  once(event: "finish", listener: () => void): unknown;
  /** Calls back when the bytes have been sent, so that their memory may be reused. */
  write(bytes: Uint8Array, onWritten?: () => void): unknown;
  /** Collects writes until `uncork`. */
  cork(): void;
  uncork(): void;
  /** Ends the output after all that was written. */
  end(): unknown;
  destroy(error?: Error): unknown;
  pause(): unknown;
  resume(): unknown;
  /** Keeps the program running, which an idle connection must not do. Only platforms that end programs have it. */
  ref?(): unknown;
  unref?(): unknown;
  setNoDelay?(noDelay: boolean): unknown;
}

/** Receives the events of a socket, in addition to the connection. */
export interface SocketOwner {
  /** The peer has ended its side of the socket, and may be gone. */
  onPeerEnd?(): void;
  /** {@link ConnectionSocket.unsent} has changed. Returns whether the peer may send more. Default: it may. */
  onFlushed?(): boolean;
  /** The socket has closed, with or without an error. The connection has ended. */
  onClose(error: Error | undefined): void;
}

/** The property of a socket with its {@link ConnectionSocket}. */
const ATTACHED = Symbol("HTTP/2");

interface AttachedSocket extends ByteStream {
  [ATTACHED]?: ConnectionSocket;
}

// All sockets share their listeners: with closures, an idle connection would take about 300 bytes more.

function onError(this: AttachedSocket, error: Error): void {
  this[ATTACHED]?.fail(error);
}

function onClose(this: AttachedSocket): void {
  this[ATTACHED]?.close();
}

function onEnd(this: AttachedSocket): void {
  this[ATTACHED]?.receiveEnd();
}

function onData(this: AttachedSocket, chunk: Uint8Array): void {
  this[ATTACHED]?.receive(chunk);
}

export class ConnectionSocket<Bytes extends ByteStream = ByteStream> implements OutputOwner {
  readonly socket: Bytes;
  /** True if the socket ends after its output has been written. */
  #ends = false;
  #connection: ByteConnection | undefined;
  /** The coding of bytes on the way; the connection itself, unless another connection carries it. */
  #coding: ByteCoding | undefined;
  #owner: SocketOwner | undefined;
  #isScheduled = false;
  /** Slabs whose content has not been sent. */
  #pending: Uint8Array[] | undefined;
  #unsentBefore = 0;
  /** True if the peer may not send, because it does not read. */
  #isPaused = false;
  /** True if the owner wants no input, see {@link hold}. */
  #isHeld = false;
  /** The part of a large read that waits for a later turn; `undefined` if there is none. */
  #rest: Uint8Array | undefined;
  /** The first error of the socket. */
  error: Error | undefined;
  #stopTimer: (() => void) | undefined;
  /** True if the owner limits the time that output takes. */
  #isLimited = false;

  constructor(socket: Bytes) {
    this.socket = socket;
    socket.setNoDelay?.(true);
  }

  /** Bytes that have been written to the socket and not sent. */
  get unsent(): number {
    return this.socket.writableLength;
  }

  /** Starts to transfer bytes between the socket and the connection. */
  attach(connection: ByteConnection, owner: SocketOwner, coding: ByteCoding = connection): void {
    const socket: AttachedSocket = this.socket;
    this.#connection = connection;
    this.#coding = coding;
    this.#owner = owner;
    const isNew = socket[ATTACHED] === undefined;
    socket[ATTACHED] = this;
    if (isNew) {
      socket.on("error", onError);
      socket.on("close", onClose);
      socket.on("end", onEnd);
      socket.on("data", onData);
    }
    this.wake();
  }

  /** Leaves the socket to another connection, which is attached next, after the output of this one. */
  detach(): void {
    const segments = this.#coding?.take(Number.POSITIVE_INFINITY);
    if (segments !== undefined && segments.bytes > 0) this.#write(segments);
    this.#connection = undefined;
    this.#coding = undefined;
    this.#owner = undefined;
    this.socket.resume();
  }

  /** Handles an error of the socket, which closes next. */
  fail(error: Error): void {
    this.error ??= error;
  }

  /** Handles the close of the socket. */
  close(): void {
    this.#stopTimer?.();
    this.finishReading();
    this.#connection?.lost(this.error?.message ?? "the peer closed the connection");
    this.#owner?.onClose(this.error);
  }

  /** Handles the end of the peer's side of the socket. Node reports it even while the socket is paused. */
  receiveEnd(): void {
    this.finishReading();
    this.#owner?.onPeerEnd?.();
    this.#connection?.receiveEnd();
  }

  /**
   * Handles received bytes, large reads in steps. When the time of the turn is over, the rest waits and nothing more is read:
   * otherwise a peer that sends costly frames would delay all other connections by the frames of its whole read. When messages
   * have used the turn up, small reads wait too: as bytes they take far less memory than as calls.
   */
  receive(chunk: Uint8Array): void {
    const coding = this.#coding;
    if (coding === undefined) return;
    const isOver = isTurnOver();
    if (!isOver && (chunk.length < LARGE_READ_BYTES || dropsCallbacks)) {
      coding.receive(chunk);
      return;
    }
    if (turnEnds === undefined) beginTurn();
    let rest = chunk;
    while (!isOver && rest.length > 0 && isInTime()) rest = rest.subarray(coding.receive(rest, FRAMES_PER_STEP));
    if (rest.length === 0) return;
    this.#rest = rest;
    this.socket.pause();
    if (isOver) defer(this.#continue);
    else waiting.push(this.#continue);
  }

  readonly #continue = (): void => {
    const rest = this.#rest;
    if (rest === undefined) return;
    this.#rest = undefined;
    this.receive(rest);
    this.#readOn();
  };

  /** Reads, if nothing is against it. */
  #readOn(): void {
    if (this.#rest === undefined && !this.#isPaused && !this.#isHeld) this.socket.resume();
    else this.socket.pause();
  }

  /** Stops reading, or continues, because the connection has or had enough input. */
  hold(isHeld: boolean): void {
    this.#isHeld = isHeld;
    this.#readOn();
  }

  /** Passes on what has been read, before the connection ends or leaves the socket. */
  finishReading(): void {
    const rest = this.#rest;
    this.#rest = undefined;
    if (rest !== undefined) this.#coding?.receive(rest);
  }

  /**
   * Ends the socket after its output has been written. The socket is destroyed after a second if the peer does not end
   * its side too. With `isLimited`, that second begins when the output has been sent, because the owner limits the time for that.
   */
  end(isLimited = false): void {
    this.#isLimited = isLimited;
    if (this.#ends) return;
    this.#ends = true;
    this.wake();
  }

  wake(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    // Ticks run before the microtasks of asynchronous handlers, unless a microtask schedules the tick. Without this, a
    // response would need a write of its own. Node's `queueMicrotask` creates an AsyncResource each time.
    void SETTLED.then(this.#defer);
  }

  slab(): Uint8Array {
    return freeSlabs.pop() ?? new Uint8Array(SLAB_BYTES);
  }

  readonly #defer = (): void => tick(this.flush);

  /** Writes the output of the connection to the socket. */
  readonly flush = (): void => {
    this.#isScheduled = false;
    const { socket } = this;
    const connection = this.#connection;
    if (connection === undefined || socket.destroyed) return;
    // Node has ended it because the peer has, which may take no more of the output.
    if (socket.writableEnded && this.#ends && !this.#isLimited) this.#destroyLater();
    if (socket.writableEnded) return;
    // There is one write at a time, because each holds at least a slab, even for a few bytes. Meanwhile output is
    // collected in the connection. The last output does not wait, because the peer may not read any more.
    if (socket.writableLength > 0 && !this.#ends) {
      if (socket.writableNeedDrain) connection.block?.();
      this.#account();
      return;
    }
    const segments = (this.#coding as ByteCoding).take(MAX_FRAMED_BYTES - socket.writableLength);
    if (segments.bytes > 0) this.#write(segments);
    this.#account();
    // The data that a connection had queued when it ended is not sent.
    const hasMore = connection.hasMore && !connection.isOver;
    // Everything has been sent: the next round runs after other callbacks of the event loop.
    if (hasMore && socket.writableLength === 0) {
      this.#isScheduled = true;
      defer(this.flush);
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
    else if (this.#pending === undefined) this.#pending = [...slabs];
    else this.#pending.push(...slabs);
  }

  /** Notifies the owner of the unsent output, and stops reading from a peer that does not read. */
  #account(): void {
    const { socket } = this;
    const unsent = socket.writableLength + (this.#connection?.unsent ?? 0);
    if (unsent === this.#unsentBefore) return;
    this.#unsentBefore = unsent;
    const framed = this.#connection?.framed ?? 0;
    const mayRead = this.#owner?.onFlushed?.() !== false && socket.writableLength + framed <= MAX_UNSENT_BYTES;
    // Reading continues after the write.
    const pauses = !mayRead && socket.writableLength > 0;
    if (pauses === this.#isPaused) return;
    this.#isPaused = pauses;
    this.#readOn();
  }

  /** Called when the output has been passed to the kernel or encrypted by TLS. Only then may its memory be reused. */
  readonly #onWritten = (): void => {
    if (this.socket.writableLength > 0 || this.#pending === undefined) return;
    giveBack(this.#pending);
    this.#pending = undefined;
    // The socket may have been left to another connection.
    (this.socket as AttachedSocket)[ATTACHED]?.flush();
  };

  #finish(): void {
    const { socket } = this;
    socket.end();
    if (this.#isLimited && !socket.writableFinished) socket.once("finish", this.#destroyLater);
    else this.#destroyLater();
  }

  readonly #destroyLater = (): void => {
    this.#stopTimer ??= startBackgroundTimer(CLOSE_GRACE_MS, () => this.socket.destroy());
  };
}
