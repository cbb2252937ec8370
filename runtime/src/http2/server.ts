/**
 * The server side of a connection. Requests are passed on at the end of the chunk that contained their headers: most are
 * complete by then, and those that were reset in the same chunk are never started.
 */
import { ConnectionError, ErrorCode, LAST_STREAM_ID, MAX_31_BITS, Setting } from "./codes.ts";
import { EngineConnection, type EngineOptions } from "./connection.ts";
import type { ServerHandler } from "./events.ts";
import { writeWindowUpdate } from "./frame.ts";
import { DEFAULT_LIMITS, type EngineLimits, Glitch, MAX_BUFFERED_BYTES } from "./limits.ts";
import { BlockKind } from "./messages.ts";
import { Action, NO_SINK, ON_HEADERS, State, Stream } from "./stream.ts";
import { STREAM_WINDOW_BYTES } from "./streams.ts";

/**
 * SETTINGS_MAX_HEADER_LIST_SIZE. It is advisory: a header block that is larger, up to 64 KiB, gets a response that
 * states the problem.
 */
const DEFAULT_HEADER_LIST_BYTES: number = 16 * 1024;

export class ServerConnection extends EngineConnection {
  readonly #handler: ServerHandler;
  readonly #limits: EngineLimits;
  /** The highest stream id that the client has opened. */
  #lastId = 0;
  /** Streams above this id are ignored after GOAWAY. */
  #lastAccepted = MAX_31_BITS;
  /** Streams whose requests have not been passed on yet. */
  #fresh: Stream[] | undefined;
  #handlers = 0;

  constructor(handler: ServerHandler, options: EngineOptions) {
    super(true, handler, options);
    this.#handler = handler;
    this.#limits = options.limits ?? DEFAULT_LIMITS;
    this.announce([
      [Setting.MaxConcurrentStreams, this.#limits.maxStreams],
      [Setting.InitialWindowSize, STREAM_WINDOW_BYTES],
      [Setting.MaxHeaderListSize, this.#limits.maxHeaderListBytes ?? DEFAULT_HEADER_LIST_BYTES],
      [Setting.NoRfc7540Priorities, 1],
    ]);
    writeWindowUpdate(this.output, 0, this.receiveWindow.announce());
  }

  /** The number of requests received. */
  get requests(): number {
    return this.opened;
  }

  /** Reports that a handler has ended, including everything that it left running. Must be called once for each request. */
  finished(): void {
    this.#handlers--;
  }

  protected get lastProcessedId(): number {
    return Math.min(this.#lastId, this.#lastAccepted);
  }

  protected stateOf(streamId: number): State {
    if (streamId % 2 === 0 || streamId > this.#lastId) return State.Idle;
    return this.closedStreams.stateOf(streamId);
  }

  protected isUnprocessed(): boolean {
    return false;
  }

  protected onSettings(): void {}

  protected onPeerLeaving(): void {}

  protected onLeaving(isFinal: boolean): void {
    if (isFinal) this.#lastAccepted = Math.min(this.#lastAccepted, this.#lastId);
  }

  protected onOver(): void {}

  protected onHalfLocal(stream: Stream): void {
    stream.sink.onRespondedEarly();
  }

  protected onPeerReset(stream: Stream, code: number): void {
    // After a complete response, a reset costs no more than the end of the request would have.
    if (stream.state !== State.HalfLocal) this.exceed(this.meters.reset());
    if (stream.closed) return;
    stream.sink.onReset(code, "peer", false);
    this.close(stream, State.PeerReset);
  }

  onHeaders(streamId: number, isEnd: boolean, bytes: Uint8Array, start: number, end: number, dependsOn: number): void {
    const stream = this.live.get(streamId);
    switch (ON_HEADERS[stream === undefined ? this.stateOf(streamId) : stream.state]) {
      case Action.Accept:
        if (stream !== undefined) this.#onTrailers(stream, isEnd, bytes, start, end, dependsOn);
        break;
      case Action.Open:
        this.#onRequest(streamId, isEnd, bytes, start, end, dependsOn);
        break;
      case Action.Closed:
        throw new ConnectionError(ErrorCode.StreamClosed, "HEADERS on a stream that has ended");
      case Action.Protocol:
        throw new ConnectionError(ErrorCode.ProtocolError, "HEADERS on a stream that was skipped");
      case Action.Reset:
        this.read(bytes, start, end, BlockKind.Ignored);
        this.failClosed(streamId);
        break;
      default:
        this.read(bytes, start, end, BlockKind.Ignored);
        this.ignore(this.closedStreams.allowsBlock(), Glitch.DeadBlock);
    }
  }

  #onTrailers(stream: Stream, isEnd: boolean, bytes: Uint8Array, start: number, end: number, dependsOn: number): void {
    const { fields } = this.read(bytes, start, end, BlockKind.Trailers);
    if (this.problem === "too large") this.failStream(stream, ErrorCode.EnhanceYourCalm, isEnd);
    else if (!isEnd || this.problem !== undefined || dependsOn === stream.id) {
      this.failStream(stream, ErrorCode.ProtocolError, isEnd);
    } else this.endRemote(stream, fields);
  }

  #onRequest(streamId: number, isEnd: boolean, bytes: Uint8Array, start: number, end: number, dependsOn: number): void {
    if (streamId % 2 === 0) throw new ConnectionError(ErrorCode.ProtocolError, "a client opened an even stream");
    this.#lastId = streamId;
    const block = this.read(bytes, start, end, BlockKind.Request);
    if (streamId > this.#lastAccepted) {
      this.exceed(this.meters.glitch(Glitch.Refused));
      this.#forget(streamId, isEnd);
      return;
    }
    if (this.problem !== undefined || dependsOn === streamId) {
      this.exceed(this.meters.reset());
      this.#refuse(streamId, this.problem === "too large" ? ErrorCode.EnhanceYourCalm : ErrorCode.ProtocolError, isEnd);
      return;
    }
    if (this.live.size >= this.#limits.maxStreams || this.buffered > MAX_BUFFERED_BYTES) {
      // A client that has not received our settings may not know the limit.
      const weight = this.settingsOwed > 0 ? Glitch.RefusedEarly : Glitch.Refused;
      this.exceed(this.meters.glitch(weight));
      this.#refuse(streamId, ErrorCode.RefusedStream, isEnd);
      return;
    }
    const stream = new Stream(this, streamId, NO_SINK, this.peer.windowSize, STREAM_WINDOW_BYTES);
    stream.state = State.Open;
    stream.expected = block.contentLength;
    stream.blockSize = block.size;
    stream.block = block;
    stream.early = [];
    this.blockBytes += block.size;
    this.opened++;
    this.live.add(stream);
    if (this.#fresh === undefined) this.#fresh = [stream];
    else this.#fresh.push(stream);
    if (isEnd) this.endRemote(stream, undefined);
    if (streamId > LAST_STREAM_ID) this.goAway(ErrorCode.NoError, false);
  }

  /** Refuses a request by a reset, without making a stream for it. */
  #refuse(streamId: number, code: number, isEnd: boolean): void {
    this.#forget(streamId, isEnd);
    if (!this.isOver) this.sendReset(streamId, code);
  }

  /** Closes a stream for which there is no object. What the client sends on it is ignored. */
  #forget(streamId: number, isEnd: boolean): void {
    this.closedStreams.add(streamId, isEnd ? State.Ended : State.WeReset, STREAM_WINDOW_BYTES);
  }

  protected dispatch(): void {
    const fresh = this.#fresh;
    if (fresh === undefined) return;
    this.#fresh = undefined;
    for (const stream of fresh) {
      const { early = [], block } = stream;
      stream.early = undefined;
      stream.block = undefined;
      if (stream.closed || block === undefined || this.isOver) continue;
      if (this.#handlers >= this.#limits.maxHandlers) {
        this.exceed(this.meters.glitch(Glitch.Refused));
        stream.reset(ErrorCode.RefusedStream);
        continue;
      }
      this.#handlers++;
      this.#handler.onRequest(stream, block, early);
      if (stream.ended && !stream.closed) stream.sink.onEnd(stream.trailers);
    }
  }
}
