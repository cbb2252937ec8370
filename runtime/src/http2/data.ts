/**
 * Received DATA (RFC 9113, section 6.1): it is charged to the windows, compared with content-length, and passed on as it
 * arrives.
 */
import { ConnectionError, ErrorCode } from "./codes.ts";
import { flowControlError } from "./flow-control.ts";
import { Glitch } from "./limits.ts";
import { Action, type EngineStream, ON_DATA } from "./stream.ts";
import type { Streams } from "./streams.ts";

export class ReceivedData {
  readonly #streams: Streams;
  /** The stream of the DATA frame that is being received. `undefined`: the data is dropped. */
  #stream: EngineStream | undefined;

  constructor(streams: Streams) {
    this.#streams = streams;
  }

  /** Accounts for a DATA frame, which counts against both windows, padding included (RFC 9113, section 6.9). */
  onDataStart(streamId: number, length: number, padding: number, isEnd: boolean): void {
    const size = length + padding;
    this.#streams.windows.charge(size);
    const stream = this.#streamOf(streamId, size);
    this.#stream = stream;
    if (stream !== undefined) {
      stream.receiveWindow.left -= size;
      if (stream.receiveWindow.left < 0) throw flowControlError("a stream");
      stream.hold(size);
      if (padding > 0) stream.consumed(padding);
      stream.received += length;
      // DATA must follow the header block of a final response (section 8.1).
      if (!stream.hasHeaders || (stream.expected >= 0 && stream.received > stream.expected)) {
        this.#streams.fail(stream, ErrorCode.ProtocolError, isEnd);
      }
    }
    if (length === 0 && !isEnd) this.#streams.meters.glitch(Glitch.EmptyData);
    if (padding > length) this.#streams.meters.glitch(Glitch.Padding);
  }

  /** Returns the stream that accepts DATA of this size; `undefined` if there is none. */
  #streamOf(streamId: number, size: number): EngineStream | undefined {
    const streams = this.#streams;
    const stream = streams.live.get(streamId);
    switch (ON_DATA[stream === undefined ? streams.stateOf(streamId) : stream.state]) {
      case Action.Accept:
        return stream;
      case Action.Protocol:
        throw new ConnectionError(ErrorCode.ProtocolError, "DATA on an idle stream");
      case Action.Ignore:
        if (!streams.closed.allowsData(size)) streams.meters.glitch(Glitch.DeadStream);
        return undefined;
      default:
        streams.failClosed(streamId);
        return undefined;
    }
  }

  /** Passes on a part of the data. */
  onDataBytes(bytes: Uint8Array): void {
    const stream = this.#stream;
    if (stream === undefined || stream.closed || stream.discardable !== undefined) return;
    if (stream.early === undefined) stream.sink.onData(bytes);
    else stream.early.push(bytes);
  }

  onDataEnd(isEnd: boolean): void {
    const stream = this.#stream;
    this.#stream = undefined;
    if (isEnd && stream !== undefined && !stream.closed) this.#streams.endRemote(stream, undefined);
  }
}
