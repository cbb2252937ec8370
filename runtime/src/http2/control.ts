/**
 * Received frames that carry no part of a message: SETTINGS, PING, GOAWAY, WINDOW_UPDATE, RST_STREAM and PRIORITY (RFC 9113,
 * section 6).
 */

import { decodeLatin1 } from "../wire/fields.ts";
import type { Output } from "../wire/output.ts";
import { ConnectionError, ErrorCode, Flag, FrameType, MAX_31_BITS } from "./codes.ts";
import type { ConnectionHandler, PingKind, Role } from "./events.ts";
import { flowControlError } from "./flow-control.ts";
import { MAX_DEBUG_CHARACTERS, readUint31, readUint32, writePing, writeSettingsAck } from "./frame.ts";
import { Glitch, type Meters } from "./limits.ts";
import type { PeerSettings } from "./settings.ts";
import { Action, ON_RESET, ON_WINDOW_UPDATE, State } from "./stream.ts";
import type { Streams } from "./streams.ts";

/** The connection of received frames. */
export interface ControlOwner {
  state: "open" | "leaving" | "over";
  readonly output: Output;
  readonly meters: Meters;
  readonly streams: Streams;
  /** The settings of the peer. */
  readonly peer: PeerSettings;
}

/** First bytes of our PINGs, by kind. The number of the PING follows. */
const MARKS: Readonly<Record<PingKind, number>> = {
  keepalive: 0x74726b61,
  shutdown: 0x74727364,
  receipt: 0x74727263,
};

/** Handles frames whose form is valid. Throws a `ConnectionError` for frames that are invalid in the current state. */
export class ControlFrames {
  /** The number of our SETTINGS frames that the peer has not acknowledged. */
  settingsOwed = 1;
  /** The last stream that the peer has processed or may still process, according to its GOAWAY. */
  peerLastStreamId: number = MAX_31_BITS;
  readonly #owner: ControlOwner;
  readonly #role: Role;
  readonly #handler: ConnectionHandler;
  #settingsSeen = false;
  #goAways = 0;
  /** Number of frames that our DATA may have caused: WINDOW_UPDATE, and PING to measure bandwidth. */
  #caused = 0;
  /** The numbers of the PINGs of this side that wait for their acknowledgement, by kind. */
  #pings: Map<PingKind, number> | undefined;
  #pingCount = 0;

  constructor(owner: ControlOwner, role: Role, handler: ConnectionHandler) {
    this.#owner = owner;
    this.#role = role;
    this.#handler = handler;
  }

  /** Handles the beginning of a frame of an unknown type. Its payload is skipped. */
  onUnknown(length: number): void {
    this.#owner.meters.glitch(Glitch.Unknown + Math.floor(length / 4_096));
  }

  onFrame(type: number, flags: number, streamId: number, bytes: Uint8Array, start: number, end: number): void {
    const isAck = (flags & Flag.Ack) !== 0;
    if (type === FrameType.WindowUpdate) this.#onWindowUpdate(streamId, readUint31(bytes, start));
    else if (type === FrameType.RstStream) this.#onRstStream(streamId, readUint32(bytes, start));
    else if (type === FrameType.Ping) this.#onPing(isAck, readUint32(bytes, start), readUint32(bytes, start + 4));
    else if (type === FrameType.Settings && isAck) this.#onSettingsAck();
    else if (type === FrameType.Settings) this.#onSettings(bytes, start, end);
    else if (type === FrameType.GoAway) this.#onGoAway(bytes, start, end);
    else if (type === FrameType.PushPromise) {
      throw new ConnectionError(ErrorCode.ProtocolError, "PUSH_PROMISE is not allowed here");
    } else if (type === FrameType.Priority) {
      // RFC 9113, section 5.3.2, and RFC 7540, section 5.3.1
      if (readUint31(bytes, start) === streamId) {
        throw new ConnectionError(ErrorCode.ProtocolError, "a stream depends on itself");
      }
      this.#owner.meters.glitch(Glitch.Priority);
    }
  }

  #onRstStream(streamId: number, code: number): void {
    const { streams } = this.#owner;
    const { isServer } = this.#role;
    const stream = streams.live.get(streamId);
    if (stream !== undefined) {
      // After a complete response, a reset costs no more than the end of the request would have.
      if (isServer && stream.state !== State.HalfLocal) this.#owner.meters.reset(streamId);
      streams.lose(stream, code, "peer", !isServer && code === ErrorCode.RefusedStream);
      return;
    }
    const action = ON_RESET[streams.stateOf(streamId)];
    if (action === Action.Protocol) throw new ConnectionError(ErrorCode.ProtocolError, "RST_STREAM on an idle stream");
    // Peers such as node:http2 reset streams that have ended.
    if (action !== Action.Ignore || !streams.closed.allowsReset()) this.#owner.meters.glitch(Glitch.DeadStream);
  }

  #onSettingsAck(): void {
    if (this.settingsOwed === 0) this.#owner.meters.glitch(Glitch.StrayAck);
    else this.settingsOwed--;
  }

  #onSettings(bytes: Uint8Array, start: number, end: number): void {
    const { peer } = this.#owner;
    const { headers, live, scheduler } = this.#owner.streams;
    if (this.#settingsSeen) this.#owner.meters.glitch(Glitch.Settings + Math.floor(live.size / 10));
    if (this.#owner.meters.isExceeded) return;
    this.#settingsSeen = true;
    const before = peer.windowSize;
    peer.apply(bytes, start, end, (size) => headers.encoder.resize(size));
    headers.limit(peer.maxHeaderListSize);
    const change = peer.windowSize - before;
    if (change !== 0) {
      for (const stream of live.values()) {
        stream.sendWindow += change;
        if (stream.sendWindow > MAX_31_BITS) throw flowControlError("a stream of the peer");
        scheduler.resume(stream);
      }
    }
    writeSettingsAck(this.#owner.output);
    this.#owner.meters.owe();
    this.#role.openWaiting?.();
    this.#handler.onEvent({ type: "settings" });
  }

  /** Sends a PING (section 6.7). Returns false if one of that kind is still unacknowledged. */
  ping(kind: PingKind): boolean {
    if (this.#pings?.has(kind)) return false;
    this.#pingCount++;
    this.#pings ??= new Map();
    this.#pings.set(kind, this.#pingCount);
    writePing(this.#owner.output, false, MARKS[kind], this.#pingCount);
    return true;
  }

  /** Returns the kind of PING that an acknowledgement matches, which then waits no longer; `undefined` if it matches none. */
  #acknowledge(high: number, low: number): PingKind | undefined {
    for (const [kind, count] of this.#pings ?? []) {
      if (MARKS[kind] !== high || count !== low) continue;
      this.#pings?.delete(kind);
      return kind;
    }
    return undefined;
  }

  #onPing(isAck: boolean, high: number, low: number): void {
    if (isAck) {
      const kind = this.#acknowledge(high, low);
      if (kind === undefined) this.#owner.meters.glitch(Glitch.StrayAck);
      else this.#handler.onEvent({ type: "pong", kind });
      return;
    }
    writePing(this.#owner.output, true, high, low);
    this.#owner.meters.owe();
    this.#countCaused(Glitch.Ping);
  }

  #onGoAway(bytes: Uint8Array, start: number, end: number): void {
    this.#goAways++;
    if (this.#goAways > 2) this.#owner.meters.glitch(Glitch.GoAway);
    if (this.#owner.meters.isExceeded) return;
    // The last stream id may decrease, but must never increase.
    this.peerLastStreamId = Math.min(this.peerLastStreamId, readUint31(bytes, start));
    if (this.#owner.state === "open") this.#owner.state = "leaving";
    this.#role.onLeaving(false);
    if (!this.#role.isServer) {
      for (const stream of this.#owner.streams.live.values()) {
        if (stream.id > this.peerLastStreamId)
          this.#owner.streams.lose(stream, ErrorCode.RefusedStream, "connection", true);
      }
    }
    const code = readUint32(bytes, start + 4);
    const text =
      code === ErrorCode.NoError
        ? undefined
        : decodeLatin1(bytes, start + 8, Math.min(end, start + 8 + MAX_DEBUG_CHARACTERS));
    this.#handler.onEvent({ type: "goaway", code, text });
  }

  #onWindowUpdate(streamId: number, increment: number): void {
    const { scheduler, live } = this.#owner.streams;
    const stream = live.get(streamId);
    if (streamId !== 0) {
      const action = ON_WINDOW_UPDATE[stream === undefined ? this.#owner.streams.stateOf(streamId) : stream.state];
      if (action === Action.Protocol) {
        throw new ConnectionError(ErrorCode.ProtocolError, "WINDOW_UPDATE on an idle stream");
      }
      if (action === Action.IgnoreGlitch) this.#owner.meters.glitch(Glitch.DeadStream);
    }
    if (increment === 0 && streamId === 0) throw new ConnectionError(ErrorCode.ProtocolError, "WINDOW_UPDATE of 0");
    this.#countCaused(Glitch.WindowUpdate);
    if (streamId === 0) {
      scheduler.window += increment;
      if (scheduler.window > MAX_31_BITS) throw flowControlError("the connection of the peer");
      if (scheduler.isWaiting) this.#owner.output.wake();
    } else if (stream !== undefined) {
      stream.sendWindow += increment;
      if (increment === 0) this.#owner.streams.fail(stream, ErrorCode.ProtocolError);
      else if (stream.sendWindow > MAX_31_BITS) this.#owner.streams.fail(stream, ErrorCode.FlowControlError);
      else scheduler.resume(stream);
    }
  }

  /** Counts a frame that received DATA causes, WINDOW_UPDATE or PING: two for each DATA frame of ours have no weight. */
  #countCaused(weight: number): void {
    if (this.#caused < 2 * this.#owner.streams.scheduler.frames) this.#caused++;
    else this.#owner.meters.glitch(weight);
  }
}
