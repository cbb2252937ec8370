/**
 * An HTTP/2 connection (RFC 9113) without I/O: bytes come in by `receive`, go out by `take`, and time passes by `tick`. This
 * is what both roles share.
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
import { type FrameHandler, Receiver } from "./receiver.ts";
import { PeerSettings } from "./settings.ts";
import { Action, ON_RESET, ON_WINDOW, State, type Stream } from "./stream.ts";

/** Options of a connection in either role. */
export interface ConnectionOptions {
  readonly output: OutputOwner;
  readonly limits?: EngineLimits | undefined;
  /** The platform's way to make a string of bytes, where it has a fast one. */
  readonly latin1?: Latin1Decoder | undefined;
}

/** First bytes of our PINGs, by kind. */
const PING_MARKS: Readonly<Record<PingKind, number>> = { keepalive: 0x74726b61, shutdown: 0x74727364 };

export abstract class Connection extends DataStreams implements FrameHandler {
  state: "open" | "leaving" | "over" = "open";
  /** The last stream that the peer says it has processed, or may yet. */
  protected peerLastStreamId: number = MAX_31_BITS;
  protected readonly peer: PeerSettings;
  protected readonly receiver: Receiver;
  protected settingsSeen = false;
  /** Our SETTINGS that the peer has not acknowledged. */
  protected settingsOwed = 0;
  readonly #handler: ConnectionHandler;
  readonly #reader: HeaderReader;
  /** The numbers of the pings that are out, by kind. */
  readonly #pings = new Map<PingKind, number>();
  #pingCount = 0;
  /** Frames that DATA of ours may have caused: WINDOW_UPDATE, and PING to measure bandwidth. */
  #caused = 0;
  #hasGoneAway = false;
  #goAways = 0;
  #streamsBefore = 0;
  protected opened = 0;

  constructor(isServer: boolean, handler: ConnectionHandler, options: ConnectionOptions) {
    super(options.output, options.limits ?? DEFAULT_LIMITS);
    this.#handler = handler;
    this.#reader = new HeaderReader(options.latin1);
    this.peer = new PeerSettings(!isServer);
    this.receiver = new Receiver(this, isServer);
  }

  /** The highest stream of the peer that was processed, for GOAWAY. */
  protected abstract readonly lastProcessedId: number;
  /** Hands out what the chunk has brought. */
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

  /** Streams that are open. */
  get streams(): number {
    return this.live.size;
  }

  /** Streams that the peer allows at a time. */
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

  /** Frames and header blocks that have come. */
  get framesReceived(): number {
    return this.receiver.completed;
  }

  /** True if our SETTINGS wait for their acknowledgement (RFC 9113, section 6.5.3). */
  get awaitsSettingsAck(): boolean {
    return this.settingsOwed > 0;
  }

  /** Bytes that are kept for the peer: headers of open streams, what waits to be sent, and what is not whole. */
  get buffered(): number {
    return this.blockBytes + this.scheduler.queued + this.output.bytes + this.receiver.held + this.#reader.held;
  }

  /** Takes received bytes. Never throws. After the end of the connection it ignores them. */
  receive(chunk: Uint8Array): void {
    if (this.state === "over") return;
    try {
      this.receiver.receive(viewOf(chunk, 0, chunk.length));
      if (!this.isOver) this.dispatch();
    } catch (reason) {
      if (reason instanceof ConnectionError) this.fail(reason.code, reason.message);
      else this.#end(ErrorCode.InternalError, "internal error", true, reason);
    }
  }

  /** The peer will send no more bytes. What it has not sent to its end fails; what it has may be answered. */
  receiveEnd(): void {
    if (this.state === "over") return;
    this.state = "leaving";
    for (const stream of this.live.values()) if (!stream.ended) this.#lose(stream, ErrorCode.Cancel);
    if (this.live.size === 0) this.lost("the peer ended the connection");
  }

  /** Time has passed: refills what limits count. */
  tick(elapsedMs: number): void {
    this.meters.tick(elapsedMs);
    this.ignoredBytes = 0;
    if (this.opened === this.#streamsBefore) this.#reader.rest();
    this.#streamsBefore = this.opened;
  }

  /**
   * Hands over all output, with as much queued DATA as makes it `budget` bytes. None at all if that is not more than 0: then
   * the socket has what it should, and control frames alone come out.
   */
  take(budget: number): Segments {
    try {
      this.announceWindows();
      this.scheduler.run(budget);
    } catch (reason) {
      this.#end(ErrorCode.InternalError, "internal error", true, reason);
    }
    const segments = this.output.take();
    this.takes++;
    if (budget > 0) this.meters.paid();
    this.scheduler.notify();
    return segments;
  }

  /** True if more DATA could be taken. */
  get hasMore(): boolean {
    return this.scheduler.isWaiting;
  }

  /** Sends a PING, whose answer is an event. Returns false if one of that kind is out. */
  ping(kind: PingKind): boolean {
    if (this.state === "over" || this.#pings.has(kind)) return false;
    this.#pingCount++;
    this.#pings.set(kind, this.#pingCount);
    writePing(this.output, false, PING_MARKS[kind], this.#pingCount);
    return true;
  }

  /**
   * Says that this side goes away (RFC 9113, section 6.8): first that it is about to, then, once the peer must have heard
   * that, which streams it has processed. What is open goes on.
   */
  goAway(code: number, isFinal: boolean): void {
    if (this.state === "over" || (this.#hasGoneAway && !isFinal)) return;
    this.state = "leaving";
    this.#hasGoneAway = true;
    writeGoAway(this.output, isFinal ? this.lastProcessedId : MAX_31_BITS, code, "");
    if (isFinal) this.onGoneAway();
  }

  /** Ends the connection and all its streams, and tells the peer why. */
  fail(code: number, text: string): void {
    this.#end(code, text, true, undefined);
  }

  /** The connection is gone, and nothing can be sent any more. */
  lost(text: string): void {
    this.#end(ErrorCode.Cancel, text, false, undefined);
  }

  protected onGoneAway(): void {}
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

  /** Reads a header block, which every block must be: it changes what the next one means. */
  protected read(bytes: Uint8Array, start: number, end: number, kind: BlockKind): HeaderBlock {
    const block = this.#reader.read(bytes, start, end, kind);
    if (this.#reader.updates > 0) this.exceed(this.meters.glitch(Glitch.TableSize * this.#reader.updates));
    return block;
  }

  /** The problem of the last block that was read. */
  protected get problem(): "malformed" | "too large" | undefined {
    return this.#reader.problem;
  }

  #end(code: number, text: string, isLocal: boolean, cause: unknown): void {
    if (this.state === "over") return;
    this.state = "over";
    if (isLocal) writeGoAway(this.output, this.lastProcessedId, code, text);
    // Told first, so that the owner knows why its streams end.
    this.emit({ type: "over", code, text, isLocal, cause });
    for (const stream of this.openStreams()) this.#lose(stream, code);
  }

  /** Streams that have not ended. */
  protected openStreams(): Stream[] {
    return this.live.values();
  }

  #lose(stream: Stream, code: number): void {
    const isUnprocessed = this.isUnprocessed(stream);
    stream.sink.onReset(code, "connection", isUnprocessed);
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
    } else this.exceed(this.meters.glitch(Glitch.Unknown + Math.floor((end - start) / 4_096)));
  }

  #onRstStream(streamId: number, code: number): void {
    const stream = this.live.get(streamId);
    const action = ON_RESET[stream === undefined ? this.stateOf(streamId) : stream.state];
    if (action === Action.Protocol) throw new ConnectionError(ErrorCode.ProtocolError, "RST_STREAM on an idle stream");
    if (action === Action.IgnoreGlitch) this.exceed(this.meters.glitch(Glitch.DeadStream));
    if (stream !== undefined) this.onPeerReset(stream, code);
  }

  #onSettingsAck(): void {
    if (this.settingsOwed === 0) {
      this.exceed(this.meters.glitch(Glitch.StrayAck));
      return;
    }
    this.settingsOwed--;
    this.emit({ type: "settingsAck" });
  }

  #onSettings(bytes: Uint8Array, start: number, end: number): void {
    const { peer } = this;
    if (this.settingsSeen) this.exceed(this.meters.glitch(Glitch.Settings + Math.floor(this.live.size / 10)));
    this.settingsSeen = true;
    const before = peer.windowSize;
    peer.apply(bytes, start, end, (size) => this.headers.encoder.resize(size));
    this.headers.maxListSize = peer.maxHeaderListSize;
    const change = peer.windowSize - before;
    if (change !== 0) {
      for (const stream of this.openStreams()) {
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
      for (const [kind, count] of this.#pings) {
        if (PING_MARKS[kind] !== high || count !== low) continue;
        this.#pings.delete(kind);
        this.emit({ type: "pong", kind });
        return;
      }
      this.exceed(this.meters.glitch(Glitch.StrayAck));
      return;
    }
    writePing(this.output, true, high, low);
    this.exceed(this.meters.owe());
    this.#countCaused(Glitch.Ping);
  }

  /** Peers that receive DATA announce windows, and measure the bandwidth by a PING: two frames for each of ours are free. */
  #countCaused(weight: number): void {
    if (this.#caused < 2 * this.scheduler.frames) this.#caused++;
    else this.exceed(this.meters.glitch(weight));
  }

  #onGoAway(lastStreamId: number, code: number): void {
    this.#goAways++;
    if (this.#goAways > 2) this.exceed(this.meters.glitch(Glitch.GoAway));
    // It may be lowered, but never raised.
    this.peerLastStreamId = Math.min(this.peerLastStreamId, lastStreamId);
    if (this.state === "open") this.state = "leaving";
    this.onPeerLeaving();
    this.emit({ type: "goaway", lastStreamId: this.peerLastStreamId, code });
  }

  #onWindowUpdate(streamId: number, increment: number): void {
    const stream = this.live.get(streamId);
    if (streamId !== 0) {
      const action = ON_WINDOW[stream === undefined ? this.stateOf(streamId) : stream.state];
      if (action === Action.Protocol) {
        throw new ConnectionError(ErrorCode.ProtocolError, "WINDOW_UPDATE on an idle stream");
      }
      if (action === Action.IgnoreGlitch) this.exceed(this.meters.glitch(Glitch.DeadStream));
    }
    if (increment === 0) throw new ConnectionError(ErrorCode.ProtocolError, "WINDOW_UPDATE of 0");
    this.#countCaused(Glitch.WindowUpdate);
    if (streamId === 0) {
      if (this.scheduler.window.add(increment)) throw flowControlError("the connection of the peer");
      if (this.scheduler.isWaiting) this.output.wake();
    } else if (stream !== undefined) {
      if (stream.sendWindow.add(increment)) this.failStream(stream, ErrorCode.FlowControlError);
      else this.scheduler.resume(stream);
    }
  }
}
