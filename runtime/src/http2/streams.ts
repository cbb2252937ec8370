/**
 * The streams of a connection: those that are open, that wait to be opened, and that have closed, and how they close.
 */

import type { SentHead } from "../wire/fields.ts";
import type { Output } from "../wire/output.ts";
import { ClosedStreams } from "./closed-streams.ts";
import { ErrorCode } from "./codes.ts";
import { STREAM_WINDOW_BYTES } from "./flow-control.ts";
import { writeRstStream } from "./frame.ts";
import { HeaderWriter } from "./header-writer.ts";
import type { Meters } from "./limits.ts";
import { Scheduler } from "./scheduler.ts";
import { type EngineStream, State, type StreamOwner } from "./stream.ts";
import { StreamTable } from "./stream-table.ts";
import { ReceiveWindows } from "./windows.ts";

/** The connection of streams. */
export interface StreamsOwner {
  /** Called after each stream that closes. */
  onStreamClosed(): void;
}

export class Streams implements StreamOwner {
  /** Streams that are open, by id. */
  readonly live: StreamTable = new StreamTable();
  /**
   * Requests of a client whose streams have no id yet, in the order of their calls: ids must increase in the order in which
   * HEADERS are sent. Thousands may wait, and each may be cancelled: all is O(1).
   */
  readonly waiting: Map<EngineStream, SentHead> = new Map();
  readonly closed: ClosedStreams = new ClosedStreams();
  readonly meters: Meters;
  readonly headers: HeaderWriter;
  readonly scheduler: Scheduler;
  readonly windows: ReceiveWindows;
  /** The highest id that the client has opened. */
  lastId = 0;
  /** Number of streams that have been opened, and of those that were closed before the end of their responses. */
  opened = 0;
  aborted = 0;
  /** Size of the header blocks of open streams. */
  blockBytes = 0;
  readonly #output: Output;
  readonly #isServer: boolean;
  readonly #owner: StreamsOwner;

  constructor(output: Output, meters: Meters, isServer: boolean, owner: StreamsOwner) {
    this.#output = output;
    this.meters = meters;
    this.#isServer = isServer;
    this.#owner = owner;
    this.headers = new HeaderWriter(output);
    this.scheduler = new Scheduler(output);
    this.windows = new ReceiveWindows(output);
  }

  /** The number of streams that are open or wait to be opened. */
  get size(): number {
    return this.live.size + this.waiting.size;
  }

  /** The streams that have begun and ended. */
  get counts(): { readonly started: number; readonly succeeded: number; readonly failed: number } {
    const { opened: started, aborted: failed } = this;
    return { started, succeeded: started - failed - this.live.size, failed };
  }

  /** Returns the streams that have not closed. */
  values(): EngineStream[] {
    return [...this.live.values(), ...this.waiting.keys()];
  }

  /** Returns the state of a stream that is not open. */
  stateOf(streamId: number): State {
    return streamId % 2 === 0 || streamId > this.lastId ? State.Idle : this.closed.stateOf(streamId);
  }

  reset(stream: EngineStream, code: number): void {
    // The peer has not caused it, so it does not count as owed. The peer does not know a stream that waits.
    if (stream.id !== 0) writeRstStream(this.#output, stream.id, code);
    this.close(stream, State.WeReset);
  }

  /** Handles a stream whose last frame has been written. */
  onSent(stream: EngineStream): void {
    if (stream.state === State.HalfRemote) this.close(stream, State.Ended);
    else {
      stream.state = State.HalfLocal;
      if (this.#isServer) stream.sink.onRespondedEarly?.();
    }
  }

  /** Handles the end of a stream by the peer (half-closed, remote). */
  endRemote(stream: EngineStream, trailers: readonly string[] | undefined): void {
    if (stream.expected >= 0 && stream.received !== stream.expected) {
      // A response that has been sent still ends first: clients such as connect-go cut off requests that have been answered.
      if (stream.discardable !== undefined) {
        stream.state = State.HalfRemote;
        stream.sink.onEnd(undefined);
      }
      if (stream.closed) this.sendReset(stream.id, ErrorCode.ProtocolError);
      else this.fail(stream, ErrorCode.ProtocolError, true);
      return;
    }
    stream.ended = true;
    stream.trailers = trailers;
    const isOver = stream.state === State.HalfLocal;
    if (!isOver) stream.state = State.HalfRemote;
    if (stream.early === undefined) stream.sink.onEnd(trailers);
    if (isOver) this.close(stream, State.Ended);
  }

  /** Sends RST_STREAM because of the peer's behaviour, without notifying a sink. */
  sendReset(streamId: number, code: number): void {
    writeRstStream(this.#output, streamId, code);
    this.meters.owe();
  }

  /** Answers the peer's behaviour with a stream error (RFC 9113, section 5.4.2). `isEnd`: the peer has ended its side. */
  fail(stream: EngineStream, code: number, isEnd: boolean = stream.ended): void {
    this.meters.reset();
    if (stream.closed) return;
    this.sendReset(stream.id, code);
    stream.sink.onReset(code, "engine", false);
    this.close(stream, State.WeReset, isEnd);
  }

  /** Answers a frame on a stream that the peer has ended or reset with a stream error: later frames are ignored. */
  failClosed(streamId: number): void {
    const stream = this.live.get(streamId);
    if (stream !== undefined) {
      this.fail(stream, ErrorCode.StreamClosed, false);
      return;
    }
    this.closed.add(streamId, State.WeReset, STREAM_WINDOW_BYTES);
    this.sendReset(streamId, ErrorCode.StreamClosed);
    this.meters.reset();
  }

  /** Ends a stream early, because of a frame of the peer or the end of the connection, with a notification of its sink. */
  lose(stream: EngineStream, code: number, by: "peer" | "connection", isUnprocessed: boolean): void {
    if (stream.closed) return;
    stream.sink.onReset(code, by, isUnprocessed);
    this.close(stream, State.PeerReset);
  }

  /**
   * Closes a stream and releases its resources. `isEnd` is true if it is reset for a violation after the peer has ended its
   * side: a client can then have sent nothing that crossed our reset. After other resets, and on clients, later frames are
   * ignored (RFC 9113, section 5.1), so that they do not end the other streams.
   */
  close(stream: EngineStream, state: State, isEnd = false): void {
    if (stream.closed) return;
    // The end of the response counts: the one that a server has sent, or that a client has received.
    const isAnswered = this.#isServer ? stream.state === State.HalfLocal : stream.ended;
    if (stream.id !== 0 && state !== State.Ended && !isAnswered) this.aborted++;
    stream.closed = true;
    stream.state = state;
    if (stream.id === 0) this.waiting.delete(stream);
    else {
      this.live.delete(stream.id);
      const finalState = this.#isServer && isEnd && state === State.WeReset ? State.Ended : state;
      this.closed.add(stream.id, finalState, stream.ended ? 0 : stream.receiveWindow.left);
    }
    this.scheduler.drop(stream);
    this.blockBytes -= stream.blockSize;
    stream.sink.onClosed();
    this.#owner.onStreamClosed();
  }

  /** Resets streams whose data waits for a window, after the end of input: no WINDOW_UPDATE can follow. */
  resetStalled(): void {
    for (const stream of this.live.values()) {
      if (this.scheduler.mayEverSend(stream)) continue;
      writeRstStream(this.#output, stream.id, ErrorCode.Cancel);
      stream.sink.onReset(ErrorCode.Cancel, "connection", false);
      this.close(stream, State.WeReset);
    }
  }
}
