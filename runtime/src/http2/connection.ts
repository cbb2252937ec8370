/**
 * An HTTP/2 connection (RFC 9113) without I/O: `receive` takes input, `take` returns output, and `tick` advances time. It has
 * streams, a receiver of frames and a role, and contains what is common to clients and servers.
 *
 *     open ── goAway, GOAWAY ──> leaving ── fail, lost, last stream ──> over
 */

import { Output, type OutputOwner, type Segments, viewOf } from "../wire/output.ts";
import { ConnectionError, ErrorCode, MAX_31_BITS } from "./codes.ts";
import { ControlFrames, type ControlOwner } from "./control.ts";
import { ReceivedData } from "./data.ts";
import type { ConnectionHandler, PingKind, Role } from "./events.ts";
import { type HeadersFrame, writeGoAway, writeSettings } from "./frame.ts";
import { HeaderReader } from "./header-reader.ts";
import { DEFAULT_LIMITS, type EngineLimits, Glitch, Meters } from "./limits.ts";
import { BlockKind } from "./messages.ts";
import { type HeadersHandler, Receiver } from "./receiver.ts";
import { PeerSettings } from "./settings.ts";
import { Action, type EngineStream, ON_HEADERS } from "./stream.ts";
import { Streams, type StreamsOwner } from "./streams.ts";

/** Options of a connection in either role. */
export interface EngineOptions {
  readonly output: OutputOwner;
  readonly limits?: EngineLimits | undefined;
  /** On a server, true if requests may have `:protocol` (RFC 8441). Default: false. */
  readonly allowsProtocol?: boolean | undefined;
}

export class EngineConnection implements HeadersHandler, ControlOwner, StreamsOwner {
  state: "open" | "leaving" | "over" = "open";
  /** Number of times that output has been taken. */
  takes = 0;
  /** The value of `takes` when HEADERS that open a stream were last written. */
  startedAt = -1;
  /** The number of keepalive PINGs that have been sent. */
  keepAlives = 0;
  readonly output: Output;
  readonly meters: Meters;
  readonly streams: Streams;
  readonly peer: PeerSettings;
  readonly reader: HeaderReader;
  readonly receiver: Receiver;
  readonly #role: Role;
  readonly #handler: ConnectionHandler;
  readonly #control: ControlFrames;
  #hasGoneAway = false;
  #openedBefore = 0;

  /** `preface` is written before our SETTINGS. */
  constructor(
    role: Role,
    handler: ConnectionHandler,
    options: EngineOptions,
    settings: readonly (readonly [id: number, value: number])[],
    preface?: Uint8Array,
  ) {
    const { isServer } = role;
    this.#role = role;
    this.#handler = handler;
    this.output = new Output(options.output);
    this.meters = new Meters(options.limits ?? DEFAULT_LIMITS, (problem) => {
      this.fail(ErrorCode.EnhanceYourCalm, problem);
    });
    this.streams = new Streams(this.output, this.meters, isServer, this);
    this.peer = new PeerSettings(!isServer);
    this.reader = new HeaderReader(this.meters);
    this.#control = new ControlFrames(this, role, handler);
    this.receiver = new Receiver(new ReceivedData(this.streams), this, this.#control, isServer);
    if (preface !== undefined) this.output.payload(preface);
    writeSettings(this.output, settings);
    this.streams.windows.announce();
  }

  get isOver(): boolean {
    return this.state === "over";
  }

  /** True if our SETTINGS wait for their acknowledgement (RFC 9113, section 6.5.3). */
  get awaitsSettingsAck(): boolean {
    return this.#control.settingsOwed > 0;
  }

  /** Bytes of output that have not been taken: queued DATA and written frames. */
  get unsent(): number {
    return this.streams.scheduler.queued + this.output.bytes;
  }

  /** Bytes of memory that output takes, each chunk in full. `isWriting`: the last output has not been written yet. */
  kept(isWriting: boolean): number {
    const { sent, finished } = this.streams.scheduler;
    return this.unsent + sent - (isWriting ? 0 : finished);
  }

  /** Bytes of written frames that have not been taken. */
  get framed(): number {
    return this.output.bytes;
  }

  /** Takes bytes: all, or about that many frames. Returns their number. Never throws; ignores input after the end. */
  receive(chunk: Uint8Array, frames: number = MAX_31_BITS): number {
    if (this.state === "over") return chunk.length;
    let taken = chunk.length;
    try {
      taken = this.receiver.receive(viewOf(chunk, 0, chunk.length), frames);
      if (!this.receiver.isStopped) this.#role.dispatch?.();
    } catch (reason) {
      if (reason instanceof ConnectionError) this.fail(reason.code, reason.message);
      else this.#end(ErrorCode.InternalError, "internal error", true, reason);
    }
    return taken;
  }

  /**
   * Handles the end of input. Incomplete messages fail; a server may still answer complete requests, within their windows. A
   * server that has ended its side of the socket answers no more requests.
   */
  receiveEnd(): void {
    if (this.state === "over") return;
    const { live, scheduler } = this.streams;
    if (this.#role.isServer) {
      this.state = "leaving";
      for (const stream of live.values()) if (!stream.ended) this.#lose(stream, ErrorCode.Cancel);
    }
    if (this.#role.isServer && live.size > 0) scheduler.end();
    else this.lost("the peer ended the connection");
  }

  /** Advances time, which refills the token buckets of the limits. */
  tick(elapsedMs: number): void {
    this.meters.tick(elapsedMs, this.streams.lastId);
    const { opened } = this.streams;
    if (opened === this.#openedBefore) this.reader.rest();
    this.#openedBefore = opened;
  }

  /** Queues all further DATA until output is taken again, because the socket accepts none. */
  block(): void {
    this.streams.scheduler.block();
  }

  /**
   * Returns all output, and adds queued DATA until there are `budget` bytes. A budget of 0 or less adds no DATA: the socket
   * then holds enough unsent output, and only control frames are returned.
   */
  take(budget: number): Segments {
    const { streams } = this;
    try {
      streams.windows.announce();
      streams.scheduler.run(budget);
      if (streams.scheduler.hasEnded) streams.resetStalled();
    } catch (reason) {
      this.#end(ErrorCode.InternalError, "internal error", true, reason);
    }
    const segments = this.output.take();
    this.takes++;
    // Acknowledgements and resets have been sent.
    if (budget > 0) this.meters.owed = 0;
    streams.scheduler.notify();
    return segments;
  }

  /** True if there is queued DATA that flow control allows to be sent. */
  get hasMore(): boolean {
    return this.streams.scheduler.isWaiting;
  }

  /** Sends a PING, whose acknowledgement is an event. Returns false if one of that kind is still unacknowledged. */
  ping(kind: PingKind): boolean {
    const isSent = this.state !== "over" && this.#control.ping(kind);
    if (isSent && kind === "keepalive") this.keepAlives++;
    return isSent;
  }

  /**
   * Sends GOAWAY (RFC 9113, section 6.8). For a graceful shutdown the first one announces the shutdown; the final one, after
   * the peer has received the first, names the last processed stream. Open streams continue.
   */
  goAway(isFinal: boolean): void {
    if (this.state === "over" || (this.#hasGoneAway && !isFinal)) return;
    this.state = "leaving";
    this.#hasGoneAway = true;
    writeGoAway(this.output, isFinal ? this.#role.lastProcessedId : MAX_31_BITS, ErrorCode.NoError, "");
    this.#role.onLeaving(isFinal);
  }

  /** Takes no more requests, because the stream ids are used up. */
  useUp(): void {
    this.state = "leaving";
    this.#handler.onEvent({ type: "goaway", code: ErrorCode.NoError });
    this.#role.onLeaving(false);
  }

  /** Ends the connection and all its streams, and sends the reason to the peer. */
  fail(code: number, text: string): void {
    this.#end(code, text, true, undefined);
  }

  /** Ends the connection after its socket was lost: nothing more can be sent. */
  lost(text: string): void {
    this.#end(ErrorCode.Cancel, text, false, undefined);
  }

  onStreamClosed(): void {
    const { streams } = this;
    if (streams.waiting.size > 0) this.#role.openWaiting?.();
    else if (streams.live.size === 0 && this.state === "leaving") this.#handler.onEvent({ type: "idle" });
  }

  #end(code: number, text: string, isLocal: boolean, cause: unknown): void {
    if (this.state === "over") return;
    this.state = "over";
    this.receiver.isStopped = true;
    // Requests whose HEADERS have not been taken are certainly not processed: their output is dropped.
    if (this.startedAt === this.takes) this.output.take();
    if (isLocal) writeGoAway(this.output, this.#role.lastProcessedId, code, text);
    // The event is emitted first, so that the owner knows the reason when its streams end.
    this.#handler.onEvent({ type: "over", code, text, isLocal, cause });
    for (const stream of this.streams.values()) this.#lose(stream, code);
  }

  /**
   * Ends a stream because the connection does. The server has certainly not processed the stream of a client if GOAWAY excludes
   * it, or if its frames have not been taken.
   */
  #lose(stream: EngineStream, code: number): void {
    const isUnprocessed = stream.id === 0 || stream.id > this.#control.peerLastStreamId || stream.takes === this.takes;
    this.streams.lose(stream, code, "connection", isUnprocessed && !this.#role.isServer);
  }

  onHeaders(frame: HeadersFrame): void {
    const { streams } = this;
    const stream = streams.live.get(frame.streamId);
    switch (ON_HEADERS[stream === undefined ? streams.stateOf(frame.streamId) : stream.state]) {
      case Action.Accept:
        if (stream?.hasHeaders) this.#onTrailers(stream, frame);
        else if (stream !== undefined) this.#role.onResponse?.(stream, frame);
        break;
      case Action.Open:
        this.#role.onRequest(frame);
        break;
      case Action.Closed:
        throw new ConnectionError(ErrorCode.StreamClosed, "HEADERS on a stream that has ended");
      case Action.Protocol:
        throw new ConnectionError(ErrorCode.ProtocolError, "HEADERS on a stream that was skipped");
      case Action.Reset:
        this.reader.read(frame, BlockKind.Ignored);
        streams.failClosed(frame.streamId);
        break;
      default:
        this.reader.read(frame, BlockKind.Ignored);
        if (!streams.closed.allowsBlock()) this.meters.glitch(Glitch.DeadBlock);
    }
  }

  #onTrailers(stream: EngineStream, frame: HeadersFrame): void {
    const { isEnd } = frame;
    const { fields } = this.reader.read(frame, BlockKind.Trailers);
    const { problem } = this.reader;
    if (problem === "too large") this.streams.fail(stream, ErrorCode.EnhanceYourCalm, isEnd);
    else if (!isEnd || problem !== undefined) this.streams.fail(stream, ErrorCode.ProtocolError, isEnd);
    else this.streams.endRemote(stream, fields);
  }
}
