/**
 * The streams of a connection: sending, flow control of received data, and closing.
 */
import { ClosedStreams } from "./closed-streams.ts";
import { DEFAULT_WINDOW_SIZE, ErrorCode } from "./codes.ts";
import type { OutputOwner } from "./events.ts";
import { ReceiveWindow } from "./flow-control.ts";
import { writeRstStream, writeWindowUpdate } from "./frame.ts";
import { HeadersTooLarge, HeaderWriter } from "./header-writer.ts";
import type { FieldList } from "./hpack/encoder.ts";
import { type EngineLimits, Glitch, Meters } from "./limits.ts";
import { Output } from "./output.ts";
import { Scheduler, type SchedulerOwner } from "./scheduler.ts";
import { State, type Stream, type StreamOwner } from "./stream.ts";
import { StreamTable } from "./stream-table.ts";

/**
 * Receive windows, in bytes. That of a stream bounds what is held for its reader; that of the connection is credited on
 * receipt, and bounds only what is on its way.
 */
export const STREAM_WINDOW_BYTES: number = 256 * 1024;
const CONNECTION_WINDOW_BYTES: number = 4 * 1024 * 1024;

export abstract class Streams implements StreamOwner, SchedulerOwner {
  /** Number of times that output has been taken. */
  protected takes = 0;
  protected readonly live: StreamTable = new StreamTable();
  protected readonly closedStreams: ClosedStreams = new ClosedStreams();
  protected readonly output: Output;
  protected readonly headers: HeaderWriter;
  protected readonly scheduler: Scheduler;
  protected readonly meters: Meters;
  protected readonly receiveWindow: ReceiveWindow = new ReceiveWindow(DEFAULT_WINDOW_SIZE);
  /** Size of the header blocks of open streams. */
  protected blockBytes = 0;
  /** Streams whose windows are to be announced. */
  #announcing: Stream[] | undefined;

  constructor(owner: OutputOwner, limits: EngineLimits) {
    this.output = new Output(owner);
    this.headers = new HeaderWriter(this.output);
    this.scheduler = new Scheduler(this.output, this.headers, this, DEFAULT_WINDOW_SIZE);
    this.meters = new Meters(limits);
    this.receiveWindow.grow(CONNECTION_WINDOW_BYTES);
  }

  /** Bytes of output that have not been taken: queued DATA and written frames. */
  get unsent(): number {
    return this.scheduler.queued + this.output.bytes;
  }

  /** Bytes of written frames that have not been taken. */
  get framed(): number {
    return this.output.bytes;
  }

  /** Queues all further DATA until output is taken again, because the socket accepts none. */
  block(): void {
    this.scheduler.block();
  }

  /** Ends the connection with ENHANCE_YOUR_CALM, if there is a problem. */
  protected abstract exceed(problem: string | undefined): void;
  protected abstract onStreamClosed(): void;
  /** Called when this side has ended a stream that the peer has not ended. */
  protected abstract onHalfLocal(stream: Stream): void;

  sendInformational(stream: Stream, status: number, headers: FieldList): void {
    if (stream.hasSentHeaders) return;
    try {
      this.headers.writeResponse(stream.id, status, headers, false);
    } catch (reason) {
      // An interim response that the peer does not accept is not needed.
      if (!(reason instanceof HeadersTooLarge)) throw reason;
    }
  }

  respond(
    stream: Stream,
    status: number,
    headers: FieldList,
    body: Uint8Array | undefined,
    trailers: FieldList | undefined,
    isEnd: boolean,
  ): void {
    if (stream.hasSentHeaders) throw new Error("the stream already has a response");
    const hasBody = body !== undefined && body.length > 0;
    const isLast = isEnd && trailers === undefined;
    try {
      if (trailers !== undefined) this.headers.check(trailers);
      this.headers.writeResponse(stream.id, status, headers, isLast && !hasBody);
    } catch (reason) {
      // A peer that accepts almost no headers causes work without progress (CVE-2026-50560).
      if (reason instanceof HeadersTooLarge) this.exceed(this.meters.reset());
      throw reason;
    }
    stream.hasSentHeaders = true;
    if (hasBody) this.scheduler.sendNow(stream, body, isLast);
    else if (isLast) this.onSent(stream);
    if (trailers !== undefined) this.sendTrailers(stream, trailers);
  }

  sendData(stream: Stream, bytes: Uint8Array, isEnd: boolean): boolean {
    return this.scheduler.queue(stream, bytes, isEnd);
  }

  sendTrailers(stream: Stream, trailers: FieldList): void {
    if (stream.unsent === 0 && stream.id !== 0) {
      this.headers.writeTrailers(stream.id, trailers);
      this.onSent(stream);
      return;
    }
    this.headers.check(trailers);
    // A list that has been checked must not change before it is sent.
    stream.trailersAfterQueue = trailers.frozen ? trailers : { raw: [...trailers.raw], frozen: false };
  }

  reset(stream: Stream, code: number): void {
    // The peer has not caused it, so it does not count as owed.
    writeRstStream(this.output, stream.id, code);
    this.close(stream, State.WeReset);
  }

  /** Handles a stream whose last frame has been written. */
  onSent(stream: Stream): void {
    if (stream.state === State.HalfRemote) this.close(stream, State.Ended);
    else {
      stream.state = State.HalfLocal;
      this.onHalfLocal(stream);
    }
  }

  onUnsendable(stream: Stream): void {
    this.failStream(stream, ErrorCode.InternalError);
  }

  onDribble(): void {
    this.exceed(this.meters.glitch(Glitch.Dribble));
  }

  /** Sends RST_STREAM because of the peer's behaviour, without notifying a sink. */
  protected sendReset(streamId: number, code: number): void {
    writeRstStream(this.output, streamId, code);
    this.exceed(this.meters.owe());
  }

  /**
   * Ignores a frame on a closed stream. It is a glitch unless the peer may have sent it before it knew of the end of
   * the stream.
   */
  protected ignore(isExpected: boolean, weight: number): void {
    if (!isExpected) this.exceed(this.meters.glitch(weight));
  }

  /**
   * Answers a frame on a stream whose side the peer has ended or reset with a stream error. After that the stream is closed,
   * and frames on it are ignored.
   */
  protected failClosed(streamId: number): void {
    const stream = this.live.get(streamId);
    if (stream !== undefined) {
      this.failStream(stream, ErrorCode.StreamClosed, false);
      return;
    }
    this.closedStreams.add(streamId, State.WeReset, STREAM_WINDOW_BYTES);
    this.sendReset(streamId, ErrorCode.StreamClosed);
    this.exceed(this.meters.reset());
  }

  /**
   * Resets a stream because of the peer's behaviour: a stream error (RFC 9113, section 5.4.2). `isEnd` is true if the
   * peer has ended its side.
   */
  protected failStream(stream: Stream, code: number, isEnd: boolean = stream.ended): void {
    this.exceed(this.meters.reset());
    if (stream.closed) return;
    this.sendReset(stream.id, code);
    stream.sink.onReset(code, "engine", false);
    this.close(stream, State.WeReset, isEnd);
  }

  /**
   * Closes a stream and releases its resources. `isEnd` is true if it is reset for a violation after the peer has ended its
   * side: the peer can then have sent nothing that crossed our reset. After a reset on request, later frames are
   * ignored in any case, so that they do not end the other streams.
   */
  protected close(stream: Stream, state: State, isEnd = false): void {
    if (stream.closed) return;
    stream.closed = true;
    stream.state = state;
    this.live.delete(stream.id);
    const finalState = state === State.WeReset && isEnd ? State.Ended : state;
    this.closedStreams.add(stream.id, finalState, stream.ended ? 0 : stream.receiveWindow.left);
    this.scheduler.drop(stream);
    this.blockBytes -= stream.blockSize;
    stream.sink.onClosed();
    this.onStreamClosed();
  }

  /**
   * Writes queued DATA until the output has `budget` bytes. After the end of input, streams whose data waits for a window are
   * reset: no WINDOW_UPDATE can follow.
   */
  protected sendQueued(budget: number): void {
    this.scheduler.run(budget);
    if (!this.scheduler.hasEnded) return;
    for (const stream of this.live.values()) {
      if (this.scheduler.mayEverSend(stream)) continue;
      writeRstStream(this.output, stream.id, ErrorCode.Cancel);
      stream.sink.onReset(ErrorCode.Cancel, "connection", false);
      this.close(stream, State.WeReset);
    }
  }

  /** Returns bytes to the receive window of the connection. */
  credit(bytes: number): void {
    if (this.receiveWindow.give(bytes)) this.output.wake();
  }

  /** Returns bytes to the receive window of a stream, unless the peer will send no more. */
  creditStream(stream: Stream, bytes: number): void {
    if (stream.closed || stream.ended || !stream.receiveWindow.give(bytes) || stream.isAnnouncing) return;
    stream.isAnnouncing = true;
    this.#announcing ??= [];
    this.#announcing.push(stream);
    this.output.wake();
  }

  /** Writes all due WINDOW_UPDATE frames, one for the connection and one for each stream. */
  protected announceWindows(): void {
    const window = this.receiveWindow;
    if (window.credit >= window.size / 2) writeWindowUpdate(this.output, 0, window.announce());
    if (this.#announcing === undefined) return;
    for (const stream of this.#announcing) {
      stream.isAnnouncing = false;
      if (!stream.closed && !stream.ended) writeWindowUpdate(this.output, stream.id, stream.receiveWindow.announce());
    }
    this.#announcing = undefined;
  }
}
