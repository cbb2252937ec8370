/**
 * Received DATA (RFC 9113, section 6.1): it is charged to the windows, compared with content-length, and passed on as it
 * arrives. Frames that our own DATA causes, and payloads that are skipped, have their limits here too.
 */
import { ConnectionError, ErrorCode } from "./codes.ts";
import { Glitch } from "./limits.ts";
import { Action, ON_DATA, State, type Stream } from "./stream.ts";
import { Streams } from "./streams.ts";

export abstract class DataStreams extends Streams {
  /** The stream of the DATA frame that is being received. `undefined`: the data is dropped. */
  #dataStream: Stream | undefined;
  /** Number of frames that our DATA may have caused: WINDOW_UPDATE, and PING to measure bandwidth. */
  #caused = 0;

  /** Returns the state of a stream that is not open. */
  protected abstract stateOf(streamId: number): State;

  /**
   * Accounts for a DATA frame. All of it, padding included, counts against both windows (section 6.9). It is returned to the
   * window of the connection here, so that a stream which is not read stops no other one (head-of-line blocking); the window
   * of the stream bounds what is held.
   */
  onDataStart(streamId: number, length: number, padding: number, isEnd: boolean): void {
    const size = length + padding;
    if (this.receiveWindow.charge(size)) throw flowControlError("the connection");
    this.credit(size);
    const stream = this.#streamOf(streamId, size);
    this.#dataStream = stream;
    if (stream !== undefined) {
      stream.hold(size);
      if (padding > 0) stream.consumed(padding);
      stream.received += length;
      if (!this.mayReceiveData(stream) || (stream.expected >= 0 && stream.received > stream.expected)) {
        this.failStream(stream, ErrorCode.ProtocolError, isEnd);
      }
    }
    if (length === 0 && !isEnd) this.exceed(this.meters.glitch(Glitch.EmptyData));
    if (padding > length) this.exceed(this.meters.glitch(Glitch.Padding));
  }

  /** Returns the stream that accepts DATA of this size; `undefined` if there is none. */
  #streamOf(streamId: number, size: number): Stream | undefined {
    const stream = this.live.get(streamId);
    switch (ON_DATA[stream === undefined ? this.stateOf(streamId) : stream.state]) {
      case Action.Accept:
        if (stream?.receiveWindow.charge(size)) throw flowControlError("a stream");
        return stream;
      case Action.Protocol:
        throw new ConnectionError(ErrorCode.ProtocolError, "DATA on an idle stream");
      case Action.Ignore:
        this.ignore(this.closedStreams.allowsData(size), Glitch.DeadStream);
        return undefined;
      default:
        this.failClosed(streamId);
        return undefined;
    }
  }

  protected mayReceiveData(_stream: Stream): boolean {
    return true;
  }

  onDataBytes(bytes: Uint8Array): void {
    const stream = this.#dataStream;
    if (stream === undefined || stream.closed || stream.discardable !== undefined) return;
    if (stream.early === undefined) stream.sink.onData(bytes);
    else stream.early.push(bytes);
  }

  onDataEnd(isEnd: boolean): void {
    const stream = this.#dataStream;
    this.#dataStream = undefined;
    if (isEnd && stream !== undefined && !stream.closed) this.endRemote(stream, undefined);
  }

  onUnknown(length: number): void {
    this.exceed(this.meters.glitch(Glitch.Unknown + Math.floor(length / 4_096)));
  }

  /**
   * Peers that receive DATA send WINDOW_UPDATE, and PING to measure bandwidth: two such frames for each of ours have no
   * weight.
   */
  protected countCaused(weight: number): void {
    if (this.#caused < 2 * this.scheduler.frames) this.#caused++;
    else this.exceed(this.meters.glitch(weight));
  }

  /** Handles the end of a stream by the peer (half-closed, remote). */
  protected endRemote(stream: Stream, trailers: readonly string[] | undefined): void {
    if (stream.expected >= 0 && stream.received !== stream.expected) {
      this.failStream(stream, ErrorCode.ProtocolError, true);
      return;
    }
    stream.ended = true;
    stream.trailers = trailers;
    const isOver = stream.state === State.HalfLocal;
    if (!isOver) stream.state = State.HalfRemote;
    if (stream.early === undefined) stream.sink.onEnd(trailers);
    if (isOver) this.close(stream, State.Ended);
  }
}

export function flowControlError(whose: string): ConnectionError {
  return new ConnectionError(ErrorCode.FlowControlError, `the window of ${whose} is exceeded`);
}
