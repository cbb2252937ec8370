/**
 * Scheduling of streams (RFC 9113, section 5.2.1): streams that have DATA and a window for it take turns, one frame per
 * round, so that a stalled stream causes no head-of-line blocking. Priorities are ignored (section 5.3.2).
 */

import { type Output, viewOf } from "../wire/output.ts";
import { DEFAULT_MAX_FRAME_SIZE, DEFAULT_WINDOW_SIZE, ErrorCode } from "./codes.ts";
import { writeDataHeader } from "./frame.ts";
import { Glitch } from "./limits.ts";
import type { EngineStream } from "./stream.ts";

/** High-water marks of queued bytes, per stream and connection. Above either, streams accept no data (backpressure). */
const STREAM_MARK_BYTES = 64 * 1024;
const CONNECTION_MARK_BYTES = 1024 * 1024;
/** Bytes of output that wait to be taken, beyond which DATA is queued. */
const DIRECT_BYTES = 64 * 1024;
/**
 * Queued chunks up to this size are joined in blocks. An array takes about 110 bytes in addition to its content, and
 * keeps the slab alive in which its message was encoded.
 */
const JOINED_BYTES = 1024;
/** Sizes of the first and of the largest block of a queue. */
const MIN_BLOCK_BYTES = 1024;
const MAX_BLOCK_BYTES = 16 * 1024;
/** A window that forces frames below this size causes work without progress (CVE-2019-9511). */
const DRIBBLE_BYTES = 256;

export class Scheduler {
  /** Bytes that may be sent on the connection. */
  window: number = DEFAULT_WINDOW_SIZE;
  /** Number of bytes that all streams have queued. */
  queued = 0;
  /** Bytes sent of chunks that stay in memory, because the rest of them has not been written. */
  sent = 0;
  /** Those of them whose rest is in the last output. */
  finished = 0;
  /** Number of DATA frames written on the connection. */
  frames = 0;
  /** True if the windows will not be opened any more. */
  hasEnded = false;
  readonly #output: Output;
  #first: EngineStream | undefined;
  #last: EngineStream | undefined;
  /** True if the socket holds enough unsent output. */
  #isBlocked = false;
  #drained: EngineStream[] | undefined;

  constructor(output: Output) {
    this.#output = output;
  }

  /** Writes data immediately if nothing is queued before it and flow control allows it; otherwise queues it. */
  sendNow(stream: EngineStream, bytes: Uint8Array, isEnd: boolean): void {
    const { length } = bytes;
    const isFree = stream.unsent === 0 && !this.#isBlocked && this.#output.bytes <= DIRECT_BYTES;
    const isAllowed = length <= stream.sendWindow && length <= this.window && length <= DEFAULT_MAX_FRAME_SIZE;
    if (length > 0 && !(isFree && isAllowed)) {
      this.queue(stream, bytes, isEnd);
      return;
    }
    // A stream without an id waits, and so does its end.
    if (length === 0 && (stream.unsent > 0 || stream.id === 0)) stream.endsAfterQueue ||= isEnd;
    else {
      if (length === 0 && !isEnd) return;
      stream.sendWindow -= length;
      this.window -= length;
      this.frames++;
      writeDataHeader(this.#output, stream.id, length, isEnd);
      if (length > 0) this.#output.payload(bytes);
      if (isEnd) stream.owner.onSent(stream);
    }
  }

  /** Queues data. Returns whether the stream accepts more. */
  queue(stream: EngineStream, bytes: Uint8Array, isEnd: boolean): boolean {
    if (bytes.length === 0) {
      this.sendNow(stream, bytes, isEnd);
      return true;
    }
    this.#append(stream, bytes);
    stream.unsent += bytes.length;
    stream.endsAfterQueue ||= isEnd;
    this.queued += bytes.length;
    this.resume(stream);
    const accepts = stream.unsent <= STREAM_MARK_BYTES && this.queued <= CONNECTION_MARK_BYTES;
    stream.wantsDrain = !accepts;
    return accepts;
  }

  /** Adds a chunk to the queue of a stream. Small ones are joined, unless they are few and can be sent at once. */
  #append(stream: EngineStream, bytes: Uint8Array): void {
    const { length } = bytes;
    const { tail, tailLength } = stream;
    const allowed = Math.min(stream.sendWindow, this.window);
    const waits = this.#isBlocked || this.queued > DIRECT_BYTES || stream.unsent + length > allowed;
    if (length > JOINED_BYTES || !waits) {
      // A chunk that waits must not keep alive a slab that is much larger.
      const isCopied = waits && bytes.buffer.byteLength > 2 * length;
      this.#push(stream, isCopied ? new Uint8Array(bytes) : bytes);
    } else if (tail !== undefined && tail.length - tailLength >= length) {
      tail.set(bytes, tailLength);
      stream.tailLength = tailLength + length;
    } else {
      const block = new Uint8Array(Math.min(2 * (tail?.length ?? MIN_BLOCK_BYTES / 2), MAX_BLOCK_BYTES));
      block.set(bytes);
      this.#push(stream, block);
      stream.tail = block;
      stream.tailLength = length;
    }
  }

  #push(stream: EngineStream, chunk: Uint8Array): void {
    const { queue, tail, tailLength } = stream;
    if (queue.length === 0) stream.queue = [chunk];
    else {
      // Nothing more is joined in the last block.
      if (tail !== undefined) queue[queue.length - 1] = viewOf(tail, 0, tailLength);
      queue.push(chunk);
    }
    stream.tail = undefined;
  }

  /** Adds a stream to the ring, if it has data to send and flow control allows it. */
  resume(stream: EngineStream): void {
    if (this.hasEnded && stream.unsent > 0) this.#output.wake();
    if (stream.isQueued || stream.unsent === 0 || stream.sendWindow <= 0 || stream.id === 0) return;
    stream.isQueued = true;
    stream.next = undefined;
    if (this.#last === undefined) this.#first = stream;
    else this.#last.next = stream;
    this.#last = stream;
    this.#output.wake();
  }

  /** Drops the queued data of a stream. The stream leaves the ring at its next turn. */
  drop(stream: EngineStream): void {
    this.queued -= stream.unsent;
    this.sent -= stream.queueOffset;
    stream.unsent = 0;
    stream.queue = [];
    stream.tail = undefined;
    stream.queueOffset = 0;
    stream.endsAfterQueue = false;
    stream.trailersAfterQueue = undefined;
    stream.wantsDrain = false;
  }

  /** Writes frames until the output has `budget` bytes. With none (0 or less), queues all DATA until the next call. */
  run(budget: number): void {
    this.#isBlocked = budget <= 0;
    this.sent -= this.finished;
    this.finished = 0;
    const output = this.#output;
    while (this.#first !== undefined && this.window > 0 && output.bytes < budget) {
      const stream: EngineStream = this.#first;
      this.#first = stream.next;
      if (this.#first === undefined) this.#last = undefined;
      stream.next = undefined;
      stream.isQueued = false;
      if (stream.unsent > 0 && stream.sendWindow > 0) this.#sendFrame(stream);
      this.resume(stream);
    }
  }

  /** Handles the end of input, after which no window is opened. The output is taken once more, or after each `resume`. */
  end(): void {
    this.hasEnded = true;
    this.#output.wake();
  }

  /** Reports whether a stream can send a part of its queue without a further WINDOW_UPDATE. */
  mayEverSend({ unsent, sendWindow }: EngineStream): boolean {
    return unsent === 0 || (sendWindow > 0 && this.window > 0);
  }

  /** Queues all further DATA until the next call of {@link run}. */
  block(): void {
    this.#isBlocked = true;
  }

  /** True if there are frames that a budget would allow to be written. */
  get isWaiting(): boolean {
    // A stream whose data was dropped stays in the ring until its turn, which may never come if nothing can be written.
    return this.#first !== undefined && this.queued > 0 && this.window > 0;
  }

  /** Notifies streams that accept data again, which they then write: not to be called while frames are written. */
  notify(): void {
    const drained = this.#drained;
    if (drained === undefined) return;
    this.#drained = undefined;
    for (const stream of drained) if (!stream.closed) stream.sink.onDrain();
  }

  #sendFrame(stream: EngineStream): void {
    const allowed = Math.min(stream.sendWindow, this.window);
    const length = Math.min(stream.unsent, allowed, DEFAULT_MAX_FRAME_SIZE);
    if (length === allowed && length < DRIBBLE_BYTES && length < stream.unsent) {
      stream.owner.meters.glitch(Glitch.Dribble);
      // The connection may have ended.
      if (stream.closed) return;
    }
    stream.unsent -= length;
    this.queued -= length;
    stream.sendWindow -= length;
    this.window -= length;
    this.frames++;
    const isEnd = stream.unsent === 0 && stream.endsAfterQueue;
    writeDataHeader(this.#output, stream.id, length, isEnd);
    this.#writePayload(stream, length);
    if (stream.wantsDrain && this.#hasDrained(stream)) {
      stream.wantsDrain = false;
      this.#drained ??= [];
      this.#drained.push(stream);
    }
    if (stream.unsent > 0) return;
    const { owner, trailersAfterQueue } = stream;
    if (trailersAfterQueue !== undefined) {
      try {
        owner.headers.writeResponse(stream.id, 0, trailersAfterQueue, true);
      } catch {
        // They exceed a limit that the peer has lowered since they were queued.
        owner.fail(stream, ErrorCode.InternalError);
        return;
      }
    }
    if (isEnd || trailersAfterQueue !== undefined) owner.onSent(stream);
  }

  /** Reports whether a stream accepts data again: one with an empty queue does, whatever others have queued. */
  #hasDrained({ unsent }: EngineStream): boolean {
    if (unsent === 0) return true;
    return unsent <= STREAM_MARK_BYTES / 2 && this.queued <= CONNECTION_MARK_BYTES / 2;
  }

  #writePayload(stream: EngineStream, length: number): void {
    const { queue } = stream;
    let left = length;
    let index = 0;
    while (left > 0) {
      const chunk = queue[index] as Uint8Array;
      const start = stream.queueOffset;
      const end = chunk === stream.tail ? stream.tailLength : chunk.length;
      const taken = Math.min(left, end - start);
      const isWhole = taken === chunk.length;
      this.#output.payload(isWhole ? chunk : viewOf(chunk, start, start + taken));
      left -= taken;
      if (start + taken === end) {
        index++;
        this.finished += start;
        stream.queueOffset = 0;
      } else {
        this.sent += taken;
        stream.queueOffset = start + taken;
      }
    }
    if (index === queue.length) {
      stream.queue = [];
      stream.tail = undefined;
    } else if (index > 0) queue.splice(0, index);
  }
}
