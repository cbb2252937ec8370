/**
 * The server's role on a connection. Requests are passed on at the end of the chunk that contained their headers: most are
 * complete by then, and those that were reset in the same chunk are never started.
 */
import { ConnectionError, ErrorCode, LAST_STREAM_ID, MAX_31_BITS, Setting } from "./codes.ts";
import { EngineConnection, type EngineOptions } from "./connection.ts";
import type { Role, ServerHandler } from "./events.ts";
import { STREAM_WINDOW_BYTES } from "./flow-control.ts";
import type { HeadersFrame } from "./frame.ts";
import { DEFAULT_LIMITS, type EngineLimits, Glitch, MAX_BUFFERED_BYTES } from "./limits.ts";
import { BlockKind } from "./messages.ts";
import { EngineStream, NO_SINK, State } from "./stream.ts";
import type { Streams } from "./streams.ts";

/** SETTINGS_MAX_HEADER_LIST_SIZE, which is advisory: larger blocks, up to 64 KiB, get a response that says so. */
const DEFAULT_HEADER_LIST_BYTES: number = 16 * 1024;

export class ServerRole implements Role {
  readonly isServer = true;
  readonly connection: EngineConnection;
  readonly #streams: Streams;
  readonly #handler: ServerHandler;
  readonly #limits: EngineLimits;
  readonly #allowsProtocol: boolean;
  /** Streams above this id are ignored after GOAWAY. */
  #lastAccepted = MAX_31_BITS;
  /** Streams whose requests have not been passed on yet. */
  #fresh: EngineStream[] | undefined;
  #handlers = 0;

  constructor(handler: ServerHandler, options: EngineOptions) {
    this.#handler = handler;
    this.#limits = options.limits ?? DEFAULT_LIMITS;
    this.#allowsProtocol = options.allowsProtocol === true;
    this.connection = new EngineConnection(this, handler, options, [
      [Setting.MaxConcurrentStreams, Math.ceil(Math.min(this.#limits.maxStreams, MAX_31_BITS))],
      [Setting.InitialWindowSize, STREAM_WINDOW_BYTES],
      [Setting.MaxHeaderListSize, this.#limits.maxHeaderListBytes ?? DEFAULT_HEADER_LIST_BYTES],
      [Setting.NoRfc7540Priorities, 1],
      ...(this.#allowsProtocol ? [[Setting.EnableConnectProtocol, 1] as const] : []),
    ]);
    this.#streams = this.connection.streams;
  }

  /** Reports that a handler has ended, including everything that it left running. Must be called once for each request. */
  finished(): void {
    this.#handlers--;
  }

  get lastProcessedId(): number {
    return Math.min(this.#streams.lastId, this.#lastAccepted);
  }

  onLeaving(isFinal: boolean): void {
    if (isFinal) this.#lastAccepted = this.lastProcessedId;
  }

  onRequest(frame: HeadersFrame): void {
    const { streamId, isEnd } = frame;
    const { connection } = this;
    const streams = this.#streams;
    if (streamId % 2 === 0) throw new ConnectionError(ErrorCode.ProtocolError, "a client opened an even stream");
    streams.lastId = streamId;
    const block = connection.reader.read(frame, BlockKind.Request);
    if (streamId > this.#lastAccepted) {
      connection.meters.glitch(Glitch.Refused);
      this.#forget(streamId, isEnd);
      return;
    }
    if (connection.reader.problem !== undefined || (block.protocol !== "" && !this.#allowsProtocol)) {
      connection.meters.reset();
      const isTooLarge = connection.reader.problem === "too large";
      this.#refuse(streamId, isTooLarge ? ErrorCode.EnhanceYourCalm : ErrorCode.ProtocolError, isEnd);
      return;
    }
    if (streams.live.size >= this.#limits.maxStreams || streams.blockBytes + connection.unsent > MAX_BUFFERED_BYTES) {
      // A client that has not received our settings may not know the limit.
      connection.meters.glitch(connection.awaitsSettingsAck ? Glitch.RefusedEarly : Glitch.Refused);
      this.#refuse(streamId, ErrorCode.RefusedStream, isEnd);
      return;
    }
    const stream = new EngineStream(streams, streamId, NO_SINK, connection.peer.windowSize);
    stream.state = State.Open;
    stream.hasHeaders = true;
    stream.expected = block.contentLength;
    stream.blockSize = block.size;
    stream.block = block;
    stream.early = [];
    streams.blockBytes += block.size;
    streams.opened++;
    streams.live.add(stream);
    if (this.#fresh === undefined) this.#fresh = [stream];
    else this.#fresh.push(stream);
    if (isEnd) streams.endRemote(stream, undefined);
    if (streamId > LAST_STREAM_ID) connection.goAway(false);
  }

  /** Refuses a request by a reset, without making a stream for it. */
  #refuse(streamId: number, code: number, isEnd: boolean): void {
    this.#forget(streamId, isEnd);
    if (!this.connection.isOver) this.#streams.sendReset(streamId, code);
  }

  /** Closes a stream for which there is no object. What the client sends on it is ignored. */
  #forget(streamId: number, isEnd: boolean): void {
    this.#streams.closed.add(streamId, isEnd ? State.Ended : State.WeReset, STREAM_WINDOW_BYTES);
  }

  dispatch(): void {
    const fresh = this.#fresh;
    if (fresh === undefined) return;
    this.#fresh = undefined;
    const { connection } = this;
    for (const stream of fresh) {
      const { early = [], block } = stream;
      stream.early = undefined;
      stream.block = undefined;
      if (stream.closed || block === undefined || connection.state === "over") continue;
      if (this.#handlers >= this.#limits.maxHandlers) {
        connection.meters.owe();
        stream.reset(ErrorCode.RefusedStream);
        continue;
      }
      this.#handlers++;
      this.#handler.onRequest(stream, block, early);
      if (stream.ended && !stream.closed) stream.sink.onEnd(stream.trailers);
    }
  }
}
