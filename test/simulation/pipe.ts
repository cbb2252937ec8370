/**
 * One direction of a simulated TCP connection. Bytes arrive in order and are never lost inside: a partition holds them, and
 * a connection that fails ends with a reset, or in silence.
 */
import type { Random } from "./random.ts";
import type { SimulatedSocket } from "./socket.ts";
import type { World } from "./world.ts";

/** The division of the bytes of a write into reads, by a link. */
export type Chunking = "whole" | "random" | "bytes" | "frames";

/** The properties of the links between two hosts. */
export interface LinkOptions {
  /** Time of one direction, and the upper bound of what is added at random, in milliseconds. */
  readonly latencyMs: number;
  readonly jitterMs: number;
  readonly chunking: Chunking;
  /** Bytes that may be on their way or unread before a write waits: the buffers of both kernels. */
  readonly bufferBytes: number;
}

/** The link that a connection uses: it may be held by a partition. */
export interface Link extends LinkOptions {
  readonly name: string;
  readonly random: Random;
  /** True in a direction (0: from the client) in which nothing arrives until the partition ends. */
  readonly held: [boolean, boolean];
}

/** A fault of one connection, when a number of bytes has arrived in one direction. */
export interface Cut {
  readonly kind: "reset" | "end" | "silence" | "stall";
  readonly afterBytes: number;
  /** Duration of a stall, in milliseconds. */
  readonly ms: number;
}

/** Receives the bytes of a connection where they are written and where the program reads them. */
export interface ByteObserver {
  onWritten(bytes: Uint8Array): void;
  onRead(bytes: Uint8Array): void;
}

type Segment = Uint8Array | "end" | "reset";

/** Largest read of libuv, in bytes. */
const MAX_READ_BYTES = 65_536;
/** Most pieces of one write, so that a large message stays affordable. */
const MAX_PIECES = 16;

interface PendingWrite {
  readonly chunks: Uint8Array[];
  offset: number;
  readonly done: (error?: Error | null) => void;
}

export class Pipe {
  readonly from: SimulatedSocket;
  readonly to: SimulatedSocket;
  observer: ByteObserver | undefined;
  cut: Cut | undefined;
  /** True if nothing arrives any more: the other host has vanished. */
  isSilent = false;
  readonly #world: World;
  readonly #link: Link;
  readonly #direction: 0 | 1;
  /** Segments that a partition or a stall holds. */
  #held: Segment[] = [];
  #isStalled = false;
  #hasStalled = false;
  /** True if a proxy has ended the connection. */
  #isCut = false;
  #lastAt = 0;
  #written = 0;
  arrived = 0;
  #read = 0;
  #pending: PendingWrite | undefined;
  /** Bytes that have arrived and are not read. */
  #unread: Uint8Array[] = [];
  #hasEnded = false;
  #lastArrival = 0;

  constructor(world: World, link: Link, direction: 0 | 1, from: SimulatedSocket, to: SimulatedSocket) {
    this.#world = world;
    this.#link = link;
    this.#direction = direction;
    this.from = from;
    this.to = to;
  }

  /** True if bytes have stood still for a while, or for ever. */
  get hasStoodStill(): boolean {
    return this.isSilent || this.#hasStalled;
  }

  /** True if no write waits. */
  get isIdle(): boolean {
    return this.#pending === undefined;
  }

  get hasUnread(): boolean {
    return this.#unread.length > 0;
  }

  /** Sends bytes. `done` is called at once if the buffers take all of them; until then their memory must not change. */
  write(chunks: Uint8Array[], done: (error?: Error | null) => void): void {
    for (const chunk of chunks) this.observer?.onWritten(chunk);
    this.#pending = { chunks, offset: 0, done };
    this.#continue();
  }

  /** Sends the end of the stream, after all bytes. */
  end(): void {
    this.#send("end");
  }

  /** Sends a reset, which overtakes nothing. */
  reset(): void {
    this.#send("reset");
  }

  /** Returns the write that has not been taken, which fails with the socket. */
  takePending(): ((error?: Error | null) => void) | undefined {
    const done = this.#pending?.done;
    this.#pending = undefined;
    return done;
  }

  /** Lets the segments arrive that a partition or a stall held: before those that are still on their way. */
  release(): void {
    if (this.#isStalled || this.#link.held[this.#direction]) return;
    const held = this.#held;
    this.#held = [];
    for (const segment of held) this.#arrive(segment);
  }

  /** Passes arrived bytes, or the end, to a socket that reads. */
  deliver(): void {
    const { to } = this;
    if (!to.wantsRead || to.destroyed) return;
    const bytes = this.#takeUnread();
    if (bytes !== undefined) {
      this.#read += bytes.length;
      this.#world.trace.mixBytes(bytes);
      to.receive(bytes);
      if (this.#pending !== undefined) this.#world.after(this.#link.latencyMs, () => this.#continue());
    } else if (this.#hasEnded) to.receiveEnd();
  }

  #takeUnread(): Uint8Array | undefined {
    const unread = this.#unread;
    const first = unread[0];
    if (first === undefined) return undefined;
    if (unread.length === 1 && first.length <= MAX_READ_BYTES) {
      this.#unread = [];
      return first;
    }
    const all = Buffer.concat(unread);
    this.#unread = all.length > MAX_READ_BYTES ? [all.subarray(MAX_READ_BYTES)] : [];
    return Buffer.from(all.subarray(0, MAX_READ_BYTES));
  }

  /** Takes as much of the pending write as the buffers hold. The memory of the rest is read later. */
  #continue(): void {
    const pending = this.#pending;
    if (pending === undefined) return;
    for (let space = this.#link.bufferBytes - (this.#written - this.#read); space > 0; ) {
      const chunk = pending.chunks[0];
      if (chunk === undefined) break;
      const part = chunk.subarray(pending.offset, pending.offset + space);
      if (pending.offset + part.length === chunk.length) {
        pending.chunks.shift();
        pending.offset = 0;
      } else pending.offset += part.length;
      space -= part.length;
      this.#written += part.length;
      this.#sendPieces(Buffer.from(part));
    }
    if (pending.chunks.length > 0) return;
    this.#pending = undefined;
    pending.done();
  }

  #sendPieces(bytes: Uint8Array): void {
    const { chunking, random } = this.#link;
    if (chunking === "whole") {
      this.#send(bytes);
      return;
    }
    for (let start = 0, pieces = 0; start < bytes.length; pieces++) {
      const left = bytes.length - start;
      let size = left;
      if (pieces >= MAX_PIECES) size = left;
      else if (chunking === "bytes") size = 1;
      else if (chunking === "frames") size = pieces % 2 === 0 ? 9 : random.int(1, left);
      else size = random.chance(0.5) ? left : random.int(1, left);
      this.#send(bytes.subarray(start, start + size));
      start += size;
    }
  }

  #send(segment: Segment): void {
    if (this.isSilent) return;
    const { latencyMs, jitterMs, random } = this.#link;
    const jitter = jitterMs > 0 ? random.next() ** 3 * jitterMs : 0;
    this.#lastAt = Math.max(this.#lastAt, this.#world.now + latencyMs + jitter);
    this.#world.at(this.#lastAt, () => this.#arrive(segment));
  }

  #arrive(segment: Segment): void {
    if (this.isSilent) return;
    if (this.#isStalled || this.#link.held[this.#direction] || this.#held.length > 0) {
      this.#held.push(segment);
      return;
    }
    const { to } = this;
    if (this.#isCut) {
      if (typeof segment !== "string") this.#refuse();
    } else if (segment === "reset" && this.#isEnd()) {
      this.#hasEnded = true;
      this.deliver();
    } else if (segment === "reset") {
      this.#unread = [];
      to.receiveReset();
    } else if (segment === "end") {
      this.#hasEnded = true;
      this.deliver();
    } else if (to.destroyed) {
      this.#read += segment.length;
      to.refuse();
    } else this.#receive(segment);
  }

  /** Reports whether a reset looks like an end: some of those that come with data do. */
  #isEnd(): boolean {
    return this.#lastArrival === this.#world.now && this.#world.random("reset").chance(0.5);
  }

  #receive(bytes: Uint8Array): void {
    const { cut } = this;
    if (cut !== undefined && this.arrived + bytes.length >= cut.afterBytes) {
      this.cut = undefined;
      const head = bytes.subarray(0, Math.max(0, cut.afterBytes - this.arrived));
      if (head.length > 0) this.#receive(head);
      this.#applyCut(cut, bytes.subarray(head.length));
      return;
    }
    this.arrived += bytes.length;
    this.#lastArrival = this.#world.now;
    this.#unread.push(bytes);
    this.deliver();
  }

  /** Answers bytes after the end of the connection with a reset. */
  #refuse(): void {
    this.#world.after(this.#link.latencyMs, () => this.from.receiveReset());
  }

  #applyCut({ kind, ms }: Cut, rest: Uint8Array): void {
    this.#world.note("cut", `${kind} ${this.from.label}→${this.to.label}`, this.arrived);
    if (kind === "reset") {
      this.to.resetPeer();
      this.to.receiveReset();
    } else if (kind === "end") {
      // A proxy between the two ends closes both of its connections.
      this.#hasEnded = true;
      this.deliver();
      this.#isCut = true;
      this.to.endPeer();
      if (rest.length > 0) this.#refuse();
    } else if (kind === "silence") {
      this.from.silence();
    } else {
      this.#isStalled = true;
      this.#hasStalled = true;
      this.#held.unshift(rest);
      this.#world.after(ms, () => {
        this.#isStalled = false;
        this.release();
      });
    }
  }
}
