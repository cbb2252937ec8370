/**
 * An HTTP/2 connection (RFC 9113) without I/O: `receive` takes input, `take` returns output, and `tick` advances time. This
 * class contains the part that is common to clients and servers.
 *
 *     open ── goAway, GOAWAY ──> leaving ── fail, lost, last stream ──> over
 */
import { ConnectionError, ErrorCode, Flag, FrameType, MAX_31_BITS, viewOf } from "./codes.ts";
import { DataStreams, flowControlError } from "./data.ts";
import type { ConnectionEvent, ConnectionHandler, OutputOwner, PingKind, Segments } from "./events.ts";
import { readUint31, readUint32, writeGoAway, writePing, writeSettings, writeSettingsAck } from "./frame.ts";
import { HeaderReader } from "./header-reader.ts";
import type { Latin1Decoder } from "./hpack/decoder.ts";
import { DEFAULT_LIMITS, type EngineLimits, Glitch } from "./limits.ts";
import type { BlockKind, HeaderBlock } from "./messages.ts";
import { Pings } from "./pings.ts";
import { type FrameHandler, Receiver } from "./receiver.ts";
import { PeerSettings } from "./settings.ts";
import { Action, ON_RESET, ON_WINDOW_UPDATE, State, type Stream } from "./stream.ts";

/** Options of a connection in either role. */
export interface EngineOptions {
  readonly output: OutputOwner;
  readonly limits?: EngineLimits | undefined;
  /** The platform's fast conversion of Latin-1 bytes to a string, if it has one. */
  readonly latin1?: Latin1Decoder | undefined;
}

export abstract class EngineConnection extends DataStreams implements FrameHandler {
  state: "open" | "leaving" | "over" = "open";
  /** The last stream that the peer has processed or may still process, according to its GOAWAY. */
  protected peerLastStreamId: number = MAX_31_BITS;
  protected readonly peer: PeerSettings;
  protected readonly receiver: Receiver;
  protected settingsSeen = false;
  /** The number of our SETTINGS frames that the peer has not acknowledged. */
  protected settingsOwed = 0;
  readonly #handler: ConnectionHandler;
  readonly #reader: HeaderReader;
  readonly #pings = new Pings();
  #hasGoneAway = false;
  #goAways = 0;
  #streamsBefore = 0;
  protected opened = 0;

  constructor(isServer: boolean, handler: ConnectionHandler, options: EngineOptions) {
    super(options.output, options.limits ?? DEFAULT_LIMITS);
    this.#handler = handler;
    this.#reader = new HeaderReader(options.latin1);
    this.peer = new PeerSettings(!isServer);
    this.receiver = new Receiver(this, isServer);
  }

  /** The highest stream id of the peer that was processed, for GOAWAY. */
  protected abstract readonly lastProcessedId: number;
  /** Passes on the requests of the received chunk. */
  protected abstract dispatch(): void;
  protected abstract onPeerReset(stream: Stream, code: number): void;
  protected abstract onSettings(): void;
  protected abstract onPeerLeaving(): void;
  protected abstract isUnprocessed(stream: Stream): boolean;
  abstract onHeaders(
    streamId: number,
    isEnd: boolean,
    bytes: Uint8Array,
    start: number,
    end: number,
    dependsOn: number,
  ): void;

  /** The number of open streams. */
  get streams(): number {
    return this.live.size;
  }

  /** The number of concurrent streams that the peer allows. */
  get peerMaxStreams(): number {
    return this.peer.maxStreams;
  }

  get isOver(): boolean {
    return this.state === "over";
  }

  /** True if the preface, a header block or a frame other than DATA has begun and is not whole. */
  get isMidway(): boolean {
    return this.receiver.isMidway;
  }

  /** The number of frames and header blocks that have been received. */
  get framesReceived(): number {
    return this.receiver.completed;
  }

  /** True if our SETTINGS wait for their acknowledgement (RFC 9113, section 6.5.3). */
  get awaitsSettingsAck(): boolean {
    return this.settingsOwed > 0;
  }

  /** Bytes that are buffered for the peer: headers of open streams, output that waits to be sent, and incomplete input. */
  get buffered(): number {
    return this.blockBytes + this.scheduler.queued + this.output.bytes + this.receiver.held + this.#reader.held;
  }

  /**
   * Takes received bytes: all of them, or about that many frames. Returns the number of bytes taken. Never throws.
   * After the end of the connection it ignores them.
   */
  receive(chunk: Uint8Array, frames: number = MAX_31_BITS): number {
    if (this.state === "over") return chunk.length;
    let taken = chunk.length;
    try {
      taken = this.receiver.receive(viewOf(chunk, 0, chunk.length), frames);
      if (!this.isOver) this.dispatch();
    } catch (reason) {
      if (reason instanceof ConnectionError) this.fail(reason.code, reason.message);
      else this.#end(ErrorCode.InternalError, "internal error", true, reason);
    }
    return taken;
  }

  /** Handles the end of input. Incomplete messages fail; complete requests may still be answered, within their windows. */
  receiveEnd(): void {
    if (this.state === "over") return;
    this.state = "leaving";
    for (const stream of this.live.values()) if (!stream.ended) this.#lose(stream, ErrorCode.Cancel);
    if (this.live.size === 0) this.lost("the peer ended the connection");
    else this.scheduler.end();
  }

  /** Advances time, which refills the token buckets of the limits. */
  tick(elapsedMs: number): void {
    this.meters.tick(elapsedMs);
    if (this.opened === this.#streamsBefore) this.#reader.rest();
    this.#streamsBefore = this.opened;
  }

  /**
   * Returns all output, and adds queued DATA until there are `budget` bytes. A budget of 0 or less adds no DATA: the socket
   * then holds enough unsent output, and only control frames are returned.
   */
  take(budget: number): Segments {
    try {
      this.announceWindows();
      this.sendQueued(budget);
    } catch (reason) {
      this.#end(ErrorCode.InternalError, "internal error", true, reason);
    }
    const segments = this.output.take();
    this.takes++;
    if (budget > 0) this.meters.paid();
    this.scheduler.notify();
    return segments;
  }

  /** True if there is queued DATA that flow control allows to be sent. */
  get hasMore(): boolean {
    return this.scheduler.isWaiting;
  }

  /** Sends a PING, whose acknowledgement is an event. Returns false if one of that kind is still unacknowledged. */
  ping(kind: PingKind): boolean {
    return this.state !== "over" && this.#pings.send(this.output, kind);
  }

  /**
   * Sends GOAWAY (RFC 9113, section 6.8). For a graceful shutdown the first one announces the shutdown; the final one, after
   * the peer has received the first, names the last processed stream. Open streams continue.
   */
  goAway(code: number, isFinal: boolean): void {
    if (this.state === "over" || (this.#hasGoneAway && !isFinal)) return;
    this.state = "leaving";
    this.#hasGoneAway = true;
    writeGoAway(this.output, isFinal ? this.lastProcessedId : MAX_31_BITS, code, "");
    this.onLeaving(isFinal);
  }

  /** Ends the connection and all its streams, and sends the reason to the peer. */
  fail(code: number, text: string): void {
    this.#end(code, text, true, undefined);
  }

  /** Ends the connection after its socket was lost: nothing more can be sent. */
  lost(text: string): void {
    this.#end(ErrorCode.Cancel, text, false, undefined);
  }

  /** Called when this side has sent GOAWAY, final or not. */
  protected abstract onLeaving(isFinal: boolean): void;
  /** Called when the connection is over, before the last GOAWAY is written. */
  protected abstract onOver(): void;
  protected exceed(problem: string | undefined): void {
    if (problem !== undefined) this.fail(ErrorCode.EnhanceYourCalm, problem);
  }

  protected onStreamClosed(): void {
    if (this.live.size === 0 && this.state !== "over") this.emit({ type: "idle" });
  }

  protected emit(event: ConnectionEvent): void {
    this.#handler.onEvent(event);
  }

  /** Sends our SETTINGS. */
  protected announce(settings: readonly (readonly [id: number, value: number])[]): void {
    writeSettings(this.output, settings);
    this.settingsOwed++;
  }

  /**
   * Decodes a header block. Every block must be decoded, because it changes the state of the HPACK decoder for the next
   * one.
   */
  protected read(bytes: Uint8Array, start: number, end: number, kind: BlockKind): HeaderBlock {
    const block = this.#reader.read(bytes, start, end, kind);
    const { updates } = this.#reader;
    const problem = updates > 0 ? this.meters.glitch(Glitch.TableSize * updates) : undefined;
    // The caller must not handle the block of a connection that is over.
    if (problem !== undefined) throw new ConnectionError(ErrorCode.EnhanceYourCalm, problem);
    return block;
  }

  /** The problem of the last header block that was decoded. */
  protected get problem(): "malformed" | "too large" | undefined {
    return this.#reader.problem;
  }

  #end(code: number, text: string, isLocal: boolean, cause: unknown): void {
    if (this.state === "over") return;
    this.state = "over";
    this.onOver();
    if (isLocal) writeGoAway(this.output, this.lastProcessedId, code, text);
    // The event is emitted first, so that the owner knows the reason when its streams end.
    this.emit({ type: "over", code, text, isLocal, cause });
    for (const stream of this.openStreams()) this.#lose(stream, code);
  }

  /** Returns the streams that have not ended. */
  protected openStreams(): Stream[] {
    return this.live.values();
  }

  #lose(stream: Stream, code: number): void {
    stream.sink.onReset(code, "connection", this.isUnprocessed(stream));
    this.close(stream, State.PeerReset);
  }

  onFrame(type: number, flags: number, streamId: number, bytes: Uint8Array, start: number, end: number): void {
    const isAck = (flags & Flag.Ack) !== 0;
    if (type === FrameType.WindowUpdate) this.#onWindowUpdate(streamId, readUint31(bytes, start));
    else if (type === FrameType.RstStream) this.#onRstStream(streamId, readUint32(bytes, start));
    else if (type === FrameType.Ping) this.#onPing(isAck, readUint32(bytes, start), readUint32(bytes, start + 4));
    else if (type === FrameType.Settings && isAck) this.#onSettingsAck();
    else if (type === FrameType.Settings) this.#onSettings(bytes, start, end);
    else if (type === FrameType.GoAway) this.#onGoAway(readUint31(bytes, start), readUint32(bytes, start + 4));
    else if (type === FrameType.PushPromise) {
      throw new ConnectionError(ErrorCode.ProtocolError, "PUSH_PROMISE is not allowed here");
    } else if (type === FrameType.Priority) {
      // RFC 9113, section 5.3.2, and RFC 7540, section 5.3.1
      if (readUint31(bytes, start) === streamId) {
        throw new ConnectionError(ErrorCode.ProtocolError, "a stream depends on itself");
      }
      this.exceed(this.meters.glitch(Glitch.Priority));
    }
  }

  #onRstStream(streamId: number, code: number): void {
    const stream = this.live.get(streamId);
    if (stream !== undefined) {
      this.onPeerReset(stream, code);
      return;
    }
    const action = ON_RESET[this.stateOf(streamId)];
    if (action === Action.Protocol) throw new ConnectionError(ErrorCode.ProtocolError, "RST_STREAM on an idle stream");
    // Peers such as node:http2 reset streams that have ended.
    this.ignore(action === Action.Ignore && this.closedStreams.allowsReset(), Glitch.DeadStream);
  }

  #onSettingsAck(): void {
    if (this.settingsOwed === 0) this.exceed(this.meters.glitch(Glitch.StrayAck));
    else {
      this.settingsOwed--;
      this.emit({ type: "settingsAck" });
    }
  }

  #onSettings(bytes: Uint8Array, start: number, end: number): void {
    const { peer } = this;
    if (this.settingsSeen) this.exceed(this.meters.glitch(Glitch.Settings + Math.floor(this.live.size / 10)));
    if (this.isOver) return;
    this.settingsSeen = true;
    const before = peer.windowSize;
    peer.apply(bytes, start, end, (size) => this.headers.encoder.resize(size));
    this.headers.maxListSize = peer.maxHeaderListSize;
    const change = peer.windowSize - before;
    if (change !== 0) {
      for (const stream of this.live.values()) {
        if (stream.sendWindow.add(change)) throw flowControlError("a stream of the peer");
        this.scheduler.resume(stream);
      }
    }
    writeSettingsAck(this.output);
    this.exceed(this.meters.owe());
    this.onSettings();
    this.emit({ type: "settings" });
  }

  #onPing(isAck: boolean, high: number, low: number): void {
    if (isAck) {
      const kind = this.#pings.acknowledge(high, low);
      if (kind === undefined) this.exceed(this.meters.glitch(Glitch.StrayAck));
      else this.emit({ type: "pong", kind });
      return;
    }
    writePing(this.output, true, high, low);
    this.exceed(this.meters.owe());
    this.countCaused(Glitch.Ping);
  }

  #onGoAway(lastStreamId: number, code: number): void {
    this.#goAways++;
    if (this.#goAways > 2) this.exceed(this.meters.glitch(Glitch.GoAway));
    if (this.isOver) return;
    // The last stream id may decrease, but must never increase.
    this.peerLastStreamId = Math.min(this.peerLastStreamId, lastStreamId);
    if (this.state === "open") this.state = "leaving";
    this.onPeerLeaving();
    this.emit({ type: "goaway", lastStreamId: this.peerLastStreamId, code });
  }

  #onWindowUpdate(streamId: number, increment: number): void {
    const stream = this.live.get(streamId);
    if (streamId !== 0) {
      const action = ON_WINDOW_UPDATE[stream === undefined ? this.stateOf(streamId) : stream.state];
      if (action === Action.Protocol) {
        throw new ConnectionError(ErrorCode.ProtocolError, "WINDOW_UPDATE on an idle stream");
      }
      if (action === Action.IgnoreGlitch) this.exceed(this.meters.glitch(Glitch.DeadStream));
    }
    if (increment === 0 && streamId === 0) throw new ConnectionError(ErrorCode.ProtocolError, "WINDOW_UPDATE of 0");
    this.countCaused(Glitch.WindowUpdate);
    if (streamId === 0) {
      if (this.scheduler.window.add(increment)) throw flowControlError("the connection of the peer");
      if (this.scheduler.isWaiting) this.output.wake();
    } else if (stream !== undefined) {
      if (increment === 0) this.failStream(stream, ErrorCode.ProtocolError);
      else if (stream.sendWindow.add(increment)) this.failStream(stream, ErrorCode.FlowControlError);
      else this.scheduler.resume(stream);
    }
  }
}
