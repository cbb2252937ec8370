/**
 * The order in which streams send (RFC 9113, section 5.2.1): streams with DATA and a window for it take turns, one frame a
 * round, so that a stalled stream causes no head-of-line blocking. Priorities are ignored (section 5.3.2).
 */
import { DEFAULT_MAX_FRAME_SIZE, viewOf } from "./codes.ts";
import { SendWindow } from "./flow-control.ts";
import { writeData, writeDataHeader } from "./frame.ts";
import type { HeaderWriter } from "./header-writer.ts";
import type { Output } from "./output.ts";
import type { Stream } from "./stream.ts";

/** Streams do not accept more once so much of theirs is queued, or so much of the connection's. */
const STREAM_MARK_BYTES = 64 * 1024;
const CONNECTION_MARK_BYTES = 1024 * 1024;
/** Output that waits to be taken, beyond which DATA waits in its queue. */
const DIRECT_BYTES = 64 * 1024;
/** A window that forces frames to be smaller than this makes work without progress (CVE-2019-9511). */
const DRIBBLE_BYTES = 256;

/** The connection of a scheduler. */
export interface SchedulerOwner {
  /** The last frame of a stream has been written. */
  onSent(stream: Stream): void;
  /** The peer's window has forced a tiny frame. */
  onDribble(): void;
}

export class Scheduler {
  readonly window: SendWindow;
  /** Bytes that all streams have queued. */
  queued = 0;
  /** DATA frames that were written since this was set to 0. */
  frames = 0;
  readonly #output: Output;
  readonly #headers: HeaderWriter;
  readonly #owner: SchedulerOwner;
  #first: Stream | undefined;
  #last: Stream | undefined;
  /** The socket has as much as it should. */
  #isBlocked = false;
  #drained: Stream[] = [];

  constructor(output: Output, headers: HeaderWriter, owner: SchedulerOwner, windowBytes: number) {
    this.#output = output;
    this.#headers = headers;
    this.#owner = owner;
    this.window = new SendWindow(windowBytes);
  }

  /** Sends data right behind what has been written, if nothing is in the way; else queues it. */
  sendNow(stream: Stream, bytes: Uint8Array, isEnd: boolean): void {
    const { length } = bytes;
    const isFree = stream.unsent === 0 && !this.#isBlocked && this.#output.bytes <= DIRECT_BYTES;
    const isAllowed =
      length <= stream.sendWindow.left && length <= this.window.left && length <= DEFAULT_MAX_FRAME_SIZE;
    if (length > 0 && !(isFree && isAllowed)) {
      this.queue(stream, bytes, isEnd);
      return;
    }
    if (length === 0 && stream.unsent > 0) stream.endsAfterQueue ||= isEnd;
    else {
      if (length === 0 && !isEnd) return;
      stream.sendWindow.left -= length;
      this.window.left -= length;
      this.frames++;
      writeData(this.#output, stream.id, bytes, isEnd);
      if (isEnd) this.#owner.onSent(stream);
    }
  }

  /** Queues data. Returns whether the stream accepts more. */
  queue(stream: Stream, bytes: Uint8Array, isEnd: boolean): boolean {
    if (bytes.length === 0) {
      this.sendNow(stream, bytes, isEnd);
      return true;
    }
    if (stream.queue.length === 0) stream.queue = [bytes];
    else stream.queue.push(bytes);
    stream.unsent += bytes.length;
    stream.endsAfterQueue ||= isEnd;
    this.queued += bytes.length;
    this.resume(stream);
    const accepts = stream.unsent <= STREAM_MARK_BYTES && this.queued <= CONNECTION_MARK_BYTES;
    stream.wantsDrain = !accepts;
    return accepts;
  }

  /** Puts a stream into the ring, if it has something to send and may. */
  resume(stream: Stream): void {
    if (stream.isQueued || stream.unsent === 0 || stream.sendWindow.left <= 0 || stream.id === 0) return;
    stream.isQueued = true;
    stream.next = undefined;
    if (this.#last === undefined) this.#first = stream;
    else this.#last.next = stream;
    this.#last = stream;
    this.#output.wake();
  }

  /** Forgets what a stream has queued. It leaves the ring when its turn comes. */
  drop(stream: Stream): void {
    this.queued -= stream.unsent;
    stream.unsent = 0;
    stream.queue = [];
    stream.queueOffset = 0;
    stream.endsAfterQueue = false;
    stream.trailersAfterQueue = undefined;
    stream.wantsDrain = false;
  }

  /** Writes frames until the output has so many bytes. None, and no DATA at all from now on, if that is not more than 0. */
  run(budget: number): void {
    this.#isBlocked = budget <= 0;
    const output = this.#output;
    while (this.#first !== undefined && this.window.left > 0 && output.bytes < budget) {
      const stream: Stream = this.#first;
      this.#first = stream.next;
      if (this.#first === undefined) this.#last = undefined;
      stream.next = undefined;
      stream.isQueued = false;
      if (stream.unsent > 0 && stream.sendWindow.left > 0) this.#sendFrame(stream);
      this.resume(stream);
    }
  }

  /** True if there are frames to write once there is a budget. */
  get isWaiting(): boolean {
    return this.#first !== undefined && this.window.left > 0;
  }

  /** Tells streams that accept more again. Not while frames are written: they will want to write. */
  notify(): void {
    if (this.#drained.length === 0) return;
    const drained = this.#drained;
    this.#drained = [];
    for (const stream of drained) if (!stream.closed) stream.sink.onDrain();
  }

  #sendFrame(stream: Stream): void {
    const allowed = Math.min(stream.sendWindow.left, this.window.left);
    const length = Math.min(stream.unsent, allowed, DEFAULT_MAX_FRAME_SIZE);
    if (length === allowed && length < DRIBBLE_BYTES && length < stream.unsent) this.#owner.onDribble();
    stream.unsent -= length;
    this.queued -= length;
    stream.sendWindow.left -= length;
    this.window.left -= length;
    this.frames++;
    const isEnd = stream.unsent === 0 && stream.endsAfterQueue;
    writeDataHeader(this.#output, stream.id, length, isEnd);
    this.#writePayload(stream, length);
    if (stream.wantsDrain && this.#hasDrained(stream)) {
      stream.wantsDrain = false;
      this.#drained.push(stream);
    }
    if (stream.unsent > 0) return;
    const { trailersAfterQueue } = stream;
    if (trailersAfterQueue !== undefined) this.#headers.writeTrailers(stream.id, trailersAfterQueue);
    if (isEnd || trailersAfterQueue !== undefined) this.#owner.onSent(stream);
  }

  /** A stream that has nothing queued is not kept waiting for others, whatever they have. */
  #hasDrained({ unsent }: Stream): boolean {
    if (unsent === 0) return true;
    return unsent <= STREAM_MARK_BYTES / 2 && this.queued <= CONNECTION_MARK_BYTES / 2;
  }

  #writePayload(stream: Stream, length: number): void {
    const { queue } = stream;
    let left = length;
    let index = 0;
    while (left > 0) {
      const chunk = queue[index] as Uint8Array;
      const start = stream.queueOffset;
      const taken = Math.min(left, chunk.length - start);
      const isWhole = taken === chunk.length;
      this.#output.payload(isWhole ? chunk : viewOf(chunk, start, start + taken));
      left -= taken;
      if (start + taken === chunk.length) {
        index++;
        stream.queueOffset = 0;
      } else stream.queueOffset = start + taken;
    }
    if (index === queue.length) stream.queue = [];
    else if (index > 0) queue.splice(0, index);
  }
}
